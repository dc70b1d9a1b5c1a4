# SPDX-License-Identifier: MIT
"""Queued blocks of an answer are removed when its reader leaves; a fast reader is not cut off
because of slow blocks; an idle connection is closed on time."""

import http.client
import socket
import time

import wire
from held import HOST, metric

SLOW = "/v1/encodings/xpos/table?dim=64&length={}&dtype=f64&format=raw&t_center=0"


def slow_request(length):
    return f"GET {SLOW.format(length)} HTTP/1.1\r\n".encode() + HOST + b"\r\n"


def cpu(server):
    return metric(server, "process_cpu_seconds_total")


def test_blocks_of_those_who_left_are_not_made(start_server):
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
    made = cpu(server) - began
    for client in clients:
        client.close()
    assert wire.eventually(lambda: metric(server, "posenc_queue_depth") == 0, 30)
    after = cpu(server) - began - made
    print(f"{made:.2f} s of CPU until all had a block, {after:.2f} s after they left")
    assert after < made  # the blocks in the queue would take several times as long
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
