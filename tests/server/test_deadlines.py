# SPDX-License-Identifier: MIT
"""Slow clients are cut off at a deadline, while others are served."""

import socket
import threading
import time

import pytest
import wire

HOST = b"Host: localhost\r\n"
BIAS = (
    b"GET /v1/encodings/alibi/bias?heads=8&query_length=8192&key_length=8192&format=raw"
    b" HTTP/1.1\r\n" + HOST + b"\r\n"
)
POST = (
    b"POST /v1/rotation?encoding=rope&layout=half&axes=bhsd&positions=0..%d HTTP/1.1\r\n"
    + HOST
    + b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\n"
    b"Tensor-Shape: 1,1,%d,64\r\nContent-Length: %d\r\n\r\n"
)


def head(rows):
    return POST % (rows - 1, rows, rows * 256)


def trickle(client, piece, pause, seconds):
    """Sends a piece again and again until it is cut off; the seconds."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            client.sendall(piece)
        except OSError:
            break
        time.sleep(pause)
    return time.monotonic() - began


def test_a_slow_body_gets_408(start_server):
    server = start_server("--header-timeout", "1s", "--body-rate-min", "64KiB")
    with wire.connect(server.port) as client:
        client.sendall(head(4096))
        assert trickle(client, b"x" * 100, 0.05, 8) < 4
        answer = wire.read_answer(client.makefile("rb"))
        assert answer.status == 408 and b"--body-rate-min" in answer.body
    assert wire.is_alive(server.port)


def test_a_body_that_never_comes_gets_408(start_server):
    server = start_server("--header-timeout", "1s")
    with wire.connect(server.port) as client:
        client.sendall(head(4096))
        began = time.monotonic()
        answer = wire.read_answer(client.makefile("rb"))
        assert answer.status == 408 and time.monotonic() - began < 4


def test_a_body_that_is_quick_enough_is_taken(start_server):
    """Ten seconds of windows, each above the lowest rate."""
    server = start_server("--header-timeout", "500ms", "--body-rate-min", "8KiB")
    rows = 256
    with wire.connect(server.port) as client:
        client.sendall(head(rows))
        for _ in range(rows // 8):
            client.sendall(bytes(range(1, 65)) * 32)
            time.sleep(0.05)
        answer = wire.read_answer(client.makefile("rb"))
        assert answer.status == 200, answer


@pytest.mark.parametrize("pause", [0.02, 30])
def test_a_slow_reader_is_cut_while_others_are_served(start_server, pause):
    """A client that reads a little now and then, and one that reads nothing."""
    server = start_server("--header-timeout", "1s", "--read-rate-min", "256KiB")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(10)
    client.connect(("127.0.0.1", server.port))
    client.sendall(BIAS)
    began = time.monotonic()
    client.recv(100)
    if pause < 1:
        while time.monotonic() - began < 8:
            try:
                if not client.recv(512):
                    break
            except ConnectionError:
                break
            time.sleep(pause)
    else:
        assert wire.eventually(lambda: gone(server), 8)
    assert time.monotonic() - began < 8
    assert wire.eventually(lambda: gone(server), 4)
    assert wire.is_alive(server.port)
    client.close()


def gone(server):
    """Only the request that reads the metrics is in flight."""
    answer = wire.answer(server.port, b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n")
    return b"posenc_http_requests_in_flight 1\n" in answer.body


def test_a_reader_that_is_quick_enough_is_served(start_server):
    server = start_server("--header-timeout", "300ms", "--read-rate-min", "64KiB")
    table = (
        b"GET /v1/encodings/alibi/bias?heads=8&query_length=512&key_length=512&format=raw"
        b" HTTP/1.1\r\n" + HOST + b"\r\n"
    )
    with wire.connect(server.port) as client:
        client.sendall(table)
        stream = client.makefile("rb", buffering=4096)
        sizes = 0
        while stream.readline() != b"\r\n":
            pass
        while sizes < 8 * 512 * 512 * 4:
            sizes += len(stream.read(256 << 10))
            time.sleep(0.05)


def test_others_are_served_while_some_trickle(start_server):
    server = start_server("--header-timeout", "2s")
    slow = [wire.connect(server.port) for _ in range(60)]
    for index, client in enumerate(slow):
        client.sendall([b"GET /livez HT", head(4096), BIAS][index % 3])
    began = time.monotonic()
    for _ in range(50):
        assert wire.is_alive(server.port)
    assert time.monotonic() - began < 2
    assert wire.eventually(lambda: gone(server), 10)
    for client in slow:
        client.close()


def test_a_whole_upload_is_read_before_a_refusal_closes(start_server):
    """Without loopback a reset could overtake the 413: bytes that still arrive are dropped."""
    server = start_server("--body-max", "1MiB")
    size = 64 << 20
    client = wire.connect(server.port, 20)
    client.sendall(b"POST /v1/rotation HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % size)
    sent = []

    def upload():
        for _ in range(size >> 20):
            client.sendall(b"x" * (1 << 20))
            sent.append(1)

    writer = threading.Thread(target=upload)
    writer.start()
    writer.join(20)
    assert len(sent) == size >> 20, "the server closed before the client was done"
    answer = wire.read_answer(client.makefile("rb"))
    assert answer.status == 413 and b"--body-max" in answer.body
    client.close()
    assert wire.is_alive(server.port)
