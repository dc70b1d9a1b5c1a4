# SPDX-License-Identifier: MIT
"""The memory budget and the queue, and that both are empty after all clients left."""

import concurrent.futures
import os
import pathlib
import socket
import struct
import time

import requests
import wire
from held import HOST, MIB, held, metric


def upload_head(size, path=b"/v1/rotation"):
    return (
        b"POST "
        + path
        + b" HTTP/1.1\r\n"
        + HOST
        + b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % size
    )


def test_a_body_over_half_of_the_budget_is_413(start_server):
    server = start_server("--memory-budget", "16MiB")
    answer = wire.answer(server.port, upload_head(8 * MIB + 1))
    assert answer.status == 413
    assert b"--memory-budget" in answer.body and b"--body-max" in answer.body


def rotate(server, dtype, shape, size):
    """Zeros of a shape [b, h, s, d] in raw bytes."""
    return requests.post(
        f"{server.url}/v1/rotation?encoding=rope&layout=half&axes=bhsd&positions=0..{shape[2] - 1}",
        data=bytes(size),
        timeout=30,
        headers={
            "Content-Type": "application/octet-stream",
            "Tensor-Dtype": dtype,
            "Tensor-Shape": ",".join(map(str, shape)),
        },
    )


def test_the_largest_body_is_admitted_by_an_idle_server(start_server):
    server = start_server("--memory-budget", "16MiB")
    answer = rotate(server, "f32", (1, 64, 512, 64), 8 * MIB)
    assert answer.status_code == 200, answer.text
    assert len(answer.content) == 8 * MIB
    assert wire.eventually(lambda: held(server) == 0)


def test_what_does_not_fit_now_is_503_at_once_and_fits_later(start_server):
    server = start_server("--memory-budget", "16MiB")
    holders = [wire.connect(server.port) for _ in range(2)]
    for holder in holders:
        holder.sendall(upload_head(4 * MIB) + b"x")
    assert wire.eventually(lambda: held(server) == 16 * MIB)
    began = time.monotonic()
    answer = wire.answer(server.port, upload_head(4 * MIB))
    assert answer.status == 503 and answer.headers["retry-after"] and time.monotonic() - began < 2
    assert b'"busy"' in answer.body and b"--memory-budget" in answer.body
    assert wire.is_alive(server.port)
    holders.pop().close()
    assert wire.eventually(lambda: held(server) == 8 * MIB)
    answer = wire.answer(server.port, upload_head(4 * MIB) + bytes(4 * MIB))
    assert answer.status == 422, answer
    holders.pop().close()
    assert wire.eventually(lambda: held(server) == 0)


def test_a_chunked_body_is_counted_as_it_grows(start_server):
    server = start_server("--memory-budget", "16MiB")
    chunk = b"100000\r\n" + bytes(MIB) + b"\r\n"
    head = (
        b"POST /v1/rotation HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n"
        b"Content-Type: application/octet-stream\r\n\r\n"
    )
    answer = wire.answer(server.port, head + 7 * chunk + b"0\r\n\r\n")
    assert answer.status == 422, answer
    answer = wire.answer(server.port, head + 9 * chunk + b"0\r\n\r\n")
    assert answer.status == 413 and b"--memory-budget" in answer.body
    assert wire.eventually(lambda: held(server) == 0)


def test_work_beyond_the_whole_budget_is_413(start_server):
    """cos and sin that exceed the budget of an idle server are refused without Retry-After."""
    server = start_server("--memory-budget", "16MiB")
    answer = rotate(server, "f16", (1, 1, 1 << 15, 96), 6 * MIB)
    assert answer.status_code == 413, answer.text
    assert "--memory-budget" in answer.json()["detail"]
    assert held(server) == 0
    assert rotate(server, "f16", (1, 64, 512, 96), 6 * MIB).status_code == 200


def test_the_queue_has_an_end(start_server):
    """Of ten times its capacity, the excess gets 503 at once, the others their answers."""
    server = start_server("--threads", "1", "--queue-max", "4")
    url = (
        server.url + "/v1/encodings/sinusoidal/analysis/similarity?dim=4096&length=192&dtype=f64"
        "&format=raw&base={}"
    )

    def ask(index):
        began = time.monotonic()
        answer = requests.get(url.format(100 + index), timeout=60)
        return answer.status_code, answer.headers.get("Retry-After"), time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(ask, range(40)))
    statuses = [status for status, _, _ in answers]
    assert set(statuses) == {200, 503} and statuses.count(200) >= 4
    assert all(retry for status, retry, _ in answers if status == 503)
    slowest = max(seconds for status, _, seconds in answers if status == 200)
    median = sorted(seconds for status, _, seconds in answers if status == 503)[
        statuses.count(503) // 2
    ]
    assert median < slowest
    assert requests.get(url.format(99), timeout=60).status_code == 200
    assert metric(server, "posenc_requests_computed") == 0


def test_probes_and_kept_answers_pass_a_full_queue(start_server):
    server = start_server("--threads", "1", "--queue-max", "1")
    kept = server.url + "/v1/encodings/rope/frequencies?dim=8"
    assert requests.get(kept, timeout=10).status_code == 200
    busy = wire.connect(server.port, 120)
    busy.sendall(
        b"GET /v1/encodings/sinusoidal/analysis/similarity?dim=4096&length=512&dtype=f64"
        b"&format=raw HTTP/1.1\r\n" + HOST + b"\r\n"
    )
    assert wire.eventually(lambda: metric(server, "posenc_requests_computed") == 1)
    assert requests.get(kept, timeout=10).headers["Server-Timing"].startswith("cache")
    assert requests.get(server.url + "/readyz", timeout=10).status_code == 200
    assert requests.get(kept + "&base=77", timeout=10).status_code == 200  # on the loop
    assert requests.get(kept.replace("dim=8", "dim=8192"), timeout=10).status_code == 503
    assert wire.read_answer(busy.makefile("rb")).status == 200
    busy.close()


def test_one_address_may_have_so_many_connections(start_server):
    server = start_server("--per-ip-max", "3")
    clients = [wire.connect(server.port) for _ in range(3)]
    answer, closed = wire.ask(server.port, b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")
    assert answer is None and closed
    for client in clients:
        client.close()
    assert wire.eventually(lambda: wire.is_alive(server.port))


def leave(client, abruptly):
    if abruptly:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def sockets_in(state, port):
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(
        1 for line in lines if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == state
    )


def test_ten_thousand_clients_that_leave(start_server):
    """Uploads given up at any point, then downloads reset in the middle: after a second nothing is
    left of them, no CLOSE_WAIT, no byte of the budget, no descriptor."""
    server = start_server("--log-format", "off")
    folder = f"/proc/{server.process.pid}/fd"
    uploads = 10000 if "POSENC_SANITIZED" not in os.environ else 1000
    before = len(os.listdir(folder))
    for index in range(uploads):
        client = wire.connect(server.port)
        client.sendall(upload_head(MIB) + b"x" * (index % 97 * 331))
        leave(client, index % 3 == 0)
    table = (
        b"GET /v1/encodings/alibi/bias?heads=8&query_length=2048&key_length=2048&format=raw"
        b" HTTP/1.1\r\n" + HOST + b"\r\n"
    )
    for index in range(uploads // 10):
        client = wire.connect(server.port)
        client.sendall(table)
        client.recv(1 + index % 3000)
        leave(client, True)
    time.sleep(1)
    assert sockets_in("08", server.port) == 0
    assert held(server) == 0
    assert len(os.listdir(folder)) <= before + 1
    assert wire.is_alive(server.port)
