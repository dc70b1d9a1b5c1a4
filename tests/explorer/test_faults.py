# SPDX-License-Identifier: MIT
"""What the page does where something is wrong: in its link, in a config, with the server, or with
the time that an answer takes. For every view. Part of `make test`."""
import json
import re
import urllib.parse

import pytest

SIZE = {"width": 390, "height": 844}
REQUESTS = re.compile(r"/v1|/openapi|\b(GET|POST|HTTP)\b|\b[Pp]arameters?\b|\bheaders?\b|\bbody\b|"
                      r"format=|--[a-z]|Failed to fetch|JSON pointer")
VIEWS = ("home", "extension", "table", "precision", "story", "rotation", "distance", "attention",
         "diagnosis")
# The slider of each whose every step is another request.
SLIDERS = {"home": "context", "extension": "context", "table": "length", "precision": "base",
           "story": "length", "rotation": "base", "distance": "base", "attention": "length"}
# Values that the named view cannot take, or that the API refuses.
WRONG = [
    ("home", {"model": "foo"}), ("home", {"context": "abc"}), ("home", {"layer_type": "foo"}),
    ("home", {"base": "-1"}), ("home", {"config": "[]"}), ("home", {"config": "{"}),
    ("home", {"config": '{"model_type":"llama","rope_theta":"x"}'}),
    ("extension", {"model": "foo"}), ("extension", {"base": "x"}), ("extension", {"show": "foo"}),
    ("extension", {"config": '{"model_type":"nonesuch"}'}),
    ("table", {"encoding": "rope", "dim": "7"}), ("table", {"dim": "x"}),
    ("table", {"encoding": "foo"}), ("table", {"pool": "foo"}), ("table", {"rows": "9"}),
    ("table", {"operation": "scale"}), ("table", {"encoding": "alibi", "head": "99"}),
    ("table", {"length": "-1"}), ("table", {"layout": "foo"}),
    ("precision", {"angle": "f64"}), ("precision", {"dim": "7"}), ("precision", {"reach": "1"}),
    ("story", {"step": "9"}), ("story", {"step": "2.5"}), ("story", {"length": "many"}),
    ("rotation", {"dim": "7"}), ("rotation", {"position": "1.5"}), ("rotation", {"base": "1"}),
    ("distance", {"encoding": "foo"}), ("distance", {"dim": "7"}), ("distance", {"base": "0"}),
    ("attention", {"encoding": "foo"}), ("attention", {"bias": "foo"}),
    ("attention", {"head": "7"}), ("attention", {"query_length": "9.5"}),
    ("diagnosis", {"sample": "foo"}), ("diagnosis", {"expected": "encoding=rope&base=-1"}),
    ("diagnosis", {"expected": "nonsense"}),
]


@pytest.fixture(scope="module")
def page(start_shared):
    return start_shared().url


@pytest.fixture(scope="module")
def scene(browser, page):
    def play(acts, search, **more):
        acts = [one if isinstance(one, tuple) else (one, None) for one in acts]
        return browser("scene", f"{page}/?{urllib.parse.urlencode(search)}", play=acts,
                       **{**SIZE, **more})
    return play


@pytest.fixture(scope="module")
def usual(scene):
    """What each view shows where nothing is wrong."""
    found = {}

    def look(view):
        if view not in found:
            found[view] = scene(["see"], {"view": view})["views"][0]
        return found[view]
    return look


def test_every_view_is_here(browser, page):
    assert {name or "home" for name in browser("views", page)} == set(VIEWS)


def above_the_fold(view):
    return any(0 <= one["top"] and one["bottom"] <= view["height"] for one in view["failures"])


def words_of(view):
    return " ".join(one["text"] for one in view["failures"] + view["faults"])


@pytest.mark.parametrize("view,wrong", WRONG, ids=[
    f"{view}-{'-'.join(f'{k}={v}' for k, v in wrong.items())}"[:48] for view, wrong in WRONG])
def test_a_wrong_value_is_reported_and_takes_no_control_away(scene, usual, view, wrong):
    [seen] = scene(["see"], {"view": view, **wrong})["views"]
    [name] = [one for one in wrong if one != "encoding"] or ["encoding"]
    words = words_of(seen)
    assert seen["failures"] or seen["faults"]
    assert not REQUESTS.search(words), words
    if seen["faults"]:
        assert name in words and wrong[name] in words
        assert seen["pictures"], "the default is shown"
    else:
        assert above_the_fold(seen)
        assert name in seen["wrong"] or re.search(name + "|config|leave", words), (seen, words)
    kept = set(usual(view)["controls"])
    if view == "table":
        kept &= {"encoding", *(["length"] if wrong.get("encoding") not in ("foo", "alibi") else [])}
    if view == "extension" and seen["failures"]:  # its table is of a config that was read
        kept = {one for one in kept if one and not re.fullmatch("[a-z_]+", one)} | set(
            one for one in wrong if one == "base")
    if view == "home":
        kept -= {"position"}  # of the hands, which are not there
    assert kept <= set(seen["controls"]) | ({"factor of all"} if seen["failures"] else set()), \
        kept - set(seen["controls"])


@pytest.mark.parametrize("name,value", (("view", "foo"), ("lang", "xx"), ("theme", "pink"),
                                        ("present", "yes")))
def test_a_wrong_name_of_the_page_is_reported(scene, name, value):
    [seen] = scene(["see"], {name: value})["views"]
    assert value in words_of(seen) and seen["pictures"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_name_that_no_view_has_is_reported(scene, view):
    [seen] = scene(["see"], {"view": view, "nonsense": "1"})["views"]
    assert "nonsense" in words_of(seen)


def test_each_side_of_a_comparison_has_its_failures(scene):
    [seen] = scene(["see"], {"view": "table", "a": "encoding=rope&dim=7", "b": "dim=16&foo=1"},
                   width=1200)["views"]
    assert len(seen["failures"]) == 2 and "foo" in words_of(seen)
    [seen] = scene(["see"], {"view": "distance", "a": "dim=x", "b": "encoding=foo"},
                   width=1200)["views"]
    assert len(seen["faults"]) == 2


@pytest.mark.parametrize("view", SLIDERS)
def test_a_server_that_is_gone(scene, view):
    """No picture of other values than the controls have; the failure is seen from any place of the
    page; and what was asked for is there when the server is back."""
    played = scene(["see", "block", ("slide", (SLIDERS[view], 2, 30)), "settle", ("scroll", 0), "see",
                    ("scroll", 300), "see", "unblock", ("click", ".failures button.chip"), "settle",
                    "see"], {"view": view})
    before, gone, scrolled, after = played["views"]
    assert above_the_fold(gone) and above_the_fold(scrolled)
    assert "does not answer" in words_of(gone) and not REQUESTS.search(words_of(gone))
    assert len(gone["failures"]) == 1, "one server is gone, which is one failure"
    left = [one for one in gone["pictures"] if one != "heat"] if view == "attention" else \
        gone["pictures"]
    assert view == "attention" or not left, left
    assert not after["failures"] and sorted(after["pictures"]) == sorted(before["pictures"])


def test_after_a_refused_config_nothing_of_another_model_is_left(scene):
    played = scene(["see", ("fill", ("textarea", '{"model_type": "llama", "rope_theta": []}')),
                    ("wait", 500), "settle", "see"], {}, still=False)
    before, after = played["views"]
    assert "hands" in before["pictures"] and after["failures"] and not after["pictures"]
    assert "config" in after["wrong"] and above_the_fold(after)
    assert not any("Llama" in text for text in after["texts"] if text != "Llama 3.1")


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_said_before_it_is_known(scene, view):
    """While answers wait, every text that is seen is one that stays."""
    waiting, settled = scene([("wait", 150), "see", "settle", "see"],
                               {"view": view}, delay=500)["views"]
    gone = set(waiting["texts"]) - set(settled["texts"])
    assert not gone, gone


def test_requests_that_a_slider_ends_are_no_failures(scene):
    for view, slider in SLIDERS.items():
        played = scene(["settle", ("slide", (slider, 10, 60)), ("wait", 1200), "settle", "see"],
                       {"view": view}, delay=150)
        assert not played["failed"] and not played["views"][0]["failures"], (view, played["failed"])
        assert played["views"][0]["pictures"]


def test_the_way_out_of_a_value_that_has_no_control(scene):
    refused, after = scene(["see", ("click", ".failures button.link"), "settle", "see"],
                           {"view": "home", "base": "-1"})["views"]
    assert refused["failures"] and not after["failures"] and "hands" in after["pictures"]


def test_links_and_words(scene):
    """A link survives its faults: what can be understood of it is shown."""
    [seen] = scene(["see"], {"view": "story", "step": "5", "length": "x", "foo": json.dumps([1])}
                   )["views"]
    assert len(seen["faults"]) == 2 and any("sine" in text for text in seen["texts"])
