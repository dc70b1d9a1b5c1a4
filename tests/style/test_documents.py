# SPDX-License-Identifier: MIT
"""The pages for readers name files and functions that are there. A path may stand for several:
NAME and * are any name."""

import pathlib
import re

import pytest

from tests.suites.suites import SUITES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = ["api", "command", "core", "server", "service", "include", "tests"]
PATH = re.compile(r"[\w.*-][\w./*-]*\.(?:c|h|def|py|md|yaml)")
LAYER = re.compile(
    r"(?:api|command|core|server|service|include|tests|examples|bench|tools|docs|"
    r"docker)/[\w./*-]*"
)


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
    return (
        any(ROOT.glob(pattern))
        or "/" not in pattern
        and any(found for folder in FOLDERS for found in (ROOT / folder).rglob(pattern))
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page):
    missing = sorted({path for path in paths(page) if not is_there(path)})
    assert not missing


def test_paths_are_found_and_missed():
    assert len(set(paths(ROOT / "ARCHITECTURE.md"))) > 40
    assert is_there("core/encodings/NAME.c") and is_there("encodings.def")
    assert not is_there("core/encodings/no_such_file.c") and not is_there("no_such_file.c")


def test_every_suite_is_described():
    page = (ROOT / "docs/internals/verification.md").read_text()
    described = re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.M)))
    assert sorted(described) == sorted(suite.name for suite in SUITES)
