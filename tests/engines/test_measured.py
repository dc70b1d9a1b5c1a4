# SPDX-License-Identifier: MIT
"""A new measurement of each engine, in its own environment, equals the stored cells; and lint
agrees with the engine on random configs."""

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
