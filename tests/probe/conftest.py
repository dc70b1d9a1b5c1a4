# SPDX-License-Identifier: MIT
"""Environments of libraries, each with the package of this tree, and what a script says in one."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent
BUILD = ROOT / "build/probe"
ENGINES = ROOT / "tools/engines/requirements"
# torch is large: these have that of another environment.
BORROWS = {"torch": "transformers", "before-47403": "transformers"}


@functools.cache
def package():
    """The folder of the package, over its sources and the libraries of the build."""
    folder = BUILD / "package/posenc"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (ROOT / "clients/python/src/posenc").glob("*.py"):
        link(folder / path.name, path)
    (folder / "_lib").mkdir(exist_ok=True)
    for path in (ROOT / "build").glob("libposenc*.so*"):
        link(folder / "_lib" / path.name, path)
    return folder.parent


def link(name, target):
    name.unlink(missing_ok=True)
    name.symlink_to(target)


def packages(python):
    """The folder of an environment's packages."""
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return pathlib.Path(subprocess.run(command, capture_output=True, text=True).stdout.strip())


@functools.cache
def environment(name):
    """The Python of an environment that has what requirements/NAME.txt lists, and without their
    own requirements, which contradict each other, the packages of NAME-alone.txt."""
    wanted = HERE / "requirements" / f"{name}.txt"
    wanted = wanted if wanted.is_file() else ENGINES / f"{name}.txt"
    python, stamp = BUILD / name / "bin/python", BUILD / name / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != wanted.read_text():
        subprocess.run([sys.executable, "-m", "venv", BUILD / name], check=True)
        if name in BORROWS:
            (packages(python) / "borrowed.pth").write_text(
                f"{packages(environment(BORROWS[name]))}\n"
            )
        install = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*install, "-r", wanted], check=True)
        alone = HERE / "requirements" / f"{name}-alone.txt"
        if alone.is_file():
            subprocess.run([*install, "--no-deps", "-r", alone], check=True)
        stamp.write_text(wanted.read_text())
    return python


@functools.cache
def said(script, where):
    """What a script of this folder prints in an environment: an object of JSON."""
    done = subprocess.run(
        [environment(where), HERE / script],
        env=os.environ | {"PYTHONPATH": str(package()), "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def verdicts():
    return said
