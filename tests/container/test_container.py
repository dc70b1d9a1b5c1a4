# SPDX-License-Identifier: MIT
"""docker/Dockerfile, built by a real engine and run as it will be: read-only, without capabilities,
as nobody."""

import concurrent.futures
import io
import json
import os
import pathlib
import socket
import subprocess
import tarfile
import time
import urllib.error
import urllib.request

import base
import engine
import pytest
from base import run

IMAGE_BYTES_MAX = 15_000_000
READY_SECONDS_MAX = 0.2


@pytest.fixture(scope="module")
def docker():
    yield from engine.running()


@pytest.fixture(scope="module")
def image(docker):
    return engine.build("posenc-test")


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
    assert facts["Size"] < IMAGE_BYTES_MAX, facts["Size"]
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


def test_scanners_find_each_package(container):
    """The database entries of packages, where they look for them, have the libraries' owners."""
    name, _ = container
    archive = subprocess.run(["docker", "export", name], capture_output=True, timeout=60).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        names = {file.name for file in files}
        listed = files.extractfile("usr/share/doc/posencd/libraries").read().decode()
        release = files.extractfile("etc/os-release").read().decode()
        for package in {line.split("\t")[1] for line in listed.splitlines()}:
            assert f"var/lib/dpkg/status.d/{package}" in names
            entry = files.extractfile(f"var/lib/dpkg/status.d/{package}").read().decode()
            assert f"Package: {package}\n" in entry and "\nVersion: " in entry
    assert f"VERSION_CODENAME={base.RELEASE}" in release and "tables" in names


def test_labels(image):
    labels = json.loads(run("docker", "image", "inspect", image))[0]["Config"]["Labels"]
    prefix = "org.opencontainers.image."
    assert labels[prefix + "title"] == "posencd" and labels[prefix + "licenses"] == "MIT"
    assert {prefix + name for name in ("description", "version", "revision")} <= labels.keys()


def first_answer(port):
    """The time of the first 200 of /readyz, on the clock of process start times."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).close()
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.002)
    raise AssertionError("it did not become ready")


def started_at(name):
    """When the container's process was started, by the same clock."""
    pid = json.loads(run("docker", "inspect", name))[0]["State"]["Pid"]
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def test_is_ready_at_once(image):
    """From the start of the process, the best of five; the engine's own time is not counted."""
    times = []
    for _ in range(5):
        port = free_port()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answered = pool.submit(first_answer, port)
            name = run(
                *("docker", "run", "-d", "--network", "host", "--read-only", "--cap-drop", "ALL"),
                *("-e", "POSENC_BIND=127.0.0.1", "-e", f"POSENC_PORT={port}", image),
            ).strip()
            try:
                times.append(answered.result() - started_at(name))
            finally:
                subprocess.run(["docker", "rm", "-f", name], capture_output=True, timeout=60)
    print(f"ready after {[f'{1000 * one:.0f} ms' for one in times]}")
    assert min(times) < READY_SECONDS_MAX, times


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
