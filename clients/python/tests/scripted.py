# SPDX-License-Identifier: MIT
"""A server that answers from a script and records what arrives, and a door that records requests
instead of sending them."""

import contextlib
import dataclasses
import json
import socket
import threading
import urllib.parse

from posenc import _arrays
from posenc._clients import Client
from posenc._messages import Reply

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
WHOLE = OK + b"\r\n{}"
NEVER = None  # no answer, until the client leaves


def refusal(status=503, retry_after="0", text="busy"):
    field = f"Retry-After: {retry_after}\r\n" if retry_after is not None else ""
    return (
        f"HTTP/1.1 {status} No\r\n{field}Content-Type: text/plain\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}"
    ).encode()


@dataclasses.dataclass
class Arrived:
    line: str
    fields: dict  # names in lower case, those of one name joined
    body: bytes
    connection: int


@dataclasses.dataclass
class Scripted:
    url: str
    port: int
    requests: list = dataclasses.field(default_factory=list)
    closed: list = dataclasses.field(default_factory=list)  # connections that the client closed
    raw: bytes = b""  # what was no request

    @property
    def lines(self):
        return [one.line for one in self.requests]


def _request(stream, number):
    """None: the client closed the connection."""
    line = stream.readline()
    if not line:
        return None
    fields = {}
    while (field := stream.readline()) not in (b"\r\n", b""):
        name, _, value = field.decode("latin-1").partition(":")
        name, value = name.lower(), value.strip()
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    body = stream.read(int(fields.get("content-length", 0)))
    return Arrived(line.decode("latin-1").strip(), fields, body, number)


def _serve(client, number, answers, found):
    stream = client.makefile("rb")
    for answer in answers:
        if stream.peek(1)[:1] == b"\x16":  # of TLS
            found.raw = stream.peek()
            return
        request = _request(stream, number)
        if request is None:
            found.closed.append(number)
            return
        found.requests.append(request)
        if answer is NEVER:
            stream.read(1)
            found.closed.append(number)
            return
        client.sendall(answer)
        if b"Connection: close" in answer:
            return
    client.settimeout(0.2)
    with contextlib.suppress(OSError):
        if stream.read(1) == b"":
            found.closed.append(number)


@contextlib.contextmanager
def server(*connections):
    """Each item has the answers of one connection, which is closed behind them."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    found = Scripted(f"http://127.0.0.1:{port}", port)

    def serve():
        for number, answers in enumerate(connections):
            try:
                client, _ = listener.accept()
            except OSError:
                return  # of a test that has ended
            with client:
                client.settimeout(5)
                with contextlib.suppress(OSError):
                    _serve(client, number, answers, found)
        listener.close()  # so that one connection too many is an error at once

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def closed_port():
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


# ---- requests that are not sent ------------------------------------------------------------------


class Sent(Exception):
    """In place of an answer."""


class Recorder:
    """A door. `answers` are replies; without them a request ends in Sent."""

    def __init__(self, *answers):
        self.requests, self.answers = [], list(answers)

    def send(self, request):
        self.requests.append(request)
        if not self.answers:
            raise Sent
        return self.answers.pop(0)


def recording(*answers):
    """(a client, the list of its requests)"""
    door = Recorder(*answers)
    return Client(door), door.requests


def reply(body, media_type="application/json", status=200, parts=None, **fields):
    import numpy as np

    names = {
        "Content-Type": media_type,
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    pieces = [body] if parts is None else parts
    return Reply(
        status, names, tuple(np.frombuffer(bytearray(piece), np.uint8) for piece in pieces)
    )


@dataclasses.dataclass
class Understood:
    method: str
    path: str
    accept: str
    type: str
    parameters: dict  # texts of a query or of metadata, or values of JSON
    tensors: dict


def understood(request):
    """A request as the service reads it."""
    path, _, query = request.target.partition("?")
    parameters = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    fields, body, tensors = dict(request.fields), b"".join(map(bytes, request.body)), {}
    media_type = fields.get("Content-Type", "")
    if media_type.endswith("safetensors"):
        size = 8 + int.from_bytes(body[:8], "little")
        header = json.loads(body[8:size])
        parameters |= {
            name.removeprefix("posenc."): text
            for name, text in header.pop("__metadata__", {}).items()
        }
        for name, one in header.items():
            begin, end = one["data_offsets"]
            tensors[name] = (one["dtype"].lower(), one["shape"], body[size + begin : size + end])
    elif media_type.endswith("json"):
        parameters |= json.loads(body)
        for name, array in _arrays.json_arrays(parameters.pop("tensors", {})):
            tensors[name] = (_arrays.dtype_name(array), list(array.shape), array.tobytes())
    parameters.pop("data_format", None)
    return Understood(
        request.method, path, fields.get("Accept", ""), media_type, parameters, tensors
    )
