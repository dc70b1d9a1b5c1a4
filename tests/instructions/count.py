#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts instructions under callgrind, at AVX2: of each kernel while the library does the work
below, and of whole requests to posencd, between a shorter and a longer run. The counts that are
kept stand in counts.json beside what they were made with.

    tests/instructions/count.py [--renew]

prints each count with the share of the kept one; --renew keeps them."""
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = pathlib.Path(__file__).with_name("counts.json")
BUILD = ROOT / os.environ.get("BUILD", "build")
ISA = "avx2"
REQUESTS = 50, 450  # what the first ones cost besides is in both runs

ROTATIONS = [f"rotate;{dtype};{layout};16;1" for dtype in ("f64", "f32", "f16", "bf16")
             for layout in ("half", "interleaved")]
ATTENTIONS = [f"attention;{words}" for words in (
    "none;;48;128;64;1;1;f32;30", "none;;48;128;64;1;1;f64;30", "rope;dim=64;48;128;64;1;1;f16;",
    "alibi;heads=1;48;128;64;1;1;bf16;", "shaw;max_relative_position=64;48;128;64;1;1;f32;",
    "shaw;max_relative_position=64;48;128;64;1;1;f64;")]
WITHOUT_ORDER = ",".join(str(i * i * 7919 % 4093) for i in range(256))
TABLES = [f"view;{words}" for words in (
    "rope;table;f32;dim=128;length=512", "rope;table;f16;dim=128;length=512",
    "rope;table;bf16;dim=128;length=512", "rope;table;f64;dim=128;length=256",
    "rope;table;f32;dim=128 arithmetic=hf;length=256", "sinusoidal;table;f32;dim=128;length=256",
    "xpos;table;f32;dim=128 t_center=0;length=256",
    *(f"rope;table;{dtype};dim=64;positions={WITHOUT_ORDER}" for dtype in ("f32", "f16", "bf16")),
    "index;table;f32;;length=4096", "binary;table;f32;dim=32;length=256",
    "sinusoidal;table;f32;dim=64;length=256 pool=mean rows=32 columns=32",
    "sinusoidal;table;f32;dim=64;length=256 pool=minmax rows=32 columns=32")]
ANALYSES = [f"made;rope;{words}" for words in (
    "decay;f32;dim=128;max_offset=511", "similarity;f64;dim=64;length=32",
    "error;f32;dim=128;length=32")]
BIASES = [f"view;alibi;bias;{dtype};heads=2;query_length=32 key_length=256"
          for dtype in ("f32", "f16", "bf16", "f64")]
WORK = ROTATIONS + ATTENTIONS + TABLES + ANALYSES + BIASES

ROTATION = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0&format=raw"
RAW = {"Content-Type": "application/octet-stream", "Tensor-Dtype": "f32",
       "Tensor-Shape": "1,1,2,128"}
BODY = bytes(range(64)) * 16  # floats, none of which is a NaN
ASKED = {
    "GET /livez": ("GET", "/livez", b"", {}),
    "GET of a kept table of 192 bytes": (
        "GET", "/v1/encodings/rope/frequencies?dim=32&format=raw", b"", {}),
    "POST of a rotation of 1 KiB": ("POST", ROTATION, BODY, RAW),
}


def kernels():
    """The names that the library lists."""
    text = (ROOT / "core/kernels/kernels.def").read_text()
    return re.findall(r"^KERNEL\((\w+),", text, re.M)


def made_with():
    """What instructions depend on beside the sources."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True)
    library = subprocess.run(["pkg-config", "--modversion", "libmicrohttpd"], capture_output=True,
                             text=True, check=True)
    return {"compiler": compiler.stdout.splitlines()[0], "libc": os.confstr("CS_GNU_LIBC_VERSION"),
            "libmicrohttpd": library.stdout.strip(), "flags": os.environ.get("CFLAGS", "-O2 -g")}


def callgrind(folder, *command, **more):
    """Starts a program under callgrind; (its process, the file of its counts)."""
    out = pathlib.Path(folder) / "callgrind.out"
    return subprocess.Popen(
        ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *map(str, command)],
        env={**os.environ, "POSENC_ISA": ISA}, text=True, **more), out


def by_function(text):
    """Instructions of each function and of what it calls: a line of costs belongs to the function
    that was named last, and so does the line behind "calls="."""
    counts, names, function = {}, {}, None
    for line in text.splitlines():
        if found := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
            name = names.setdefault(found[2], found[3])
            function = function if found[1] else name
        elif function and re.match(r"[-+*\d]\S* \d+$", line):
            counts[function] = counts.get(function, 0) + int(line.split()[1])
    return counts


def count_kernels():
    with tempfile.TemporaryDirectory() as folder:
        process, out = callgrind(folder, BUILD / "bench/library", *WORK)
        if process.wait() != 0:
            raise RuntimeError("bench/library ended badly")
        counts = by_function(out.read_text())
    found = {name: counts.get(f"pe_{name}_{ISA}", 0) for name in kernels()}
    return {f"kernel {name}": count for name, count in found.items()}


def ask(port, asked, times):
    """All on one connection, each in one piece: a server may take another turn for a second one."""
    method, path, body, headers = asked
    fields = {"Host": "127.0.0.1", **headers, **({"Content-Length": len(body)} if body else {})}
    text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n"
                                                    for name, value in fields.items()) + "\r\n"
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        for _ in range(times):
            connection.sendall(text.encode() + body)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{method} {path}: {answer.status}")


def whole_run(asked, times):
    """Instructions of a posencd that answers so often and ends."""
    with tempfile.TemporaryDirectory() as folder:
        process, out = callgrind(
            folder, BUILD / "posencd", "--port", "0", "--threads", "1", "--log-format", "off",
            "--drain-delay", "0", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
            ask(port, asked, times)
        finally:
            process.terminate()
            process.wait(60)
            process.stdout.close()
        return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)[1])


def count_requests():
    few, many = REQUESTS
    return {name: (whole_run(asked, many) - whole_run(asked, few)) // (many - few)
            for name, asked in ASKED.items()}


def count_all():
    return {**count_kernels(), **count_requests()}


def kept():
    return json.loads(KEPT.read_text())


def main():
    counts = count_all()
    known = kept()["counts"] if KEPT.exists() else {}
    for name, count in counts.items():
        share = f"{count / known[name]:.3f} of what is kept" if known.get(name) else "new"
        print(f"{name:40} {count:12} {share}")
    if "--renew" in sys.argv[1:]:
        KEPT.write_text(json.dumps({"made_with": made_with(), "counts": counts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
