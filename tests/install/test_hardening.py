# SPDX-License-Identifier: MIT
"""Hardening of what `make` builds, read from the files themselves."""

import platform
import re
import subprocess

import pytest
from installed import ROOT, run

BRANCHES = {"x86_64": "x86 feature: IBT, SHSTK", "aarch64": "AArch64 feature: BTI, PAC"}
FOLDERS = "core", "api", "service", "server", "command", "*/core/kernels"
OBJECTS = sorted(path for folder in FOLDERS for path in (ROOT / "build").glob(f"{folder}/**/*.o"))


@pytest.fixture(
    params=[
        "usr/bin/posencd",
        "usr/bin/posenc",
        "usr/lib/libposenc.so.0.1.0",
        "usr/lib/libposenc-service.so.0.1.0",
    ]
)
def linked(tree, request):
    return tree.root / request.param


def readelf(*arguments):
    return run("readelf", "-W", *arguments).stdout


def test_relocations_are_read_only_and_bound_at_the_start(linked):
    dynamic = readelf("-d", linked)
    assert re.search(r"\(FLAGS\).*BIND_NOW", dynamic) and re.search(r"FLAGS_1\).*NOW", dynamic)
    assert "GNU_RELRO" in readelf("-l", linked)
    assert linked.parent.name != "bin" or re.search(r"FLAGS_1\).*PIE", dynamic)


def test_nothing_is_writable_and_executable(linked):
    segments = re.findall(r"^  (LOAD|GNU_STACK) .* ([R ][W ][E ]) 0x", readelf("-l", linked), re.M)
    assert ("GNU_STACK", "RW ") in segments
    assert not [flags for _, flags in segments if "WE" in flags]


def test_stacks_and_buffers_are_watched(linked):
    wanted = re.findall(r" UND (__\w+_chk(?:_fail)?)\b", readelf("--dyn-syms", linked))
    assert "__stack_chk_fail" in wanted
    assert {"__snprintf_chk", "__memcpy_chk"} & set(wanted)


def test_each_object_is_compiled_hardened(tree):
    """Start files of a system that knows nothing of branches take the mark from what is linked, so
    that it is looked for in the objects."""
    assert len(OBJECTS) > 200
    notes = readelf("-n", *OBJECTS).split("\nFile: ")
    wanted = BRANCHES[platform.machine()]
    assert not [note.split()[0] for note in notes if note.strip() and wanted not in note]
    producers = re.findall(
        r"DW_AT_producer .*: (.*)", readelf("--debug-dump=info", "--dwarf-depth=1", *OBJECTS)
    )
    assert len(producers) >= len(OBJECTS)
    for flag in ("-fstack-clash-protection", "-fstack-protector-strong"):
        assert not [text for text in producers if "GNU C" in text and flag not in text]


def test_flags_of_the_user_come_last():
    """make -n of one object and the server, with the flags of a distribution."""
    given = [
        "CFLAGS=-O3 -fno-stack-protector",
        "CPPFLAGS=-D_FORTIFY_SOURCE=1 -DOURS",
        "LDFLAGS=-Wl,-z,lazy",
    ]
    lines = subprocess.run(
        ["make", "-n", "V=1", "BUILD=build-nowhere", *given, "all"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    compiled = next(line for line in lines if line.endswith("-o build-nowhere/server/main.o"))
    linked = next(line for line in lines if line.endswith("-o build-nowhere/posencd"))
    assert compiled.index("-fstack-protector-strong") < compiled.index("-fno-stack-protector")
    assert re.findall(r"_FORTIFY_SOURCE=\d", compiled) == ["_FORTIFY_SOURCE=1"]
    assert "-O3" in compiled and "-DOURS" in compiled
    assert linked.index("-Wl,-z,relro,-z,now") < linked.index("-Wl,-z,lazy")
