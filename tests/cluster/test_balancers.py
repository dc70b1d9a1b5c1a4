# SPDX-License-Identifier: MIT
"""docker/haproxy.cfg and docker/nginx.conf in front of servers of this machine: what is repeated
and what is not, the cache, HTTP/2 and TLS."""

import contextlib
import gzip
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import numpy
import pytest
from parts import (
    HAPROXY,
    NGINX,
    Load,
    ask,
    free_port,
    haproxy_config,
    nginx_config,
    pure_requests,
    wanted,
)

POST = ("POST", "/v1/encodings/rope/table", b'{"dim":4,"length":3}')
JSON = {"Content-Type": "application/json"}
TOKEN = {"Authorization": "Bearer a-secret"}


class Mute:
    """A server that reads requests, counts them by method, and closes without an answer; to checks
    of readiness it answers."""

    def __init__(self):
        self.counts, self.socket = {}, socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            data = client.recv(1 << 20)
            if b"/readyz" in data:
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            elif data:
                method = data.split(b" ")[0].decode()
                self.counts[method] = self.counts.get(method, 0) + 1


@contextlib.contextmanager
def balancer(name, readers, writer):
    """The ports of a balancer: (plain, TLS)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="balancer-"))
    port, tls_port = free_port(), free_port()
    if name == "nginx":
        nginx_config(folder, port, tls_port, readers, writer)
        command = [NGINX, "-p", folder, "-c", folder / "nginx.conf"]
    else:
        haproxy_config(folder, port, tls_port, readers, writer)
        command = [HAPROXY, "-db", "-f", folder / "haproxy.cfg"]
    environment = os.environ | {
        "POSENC_CERTIFICATE": str(folder / "both.pem"),
        "POSENC_RESOLVER": "127.0.0.1:53",
    }
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                if ask(port, "GET", "/readyz", timeout=2)[0] == 200:
                    break
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        time.sleep(1)  # HAProxy's first checks
        yield port, tls_port
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


@pytest.fixture(params=["haproxy", "nginx"])
def name(request):
    return request.param


@pytest.fixture
def store(start_server, tmp_path):
    """Two readers and the writer of one folder of tables."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tokens").write_text("a-secret\n")
    flags = ["--tables", tmp_path / "tables", "--tables-poll", "100ms"]
    writer = start_server(*flags, "--token-file", tmp_path / "tokens")
    return [start_server(*flags) for _ in range(2)], writer


def test_pure_requests_are_repeated(name, start_server):
    """Every third server that is tried reads the request and closes: GET and POST are answered."""
    servers, mute = [start_server() for _ in range(2)], Mute()
    ports = [servers[0].port, servers[1].port, mute.port]
    with balancer(name, ports, servers[0].port) as (port, _):
        expected = ask(servers[0].port, *POST, JSON)[2]
        for _ in range(60):
            assert ask(port, "GET", "/v1/encodings/rope/table?dim=4&length=3")[0] == 200
            status, _, body = ask(port, *POST, JSON)
            assert status == 200 and body == expected
    assert mute.counts.get("POST", 0) + mute.counts.get("GET", 0) >= 1, "nothing was repeated"


def test_a_change_is_sent_once(name, start_server):
    """The writer reads it and closes: the client gets 502, and no server gets it again."""
    reader, mute = start_server(), Mute()
    with balancer(name, [reader.port] * 3, mute.port) as (port, _):
        for method in "PUT", "DELETE":
            for body in b"x" * 100, b"x" * 100_000:
                status, _, _ = ask(port, method, "/v1/encodings/mine", body, TOKEN)
                assert status == 502
            assert mute.counts[method] == 2, mute.counts


def test_a_writer_that_is_away(name, start_server):
    """Changes get 502 or 503 at once; all else is answered."""
    reader = start_server()
    with balancer(name, [reader.port] * 3, free_port()) as (port, _):
        began = time.monotonic()
        status, head, _ = ask(port, "PUT", "/v1/encodings/mine", b"x", TOKEN)
        assert status in (502, 503) and time.monotonic() - began < 10
        assert name == "nginx" or head["retry-after"] == "1"
        assert ask(port, *POST, JSON)[0] == 200


def test_changes_go_to_the_writer(name, store):
    readers, writer = store
    ports = [readers[0].port, readers[1].port, readers[0].port]
    with balancer(name, ports, writer.port) as (port, _):
        rows, file = [[1, 2], [3, 4]], io.BytesIO()
        numpy.save(file, numpy.array(rows, "f4"))
        status, _, answer = ask(port, "PUT", "/v1/encodings/mine", file.getvalue(), TOKEN)
        assert status == 201, answer
        deadline = time.monotonic() + 5
        path = "/v1/encodings/mine/table?length=2&format=json"
        while any((seen := ask(one.port, "GET", path))[0] != 200 for one in readers):
            assert time.monotonic() < deadline, seen
            time.sleep(0.05)
        for _ in range(4):
            assert json.loads(ask(port, "GET", path)[2])["tensors"]["table"]["data"] == rows
        assert ask(port, "DELETE", "/v1/encodings/mine", None, TOKEN)[0] in (200, 204)


def test_metrics_are_not_passed_on(name, start_server):
    reader = start_server()
    with balancer(name, [reader.port] * 3, reader.port) as (port, _):
        assert ask(port, "GET", "/metrics")[0] == 404
        assert ask(port, "GET", "/readyz")[0] == 200


def test_tls_and_http_2(name, start_server):
    reader = start_server()
    with balancer(name, [reader.port] * 3, reader.port) as (_, tls_port):
        for version, option in ("2", "--http2"), ("1.1", "--http1.1"):
            done = subprocess.run(
                [
                    *(
                        "curl",
                        "-sk",
                        option,
                        "-o",
                        "/dev/null",
                        "-w",
                        "%{http_code} %{http_version}",
                    ),
                    f"https://localhost:{tls_port}/v1",
                ],
                capture_output=True,
                text=True,
                timeout=20,
            )
            assert done.stdout == f"200 {version}"


def test_nginx_caches_by_tag_and_form(start_server):
    reader = start_server()
    path = "/v1/encodings/rope/table?dim=16&length=64"
    with balancer("nginx", [reader.port] * 3, reader.port) as (port, _):
        forms = {
            form: ask(reader.port, "GET", path, None, {"Accept": form, **coded})
            for form, coded in (
                ("application/json", {}),
                ("application/x-npy", {}),
                ("text/csv", {"Accept-Encoding": "gzip"}),
            )
        }
        for cached in "MISS", "HIT":
            for form, (_, head, body) in forms.items():
                coding = {"Accept-Encoding": "gzip"} if form == "text/csv" else {}
                got = ask(port, "GET", path, None, {"Accept": form} | coding)
                assert got[0] == 200 and got[1]["x-cache"] == cached, (form, got[1])
                assert got[2] == body and got[1]["etag"] == head["etag"]
                assert got[1]["content-type"] == head["content-type"]
                tag = {"Accept": form, "If-None-Match": head["etag"]} | coding
                assert ask(port, "GET", path, None, tag)[0] == 304
        assert gzip.decompress(forms["text/csv"][2]).count(b"\n") >= 64
        for _ in range(2):
            assert ask(port, *POST, JSON)[1].get("x-cache") != "HIT"


def test_a_replica_that_ends_under_load(name, start_server, tmp_path):
    """SIGTERM of one and kill -9 of another of three: no request fails, no byte is wrong."""
    servers = [start_server("--drain-delay", "1s", "--log-format", "off") for _ in range(3)]
    requests = wanted(servers[0].port, pure_requests())
    with balancer(name, [one.port for one in servers], servers[0].port) as (port, _):
        load = Load(tmp_path, requests, port, 8)
        time.sleep(2)
        servers[1].process.send_signal(signal.SIGTERM)
        time.sleep(3)
        servers[2].process.kill()
        result = load.result()
    servers[2].process.wait()
    servers[2].process.returncode = 0
    print(name, result)
    assert result["statuses"].keys() == {"200"} and not result["errors"] and not result["wrong"]
