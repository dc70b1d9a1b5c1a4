# SPDX-License-Identifier: MIT
"""A container engine for tests: the one that runs here, or one that is started for them with all
its files in build-container."""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import base
from base import WORK, run

START_SECONDS_MAX, BUILD_SECONDS_MAX = 40, 900
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
# Containers have addresses of the range that is set aside for tests between devices.
ADDRESSES = ["--bip", "198.18.0.1/24", "--default-address-pool", "base=198.18.64.0/18,size=24"]


def answers(host):
    environment = {**os.environ, **({"DOCKER_HOST": host} if host else {})}
    try:
        return (
            subprocess.run(
                ["docker", "info"], capture_output=True, timeout=20, env=environment
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def end_with_parent():
    """For the child: it gets SIGTERM when the thread that started it ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def daemon_start(*network):
    """A daemon with nothing of it outside build-container: (process, folder)."""
    WORK.mkdir(parents=True, exist_ok=True)
    home = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=WORK))
    log = open(WORK / "dockerd.log", "w")
    sockets = f"unix://{home}/docker.sock"
    process = subprocess.Popen(
        [
            "dockerd",
            "--data-root",
            WORK / "data",
            "--exec-root",
            home / "exec",
            "-H",
            sockets,
            "-p",
            home / "pid",
            "--storage-driver",
            "overlay2",
            *(network or ("--iptables=false", "--ip6tables=false", "--bridge=none")),
        ],
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        if answers(sockets):
            return process, home
        time.sleep(0.3)
    process.terminate()
    process.wait(30)
    raise AssertionError("dockerd did not start; see build-container/dockerd.log")


def daemon_end(process, home):
    # Layers of today's sources stay for the next run, older ones go.
    subprocess.run(
        ["docker", "image", "prune", "-f", "--filter", "until=24h"], capture_output=True, timeout=60
    )
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    # The engine leaves namespaces of networks mounted, and the folder cannot go before that.
    for mounted in (home / "exec/netns").glob("*"):
        subprocess.run(["umount", mounted], capture_output=True)
    shutil.rmtree(home, ignore_errors=True)


def running(*network):
    """Yields while an engine runs; DOCKER_HOST names one that was started. With arguments for its
    network it is always one of the test's own."""
    process = None
    if network or not answers(None):
        assert os.geteuid() == 0, "no container engine runs, and only root can start one"
        before = os.environ.get("DOCKER_HOST")
        process, home = daemon_start(*network)
        os.environ["DOCKER_HOST"] = f"unix://{home}/docker.sock"
    yield
    if process:
        daemon_end(process, home)
        del os.environ["DOCKER_HOST"]
        if before:
            os.environ["DOCKER_HOST"] = before


def has_image(name):
    return subprocess.run(["docker", "image", "inspect", name], capture_output=True).returncode == 0


def base_image(release=base.RELEASE, packages=()):
    name = "-".join((base.OURS, release, *packages))
    if not has_image(name):
        run("docker", "import", base.archive(release, packages), name, timeout=120)
    return name


def build(tag, release=base.RELEASE):
    """The image by the Dockerfile, in the published base where the engine has it."""
    published = release == base.RELEASE and has_image(base.PUBLISHED)
    run(
        *("docker", "build", "--network", "host", "-t", tag),
        *([] if published else ["--build-arg", f"BASE={base_image(release)}"]),
        *("-f", "docker/Dockerfile", "."),
        timeout=BUILD_SECONDS_MAX,
        cwd=base.context(),
        env={**os.environ, "DOCKER_BUILDKIT": "0"},
    )
    return tag
