# SPDX-License-Identifier: MIT
"""Each request changes the counters of /metrics by the expected amounts, exactly."""

import gzip
import itertools
import json
import math
import os
import pathlib
import re
import select
import socket
import subprocess
import time

import pytest
import wire

HOST = b"Host: localhost\r\n"
TABLE = "/v1/encodings/rope/table"
VIEW = "/v1/encodings/{name}/{view}"
ROTATION = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0"
NEW = "{new}"  # a number that no request before has had, by `renewed`
BATCH = bytes(2 * 3 * 8 * 4)


class Meter:
    """A server of its own and one connection to it, on which requests follow one another, so that
    each is counted before the next begins. A page of metrics does not count its own request."""

    def __init__(self, server):
        self.client = wire.connect(server.port, 60)
        self.stream = self.client.makefile("rb")
        self.values, self.size = {}, 0

    def ask(self, method, target, body=b"", *fields):
        lines = [
            f"{method} {target} HTTP/1.1",
            "Host: localhost",
            *fields,
            f"Content-Length: {len(body)}",
        ]
        self.client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return wire.read_answer(self.stream, method == "HEAD")

    def page(self):
        answer = self.ask("GET", "/metrics")
        assert answer.status == 200
        before, size = self.values, self.size
        self.size = len(answer.body)
        self.values = {
            m[1]: float(m[2])
            for m in re.finditer(r"^(\w+(?:\{.*\})?) (\S+)$", answer.body.decode(), re.M)
        }
        return {name: value - before.get(name, 0) for name, value in self.values.items()}, size

    def moved(self, *requests):
        """The changes of the counters by requests alone, and the answers."""
        self.page()
        answers = [self.ask(*request) for request in requests]
        moved, size = self.page()
        own = {requests_of("/metrics", "GET", 200): 1, SENT: size, duration_of("/metrics"): 1}
        for name, value in own.items():
            moved[name] -= value
        return {name: value for name, value in moved.items() if value}, answers


def requests_of(route, method, code):
    return f'posenc_http_requests_total{{route="{route}",method="{method}",code="{code}"}}'


def elements_of(operation, encoding, dtype="f32"):
    return f'posenc_elements_total{{operation="{operation}",encoding="{encoding}",dtype="{dtype}"}}'


SENT, RECEIVED = "posenc_http_response_bytes_total", "posenc_http_request_bytes_total"
DURATIONS = "posenc_http_request_duration_seconds"
HITS, MISSES = "posenc_cache_hits_total", "posenc_cache_misses_total"


def duration_of(route, what="_count"):
    return f'{DURATIONS}{what}{{route="{route}"}}'


@pytest.fixture(scope="module")
def meter(start_shared):
    return Meter(start_shared("--log-format", "off"))


def table(**parameters):
    query = {"dim": 32, "length": 100, "format": "raw", "base": NEW} | parameters
    return TABLE + "?" + "&".join(f"{name}={value}" for name, value in query.items())


RAW = ("Content-Type: application/octet-stream", "Tensor-Dtype: f32", "Tensor-Shape: 1,2,3,8")
TABLE_ELEMENTS, ALL = elements_of("table", "rope"), 3200

TURNED = "POST", ROTATION + "&base=" + NEW, BATCH, *RAW
TEXT = {"dim": 128, "length": 4000, "format": "json"}

# A request, its status, the changes of counters besides those of requests, seconds and bytes, and
# what is requested before, if anything. No case sees what another left: each has numbers of its
# own. A view looks up its answer in the cache, then its prepared scheme; a rotation looks up what
# its head was parsed to, then its cos and sin, which are looked up a second time before they are
# computed.
CASES = {
    "a table": (("GET", table()), 200, {TABLE_ELEMENTS: ALL, MISSES: 2}),
    "kept": (("GET", table()), 200, {HITS: 1}, ("GET", table())),
    "a part of a kept one": (
        ("GET", table(), b"", "Range: bytes=0-399"),
        206,
        {HITS: 1},
        ("GET", table()),
    ),
    "a part of none": (
        ("GET", table(), b"", "Range: bytes=400-1199"),
        206,
        {TABLE_ELEMENTS: 200, MISSES: 2},
    ),
    "the last bytes": (
        ("GET", table(), b"", "Range: bytes=-4"),
        206,
        {TABLE_ELEMENTS: 1, MISSES: 2},
    ),
    "another part": (
        ("GET", table(), b"", "Range: bytes=-4"),
        206,
        {TABLE_ELEMENTS: 1, MISSES: 1, HITS: 1},
        ("GET", table(), b"", "Range: bytes=400-1199"),
    ),
    "a part of a stream": (
        ("GET", table(dim=128, length=90000), b"", "Range: bytes=1000-40999"),
        206,
        {TABLE_ELEMENTS: 10000, MISSES: 2},
    ),
    "a stream": (("GET", table(dim=128, length=20000)), 200, {TABLE_ELEMENTS: 2560000, MISSES: 2}),
    "a stream of the same scheme": (
        ("GET", table(dim=128, length=20000)),
        200,
        {TABLE_ELEMENTS: 2560000, MISSES: 1, HITS: 1},
        ("GET", table(dim=128)),
    ),
    "text in chunks": (("GET", table(**TEXT)), 200, {TABLE_ELEMENTS: 512000, MISSES: 2}),
    "coded text": (
        ("GET", table(**TEXT), b"", "Accept-Encoding: gzip"),
        200,
        {TABLE_ELEMENTS: 512000, MISSES: 2},
    ),
    "no body": (("HEAD", table()), 200, {MISSES: 1}),
    "a known tag": (("GET", table(), b"", "If-None-Match: *"), 304, {MISSES: 2}),
    "a bias with its slopes": (
        (
            "GET",
            "/v1/encodings/alibi/bias?heads=3&query_length=5&format=raw&dtype=f64"
            "&alibi_bias_max=" + NEW,
        ),
        200,
        {elements_of("bias", "alibi", "f64"): 78, MISSES: 2},
    ),
    "a rotation": (TURNED, 200, {elements_of("rotation", "rope"): 48, MISSES: 3}),
    "again, by the same cos and sin": (
        TURNED,
        200,
        {elements_of("rotation", "rope"): 48, HITS: 2},
        TURNED,
    ),
    "coded": (
        ("POST", ROTATION + "&base=" + NEW, gzip.compress(BATCH), *RAW, "Content-Encoding: gzip"),
        200,
        {elements_of("rotation", "rope"): 48, HITS: 1},
        TURNED,
    ),
    "a body of no type": (("POST", ROTATION, BATCH, "Content-Type: text/csv"), 415, {}),
    "nowhere": (("GET", "/nowhere"), 404, {}),
    "a wrong name": (("GET", "/v1/encodings/rop/table?base=" + NEW), 404, {MISSES: 1}),
    "a wrong value": (("GET", table(dim=7)), 422, {MISSES: 1}),
    "a wrong method": (("DELETE", "/v1"), 405, {}),
    "a body behind a refusal": (("POST", "/v1", bytes(100000)), 405, {}),
    "what a page may ask": (("OPTIONS", table()), 204, {}),
    "not satisfiable": (("GET", table(), b"", "Range: bytes=99999-"), 416, {MISSES: 2}),
}
CODES = {
    404: "not-found",
    405: "method-not-allowed",
    415: "unsupported-media-type",
    416: "range-not-satisfiable",
    422: "out-of-range",
}


NUMBERS = itertools.count(101)  # above those of the other tests


def renewed(*requests):
    """The requests with a new number, the same in all of them."""
    number = str(next(NUMBERS))
    return [(method, target.replace(NEW, number), *rest) for method, target, *rest in requests]


@pytest.mark.parametrize("name", CASES)
def test_counters(meter, name):
    asked, status, rest, *before = CASES[name]
    request, *before = renewed(asked, *before)
    for one in before:
        meter.ask(*one)
    moved, (answer,) = meter.moved(request)
    assert answer.status == status, answer.body
    moved = {
        key: value
        for key, value in moved.items()
        if not key.startswith(
            (
                DURATIONS + "_bucket",
                DURATIONS + "_sum",
                "posenc_loop",
                "process_",
                "posenc_memory",
                "posenc_cache_bytes",
            )
        )
    }
    path = request[1].split("?")[0]
    route = VIEW if path.startswith("/v1/enc") else path if path != "/nowhere" else ""
    expected = {
        requests_of(route, request[0], status): 1,
        duration_of(route): 1,
        SENT: len(answer.body),
        RECEIVED: len(request[2]) if len(request) > 2 else 0,
    } | rest
    if status >= 400:
        code = re.search(rb'"code":"([\w-]+)"', answer.body)[1].decode()
        assert CODES[status] == code
        expected[f'posenc_problems_total{{code="{code}"}}'] = 1
    if status == 304:
        expected["posenc_not_modified_total"] = 1
    assert moved == {key: value for key, value in expected.items() if value}


def test_elements_have_a_series_of_each_kind(meter):
    """By operation, encoding and dtype, of which any two may be the same."""
    views = {"table": "length=3", "frequencies": "", "similarity": "length=3"}
    asked = {
        (view, encoding, dtype): f"/v1/encodings/{encoding}/{path}?dim=8&{query}&dtype={dtype}"
        for view, query in views.items()
        for path in [f"analysis/{view}" if view == "similarity" else view]
        for encoding in ("rope", "sinusoidal")
        for dtype in ("f32", "f64", "f16", "bf16")
    }
    moved, answers = meter.moved(
        *(("GET", target + "&data_format=base64") for target in asked.values())
    )
    assert {answer.status for answer in answers} == {200}
    counted = {name: value for name, value in moved.items() if name.startswith("posenc_elements")}
    assert counted == {
        elements_of(*kind): sum(
            math.prod(tensor["shape"]) for tensor in json.loads(answer.body)["tensors"].values()
        )
        for kind, answer in zip(asked, answers)
    }


def test_a_stream_that_has_begun_is_on_the_pool(start_server):
    """Its blocks are jobs, but the request is no longer computed. A stream that ends before the
    metrics are read is tried again."""
    meter = Meter(start_server("--log-format", "off", "--threads", "1", "--cache-max", "0"))

    def is_on_the_pool():
        with wire.connect(meter.client.getpeername()[1], 60) as client:
            client.sendall(
                b"GET /v1/encodings/rope/frequencies?dim=16384&format=raw HTTP/1.1\r\n"
                + HOST
                + b"Range: bytes=0-\r\n\r\n"
            )
            assert client.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 206"
            meter.page()
        computed = meter.values["posenc_requests_computed"]
        return meter.values["posenc_queue_depth"] >= 1 and computed == 0

    assert any(is_on_the_pool() for _ in range(20))


def test_types_are_those_of_their_names(meter):
    """A name that ends in total is a counter, and no other; each has a help and one type."""
    page = meter.ask("GET", "/metrics").body.decode()
    types = re.findall(r"^# TYPE (\w+) (\w+)$", page, re.M)
    assert [name for name, _ in types] == re.findall(r"^# HELP (\w+) \S.*$", page, re.M)
    assert len(dict(types)) == len(types) > 25
    for name, kind in types:
        is_histogram = re.fullmatch(r"posenc_\w+_seconds", name)
        usual = "histogram" if is_histogram else "gauge"
        assert kind == ("counter" if name.endswith("_total") else usual), name


def test_the_time_of_an_upload_is_no_waiting(meter):
    """Server-Timing has what the server does after the last byte of a body."""
    body = b"1" * 4096
    meter.client.sendall(
        b"POST /v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0 HTTP/1.1\r\n"
        + HOST
        + b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\n"
        b"Tensor-Shape: 1,1,16,64\r\nContent-Length: 4096\r\n\r\n" + body[1:]
    )
    time.sleep(0.3)
    began = time.monotonic()
    meter.client.sendall(body[:1])
    answer = wire.read_answer(meter.stream)
    passed = 1e3 * (time.monotonic() - began)
    times = re.findall(r"(\w+);dur=([\d.]+)", answer.headers["server-timing"])
    assert answer.status == 200 and {name for name, _ in times} >= {"queue", "compute"}
    assert sum(float(milliseconds) for _, milliseconds in times) <= passed + 1


def test_histograms(meter):
    """Buckets rise to the count, and the sum is the time."""
    asked = [("GET", table(base=20 + i)) for i in range(20)]
    moved, _ = meter.moved(*asked, ("GET", table(dim=128, length=90000)))
    assert moved[duration_of(VIEW)] == 21 and 0 < moved[duration_of(VIEW, "_sum")] < 20
    for name, label in (
        (DURATIONS, f'{{route="{VIEW}"}}'),
        ("posenc_loop_turn_seconds", ""),
        ("posenc_loop_turn_cpu_seconds", ""),
    ):
        start = f"{name}_bucket{label[:-1] + ',' if label else '{'}le="
        edges = [
            (float(key[len(start) + 1 : -2]), value)
            for key, value in meter.values.items()
            if key.startswith(start)
        ]
        assert len(edges) == 17 and [edge for edge, _ in edges] == sorted(e for e, _ in edges)
        counts = [count for _, count in edges]
        assert counts == sorted(counts) and edges[-1][0] == float("inf")
        assert counts[-1] == meter.values[f"{name}_count{label}"] > 0
        most = (
            sum((high - low) * edge for (edge, high), low in zip(edges[:-1], [0, *counts[:-2]]))
            + (counts[-1] - counts[-2]) * 60
        )
        assert 0 < meter.values[f"{name}_sum{label}"] <= most


def test_requests_under_way(meter):
    """Requests that are being sent, and none that has ended."""
    port = meter.client.getpeername()[1]
    held = [wire.connect(port) for _ in range(3)]
    for client in held:
        client.sendall(
            f"POST {ROTATION} HTTP/1.1\r\n".encode() + HOST + b"Content-Length: 1000\r\n\r\nx"
        )

    def under_way():
        meter.page()
        return meter.values["posenc_http_requests_in_flight"]

    assert wire.eventually(lambda: under_way() == 4)
    moved = meter.moved()[0]
    for client in held:
        client.close()
    assert requests_of("/v1/rotation", "POST", 0) not in moved
    assert wire.eventually(lambda: under_way() == 1)


def test_descriptors_are_counted(start_server):
    server = start_server("--log-format", "off")
    meter = Meter(server)
    meter.page()
    held = [Meter(server) for _ in range(20)]
    assert all(other.ask("GET", "/livez").status == 200 for other in held)
    moved, _ = meter.page()
    assert moved["process_open_fds"] == len(held)
    folder = pathlib.Path(f"/proc/{server.process.pid}/fd")
    assert meter.values["process_open_fds"] == len(list(folder.iterdir()))


# ---- beside what the system reports --------------------------------------------------------------

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def proc(process, name):
    return pathlib.Path(f"/proc/{process.pid}/{name}").read_text()


def stat(process):
    """The fields after the program's name: the first is the third of proc(5)."""
    return proc(process, "stat").rpartition(")")[2].split()


def cpu_seconds(process):
    return sum(map(int, stat(process)[11:13])) / TICKS


def resident(process):
    return int(proc(process, "statm").split()[1]) * PAGE


def between(meter, process, name, source, slack):
    """The metric is between the values of its source before and after the page, with a slack."""
    before = source(process)
    meter.page()
    value, after = meter.values[name], source(process)
    assert min(before, after) - slack <= value <= max(before, after) + slack, (before, value, after)
    return value


def test_processor_time(start_server):
    """User and system time, with fractions of a second, by requests that use either."""
    server = start_server("--log-format", "off")
    meter = Meter(server)
    name, seen = "process_cpu_seconds_total", []
    for i in range(20):
        for _ in range(60):
            meter.ask("GET", "/livez")
        meter.ask("GET", table(dim=512, length=4000, base=30 + i, dtype="f64"))
        seen.append(between(meter, server.process, name, cpu_seconds, 3 / TICKS))
    assert seen == sorted(seen) and seen[-1] - seen[0] > 0.05
    turns = meter.values["posenc_loop_turn_cpu_seconds_sum"]
    assert 0 < turns <= seen[-1] + 3 / TICKS
    assert turns <= meter.values["posenc_loop_turn_seconds_sum"] * 1.01 + 0.01


def test_memory_descriptors_and_start(start_server):
    before = time.time()
    server = start_server("--log-format", "off")
    meter = Meter(server)
    for length in (10, 20000, 30000):
        meter.ask("GET", table(dim=128, length=length, base=40))
        between(meter, server.process, "process_resident_memory_bytes", resident, 2 << 20)
    limit = re.search(r"Max open files +(\d+)", proc(server.process, "limits"))[1]
    assert meter.values["process_max_fds"] == int(limit)
    held = [Meter(server) for _ in range(5)]
    assert all(other.ask("GET", "/livez").status == 200 for other in held)
    meter.page()
    descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    assert abs(meter.values["process_open_fds"] - descriptors) <= 1  # one that is open to count
    assert before - 1 <= meter.values["process_start_time_seconds"] <= time.time()
    booted = int(re.search(r"^btime (\d+)", pathlib.Path("/proc/stat").read_text(), re.M)[1])
    started = booted + int(stat(server.process)[19]) / TICKS
    assert abs(meter.values["process_start_time_seconds"] - started) < 3


def test_memory_of_requests(start_server):
    """The memory of a body while it is received, its maximum, and the cache."""
    server = start_server("--log-format", "off", "--memory-budget", "256M")
    meter, size = Meter(server), 8 << 20
    meter.page()
    idle = meter.values["posenc_memory_held_bytes"]
    client = wire.connect(server.port)
    fields = "\r\n".join(RAW[:2] + (f"Tensor-Shape: 1,1,{size // 32},8",))
    client.sendall(
        f"POST {ROTATION} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"
        f"Content-Length: {size}\r\n\r\n".encode()
        + bytes(1000)
    )

    def held(name="posenc_memory_held_bytes"):
        meter.page()
        return meter.values[name] - idle

    assert wire.eventually(lambda: size <= held() <= 3 * size)
    assert meter.values["posenc_memory_held_max_bytes"] >= size
    assert meter.values["posenc_memory_budget_bytes"] == 256e6
    client.close()
    assert wire.eventually(lambda: held() < size / 8)
    assert meter.values["posenc_memory_held_max_bytes"] >= size
    cached = meter.values["posenc_cache_bytes"]
    answer = meter.ask("GET", table(dim=128, length=1000, base=50))
    meter.page()
    grown = meter.values["posenc_cache_bytes"] - cached
    assert len(answer.body) <= grown <= 1.5 * len(answer.body) + 65536


def test_answers_give_their_memory_back(start_server):
    """Those of each kind: bytes, streams, parts, no body, refusals; and none is kept."""
    meter = Meter(start_server("--log-format", "off", "--cache-max", "0"))

    def held():
        meter.page()
        return meter.values["posenc_memory_held_bytes"]

    for asked, status, *_ in CASES.values():
        (request,) = renewed(asked)
        meter.ask(*request)
        before = held()
        for _ in range(3):
            assert meter.ask(*request).status == status
        assert held() == before, request


@pytest.mark.plain
def test_other_loops_go_on_while_proc_is_read(start_server, tmp_path):
    library = tmp_path / "slow.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", pathlib.Path(__file__).parent / "slow_proc.c", "-o", library],
        check=True,
    )
    server = start_server("--loops", "2", env={"LD_PRELOAD": str(library)})
    clients = [
        wire.connect(server.port) for _ in range(16)
    ]  # one loop has all with a chance of 1 in 32768
    clients[0].sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.2)
    others = clients[1:]
    for _ in range(2):  # a loop that waits for the lock may have answered once before
        for client in others:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        others, _, _ = select.select(others, [], [], 0.2)
        assert others and clients[0] not in select.select(clients, [], [], 0)[0]
        for client in others:
            assert wire.read_answer(client.makefile("rb")).status == 200
