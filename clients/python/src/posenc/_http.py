# SPDX-License-Identifier: MIT
"""A server, by the standard library's HTTP. Connections are kept open; a request that is refused
with 503 and Retry-After is sent again."""

from __future__ import annotations

import http.client
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from ._arrays import Buffer
from ._messages import ConnectionFailed, Reply, Request

PIECE = 1 << 20  # bytes that are sent or read between two looks at the progress
SHOWN_FROM = 16 << 20  # smaller transfers are over before anybody reads of them
PICTURE_TIMEOUT = 10.0  # seconds
WAIT_MAX = 30.0  # seconds; a server may say Retry-After: 86400

Progress = bool | Callable[[str, int, int | None], None] | None
"""Called with "send" or "receive", bytes so far and bytes in all (None: unknown); True: a bar
of tqdm; None: a bar where tqdm is installed and stderr is a terminal."""


class Origin:
    """Where a server is: of "http://host:port/base"."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"an address is http://host:port or https://..., got {url!r}")
        self.secure = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port
        self.base = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.token = token

    @property
    def address(self) -> str:
        """The URL as it is shown to people: without a user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.secure else 'http'}://{host}{port}{self.base}"

    def refused(self, error: Exception) -> ConnectionFailed:
        """No connection can be made."""
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ConnectionFailed(self.address, f"cannot connect to {self.address}: {reason}")

    def broken(self, error: Exception) -> ConnectionFailed:
        """A connection ended before its answer did."""
        reason = str(error) or type(error).__name__
        return ConnectionFailed(self.address, f"the connection to {self.address} broke: {reason}")

    def late(self, seconds: float) -> TimeoutError:
        return TimeoutError(f"{self.address} did not answer within {seconds:g} s (timeout=)")

    def headers(self, request: Request) -> dict[str, str]:
        """The fields of the request, and the client's own that it does not have, compared without
        case; Content-Length is always that of the body."""
        own = {"Accept-Encoding": "identity"}
        if self.token:
            own["Authorization"] = f"Bearer {self.token}"
        given = {name: value for name, value in request.fields if name.lower() != "content-length"}
        names = set(map(str.lower, given))
        headers = given | {name: value for name, value in own.items() if name.lower() not in names}
        if request.body:
            headers["Content-Length"] = str(request.length)
        return headers


def pieces(body: tuple[Buffer, ...]) -> Iterator[memoryview]:
    for part in body:
        view = memoryview(part)
        for begin in range(0, len(view), PIECE):
            yield view[begin : begin + PIECE]


def retry_after(status: int, value: str | None) -> float | None:
    """Seconds to wait before a refusal for want of room is asked again; None: it is not."""
    if status != 503 or value is None or not value.isdecimal():
        return None
    return min(float(value), WAIT_MAX)


# ---- progress ------------------------------------------------------------------------------------


def _nothing(what: str, done: int, whole: int | None) -> None:
    """Nobody watches."""


def _bars() -> Callable[[str, int, int | None], None]:
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(what: str, done: int, whole: int | None) -> None:
        bar = bars.get(what)
        if bar is None:
            bar = bars[what] = tqdm(desc=what, total=whole, unit="B", unit_scale=True)
        bar.update(done - bar.n)
        if done == whole:
            bar.close()

    return show


def watcher(progress: Progress, size: int | None) -> Callable[[str, int, int | None], None]:
    """The function that is told of a transfer of so many bytes."""
    if callable(progress):
        return progress
    if progress is False or size is not None and size < SHOWN_FROM:
        return _nothing
    try:
        return _bars() if progress or sys.stderr.isatty() else _nothing
    except ImportError:
        if progress:
            raise
        return _nothing


# ---- connections ---------------------------------------------------------------------------------


class Connections:
    """Idle connections are in a list; each thread takes one for each request."""

    def __init__(self, origin: Origin, timeout: float, retries: int, progress: Progress) -> None:
        self.origin = origin
        self._timeout = timeout
        self._retries, self._progress = retries, progress
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        kind = http.client.HTTPSConnection if self.origin.secure else http.client.HTTPConnection
        connection = kind(self.origin.host, self.origin.port, timeout=self._timeout)
        try:
            connection.connect()
        except OSError as error:
            raise self.origin.refused(error) from error
        return connection, False

    def send(self, request: Request) -> Reply:
        """Sent again where the server has no capacity at the moment, at most `retries` times."""
        for _ in range(self._retries):
            reply = self._send(request)
            seconds = retry_after(reply.status, reply.fields.get("Retry-After"))
            if seconds is None:
                return reply
            time.sleep(seconds)
        return self._send(request)

    def _send(self, request: Request) -> Reply:
        """A kept connection may have been closed by the server meanwhile: then a new one is made,
        which repeats nothing, for no answer had begun."""
        while True:
            connection, used = self._take()
            try:
                return self._exchange(connection, request)
            except (ConnectionError, http.client.BadStatusLine) as error:
                connection.close()
                if not used:
                    raise self.origin.broken(error) from error
            except TimeoutError as error:
                connection.close()
                raise self.origin.late(self._timeout) from error
            except http.client.HTTPException as error:
                connection.close()
                raise self.origin.broken(error) from error
            except BaseException:
                connection.close()
                raise

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Reply:
        try:
            connection.request(
                request.method,
                self.origin.base + request.target,
                self._watched(request) if request.body else None,
                self.origin.headers(request),
            )
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused while it was sent: the answer says why, if there is one
        response = connection.getresponse()
        body = self._read(response)
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append(connection)
        return Reply(response.status, response.headers, (body,))

    def _watched(self, request: Request) -> Iterator[memoryview]:
        whole = request.length
        tell, done = watcher(self._progress, whole), 0
        for piece in pieces(request.body):
            yield piece
            done += len(piece)
            tell("send", done, whole)

    def _read(self, response: http.client.HTTPResponse) -> NDArray[np.uint8]:
        """The body in memory of its own, into which it is received."""
        whole = response.length
        if whole is None:
            return np.frombuffer(bytearray(response.read()), np.uint8)
        tell, done = watcher(self._progress, whole), 0
        body = np.empty(whole, np.uint8)
        while done < whole:
            count = response.readinto(body[done : done + PIECE].data)
            if not count:
                raise http.client.IncompleteRead(body[:done].tobytes(), whole - done)
            done += count
            tell("receive", done, whole)
        response.close()  # of an empty body nothing was read, which would have closed it
        return body


def send_once(origin: Origin, request: Request) -> Reply:
    """Over a connection of its own, without retries: for pictures, which a notebook waits for."""
    connections = Connections(origin, PICTURE_TIMEOUT, 0, False)
    try:
        return connections.send(request)
    finally:
        connections.close()
