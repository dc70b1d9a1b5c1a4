# SPDX-License-Identifier: MIT
"""What requests make the process hold, seen by the system: the memory of a JSON body is bounded, in
whatever way it is written and coded, and what was held goes back."""

import gzip
import re
import threading
import time

import pytest
import wire
import zstandard
from held import HOST, MIB, held, metric, rotation

SIZE = 8 * MIB


def status(server, name):
    """A line of /proc/PID/status, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as file:
        return int(re.search(rf"{name}:\s+(\d+) kB", file.read()).group(1)) << 10


def filled(begin, unit, end):
    return begin + unit * ((SIZE - len(begin) - len(end)) // len(unit)) + end


TREES = {
    "objects": filled(b'{"a":[{}', b",{}", b"]}"),
    "lists": filled(b'{"a":[[[]]', b",[]", b"]}"),
    "strings": filled(b'{"a":[""', b',""', b"]}"),
    "zeros behind a string": filled(b'{"a":[""', b",0", b"]}"),
    "deep": filled(b'{"a":[{}', b"," + b"[" * 60 + b"]" * 60, b"]}"),
    "keys": b'{"a":{%s}}' % b",".join(b'"%d":{}' % i for i in range(60000)),
    "a long key": filled(b'{"', b"k", b'":0}'),
    "a long string": filled(b'{"a":"', b"k", b'"}'),
    "a config in a text": filled(b'{"config":"{\\"a\\":[0', b",{}", b']}"}'),
}
PATHS = ["/v1/config", "/v1/rotation", "/v1/comparison", "/v1/diagnosis"]
CODINGS = {
    "identity": bytes,
    "gzip": lambda body: gzip.compress(body, 1),
    "zstd": zstandard.ZstdCompressor().compress,
}


def post(server, path, body, coding="identity"):
    coded = CODINGS[coding](body)
    field = b"" if coding == "identity" else b"Content-Encoding: %s\r\n" % coding.encode()
    return wire.ask(
        server.port,
        b"POST %s HTTP/1.1\r\n" % path.encode()
        + HOST
        + field
        + b"Content-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(coded) + coded,
        60,
    )[0]


def most_held(start_server, *requests):
    """The growth of the process."""
    server = start_server("--log-format", "off")
    assert wire.is_alive(server.port)
    before = status(server, "VmRSS")
    answers = [post(server, *request) for request in requests]
    assert {answer.status for answer in answers} <= {200, 404, 413, 422}
    assert wire.eventually(lambda: held(server) == 0)
    return status(server, "VmHWM") - before


@pytest.mark.plain
@pytest.mark.parametrize("tree", TREES)
def test_a_tree_takes_64_mib_at_most(start_server, tree):
    """Besides the body; 31 MiB of {} once took 2.4 GB."""
    requests = [(path, TREES[tree]) for path in PATHS]
    requests += [(PATHS[0], TREES[tree], coding) for coding in ("gzip", "zstd")]
    assert most_held(start_server, *requests) < 2 * len(TREES[tree]) + 64 * MIB + 16 * MIB


WHOLE = b'{"model_type":"llama","hidden_size":64,"num_attention_heads":1,"x":[%s]}'


@pytest.mark.plain
@pytest.mark.parametrize(
    "path, body, coding",
    [
        (PATHS[0], TREES["objects"] * 4, "zstd"),
        (PATHS[0], WHOLE % b",".join([b"{}"] * 130000), "identity"),
        (PATHS[1], filled(b'{"positions":[1', b",1", b"]}"), "identity"),
    ],
    ids=["refused", "read", "numbers"],
)
def test_others_wait_for_no_tree(server, path, body, coding):
    """Neither while it is parsed nor while it is freed, which once took the loop .8 s."""
    longest = []
    while len(longest) < 3 and min(longest, default=1) > 0.1:
        poster = threading.Thread(target=post, args=(server, path, body, coding))
        poster.start()
        waits, last = [], time.monotonic() + 0.1
        while poster.is_alive() or time.monotonic() < last:
            began = time.monotonic()
            assert wire.is_alive(server.port)
            waits.append(time.monotonic() - began)
        longest.append(max(waits))
        poster.join()
    assert min(longest) < 0.1, longest


@pytest.mark.plain
@pytest.mark.parametrize("number", [b"1", b"0.5"])
@pytest.mark.parametrize(
    "path, begin",
    [
        ("/v1/rotation", b'{"positions":[1'),
        ("/v1/rotation", b'{"tensors":{"q":{"dtype":"f64","data":[1'),
        ("/v1/encodings/rope/table", b'{"dim":4096,"positions":[1'),
    ],
)
def test_numbers_take_what_they_are(start_server, path, begin, number):
    """Body and numbers together are at most five times the body."""
    body = filled(begin, b"," + number, b"]}" + b"}" * begin.count(b"{", 1))
    numbers = 8 * body.count(b",")
    assert most_held(start_server, (path, body)) < 1.1 * (SIZE + numbers) + 16 * MIB


def test_values_are_counted(start_server):
    """Lists of numbers are not counted as values."""
    server = start_server("--json-values-max", "20")
    config = b'{"model_type":"llama","hidden_size":64,"num_attention_heads":1,"x":[%s]}'
    table = b'{"dim":2,"positions":[%s]}'
    assert post(server, "/v1/config", config % b",".join([b"{}"] * 16)).status == 200
    refused = post(server, "/v1/config", config % b",".join([b"{}"] * 17))
    assert refused.status == 413 and b"more than 20 values" in refused.body
    assert b"--json-values-max" in refused.body
    many = table % b",".join([b"10000"] * 1000)
    assert post(server, "/v1/encodings/rope/table", many).status == 200
    assert post(server, "/v1/encodings/rope/table", many.replace(b"]", b',"x"]')).status == 413
    assert server.get("/v1").json()["limits"]["json_values_max"] == 20


def test_connections_are_in_the_budget(start_server):
    """With or without requests, until they are closed; requests have the rest."""
    server = start_server("--log-format", "off", "--memory-budget", "8MiB")
    body = b'{"tensors":{}}'.ljust(2 * MIB)
    assert post(server, "/v1/rotation", body).status == 422
    assert wire.eventually(lambda: metric(server, "posenc_memory_connections_bytes") < 72 << 10)
    clients = [wire.connect(server.port) for _ in range(300)]
    assert wire.eventually(
        lambda: metric(server, "posenc_memory_connections_bytes") > 300 * (20 << 10)
    )
    assert post(server, "/v1/rotation", body).status == 503
    for client in clients:
        client.close()
    assert wire.eventually(lambda: metric(server, "posenc_memory_connections_bytes") < 72 << 10)
    assert post(server, "/v1/rotation", body).status == 422


@pytest.mark.plain
def test_what_was_held_goes_back(start_server):
    """To the system, in a few seconds, without requests."""
    server = start_server("--log-format", "off")
    assert wire.is_alive(server.port)
    before, size = status(server, "VmRSS"), 32 * MIB

    def rotate():
        with wire.connect(server.port, 60) as client:
            client.sendall(rotation(4096, size) + bytes(size))
            assert wire.read_answer(client.makefile("rb")).status == 200

    threads = [threading.Thread(target=rotate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert status(server, "VmHWM") - before > size
    assert wire.eventually(lambda: status(server, "VmRSS") - before < 32 * MIB, 5)
