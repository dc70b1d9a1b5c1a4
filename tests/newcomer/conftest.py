# SPDX-License-Identifier: MIT
"""A clone of the tree without build products, and what is run in it."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS_MAX, STOP_SECONDS_MAX = 400, 20
COMPILERS = re.compile(r"(cc|c89|c99|c\+\+|g\+\+|cpp|.*gcc.*|.*g\+\+.*|.*clang.*|.*-cpp.*)$")


def environment(**more):
    """The environment of a new shell: no settings of posenc or of an outer make. WERROR stays: with
    the flags of build_all the cache has each compilation."""
    ours = ("POSENC", "MAKE", "MFLAGS", "PORT", "BUILD", "CFLAGS")
    outer = os.environ.items()
    kept = {name: value for name, value in outer if not name.startswith(ours) and name != "CC"}
    return kept | more


def git(*arguments, cwd=ROOT):
    return subprocess.run(
        ["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="session")
def clone(tmp_path_factory):
    """The files of the checkout as they are now, committed or not."""
    folder = tmp_path_factory.mktemp("newcomer") / "posenc"
    git("clone", "-q", "--no-hardlinks", ROOT, folder)
    for name in git("ls-files", "-z", "--modified", "--others", "--exclude-standard").split("\0"):
        target = folder / name
        if name and (ROOT / name).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
        elif name:
            target.unlink(missing_ok=True)
    assert not (folder / "build").exists()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def without_compiler(tmp_path_factory):
    """A PATH with every program of this machine but compilers."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("/usr/bin", "/bin"):
        for program in pathlib.Path(name).iterdir():
            link = folder / program.name
            if not COMPILERS.match(program.name) and not link.is_symlink():
                link.symlink_to(program)
    return folder


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class MakeRun:
    """`make run` and its output, until the server listens or the command ends."""

    def __init__(self, clone, *arguments, **more):
        self.process = subprocess.Popen(
            ["make", "run", *arguments],
            cwd=clone,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=environment(**more),
        )
        self.lines = []
        stop = threading.Timer(START_SECONDS_MAX, self.kill)
        stop.start()
        for line in self.process.stdout:
            self.lines.append(line)
            if "curl" in line:
                break
        stop.cancel()

    def output(self):
        return "".join(self.lines)

    def interrupt(self):
        """Ctrl-C goes to every process of the terminal. What is printed from then on."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.communicate(timeout=STOP_SECONDS_MAX)[0]

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
