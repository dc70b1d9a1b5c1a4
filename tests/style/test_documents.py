# SPDX-License-Identifier: MIT
"""The pages for readers name files and functions that are there. A path may stand for several:
NAME and * are any name."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ["api", "command", "core", "server", "service", "include", "tests"]
PATH = re.compile(r"[\w.*-][\w./*-]*\.(?:c|h|def|py|md|yaml)")
LAYER = re.compile(r"(?:api|command|core|server|service|include|tests|examples|bench|tools|docs|"
                   r"docker)/[\w./*-]*")
STEP = re.compile(r"`([\w/]+\.c)`: ((?:`\w+`(?:, | )?)+)")


def paths(page):
    """Paths between backticks, and those that links of the page lead to."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    for word in re.findall(r"`([^`\n]+)`", text):
        if PATH.fullmatch(word) or LAYER.fullmatch(word):
            yield word
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        yield str((page.parent / link).resolve().relative_to(ROOT))


def is_there(path):
    """A path from the root, or the bare name of a file in any folder."""
    pattern = path.replace("NAME", "*").rstrip("/")
    return any(ROOT.glob(pattern)) or "/" not in pattern and any(
        found for folder in FOLDERS for found in (ROOT / folder).rglob(pattern))


def the_way():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return re.search(r"^## The way of a request\n(.*?)^## ", text, re.S | re.M).group(1)


def steps(text):
    """(file, function) of the way of a request."""
    for file, names in STEP.findall(text):
        for name in re.findall(r"`(\w+)`", names):
            yield file, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page):
    missing = sorted({path for path in paths(page) if not is_there(path)})
    assert not missing


def test_paths_are_found_and_missed():
    assert len(set(paths(ROOT / "ARCHITECTURE.md"))) > 40
    assert is_there("core/encodings/NAME.c") and is_there("encodings.def")
    assert not is_there("core/encodings/no_such_file.c") and not is_there("no_such_file.c")


def is_defined(name, text):
    return re.search(rf"^[a-z][^\n;=]*\b{name}\([^;]*?\)\s*\{{", text, re.M)


def test_the_way_of_a_request_names_functions_of_its_files():
    named = list(steps(the_way()))
    assert len(named) >= 20
    missing = [f"{file}: {name}" for file, name in named
               if not is_defined(name, (ROOT / file).read_text())]
    assert not missing


def test_what_is_passed_by_is_there():
    source = "\n".join(path.read_text() for layer in ("core", "api", "service", "server", "command")
                       for path in (ROOT / layer).rglob("*.[ch]"))
    passed = re.findall(r"`((?:api|pe|srv)_\w+)`", the_way())
    assert not [name for name in passed if not is_defined(name, source)]
