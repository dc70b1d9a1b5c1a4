# SPDX-License-Identifier: MIT
"""docs/internals/layers.md lists the folders of core/ and api/ from the ground up; a folder
includes and calls those below it alone. So there is no circle between folders, and a reader of one
needs to know only what is under it."""

import functools
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
PAGE = (ROOT / "docs/internals/layers.md").read_text()
MAP = (ROOT / "ARCHITECTURE.md").read_text()

# Words of HTTP and of a shell, which a library must not say to a program that links it.
FOREIGN_WORDS = re.compile(
    r"/v1\b|https?:|\bURL\b|\bHTTP\b|\b(GET|POST|PUT|DELETE) |\bcurl\b"
    r"|\bshell\b|\bquote\b|(?<![\w-])--[a-z]"
)


@functools.cache
def floors(layer):
    """The folders of a layer, from the ground up."""
    found = re.search(rf"^```floors {layer}\n(.*?)^```", PAGE, re.S | re.M)
    assert found, f"docs/internals/layers.md lists no floors of {layer}"
    names = [line.split()[0] for line in found.group(1).splitlines() if line.strip()]
    assert len(names) == len(set(names)) and len(names) > 5
    return names


@pytest.mark.parametrize("layer", ["core", "api"])
def test_the_map_names_the_same_folders(layer):
    """The tables of ARCHITECTURE.md list the folders from the ground up too; a folder inside
    another (`vec/`, `rope/`) is described in the row of its parent."""
    rows = MAP.partition(f"\n| {layer}/ |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rows, f"ARCHITECTURE.md has no table of {layer}/"
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert named == [name for name in floors(layer) if "/" not in name]


def sources(layer):
    return sorted(p for p in (ROOT / layer).rglob("*") if p.suffix in (".c", ".h", ".def"))


def folder_of(path, layer):
    """core/encodings/rope/yarn.c is in encodings/rope, core/kernels/vec/x.h in kernels, where the
    first has a floor of its own and the second has none; api/api.h, the waist, is in no folder."""
    folder = pathlib.PurePath(path).parent.relative_to(layer)
    named = [str(at) for at in [folder, *folder.parents] if str(at) in floors(layer)]
    return named[0] if named else None if str(folder) == "." else str(folder)


def includes(layer):
    """(file, folder, included file, its folder) of every include inside a layer."""
    for path in sources(layer):
        name = path.relative_to(ROOT)
        for target in re.findall(rf'^\s*#\s*include\s+"({layer}/[^"]+)"', path.read_text(), re.M):
            yield str(name), folder_of(name, layer), target, folder_of(target, layer)


def symbols(layer):
    """Of each object file of build/ whose source is still there: symbols it has, and those it
    takes from elsewhere."""
    for path in sorted((BUILD / layer).rglob("*.o")):
        source = path.relative_to(BUILD).with_suffix(".c")
        if not (ROOT / source).is_file():
            continue
        listed = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
        rows = [line.split()[-2:] for line in listed.splitlines()]
        yield (
            str(source),
            {name for kind, name in rows if kind in "TDRBVWC"},
            {name for kind, name in rows if kind == "U"},
        )


def upward(layer, edges):
    """Edges (from, its folder, to, its folder) that do not run downwards."""
    rank = {name: floor for floor, name in enumerate(floors(layer))}
    return sorted(
        {
            f"{a} -> {b}"
            for a, of_a, b, of_b in edges
            if of_a != of_b and of_a and of_b and rank[of_a] < rank[of_b]
        }
    )


def check_folders(layer):
    folders = {folder_of(p.relative_to(ROOT), layer) for p in sources(layer)} - {None}
    assert folders == set(floors(layer)), "the floors are the folders"


def check_includes(layer):
    edges = list(includes(layer))
    assert len(edges) > 100
    assert not upward(layer, edges)


def check_calls(layer):
    assert (BUILD / layer).is_dir(), "build first"
    objects = list(symbols(layer))
    home = {name: source for source, has, _ in objects for name in has}
    edges = [
        (source, folder_of(source, layer), home[name], folder_of(home[name], layer))
        for source, _, takes in objects
        for name in takes
        if name in home
    ]
    assert len(edges) > 200
    assert not upward(layer, edges)


def test_api_folders():
    check_folders("api")


def test_api_includes_run_downwards():
    check_includes("api")


def test_api_calls_run_downwards():
    check_calls("api")


def test_core_folders():
    check_folders("core")


def test_core_includes_run_downwards():
    check_includes("core")


def test_core_calls_run_downwards():
    check_calls("core")


def test_the_core_is_seen_through_its_public_headers():
    """Private headers are for the core, its tests, files that recipes put into it, and the
    benchmarks of single kernels."""
    inside = ("core/", "tests/core/", "tests/recipes/", "bench/kernels")
    found = []
    for layer in ("api", "service", "server", "command", "bench", "tests", "examples", "include"):
        for path in (ROOT / layer).rglob("*"):
            name = str(path.relative_to(ROOT))
            if (
                path.suffix in (".c", ".h", ".cc")
                and not name.startswith(inside)
                and re.search(r'^\s*#\s*include\s+"core/', path.read_text(), re.M)
            ):
                found.append(name)
    assert not found, found


def texts(path):
    """String literals of a C file, neighbours joined as the compiler does; comments and includes
    are no text."""
    code = re.sub(r"/\*.*?\*/|^\s*#\s*include.*?$", "", path.read_text(), flags=re.S | re.M)
    for run in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', code):
        yield re.sub(r'"\s*"', "", run).strip()


def test_the_core_knows_no_http_and_no_shell():
    """A program that links the library has no URL to quote, and no route or flag to be told of."""
    every = [(str(p.relative_to(ROOT)), text) for p in sources("core") for text in texts(p)]
    assert len(every) > 1000
    found = [f"{name}: {text}" for name, text in every if FOREIGN_WORDS.search(text)]
    assert not found, found
