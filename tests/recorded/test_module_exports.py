# SPDX-License-Identifier: MIT
"""clients/js/module.c, compiled for this machine and called in the order in which client.js calls
it; tests/api/test_module.c has its single functions. The suite `wasm` compares all recorded answers
with those of WebAssembly."""

import contextlib
import ctypes as c
import gc
import itertools
import json
import re
import subprocess

import pytest
import record
import replay

ROOT = record.conftest.ROOT
BUILD = ROOT / "build"  # not that of a sanitizer, which this Python does not have

# Settings and fields as posenc/service.h receives them, and bodies that break off.
AROUND = """
#include <posenc/service.h>
#include <stdlib.h>
#include <string.h>
bool breaks;
static unsigned char *behind; /* what was allocated last */
enum { GUARD = 64 };
static void *guarded(size_t size)
{
    unsigned char *at = malloc(size + GUARD);

    if (at)
        behind = memset(at + size, 0xa5, GUARD);
    return at;
}
bool guard_is_whole(void)
{
    for (size_t i = 0; i < GUARD; i++)
        if (behind[i] != 0xa5)
            return false;
    return true;
}
size_t settings_count, fields_count;
uint64_t body_length;
static enum pe_status service_new(struct pe_service **service,
                                  const struct pe_service_options *options, struct pe_error *err)
{
    settings_count = options->settings_count;
    return pe_service_new(service, options, err);
}
static enum pe_status request_new(struct pe_request **request, struct pe_service *service,
                                  const struct pe_request_head *head, struct pe_error *err)
{
    fields_count = head->fields_count;
    body_length = head->body_length;
    return pe_request_new(request, service, head, err);
}
static enum pe_status request_next(struct pe_request *request, const void **bytes, size_t *size)
{
    return breaks ? PE_OUT_OF_MEMORY : pe_request_next(request, bytes, size);
}
#define malloc guarded
#define pe_service_new service_new
#define pe_request_new request_new
#define pe_request_next request_next
#include "clients/js/module.c"
"""

CALLS = {
    "alloc": (c.c_void_p, [c.c_size_t]),
    "free": (None, [c.c_void_p]),
    "start": (c.c_void_p, [c.c_void_p]),
    "begin": (c.c_void_p, [c.c_void_p, c.c_double]),
    "feed": (c.c_int, [c.c_void_p, c.c_void_p, c.c_size_t]),
    "finish": (c.c_void_p, [c.c_void_p]),
    "next": (c.c_void_p, [c.c_void_p]),
    "size": (c.c_size_t, []),
    "end": (None, [c.c_void_p]),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "around.c").write_text(AROUND)
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-g", "-shared", "-fPIC", "-Wno-attributes", f"-I{ROOT}"]
        + [f"-I{ROOT / 'include'}", "-o", folder / "module.so", folder / "around.c"]
        + [f"-L{BUILD}", "-lposenc-service", f"-Wl,-rpath,{BUILD}"],
        check=True,
    )
    return folder / "module.so"


class Door:
    """One service of a copy of the library, for the module has one service."""

    copies = itertools.count()
    PIECE = 70_001

    def __init__(self, program, settings):
        own = program.with_name(f"module-{next(self.copies)}.so")
        own.write_bytes(program.read_bytes())
        self.library = c.CDLL(str(own))
        for name, (result, arguments) in CALLS.items():
            function = getattr(self.library, f"posenc_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        text = "".join(f"{name}: {value}\n" for name, value in settings)
        settings = self.put(text.encode("latin-1"))
        self.wrong = self.taken(self.start(settings))
        self.free(settings)

    def put(self, content):
        """Into memory that has a zero behind the bytes, as client.js does."""
        at = self.alloc(len(content) + 1)
        c.memmove(at, content, len(content))
        return at

    def taken(self, at):
        if at is None:
            return None
        told = c.string_at(at).decode("latin-1")
        self.free(at)
        return told

    def ask(self, method, target, fields, body):
        body = body or b""
        length = int(dict(fields).get("Content-Length", len(body)))
        lines = "".join(f"{name}: {value}\n" for name, value in fields)
        head = self.put(f"{method} {target}\n{lines}".encode("latin-1"))
        request = self.begin(head, length)
        self.free(head)
        for at in range(0, len(body), self.PIECE):
            piece = body[at : at + self.PIECE]
            if not self.feed(request, piece, len(piece)):
                break
        text = self.finish(request)
        assert self.library.guard_is_whole() & 1
        status, *told = self.taken(text).strip().split("\n")
        parts = []
        while (at := self.next(request)) is not None:
            parts.append(c.string_at(at, self.size()))
        self.whole = self.size() == 0
        self.end(request)
        return int(status), [tuple(line.split(": ", 1)) for line in told], b"".join(parts)

    def close(self):
        pass


@pytest.fixture(scope="module")
def door(program):
    return Door(program, [])


def test_answers(program):
    """A request of each group of the list that stores nothing, and each that has a body in
    pieces."""
    seen = set()

    def without(request):
        key = request.group, request.method, request.server
        is_other = key not in seen or len(request.body or b"") > Door.PIECE
        seen.add(key)
        return not is_other or "tables" in request.group

    with replay.doors(lambda settings: Door(program, settings)) as opened:
        count, lines = replay.differences(opened, record.read(), without)
    assert count > 60
    assert not lines, "\n" + "\n".join(lines)


def test_settings_that_are_wrong_have_a_sentence(program):
    for name, value in (("no-such", "1"), ("dim-max", "many"), ("threads", "-1")):
        wrong = Door(program, [("dim-max", "8"), (name, value)]).wrong
        assert re.fullmatch(f"setting:{name}: .+", wrong), wrong
    assert Door(program, [("dim-max", "8")]).wrong is None
    for size in (1, 40, 80):  # of a long name the beginning
        wrong = Door(program, [("n" * size, "1")]).wrong
        assert re.fullmatch("setting:n+: there is no setting of this name", wrong)


TABLE = "/v1/encodings/index/table?length=3&format=raw"


def test_no_field_and_no_setting_is_dropped(program, door):
    """However many there are: the last one counts like the first."""
    settings = [("dim-max", "64")] * 99 + [("output-max", "4")]
    small = Door(program, settings)
    assert c.c_size_t.in_dll(small.library, "settings_count").value == len(settings)
    assert small.wrong is None and small.ask("GET", TABLE, [], None)[0] == 413
    for count in (0, 1, 63, 64, 65, 200):
        fields = [(f"X-{number}", f"a: {number}") for number in range(count)]
        status, told, _ = door.ask("GET", TABLE, [*fields, ("Accept", "image/svg+xml")], None)
        assert c.c_size_t.in_dll(door.library, "fields_count").value == count + 1
        assert status == 200


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**32 + 1, 2**53])
def test_the_length_of_a_body_is_whole(door, length):
    """Those of over 4 GiB too, which are refused in the service's words."""
    fields = [("Content-Type", "application/json"), ("Content-Length", str(length))]
    status, _, body = door.ask("POST", "/v1/config", fields, b"")
    assert c.c_uint64.in_dll(door.library, "body_length").value == length
    assert status >= 400 and json.loads(body)["status"] == status


@contextlib.contextmanager
def breaking(door):
    flag = c.c_bool.in_dll(door.library, "breaks")
    flag.value = True
    yield
    flag.value = False


def test_a_body_that_breaks_off_is_not_at_its_end(door):
    assert door.ask("GET", TABLE, [], None)[2] and door.whole
    with breaking(door):
        assert door.ask("GET", TABLE, [], None)[0] == 200 and not door.whole
    assert door.ask("GET", TABLE, [], None)[2] and door.whole
    assert door.ask("HEAD", TABLE, [], None)[2] == b"" and door.whole


class Mallinfo(c.Structure):
    _fields_ = [
        (name, c.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
        )
    ]


def in_use():
    gc.collect()
    function = c.CDLL(None).mallinfo2
    function.restype = Mallinfo
    found = function()
    return found.uordblks + found.hblkhd


def test_requests_leave_no_memory(door):
    def ask():
        door.ask("GET", "/v1/encodings/rope/table?dim=8&length=9", [("X-A", "b")], None)
        door.ask("POST", "/v1/config", [("Content-Type", "application/json")], b'{"a":1}')

    for _ in range(20):
        ask()
    before = in_use()
    for _ in range(100):
        ask()
    assert in_use() - before < 100 * 64
