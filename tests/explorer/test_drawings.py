# SPDX-License-Identifier: MIT
"""What the page draws, pixel by pixel, held against the numbers that the API gives for the same:
every view, every kind of picture. Part of `make test`, in posencd's own page alone."""

import json
import math
import urllib.parse

import numpy
import pytest
import safetensors.numpy
from browsing import ROOT
from drawn import (
    Canvas,
    Line,
    array,
    check_curves,
    check_heat,
    check_heat_axes,
    number,
    palette,
    report,
)

SIZE = {"width": 900, "height": 900}
TOKENS = ("turn", "slow", "still", "good", "bad", "query", "key", "ink", "soft")
MODELS = json.loads((ROOT / "explorer/src/models.json").read_text())
LLAMA = MODELS["llama-3.1"]["config"]
SINUSOIDAL = "/v1/encodings/sinusoidal/table"


@pytest.fixture(scope="module")
def page(start_shared):
    return start_shared()


@pytest.fixture(scope="module")
def colours(page):
    return {name: palette(page.url, name) for name in ("rdbu", "viridis")}


@pytest.fixture(scope="module")
def drawings(browser, page):
    """Of a link: its canvases and what else was found, without an error on the console."""

    def look(search, **more):
        found = browser(
            "drawings",
            f"{page.url}/?{urllib.parse.urlencode(search)}",
            names=TOKENS,
            **SIZE,
            **more,
        )
        assert not found["told"], found["told"]
        found["canvases"] = [Canvas(**one) for one in found["canvases"]]
        return found

    return look


def safetensors_metadata(content):
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size])["__metadata__"]


def heats(found):
    return [one for one in found["canvases"] if one.kind == "heat"]


def curves(found):
    return [one for one in found["canvases"] if one.kind == "curves"]


def ranges(text, count):
    """rows=3..9 as a slice."""
    if not text:
        return slice(0, count)
    first, last = map(int, text.split(".."))
    return slice(first, last + 1)


def colour_ends(values, signed):
    finite = values[numpy.isfinite(values)]
    if not signed and (finite.min() >= 0 or finite.max() <= 0):
        return (0, 1) if finite.min() >= 0 and finite.max() <= 1 else (finite.min(), finite.max())
    most = numpy.abs(finite).max()
    return (-1, 1) if most <= 1.001 else (-most, most)


# The link, the request of the same numbers, and whether they have both signs.
TABLES = [
    ({"dim": 32, "length": 24}, SINUSOIDAL, {"dim": 32, "length": 24}, True),
    (
        {"dim": 24, "length": 60, "start": 1000, "step": 3, "rows": "5..30", "columns": "3..17"},
        SINUSOIDAL,
        {"dim": 24, "length": 60, "start": 1000, "step": 3},
        True,
    ),
    (
        {"encoding": "rope", "dim": 32, "length": 40},
        "/v1/encodings/rope/table",
        {"dim": 32, "length": 40},
        True,
    ),
    (
        {"encoding": "binary", "dim": 6, "length": 40},
        "/v1/encodings/binary/table",
        {"dim": 6, "length": 40},
        False,
    ),
    (
        {"encoding": "alibi", "heads": 4, "query_length": 20, "key_length": 30, "head": 2},
        "/v1/encodings/alibi/bias",
        {"heads": 4, "query_length": 20, "key_length": 30},
        False,
    ),
    (
        {"encoding": "alibi", "heads": 2, "query_length": 16, "causal": "true"},
        "/v1/encodings/alibi/bias",
        {"heads": 2, "query_length": 16, "causal": "true"},
        False,
    ),
]


@pytest.mark.parametrize(
    "search,path,asked,signed",
    TABLES,
    ids=[f"{one[0].get('encoding', 'sinusoidal')}-{i}" for i, one in enumerate(TABLES)],
)
def test_a_table_cell_by_cell(drawings, page, colours, search, path, asked, signed):
    values = array(page.url, path, **asked)
    layers = (
        [values]
        if values.ndim == 2
        else [values[int(search.get("head", 0))]]
        if "heads" in asked
        else list(values)
    )
    seen = [
        one[ranges(search.get("rows"), one.shape[0]), ranges(search.get("columns"), one.shape[1])]
        for one in layers
    ]
    high, wide = seen[0].shape
    cells = [(int(0.4 * high), int(0.12 * wide)), (high - 1, int(0.7 * wide)), (0, wide - 1)]
    found = drawings(
        {"view": "table", **search},
        crosses=[(0, (column + 0.5) / wide, (row + 0.5) / high) for row, column in cells],
    )
    ends = colour_ends(numpy.concatenate([one.ravel() for one in seen]), signed)
    drawn = heats(found)
    assert len(drawn) == len(seen)
    begin, step = asked.get("start", 0), asked.get("step", 1)
    rows = ranges(search.get("rows"), layers[0].shape[0])
    columns = ranges(search.get("columns"), layers[0].shape[1])
    offset = (
        asked.get(
            "query_start",
            asked.get("key_length", 0) - asked["query_length"] if asked.get("key_length") else 0,
        )
        if "heads" in asked
        else begin
    )
    for canvas, one in zip(drawn, seen):
        check_heat(canvas, one, colours["rdbu" if ends[0] < 0 < ends[1] else "viridis"], ends)
        if "heads" not in asked or not offset:
            check_heat_axes(
                canvas,
                [offset + step * i for i in range(rows.start, rows.stop)],
                range(columns.start, columns.stop),
            )
    for (row, column), cross in zip(cells, found["crossed"]):
        assert (int(cross["row"]), int(cross["column"])) == (row, column)
        assert float(cross["value"].replace("−", "-")) == seen[0][row, column] or (
            cross["value"],
            seen[0][row, column],
        ) == ("-Infinity", -math.inf)


def test_curves_of_rows_and_columns(drawings, page):
    found = drawings(
        {
            "view": "table",
            "dim": 32,
            "length": 40,
            "start": 10,
            "plot_columns": "4,9",
            "plot_rows": "3",
        }
    )
    values = array(page.url, SINUSOIDAL, dim=32, length=40, start=10)
    columns, rows = curves(found)
    positions = numpy.arange(10, 50)
    check_curves(
        columns,
        [Line(positions, values[:, 4], "turn", 0.9), Line(positions, values[:, 9], "slow", 0.45)],
        found["tokens"],
    )
    check_curves(rows, [Line(range(32), values[3], "turn")], found["tokens"])


def test_a_shift(drawings, page, colours):
    found = drawings({"view": "table", "dim": 8, "length": 12, "position": 3, "delta": 5})
    blocks = report(page.url, "/v1/encodings/sinusoidal/analysis/shift", dim=8, position=3, delta=5)
    blocks = numpy.array(blocks["tensors"]["blocks"]["data"], float)
    matrix = numpy.zeros((8, 8))
    for i, block in enumerate(blocks.reshape(4, 2, 2)):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    table, shift = heats(found)
    check_heat(shift, matrix, colours["rdbu"], (-1, 1))
    moved = array(page.url, SINUSOIDAL, dim=8, length=1, start=8)[0]
    both, _ = curves(found)
    check_curves(
        both, [Line(range(8), moved, "turn"), Line(range(8), moved, "slow")], found["tokens"]
    )


@pytest.mark.parametrize("angle", ("f32", "bf16"))
def test_errors_of_angles(drawings, page, colours, angle):
    found = drawings({"view": "precision", "angle": angle, "dim": 32, "reach": 1e6})
    reach, count = 1e6, 96
    at = sorted(
        {round(reach ** (i / (count - 1))) for i in range(count)} | {10**i for i in range(7)}
    )
    positions = ",".join(map(str, at))
    errors = {
        name: array(
            page.url,
            "/v1/encodings/rope/analysis/error",
            dim=32,
            base=500000,
            angle=name,
            positions=positions,
        )
        for name in ("f32", "f16", "bf16")
    }
    [heat], [lines] = heats(found), curves(found)
    with numpy.errstate(divide="ignore"):
        logs = numpy.maximum(-9, numpy.log10(errors[angle]))
    check_heat(heat, logs, colours["viridis"], (-9, 0), log=True)
    check_heat_axes(heat, at, range(16))
    check_curves(
        lines,
        [
            Line(at, errors["f32"].max(1), "turn", 0.6),
            Line(at, errors["f16"].max(1), "key", 0.4),
            Line(at, errors["bf16"].max(1), "slow", 0.25),
        ],
        found["tokens"],
        x_log=True,
        y_log=True,
    )


STORY = "/v1/encodings/"


def test_the_story(drawings, page, colours):
    count = drawings({"view": "story", "step": 1, "length": 200})
    check_curves(curves(count)[0], [Line(range(200), range(200), "turn")], count["tokens"])
    share = drawings({"view": "story", "step": 2, "length": 16})
    one, two = (array(page.url, STORY + "normalized/table", length=n).ravel() for n in (16, 32))
    check_curves(
        curves(share)[0],
        [Line(range(16), one, "turn"), Line(range(32), two, "slow", 0.45)],
        share["tokens"],
    )
    bits = drawings({"view": "story", "step": 3, "length": 21})
    values = array(page.url, STORY + "binary/table", length=21, dim=5)
    check_heat(heats(bits)[0], values, colours["viridis"], (0, 1))
    check_heat_axes(heats(bits)[0], range(21), range(5))
    words = [one for one in heats(bits)[0].texts if number(one["text"]) is None]
    left = min((one for one in words if one["turned"]), key=lambda one: one["x"])
    assert left["text"] == "position", "rows have their name at the left"
    assert "digit" in [one["text"] for one in words if not one["turned"]], "and columns below"
    pairs = drawings({"view": "story", "step": 5, "length": 48})
    check_heat(
        heats(pairs)[0], array(page.url, SINUSOIDAL, dim=64, length=48), colours["rdbu"], (-1, 1)
    )
    turned = drawings({"view": "story", "step": 6, "length": 24})
    angles = numpy.arange(24)[:, None] * 1e4 ** (-numpy.arange(16) / 16)
    scores = numpy.cos(angles[:, None] - angles[None]).mean(-1)
    check_heat(heats(turned)[0], scores, colours["rdbu"], (-1, 1))
    check_heat_axes(heats(turned)[0], range(24), range(24))


def test_a_path_through_space(drawings, page):
    """Dots are one projection of all points: linear, and of no other order of the numbers."""
    found = drawings(
        {"view": "story", "step": 4, "length": 30, "frequency": 0.8},
        shapes={"dots": ".dots circle", "path": ".loop .path", "near": ".near circle"},
    )
    points = array(page.url, STORY + "periodic/table", length=30, dim=3, step=0.8)
    dots = numpy.array([[float(one["cx"]), float(one["cy"])] for one in found["shapes"]["dots"]])
    assert dots.shape == (30, 2)
    side, _, rank, _ = numpy.linalg.lstsq(points, dots, rcond=None)
    assert rank == 3 and numpy.abs(points @ side - dots).max() < 0.02
    assert numpy.allclose(side.T @ side, numpy.eye(2) * 1e4, atol=60), "no axis is stretched"
    path = [
        tuple(map(float, one.split())) for one in found["shapes"]["path"][0]["d"][1:].split("L")
    ]
    assert numpy.allclose(path, dots, atol=0.011)
    near = report(page.url, STORY + "periodic/analysis/uniqueness", length=30, dim=3, step=0.8)
    marked = (
        [round(one / 0.8) for one in near["tensors"]["positions"]["data"][0]]
        if isinstance(near["tensors"]["positions"]["data"][0], list)
        else [round(one / 0.8) for one in near["tensors"]["positions"]["data"][:2]]
    )
    assert numpy.allclose(
        [[float(one["cx"]), float(one["cy"])] for one in found["shapes"]["near"]],
        dots[marked],
        atol=0.011,
    )


def test_turning(drawings, page, colours):
    found = drawings(
        {"view": "rotation", "dim": 8, "base": 50, "q": 20, "k": 80, "position": 12, "delta": 5},
        shapes={"hands": ".dial .hand", "ends": ".dial .hand line"},
    )
    speeds = 50.0 ** (-numpy.arange(4) / 4)
    q, k = math.radians(20), math.radians(80)
    apart = (numpy.arange(64)[:, None] - numpy.arange(64)[None])[..., None] * speeds
    scores = numpy.cos(q - k + apart).sum(-1)
    check_heat(heats(found)[0], scores, colours["rdbu"], (-4, 4))
    check_heat_axes(heats(found)[0], range(64), range(64))
    ends = {}
    for group, line in zip(found["shapes"]["hands"], found["shapes"]["ends"]):
        ends.setdefault(group["data-hand"], []).append((float(line["x2"]), -float(line["y2"])))
    for name, angles in (("q", q + 12 * speeds), ("k", k + 7 * speeds)):
        expected = 90 * numpy.stack([numpy.cos(angles), numpy.sin(angles)], 1)
        assert numpy.allclose(ends[name], expected, atol=0.01), name


@pytest.mark.parametrize("base,both", ((10000, False), (2000, True)))
def test_likeness_over_distance(drawings, page, base, both):
    search = {"view": "distance", "dim": 64, "base": base, "max_offset": 300}
    found = drawings(search | ({"min_offset": "-"} if both else {}))
    x = numpy.arange(-300 if both else 0, 301)
    speeds = float(base) ** (-numpy.arange(32) / 32)
    values = numpy.cos(x[:, None] * speeds).mean(1)
    own = Line(x, values, "turn" if base == 10000 else "slow", 0.95)
    usual = numpy.cos(x[:, None] * 1e4 ** (-numpy.arange(32) / 32)).mean(1)
    check_curves(
        curves(found)[0],
        [*([] if base == 10000 else [Line(x, usual, "still", 0.45)]), own],
        found["tokens"],
    )


def test_slopes_over_distance(drawings):
    found = drawings({"view": "distance", "encoding": "alibi", "max_offset": 64})
    x = numpy.arange(65)
    lines = [
        Line(
            x, -x * 2.0 ** -(head + 1), "slow" if head % 2 else "turn", 0.4 if head % 4 > 1 else 0.9
        )
        for head in range(8)
    ]
    check_curves(curves(found)[0], lines, found["tokens"])


def test_a_sentence(drawings, page, colours):
    words = "the dog bit the man"
    found = drawings(
        {
            "view": "attention",
            "text": words,
            "encoding": "alibi",
            "head": 1,
            "bias": "t5",
            "query_length": 24,
        }
    )
    without, placed, change, bias = heats(found)
    names = words.split()
    x = array(
        page.url,
        "/v1/embedding",
        {"encoding": "sinusoidal", "tokens": names, "dim": 16, "seed": 1, "merge_mode": "concat"},
    )
    x = x.reshape(5, -1)[:, :16]
    slope = 2.0 ** -(8 / 4 * 2)
    far = numpy.arange(5)
    scores = 0.15 * x @ x.T
    own, other = (
        numpy.exp(one) / numpy.exp(one).sum(1, keepdims=True)
        for one in (scores, scores - slope * numpy.abs(far[:, None] - far[None]))
    )
    high = max(own.max(), other.max())
    check_heat(without, own, colours["viridis"], (0, high))
    check_heat(placed, other, colours["viridis"], (0, high))
    most = numpy.abs(other - own).max()
    check_heat(change, other - own, colours["rdbu"], (-most, most))
    left, top, width, height = placed.room
    for i, name in enumerate(names):
        places = [(one["x"], one["y"]) for one in placed.texts if one["text"] == name]
        assert any(abs(px - left - (i + 0.5) / 5 * width) < 1 for px, _ in places), name
        assert any(abs(py - 4 - top - (i + 0.5) / 5 * height) < 1 for _, py in places), name
    buckets = array(page.url, "/v1/encodings/t5/bias", query_length=24, key_length=24)
    check_heat(bias, buckets.reshape(24, 24), colours["viridis"])


def test_a_wrong_table(drawings, page, colours):
    found = drawings({"view": "diagnosis", "sample": "shifted"})
    pictures = heats(found)
    posted, meant = (
        array(page.url, "/v1/encodings/rope/table", dim=64, length=256, start=start)
        for start in (1, 0)
    )
    values = [posted[0], meant[0]]
    for canvas, one in zip(pictures, values):
        check_heat(canvas, one, colours["rdbu"], (-1, 1))
    assert len(pictures) == 3
    change = values[0] - values[1]
    check_heat(pictures[2], change, colours["rdbu"], (-abs(change).max(), abs(change).max()))


def waves(page, config, **more):
    answer = page.post("/v1/config", json=config).json()
    link = answer["links"]["frequencies"]
    joined = "&".join(f"{name}={value}" for name, value in more.items())
    tensors = page.get(f"{link}{'&' if '?' in link else '?'}format=json&dtype=f64&{joined}").json()[
        "tensors"
    ]
    return {
        name: numpy.array([float(one) for one in tensor["data"]])
        for name, tensor in tensors.items()
    }


def places_of(group):
    x, y = group["transform"].removeprefix("translate(").removesuffix(")").split()
    return float(x), float(y)


def test_hands_of_a_model(drawings, page):
    """Over their wavelengths, turned as far as the position takes them, and faded beyond the
    context."""
    found = drawings(
        {"position": 1375, "context": 131072},
        shapes={
            "hands": ".hands .hand",
            "lines": ".hands .hand line",
            "words": ".hands text",
            "dots": ".hands .dot",
            "edge": ".hands .edge",
        },
    )
    now = waves(page, LLAMA)
    shapes = found["shapes"]
    xs = numpy.array([places_of(one)[0] for one in shapes["hands"]])
    logs = numpy.log10(now["wavelengths"])
    slope, begin = numpy.polyfit(logs, xs, 1)
    assert len(xs) == len(logs) and slope > 0
    assert numpy.abs(begin + slope * logs - xs).max() < 0.01
    decades = [
        (float(one["x"]), one["text"].replace("\u202f", ""))
        for one in shapes["words"]
        if one.get("text-anchor") == "middle"
    ]
    known = {"10": 1, "1000": 3, "100000": 5, "1 million": 6}
    assert {text for _, text in decades} >= {"10", "1000", "100000"}
    for x, text in decades:
        if text in known:
            assert abs(x - begin - slope * known[text]) < 0.01, text
    before = now["wavelengths"] / now["freq_factors"]
    dots = numpy.array([float(one["cx"]) for one in shapes["dots"]])
    assert numpy.abs(begin + slope * numpy.log10(before) - dots).max() < 0.01
    assert abs(float(shapes["edge"][0]["x1"]) - begin - slope * math.log10(131072)) < 0.01
    turned = [
        float(one["transform"].removeprefix("rotate(").removesuffix(")")) for one in shapes["lines"]
    ]
    expected = numpy.degrees(numpy.fmod(1375 * now["inv_freq"], 2 * math.pi))
    assert numpy.abs(turned - expected).max() < 0.06
    faded = [i for i, one in enumerate(shapes["hands"]) if "still" in one["class"].split()]
    assert faded == [i for i, one in enumerate(now["wavelengths"]) if one > 131072]
    slowed = [i for i, one in enumerate(shapes["hands"]) if "slow" in one["class"].split()]
    assert slowed == [i for i, one in enumerate(now["freq_factors"]) if one > 1 + 1e-9]


@pytest.mark.parametrize("shown", ("wavelengths", "inv_freq", "freq_factors"))
def test_pairs_of_a_model(drawings, page, shown):
    found = drawings(
        {"view": "extension", "show": shown, "context": 131072},
        shapes={"rows": ".schemes .rows .own svg *", "axis": ".schemes svg.axis text"},
    )
    now = waves(page, LLAMA)
    factors, pairs = now["freq_factors"], range(len(now["inv_freq"]))
    before = {
        "wavelengths": now["wavelengths"] / factors,
        "inv_freq": now["inv_freq"] * factors,
        "freq_factors": factors * 0 + 1,
    }[shown]
    check_curves(
        curves(found)[0],
        [Line(pairs, before, "turn", 0.4), Line(pairs, now[shown], "slow")],
        found["tokens"],
        y_log=True,
    )
    marks = [
        (float(one["cx"]) if "cx" in one else float(one["d"][1:].split()[0]))
        for one in found["shapes"]["rows"]
        if one.get("class", "").split()[0] in ("slow", "turn")
    ]
    logs = numpy.log10(now["wavelengths"])
    slope, begin = numpy.polyfit(logs, marks, 1)
    assert slope > 0 and numpy.abs(begin + slope * logs - marks).max() < 0.01
    known = {"10": 1, "100": 2, "1000": 3, "10000": 4, "100000": 5, "1 million": 6}
    for text in found["shapes"]["axis"]:
        name = text["text"].replace("\u202f", "")
        if name in known:
            assert abs(float(text["x"]) - begin - slope * known[name]) < 0.01, name


CODE_LLAMA = MODELS["codellama-7b"]["config"]


def test_pairs_of_two_models(drawings, page):
    """Of each its wavelengths, and the ends of both contexts."""
    found = drawings(
        {"view": "compare", "a": "model=llama-3.1", "b": "model=codellama-7b"},
        shapes={"verdict": ".view > .verdict", "cells": ".beside td"},
    )
    one, two = (waves(page, config)["wavelengths"] for config in (LLAMA, CODE_LLAMA))
    pairs = numpy.arange(64)
    check_curves(
        curves(found)[0],
        [
            Line(pairs, one, "query"),
            Line(pairs, two, "key", 0.4),
            Line(pairs, numpy.full(64, 131072), "ink", 0.25),
            Line(pairs, numpy.full(64, 16384), "ink", 0.25),
        ],
        found["tokens"],
        y_log=True,
    )
    apart = numpy.abs(1 / one - 1 / two) * 2 * math.pi
    [verdict] = [one["text"] for one in found["shapes"]["verdict"]]
    assert f"{(apart > 0).sum()} of 64 pairs" in verdict
    assert f"pair {apart.argmax()} is half a turn off at token" in verdict
    assert verdict.endswith(f" {math.ceil(math.pi / apart.max())}.")
    cells = [one["text"].replace("\u202f", "") for one in found["shapes"]["cells"]]
    assert cells[:2] == ["500000", "1000000"], "the base"


def test_equal_models(drawings):
    same = drawings(
        {"view": "compare", "a": "model=llama-3.1", "b": "model=llama-3.1"},
        shapes={"verdict": ".view > .verdict"},
    )
    assert same["shapes"]["verdict"][0]["text"].startswith("Same positions.")
    assert len(curves(same)) == 1


def test_the_table_of_models(drawings):
    """Every model, sorted by a column, each with a link to the first screen."""
    found = drawings(
        {"view": "models", "sort": "-base"},
        shapes={"names": ".models tbody a", "cells": ".models tbody td:nth-child(3)"},
    )
    assert {urllib.parse.urlsplit(one["href"]).query for one in found["shapes"]["names"]} == {
        f"model={name}" for name in MODELS
    }
    bases = [one["text"].replace("\u202f", "") for one in found["shapes"]["cells"]]
    numbers = [float(one) for one in bases if one != "–"]
    assert numbers == sorted(numbers, reverse=True) and bases[len(numbers) :].count("–") == 4
    some = drawings({"view": "models", "find": "yarn sliding"}, shapes={"rows": ".models tbody tr"})
    yarn = [
        one["row"]
        for one in MODELS.values()
        if one["row"].get("scaling") == "yarn" and "sliding" in json.dumps(one["row"]["kinds"])
    ]
    assert len(some["shapes"]["rows"]) == len(yarn) > 0


ENGINES = """(() => ({
    text: document.querySelector("textarea").value,
    judged: [...document.querySelectorAll(".engines li")].map((one) => ({
        verdict: one.dataset.verdict,
        engines: one.querySelector("p").innerText.replace(/\\n.*/s, ""),
        reason: one.querySelector("small")?.innerText ?? "",
        findings: [...one.querySelectorAll("p + p")].map((line) => line.innerText),
    })),
    selected: document.activeElement.value?.slice(
        document.activeElement.selectionStart, document.activeElement.selectionEnd),
}))()"""
JUDGED = "document.querySelector('.engines li') && !document.documentElement.dataset.busy"


def engines_of(browser, page, config, steps=(), **more):
    """What the page has of engines, and the API's answer for the text that the page shows."""
    search = {"view": "extension", "config": json.dumps(config, separators=(",", ":")), **more}
    found = browser(
        "evaluate",
        f"{page.url}/?{urllib.parse.urlencode(search)}",
        script=ENGINES,
        wait=JUDGED,
        steps=steps,
    )
    assert not found["told"], found["told"]
    answer = page.post(
        "/v1/lint", data=found["value"]["text"], headers={"Content-Type": "application/json"}
    )
    return found["value"], answer.json()["engines"]


def shown_of(judged, engine, version):
    [one] = [one for one in judged if f"{engine} {version}" in one["engines"]]
    return one


def test_engines_that_read_a_config_otherwise(browser, page):
    """gpt-oss, whose truncate is not read by mlx-lm and llama.cpp: one entry for both."""
    config = MODELS["gpt-oss-120b"]["config"]
    seen, answered = engines_of(
        browser, page, config, steps=[(".engines li p + p button", "click", {})]
    )
    assert {one["engine"] for one in answered if one["verdict"] == "differs"} >= {"mlx-lm"}
    for one in answered:
        entry = shown_of(seen["judged"], one["engine"], one["version"])
        assert entry["verdict"] == one["verdict"]
        assert len(entry["findings"]) == len(one["findings"])
        if one["verdict"] == "not-measured":
            assert entry["reason"] == one["reason"]
        for line, finding in zip(entry["findings"], one["findings"]):
            line = line.replace("\u202f", "")
            assert f"{finding['pairs']} of {finding['of']} pairs" in line
            assert f"{finding['radians']:.4g} rad at position {finding['at']}" in line
            assert f"{finding['keys'][0]} is read as {finding['reads']}" in line
            assert line.endswith(f"line {finding['line']}") and finding["line"] > 1
            assert '"truncate"' in seen["text"].splitlines()[finding["line"] - 1]
    assert len([one for one in seen["judged"] if one["verdict"] == "differs"]) == 1
    assert seen["selected"] == '"truncate"'


def test_engines_that_read_a_config_as_it_is(browser, page):
    """One line for all engines of a verdict, and none of them has a finding."""
    for one in (LLAMA, MODELS["qwen3-8b"]["config"]):
        seen, answered = engines_of(browser, page, one)
        same = [
            f"{each['engine']} {each['version']}" for each in answered if each["verdict"] == "same"
        ]
        assert len(same) > 2
        [entry] = [each for each in seen["judged"] if each["verdict"] == "same"]
        assert entry["engines"] == f"same: {', '.join(same)}" and entry["findings"] == []


def test_engines_are_not_measured_without_rotation(browser, page):
    """The reason stands there, and no kernel of a rotation is to be checked."""
    found = browser(
        "evaluate",
        f"{page.url}/?view=extension&model=bloom-3b",
        script="['.engines', '.golden'].map((one) => document.querySelector(one)?.innerText)",
        wait="document.querySelector('.engines p')",
    )
    assert not found["told"], found["told"]
    assert "not measured: engines were measured with rotary encodings" in found["value"][0]
    assert found["value"][1] is None
    answer = page.post("/v1/lint", json=MODELS["bloom-3b"]["config"])
    assert answer.status_code == 422 and "rotary encodings" in answer.json()["detail"]


def test_engines_are_named_in_chinese(browser, page):
    seen, answered = engines_of(browser, page, MODELS["gpt-oss-120b"]["config"], lang="zh-CN")
    [entry] = [one for one in seen["judged"] if one["verdict"] == "differs"]
    [finding] = next(one["findings"] for one in answered if one["verdict"] == "differs")
    assert entry["engines"].startswith("读法不同")
    assert f"{finding['of']} 个维度对中的 {finding['pairs']} 个" in entry["findings"][0]
    assert entry["findings"][0].endswith(f"第 {finding['line']} 行")


def test_the_golden_file_of_a_config(browser, page, tmp_path):
    """Saved by the page, it is what the API answers for the config that the page shows."""
    url = f"{page.url}/?view=extension&model=llama-3.1"
    text = browser("evaluate", url, script=ENGINES, wait=JUDGED)["value"]["text"]
    found = browser("taken", url, folder=str(tmp_path), buttons=".golden button")
    assert not found["told"] and found["files"] == ["golden.safetensors"]
    answer = page.post(
        "/v1/golden?format=safetensors", data=text, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 200
    assert (tmp_path / "golden.safetensors").read_bytes() == answer.content


GOLDEN = {"model_type": "llama", "head_dim": 16, "max_position_embeddings": 4096}
CHECKED = """(() => {
    const text = (selector) =>
        document.querySelector(selector)?.innerText.replaceAll("\u202f", "") ?? null;
    return { result: text(".checked") && text(".result"), failure: text(".failure") };
})()"""
CHECK_WAIT = """(document.querySelector(".checked, .failure") &&
    !document.documentElement.dataset.busy)"""


@pytest.fixture
def dropped(browser, page, tmp_path):
    """Two files that are dropped together, the golden one first: what the page shows of them."""

    def drop(golden, mine, lang="en"):
        files = {"golden.safetensors": golden, "mine.safetensors": mine}
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        found = browser(
            "evaluate",
            f"{page.url}/?view=diagnosis&lang={lang}",
            steps=[(".dropbox input", "setInputFiles", [str(tmp_path / name) for name in files])],
            wait=CHECK_WAIT,
            script=CHECKED,
        )
        return found["value"], found["told"]

    return drop


def outputs_of(golden):
    """Right ones, and wrong ones whose mistakes have names of their own, NaN among them."""
    tensors = safetensors.numpy.load(golden)
    right = {name: x for name, x in tensors.items() if name not in ("positions", "q", "k")}
    hole = right["cos"].copy()
    hole[3, 2] = numpy.nan
    angles = numpy.outer(tensors["positions"], 250000.0 ** (-numpy.arange(8) / 8))[:, None]
    first, second = numpy.split(tensors["k"], 2, axis=-1)
    cos, sin = numpy.cos(angles), numpy.sin(angles)
    other = numpy.concatenate([first * cos - second * sin, second * cos + first * sin], -1)
    wrong = {
        "attention_factor": numpy.array([1.5]),
        "cos": hole,
        "k_rotated": other.astype("f4"),
        "q_rotated": tensors["q"],
        "sin": -right["sin"],
        "softmax_scale": right["softmax_scale"],
    }
    return right, wrong


@pytest.mark.parametrize("verdict, lang", [("right", "en"), ("wrong", "en"), ("wrong", "zh-CN")])
def test_outputs_are_checked_by_a_golden_file(dropped, page, verdict, lang):
    """The page shows what the API answers: verdict, mistake, and the first wrong element of each
    output, the wrong outputs before the right ones."""
    golden = page.post("/v1/golden?format=safetensors", json=GOLDEN).content
    mine = dict(zip(("right", "wrong"), outputs_of(golden)))[verdict]
    answer = page.post(
        "/v1/check",
        data=safetensors.numpy.save(mine, {"golden": safetensors_metadata(golden)["golden"]}),
        headers={"Content-Type": "application/x-safetensors"},
    ).json()
    assert answer["verdict"] == verdict and answer["checked"] == len(mine)
    shown, errors = dropped(golden, safetensors.numpy.save(mine), lang)
    text = shown["result"]
    assert not errors and not shown["failure"]
    assert all(name in text for name in (*answer["missing"], answer["mistake"] or ""))
    if lang != "en":
        assert "错误" in text.splitlines()[1] and answer["explanation"] not in text
        return
    assert f"It is {verdict}" in text and (answer["fix"] or "") in text
    assert f"{answer['checked']} of {answer['outputs']} outputs" in text
    places = []
    for one in answer["tensors"]:
        first = one["first"] or {}
        places.append((text.index(f"{one['tensor']}: {one['verdict']}"), one["verdict"]))
        assert not one["mistake"] or f"{one['tensor']}: wrong, {one['mistake']}" in text
        if one["outside"] and one["elements"] > 1:
            named = [
                f"{key} {first[key]}" for key in ("position", "head", "element") if key in first
            ]
            assert f"{one['outside']} of {one['elements']} elements" in text
            assert f"first at {', '.join(named)}: " in text
    verdicts = [own for _, own in sorted(places)]
    assert verdicts == sorted(verdicts, reverse=True)
    if verdict == "wrong":
        assert {one["mistake"] for one in answer["tensors"]} == {
            "attention-factor-wrong",
            "not-finite",
            "not-rotated",
            "other-scheme",
            "rotated-backwards",
            None,
        }
        assert "1.5 instead of 1 " in text and ": NaN instead of 0.8928" in text
        assert "rope dim=16 base=250000" in text  # the encoding that explains k_rotated


@pytest.mark.parametrize("lang", ["en", "zh-CN"])
def test_a_changed_golden_file_is_refused(dropped, page, lang):
    """Of right outputs: a verdict by changed tensors would be one by nothing."""
    golden = page.post("/v1/golden?format=safetensors", json=GOLDEN).content
    right, _ = outputs_of(golden)
    tensors = safetensors.numpy.load(golden)
    tensors["sin"][2, 1] += 1
    changed = safetensors.numpy.save(tensors, safetensors_metadata(golden))
    shown, _ = dropped(changed, safetensors.numpy.save({"cos": right["cos"]}), lang)
    assert not shown["result"]
    wanted = "the file was changed" if lang == "en" else "标准文件与其说明不符"
    assert wanted in shown["failure"] and "sin" in shown["failure"]


IMAGES = json.loads((ROOT / "explorer/src/images.json").read_text())
IMAGE_CLASSES = {
    "flux": "FluxTransformer2DModel",
    "flux2": "Flux2Transformer2DModel",
    "qwen_image": "QwenImageTransformer2DModel",
    "lumina2": "Lumina2Transformer2DModel",
    "z_image": "ZImageTransformer2DModel",
    "hunyuan_video": "HunyuanVideoTransformer3DModel",
    "wan": "WanTransformer3DModel",
    "cogvideox": "CogVideoXTransformer3DModel",
    "kandinsky5": "Kandinsky5Transformer3DModel",
    "cosmos": "CosmosTransformer3DModel",
}


def test_rotations_of_image_models_are_those_of_their_configs(page):
    """What the page has of a model is what the API reads from the config of its class, or from the
    config of a model that the page has."""
    for name, entry in IMAGES.items():
        config = (
            {"_class_name": IMAGE_CLASSES[name], "use_rotary_positional_embeddings": True}
            if name in IMAGE_CLASSES
            else MODELS["qwen2.5-vl"]["config"]
            if name == "qwen2_5_vl"
            else {
                "model_type": "qwen3_vl_text",
                "head_dim": 128,
                "max_position_embeddings": 262144,
                "num_attention_heads": 32,
                "rope_theta": 5000000,
                "rope_scaling": {
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_type": "default",
                },
            }
        )
        if name != "cogvideox":
            config.pop("use_rotary_positional_embeddings", None)
        answer = page.post("/v1/config", json=config)
        assert answer.status_code == 200, answer.text
        read = answer.json()["encoding"]
        assert entry["encoding"] == read["name"]
        for key, value in entry["params"].items():
            told = (
                [float(one) for one in value.split(",")] if isinstance(value, str) else float(value)
            )
            assert told == read[key], (name, key, value, read)
        assert ("axes_factor" in read) == ("axes_factor" in entry["params"])
        assert read.get("mrope_type") in (
            None,
            "interleaved" if entry["params"].get("mrope_interleaved") else "chunked",
        )


def small(found, height, width):
    return [one for one in found["canvases"] if (one.height, one.width) == (height, width)]


def check_small(canvas, values, colours, low, high):
    share = (values - low) / (high - low) if high > low else numpy.full(values.shape, 0.5)
    wanted = colours[numpy.floor(numpy.clip(share, 0, 1) * 254 + 0.5).astype(int)]
    assert numpy.abs(canvas.pixels[..., :3] - wanted).max() <= 1, canvas.label


IMAGE_HEIGHT, IMAGE_WIDTH, IMAGE_TEXT = 9, 13, 4


def test_an_image_pair_by_pair(drawings, page, colours):
    """Of Qwen-Image, with posted ids whose rows and columns are exchanged: every pair's cosines,
    the mean of all pairs' cosines around a token, the ids, and the ids that differ."""
    height, width, pair, row, column = IMAGE_HEIGHT, IMAGE_WIDTH, 11, 2, 10
    found = drawings(
        {
            "view": "grid",
            "model_type": "qwen_image",
            "height": height,
            "width": width,
            "text": IMAGE_TEXT,
            "pair": pair,
            "row": row,
            "column": column,
            "sample": "transposed",
        },
        crosses=[(0, 0.5 / width, 4.5 / height), (1, 0.5 / width, 4.5 / height)],
    )
    rows, columns = numpy.indices((height, width))
    ids = numpy.stack([0 * rows, rows - (height - height // 2), columns - (width - width // 2)])
    axes = numpy.repeat([0, 1, 2], [8, 28, 28])
    waves = numpy.concatenate([10000.0 ** (-numpy.arange(n) / n) for n in (8, 28, 28)])
    angles = ids[axes] * waves[:, None, None]
    cosines = numpy.cos(angles)
    likeness = numpy.cos(angles - angles[:, row, column][:, None, None]).mean(0)
    one, whole = heats(found)
    check_heat(one, cosines[pair], colours["rdbu"], (-1, 1))
    check_heat(whole, likeness, colours["viridis"], (likeness.min(), likeness.max()))
    check_heat_axes(one, range(height), range(width))
    for cross, value in zip(found["crossed"], (cosines[pair, 4, 0], likeness[4, 0])):
        assert (int(cross["row"]), int(cross["column"])) == (4, 0)
        assert abs(float(cross["value"]) - value) < 1e-6
    pictures = small(found, height, width)
    assert len(pictures) == len(waves) + 9
    for canvas, values in zip(pictures, cosines):
        check_small(canvas, values, colours["rdbu"], -1, 1)
    # The text is at 6, 7, ... on every axis: half of the larger side.
    text = numpy.arange(IMAGE_TEXT) + width // 2
    posted = ids[[0, 2, 1]]
    for axis in range(3):
        right, given, marks = pictures[len(waves) + 3 * axis :][:3]
        low, high = min(ids[axis].min(), text.min()), max(ids[axis].max(), text.max())
        check_small(right, ids[axis], colours["viridis"], low, high)
        check_small(given, posted[axis], colours["viridis"], low, high)
        red = numpy.abs(marks.pixels[..., :3] - numpy.array(found["tokens"]["bad"])).sum(-1) == 0
        assert (red == (ids[axis] != posted[axis])).all()


def test_biases_of_a_model(drawings, page):
    """Of a model that turns nothing: slopes of its heads on the first screen."""
    found = drawings({"model": "bloom-3b"})
    heads = MODELS["bloom-3b"]["config"].get("n_head") or MODELS["bloom-3b"]["config"]["num_heads"]
    slopes = -array(
        page.url, "/v1/encodings/alibi/bias", heads=heads, query_length=1, key_length=2
    )[:, 0, 0]
    x = numpy.arange(-160, 1)
    check_curves(curves(found)[0], [Line(x, x * slopes.max(), "turn", 0.9)], found["tokens"])


def test_two_tables_and_their_difference(drawings, page, colours):
    found = drawings({"view": "table", "a": "dim=16&length=20", "b": "dim=16&length=20&base=100"})
    a, b = (array(page.url, SINUSOIDAL, dim=16, length=20, base=base) for base in (10000, 100))
    first, second, between = heats(found)
    check_heat(first, a, colours["rdbu"], (-1, 1))
    check_heat(second, b, colours["rdbu"], (-1, 1))
    most = numpy.abs(b - a).max()
    check_heat(between, b - a, colours["rdbu"], (-most, most))


def test_small_pictures_of_the_first_screen(drawings, page):
    """Bars of the gallery are as high as their numbers are large."""
    gallery = json.loads((ROOT / "explorer/src/gallery.json").read_text())
    found = drawings(
        {}, shapes={f"card{i}": f".card:nth-child({i + 1}) rect" for i in range(len(gallery))}
    )
    checked = 0
    for i, entry in enumerate(gallery):
        draw = entry["draw"]
        if draw["form"] != "bars":
            continue
        name, *path = draw["data"].split(".")
        asked = entry["asks"][name]
        if asked.get("model") or asked.get("json"):
            continue
        values = page.get(asked["target"] + "&format=json&flat=true").json()
        for part in path:
            values = values[part]
        values = numpy.array([float(one) for one in values])
        size = (
            numpy.log10(numpy.maximum(values, 1)) + 0.15
            if draw.get("log")
            else numpy.maximum(values, 0)
        )
        heights = [float(one["height"]) for one in found["shapes"][f"card{i}"]]
        assert numpy.allclose(heights, numpy.maximum(1, size / size.max() * 52), atol=0.01), entry
        for one, height in zip(found["shapes"][f"card{i}"], heights):
            assert abs(float(one["y"]) + height - 56) < 0.01
        checked += 1
    assert checked >= 1
