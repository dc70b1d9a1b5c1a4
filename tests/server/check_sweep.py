# SPDX-License-Identifier: MIT
"""Every view of every encoding, and every function, at the extremes of each of its parameters: one
request at a time, each to a server that has not answered another one before.

    python tests/server/check_sweep.py [--work 1.0] [text in the request's name ...]

--work is the server's --work-max in seconds. A request may not take more than twice that in CPU,
nor more resident memory than was charged by a tenth and 16 MiB; one whose client leaves ends within
100 ms of CPU, up to the twentieth of a second in which the client is not missed. The last line
counts; the exit code is 0 only if nothing was beyond."""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import select
import socket
import statistics
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import conftest  # noqa: E402

MIB = 1 << 20
TICK = 1 / os.sysconf("SC_CLK_TCK")
CPU_FACTOR, RESIDENT_FACTOR, RESIDENT_MORE = 2, 1.1, 16 * MIB
LEFT_CPU, LONG = 0.1 + 0.05, 0.2  # of a request that takes LONG the client leaves too
READ_SECONDS_MAX = 60
FLAGS = ("--log-format", "off", "--memory-budget", "1GiB", "--request-timeout", "60s")
TABLE = conftest.ROOT / "tests/data/tables"
# What a request needs to be one at all, and what makes it neither small nor large.
USUAL = {
    "dim": "64",
    "heads": "4",
    "length": "64",
    "query_length": "64",
    "height": "8",
    "width": "8",
    "max_relative_position": "8",
    "mrope_section": "8,12,12",
    "t_center": "0",
    "p": "1,1,1,1",
    "a": "1,1,1,1",
    "max_offset": "64",
    "table": "sample",
    "position": "7",
    "delta": "7",
    "context": "4096",
    "shape": "8,8",
    "positions": "0..63",
}
# Parameters that make work together grow together; each with the others' large value.
GROWING = {
    "dim": "65536",
    "heads": "4096",
    "length": "16777216",
    "query_length": "1048576",
    "key_length": "1048576",
    "max_offset": "1048576",
    "height": "4096",
    "width": "4096",
    "start": "9e15",
    "context": "1e9",
    "shape": "4096,4096",
    "base": "1e30",
}

# Tensors that an attention needs beside q, k and v.
EXTRA = {"t5": [("weights", (32, 2))], "shaw": [("rel_k", (1025, 64))]}


@dataclasses.dataclass(frozen=True)
class Request:
    name: str
    head: bytes
    body: bytes = b""

    @property
    def bytes(self):
        length = b"Content-Length: %d\r\n" % len(self.body) if self.body else b""
        return self.head + b"Host: localhost\r\n" + length + b"\r\n" + self.body


def get(target, settings):
    query = urllib.parse.urlencode(settings, safe=",.")
    return Request(f"{target}?{query}"[:200], f"GET {target}?{query} HTTP/1.1\r\n".encode())


def post(target, name, content):
    return Request(
        f"POST {target} {name}",
        f"POST {target} HTTP/1.1\r\nContent-Type: application/json\r\n".encode(),
        json.dumps(content).encode(),
    )


# ---- what is asked ------------------------------------------------------------------------------


def extremes(schema):
    """The extreme values of a parameter, and its choices."""
    if "enum" in schema:
        return [str(value) for value in schema["enum"]]
    if schema.get("type") == "boolean":
        return ["true", "false"]
    if schema.get("type") in ("integer", "number"):
        ends = [schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum")]
        return [repr(end) for end in ends if end is not None] + ["0", "1e9"]
    if schema.get("type") == "array":
        return [",".join(["1"] * 4096)]
    return []


def views(server):
    for encoding in server.get("/v1/encodings", timeout=10).json()["encodings"]:
        one = server.get(encoding["href"], timeout=10).json()
        for view in one["operations"]:
            yield one, view


def of_view(encoding, view):
    """The usual request, and others that differ in one parameter, or in all sizes."""
    known = {**encoding["parameters"]["properties"], **view["parameters"]["properties"]}
    required = encoding["parameters"].get("required", []) + view["parameters"].get("required", [])
    usual = {
        name: USUAL[name]
        for name in known
        if name in required
        or name in ("length", "query_length", "height", "width", "context", "shape")
    }
    if encoding["name"] == "shaw" and view["name"] == "table":
        usual |= {"vectors": "sinusoidal", "dim": USUAL["dim"]}
    if encoding["family"] == "learned" or "table" in usual:
        usual["length"] = "2"
    usual["format"] = "safetensors"
    asked = [usual, {**usual, "format": "json"}]
    large = {**usual, **{name: value for name, value in GROWING.items() if name in known}}
    asked += [
        large,
        {**large, "dtype": "f64"},
        {**large, "format": "json"},
        {**large, "dim": "64"},
        {**large, "length": "4096"},
        {**large, "arithmetic": "hf"},
    ]
    for name, schema in known.items():
        for value in extremes(schema):
            asked += [{**usual, name: value}, {**large, name: value}]
    for settings in asked:
        yield get(view["href"], {key: value for key, value in settings.items() if key in known})


def tensor(*shape, value=0.5):
    count = 1
    for size in shape:
        count *= size
    return {"shape": list(shape), "data": [value] * count}


def functions():
    rope = {"name": "rope", "dim": 64}
    small = tensor(1, 8, 2, 64)
    for length in (64, 4096, 1 << 17, 1 << 20):
        for other in (
            {"name": "rope", "dim": 4096},
            {"name": "rope", "dim": 64, "base": 1e30},
            {"name": "sinusoidal", "dim": 4096},
        ):
            yield post(
                "/v1/comparison",
                f"{length} rows of {other}",
                {"a": other, "b": {**other, "base": 500000}, "length": length},
            )
    for start in (0, 1e6, 9e15, 1e15 + 0.5):
        for encoding in (
            rope,
            {**rope, "rope_type": "yarn", "factor": 1e9, "original_max_position_embeddings": 1},
        ):
            yield post(
                "/v1/rotation",
                f"{encoding} from {start}",
                {
                    "encoding": encoding,
                    "axes": "bshd",
                    "layout": "half",
                    "start": start,
                    "tensors": {"q": small},
                },
            )
    for rows in (64, 1024):
        for encoding in (
            {"name": "none"},
            rope,
            {"name": "alibi", "heads": 2},
            {"name": "t5"},
            {"name": "shaw", "max_relative_position": 512},
            {"name": "sandwich", "heads": 2, "dim": 65536},
            {"name": "kerple-power", "heads": 2, "a": [1, 1], "p": [1, 1]},
        ):
            yield post(
                "/v1/attention",
                f"{rows} rows with {encoding['name']}",
                {
                    "encoding": encoding,
                    **({"layout": "half"} if encoding is rope else {}),
                    "tensors": {
                        name: tensor(*shape)
                        for name, shape in (
                            *((name, (1, 2, rows, 64)) for name in "qkv"),
                            *EXTRA.get(encoding["name"], ()),
                        )
                    },
                },
            )
    for size in (64, 2048, 65536):
        yield post(
            "/v1/diagnosis",
            f"of {size} rows",
            {"tensors": {"cos": tensor(size, 32), "sin": tensor(size, 32)}},
        )
        yield post(
            "/v1/diagnosis", f"of {size} frequencies", {"tensors": {"inv_freq": tensor(size)}}
        )
    for size in (64, 1 << 20):
        yield get(
            "/v1/layout",
            {
                "from_layout": "meta",
                "to_layout": "half",
                "head_dim": size,
                "heads": (1 << 20) // size,
            },
        )
        yield post(
            "/v1/embedding",
            f"of {size} rows",
            {
                "encoding": {"name": "sinusoidal", "dim": 64},
                "start": size,
                "tensors": {"x": tensor(1, 64, 64)},
            },
        )
    for config in (
        {"rope_theta": 1e4, "head_dim": 65536, "model_type": "llama"},
        {
            "model_type": "llama",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "max_position_embeddings": 131072,
            "original_max_position_embeddings": 4096,
            "rope_scaling": {
                "rope_type": "longrope",
                "short_factor": [1] * 64,
                "long_factor": [1] * 64,
            },
        },
    ):
        yield post("/v1/config", str(config)[:60], {"config": config})
        yield post("/v1/config", str(config)[:60] + ", as it is", config)


# ---- how it is measured -------------------------------------------------------------------------


@dataclasses.dataclass
class Measure:
    status: int = 0
    cpu: float = 0
    resident: int = 0
    charged: int = 0
    bytes: int = 0
    left_cpu: float = 0


def cpu_of(server):
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(") ")[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def memory_of(server, which):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(rf"{which}:\s*(\d+) kB", status)[1]) << 10


def metric(server, name):
    text = server.get("/metrics", timeout=30).text
    return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])


def send(server, request, seconds):
    """(status, bytes read); the client leaves after so many seconds."""
    until, first, size = time.monotonic() + seconds, b"", 0
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(request.bytes.replace(b"\r\nHost", b"\r\nConnection: close\r\nHost", 1))
        while (left := until - time.monotonic()) > 0:
            if not select.select([client], [], [], left)[0]:
                break
            part = client.recv(4 * MIB)
            if not part:
                break
            size += len(part)
            first = first or part
    return int(first.split(b" ", 2)[1]) if first else 0, size


def settled_cpu(server, worked=True):
    """The server's CPU time once it has stopped growing."""
    now, then = cpu_of(server), None if worked else cpu_of(server)
    while now != then:
        time.sleep(0.1)
        now, then = cpu_of(server), now
    return now


def measure(servers, request):
    server = servers.fresh()
    before, resident = cpu_of(server), memory_of(server, "VmRSS")
    found = Measure()
    began = time.monotonic()
    found.status, found.bytes = send(server, request, READ_SECONDS_MAX)
    found.cpu = settled_cpu(server, time.monotonic() - began > TICK) - before
    found.resident = memory_of(server, "VmHWM") - resident
    found.charged = int(metric(server, "posenc_memory_held_max_bytes"))
    servers.used = found.status == 200 or found.cpu > 2 * TICK
    if found.cpu > LONG:
        server = servers.fresh()
        send(server, request, 0.05)
        before = cpu_of(server)
        found.left_cpu = settled_cpu(server) - before
        servers.used = True
    return found


class Servers:
    """One server at a time, replaced after it has worked."""

    def __init__(self, work):
        self.flags = (*FLAGS, "--work-max", str(int(work * 1e9)), "--tables", str(TABLE))
        self.server, self.used = conftest.start(*self.flags), False

    def fresh(self):
        if self.used:
            conftest.finish(self.server)
            self.server, self.used = conftest.start(*self.flags), False
        return self.server


def faults_of(found, work):
    return [
        text
        for wrong, text in (
            (
                found.status == 0 or found.status >= 500 and found.status != 503,
                f"status {found.status}",
            ),
            (found.cpu > CPU_FACTOR * work, f"{found.cpu:.2f} s of CPU"),
            (
                found.resident > RESIDENT_FACTOR * found.charged + RESIDENT_MORE,
                f"{found.resident / MIB:.0f} MiB resident, {found.charged / MIB:.0f} MiB charged",
            ),
            (found.left_cpu > LEFT_CPU, f"{found.left_cpu:.2f} s of CPU after its client left"),
        )
        if wrong
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=float, default=1.0, help="seconds of --work-max")
    parser.add_argument("names", nargs="*", help="only requests that have one of these")
    arguments = parser.parse_args()
    servers, began = Servers(arguments.work), time.monotonic()
    asked = [
        request for encoding, view in views(servers.server) for request in of_view(encoding, view)
    ] + list(functions())
    asked = [
        request
        for request in dict.fromkeys(asked)
        if not arguments.names or any(name in request.name for name in arguments.names)
    ]
    wrong, statuses, leaving = 0, collections.Counter(), []
    for request in asked:
        found = measure(servers, request)
        statuses[found.status] += 1
        leaving += [found.left_cpu] if found.cpu > LONG else []
        if faults := faults_of(found, arguments.work):
            wrong += 1
            print(
                f"{request.name}: {', '.join(faults)} (status {found.status}, "
                f"{found.cpu:.2f} s, {found.bytes / MIB:.0f} MiB)",
                flush=True,
            )
    conftest.finish(servers.server)
    left = f"{statistics.median(leaving):.2f}, at most {max(leaving):.2f}" if leaving else "none"
    print(
        f"{len(asked)} requests in {time.monotonic() - began:.0f} s, by status "
        f"{dict(sorted(statuses.items()))}; CPU after the client left: {left}"
    )
    print(f"{len(asked) - wrong} passed, {wrong} failed, 0 skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
