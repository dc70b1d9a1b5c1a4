# SPDX-License-Identifier: MIT
"""Every view of the page in a browser: at three widths, light and dark, in both languages, from
posencd and as static files. Screenshots stay in build/explorer-shots."""

import gzip
import json
import os
import statistics
import subprocess
import sys
import urllib.parse

import numpy
import pytest
from browsing import ROOT, SHOTS

DOORS = ("http", "site")
SCRIPT_MAX, SECOND_MAX = 60 << 10, 34 << 10  # bytes as gzip
SIZES = {1440: 900, 768: 1024, 390: 844}
# Milliseconds and frames that are meant; a machine with other work is given three times as long.
FIRST_MS, SITE_MS, FRAMES, BUSY = 300, 1500, 50, 3


def address(doors, door, view, **more):
    query = {"view": view, **more} if view else more
    return doors[door] + ("?" + urllib.parse.urlencode(query) if query else "")


def figure(name, value):
    """Keeps a figure for the notes, beside the screenshots."""
    path = SHOTS / "figures.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | {name: value}, indent=1, sort_keys=True))
    print(f"{name}: {value}")


def test_types():
    done = subprocess.run(
        ["node_modules/.bin/tsc", "--noEmit"], cwd=ROOT / "explorer", text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout


def test_the_script_is_small():
    """What the first screen loads; second.js comes with the views that are in it."""
    folder = ROOT / os.environ.get("BUILD", "build") / "explorer"
    sizes = [
        len(gzip.compress((folder / name).read_bytes(), 9))
        for name in ("explorer.js", "shared.js", "second.js")
    ]
    assert sum(sizes[:2]) < SCRIPT_MAX and sizes[2] < SECOND_MAX, sizes


def test_the_second_script_is_not_loaded_by_the_first_screen(browser, doors):
    script = "performance.getEntriesByType('resource').map((one) => one.name)"
    wait = "performance.getEntriesByName('drawn').length"
    names = {
        view: browser("evaluate", address(doors, "http", view), script=script, wait=wait)["value"]
        for view in ("", "table", "models")
    }
    loaded = {view: any("second.js" in one for one in all_) for view, all_ in names.items()}
    assert loaded == {"": False, "table": False, "models": True}


@pytest.mark.parametrize("lang", ("en", "zh-CN"))
@pytest.mark.parametrize("theme", ("light", "dark"))
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("door", DOORS)
def test_views(browser, doors, views, door, width, theme, lang):
    """No error, nothing from elsewhere, nothing that axe finds, nothing wider than the window."""
    wrong = {}
    for view in views:
        found = browser(
            "visit",
            address(doors, door, view, lang=lang),
            width=width,
            theme=theme,
            height=SIZES[width],
            shot=str(SHOTS / f"{view or 'first'}-{door}-{width}-{theme}-{lang}.png"),
        )
        found["wide"] = max(found["wide"], 0)
        assert found.pop("drawn") is not None, view
        if any(found.values()):
            wrong[view] = found
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("width", SIZES)
def test_all_is_reached_by_keys(browser, doors, views, width):
    missed = {
        view: browser("tabs", address(doors, "http", view), width=width)["missed"] for view in views
    }
    assert not any(missed.values()), missed


def test_values_are_those_of_the_api(browser, doors, views):
    """What a cross shows was answered by the API, or is the logarithm of that, and is the same
    without a server. Maps of differences stand beside the two that they are of."""
    for view in views:
        there = browser("values", address(doors, "http", view), answered=True)
        here = browser("values", address(doors, "site", view))
        assert there["shown"] == here["shown"] and there["told"] == here["told"] == []
        numbers = numpy.array([number for tensor in there["answered"] for number in tensor], float)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            logs = numpy.log10(numpy.abs(numbers)).astype("f4")
        answered = {*numbers.tolist(), *logs.tolist()}
        cells = [
            (one, float(one["value"]) in answered)
            for one in there["shown"]
            if one["kind"] == "heat"
        ]
        assert not cells or any(found for _, found in cells), cells
        assert view not in ("", "table") or all(found for _, found in cells), cells


@pytest.mark.parametrize("width", (1440, 390))
@pytest.mark.parametrize("door", DOORS)
def test_a_url_opened_afresh_shows_the_same(browser, doors, views, door, width):
    other = {
        view: found["url"]
        for view in views
        if not (
            found := browser(
                "again",
                address(doors, door, view),
                width=width,
                shot=str(SHOTS / f"again-{view or 'first'}-{door}-{width}.png"),
            )
        )["same"]
    }
    assert not other, other


@pytest.mark.parametrize("door,most", (("http", FIRST_MS), ("site", SITE_MS)))
def test_the_first_view_is_there_soon(browser, doors, door, most):
    took = statistics.median(
        browser("visit", doors[door], still=False, axe=False)["drawn"] for _ in range(5)
    )
    figure(f"first view, {door}, ms", round(took))
    assert took < most * BUSY


@pytest.mark.parametrize("door", DOORS)
def test_frames_while_a_slider_moves(browser, doors, door):
    url = address(doors, door, "table", encoding="sinusoidal", dim=128, length=512)
    found = browser("slide", url, still=False)
    figure(f"frames a second, {door}", found)
    assert found["rate"] > FRAMES / BUSY


def test_requests_that_nobody_waits_for_are_ended(browser, doors):
    found = browser("stale", address(doors, "http", "table"))
    assert found["begun"] >= 5 and found["alive"] <= found["begun"] / 2 and not found["told"], found


BEGINS = {"png": b"\x89PNG", "svg": b"<svg", "npy": b"\x93NUMPY", "csv": b""}


@pytest.mark.parametrize("door", DOORS)
def test_files_are_what_they_are_called(browser, doors, door, tmp_path):
    found = browser("taken", address(doors, door, "table"), folder=str(tmp_path))
    assert len(found["files"]) > 1 and not found["told"], found
    for name in found["files"]:
        assert (tmp_path / name).read_bytes().startswith(BEGINS[name.rpartition(".")[2]]), name


def test_what_is_copied_runs(browser, doors, views, tmp_path):
    """Every request of every view, as curl and as Python, is answered."""
    path = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src")}
    for view in views:
        copied = browser("taken", address(doors, "http", view), folder=str(tmp_path))["copied"]
        assert copied, view
        for text in copied:
            command = (
                ["bash", "-ec", text.replace("curl ", "curl -sSf -o answer ", 1)]
                if text.startswith("curl ")
                else [sys.executable, "-c", text]
            )
            done = subprocess.run(command, cwd=tmp_path, env=path, text=True, capture_output=True)
            assert done.returncode == 0, f"{view}: {text}\n{done.stderr}"


@pytest.mark.parametrize("width", (1440, 390))
def test_two_states_stand_beside_each_other(browser, doors, width):
    """Each with its own part of the URL, which a slider of the first changes alone."""
    url = address(doors, "http", "table", a="dim=64&length=100", b="encoding=rope")
    found = browser("visit", url, width=width, shot=str(SHOTS / f"compare-{width}.png"))
    assert not found["told"] and not found["faults"] and found["wide"] <= 0, found
    again = browser("again", url, width=width)
    parts = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(again["url"]).query))
    assert again["same"] and parts["b"] == "encoding=rope", again
    assert parts["a"].startswith("dim=64&length=") and parts["a"] != "dim=64&length=100"
