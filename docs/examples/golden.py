# SPDX-License-Identifier: MIT
"""Runs a rotary kernel on the inputs of a golden file, with NumPy alone:

    posenc golden config.json -o golden.safetensors
    python golden.py golden.safetensors mine.safetensors
    posenc check mine.safetensors golden.safetensors

Put the kernel to be tested in the place of `rotate`."""

import json
import sys

import numpy


def rotate(x, positions, inv_freq, factor, layout):
    """x [tokens, heads, width], of which the first 2 * len(inv_freq) elements of a head rotate."""
    pairs = numpy.arange(len(inv_freq))
    first, second = (pairs, pairs + len(pairs)) if layout == "half" else (2 * pairs, 2 * pairs + 1)
    angles = positions.astype("f4")[:, None, None] * inv_freq
    cos, sin = numpy.cos(angles) * factor, numpy.sin(angles) * factor
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., second] * cos + x[..., first] * sin
    return out


def read(path):
    """(metadata, arrays by name) of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    metadata, arrays = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = {"I64": "<i8", "F64": "<f8", "F32": "<f4"}[entry["dtype"]]
        arrays[name] = numpy.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
    return metadata, arrays


def write(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        own = array.astype("<f4").tobytes()
        span = [len(data), len(data) + len(own)]
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": span}
        data += own
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def main(golden, mine):
    metadata, arrays = read(golden)
    outputs = {}
    for kind in json.loads(metadata["golden"])["kinds"]:
        given = {
            name: arrays[kind["prefix"] + name]
            for name in ("positions", "inv_freq", "attention_factor", "q", "k")
        }
        factor = numpy.float32(given["attention_factor"][0])
        for name in ("q", "k"):
            outputs[f"{kind['prefix']}{name}_rotated"] = rotate(
                given[name], given["positions"], given["inv_freq"], factor, kind["layout"]
            )
    write(mine, outputs)


if __name__ == "__main__":
    main(*sys.argv[1:])
