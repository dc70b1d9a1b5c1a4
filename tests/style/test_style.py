# SPDX-License-Identifier: MIT
"""The rules of the house that a program can check: layers, headers, format, licences."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A folder includes itself and the one below it; and the libraries that are its own.
LAYERS = {
    "include": ({"posenc"}, set()),
    "core": ({"core", "posenc"}, set()),
    "api": ({"api", "posenc"}, {"jansson.h", "zlib.h", "zstd.h", "sodium.h"}),
    "service": ({"service", "api", "posenc"}, set()),
    "server": ({"server", "service", "api", "posenc"}, {"uv.h", "microhttpd.h"}),
    "command": ({"command", "posenc"}, {"jansson.h"}),
}
FOREIGN = {
    "mpfr.h",
    "gmp.h",
    "jansson.h",
    "uv.h",
    "microhttpd.h",
    "zlib.h",
    "zstd.h",
    "sodium.h",
    "png.h",
}

SOURCES = sorted(p for layer in LAYERS for p in (ROOT / layer).rglob("*.[ch]"))
TESTS = sorted((ROOT / "tests").rglob("*.[ch]"))
BENCH = sorted(p for ending in ("*.[ch]", "*.cc") for p in (ROOT / "bench").rglob(ending))
EXAMPLES = sorted((ROOT / "examples").glob("*.c"))
CLIENTS = sorted((ROOT / "clients").rglob("*.c"))
ALL_C = SOURCES + TESTS + BENCH + EXAMPLES + CLIENTS
SCRIPTS = sorted(
    p
    for p in [
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "tools").iterdir(),
        *(ROOT / "bench").rglob("*.py"),
        ROOT / "bench/run",
        ROOT / "bench/publish",
        *(ROOT / "clients").rglob("*.py"),
        ROOT / "tests/run",
        ROOT / ".ci/run",
    ]
    if p.is_file()
)


PAGES = sorted(
    p
    for folder, pattern in (
        ("explorer/src", "*.ts"),
        ("explorer", "*.mjs"),
        ("tests/explorer", "*.mjs"),
        ("clients/js", "*.js"),
    )
    for p in (ROOT / folder).rglob(pattern)
    if "node_modules" not in p.parts
)


def name(path):
    return str(path.relative_to(ROOT))


def test_there_are_sources():
    assert len(SOURCES) > 50


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_layers(path):
    layer = path.relative_to(ROOT).parts[0]
    folders, libraries = LAYERS[layer]
    for line in re.findall(r'^\s*#\s*include\s+([<"][^>"]+[>"])', path.read_text(), re.M):
        included = line[1:-1]
        if line.startswith("<"):
            assert included not in FOREIGN - libraries, f"{layer}/ must not know {included}"
        elif "/" in included:
            assert included.split("/")[0] in folders, f"{layer}/ must not include {included}"


@pytest.mark.parametrize("path", ALL_C + SCRIPTS + PAGES, ids=name)
def test_licence(path):
    first = path.read_text().splitlines()[:3]
    assert any("SPDX-License-Identifier: MIT" in line for line in first)


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if p.suffix == ".h" and "core/kernels" not in str(p)], ids=name
)
def test_header_compiles_alone(path, tmp_path):
    source = tmp_path / "alone.c"
    header = name(path).removeprefix("include/")
    source.write_text(f'#include "{header}"\nint only_a_declaration;\n')
    done = subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Werror",
            "-I",
            str(ROOT),
            "-I",
            str(ROOT / "include"),
            "-fsyntax-only",
            str(source),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_lint():
    """The format of C, Python and TypeScript, and what their linters find."""
    done = subprocess.run(
        ["make", "--no-print-directory", "lint"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_left_open():
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    left = [
        name(p)
        for p in ALL_C + SCRIPTS
        if p.name != "test_style.py" and words.search(p.read_text())
    ]
    assert not left, left


def test_the_core_knows_no_http():
    """C programs show its sentences too: no URL, route, flag or shell in them, and nothing is
    posted or requested. Words about a request are added by api/."""
    words = re.compile(
        r"\b(URL|HTTP|GET|POST|curl|shell|JSON|posted|requests?|service|server)\b"
        r"|/v1|(^|[ (])--[a-z]"
    )
    found = []
    for path in (path for folder in ("core", "include") for path in (ROOT / folder).rglob("*.*")):
        if path.name == "status.h":  # has the titles of the service's statuses too
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"^#.*include.*$", "", text, flags=re.M)
        found += [
            f"{name(path)}: {literal}"
            for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
            if words.search(literal)
        ]
    assert not found, found


def test_no_encoding_is_named_in_api():
    """api/ serves all encodings alike: no branch on a name, so a new one needs no change there."""
    names = re.findall(
        r"^ENCODING\((\w+)\)", (ROOT / "core/encodings/encodings.def").read_text(), re.M
    )
    assert len(names) >= 4
    compare = re.compile(r'str(?:case)?cmp\([^;]*"(%s)"' % "|".join(names))
    found = [
        name(p)
        for p in SOURCES
        if p.relative_to(ROOT).parts[0] == "api" and compare.search(p.read_text())
    ]
    assert not found, found


# Of the C library: they read and print numbers by the locale of the program.
BY_LOCALE = re.compile(r"\b(strtod|strtof|strtold|atof|vsnprintf|localeconv|setlocale|newlocale)\(")
FRACTION = re.compile(
    r"""\b(?:json_sprintf|sn?printf|fprintf)\([^;]*?%[-+ #0]*[*\d]*"""
    r"""(?:\.(?!0f)[*\d]+)?l?[eEfFgGaA]\b"""
)
PRINTERS = {"core/base/text.c", "api/base/system.c"}


@pytest.mark.parametrize(
    "path",
    [p for p in SOURCES if p.suffix == ".c" and name(p).startswith(("core/", "api/", "service/"))],
    ids=name,
)
def test_no_number_follows_the_locale_of_the_host(path):
    """The libraries read numbers by pe_from_text, and print those with a point in the C locale."""
    text = path.read_text()
    if name(path) not in PRINTERS:
        assert not BY_LOCALE.search(text)
    found = [match.group() for match in FRACTION.finditer(text)]
    assert not found
