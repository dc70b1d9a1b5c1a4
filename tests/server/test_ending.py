# SPDX-License-Identifier: MIT
"""Work for nobody ends: where the client left, where --request-timeout is over, where the server
goes down. Threads of the pool stop in the middle of what they compute."""
import json
import os
import random
import signal
import socket
import time

import pytest

import wire
from test_admission import HOST, metric
from test_life import reset

SLOWER = 5 if "POSENC_SANITIZED" in os.environ else 1


def post(path, body):
    text = json.dumps(body).encode()
    return (b"POST %s HTTP/1.1\r\n" % path.encode() + HOST +
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)


def comparison(length):
    return post("/v1/comparison", {"a": {"name": "rope", "dim": 128}, "length": length,
                                   "b": {"name": "rope", "dim": 128, "base": 5000}, "dtype": "f64"})


def diagnosis():
    """Values that no encoding explains, so that every suspect is tried to its end."""
    numbers = random.Random(1)
    rows = [[numbers.uniform(-1, 1) for _ in range(64)] for _ in range(256)]
    return post("/v1/diagnosis", {"tensors": {"table": {"data": rows}}})


def cpu(server):
    return metric(server, "process_cpu_seconds_total")


def rests(server):
    """Within a tenth of a second, and the 50 ms in which deadlines are looked at: no work."""
    time.sleep(0.2 * SLOWER)
    before = cpu(server)
    time.sleep(0.3)
    return cpu(server) - before < 0.1


def busy_for(server, seconds):
    """Waits until the server has worked so long."""
    before = cpu(server)
    assert wire.eventually(lambda: cpu(server) - before > seconds, 20)


def view(path):
    return b"GET /v1/encodings/%s&format=raw HTTP/1.1\r\n" % path.encode() + HOST + b"\r\n"


# A second at least, most of them ten: compared row by row, frequencies, sums, blocks of a stream, a
# row that takes a second by itself.
LONG = {
    "comparison": comparison(65536),
    "yarn": view("rope/frequencies?dim=65536&rope_type=yarn&factor=4"
                 "&original_max_position_embeddings=4096"),
    "sandwich": view("sandwich/bias?heads=8&dim=65536&query_length=8192"),
    "similarity": view("sinusoidal/analysis/similarity?dim=4096&length=1024"),
    "decay": view("rope/analysis/decay?dim=1024&max_offset=16000"),
}


@pytest.mark.parametrize("leave", [socket.socket.close, reset])
@pytest.mark.parametrize("work", LONG)
def test_work_ends_with_its_client(server, work, leave):
    client = wire.connect(server.port)
    client.sendall(LONG[work])
    busy_for(server, 0.1)
    leave(client)
    assert rests(server)
    assert wire.eventually(lambda: metric(server, "posenc_memory_held_bytes") == 0)


def test_a_diagnosis_ends_with_its_client(start_server):
    """One thread, so that it takes a second."""
    server = start_server("--threads", "1")
    began = cpu(server)
    assert wire.ask(server.port, diagnosis(), 60)[0].status == 200
    whole = cpu(server) - began
    client = wire.connect(server.port)
    client.sendall(diagnosis())
    busy_for(server, 0.15 * whole)
    began = cpu(server)
    client.close()
    assert rests(server)
    assert cpu(server) - began < 0.5 * whole


def test_half_closed_clients_wait_for_long_work(server):
    """They are asked whether they are there by an interim response, and get their answer."""
    with wire.connect(server.port, 60) as client:
        client.sendall(comparison(4096))
        client.shutdown(socket.SHUT_WR)
        stream = client.makefile("rb")
        assert stream.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert stream.readline() == b"\r\n"
        assert wire.read_answer(stream).status == 200


def test_the_old_protocol_has_no_interim_responses(server):
    """HTTP/1.0 knows no 1xx: such a client is taken to wait."""
    with wire.connect(server.port, 60) as client:
        client.sendall(comparison(4096).replace(b"HTTP/1.1", b"HTTP/1.0"))
        client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").readline().split()[1] == b"200"


def test_work_ends_at_the_request_timeout(start_server):
    server = start_server("--request-timeout", "500ms")
    with wire.connect(server.port, 30) as client:
        began = time.monotonic()
        client.sendall(comparison(65536))
        answer = wire.read_answer(client.makefile("rb"))
        assert 0.4 < time.monotonic() - began < 1 * SLOWER
    assert answer.status == 503 and b"--request-timeout" in answer.body
    assert answer.headers["retry-after"] == "1"
    assert rests(server)


def test_work_ends_at_the_shutdown_timeout(start_server):
    server = start_server("--shutdown-timeout", "300ms")
    with wire.connect(server.port) as client:
        client.sendall(comparison(65536))
        busy_for(server, 0.1)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(20)
        assert time.monotonic() - began < 1.5 * SLOWER
