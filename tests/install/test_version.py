# SPDX-License-Identifier: MIT
"""Whatever has a version has the same one: that of include/posenc/common.h."""

import json
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r'PE_VERSION "(.*)"', (ROOT / "include/posenc/common.h").read_text())[1]


@pytest.mark.parametrize("program", ["posencd", "posenc"])
def test_programs(program):
    done = subprocess.run([ROOT / "build" / program, "--version"], capture_output=True, text=True)
    assert done.stdout == f"{program} {VERSION}\n"


@pytest.mark.parametrize(
    "path", ["clients/js/package.json", "explorer/package.json", "tests/explorer/package.json"]
)
def test_packages_of_npm(path):
    assert json.loads((ROOT / path).read_text())["version"] == VERSION


@pytest.mark.parametrize(
    "path, pattern",
    [
        ("clients/python/src/posenc/__init__.py", r'^__version__ = "(.*)"$'),
        ("openapi.yaml", r"^ +version: \"?([\d.]+)\"?$"),
        ("CHANGELOG.md", r"^## ([\d.]+)"),
        ("docker/Dockerfile", r'^LABEL org\.opencontainers\.image\.version="(.*)"$'),
    ],
)
def test_files(path, pattern):
    assert re.search(pattern, (ROOT / path).read_text(), re.M)[1] == VERSION
