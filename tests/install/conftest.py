# SPDX-License-Identifier: MIT
"""One installation for all tests of this folder, and the client of tests/integration."""

import sys

import pytest
from installed import ROOT, Tree, make

sys.path.insert(0, str(ROOT / "tests/integration"))


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("installed")
    make("install", root, "/usr")
    return Tree(root)
