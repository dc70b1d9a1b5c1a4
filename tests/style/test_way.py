# SPDX-License-Identifier: MIT
"""The way of a request, as ARCHITECTURE.md lists it, is the one that a request takes: the requests
are sent to a server that records its calls, and the lists are held against them."""
import collections
import json
import os
import pathlib
import re
import struct
import subprocess

import pytest

from tests import conftest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = "build-way"
GROUND = re.compile(r"(api|core)/(system|base|memory|numbers|wide|exact|isa|kernels)/")
FLAGS = "-O0 -g1 -finstrument-functions -finstrument-functions-exclude-file-list=" + ",".join(
    ["core/kernels", "core/system", "core/base", "core/exact", "api/memory", "api/numbers"])
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
SECTION = re.search(r"^## The way of a request\n(.*?)^## ", PAGE, re.S | re.M).group(1)
WAYS = re.findall(r"^```way (.*?)\n(.*?)^```", SECTION, re.S | re.M)
LINE = re.compile(r"( *)([\w/]+\.c): (\w+(?:, \w+)*)")
SHAPE = [1, 2, 4, 8]

Call = collections.namedtuple("Call", "number parent file function")


@pytest.fixture(scope="module")
def binary():
    recorder = f"{BUILD}/record_calls.o"
    (ROOT / BUILD).mkdir(exist_ok=True)
    (ROOT / BUILD / "posencd").unlink(missing_ok=True)  # make does not see the recorder
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-c", "tests/style/record_calls.c", "-o",
                    recorder], cwd=ROOT, check=True)
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", f"BUILD={BUILD}", f"CFLAGS={FLAGS}",
                    "FRAME=",  # of unoptimised kernels
                    f"LDFLAGS=-no-pie {recorder}", f"{BUILD}/posencd"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return ROOT / BUILD / "posencd"


def body(kind, names):
    if kind == "json":
        return json.dumps({"tensors": {name: {"dtype": "f32", "shape": [1, 1, 2, 4],
                                              "data": [0.5] * 8} for name in names}}).encode()
    header, size = {}, 4 * 64
    for index, name in enumerate(names):
        header[name] = {"dtype": "F32", "shape": SHAPE,
                        "data_offsets": [index * size, (index + 1) * size]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(size * len(names))


@pytest.fixture(scope="module")
def recorded(binary, tmp_path_factory):
    """The calls of each way, in the order in which they were entered."""
    out, calls = tmp_path_factory.mktemp("calls") / "way", {}
    os.environ["POSENCD"], before = str(binary), os.environ.get("POSENCD")
    try:
        server = conftest.start("--threads", "1", env={"RECORD_CALLS": str(out)})
    finally:
        os.environ.pop("POSENCD") if before is None else os.environ.update(POSENCD=before)
    types = {"json": "application/json", "safetensors": "application/x-safetensors"}
    for way, _ in WAYS:
        method, path, *kind = way.split()
        names = ["q"] if "rotation" in path else ["q", "k", "v"]
        headers = {"Content-Type": types[kind[0]]} if kind else {}
        answer = server.request(method, path, headers={"Accept-Encoding": "", **headers},
                                data=body(kind[0], names) if kind else None)
        assert answer.status_code == 200, answer.text
    server.session.close()
    conftest.finish(server)
    for number, (way, _) in enumerate(WAYS):
        calls[way] = calls_of(binary, pathlib.Path(f"{out}.{number}"))
    return calls


def symbols(binary, addresses):
    """(file, function) of each address."""
    lines = subprocess.run(["addr2line", "-f", "-e", binary], text=True, check=True,
                           input="\n".join(map(hex, addresses)), capture_output=True).stdout
    pairs = zip(*[iter(lines.splitlines())] * 2)
    return {address: (place.split(":")[0].removeprefix(f"{ROOT}/"), function)
            for address, (function, place) in zip(addresses, pairs)}


def is_of_the_request(root, on_loop):
    """Timers of the loop and other threads have work of their own."""
    return root.function != "tick_fire" and (
        on_loop or root.file in ("server/request.c", "server/stream.c"))


def calls_of(binary, path):
    words = [word for word, in struct.iter_unpack("<Q", path.read_bytes())]
    name = symbols(binary, sorted({word & (1 << 55) - 1 for word in words}))
    stacks, calls, loop = collections.defaultdict(list), [], words[0] >> 56
    for word in words:
        stack = stacks[word >> 56]
        if word >> 55 & 1:
            stack and stack.pop()
            continue
        call = Call(len(calls), stack[-1].number if stack else None, *name[word & (1 << 55) - 1])
        stack.append(call)
        calls.append(call if is_of_the_request(stack[0], word >> 56 == loop) else
                     call._replace(file="", function=""))
    return calls


def is_inside(calls, call, outer):
    while call is not None and call != outer:
        call = calls[call].parent
    return call is not None


def first_call(calls, begin, file, functions, outer):
    """The last of a chain of calls, each made by the one before; None: there is no such chain."""
    if not functions:
        return outer
    for call in calls[begin:]:
        if (call.file, call.function) == (file, functions[0]) and (
                outer is None or is_inside(calls, call.number, outer)):
            last = first_call(calls, call.number + 1, file, functions[1:], call.number)
            if last is not None:
                return last
    return None


@pytest.mark.parametrize("way, text", WAYS, ids=[way for way, _ in WAYS])
def test_calls_are_listed_in_their_order(recorded, way, text):
    calls, at, outer = recorded[way], 0, {}
    assert len(text.splitlines()) > 8
    for line in text.splitlines():
        depth, file, functions = LINE.match(line).groups()
        outer = {other: call for other, call in outer.items() if other < len(depth)}
        caller = outer[max(outer)] if outer else None
        found = first_call(calls, at, file, functions.split(", "), caller)
        assert found is not None, f"not called there: {line}"
        outer[len(depth)], at = found, found


@pytest.mark.parametrize("way", [way for way, _ in WAYS])
def test_files_are_listed(recorded, way):
    entered = {call.file for call in recorded[way] if call.file.endswith(".c")}
    named = set(re.findall(r"[\w/]+\.c\b", SECTION))
    assert not sorted(file for file in entered - named if not GROUND.match(file))


def test_files_of_a_get_are_counted(recorded):
    way, text = WAYS[0]
    entered = {call.file for call in recorded[way] if call.file.endswith(".c")}
    listed = {LINE.match(line).group(2) for line in text.splitlines()}
    told = re.search(r"^GET of .*: (\d+) files of (\d+);", SECTION, re.M).groups()
    assert [len(listed), len([file for file in entered if not GROUND.match(file)])] == \
        list(map(int, told))
