# SPDX-License-Identifier: MIT
"""Modules of the page that need no browser, tested by node: unit/*.test.ts. Part of `make test`."""
import json
import os
import re
import shutil
import subprocess

import pytest

from browsing import ROOT


def test_the_version_of_the_page():
    """Which its footer says."""
    [version] = re.findall(r"^VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.M)
    package = json.loads((ROOT / "explorer/package.json").read_text())
    assert package["version"] == version


def test_modules():
    if not shutil.which("node") or not (ROOT / "explorer/node_modules").is_dir():
        pytest.skip("there is no node, or no npm to bring what bundles the page")
    folder = ROOT / os.environ.get("BUILD", "build") / "page-unit"
    done = subprocess.run(["node", "tests/explorer/unit/run.mjs", folder], cwd=ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
