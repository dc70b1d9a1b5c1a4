# SPDX-License-Identifier: MIT
"""Each number of docs/how-we-know.md is that of its source. POSENC_UPDATE=1 writes the numbers."""

import ast
import json
import math
import os
import pathlib
import re
import sys

import pytest

from tests.suites.suites import PORTS, SUITES

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

import matrix  # noqa: E402

PAGE = ROOT / "docs/how-we-know.md"
ROW = re.compile(r"^\| (?!what is checked)([^|]+) \|([^|]*)\| (`[^|]+`) \| ([\d ]+) \|$", re.M)
# Members of a case in tests/data/oracles that hold what the other project prints.
PRINTED = re.compile(r"expected\w*|output|weights|position_ids|rope_deltas|positions_encoding")
RIGHT_GROUPS = ("right", "float32", "far", "unexpected")


def text(path):
    return (ROOT / path).read_text()


def millions(path):
    """How many a program takes where its command line does not say it."""
    return 10**6 * int(re.search(r"millions = argc > 1 \? .* : (\d+);", text(path))[1])


def numbers(value):
    """How many numbers a value of JSON holds; a tensor may be in base64."""
    if isinstance(value, dict):
        if "base64" in value:
            return math.prod(value["shape"])
        return sum(numbers(one) for key, one in value.items() if key != "shape")
    if isinstance(value, list):
        return sum(map(numbers, value))
    return int(isinstance(value, (int, float)) and not isinstance(value, bool))


def oracle_cases():
    for path in sorted((ROOT / "tests/data/oracles").glob("*.json")):
        content = json.loads(path.read_text())
        yield from content.get("cases") or content.get("relations") or content["layers"]


def printed_numbers(case):
    """The rows of alibi_rows.json are an object, those of others are the numbers of rows."""
    return sum(
        numbers(value)
        for name, value in case.items()
        if PRINTED.fullmatch(name) or (name == "rows" and isinstance(value, dict))
    )


def sweep():
    """Configs that match, differ and are refused, of the line that tests/parity compares."""
    line = re.search(r"^\*\*transformers .*$", text("README.md"), re.M)[0]
    return [int(count) for count in re.findall(r"(\d+) (?:configs match|differ|are refused)", line)]


def confusion():
    """The sizes of the groups that tests/integration/test_confusion.py compares with the matrix."""
    (sizes,) = re.findall(r"sizes == (\{.*?\})", text("tests/integration/test_confusion.py"), re.S)
    return ast.literal_eval(sizes)


def engine_cells():
    engines = matrix.load()["engines"].values()
    return sum(
        len(forms)
        for engine in engines
        for rows in engine["cells"].values()
        for forms in rows.values()
    )


def operations():
    methods = ("get", "put", "post", "delete", "patch")
    paths = json.loads(text("openapi.json"))["paths"].values()
    return sum(method in path for path in paths for method in methods)


def counts():
    groups = confusion()
    match, differ, refused = sweep()
    programs = (ROOT / "tests/core").rglob("test_*.c")
    crashers = (ROOT / "tests/fuzz/crashers").rglob("*")
    return {
        "random values of `rope` tables in every dtype": millions("tests/core/check_samples.c"),
        "random values of every encoding": millions("tests/core/check_encodings.c"),
        "random operations of the wide numbers": millions("tests/core/check_wide.c"),
        "test programs of encodings, analyses and bounds": sum(
            "mpfr" in program.read_text() for program in programs
        ),
        "cases of other projects, each with its source": len(list(oracle_cases())),
        "numbers that these cases expect": sum(map(printed_numbers, oracle_cases())),
        "instruction sets with kernels of their own": len(
            re.findall(r"^ISA\((?!scalar)", text("core/base/isas.def"), re.M)
        ),
        "builds by another compiler, C library or machine": len(PORTS),
        "recorded answers of the service": len(
            re.findall(r'^\{"name": ', text("tests/recorded/answers.jsonl"), re.M)
        ),
        "configs of transformers that match": match,
        "configs of transformers that differ": differ,
        "configs of transformers that are refused": refused,
        "configs as published by their models' authors": len(
            list((ROOT / "tests/data/configs").glob("*.json"))
        ),
        "cells of the engine matrix, those that could not be measured among them": engine_cells(),
        "mistakes that have a name": len(
            re.findall(r'^BUG\(\w+, "', text("core/diagnosis/bugs.def"), re.M)
        ),
        "tables with a listed mistake": groups["listed"] + groups["listed in float32"],
        "tables with damage that no list names": groups["unlisted"],
        "right tables, with noise, in float32, or with nothing expected": sum(
            groups[group] for group in RIGHT_GROUPS
        ),
        "fuzz targets": len(re.findall(r"^TARGET\(", text("tests/fuzz/targets.def"), re.M)),
        "inputs that once failed": sum(path.is_file() for path in crashers),
        "operations of the contract": operations(),
        "printed and read f32, all of them": 1
        << int(
            re.search(r"NUMBERS \(UINT64_C\(1\) << (\d+)\)", text("tests/api/check_numbers.c"))[1]
        ),
    }


def renewed(row, count):
    """A row with this count, its digits in groups of three."""
    digits = f"{count:,}".replace(",", " ")
    return f"| {row[1]} |{row[2]}| {row[3]} | {digits} |"


def test_the_counts_are_those_of_their_sources():
    right = counts()
    if os.environ.get("POSENC_UPDATE"):
        PAGE.write_text(ROW.sub(lambda row: renewed(row, right[row[1]]), PAGE.read_text()))
    shown = {
        what: int(count.replace(" ", "")) for what, _, _, count in ROW.findall(PAGE.read_text())
    }
    assert shown == right


def test_every_row_is_read_and_names_suites():
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) == len(re.findall(r"^\| (?!what is checked)", PAGE.read_text(), re.M))
    named = {suite for *_, suites, _ in rows for suite in re.findall(r"`([\w-]+)`", suites)}
    assert named <= {suite.name for suite in SUITES}


@pytest.mark.parametrize("promise", re.findall(r"^## (.*)$", PAGE.read_text(), re.M)[:-1])
def test_a_promise_has_cases(promise):
    section = PAGE.read_text().split(f"## {promise}\n")[1].split("\n## ")[0]
    assert any(int(count.replace(" ", "")) for *_, count in ROW.findall(section))
