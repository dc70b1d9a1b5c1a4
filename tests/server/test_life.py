# SPDX-License-Identifier: MIT
"""Broken connections, deadlines, the drain, settings."""

import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request

import pytest
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / os.environ.get("POSENCD", "build/posencd")
HOST = b"Host: localhost\r\n"
GET_LIVEZ = b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
TABLE = (
    b"GET /v1/encodings/rope/table?dim=128&length=20000&format=npy HTTP/1.1\r\n" + HOST + b"\r\n"
)


def sockets_in(state, port):
    """How many of the server's own sockets are in a state of /proc/net/tcp (08: CLOSE_WAIT)."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(
        1 for line in lines if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == state
    )


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def test_aborted_uploads_leave_nothing(server):
    """Data and FIN that arrive together; half a body; a reset."""
    assert wire.is_alive(server.port)
    before = descriptors(server)
    head = b"POST /v1/rotation HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n"
    for i in range(300):
        client = wire.connect(server.port)
        client.sendall(head + b"x" * (i * 50))
        reset(client) if i % 3 == 0 else client.close()
    for _ in range(100):
        client = wire.connect(server.port)
        client.sendall(b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
        client.close()
    assert wire.eventually(lambda: sockets_in("08", server.port) == 0)
    assert wire.eventually(lambda: descriptors(server) <= before + 1)
    assert wire.is_alive(server.port)


def test_resets_while_downloading(server):
    before = descriptors(server)
    for _ in range(20):
        client = wire.connect(server.port)
        client.sendall(TABLE)
        client.recv(1000)
        reset(client)
    assert wire.eventually(lambda: descriptors(server) <= before + 1, 10)
    assert wire.is_alive(server.port)


def test_half_close_is_answered(server):
    with wire.connect(server.port) as client:
        client.sendall(TABLE)
        client.shutdown(socket.SHUT_WR)
        answer = wire.read_answer(client.makefile("rb"))
    assert answer.status == 200 and len(answer.body) == 128 + 20000 * 128 * 4


def test_half_close_beside_others(server):
    """A client that shuts down its side while its answer is made gets it, beside busy others."""
    lengths = range(2000, 2060)
    for length in lengths:
        other = wire.connect(server.port)
        other.sendall(TABLE)
        other.close()
        with wire.connect(server.port) as client:
            client.sendall(TABLE.replace(b"20000", b"%d" % length))
            client.shutdown(socket.SHUT_WR)
            answer = wire.read_answer(client.makefile("rb"))
        assert answer and len(answer.body) == 128 + length * 128 * 4


def test_at_the_limit_of_connections(start_server):
    """A client that waits in the backlog is served as soon as another leaves."""
    server = start_server("--connections-max", "4")
    held = [wire.connect(server.port) for _ in range(4)]
    for client in held:
        client.sendall(b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
        assert wire.read_answer(client.makefile("rb")).status == 200
    waiting = wire.connect(server.port)
    waiting.sendall(b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
    held[0].close()
    assert wire.read_answer(waiting.makefile("rb")).status == 200
    for client in [*held, waiting]:
        client.close()


def test_trickled_headers_are_cut(start_server):
    """While others are served."""
    server = start_server("--header-timeout", "1s", "--idle-timeout", "2s")
    began = time.monotonic()
    with wire.connect(server.port) as client:
        try:
            for byte in b"GET /livez HTTP/1.1\r\nX-Slow: " + b"a" * 1000:
                client.sendall(bytes([byte]))
                if time.monotonic() - began > 0.5:
                    time.sleep(0.05)
                assert time.monotonic() - began < 8, "still open"
            assert client.recv(1) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert wire.is_alive(server.port)


def test_a_silent_connection_has_the_time_of_a_head(start_server):
    server = start_server("--header-timeout", "500ms", "--idle-timeout", "60s")
    began = time.monotonic()
    with wire.connect(server.port) as silent, wire.connect(server.port) as kept:
        kept.sendall(b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
        stream = kept.makefile("rb")
        assert wire.read_answer(stream).status == 200
        assert silent.recv(1) == b"" and 0.3 < time.monotonic() - began < 5
        kept.sendall(b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
        assert wire.read_answer(stream).status == 200


def test_idle_connections_are_closed(start_server):
    server = start_server("--idle-timeout", "1s")
    with wire.connect(server.port) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
        stream = client.makefile("rb")
        assert wire.read_answer(stream).status == 200
        began = time.monotonic()
        assert stream.read(1) == b""
        assert 0.5 < time.monotonic() - began < 5


@pytest.mark.parametrize("before", [0, 1])
def test_a_head_has_the_time_of_a_head(start_server, before):
    """And not that of an idle connection, though its bytes arrive one after the other."""
    server = start_server("--header-timeout", "500ms", "--idle-timeout", "60s")
    with wire.connect(server.port, 30) as client:
        stream, began = client.makefile("rb"), time.monotonic()
        for _ in range(before):
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert wire.read_answer(stream).status == 200
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Field: ")
        while not select.select([client], [], [], 0.05)[0]:
            assert time.monotonic() - began < 20, "the head takes any time"
            with contextlib.suppress(OSError):
                client.sendall(b"x")
        assert time.monotonic() - began > 0.5


def test_a_connection_in_use_is_not_idle(start_server):
    """Whatever its age: the time counts from the end of its last answer."""
    server = start_server("--idle-timeout", "1500ms")
    with wire.connect(server.port) as client:
        stream = client.makefile("rb")
        for _ in range(5):
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert wire.read_answer(stream).status == 200
            time.sleep(0.5)


def test_parts_of_a_second_count_for_an_idle_connection(start_server):
    server = start_server("--idle-timeout", "1900ms", "--header-timeout", "60s")
    with wire.connect(server.port, 30) as client:
        stream, began = client.makefile("rb"), time.monotonic()
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.read_answer(stream).status == 200 and stream.read() == b""
        assert time.monotonic() - began > 1.9


def test_a_late_answer_is_503(start_server):
    """The pool's only worker is busy with a long job; requests past the timeout get 503."""
    server = start_server("--threads", "1", "--request-timeout", "300ms")
    table = "GET /v1/encodings/rope/analysis/error?dim=64&length={}&angle=f32 HTTP/1.1\r\n"
    clients = [wire.connect(server.port, 30) for _ in range(60)]
    clients[0].sendall(table.format(10).encode() + HOST + b"\r\n")
    statuses = [wire.read_answer(clients[0].makefile("rb")).status]
    for client in clients[1:]:
        client.sendall(table.format(3000).encode() + HOST + b"\r\n")
    statuses += [wire.read_answer(client.makefile("rb")).status for client in clients[1:]]
    for client in clients:
        client.close()
    assert set(statuses) == {200, 503}
    assert wire.is_alive(server.port)


def test_sigterm_answers_what_was_accepted(start_server):
    """Not ready at once, requests under way are finished, exit 0."""
    server = start_server("--drain-delay", "2s")
    length, bodies = 128 + 20000 * 128 * 4, []

    def fetch():
        with wire.connect(server.port, 30) as client:
            client.sendall(TABLE)
            bodies.append(len(wire.read_answer(client.makefile("rb")).body))

    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    server.process.send_signal(signal.SIGTERM)
    ready = b"GET /readyz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    assert wire.eventually(lambda: wire.answer(server.port, ready).status == 503, 1.5)
    for thread in threads:
        thread.join()
    assert bodies == [length] * 8
    assert server.process.wait(20) == 0


def test_answers_after_sigterm_close_their_connection(start_server):
    """Also those from the cache, on connections that were kept; new ones are accepted as long as
    --drain-delay lasts, and a second signal ends it."""
    server = start_server("--drain-delay", "60s")
    table = b"GET /v1/encodings/rope/table?dim=4&length=1 HTTP/1.1\r\n" + HOST + b"\r\n"
    requests = [GET_LIVEZ, table, b"GET /nowhere HTTP/1.1\r\n" + HOST + b"\r\n"]
    clients = [wire.connect(server.port) for _ in requests]
    streams = [client.makefile("rb") for client in clients]
    for client, stream, request in zip(clients, streams, requests):
        client.sendall(request)
        assert "connection" not in wire.read_answer(stream).headers
    server.process.send_signal(signal.SIGTERM)
    ready = b"GET /readyz HTTP/1.1\r\n" + HOST + b"\r\n"
    assert wire.eventually(lambda: wire.answer(server.port, ready).status == 503)
    for client, stream, request in zip(clients, streams, requests):
        client.sendall(request)
        assert wire.read_answer(stream).headers["connection"] == "close"
        assert stream.read() == b""
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(20) == 0


UPLOAD = (
    b"POST /v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0 HTTP/1.1\r\n"
    + HOST
    + b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\n"
    b"Tensor-Shape: 1,1,4,4\r\nContent-Length: 64\r\n\r\n"
)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("sent", range(-1, len(UPLOAD) - 1, 23))
def test_sigterm_waits_for_no_half_head(start_server, sent, again):
    """Cut anywhere, as the first request of its connection and behind another one; likewise a
    connection on which nothing was sent (-1)."""
    server = start_server("--shutdown-timeout", "9s", "--header-timeout", "9s")
    with wire.connect(server.port) as client:
        if again:
            client.sendall(GET_LIVEZ)
            assert wire.read_answer(client.makefile("rb")).status == 200
        client.sendall(UPLOAD[: sent + 1])
        time.sleep(0.05)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        try:
            assert client.recv(100) == b""
        except ConnectionResetError:
            pass
        assert server.process.wait(20) == 0
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("sent", [0, 1, 63])
def test_sigterm_waits_for_half_bodies(start_server, sent):
    """Their head is complete: they are answered if the rest comes before --shutdown-timeout."""
    server = start_server("--shutdown-timeout", "9s")
    with wire.connect(server.port) as client, wire.connect(server.port) as half:
        client.sendall(UPLOAD + bytes(sent))
        half.sendall(UPLOAD[:100])
        time.sleep(0.05)
        server.process.send_signal(signal.SIGTERM)
        assert half.recv(100) == b""
        time.sleep(0.3)
        client.sendall(bytes(64 - sent))
        answer = wire.read_answer(client.makefile("rb"))
        assert (answer.status, len(answer.body)) == (200, 64)
        assert answer.headers["connection"] == "close"
    assert server.process.wait(20) == 0


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_ends_at_once(start_server, first):
    server = start_server("--drain-delay", "20s")
    server.process.send_signal(first)
    time.sleep(0.2)
    if first == signal.SIGTERM:
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(5) == 0


def test_closed_stdout(start_server):
    """A log that is not read does not block the server."""
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [BINARY, "--port", "0", "--log-format", "text"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write_end)
    os.close(read_end)
    port = int(process.stderr.readline().split("127.0.0.1:")[1].split("/")[0].split()[0])
    assert all(wire.is_alive(port) for _ in range(5))
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_full_log(start_server):
    """Nor does a log that is full and stays open."""
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [BINARY, "--port", "0", "--log-format", "text"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write_end)
    port = int(process.stderr.readline().split("127.0.0.1:")[1].split("/")[0].split()[0])
    request = b"GET /livez HTTP/1.1\r\n" + HOST + b"X-Request-Id: " + b"a" * 100 + b"\r\n\r\n"
    with wire.connect(port, 5) as client:
        stream = client.makefile("rb")
        for _ in range(2000):
            client.sendall(request)
            assert wire.read_answer(stream).status == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    lines = b""
    while part := os.read(read_end, 65536):
        lines += part
    os.close(read_end)
    assert 100 < lines.count(b"\n") < 2000 and lines.endswith(b"\n")


def test_log_tells_the_bytes(start_server):
    """Of an answer of known size, and of one that was streamed in chunks."""
    server = start_server("--log-format", "json")
    sizes = []
    for path in (
        "/v1/encodings/rope/table?dim=64&length=500&format=npy",
        "/v1/encodings/rope/table?dim=64&length=500",
    ):
        with urllib.request.urlopen(server.url + path) as answer:
            sizes.append(len(answer.read()))

    def logged():
        lines = [json.loads(line) for line in server.log_text().splitlines() if line[0] == "{"]
        return [line["bytes"] for line in lines] == sizes

    assert wire.eventually(logged), (sizes, server.log_text())


BIAS = (
    b"GET /v1/encodings/alibi/bias?heads=32&query_length=4096&format=raw HTTP/1.1\r\n"
    + HOST
    + b"\r\n"
)


def test_clients_gone_while_the_server_ends(start_server):
    """Blocks of their answers are still on the pool: the loop waits for those (the sanitizers would
    tell of memory left behind, or of a post to a loop that is closed)."""
    for _ in range(5):
        server = start_server("--threads", "2")
        clients = [wire.connect(server.port) for _ in range(6)]
        for client in clients:
            client.sendall(BIAS)
        for client in clients:
            client.recv(1000)
        for client in clients:
            reset(client)
        assert server.stop(signal.SIGINT) == 0


def test_a_rotation_whose_client_leaves(start_server):
    """At each moment: while it is read, begun, run."""
    server = start_server("--threads", "2")
    data = bytes(8 << 20)
    head = (
        b"POST /v1/rotation?head_dim=64 HTTP/1.1\r\n"
        + HOST
        + b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\n"
        b"Tensor-Shape: 1,2048,16,64\r\nContent-Length: %d\r\n\r\n" % len(data)
    )
    before = descriptors(server)
    for i in range(40):
        client = wire.connect(server.port)
        client.sendall(head + data)
        time.sleep(i * 0.0003)
        reset(client)
    assert wire.eventually(lambda: descriptors(server) <= before + 1)
    assert wire.is_alive(server.port)
    assert server.stop(signal.SIGINT) == 0


def run(*arguments, env=None):
    return subprocess.run(
        [BINARY, *arguments],
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, **(env or {})},
    )


def test_settings():
    assert "--body-max" in run("--help").stdout
    assert run("--version").stdout.startswith("posencd ")
    assert run("--check-config").returncode == 0
    assert "--port=1234" in run("--print-config", env={"POSENC_PORT": "1234"}).stdout
    assert "--port=9" in run("--print-config", "--port", "9", env={"POSENC_PORT": "1234"}).stdout
    assert "--body-max=65536" in run("--print-config", "--body-max=64KiB").stdout


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--no-such"], "--no-such"),
        (["--port", "x"], "--port"),
        (["--port", "65536"], "--port"),
        (["--port"], "--port"),
        (["--body-max", "5 apples"], "--body-max"),
        (["stray"], "stray"),
        (["--loops", "0"], "--loops"),
        (["--log-format", "xml"], "--log-format"),
        (["--"], "--"),
        (["--idle-timeout", "-1s"], "--idle-timeout"),
        (["--idle-timeout", "25h"], "--idle-timeout"),
        (["--idle-timeout", "1441m"], "--idle-timeout"),
        (["--work-max", "99999999999999999999"], "--work-max"),
    ],
)
def test_bad_settings_end_with_2(arguments, word):
    done = run(*arguments)
    assert done.returncode == 2 and word in done.stderr


def test_bad_environment_ends_with_2():
    done = run(env={"POSENC_BODY_MAX": "lots"})
    assert done.returncode == 2 and "POSENC_BODY_MAX" in done.stderr


def test_port_taken(server):
    done = run("--port", str(server.port))
    assert done.returncode == 1 and "listen" in done.stderr


@pytest.mark.parametrize("port", ["0", "8123"])
def test_an_address_of_another_machine(port):
    """192.0.2.0/24 is for documents."""
    done = run("--bind", "192.0.2.1", "--port", port)
    assert done.returncode == 1 and "cannot listen on 192.0.2.1 port " + port in done.stderr
    assert done.stderr.endswith("; this machine has no such address\n")


def test_healthcheck(server, start_server):
    assert run("--healthcheck", "--port", str(server.port)).returncode == 0
    gone = start_server()
    gone.stop()
    assert run("--healthcheck", "--port", str(gone.port)).returncode == 1


def test_healthcheck_where_only_some_names_are_answered():
    flags = ["--bind", "0.0.0.0", "--allowed-host", "enc.example,other.example"]
    process = subprocess.Popen(
        [BINARY, "--port", "0", *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    port = process.stderr.readline().split("0.0.0.0:")[1].split("/")[0].split()[0]
    answer = wire.answer(int(port), b"GET /readyz HTTP/1.1\r\n" + HOST + b"\r\n")
    code = run("--healthcheck", *flags, "--port", port).returncode
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert answer.status == 403 and code == 0


def listening(port):
    """The sockets of this machine that listen on a port of 127.0.0.1."""
    found = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()]
    return [line for line in found if line[1] == f"0100007F:{port:04X}" and line[3] == "0A"]


def test_several_loops(start_server):
    """Each listens on the port that the system chose for the first."""
    server = start_server("--loops", "3", "--threads", "2")
    assert len(listening(server.port)) == 3
    assert all(wire.is_alive(server.port) for _ in range(50))
    with urllib.request.urlopen(server.url + "/metrics") as page:
        text = page.read().decode()
    assert 'route="/livez",method="GET",code="200"} 50' in text
    assert "posenc_loop_turn_seconds_bucket" in text and "posenc_queue_depth" in text
