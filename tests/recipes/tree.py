# SPDX-License-Identifier: MIT
"""A copy of the tree in which a change is made, and the count of the files that it needs."""

import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIVEN = pathlib.Path(__file__).resolve().parent
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "build-*", "__pycache__", ".pytest_cache"
)
# Objects are copied, programs of tests and libraries are not.
MADE_LEFT_OUT = shutil.ignore_patterns("tests", "bench", "*.so*")


class Tree:
    def __init__(self, folder):
        self.folder, self.before = folder / "tree", folder / "before"
        shutil.copytree(ROOT, self.folder, ignore=LEFT_OUT, symlinks=True)
        if (ROOT / "build").is_dir():
            shutil.copytree(ROOT / "build", self.folder / "build", ignore=MADE_LEFT_OUT)
        self.remember()

    def remember(self):
        """Changes from here on count."""
        shutil.rmtree(self.before, ignore_errors=True)
        shutil.copytree(self.folder, self.before, ignore=LEFT_OUT, symlinks=True)

    def put(self, given, to):
        """Copies a file of this folder to a new one."""
        assert not (self.folder / to).exists(), to
        shutil.copy(GIVEN / given, self.folder / to)

    def insert(self, path, before, text):
        """Inserts text before the one line that begins so; "" is the end of the file."""
        lines = (self.folder / path).read_text().splitlines(keepends=True)
        at = (
            [i for i, line in enumerate(lines) if line.startswith(before)]
            if before
            else [len(lines)]
        )
        assert len(at) == 1, (path, before)
        (self.folder / path).write_text("".join(lines[: at[0]] + [text] + lines[at[0] :]))

    def make(self, *targets):
        done = subprocess.run(
            ["make", "-j2", "BUILD=build", *targets],
            cwd=self.folder,
            text=True,
            capture_output=True,
            env={**os.environ, "MAKEFLAGS": ""},
        )
        assert done.returncode == 0, done.stderr[-3000:]

    def run(self, *command):
        done = subprocess.run(
            [str(self.folder / command[0]), *command[1:]],
            cwd=self.folder,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout

    def openapi(self):
        """Runs make openapi and the tests that compare the contract with the lists of the code;
        returns the generated files."""
        written = self.touched()
        for command in (
            ["tools/openapi.py"],
            ["-m", "pytest", "-q", "tests/contract/test_contract_lists.py"],
        ):
            done = subprocess.run(
                [sys.executable, *command], cwd=self.folder, text=True, capture_output=True
            )
            assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return [path for path in self.touched() if path not in written]

    def ask(self, target):
        """The status and the body of a GET, from the copy's server."""
        server = subprocess.Popen(
            [self.folder / "build/posencd", "--port", "0"],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            url = next(
                found.group(0)
                for line in server.stdout
                if (found := re.search(r"http://127\.0\.0\.1:\d+", line))
            )
            with urllib.request.urlopen(url + target, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()
        finally:
            server.terminate()
            server.communicate()

    def touched(self):
        """Files that are new or changed."""
        files = [
            path.relative_to(self.folder)
            for path in self.folder.rglob("*")
            if path.is_file()
            and not {"build", "__pycache__", ".pytest_cache"}
            & set(path.relative_to(self.folder).parts)
        ]
        return sorted(
            str(path)
            for path in files
            if not (self.before / path).exists()
            or not filecmp.cmp(self.folder / path, self.before / path, shallow=False)
        )

    def count(self, name, most, made=()):
        """Prints the files that were written by hand, and asserts how many there are."""
        written = [path for path in self.touched() if path not in made]
        print(
            f"{name}: {len(written)} files: {', '.join(written)}"
            + (f"; generated: {', '.join(made)}" if made else "")
        )
        assert len(written) <= most, written
