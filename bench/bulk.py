# SPDX-License-Identifier: MIT
"""How fast examples/bulk is: one process, and Ray Data and Dask with one and two workers, with
posenc and with NumPy, by turns.

    build/bulk/bin/python bench/bulk.py [--files 16] [--rounds 3]

In the environment that `tests/run bulk` makes. The files are in the page cache and engines are
running before the clock starts: the figures are MiB of files read and written in a second."""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import numpy
from safetensors.numpy import save_file

BULK = pathlib.Path(__file__).resolve().parents[1] / "examples/bulk"
sys.path.insert(0, str(BULK))
os.environ["PYTHONPATH"] = f"{BULK}{os.pathsep}{BULK.parents[1] / 'bench'}"
import shards  # noqa: E402
import with_dask  # noqa: E402
import with_ray  # noqa: E402

TENSOR, LAYERS, MIB = (1, 8, 4096, 64), 4, 1 << 20
PARAMETERS = {"encoding": "rope", "layout": "half", "axes": "bhsd", "base": 500000, "delta": -1000}


def numpy_rotated(array, parameters):
    """The same turn of each pair, by NumPy in float32."""
    half = array.shape[-1] // 2
    turns = parameters["base"] ** (-numpy.arange(half) / half) * parameters["delta"]
    cos, sin = numpy.cos(turns).astype("f4"), numpy.sin(turns).astype("f4")
    first, second = array[..., :half].copy(), array[..., half:].copy()
    array[..., :half] = first * cos - second * sin
    array[..., half:] = second * cos + first * sin


def store(folder, files):
    for shard in range(files):
        random = numpy.random.default_rng(shard)
        tensors = {
            f"layers.{layer}.{name}": random.standard_normal(TENSOR, numpy.float32)
            for layer in range(LAYERS)
            for name in "kv"
        }
        save_file(tensors, folder / f"cache-{shard:05d}.safetensors")


def alone(given, rotate):
    for shard in given.shards:
        shards.convert(shard, given.target, given.parameters, given.suffix, rotate)


def engines():
    """name: (start with so many workers, convert, stop)."""
    clients = {}

    def dask_start(workers):
        clients["dask"] = with_dask.start(workers)

    def ray_stop():
        with_ray.ray.shutdown()

    return {
        "one process": (lambda workers: None, alone, lambda: None, (1,)),
        "Ray Data": (with_ray.start, with_ray.convert, ray_stop, (1, 2)),
        "Dask": (
            dask_start,
            lambda given, rotate: with_dask.convert(clients["dask"], given, rotate),
            lambda: clients["dask"].shutdown(),
            (1, 2),
        ),
    }


def timed(given, convert, rotate):
    shutil.rmtree(given.target, ignore_errors=True)
    given.target.mkdir()
    began = time.monotonic()
    convert(given, rotate)
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="posenc-bulk-"))
    (folder / "source").mkdir()
    store(folder / "source", asked.files)
    given = argparse.Namespace(
        target=folder / "target",
        parameters=PARAMETERS,
        suffix="k",
        shards=sorted(map(str, (folder / "source").iterdir())),
    )
    size = sum(os.path.getsize(path) for path in given.shards) / MIB
    print(f"{asked.files} files of {size / asked.files:.0f} MiB; load {os.getloadavg()[0]:.1f}")
    print("| engine | workers | posenc, MiB/s | NumPy, MiB/s |\n|---|---|---|---|")
    for name, (start, convert, stop, workers) in engines().items():
        for count in workers:
            start(count)
            first = argparse.Namespace(**{**vars(given), "shards": given.shards[:count]})
            timed(first, convert, shards.rotated)
            seconds = {"posenc": [], "numpy": []}
            for _ in range(asked.rounds):
                seconds["posenc"].append(timed(given, convert, shards.rotated))
                seconds["numpy"].append(timed(given, convert, numpy_rotated))
            stop()
            speeds = (f"{size / statistics.median(values):.0f}" for values in seconds.values())
            print(f"| {name} | {count} | {' | '.join(speeds)} |", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
