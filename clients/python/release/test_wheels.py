# SPDX-License-Identifier: MIT
"""The wheels of a release, each installed for its machine's Python (that of 64-bit ARM runs under
qemu): every recorded answer, and nothing taken of a C library younger than 2.28."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from wheels import BUILD

ROOT = pathlib.Path(__file__).resolve().parents[3]
ARM = BUILD / "python-arm64"
MACHINES = {  # what runs a program of it, and its Python
    "x86_64": ((), sys.executable),
    "aarch64": (("qemu-aarch64", "-L", ARM), ARM / "usr/bin/python3"),
}


def output(*command, **env):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, cwd=ROOT, text=True, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=MACHINES)
def machine(request):
    return request.param


@pytest.fixture(scope="module")
def installed(machine, tmp_path_factory):
    """The folder that pip makes of the wheel, whose name says what auditwheel found."""
    folder, (wheel,) = tmp_path_factory.mktemp(machine), (BUILD / "whole").glob(f"*_{machine}.whl")
    platform = re.search(rf"py3-none-(manylinux_2_(\d+)_{machine})", wheel.name)
    assert int(platform[2]) <= 28
    output(
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--no-deps",
        "--platform",
        platform[1],
        "--only-binary=:all:",
        "--target",
        folder,
        wheel,
    )
    return folder


def test_every_recorded_answer(machine, installed):
    runner, python = MACHINES[machine]
    told = output(
        *runner,
        python,
        "-m",
        "pytest",
        "-q",
        "clients/python/tests/test_recorded.py",
        PYTHONPATH=str(installed),
    )
    assert "1 passed" in told


def test_the_command_answers_alike(machine, installed):
    asked = ("get", "/v1/encodings/rope/table?dim=6&positions=0,65537&format=csv")
    told = output(*MACHINES[machine][0], installed / "posenc/_lib/posenc", *asked)
    assert told == output("build/posenc", *asked) != ""


def test_the_command_runs_from_the_file(tmp_path):
    """`uvx --from FILE posenc ...`: without a network, beside a folder that has numpy."""
    (wheel,) = (BUILD / "whole").glob("*_x86_64.whl")
    output(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp_path, "numpy")
    asked = ("get", "/v1/encodings/rope/table?dim=6&positions=0,65537&format=csv")
    told = output(
        *(BUILD / "zig/bin/python", "-m", "uv", "tool", "run", "--offline", "--no-index"),
        *("--find-links", tmp_path, "--python", sys.executable, "--from", wheel),
        *("posenc", *asked),
        UV_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert told == output("build/posenc", *asked) != ""


def test_nothing_else_is_needed(installed):
    """Of others, only what every system has, and no symbol younger than 2.28."""
    files = list((installed / "posenc/_lib").iterdir())
    assert len(files) == 3
    for file in files:
        told = output("readelf", "-W", "-d", "--dyn-syms", file)
        outside = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told)) - {"libposenc.so.0"}
        assert all(re.match(r"(libc|libm|libpthread|ld-linux[\w-]*)\.so", name) for name in outside)
        versions = re.findall(r"@GLIBC_2\.(\d+)", told)
        assert versions and max(map(int, versions)) <= 28


def test_only_what_is_public_can_be_seen(installed):
    told = output("readelf", "-W", "--dyn-syms", installed / "posenc/_lib/libposenc-service.so.0")
    seen = re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\S+)", told)
    assert seen and all(name.startswith("pe_") for name in seen)
