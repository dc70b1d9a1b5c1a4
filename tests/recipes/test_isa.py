# SPDX-License-Identifier: MIT
"""The recipe of an ISA: what stands in isa/ is put into a copy of the tree, vectors of eight lanes
that any machine can have. Its kernels are built, must give the bytes of the scalar build, and the
files that were touched are counted."""

import os
import subprocess

from tree import GIVEN, Tree


def run(tree, *arguments, **environment):
    return subprocess.run(
        [tree.folder / "build/tests/core/kernels/check_kernels", *arguments],
        cwd=tree.folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_an_isa(tmp_path):
    tree = Tree(tmp_path)
    tree.insert("core/base/isas.def", "ISA(scalar,", (GIVEN / "isa/isas.def").read_text())
    tree.insert("core/base/isa.c", "/* ---- the choice", (GIVEN / "isa/isa.c").read_text() + "\n")
    tree.put("isa/wide.h", "core/kernels/vec/wide.h")
    tree.make("build/tests/core/kernels/check_kernels")
    assert run(tree, "--list").stdout.split()[-2:] == ["wide", "scalar"]
    assert "wide" not in run(tree, "--list", NO_WIDE="1").stdout
    wide, scalar = run(tree, "--hash", "wide"), run(tree, "--hash", "scalar")
    assert wide.returncode == 0 and scalar.returncode == 0, wide.stderr
    assert wide.stdout == scalar.stdout and len(wide.stdout.splitlines()) > 20
    assert run(tree, "--hash", "wide", NO_WIDE="1").returncode == 1
    tree.count("an ISA", 4)
