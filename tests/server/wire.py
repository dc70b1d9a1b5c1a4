# SPDX-License-Identifier: MIT
"""Bytes written to a socket, and the bytes received."""

import dataclasses
import socket
import time


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes


def connect(port, timeout=10):
    return socket.create_connection(("127.0.0.1", port), timeout)


def read_answer(stream, head=False):
    """One answer from a socket's file, interim ones passed over; None at its end."""
    line = stream.readline()
    while line.startswith(b"HTTP/1.1 1"):
        while stream.readline() not in (b"\r\n", b""):
            pass
        line = stream.readline()
    if not line:
        return None
    status = int(line.split()[1])
    headers = {}
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, value = line.decode("latin-1").split(":", 1)
        headers[name.strip().lower()] = value.strip()
    if head or status in (204, 304):
        return Answer(status, headers, b"")
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(stream.readline().split(b";")[0], 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
        return Answer(status, headers, body)
    return Answer(status, headers, stream.read(int(headers["content-length"])))


def answer_on(client, raw):
    """Sends bytes; the first answer and the stream behind it. (None, None): closed without one."""
    try:
        client.sendall(raw)
    except OSError:
        pass  # refused while still sending: the answer counts
    stream = client.makefile("rb")
    try:
        return read_answer(stream), stream
    except ConnectionError:
        return None, None


def answer(port, raw, timeout=10):
    """Sends bytes on a connection of their own; the first answer, None if closed without one."""
    with connect(port, timeout) as client:
        return answer_on(client, raw)[0]


def ask(port, raw, timeout=10):
    """The answer, and whether the server closed behind it within a second. A connection that is
    kept open takes this second: `answer` does not wait."""
    with connect(port, timeout) as client:
        first, stream = answer_on(client, raw)
        if stream is None:
            return None, True
        client.settimeout(1)
        try:
            closed = stream.read(1) == b""
        except TimeoutError:
            closed = False
        except ConnectionError:
            closed = True
        return first, closed


def is_alive(port):
    alive = answer(port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return alive is not None and alive.status == 200


def eventually(check, seconds=3.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.02)
    return check()
