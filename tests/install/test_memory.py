# SPDX-License-Identifier: MIT
"""Each allocation that the library makes for an example fails once: the call has a status, and the
program ends with a sentence instead of a signal."""

import os
import subprocess

import pytest
from installed import ROOT, run

LLAMA = ["model_type=llama", "hidden_size=4096", "num_attention_heads=32", "rope_theta=500000"]
ALLOCATIONS_MAX = 400


@pytest.fixture(scope="module")
def short_memory(tmp_path_factory):
    library = tmp_path_factory.mktemp("short") / "short_memory.so"
    run("gcc", "-shared", "-fPIC", "-O1", ROOT / "tests/install/short_memory.c", "-o", library)
    return library


@pytest.mark.parametrize(
    "name, arguments, least",
    [
        ("table", [], 8),
        ("rotation", [], 5),
        ("attention", [], 15),
        ("diagnosis", [], 50),
        ("config", LLAMA, 5),
    ],
)
def test_short_memory(tree, short_memory, tmp_path, name, arguments, least):
    program = tree.build(ROOT / f"examples/{name}.c", tmp_path / name)
    env = {
        **os.environ,
        "LD_LIBRARY_PATH": str(tree.root / "usr/lib"),
        "LD_PRELOAD": str(short_memory),
    }
    refused = 0
    for number in range(1, ALLOCATIONS_MAX):
        done = subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**env, "FAIL_AT": str(number)},
            timeout=60,
        )
        if "fails" not in done.stderr:
            break
        assert done.returncode in (0, 1), (number, done.returncode, done.stderr)
        assert done.returncode == 0 or "Memory is short" in done.stderr, (number, done.stderr)
        refused += done.returncode
    assert least <= number - 1 < ALLOCATIONS_MAX - 1 and refused > 0
