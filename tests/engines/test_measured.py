# SPDX-License-Identifier: MIT
"""Each engine, measured anew in its own environment, has the cells of its file."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

from engines import BY_NAME  # noqa: E402


@pytest.mark.parametrize("name", BY_NAME)
def test_engine(name):
    command = [sys.executable, "tools/engines/measure.py", "--check", name]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, (process.stdout + process.stderr)[-3000:]


@pytest.mark.parametrize("name", BY_NAME)
def test_lint_of_configs_that_are_not_in_the_matrix(name):
    command = [sys.executable, "tools/engines/sample.py", "--count", "60", "--seed", "7", name]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, (process.stdout + process.stderr)[-3000:]
