# SPDX-License-Identifier: MIT
"""Runs the examples of README.md word for word, one after the other in one folder, and compares
what they print. Only the port of the server is replaced: 8080 may be taken."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^```(sh|python)\n(.*?)^```\n```text\n(.*?)^```$", re.M | re.S)
EXAMPLES = EXAMPLE.findall((ROOT / "README.md").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("readme")
    (path / "tests").symlink_to(ROOT / "tests")
    return path


def test_there_are_twelve():
    page = (ROOT / "README.md").read_text()
    assert len(re.findall(r"^\d+\. ", page, re.M)) == 12
    assert len(EXAMPLES) == len(re.findall(r"^```(?:sh|python)$", page, re.M)) >= 12


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(server, folder, number):
    language, code, expected = EXAMPLES[number]
    code = code.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}")
    command = {"sh": ["bash", "-euc", code], "python": [sys.executable, "-c", code]}[language]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60,
                          env=os.environ | {"no_proxy": "127.0.0.1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n") == expected.rstrip("\n")
