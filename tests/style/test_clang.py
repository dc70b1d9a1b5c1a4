# SPDX-License-Identifier: MIT
"""clang compiles the mathematics too, without a warning: the folders that the Makefile holds to
-Wconversion, and the kernels once for each row of isas.def."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = next(filter(None, map(shutil.which, ["clang", "clang-14", "clang-16", "clang-19"])), None)
STRICT = re.search(r"STRICT_FOLDERS *:= (.*)", (ROOT / "Makefile").read_text()).group(1).split()
FOLDERS = sorted(
    {
        str(path.parent.relative_to(ROOT))
        for folder in STRICT
        for path in (ROOT / folder).rglob("*.c")
    }
    - {"core/kernels"}
)
FLAGS = [
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-ffp-contract=off",
    "-fPIC",
    "-I.",
    "-Iinclude",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wmissing-prototypes",
    "-Wvla",
    "-Wshadow",
    "-Wconversion",
    "-Wcast-qual",
    "-Wno-enum-float-conversion",
]


def rows():
    """(name, flags) of the ISAs of this machine, as the preprocessor leaves them."""
    text = subprocess.run(
        [CLANG or "cc", "-E", "-P", "-x", "c", "core/base/isas.def"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name, lanes, flags in re.findall(r'ISA\((\w+), (\d+), \w+, "(.*)"\)', text):
        own = f"core/kernels/vec/{name}.h"
        named = [f'-DPE_VEC_ISA="{own}"'] if (ROOT / own).exists() else []
        yield (
            name,
            [f"-DPE_ISA={name}", f"-DPE_LANES={lanes}", "-Wno-psabi", *named, *flags.split()],
        )


def compiled(folder, flags):
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.c"))
    assert sources
    return subprocess.run(
        [CLANG, *FLAGS, *flags, "-fsyntax-only", *sources], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder(folder):
    done = compiled(folder, [])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name, flags", list(rows()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_kernels(name, flags):
    done = compiled("core/kernels", flags)
    assert done.returncode == 0, done.stderr


def test_an_isas_own_operations_are_of_a_row():
    """A header with a name that no row has would never be included."""
    names = set(re.findall(r"^ISA\((\w+),", (ROOT / "core/base/isas.def").read_text(), re.M))
    files = {path.stem for path in (ROOT / "core/kernels/vec").iterdir()}
    assert len(names) >= 6 and files <= names
