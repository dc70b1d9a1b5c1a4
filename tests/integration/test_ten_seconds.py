# SPDX-License-Identifier: MIT
"""What takes ten seconds, all in one wait beside other tests: clients that are refused and send on,
buffers that no request uses, a request that is longer than the last bucket but one. On a machine
that is busy everything takes longer: a time has only a least value here, and is taken from before
the server began to count; what has to end soon ends before something that lasts."""

import contextlib
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
PATIENCE = 60  # for what has no time limit of its own
PAUSE = 0.2
KEPT = "posenc_memory_kept_bytes"


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


def is_held(client):
    """Has the server its end of the connection? A socket that no process has open has no inode."""
    ports = [f":{address[1]:04X}" for address in (client.getpeername(), client.getsockname())]
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines():
        fields = line.split()
        if [fields[1][-5:], fields[2][-5:]] == ports:
            return fields[9] != "0"
    return False


class Talker(threading.Thread):
    """A client that sends a byte every PAUSE until the server closes, for at most twice TOTAL."""

    def __init__(self, port):
        super().__init__()
        self.began = self.last = time.monotonic()
        self.client = refused(port)
        self.sent = 0
        self.silence = self.seconds = 0  # the longest without a byte; all until it was closed

    def run(self):
        while self.seconds < 2 * TOTAL:
            try:
                self.client.sendall(b"x")
                self.sent += 1
            except OSError:
                break
            finally:
                now = time.monotonic()
                self.silence, self.last = max(self.silence, now - self.last), now
                self.seconds = now - self.began
            time.sleep(PAUSE)

    def was_kept_from_sending(self):
        """By a machine so busy that the server rightly found it silent."""
        return self.silence >= SILENCE


def durations(server):
    """Requests of at most ten seconds, all of them, and the count."""
    text = requests.get(server.url + "/metrics", timeout=10).text
    name = "posenc_http_request_duration_seconds"
    return [
        sum(map(int, re.findall(rf"^{name}{part} (\d+)$", text, re.M)))
        for part in (r'_bucket{.*,le="10"}', r'_bucket{.*,le="\+Inf"}', "_count{.*}")
    ]


def slow_request(server, seconds):
    """A request whose last byte is sent so long after the server has begun to receive it."""
    body = b'{"dim":4,"length":3}'
    with wire.connect(server.port, PATIENCE) as client:
        client.sendall(
            b"POST /v1/encodings/rope/table HTTP/1.1\r\n" + HOST + b"Content-Type: "
            b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-1]
        )
        under_way = "posenc_http_requests_in_flight"  # the request of /metrics is one of them
        assert wire.eventually(lambda: metric(server, under_way) == 2, PATIENCE)
        time.sleep(seconds)
        client.sendall(body[-1:])
        assert wire.read_answer(client.makefile("rb")).status == 200


def kept_behind(server, request):
    """What the server keeps of memory directly after a request of the same connection."""
    with wire.connect(server.port, PATIENCE) as client:
        client.sendall(request + b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n")
        stream = client.makefile("rb")
        assert wire.read_answer(stream).status == 200
        page = wire.read_answer(stream).body.decode()
    return float(re.search(rf"^{KEPT} (\S+)$", page, re.M)[1])


def test_ten_seconds(start_server):
    server = start_server("--body-rate-min", "0", "--idle-timeout", "60s")
    before = descriptors(server)
    kept = kept_behind(server, rotation(4096, 8 * MIB) + bytes(8 * MIB))
    assert kept >= (8 * MIB if buffers_are_kept() else 0)
    slow = threading.Thread(target=slow_request, args=(server, 10.3))
    talker = Talker(server.port)
    for thread in (slow, talker):
        thread.start()
    began = time.monotonic()
    with refused(server.port) as quiet:
        assert is_held(quiet)
        assert wire.eventually(lambda: not is_held(quiet), PATIENCE), "silence has no end"
    assert time.monotonic() - began >= SILENCE, "closed before the silence was long enough"
    assert wire.eventually(lambda: metric(server, KEPT) < MIB, PATIENCE)
    soon = talker.sent
    for thread in (slow, talker):
        thread.join()
    if not talker.was_kept_from_sending():
        assert talker.sent >= soon + 10, "silence, or a buffer without a request, ended too late"
        assert TOTAL <= talker.seconds < 2 * TOTAL

    def is_counted():
        least, whole, count = durations(server)
        return whole == count == least + 1

    assert wire.eventually(is_counted, PATIENCE)
    assert wire.eventually(lambda: descriptors(server) <= before + 1, PATIENCE)


def talk(clients):
    for client in clients:
        with contextlib.suppress(OSError):  # of those that were closed at once
            client.sendall(b"x")


def test_so_many_may_send_on(start_server):
    """256 of a loop; those beyond are closed at once, and new ones are served as others end."""
    server = start_server()
    before = descriptors(server)
    clients = []
    for i in range(300):
        clients.append(refused(server.port))
        if i % 50 == 49:
            talk(clients)  # so that none is silent for long
    most = descriptors(server) - before
    assert 200 < most <= 256 + 3, most
    assert wire.is_alive(server.port)
    for client in clients:
        client.close()
    assert wire.eventually(lambda: descriptors(server) <= before + 1, PATIENCE)
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
