# SPDX-License-Identifier: MIT
"""Runs the examples of README.md and of pages of docs/ word for word, one after the other in a
folder of the page, and compares the output. Only the port is replaced: 8080 may be taken. Blocks of
sh, python and js have their output in a block of text behind them, or print nothing; the first
block of js precedes each of the others. A block of console is a terminal of 80 columns, where lines
that begin with $ are typed, and those with > after them. Blocks that import posenc are run where
the package is installed (clients/python/tests/test_package.py); blocks of C are lines of
examples/."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^```(sh|python|js)\n(.*?)^```$(?:\n```text\n(.*?)^```$)?", re.M | re.S)
CONSOLE = re.compile(r"^```(console)\n()(.*?)^```$", re.M | re.S)
NAMES = (
    "README.md",
    "docs/cookbook.md",
    "docs/command.md",
    "docs/extend.md",
    "docs/golden.md",
    "docs/lint.md",
    "docs/tutorial.md",
    "docs/faq.md",
)
PAGES = {name: (ROOT / name).read_text() for name in NAMES}
BUILD = ROOT / os.environ.get("BUILD", "build")
EXAMPLES = [
    (page, *found.groups(default=""))
    for page, text in PAGES.items()
    for found in sorted(
        [*EXAMPLE.finditer(text), *CONSOLE.finditer(text)], key=lambda found: found.start()
    )
    if "import posenc" not in found[2]
]
FIRST_LINES = {
    page: next(
        (code for name, language, code, _ in EXAMPLES if (name, language) == (page, "js")), ""
    )
    for page in PAGES
}
TERMINAL = (40, 80)  # lines and columns


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder a page, with the repository's test data and the package of JavaScript in it."""
    paths = {page: tmp_path_factory.mktemp("page") for page in PAGES}
    for path in paths.values():
        (path / "tests").symlink_to(ROOT / "tests")
        (path / "node_modules").mkdir()
        (path / "node_modules/posenc").symlink_to(ROOT / "clients/js")
    return paths


@pytest.mark.parametrize("page, least", [("README.md", 2), ("docs/command.md", 5)])
def test_examples_are_numbered_and_all_of_them_run(page, least):
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", PAGES[page], re.M)]
    run = [example for example in EXAMPLES if example[0] == page and example[1] != "console"]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= least
    assert len(run) == len(re.findall(r"^```(?:sh|python)$", PAGES[page], re.M)) >= least


def test_tasks_of_the_cookbook_have_blocks_that_run():
    tasks = re.split(r"^### ", PAGES["docs/cookbook.md"], flags=re.M)[1:]
    assert len(tasks) >= 20 and all("```sh\n" in task for task in tasks)
    languages = re.findall(r"^```(\w+)$", PAGES["docs/cookbook.md"], re.M)
    assert set(languages) == {"sh", "console", "python", "js", "c", "text"}
    assert sum(language == "python" for language in languages) >= 20
    assert sum(language == "js" for language in languages) >= 20


def test_blocks_of_c_are_lines_of_the_examples():
    blocks = re.findall(r"^```c\n(.*?)^```$", PAGES["docs/cookbook.md"], re.M | re.S)
    programs = [path.read_text() for path in (ROOT / "examples").glob("*.c")]
    assert len(blocks) >= 5
    for block in blocks:
        assert any(block in program for program in programs), block


@pytest.mark.parametrize(
    "page, count", [("README.md", 4), ("docs/tutorial.md", 5), ("docs/faq.md", 6)]
)
def test_blocks_of_a_terminal_run(page, count):
    assert len([1 for name, *_ in EXAMPLES if name == page]) == count


def typed(folder, command, environment):
    """What a terminal shows of a command at its end, without the progress of a slow machine."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *TERMINAL, 0, 0))
    process = subprocess.Popen(
        ["bash", "-uc", command],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"NO_COLOR": "1", "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the last writer has closed it
            break
    process.wait(60)
    os.close(ours)
    return re.sub(r"\r[^\r\n]*\x1b\[K", "", shown.decode()).replace("\r", "")


def session(folder, text, environment):
    """A terminal's text: each typed command and what it shows."""
    shown = ""
    for command in re.findall(r"^\$ .*\n(?:> .*\n)*", text, re.M):
        lines = [line[2:] for line in command.splitlines()]
        shown += command + typed(folder, "\n".join(lines), environment)
    return shown


@pytest.mark.plain
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(server, folders, number):
    page, language, code, expected = EXAMPLES[number]
    if language == "js" and code != FIRST_LINES[page]:
        code = FIRST_LINES[page] + code
    code = code.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}")
    environment = os.environ | {"no_proxy": "127.0.0.1", "PATH": f"{BUILD}:{os.environ['PATH']}"}
    if language == "console":
        assert session(folders[page], expected, environment) == expected
        return
    command = {
        "sh": ["bash", "-euc", code],
        "python": [sys.executable, "-c", code],
        "js": ["node", "--input-type=module", "-e", code],
    }[language]
    done = subprocess.run(
        command, cwd=folders[page], capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n") == expected.rstrip("\n")
