# SPDX-License-Identifier: MIT
"""The recipe of an ISA: what stands in isa/ is put into a copy of the tree, vectors of eight lanes
that any machine can have. Its kernels are built, must give the bytes of the scalar build, and the
files that were touched are counted."""
import filecmp
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIVEN = pathlib.Path(__file__).parent / "isa"
PARTS = ("core", "include", "tests/core", "Makefile")
FILES_MAX = 4


def copy_tree(to):
    for part in PARTS:
        (to / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, to / part)


def insert(path, before, text):
    """Puts text in front of the one line that begins so."""
    lines = path.read_text().splitlines(keepends=True)
    (at,) = [i for i, line in enumerate(lines) if line.startswith(before)]
    path.write_text("".join(lines[:at] + [text] + lines[at:]))


def files_touched(tree):
    return [str(path.relative_to(tree)) for part in PARTS
            for path in ([tree / part] if (tree / part).is_file() else (tree / part).rglob("*"))
            if path.is_file() and not (
                (ROOT / path.relative_to(tree)).exists()
                and filecmp.cmp(path, ROOT / path.relative_to(tree), shallow=False))]


def run(tree, *arguments, **environment):
    return subprocess.run([tree / "build/tests/core/check_kernels", *arguments], cwd=tree,
                          capture_output=True, text=True, env={**os.environ, **environment})


def test_an_isa(tmp_path):
    copy_tree(tmp_path)
    insert(tmp_path / "core/isa/isas.def", "ISA(scalar,", (GIVEN / "isas.def").read_text())
    insert(tmp_path / "core/isa/isa.c", "/* ---- the choice", (GIVEN / "isa.c").read_text() + "\n")
    shutil.copy(GIVEN / "wide.h", tmp_path / "core/kernels/vec")
    touched = files_touched(tmp_path)

    subprocess.run(["make", "-j2", "BUILD=build", "CFLAGS=-O1", "build/tests/core/check_kernels"],
                   cwd=tmp_path, check=True, capture_output=True,
                   env={**os.environ, "MAKEFLAGS": ""})
    assert run(tmp_path, "--list").stdout.split()[-2:] == ["wide", "scalar"]
    assert "wide" not in run(tmp_path, "--list", NO_WIDE="1").stdout
    wide, scalar = run(tmp_path, "--hash", "wide"), run(tmp_path, "--hash", "scalar")
    assert wide.returncode == 0 and scalar.returncode == 0, wide.stderr
    assert wide.stdout == scalar.stdout and len(wide.stdout.splitlines()) > 20
    assert run(tmp_path, "--hash", "wide", NO_WIDE="1").returncode == 1

    print(f"an ISA: {len(touched)} files: {', '.join(sorted(touched))}")
    assert len(touched) <= FILES_MAX, touched
