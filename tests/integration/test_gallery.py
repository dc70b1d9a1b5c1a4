# SPDX-License-Identifier: MIT
"""The gallery of the page: every number in its sentences is what the API answers, and the configs
that the page has are those that were published."""

import functools
import importlib.machinery
import importlib.util
import json
import math
import pathlib
import re

import pytest

from service import call, post_json

ROOT = pathlib.Path(__file__).resolve().parents[2]
GALLERY = json.loads((ROOT / "explorer/src/gallery.json").read_text())
MODELS = json.loads((ROOT / "explorer/src/models.json").read_text())
LOADER = importlib.machinery.SourceFileLoader("models_tool", str(ROOT / "tools/models"))
TOOL = importlib.util.module_from_spec(importlib.util.spec_from_loader("models_tool", LOADER))
LOADER.exec_module(TOOL)
PUBLISHED = ROOT / "tests/data/configs"
NUMBER = re.compile(r"(?<![\w.-])\d[\d\u202f]*(?:\.\d+)?")


def asked(server, target, json=None, model=None):
    if model is None and json is None:
        return call(server, "GET", target + "&flat=true").good().json
    config = MODELS[model]["config"] if model else None
    if target == "/v1/config":
        return post_json(server, target, config).good().json
    body = (json or {}) | {"flat": True} | ({"config": config} if config else {})
    return post_json(server, target, body).good().json


def at(answers, path):
    def step(tree, name):
        return tree[int(name) if isinstance(tree, list) else name]

    return functools.reduce(step, path.split("."), answers)


def counted(values, check):
    low, high = check.get("above", -math.inf), check.get("below", math.inf)
    return sum(low < value < high for value in values)


def alike(lists, rows=4):
    """The one row in which two lists agree."""
    one, two = (
        [values[i : i + len(values) // rows] for i in range(0, len(values), len(values) // rows)]
        for values in lists
    )
    [row] = [i for i in range(rows) if one[i] == two[i]]
    return row


# What a check takes of the answers, by the word that names it.
TAKEN = {
    "at": lambda value, check: value[check["index"]] if "index" in check else value,
    "length": lambda values, _: len(values),
    "lengths": lambda lists, _: sum(map(len, lists)),
    "max": lambda values, _: max(values),
    "argmax": lambda values, check: values.index(max(values)) + check.get("plus", 0),
    # A row equal to the one before it, after which nothing is told apart.
    "repeated": lambda values, check: (
        check["plus"] + next(i for i in range(1, len(values)) if values[i] == values[i - 1])
    ),
    "count": counted,
    "shifted": lambda lists, check: counted(
        [abs(one - two) * check["by"] / (2 * math.pi) for one, two in zip(*lists)], check
    ),
    # DeepSeek's softmax scale is its multiplier over the root of the whole width.
    "width": lambda values, _: (values[0] / values[1]) ** 2,
    "alike": lambda lists, _: alike(lists),
}


def taken(answers, check):
    """None: the number is what was asked for, and stands in the request."""
    [word] = set(check) & set(TAKEN) or {None}
    if word is None:
        return None
    paths = check[word]
    values = at(answers, paths) if isinstance(paths, str) else [at(answers, one) for one in paths]
    return TAKEN[word](values, check)


@pytest.mark.parametrize("entry", GALLERY, ids=lambda entry: entry["name"])
def test_every_number_of_a_sentence_is_the_answer(server, entry):
    answers = {name: asked(server, **ask) for name, ask in entry["asks"].items()}
    for check in entry["checks"]:
        value = taken(answers, check)
        if value is None:
            assert str(check["is"]) in json.dumps([entry["asks"], entry["checks"]]), check
        else:
            assert value == pytest.approx(check["is"], abs=0.005), check
    checked = {check["is"] for check in entry["checks"]}
    for language in ("en", "zh"):
        told = re.sub("|".join(entry.get("names", ["$^"])), "", entry[language])
        assert {float(one.replace("\u202f", "")) for one in NUMBER.findall(told)} <= checked


def test_every_link_of_the_gallery_leads_to_a_view():
    folder = ROOT / "explorer/src/views"
    text = "\n".join(path.read_text() for path in folder.rglob("*.ts"))
    views = set(re.findall(r'\bname: "(\w+)"', text))
    assert {entry["link"]["view"] for entry in GALLERY} <= views


def part(small, whole):
    """Whether everything of one config stands in another."""
    return all(
        part(value, whole.get(key)) if isinstance(value, dict) else whole.get(key) == value
        for key, value in small.items()
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_config_of_the_page_is_as_it_was_published(server, name):
    published = json.loads((PUBLISHED / f"{name}.json").read_text())["config"]
    own = MODELS[name]["config"]
    assert part(own, published)
    answers = [post_json(server, "/v1/config", config).good().json for config in (own, published)]
    assert answers[0]["layers"] == answers[1]["layers"]


@pytest.mark.parametrize("name", MODELS)
def test_numbers_of_the_table_of_models_are_the_answers(server, name):
    def ask(path, body=None):
        if body is None:
            return call(server, "GET", path).good().json
        return post_json(server, path, body).good().json

    entry = MODELS[name]
    assert entry["row"] == TOOL.row(ask, entry["config"]) and entry["name"] == TOOL.NAMES[name]
    assert entry.get("first", False) == (name in TOOL.FIRST)
