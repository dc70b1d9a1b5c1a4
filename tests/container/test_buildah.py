# SPDX-License-Identifier: MIT
"""docker/Dockerfile, built without a daemon by buildah, and its tree served from as nobody."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import base
import pytest
from base import WORK, run

BUILD_SECONDS_MAX = 400


@pytest.fixture(scope="module")
def buildah():
    if os.geteuid() != 0:
        pytest.skip("buildah in chroot isolation needs root here")
    WORK.mkdir(parents=True, exist_ok=True)
    home = tempfile.mkdtemp(prefix="buildah-", dir=WORK)
    store = ["--root", f"{home}/store", "--runroot", f"{home}/run", "--storage-driver", "vfs"]

    def call(*arguments):
        return run("buildah", *store, *arguments, timeout=BUILD_SECONDS_MAX,
                   cwd=base.context()).strip()

    yield call
    with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
        call("umount", "--all")
    shutil.rmtree(home)


@pytest.fixture(scope="module")
def built(buildah):
    empty = buildah("from", "scratch")
    buildah("add", "--quiet", empty, base.archive(), "/")
    buildah("commit", "--quiet", "--rm", empty, base.OURS)
    buildah("build", "--isolation", "chroot", "--format", "docker", "--network", "host",
            "--build-arg", f"BASE=localhost/{base.OURS}", "-t", "posenc-test",
            "-f", "docker/Dockerfile", ".")
    return buildah("from", "localhost/posenc-test")


def test_settings_of_the_image(buildah, built):
    config = json.loads(buildah("inspect", built))["Docker"]["config"]
    assert config["User"] == "10001:10001" and config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/posencd", "--healthcheck"]
    assert "POSENC_BIND=0.0.0.0" in config["Env"] and "8080/tcp" in config["ExposedPorts"]


def test_serves_from_its_tree(buildah, built):
    tree = buildah("mount", built)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = subprocess.Popen(
        ["chroot", "--userspec=10001:10001", tree, "/usr/bin/posencd", "--bind", "127.0.0.1",
         "--port", port, "--drain-delay", "100ms"], stdin=subprocess.DEVNULL)
    page = f"http://127.0.0.1:{port}/v1/encodings/sinusoidal/table?dim=4&length=4&base=100"
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(page, timeout=2) as answer:
                    rows = json.load(answer)["tensors"]["table"]["data"]
                break
            except urllib.error.URLError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
        assert abs(rows[1][0] - 0.8414709848) < 1e-7 and len(rows) == 4
    finally:
        server.terminate()
    assert server.wait(20) == 0
