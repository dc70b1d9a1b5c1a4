#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the package inside of the process beside the C calls and, where torch and transformers are
installed, beside transformers' own function on the same arrays.

    python clients/python/bench.py [--rounds 5] [--threads N]

Microseconds, median and least; every round asks each of them in turn. The package and the C
program use the libraries of build/."""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import posenc

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPE = (1, 8, 1024, 128)  # 4 MiB
HOW = {"axes": "bhsd", "layout": "half", "start": 0}
CALLS = 200


def timed(call):
    """Median and least of many calls."""
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times), min(times)


def c_program(folder):
    program = pathlib.Path(folder, "bench_rotation")
    subprocess.run(
        [
            "cc",
            "-O2",
            "-I",
            ROOT / "include",
            ROOT / "clients/python/bench_rotation.c",
            "-L",
            ROOT / "build",
            "-lposenc",
            f"-Wl,-rpath,{ROOT}/build",
            "-o",
            program,
        ],
        check=True,
    )
    return program


def c_times(program):
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return [tuple(map(float, line.split())) for line in lines.splitlines()]


def of_transformers(q):
    """apply_rotary_pos_emb turns queries and keys: half of its time is for the queries. cos and sin
    are made before, which a model does once for all layers."""
    try:
        import torch
        from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    except ImportError:
        return None
    cos, sin = posenc.table("rope", dim=SHAPE[-1], length=SHAPE[-2], duplicate=True)
    cos, sin, q = (torch.from_numpy(array) for array in (cos[None], sin[None], q))
    return lambda: apply_rotary_pos_emb(q, q, cos, sin)


def calls(local):
    q = numpy.random.default_rng(0).standard_normal(SHAPE).astype(numpy.float32)
    small, own = q[:, :1, :1, :8].copy(), q.copy()
    found = {
        "rotate, 4 MiB": lambda: local.rotate("rope", q=q, **HOW),
        "rotate_in_place, 4 MiB": lambda: local.rotate_in_place("rope", own, **HOW),
        "rotate, 8 numbers": lambda: local.rotate("rope", q=small, **HOW),
        "table, 4 x 8": lambda: local.table("rope", dim=8, length=4),
        "frequencies, dim 128": lambda: local.frequencies("rope", dim=128),
        "table, 4 MiB": lambda: local.table("rope", dim=128, length=8192),
    }
    peer = of_transformers(q)
    return found | ({"transformers, q and k of 4 MiB": peer} if peer else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="of the service; 0: one a CPU")
    arguments = parser.parse_args()
    found = calls(posenc.Local(threads=arguments.threads))
    names = ["C: pe_rotate, in place", "C: pe_rotation_new, pe_rotate", "C: the same on a copy"]
    times = {name: [] for name in [*names, *found]}
    with tempfile.TemporaryDirectory() as folder:
        program = c_program(folder)
        for _ in range(arguments.rounds):
            for name, one in zip(names, c_times(program)):
                times[name].append(one)
            for name, call in found.items():
                times[name].append(timed(call))
    for name, rounds in times.items():
        median = statistics.median(one for one, _ in rounds)
        print(f"{name:32} {median:9.1f} {min(least for _, least in rounds):9.1f}")


if __name__ == "__main__":
    main()
