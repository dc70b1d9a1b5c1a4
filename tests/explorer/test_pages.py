# SPDX-License-Identifier: MIT
"""Every view, as recorded in pages/NAME.txt: what it requests, what it has to read and to hear,
what its buttons copy, and the same for every control once it is changed. Part of `make test`.

    POSENC_UPDATE=1 .venv/bin/python -m pytest -q tests/explorer/test_pages.py

writes what there is now, to be read before it is kept."""

import difflib
import os
import pathlib
import re
import urllib.parse

import pytest

PAGES = pathlib.Path(__file__).resolve().parent / "pages"
LINE_MAX = 500  # characters of a request or of a text that are kept
SIZE = {"width": 1200, "height": 900}
# Links by the names of their files: no value is a default where the view has another one.
LINKS = {
    "home": {},
    "home-gemma": {"model": "gemma-3-27b", "context": 20000},
    "extension": {"model": "deepseek-v3", "context": 50000},
    "extension-longrope": {"model": "phi-4-mini", "show": "freq_factors"},
    "table": {"dim": 12, "length": 30, "start": 7, "plot_columns": "3", "position": 4, "delta": 3},
    "table-alibi": {"encoding": "alibi", "heads": 4, "query_length": 9, "key_length": 12},
    "table-sides": {"a": "dim=8&length=6", "b": "dim=8&length=6&base=100"},
    "precision": {"dim": 48, "base": 20000, "reach": 1e5},
    "models": {"sort": "base"},
    "compare": {"a": "model=llama-3.1", "b": "model=deepseek-v3"},
    "story": {"step": 4, "length": 20},
    **{f"story-{step}": {"step": step, "length": 12} for step in (1, 2, 3, 5, 6)},
    "rotation": {"dim": 6, "base": 300, "q": 25, "k": 70, "position": 9, "delta": 4},
    "grid": {
        "model_type": "qwen_image",
        "height": 6,
        "width": 8,
        "text": 3,
        "pair": 9,
        "sample": "transposed",
    },
    "distance": {"dim": 32, "base": 3000, "max_offset": 200},
    "attention": {"text": "the dog bit the man", "encoding": "alibi", "head": 1, "bias": "t5"},
    "diagnosis": {"sample": "shifted"},
}
# Links with a value for each name of a view, none of them its default.
WHOLE = {
    "home": {
        "model": "gemma-3-27b",
        "context": 20000,
        "position": 9,
        "layer_type": "sliding_attention",
        "base": 500000,
    },
    "extension": {
        "model": "gemma-3-27b",
        "context": 20000,
        "layer_type": "sliding_attention",
        "show": "inv_freq",
        "times": 4,
        "base": 500000,
    },
    "table": {
        **{"encoding": "rope", "dim": 12, "length": 30, "rows": "2..20", "columns": "1..4"},
        **{"plot_columns": "3", "plot_rows": "4", "axis": "pair", "pool": "max"},
        **{"position": 4, "delta": 3},
    },
    "precision": {"angle": "bf16", "dim": 48, "base": 20000, "reach": 1e5},
    "models": {"sort": "-base", "find": "qwen"},
    "compare": {"a": "model=qwen2.5-7b&context=9000", "b": "model=gemma-3-27b&base=500000"},
    "story": {"step": 4, "length": 20, "frequency": 0.8},
    "rotation": {"dim": 4, "base": 300, "q": 25, "k": 70, "position": 9, "delta": 4},
    "grid": {
        **{"model_type": "wan", "height": 6, "width": 8, "frames": 3, "frame": 1, "pair": 9},
        **{"row": 2, "column": 3, "sample": "edited"},
    },
    "distance": {"encoding": "sinusoidal", "dim": 32, "base": 3000}
    | {"max_offset": 200, "min_offset": "-"},
    "attention": {
        **{"text": "the dog bit the man", "encoding": "alibi", "causal": "true", "head": 1},
        **{"bias": "alibi", "query_length": 24, "bias_head": 2, "heads": 4},
    },
    "diagnosis": {"sample": "base", "expected": "encoding=rope&base=500000"},
}
# What a link is followed from, where not from the view's own defaults.
BEFORE = {"table": {**LINKS["table"], "columns": "2..5"}, "compare": {"a": "model=phi-4-mini"}}
STYLED = ("table-sides",)  # whose styles are not those of their view in Chinese
STILL = ("grid",)  # whose controls are changed by test_grid.py
OF_FAILURES = re.compile(r"^== |fail|fault|wrong|invalid|alert|chip|link")
REQUEST = re.compile(r"  (GET|POST) /v1/")
VIEWS = sorted({name.split("-")[0] for name in LINKS})


@pytest.fixture(scope="module")
def base(start_shared):
    """A base path is part of what may go wrong."""
    return start_shared("--base-path", "/some/where").url + "/some/where/"


def link(base, name, **more):
    return f"{base}?{urllib.parse.urlencode({'view': name.split('-')[0], **LINKS[name], **more})}"


def written(found, base):
    text = ""
    for one in found:
        lines = [f"  {line[:LINE_MAX]}" for line in [*one["requests"], *one["lines"]]]
        entries = {0: "", 1: ", an entry of the history"}[one.get("entries", 0)]
        text += "\n".join([f"== {one['act']}{entries}", *lines]) + "\n"
    address = base.rstrip("/")
    return text.replace(address, "http://posencd").replace("/some/where", "")


def check(name, text):
    path = PAGES / f"{name}.txt"
    if os.environ.get("POSENC_UPDATE"):
        PAGES.mkdir(exist_ok=True)
        path.write_text(text)
    expected = path.read_text() if path.is_file() else ""
    differs = "\n".join(
        difflib.unified_diff(expected.splitlines(), text.splitlines(), "recorded", "now", n=1)
    )
    assert not differs, f"{name}:\n{differs[:6000]}"


@pytest.mark.parametrize("name", LINKS)
def test_a_view_is_as_recorded(browser, base, name):
    how = {"rest": 600 if name == "table" else 0, "controls": name in VIEWS and name not in STILL}
    how["styles"] = name in STYLED
    seen = browser("contents", link(base, name, lang="en"), base=base, **how, **SIZE)
    # A number that was changed may be refused, which the page then says.
    wrong = [one for one in seen["told"] if "status of 422" not in one]
    assert not wrong, wrong
    for one in seen["found"]:
        assert not one["cut"], f"texts that their drawing cuts off: {one['act']}: {one['cut']}"
    check(name, written(seen["found"], base))
    if name in STYLED:
        check(f"{name}.styles", "\n".join(seen["styles"]) + "\n")


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_in_chinese_is_as_recorded(browser, base, name):
    """Its styles are in NAME.styles.txt: wide and narrow, light and dark, printed, presented."""
    how = {"controls": False, "styles": True}
    seen = browser("contents", link(base, name, lang="zh-CN"), base=base, **how, **SIZE)
    assert not seen["told"] and not seen["found"][0]["cut"]
    assert any("复制链接" in line for line in seen["found"][0]["lines"]), "the page is in Chinese"
    check(f"{name}.styles", "\n".join(seen["styles"]) + "\n")
    check(f"{name}.zh", written([{**seen["found"][0], "requests": []}], base))


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_is_left_waits_for_nothing(browser, base, name):
    other = "rotation" if name.startswith("story") else "story"
    held = browser("left", link(base, name), to=other, **SIZE)
    assert bool(held["held"]) == bool(held["last"]) and held["ended"] == held["held"], held


def test_a_link_that_is_followed_shows_what_it_shows_when_opened(browser, base):
    """Nothing is left of the link before, of the same view or of another."""
    start = link(base, "story", lang="en")
    links = [
        (f"{base}?{urllib.parse.urlencode(other | {'lang': 'en'})}", link(base, name, lang="en"))
        for name in LINKS
        for other in [{"view": name.split("-")[0], **BEFORE.get(name, {})}]
    ]
    seen = browser("followed", start, base=base, links=links, **SIZE)
    assert not seen["told"], seen["told"]
    wrong = {}
    for name, lines in zip(LINKS, seen["found"]):
        recorded = (PAGES / f"{name}.txt").read_text().split("\n== ")[0]
        opened = [line for line in recorded.splitlines()[1:] if not REQUEST.match(line)]
        now = written([{"act": "opened", "requests": [], "lines": lines}], base).splitlines()[1:]
        if opened != now:
            wrong[name] = list(difflib.unified_diff(opened, now, "opened", "followed", n=0))
    assert not wrong, "\n".join(line for lines in wrong.values() for line in lines)[:6000]


def test_buttons_lead_to_what_is_recorded(browser, base):
    """In pages/buttons.txt: the link after each button that no record of a view presses, and
    whether the history has an entry of it. The links before have all that a view takes, so that
    what a button keeps of them is seen, and what it drops."""
    links = [f"{base}?{urllib.parse.urlencode({'view': name, **WHOLE[name]})}" for name in VIEWS]
    links.append(f"{base}?view=table")  # where no shift is seen, which a button begins
    seen = browser("pressed", links[-1], base=base, links=links, **SIZE)
    assert not seen["told"], seen["told"]
    lines = []
    for one in seen["found"]:
        [search, before] = [
            dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(one[name]).query))
            for name in ("href", "link")
        ]
        if one["words"] == "shuffle":  # into another order each time
            search["text"] = " ".join(sorted(search["text"].split()))
        after = "&".join(f"{name}={value}" for name, value in search.items() if name != "lang")
        lines.append(f"{before['view']} | {one['words']} | {one['entries']} | {after}"[:LINE_MAX])
    check("buttons", "\n".join(lines) + "\n")


# Links with something wrong in them, whose looks no other record has: failures, controls at fault,
# values that a view cannot take.
WRONG = {
    "wrong-table": {"view": "table", "encoding": "rope", "dim": 7, "axis": "up"},
    "wrong-home": {"config": "{", "context": "x"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_view_with_something_wrong_looks_as_recorded(browser, base, name):
    link = f"{base}?{urllib.parse.urlencode({**WRONG[name], 'lang': 'en'})}"
    lines = browser("styles", link, wait=".failures .failure", **SIZE)
    check(f"{name}.styles", "\n".join(line for line in lines if OF_FAILURES.search(line)) + "\n")
