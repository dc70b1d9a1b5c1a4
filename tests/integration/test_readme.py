# SPDX-License-Identifier: MIT
"""Runs the examples of README.md, docs/examples.md and docs/command.md word for word, one after the
other in a folder of the page, and compares the output. Only the port is replaced: 8080 may be
taken."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^```(sh|python)\n(.*?)^```\n```text\n(.*?)^```$", re.M | re.S)
NAMES = ("README.md", "docs/examples.md", "docs/command.md")
PAGES = {name: (ROOT / name).read_text() for name in NAMES}
BUILD = ROOT / os.environ.get("BUILD", "build")
EXAMPLES = [(page, *example) for page, text in PAGES.items() for example in EXAMPLE.findall(text)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder a page, with the repository's test data in it."""
    paths = {page: tmp_path_factory.mktemp("page") for page in PAGES}
    for path in paths.values():
        (path / "tests").symlink_to(ROOT / "tests")
    return paths


@pytest.mark.parametrize(
    "page, least", [("README.md", 4), ("docs/examples.md", 14), ("docs/command.md", 5)]
)
def test_examples_are_numbered_and_all_of_them_run(page, least):
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", PAGES[page], re.M)]
    run = [example for example in EXAMPLES if example[0] == page]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= least
    assert len(run) == len(re.findall(r"^```(?:sh|python)$", PAGES[page], re.M)) >= least


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(server, folders, number):
    page, language, code, expected = EXAMPLES[number]
    code = code.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}")
    command = {"sh": ["bash", "-euc", code], "python": [sys.executable, "-c", code]}[language]
    done = subprocess.run(
        command,
        cwd=folders[page],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"no_proxy": "127.0.0.1", "PATH": f"{BUILD}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n") == expected.rstrip("\n")
