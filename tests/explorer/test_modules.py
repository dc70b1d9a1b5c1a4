# SPDX-License-Identifier: MIT
"""Modules of the page that need no browser, tested by node: unit/*.test.ts. Part of `make test`."""

import os
import subprocess

from browsing import ROOT


def test_modules():
    folder = ROOT / os.environ.get("BUILD", "build") / "page-unit"
    done = subprocess.run(
        ["node", "tests/explorer/unit/run.mjs", folder], cwd=ROOT, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
