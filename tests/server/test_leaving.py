# SPDX-License-Identifier: MIT
"""Queued blocks of an answer are removed when its reader leaves; a fast reader is not cut off
because of slow blocks; an idle connection is closed on time."""

import http.client
import json
import socket
import struct
import time

import pytest
import wire
from held import HOST, metric

SLOW = "/v1/encodings/xpos/table?dim=64&length={}&dtype=f64&format=raw&t_center=0"


def slow_request(length):
    return f"GET {SLOW.format(length)} HTTP/1.1\r\n".encode() + HOST + b"\r\n"


def cpu(server):
    return metric(server, "process_cpu_seconds_total")


def test_queued_blocks_are_dropped_when_clients_disconnect(start_server):
    """Each of four clients has received a block and has more queued for the only worker. When the
    clients disconnect, the block that is computed ends early, and the queued ones are dropped."""
    server = start_server("--threads", "1", "--log-format", "off")
    clients = [wire.connect(server.port, 60) for _ in range(4)]
    began = cpu(server)
    for client in clients:
        client.sendall(slow_request(60000))
    for client in clients:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(2000)
        assert head.startswith(b"HTTP/1.1 200")
        if head.endswith(b"\r\n\r\n"):
            assert client.recv(1)
    assert metric(server, "posenc_queue_depth") >= 4
    before = cpu(server) - began
    for client in clients:
        client.close()
    assert wire.eventually(lambda: metric(server, "posenc_queue_depth") == 0, 30)
    after = cpu(server) - began - before
    print(f"{before:.2f} s of CPU until all had a block, {after:.2f} s after they left")
    assert after < before  # the blocks in the queue would take several times as long
    assert wire.eventually(lambda: metric(server, "posenc_memory_held_bytes") == 0)


def test_a_half_closed_connection_uses_no_processor_time(start_server):
    """The client has closed its sending side and does not read yet."""
    server = start_server("--threads", "1", "--log-format", "off")
    table = "/v1/encodings/rope/table?dim=64&length=500000&format=raw"
    with wire.connect(server.port, 60) as client:
        client.sendall(f"GET {table} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        client.shutdown(socket.SHUT_WR)
        time.sleep(0.3)
        began = cpu(server)
        time.sleep(1)
        assert cpu(server) - began < 0.05


def test_a_quick_reader_of_slow_blocks_is_served(start_server):
    """A block takes longer than three windows of --header-timeout to compute, and no byte is sent
    meanwhile. (With a range the answer is not computed whole before it is sent.)"""
    server = start_server("--threads", "1", "--header-timeout", "200ms", "--read-rate-min", "64KiB")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    began = time.monotonic()
    connection.request(
        "GET",
        "/v1/encodings/rope/analysis/decay?dim=65536&max_offset=2200&dtype=f64&format=raw",
        headers={"Range": "bytes=0-"},
    )
    answer = connection.getresponse()
    assert answer.status == 206 and len(answer.read()) == (3 * 2200 + 3) * 8
    assert time.monotonic() - began > 0.6, "too quick for three windows"
    connection.close()


def seconds_to_cut(server, target):
    """From the request of a client that reads nothing until it is cut off."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(f"GET {target} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
        assert wire.eventually(lambda: metric(server, "posenc_http_requests_in_flight") == 2)
        began = time.monotonic()
        assert wire.eventually(lambda: metric(server, "posenc_http_requests_in_flight") == 1, 10)
        return time.monotonic() - began


def test_silence_after_a_computed_answer(start_server):
    """After a computed answer an idle connection is closed after --idle-timeout: the second that is
    added while it waits for the pool does not count any more. A busy machine can be late, so there
    are three tries."""
    server = start_server("--idle-timeout", "1s", "--read-rate-min", "0")
    target = "/v1/encodings/rope/table?dim=128&length=200000&format=raw&base={}"
    seconds = []
    while len(seconds) < 3 and not any(0.5 < each < 1.8 for each in seconds):
        seconds.append(seconds_to_cut(server, target.format(100 + len(seconds))))
    assert any(0.5 < each < 1.8 for each in seconds), seconds


# ---- how each request ended ----------------------------------------------------------------------

# Each takes seconds to compute before the first byte of its answer.
LONG = [
    "/v1/encodings/rope/analysis/decay?dim=65536&max_offset=16000&format=raw",
    "/v1/encodings/rope/frequencies?dim=65536&rope_type=yarn&factor=4"
    "&original_max_position_embeddings=4096&format=raw",
]
STREAM = "/v1/encodings/rope/table?dim=128&length=200000&format=raw"
POSTED = "/v1/rotation?encoding=rope&layout=half&axes=sd&start=0"
RAW = b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\nTensor-Shape: 1000,8\r\n"
TIMEOUT_MS, WINDOW_MS = 300, 200


def head_of(method, target, fields=b""):
    return f"{method} {target} HTTP/1.1\r\n".encode() + HOST + fields + b"\r\n"


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def ended(server, path):
    """The lines of the log that have this path."""
    lines = [line for line in server.log_text().splitlines() if line.startswith("{")]
    return [one for one in map(json.loads, lines) if one["path"] == path.split("?")[0]]


def only_end(server, target):
    assert wire.eventually(lambda: len(ended(server, target)) == 1)
    return ended(server, target)[0]


def counted(server, route, method, code):
    return metric(
        server, rf'posenc_http_requests_total{{route="{route}",method="{method}",code="{code}"}}'
    )


def is_idle(server):
    return all(
        metric(server, name) == value
        for name, value in (
            ("posenc_http_requests_in_flight", 1),
            ("posenc_requests_computed", 0),
            ("posenc_memory_held_bytes", 0),
        )
    )


@pytest.fixture
def timed(start_server):
    flags = "--threads", "1", "--log-format", "json", "--log-probes", "false"
    times = "--request-timeout", f"{TIMEOUT_MS}ms", "--header-timeout", f"{WINDOW_MS}ms"
    return start_server(*flags, *times)


@pytest.mark.parametrize("target", LONG)
@pytest.mark.parametrize("leave", [socket.socket.close, reset])
def test_a_disconnect_before_the_answer_is_logged_with_0(timed, leave, target):
    """Code 0 in the log and in the metrics, and not that of the timeout, which came later."""
    client = wire.connect(timed.port)
    client.sendall(head_of("GET", target))
    assert wire.eventually(lambda: metric(timed, "posenc_requests_computed") == 1)
    leave(client)
    end = only_end(timed, target)
    assert (end["status"], end["problem"], end["bytes"]) == (0, "", 0)
    assert counted(timed, "", "GET", 0) == 1
    assert wire.eventually(lambda: is_idle(timed))


@pytest.mark.parametrize("target", LONG)
def test_a_request_timeout_is_answered_and_logged_with_503(timed, target):
    """By the event loop, which closes the connection, or by the cancelled computation, which keeps
    it, whichever is first."""
    with wire.connect(timed.port) as client:
        stream = client.makefile("rb")
        client.sendall(head_of("GET", target))
        answer = wire.read_answer(stream)
        assert answer.status == 503 and b"--request-timeout" in answer.body
        end = only_end(timed, target)
        assert (end["status"], end["bytes"]) == (503, len(answer.body))
        assert TIMEOUT_MS <= end["ms"] < TIMEOUT_MS + 1000
        if answer.headers.get("connection") == "close":
            assert stream.read(1) == b""
        else:
            client.sendall(head_of("GET", "/livez"))
            assert wire.read_answer(stream).status == 200
    assert wire.eventually(lambda: is_idle(timed))


@pytest.mark.parametrize("leave", [socket.socket.close, reset])
def test_a_disconnect_during_the_answer_is_logged_with_its_bytes(timed, leave):
    """The bytes are those that were handed over: what was read, and what the buffers held."""
    whole, read = 200000 * 128 * 4, 300000
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.connect(("127.0.0.1", timed.port))
        client.sendall(head_of("GET", STREAM))
        assert client.recv(read, socket.MSG_WAITALL).startswith(b"HTTP/1.1 200")
        leave(client)
    end = only_end(timed, STREAM)
    assert end["status"] == 200 and read - 2000 < end["bytes"] < whole
    sent = metric(timed, "posenc_http_response_bytes_total")
    assert end["bytes"] <= sent < end["bytes"] + 200000  # and pages of metrics
    assert wire.eventually(lambda: is_idle(timed))


def test_incomplete_uploads(timed):
    """One whose client leaves has no answer; one that stops has 408; the bytes are counted."""
    head = head_of("POST", POSTED, RAW + b"Content-Length: 32000\r\n")
    client = wire.connect(timed.port)
    client.sendall(head + bytes(5000))
    assert wire.eventually(lambda: metric(timed, "posenc_memory_held_bytes") > 0)
    client.close()
    end = only_end(timed, POSTED)
    assert (end["status"], end["problem"], end["bytes"]) == (0, "", 0)
    answer = wire.answer(timed.port, head + bytes(7000))
    assert answer.status == 408
    assert wire.eventually(lambda: len(ended(timed, POSTED)) == 2)
    end = ended(timed, POSTED)[1]
    assert (end["status"], end["bytes"]) == (408, len(answer.body))
    assert WINDOW_MS <= end["ms"] < WINDOW_MS + 2000
    assert metric(timed, "posenc_http_request_bytes_total") == 12000
    assert wire.eventually(lambda: is_idle(timed))
