# SPDX-License-Identifier: MIT
"""The recorded requests, asked of libposenc-service in this process instead of over a socket."""
import contextlib
import ctypes as c
import os
import pathlib
import shutil
import tempfile

import conftest_by_path as conftest
import wire_answer

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNKNOWN = 2**64 - 1


class Pair(c.Structure):
    """struct pe_setting, struct pe_field"""
    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p)]


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("settings", c.POINTER(Pair)), ("count", c.c_size_t),
                ("log", c.c_void_p), ("context", c.c_void_p)]


class Head(c.Structure):
    _fields_ = [("size", c.c_size_t), ("method", c.c_char_p), ("target", c.c_char_p),
                ("fields", c.POINTER(Pair)), ("fields_count", c.c_size_t),
                ("body_length", c.c_uint64), ("deadline", c.c_uint64)]


class Response(c.Structure):
    _fields_ = [("status", c.c_int), ("problem", c.c_char_p), ("fields", c.POINTER(Pair)),
                ("fields_count", c.c_size_t), ("length", c.c_uint64), ("has_body", c.c_bool)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("where", c.c_char * 96), ("detail", c.c_char * 320)]


def pairs(items):
    items = list(items)
    return (Pair * len(items))(*(Pair(k.encode("latin-1"), v.encode("latin-1"))
                                 for k, v in items)), len(items)


def library():
    path = ROOT / os.environ.get("BUILD", "build") / "libposenc-service.so.0"
    found = c.CDLL(str(path))
    found.pe_request_finish.restype = c.POINTER(Response)
    for name in ("pe_request_finish", "pe_request_free", "pe_service_free"):
        getattr(found, name).argtypes = [c.c_void_p]
    found.pe_request_new.argtypes = [c.POINTER(c.c_void_p), c.c_void_p, c.c_void_p, c.c_void_p]
    found.pe_request_feed.argtypes = [c.c_void_p, c.c_char_p, c.c_size_t]
    found.pe_request_feed.restype = c.c_bool
    found.pe_request_read.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p]
    return found


class Service:
    def __init__(self, settings):
        self.library, self.handle, error = library(), c.c_void_p(), Error()
        told, count = pairs(settings)
        options = Options(c.sizeof(Options), told, count)
        assert self.library.pe_service_new(c.byref(self.handle), c.byref(options),
                                           c.byref(error)) == 0, error.detail

    def close(self):
        self.library.pe_service_free(self.handle)

    def ask(self, method, target, headers=(), body=None, piece=100_000, room=70_000):
        """(status, headers in lower case, body); Content-Length as a connection would say it."""
        fields, count = pairs(headers)
        head = Head(c.sizeof(Head), method.encode(), target.encode(), fields, count,
                    len(body or b""), 0)
        request, error = c.c_void_p(), Error()
        assert self.library.pe_request_new(c.byref(request), self.handle, c.byref(head),
                                           c.byref(error)) == 0, error.detail
        try:
            for at in range(0, len(body or b""), piece):
                part = body[at:at + piece]
                if not self.library.pe_request_feed(request, part, len(part)):
                    break
            return self.answer(request, room)
        finally:
            self.library.pe_request_free(request)

    def answer(self, request, room):
        told = self.library.pe_request_finish(request).contents
        headers = {}
        for field in told.fields[:told.fields_count]:
            name, value = field.name.decode().lower(), field.value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if told.length != UNKNOWN:
            headers["content-length"] = str(told.length)
        buffer, size, body = c.create_string_buffer(room), c.c_size_t(), b""
        while True:
            assert self.library.pe_request_read(request, buffer, room, c.byref(size)) == 0
            if not size.value:
                return told.status, headers, body
            body += buffer.raw[:size.value]
