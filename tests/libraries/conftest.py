# SPDX-License-Identifier: MIT
"""The server is that of tests/conftest.py."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "integration"))
