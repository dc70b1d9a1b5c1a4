# SPDX-License-Identifier: MIT
"""libposenc-service, called in this process: posenc/service.h in ctypes."""

import ctypes as c
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / os.environ.get("BUILD", "build") / "libposenc-service.so.0"


class Pair(c.Structure):
    """struct pe_setting and struct pe_field"""

    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p)]


class Options(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("settings", c.POINTER(Pair)),
        ("count", c.c_size_t),
        ("log", c.c_void_p),
        ("context", c.c_void_p),
    ]


class Head(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("method", c.c_char_p),
        ("target", c.c_char_p),
        ("fields", c.POINTER(Pair)),
        ("fields_count", c.c_size_t),
        ("body_length", c.c_uint64),
        ("deadline", c.c_uint64),
    ]


class Response(c.Structure):
    _fields_ = [
        ("status", c.c_int),
        ("problem", c.c_char_p),
        ("fields", c.POINTER(Pair)),
        ("fields_count", c.c_size_t),
        ("length", c.c_uint64),
        ("has_body", c.c_bool),
    ]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("where", c.c_char * 96), ("detail", c.c_char * 320)]


def pairs(items):
    return (Pair * len(items))(
        *(Pair(name.encode("latin-1"), value.encode("latin-1")) for name, value in items)
    )


def load():
    library = c.CDLL(str(LIBRARY))
    takes = {
        "pe_service_new": [c.POINTER(c.c_void_p), c.POINTER(Options), c.POINTER(Error)],
        "pe_service_free": [c.c_void_p],
        "pe_request_new": [c.POINTER(c.c_void_p), c.c_void_p, c.POINTER(Head), c.POINTER(Error)],
        "pe_request_feed": [c.c_void_p, c.c_char_p, c.c_size_t],
        "pe_request_finish": [c.c_void_p],
        "pe_request_read": [c.c_void_p, c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t)],
        "pe_request_free": [c.c_void_p],
    }
    for name, arguments in takes.items():
        getattr(library, name).argtypes = arguments
    library.pe_request_feed.restype = c.c_bool
    library.pe_request_finish.restype = c.POINTER(Response)
    return library


class Door:
    """A service. Bodies are fed and read in pieces of lengths that divide nothing."""

    PIECE, ROOM = 100_003, 70_001

    def __init__(self, settings):
        self.library, self.service, error = load(), c.c_void_p(), Error()
        options = Options(c.sizeof(Options), pairs(settings), len(settings))
        status = self.library.pe_service_new(self.service, options, error)
        assert status == 0, error.detail

    def close(self):
        self.library.pe_service_free(self.service)

    def ask(self, method, target, fields, body):
        told = dict(fields).get("Content-Length")
        length = int(told) if told else len(body or b"")
        head = Head(
            c.sizeof(Head), method.encode(), target.encode(), pairs(fields), len(fields), length, 0
        )
        request, error = c.c_void_p(), Error()
        assert self.library.pe_request_new(request, self.service, head, error) == 0, error.detail
        try:
            for at in range(0, len(body or b""), self.PIECE):
                piece = body[at : at + self.PIECE]
                if not self.library.pe_request_feed(request, piece, len(piece)):
                    break
            return self.answer(request)
        finally:
            self.library.pe_request_free(request)

    def answer(self, request):
        told = self.library.pe_request_finish(request).contents
        fields = [
            (field.name.decode(), field.value.decode("latin-1"))
            for field in told.fields[: told.fields_count]
        ]
        room, size, body = c.create_string_buffer(self.ROOM), c.c_size_t(), bytearray()
        while True:
            assert self.library.pe_request_read(request, room, self.ROOM, size) == 0
            if size.value == 0:
                break
            body += room.raw[: size.value]
        assert not told.has_body or told.length in (len(body), 2**64 - 1)
        return told.status, fields, bytes(body)
