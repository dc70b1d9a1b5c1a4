# SPDX-License-Identifier: MIT
"""docker/Dockerfile, built by a real engine and run as it will be: read-only, without capabilities,
as nobody. An engine that runs is used; else one is started for the test; else this is skipped."""

import io
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.error
import urllib.request

import base
import pytest
from base import WORK, run

START_SECONDS_MAX, BUILD_SECONDS_MAX = 40, 400


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


def daemon_start():
    """A daemon of our own, with nothing of it outside build-container."""
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
            "--iptables=false",
            "--ip6tables=false",
            "--bridge=none",
            "--storage-driver",
            "overlay2",
        ],
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        if answers(sockets):
            return process, home
        time.sleep(0.3)
    process.terminate()
    process.wait(30)
    raise AssertionError("dockerd did not start; see build-container/dockerd.log")


def base_arguments():
    """Arguments that name the base to the build; none where the engine has the Dockerfile's own."""
    if (
        subprocess.run(
            ["docker", "image", "inspect", base.PUBLISHED], capture_output=True
        ).returncode
        == 0
    ):
        return []
    if (
        subprocess.run(["docker", "image", "inspect", base.OURS], capture_output=True).returncode
        != 0
    ):
        run("docker", "import", base.archive(), base.OURS, timeout=120)
    return ["--build-arg", f"BASE={base.OURS}"]


@pytest.fixture(scope="module")
def engine():
    process = None
    if not answers(None):
        assert os.geteuid() == 0, "no container engine runs, and only root can start one"
        process, home = daemon_start()
        os.environ["DOCKER_HOST"] = f"unix://{home}/docker.sock"
    yield
    if process:
        # Layers of today's sources stay for the next run, older ones go.
        subprocess.run(
            ["docker", "image", "prune", "-f", "--filter", "until=24h"],
            capture_output=True,
            timeout=60,
        )
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        del os.environ["DOCKER_HOST"]
        # The engine leaves a network namespace mounted, and the folder cannot go before that.
        subprocess.run(["umount", home / "exec/netns/default"], capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def image(engine):
    run(
        "docker",
        "build",
        "--network",
        "host",
        "-t",
        "posenc-test",
        *base_arguments(),
        "-f",
        "docker/Dockerfile",
        ".",
        timeout=BUILD_SECONDS_MAX,
        cwd=base.context(),
        env={**os.environ, "DOCKER_BUILDKIT": "0"},
    )
    return "posenc-test"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def container(image):
    port = free_port()
    name = run(
        "docker",
        "run",
        "-d",
        "--network",
        "host",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--memory",
        "256m",
        "--pids-limit",
        "64",
        "-e",
        "POSENC_BIND=127.0.0.1",
        "-e",
        f"POSENC_PORT={port}",
        "-e",
        "POSENC_DRAIN_DELAY=100ms",
        image,
    ).strip()
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 20
    while True:
        try:
            urllib.request.urlopen(url + "/readyz", timeout=2).close()
            break
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline, run("docker", "logs", name)
            time.sleep(0.1)
    yield name, url
    subprocess.run(["docker", "rm", "-f", name], capture_output=True, timeout=60)


def test_serves(container):
    _, url = container
    page = url + "/v1/encodings/sinusoidal/table?dim=4&length=4&base=100&dtype=f64"
    with urllib.request.urlopen(page, timeout=10) as answer:
        rows = json.load(answer)["tensors"]["table"]["data"]
    assert abs(rows[1][0] - 0.8414709848) < 1e-9 and len(rows) == 4
    if base.context() != base.ROOT:
        with urllib.request.urlopen(url + "/explorer.js", timeout=10) as answer:
            assert answer.read() == (base.ROOT / "build/explorer/explorer.js").read_bytes()


def test_runs_as_nobody(container):
    name, _ = container
    facts = json.loads(run("docker", "inspect", name))[0]
    status = pathlib.Path(f"/proc/{facts['State']['Pid']}/status").read_text()
    assert "\nUid:\t10001\t" in status and "\nCapEff:\t0000000000000000\n" in status
    assert facts["HostConfig"]["ReadonlyRootfs"]


def test_image_is_small_and_holds_no_shell(image):
    facts = json.loads(run("docker", "image", "inspect", image))[0]
    assert facts["Size"] < 17_000_000, facts["Size"]
    assert (
        subprocess.run(
            ["docker", "run", "--rm", "--entrypoint", "/bin/sh", image],
            capture_output=True,
            timeout=60,
        ).returncode
        != 0
    )


def test_licences_are_beside_the_libraries(container):
    name, _ = container
    archive = subprocess.run(["docker", "export", name], capture_output=True, timeout=60).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        names = {file.name for file in files}
        listed = files.extractfile("usr/share/doc/posencd/libraries").read().decode()
    packages = dict(line.split("\t") for line in listed.splitlines())
    assert {"/" + file for file in names if ".so" in file.rpartition("/")[2]} == packages.keys()
    assert {f"usr/share/doc/{package}/copyright" for package in packages.values()} <= names


def test_becomes_healthy_with_the_settings_of_the_image(image):
    """Shut off from every network, so that its own address and port are free."""
    name = run(
        "docker", "run", "-d", "--network", "none", "--read-only", "--cap-drop", "ALL", image
    ).strip()
    try:
        deadline, health = time.monotonic() + 40, None
        while health != "healthy" and time.monotonic() < deadline:
            time.sleep(0.5)
            health = json.loads(run("docker", "inspect", name))[0]["State"]["Health"]["Status"]
        assert health == "healthy", run("docker", "logs", name)
        other = subprocess.run(
            ["docker", "exec", name, "/usr/bin/posencd", "--healthcheck", "--port", "8081"],
            capture_output=True,
            timeout=60,
        )
        assert other.returncode == 1, "healthy where nobody listens"
    finally:
        subprocess.run(["docker", "rm", "-f", name], capture_output=True, timeout=60)


def test_z_sigterm_ends_with_0(container):
    name, _ = container
    run("docker", "stop", "-t", "20", name)
    assert json.loads(run("docker", "inspect", name))[0]["State"]["ExitCode"] == 0
