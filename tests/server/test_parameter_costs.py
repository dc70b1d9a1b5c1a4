# SPDX-License-Identifier: MIT
"""What a parameter costs, whatever its value: every parameter of every operation, as the running
server lists them, gets its longest legal and illegal values in a query, in JSON and
in the metadata of safetensors. Beside that no turn of a loop takes long, /livez answers, the
process stays within --memory-budget and a constant, and a request takes no more CPU than four times
what is estimated of it, or may be.

POSENC_COSTS=all tries each parameter with each encoding; else one encoding for each view is taken.
"""

import dataclasses
import http.client
import json
import os
import re
import threading
import time
import urllib.parse

import numpy
import pytest
from held import MIB
from safetensors.numpy import save as safetensors_save

pytestmark = pytest.mark.plain

BESIDE = 64 * MIB  # of memory, beside what requests may have
WORK_MAX = 0.25  # seconds that may be estimated of one request
TURN_MAX = 0.025  # seconds of CPU of one turn of a loop: a bound of the histogram
LIVEZ_MAX = 0.02
CPU_SPARE = 0.1  # seconds for requests of next to no work: thread starts, first use of a page
ALL = os.environ.get("POSENC_COSTS") == "all"

# Legal and illegal, at the ends of what is taken. A query has 48 KB at most.
LISTS = [
    "0..16777214",
    "0..16777215",
    "0..16777216",
    "0..8388606,8388608..16777214",
    "0..2000000,2000002..4000000",
    "[0..16777213]",
    "0..16777214;0",
    "0;0..16777214",
    "0..8388607;0..8388607",
    "0..1999999;1..2000000",
    "0..9999,x",
    ",".join("0..999" for _ in range(4000)),
    ";".join("0..999" for _ in range(4000)),
    "1," * 20000 + "1",
    "1;" * 20000 + "1",
    "-9007199254740991..9007199254740991",
]
NUMBERS = ["9007199254740991", "1e308", "1" * 40000, "0." + "3" * 40000, "1e-40000"]
TEXTS = ["x" * 40000, "," * 40000, "%00" * 10, "\u0661" * 4000]
LONG_LIST = [1.5] * 20000
MANY = [
    "=&" * 16000,
    "%ff&" * 10000,
    "&".join(f"a{i}" for i in range(7000)),
    "n=4&" * 10000,
    "positions=0..999&" * 2500,
    "dim=8&" * 7000,
]


@dataclasses.dataclass
class Operation:
    """A path, good members of a request to it, and its parameters with their schemas."""

    path: str
    methods: list
    good: dict
    parameters: dict
    tensors: dict


# ---- what the server has -------------------------------------------------------------------------


def get(server, path):
    return json.loads(server.get(path, timeout=60).content)


def smallest(schema):
    """A legal value of a required parameter."""
    if "enum" in schema:
        return schema["enum"][0]
    if "array" in schema.get("type", ()):
        return [1, 1, 2]
    return max(8 if schema.get("unit") == "elements" else 2, schema.get("minimum", 0))


def views(server):
    """Each view of the first encoding that has it with each parameter; all of them for ALL."""
    seen = set()
    for name in [one["name"] for one in get(server, "/v1/encodings")["encodings"]]:
        encoding = get(server, f"/v1/encodings/{name}")
        own = encoding["parameters"]
        for view in encoding["operations"]:
            known = own["properties"] | view["parameters"]["properties"]
            names = {key for key in known if ALL or (view["name"], key) not in seen}
            seen |= {(view["name"], key) for key in names}
            required = own.get("required", []) + view["parameters"].get("required", [])
            good = {key: smallest(known[key]) for key in required}
            if "length" in view["parameters"]["properties"]:
                good["length"] = 4
            yield Operation(
                view["href"], view["methods"], good, {key: known[key] for key in sorted(names)}, {}
            )


def resolved(contract, what):
    while "$ref" in what:
        for at in (contract,):
            for key in what["$ref"].removeprefix("#/").split("/"):
                at = at[key]
        what = at
    return what


def functions(server):
    """The operations of the contract that are no views, with the body of their first example."""
    contract = get(server, "/openapi.json")
    for path, operations in contract["paths"].items():
        for method, operation in operations.items():
            if method not in ("get", "post") or "{" in path:
                continue
            parameters = [resolved(contract, one) for one in operation.get("parameters", [])]
            content = operation.get("requestBody", {}).get("content", {})
            examples = content.get("application/json", {}).get("examples", {})
            example = resolved(contract, next(iter(examples.values()), {})).get("value", {})
            tensors = example.pop("tensors", {}) if isinstance(example, dict) else {}
            yield Operation(
                path,
                [method.upper()],
                example,
                {one["name"]: one["schema"] for one in parameters if one["in"] == "query"},
                tensors,
            )


# ---- requests ------------------------------------------------------------------------------------


def values_of(contract_schema):
    text = json.dumps(contract_schema)
    if "array" in text:
        return LISTS + NUMBERS[:1]
    if "number" in text or "integer" in text:
        return NUMBERS + LISTS[:1]
    return TEXTS + LISTS[:1]


def query_of(members):
    return "&".join(
        f"{key}={urllib.parse.quote(json.dumps(value).strip('[]'), safe=',.;')}"
        if isinstance(value, list)
        else f"{key}={value}"
        for key, value in members.items()
        if not isinstance(value, (dict, bool))
    )


def in_query(operation, key, value):
    good = {
        name: one
        for name, one in operation.good.items()
        if name != key and (key, name) != ("positions", "length")
    }
    quoted = urllib.parse.quote(value, safe=",.;%")
    target = f"{operation.path}?{query_of(good)}&{key}={quoted[:46000]}"
    if "GET" in operation.methods:
        yield "GET", target, None, {}
    elif operation.tensors:
        yield "POST", target, json.dumps({"tensors": operation.tensors}).encode(), {}


def in_json(operation, key, value):
    good = {
        name: one for name, one in operation.good.items() if (key, name) != ("positions", "length")
    }
    if operation.tensors:
        good["tensors"] = operation.tensors
    fields = {"Content-Type": "application/json"}
    for one in (value, LONG_LIST, [LONG_LIST, LONG_LIST]) if value is LISTS[0] else (value,):
        yield "POST", operation.path, json.dumps(good | {key: one}).encode(), fields


def in_metadata(operation, key, value):
    tensors = {
        name: numpy.asarray(one.get("data", [0.0]) if isinstance(one, dict) else one, numpy.float32)
        for name, one in operation.tensors.items()
    }
    good = {
        f"posenc.{name}": json.dumps(one).strip('"[]')
        for name, one in operation.good.items()
        if isinstance(one, (str, int, float, list)) and not isinstance(one, bool)
    }
    if isinstance(operation.good.get("encoding"), dict):
        good["posenc.encoding"] = operation.good["encoding"].get("name", "rope")
    if tensors:
        yield (
            "POST",
            operation.path,
            safetensors_save(tensors, good | {f"posenc.{key}": value}),
            {"Content-Type": "application/x-safetensors"},
        )


def requests_of(operation):
    for key, schema in operation.parameters.items():
        for value in values_of(schema):
            yield from in_query(operation, key, value)
            if "POST" in operation.methods:
                yield from in_json(operation, key, value)
                yield from in_metadata(operation, key, value)
    good = query_of(operation.good)
    if "GET" in operation.methods:
        yield "GET", f"{operation.path}?{good}", None, {}
    for text in MANY:
        if "GET" in operation.methods:
            yield "GET", f"{operation.path}?{good}&{text}"[:47000], None, {}
            yield "GET", f"{operation.path}?{good}&{'&'.join(text.split('&')[:240])}", None, {}


# ---- what is held beside -------------------------------------------------------------------------


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_resident(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) << 10


def long_turns(server):
    """Iterations of loops that took more CPU than allowed."""
    page = server.get("/metrics").text
    counts = [
        int(re.search(rf"^posenc_loop_turn_cpu_seconds_{what} (\d+)$", page, re.M).group(1))
        for what in ("count", re.escape(f'bucket{{le="{TURN_MAX}"}}'))
    ]
    return counts[0] - counts[1]


class Probes:
    """/livez again and again, on a connection of its own."""

    def __init__(self, server):
        self.server, self.seconds, self.end = server, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        while not self.end.wait(0.01):
            start = time.monotonic()
            connection.request("GET", "/livez")
            assert connection.getresponse().read() is not None
            self.seconds.append(time.monotonic() - start)
        connection.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def p90(self):
        return sorted(self.seconds)[len(self.seconds) * 9 // 10]


def estimated(body):
    """The estimated seconds in a refusal; None: not given."""
    found = re.search(rb"would take about (\S+) s of one core", body)
    return float(found.group(1)) if found else None


def sent(connection, request):
    connection.request(*request)
    answer = connection.getresponse()
    return answer.status, answer.read()


def operation_tried(server, connection, operation, budget):
    """The number of answers with 200."""
    good = 0
    for request in requests_of(operation):
        before = cpu_seconds(server)
        status, body = sent(connection, request)
        used = cpu_seconds(server) - before
        what = f"{request[0]} {request[1][:120]} {(request[2] or b'')[:80]}: {body[:200]}"
        assert status < 500 or status == 503, what
        assert used < 4 * (estimated(body) or WORK_MAX) + CPU_SPARE, f"{used} s of CPU: {what}"
        assert most_resident(server) < budget + BESIDE, f"{most_resident(server)} bytes: {what}"
        good += status == 200
    assert long_turns(server) == 0, f"a loop stood still: {operation.path}"
    return good


# A list of 16777215 numbers, 128 MiB, fits into the second budget.
@pytest.mark.parametrize("listed, budget", [(views, 64 * MIB), (functions, 320 * MIB)])
def test_no_parameter_costs_much(start_server, listed, budget):
    server = start_server(
        "--memory-budget",
        str(budget),
        "--threads",
        "8",
        "--log-format",
        "off",
        "--work-max",
        str(int(WORK_MAX * 1e9)),
    )
    operations = list(listed(server))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with Probes(server) as quiet:
        time.sleep(0.5)
    with Probes(server) as probes:
        good = [
            operation_tried(server, connection, one, budget) for one in operations if one.parameters
        ]
    connection.close()
    assert len([one for one in good if one]) > len(good) * 0.7  # what is sent is not refused early
    assert probes.p90() < max(LIVEZ_MAX, 4 * quiet.p90())


def test_ranges_at_eight_a_second(start_server):
    """52 bytes that once blocked the loop: beside eight a second probes are answered."""
    server = start_server("--log-format", "off")
    target = "/v1/encodings/rope/table?dim=2&positions=0..16777214"
    before = cpu_seconds(server)
    with Probes(server) as quiet:
        time.sleep(0.5)
    with Probes(server) as probes:
        for _ in range(16):
            assert server.get(target).status_code == 413
            time.sleep(0.125)
    assert cpu_seconds(server) - before < 1
    assert long_turns(server) == 0
    assert probes.p90() < max(LIVEZ_MAX, 4 * quiet.p90())
    assert most_resident(server) < BESIDE


def test_refused_lists_are_read_once(start_server):
    """A request with a mistake is not opened again: its lists are in memory once."""
    server = start_server("--log-format", "off")
    ranges = "0..3000000,3000002..6000000"  # 46 MB
    target = "/v1/encodings/rope/table?dim=abc&base=x&bogus=1&step=y&n=4&positions=" + ranges
    assert server.get(target).status_code == 422
    assert most_resident(server) < 2 * 46 * MIB
    sides = {
        "a": {"name": "rope", "dim": "x"},
        "b": {"name": "rope", "dim": 4, "bse": 1},
        "positions": ranges,
    }
    assert server.post("/v1/comparison", json=sides).status_code == 422
    assert most_resident(server) < 2 * 46 * MIB + 16 * MIB
