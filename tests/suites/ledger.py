# SPDX-License-Identifier: MIT
"""Which suites have passed on which tree. A tree is named by the hash that git would give to a
commit of the files as they are now, so a note made before a commit holds after it. The notes are in
.verified.json, which git ignores; `make clean` keeps them."""

import fcntl
import json
import os
import subprocess
import tempfile
import time

from .counting import ROOT

FILE = ROOT / ".verified.json"
TREES_MAX = 8


def git(*arguments, **environment):
    return subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def tree():
    """The hash of all files but ignored ones; None where this is no checkout of git."""
    try:
        index = ROOT / git("rev-parse", "--git-path", "index")
        with tempfile.TemporaryDirectory() as folder:
            copy = f"{folder}/index"
            with open(copy, "wb") as out:
                out.write(index.read_bytes())
            git("add", "-A", GIT_INDEX_FILE=copy)
            return git("write-tree", GIT_INDEX_FILE=copy)
    except (OSError, subprocess.CalledProcessError):
        return None


def read():
    """{tree: {suite: {"passed": tests, "seconds": seconds, "at": time}}}, the latest tree last."""
    try:
        return json.loads(FILE.read_text())
    except (OSError, ValueError):
        return {}


def passed(name):
    """The suites that passed on a tree."""
    return set(read().get(name, {})) if name else set()


def note(name, suite, count, seconds):
    """Two runs may end at once, so the file is locked while it is changed."""
    with open(f"{FILE}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        trees = read()
        trees[name] = {
            **trees.pop(name, {}),
            suite: {
                "passed": count.passed,
                "seconds": round(seconds),
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            },
        }
        FILE.with_suffix(".new").write_text(
            json.dumps(dict(list(trees.items())[-TREES_MAX:]), indent=1) + "\n"
        )
        FILE.with_suffix(".new").rename(FILE)
