# SPDX-License-Identifier: MIT
"""Two builds of one tree, in folders of other names, are the same programs and libraries."""

import hashlib
import os
import shutil
import subprocess

from tree import ROOT

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "build-*", "__pycache__", ".pytest_cache"
)
BUILT = [
    "posencd",
    "posenc",
    "libposenc.so.0.1.0",
    "libposenc-service.so.0.1.0",
    "libposenc.a",
    "libposenc-service.a",
]


def digests(folder):
    done = subprocess.run(
        ["make", "-j2", "BUILD=build", *(f"build/{name}" for name in BUILT)],
        cwd=folder,
        text=True,
        capture_output=True,
        env={**os.environ, "MAKEFLAGS": "", "PWD": str(folder)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {
        name: hashlib.sha256((folder / "build" / name).read_bytes()).hexdigest() for name in BUILT
    }


def test_programs_and_libraries(tmp_path):
    first, second = tmp_path / "a", tmp_path / "another/and-much-longer"
    for folder, source in ((first, ROOT), (second, first)):
        shutil.copytree(source, folder, ignore=LEFT_OUT, symlinks=True)
    assert digests(first) == digests(second)
