# SPDX-License-Identifier: MIT
"""The sources built in two folders give the same bytes: no path, no time and no order of a folder
is in what is built. tests/recipes builds the programs so."""

import os
import shutil
import subprocess

from installed import ROOT

# Of each layer one; with asserts (__FILE__), an embedded file, and flags of an instruction set.
OBJECTS = [
    "core/base/text.o",
    "core/encodings/rope/rope.o",
    "api/response/response.o",
    "api/pipeline/finish.o",
    "api/routes/embedded_files.o",
    "service/request.o",
    "server/options.o",
    "command/main.o",
]


def sources(folder):
    for part in (
        "Makefile",
        "openapi.yaml",
        "openapi.json",
        "core",
        "api",
        "include",
        "service",
        "server",
        "command",
        "clients/js",
    ):
        target = folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, target)
    return folder


def built(folder, reached_by):
    """The objects, made from a shell that knows the folder as `reached_by`."""
    isa = next(
        path.name for path in sorted((ROOT / "build").iterdir()) if (path / "core/kernels").is_dir()
    )
    kernel = next((ROOT / "core/kernels").glob("*.c")).relative_to(ROOT).with_suffix(".o")
    names = [f"build/{name}" for name in (*OBJECTS, f"{isa}/{kernel}")]
    env = {**os.environ, "MAKEFLAGS": "", "PWD": str(reached_by), "CCACHE_DISABLE": "1"}
    done = subprocess.run(
        ["make", "--no-print-directory", "CFLAGS=-O2 -g3", *names],
        cwd=reached_by,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: (folder / name).read_bytes() for name in names}


def test_objects(tmp_path):
    first = sources(tmp_path / "a")
    second = sources(tmp_path / "another/and-much-longer")
    (tmp_path / "link").symlink_to(second)
    one, other = built(first, first), built(second, tmp_path / "link")
    assert one.keys() == other.keys() and len(one) == len(OBJECTS) + 1
    assert [name for name in one if one[name] != other[name]] == []
    assert [name for name in one if str(tmp_path).encode() in one[name]] == []
