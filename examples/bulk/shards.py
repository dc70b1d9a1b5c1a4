# SPDX-License-Identifier: MIT
"""Rotates the keys of a safetensors file, one tensor in memory at a time.

with_ray.py and with_dask.py do that for a folder of files, on any number of machines that share
it. A file of the target appears complete or not at all (rename), and the bytes are the same
wherever they are made: so a file may be made twice, by a worker that is lost and by its successor,
and still counts once."""

import argparse
import functools
import hashlib
import json
import os
import pathlib
import struct

import numpy
import posenc

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@functools.cache
def service():
    """One for each process, which has a core for itself."""
    return posenc.Local(threads=1)


def rotated(array, parameters):
    service().rotate_in_place(parameters["encoding"], array, **without(parameters, "encoding"))


def array_of(values, dtype, shape):
    """NumPy has no bfloat16: posenc takes its bits as such."""
    array = values.view(DTYPES[dtype]).reshape(shape)
    return array.view(posenc.BF16) if dtype == "BF16" else array


def without(parameters, name):
    return {key: value for key, value in parameters.items() if key != name}


def tensors_of(file):
    """The bytes before the first tensor, and the name, dtype, shape and size of each, in order."""
    size = file.read(8)
    head = file.read(struct.unpack("<Q", size)[0])
    found = [(name, one) for name, one in json.loads(head).items() if name != "__metadata__"]
    found.sort(key=lambda pair: pair[1]["data_offsets"])
    return size + head, [
        (name, one["dtype"], one["shape"], one["data_offsets"][1] - one["data_offsets"][0])
        for name, one in found
    ]


def convert(source, target, parameters, suffix="k", rotate=rotated):
    """Writes `source` with each tensor whose last name is `suffix` rotated. Returns the name and
    the SHA-256 of the file; one that is complete already is only read."""
    source, target = pathlib.Path(source), pathlib.Path(target)
    done = target / source.name
    if done.exists():
        with done.open("rb") as file:
            return source.name, hashlib.file_digest(file, "sha256").hexdigest()
    part = target / f".{source.name}.{os.getpid()}.part"
    digest = hashlib.sha256()
    with source.open("rb", buffering=0) as file, part.open("wb", buffering=0) as out:
        head, tensors = tensors_of(file)
        digest.update(head)
        out.write(head)
        for name, dtype, shape, size in tensors:
            values = numpy.empty(size, numpy.uint8)
            if file.readinto(values) != size:
                raise EOFError(f"{source}: {name} is cut")
            if name.rpartition(".")[2] == suffix:
                rotate(array_of(values, dtype, shape), parameters)
            digest.update(values)
            out.write(values)
        os.fsync(out.fileno())
    part.rename(done)
    return source.name, digest.hexdigest()


def finish(target, digests):
    """After all files are there: the list of them, as sha256sum reads it."""
    for part in pathlib.Path(target).glob(".*.part"):
        part.unlink()
    lines = (f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    pathlib.Path(target, "SHA256SUMS").write_text("".join(lines))


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("source", type=pathlib.Path, help="folder of *.safetensors")
    parser.add_argument("target", type=pathlib.Path, help="folder for the same files")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="of rotate_in_place")
    parser.add_argument("--suffix", default="k", help="last name of the tensors (layers.0.k)")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    pairs = (pair.split("=", 1) for pair in given.parameters)
    given.parameters = {name: value_of(text) for name, text in pairs}
    given.target.mkdir(parents=True, exist_ok=True)
    given.shards = sorted(map(str, given.source.glob("*.safetensors")))
    return given


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text
