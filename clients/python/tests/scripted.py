# SPDX-License-Identifier: MIT
"""A server that records requests and sends prepared answers, and a Door that records requests
without sending them."""

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
NEVER = None  # no answer: the connection stays open until the client closes it


def refusal(status=503, retry_after="0", text="busy"):
    field = f"Retry-After: {retry_after}\r\n" if retry_after is not None else ""
    return (
        f"HTTP/1.1 {status} No\r\n{field}Content-Type: text/plain\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}"
    ).encode()


@dataclasses.dataclass
class ReceivedRequest:
    line: str
    fields: dict  # names in lower case; values of the same name are joined by ", "
    body: bytes
    connection: int  # its index in the arguments of server()


@dataclasses.dataclass
class Record:
    url: str
    port: int
    requests: list = dataclasses.field(default_factory=list)
    # Indices of the connections that the client closed.
    closed: list = dataclasses.field(default_factory=list)
    raw: bytes = b""  # of a TLS handshake, which is not parsed

    @property
    def lines(self):
        return [request.line for request in self.requests]


def _request_read(stream, connection):
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
    return ReceivedRequest(line.decode("latin-1").strip(), fields, body, connection)


def _connection_serve(client, connection, answers, record):
    stream = client.makefile("rb")
    for answer in answers:
        if stream.peek(1)[:1] == b"\x16":  # a TLS handshake
            record.raw = stream.peek()
            return
        request = _request_read(stream, connection)
        if request is None:
            record.closed.append(connection)
            return
        record.requests.append(request)
        if answer is NEVER:
            stream.read(1)
            record.closed.append(connection)
            return
        client.sendall(answer)
        if b"Connection: close" in answer:
            return
    client.settimeout(0.2)
    with contextlib.suppress(OSError):
        if stream.read(1) == b"":
            record.closed.append(connection)


@contextlib.contextmanager
def server(*connections):
    """Serves a connection for each argument, the list of its answers, and closes it after them."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    record = Record(f"http://127.0.0.1:{port}", port)

    def serve():
        for connection, answers in enumerate(connections):
            try:
                client, _ = listener.accept()
            except OSError:
                return  # the test has ended
            with client:
                client.settimeout(5)
                with contextlib.suppress(OSError):
                    _connection_serve(client, connection, answers, record)
        listener.close()  # so that a further connection fails at once

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield record
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def closed_port():
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


# ---- requests that are not sent ------------------------------------------------------------------


class Sent(Exception):
    """Raised in place of an answer."""


class Recorder:
    """A Door that returns `answers` in order. When none is left, a request raises Sent."""

    def __init__(self, *answers):
        self.requests, self.answers = [], list(answers)

    def send(self, request):
        self.requests.append(request)
        if not self.answers:
            raise Sent
        return self.answers.pop(0)


def recording(*answers):
    """A client, and the list of its requests."""
    recorder = Recorder(*answers)
    return Client(recorder), recorder.requests


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
class ParsedRequest:
    method: str
    path: str
    accept: str
    type: str
    parameters: dict  # as texts from a query or metadata, as values from JSON
    tensors: dict


def understood(request):
    """Parses a recorded request as the service does."""
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
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            data = body[size + begin : size + end]
            tensors[name] = (entry["dtype"].lower(), entry["shape"], data)
    elif media_type.endswith("json"):
        parameters |= json.loads(body)
        for name, array in _arrays.json_arrays(parameters.pop("tensors", {})):
            tensors[name] = (_arrays.dtype_name(array), list(array.shape), array.tobytes())
    parameters.pop("data_format", None)
    return ParsedRequest(
        request.method, path, fields.get("Accept", ""), media_type, parameters, tensors
    )
