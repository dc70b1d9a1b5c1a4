# SPDX-License-Identifier: MIT
"""The service inside this process: libposenc-service by ctypes (include/posenc/service.h)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import time
import weakref
from collections.abc import Iterator
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Array, Buffer, bytes_of
from ._messages import Reply, Request
from ._requests import text

LIBRARY = Path(__file__).with_name("_lib") / "libposenc-service.so.0"
_LENGTH_UNKNOWN = 2**64 - 1
_LARGE = 64 << 10
_GRACE = 0.05  # seconds that the library has for a refusal of its own at the deadline


class _Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("where", ctypes.c_char * 96), ("detail", ctypes.c_char * 320)]


class _Pair(ctypes.Structure):
    """struct pe_setting, struct pe_field."""

    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("settings", POINTER(_Pair)),
        ("count", c_size_t),
        ("log", c_void_p),
        ("context", c_void_p),
    ]


class _Head(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("method", c_char_p),
        ("target", c_char_p),
        ("fields", POINTER(_Pair)),
        ("fields_count", c_size_t),
        ("body_length", c_uint64),
        ("deadline", c_uint64),
    ]


class _Response(ctypes.Structure):
    _fields_ = [
        ("status", c_int),
        ("problem", c_char_p),
        ("fields", POINTER(_Pair)),
        ("fields_count", c_size_t),
        ("length", c_uint64),
        ("has_body", c_bool),
        ("in_place", c_bool),
    ]


_CALLS: dict[str, tuple[Any, list[Any]]] = {
    "pe_service_new": (c_int, [POINTER(c_void_p), POINTER(_Options), POINTER(_Error)]),
    "pe_service_free": (None, [c_void_p]),
    "pe_request_new": (c_int, [POINTER(c_void_p), c_void_p, POINTER(_Head), POINTER(_Error)]),
    "pe_request_feed": (c_bool, [c_void_p, c_void_p, c_size_t]),
    "pe_request_lend": (c_bool, [c_void_p, c_void_p, c_size_t]),
    "pe_request_finish": (POINTER(_Response), [c_void_p]),
    "pe_response_field": (c_char_p, [POINTER(_Response), c_char_p]),
    "pe_request_next": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "pe_request_read": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    "pe_request_cancel": (None, [c_void_p]),
    "pe_request_free": (None, [c_void_p]),
}


@functools.cache
def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed. Calls let other threads of Python run."""
    loaded = ctypes.CDLL(os.fspath(LIBRARY))
    for name, (result, arguments) in _CALLS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


@functools.lru_cache(64)
def _pairs(pairs: tuple[tuple[str, str], ...]) -> Any:
    return (_Pair * len(pairs))(
        *[_Pair(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    )


def _failure(error: _Error) -> Exception:
    told = f"{error.where.decode()}: {error.detail.decode()}".lstrip(": ")
    return MemoryError(told) if told.startswith("no memory") else ValueError(told)


class _Answered:
    """A request and its response, whose memory it owns; arrays over that memory own it."""

    def __init__(self, service: Service, handle: c_void_p) -> None:
        self.service, self.call, self.handle = service, library(), handle
        self.timed_out = False
        self.response: Any = None
        self.__array_interface__: dict[str, Any] = {}
        service.unfreed[handle.value] = True

    def __del__(self) -> None:
        if self.service.unfreed.pop(self.handle.value, False):
            self.call.pe_request_free(self.handle)

    @contextlib.contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """An answer that is not whole by then breaks off."""

        def end() -> None:
            self.timed_out = True
            self.call.pe_request_cancel(self.handle)

        if seconds is None:
            yield
            return
        timer = threading.Timer(seconds + _GRACE, end)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def finish(self) -> int:
        """Runs the work, and gives the status."""
        self.response = self.call.pe_request_finish(self.handle)
        return int(self.response.contents.status)

    def get(self, name: str, /) -> str | None:
        value: bytes | None = self.call.pe_response_field(self.response, name.encode())
        return None if value is None else value.decode("latin-1")

    def items(self) -> list[tuple[str, str]]:
        told = self.response.contents
        return [
            (field.name.decode(), field.value.decode("latin-1"))
            for field in told.fields[: told.fields_count]
        ]

    def check(self, status: int) -> None:
        if status and self.timed_out:
            raise TimeoutError("the answer was not whole by its timeout")
        if status:
            raise MemoryError("the answer broke off: memory is short")

    def next(self) -> tuple[int | None, int]:
        """Where the next bytes lie, and how many they are; none at the end."""
        at, size = c_void_p(), c_size_t()
        self.check(self.call.pe_request_next(self.handle, byref(at), byref(size)))
        return at.value, size.value

    def memory(self, at: int | None, size: int) -> NDArray[np.uint8]:
        """The library's memory as an array that keeps this alive."""
        if not size:
            return np.empty(0, np.uint8)
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (at, False),
        }
        return np.asarray(self)

    def copy(self, at: int | None, size: int) -> NDArray[np.uint8]:
        return np.frombuffer(bytearray(ctypes.string_at(at or 0, size)), np.uint8)

    def fill(self, into: NDArray[np.uint8]) -> None:
        """Reads as many bytes as there is room for; they are made meanwhile."""
        at, room, size = into.ctypes.data, into.nbytes, c_size_t()
        while room:
            self.check(self.call.pe_request_read(self.handle, at, room, byref(size)))
            at, room = at + size.value, room - size.value

    def rest(self) -> NDArray[np.uint8]:
        """Text whose length nobody knows before it is made."""
        found = bytearray()
        while True:
            at, size = self.next()
            if not size:
                return np.frombuffer(found, np.uint8)
            found += ctypes.string_at(at or 0, size)

    def body(self, own: bool) -> tuple[NDArray[np.uint8], ...]:
        """The body in as many parts as it lies in. `own`: its memory is this request's alone. What
        the library may keep for the next one who asks is copied, since arrays can be written to;
        and what is small, for a request takes more memory than that."""
        told = self.response.contents
        if not told.has_body:
            return (np.empty(0, np.uint8),)
        if told.length == _LENGTH_UNKNOWN:
            return (self.rest(),)
        left: int = told.length
        begun: tuple[NDArray[np.uint8], ...] = ()
        if own and left >= _LARGE:
            at, size = self.next()
            if size == left:
                return (self.memory(at, size),)
            begun, left = (self.copy(at, size),), left - size
            at, size = self.next()
            if size == left:
                return (*begun, self.memory(at, size))
            begun, left = (*begun, self.copy(at, size)), left - size
        whole = np.empty(left, np.uint8)
        self.fill(whole)
        return (*begun, whole)


_services: weakref.WeakSet[Service] = weakref.WeakSet()


class Service:
    """A service of this process's own. Settings are the flags of posencd, with underscores:
    ``Service(threads=1, tables="/var/lib/tables")``. Any number of threads may use it."""

    # Memory is the process's own, as NumPy's: limits that guard a server from strangers are far.
    OWN = {
        "memory_budget": "1TiB",
        "body_max": "1TiB",
        "json_body_max": "1TiB",
        "json_elements_max": str(2**40),
        "json_values_max": str(2**30),
    }

    def __init__(self, *, timeout: float | None = None, **settings: Any) -> None:
        self._settings = {**self.OWN, **settings}
        self._timeout = timeout
        self._lock = threading.Lock()
        self._pointer: c_void_p | None = None
        self.unfreed: dict[int | None, bool] = {}  # requests
        _services.add(self)

    def _start(self) -> c_void_p:
        with self._lock:
            if self._pointer is None:
                pairs = _pairs(
                    tuple(
                        (name.replace("_", "-"), text(value))
                        for name, value in self._settings.items()
                        if value is not None
                    )
                )
                error, pointer = _Error(), c_void_p()
                options = _Options(ctypes.sizeof(_Options), pairs, len(pairs))
                if library().pe_service_new(byref(pointer), byref(options), byref(error)):
                    raise _failure(error)
                self._pointer = pointer
            return self._pointer

    def __del__(self) -> None:
        """Requests own their service, so any that are left are garbage of the same cycle, whose
        parts Python finalizes in any order."""
        if self._pointer is None:
            return
        while self.unfreed:
            library().pe_request_free(self.unfreed.popitem()[0])
        library().pe_service_free(self._pointer)

    def forget(self) -> None:
        """In a forked process, where the threads of the service are not: it is made anew, and what
        it had there stays as it is."""
        self._lock = threading.Lock()
        self._pointer = None
        self.unfreed.clear()

    def _begin(self, request: Request, length: int) -> _Answered:
        pointer = self._pointer or self._start()
        fields = _pairs(request.fields)
        deadline = time.monotonic_ns() + int(self._timeout * 1e9) if self._timeout else 0
        head = _Head(
            ctypes.sizeof(_Head),
            request.method.encode(),
            request.target.encode(),
            fields,
            len(fields),
            length,
            deadline,
        )
        error, handle = _Error(), c_void_p()
        if library().pe_request_new(byref(handle), pointer, byref(head), byref(error)):
            raise _failure(error)
        return _Answered(self, handle)

    def send(self, request: Request) -> Reply:
        answered = self._begin(request, request.length)
        for piece in request.body:
            if not answered.call.pe_request_feed(answered.handle, _address(piece), len(piece)):
                break
        with answered.within(self._timeout):
            status = answered.finish()
            return Reply(status, answered, answered.body(request.method == "POST"))

    def begin_in_place(self, request: Request, array: Array) -> InPlace:
        """The array's memory is the body, and is not written to before `InPlace.run`."""
        answered = self._begin(request, _LENGTH_UNKNOWN)
        memory = bytes_of(array)
        answered.call.pe_request_lend(answered.handle, array.ctypes.data, len(memory))
        with answered.within(self._timeout):
            status = answered.finish()
        return InPlace(answered, status, array)


class InPlace:
    """A request on an array's own memory that was judged and prepared."""

    def __init__(self, answered: _Answered, status: int, array: Array) -> None:
        self._answered, self._status, self._array = answered, status, array

    def reply(self) -> Reply:
        """Without its body, unless it is a refusal. TypeError: the answer would be elsewhere."""
        answered = self._answered
        if self._status >= 400:
            return Reply(self._status, answered, answered.body(True))
        if self._array.nbytes and not answered.response.contents.in_place:
            raise TypeError(
                "this rotation cannot be made in place: its answer has another format "
                "or dtype, or is computed in a wider one; rotate() makes a new array"
            )
        return Reply(self._status, answered, ())

    def run(self) -> None:
        """To its end: an array is not left half rotated for a timeout."""
        if self._array.nbytes:
            self._answered.next()


def _address(piece: Buffer) -> Any:
    if isinstance(piece, bytes):
        return piece
    return np.frombuffer(piece, np.uint8).__array_interface__["data"][0] if piece.nbytes else None


def _after_fork() -> None:
    for service in list(_services):
        service.forget()


os.register_at_fork(after_in_child=_after_fork)
