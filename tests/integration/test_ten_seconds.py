# SPDX-License-Identifier: MIT
"""What takes ten seconds, all in one wait beside other tests: clients that are refused and send on,
buffers that no request uses, a request that is longer than the last bucket but one."""

import os
import pathlib
import re
import sys
import threading
import time

import requests

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "server"))
import wire  # noqa: E402
from held import HOST, MIB, buffers_are_kept, metric, rotation  # noqa: E402

SILENCE, TOTAL = 2, 10  # seconds, in server/connection.c


def refused(port):
    """A client that is refused in the middle of its upload, and does not go."""
    client = wire.connect(port, 30)
    client.sendall(
        b"POST /v1/rotation HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % (1 << 40)
    )
    assert wire.read_answer(client.makefile("rb")).status == 413
    return client


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def trickle(client, pause, times):
    """A byte now and then until the server closes; when that was."""
    began = time.monotonic()
    while time.monotonic() - began < 20:
        try:
            client.sendall(b"x")
        except OSError:
            break
        time.sleep(pause)
    times.append(time.monotonic() - began)


def durations(server):
    """Requests of at most ten seconds, all of them, and the count."""
    text = requests.get(server.url + "/metrics", timeout=10).text
    name = "posenc_http_request_duration_seconds"
    return [
        sum(map(int, re.findall(rf"^{name}{part} (\d+)$", text, re.M)))
        for part in (r'_bucket{.*,le="10"}', r'_bucket{.*,le="\+Inf"}', "_count{.*}")
    ]


def slow_request(server, seconds):
    body = b'{"dim":4,"length":3}'
    with wire.connect(server.port, 30) as client:
        client.sendall(
            b"POST /v1/encodings/rope/table HTTP/1.1\r\n" + HOST + b"Content-Type: "
            b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-1]
        )
        time.sleep(seconds)
        client.sendall(body[-1:])
        assert wire.read_answer(client.makefile("rb")).status == 200


def test_ten_seconds(start_server):
    server = start_server("--body-rate-min", "0", "--idle-timeout", "60s")
    before = descriptors(server)
    with wire.connect(server.port, 30) as client:
        client.sendall(rotation(4096, 8 * MIB) + bytes(8 * MIB))
        assert len(wire.read_answer(client.makefile("rb")).body) == 8 * MIB
    assert metric(server, "posenc_memory_kept_bytes") >= (8 * MIB if buffers_are_kept() else 0)
    began, talking = time.monotonic(), []
    threads = [
        threading.Thread(target=slow_request, args=(server, 10.3)),
        threading.Thread(target=trickle, args=(refused(server.port), 0.2, talking)),
    ]
    for thread in threads:
        thread.start()
    quiet = refused(server.port)
    assert descriptors(server) > before + 2
    time.sleep(SILENCE / 2)
    assert descriptors(server) > before + 2, "closed before the silence was long enough"
    assert wire.eventually(lambda: descriptors(server) <= before + 2, 3), "silence has no end"
    quiet.close()
    assert wire.eventually(lambda: metric(server, "posenc_memory_kept_bytes") < MIB, 5)
    time.sleep(max(0, began + 8 - time.monotonic()))
    assert not talking, "cut while it still sent"
    for thread in threads:
        thread.join()
    assert TOTAL - 1 < talking[0] < TOTAL + 4
    least, whole, count = durations(server)
    assert whole == count == least + 1
    assert wire.eventually(lambda: descriptors(server) <= before + 1)


def test_so_many_may_send_on(start_server):
    """256 of a loop; those beyond are closed at once, and new ones are served as others end."""
    server = start_server()
    before = descriptors(server)
    clients = [refused(server.port) for _ in range(300)]
    most = descriptors(server) - before
    assert 200 < most <= 256 + 3, most
    assert wire.is_alive(server.port)
    for client in clients:
        client.close()
    assert wire.eventually(lambda: descriptors(server) <= before + 1)
    assert not silent_end(refused(server.port))


def silent_end(client):
    """Is the connection closed at once?"""
    try:
        client.sendall(b"x")
        time.sleep(0.1)
        client.sendall(b"x")
        return False
    except OSError:
        return True
    finally:
        client.close()
