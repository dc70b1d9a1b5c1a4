# SPDX-License-Identifier: MIT
"""The package as it is installed, and the real server beside it (tests/conftest.py)."""

import importlib.util
import os
import pathlib
import sys

import posenc
import pytest

os.environ["MPLBACKEND"] = "Agg"  # plots are drawn in memory
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/recorded"))


def _servers():
    spec = importlib.util.spec_from_file_location("server_conftest", ROOT / "tests/conftest.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


servers = _servers()


@pytest.fixture(scope="session")
def url():
    running = servers.start()
    yield running.url
    servers.finish(running)


@pytest.fixture(scope="session")
def remote(url):
    with posenc.connect(url) as server:
        yield server


@pytest.fixture(params=["local", "remote"])
def door(request):
    """Functions in the process and against a server."""
    return posenc if request.param == "local" else request.getfixturevalue("remote")
