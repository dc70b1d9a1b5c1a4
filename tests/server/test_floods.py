# SPDX-License-Identifier: MIT
"""Floods of small pieces, each by hundreds of connections at once, at a budget of 64 MiB: the
process stays below the budget and 64 MiB more, the budget's own high-water mark says about as much,
what does not fit is refused by a problem document, and all of it goes back."""

import json
import select
import struct
import threading
import time

import pytest
import wire
from held import held, metric

MIB = 1 << 20
BUDGET, MORE = 64 * MIB, 64 * MIB
SECONDS = 0.7
HOST = b"Host: localhost\r\n"
TABLE = b"/v1/encodings/rope/table"


def get(target):
    return b"GET %s HTTP/1.1\r\n" % target + HOST + b"\r\n"


def post(path, body, media=b"application/json"):
    return (
        b"POST %s HTTP/1.1\r\n" % path
        + HOST
        + b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (media, len(body))
        + body
    )


def post_json(path, value):
    return post(path, json.dumps(value).encode())


def safetensors(metadata):
    head = json.dumps(
        {
            "__metadata__": metadata,
            "q": {"dtype": "F32", "shape": [1, 1, 1, 4], "data_offsets": [0, 16]},
        }
    ).encode()
    return struct.pack("<Q", len(head)) + head + bytes(16)


FLOODS = {
    "parameters": get(TABLE + b"?" + b"%ff&" * 4000),
    "as many parameters as there may be": get(TABLE + b"?" + b"%ff&" * 256),
    "long parameters": get(TABLE + b"?" + (b"a" * 63 + b"&") * 250),
    "one long parameter": get(TABLE + b"?dim=x&positions=" + b"1," * 8000),
    "rows": get(TABLE + b"?dim=x&positions=" + b"1;" * 8000),
    "a long path": get(b"/v1/" + b"%41" * 5000),
    "keys": post_json(TABLE, {f"k{i}": i for i in range(60000)}),
    "lists": post_json(TABLE, {f"k{i}": [1.5] * 300 for i in range(400)}),
    "tensors": post_json(
        b"/v1/rotation", {"tensors": {f"t{i}": {"data": [1]} for i in range(1000)}}
    ),
    "metadata": post(
        b"/v1/rotation",
        safetensors({f"k{i}": "v" for i in range(20000)}),
        b"application/x-safetensors",
    ),
    "short answers": get(b"/v1/encodings"),
    "heads that never end": get(TABLE + b"?" + b"a" * 15000)[:-2],
}


def flood(port, request, until, answers):
    """Sends a request again and again, and reads the answers."""
    while time.monotonic() < until:
        try:
            with wire.connect(port, 1) as client:
                stream = client.makefile("rb")
                while time.monotonic() < until:
                    client.sendall(request)
                    answer = wire.read_answer(stream)
                    if not answer:
                        break
                    answers.append(answer)
        except OSError:
            continue  # refused while its body was on the way, or later than the flood


def stay(port, head, until):
    """Sends a part of a head and waits."""
    with wire.connect(port, 5) as client:
        client.sendall(head)
        time.sleep(max(until - time.monotonic(), 0))


def in_threads(count, call, *arguments):
    threads = [threading.Thread(target=call, args=arguments) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def peak(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


@pytest.mark.plain
@pytest.mark.parametrize("name", FLOODS)
def test_a_flood(start_server, name):
    server = start_server("--log-format", "off", "--memory-budget", "64MiB")
    assert wire.is_alive(server.port)
    idle, answers, until = peak(server), [], time.monotonic() + SECONDS
    if name == "heads that never end":
        in_threads(800, stay, server.port, FLOODS[name], until)
    else:
        in_threads(150, flood, server.port, FLOODS[name], until, answers)
        assert answers
    assert peak(server) < BUDGET + MORE
    assert {answer.status for answer in answers} <= {200, 404, 413, 414, 422, 503}
    for answer in answers:
        assert answer.status < 400 or json.loads(answer.body)["status"] == answer.status
    assert wire.eventually(lambda: held(server) == 0, 10)
    noted = int(metric(server, "posenc_memory_held_max_bytes"))
    assert peak(server) - idle < noted + 48 * MIB


@pytest.mark.plain
def test_connections_beyond_the_budget_wait(start_server):
    """A budget of 4 MiB fits 178 connections. The next one is served when others are closed."""
    server = start_server("--log-format", "off", "--memory-budget", "4MiB")
    first = [wire.connect(server.port) for _ in range(178)]
    with wire.connect(server.port, 0.5) as last:
        last.sendall(get(b"/livez"))
        with pytest.raises(TimeoutError):
            last.recv(1)
        for client in first:
            client.close()
        last.settimeout(10)
        assert wire.read_answer(last.makefile("rb")).status == 200
    assert wire.is_alive(server.port)


@pytest.mark.plain
@pytest.mark.parametrize("loops", [2, 4])
def test_loops_share_the_budget_of_connections(start_server, loops):
    """The same 178 whatever the number of loops, less what does not divide: further connections
    wait, and none is closed. 400 of them are more than the share of each loop."""
    server = start_server("--log-format", "off", "--memory-budget", "4MiB", "--loops", str(loops))
    waiting = [wire.connect(server.port) for _ in range(400)]
    for client in waiting:
        client.sendall(get(b"/livez"))
    most = 178 // loops * loops
    while waiting:
        is_first, served = len(waiting) == 400, []
        # What the first ones hold is known; of later ones a loop may have fewer.
        while answered := select.select(
            waiting, [], [], 10 if len(served) < (most if is_first else 1) else 0.3
        )[0]:
            for client in answered:
                assert wire.read_answer(client.makefile("rb")).status == 200
                waiting.remove(client)
            served += answered
        assert len(served) == most if is_first else 0 < len(served) <= most
        for client in served:
            client.close()


def test_short_pairs_take_no_time(server):
    """A query of 16 KB of =&, of which one of 46 KB once took a third of a second."""
    times = []
    for _ in range(5):
        with wire.connect(server.port) as client:
            began = time.monotonic()
            client.sendall(get(TABLE + b"?" + b"=&" * 8000))
            assert wire.read_answer(client.makefile("rb")).status == 414
            times.append(time.monotonic() - began)
    assert min(times) < 0.02
