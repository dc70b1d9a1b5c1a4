# SPDX-License-Identifier: MIT
"""What the page does where something is wrong: in its link, in a config, with the server, or with
the time that an answer takes. For every view. Part of `make test`."""

import re
import urllib.parse

import pytest

SIZE = {"width": 390, "height": 844}
REQUESTS = re.compile(
    r"/v1|/openapi|\b(GET|POST|HTTP)\b|\b[Pp]arameters?\b|\bheaders?\b|\bbody\b|"
    r"format=|--[a-z]|Failed to fetch|JSON pointer"
)
VIEWS = (
    "home",
    "extension",
    "table",
    "precision",
    "models",
    "compare",
    "story",
    "rotation",
    "grid",
    "distance",
    "attention",
    "diagnosis",
)
# The slider of each whose every step is another request.
SLIDERS = {
    "home": "context",
    "extension": "context",
    "table": "length",
    "precision": "base",
    "story": "length",
    "rotation": "base",
    "distance": "base",
    "attention": "length",
}
# Values of links that a view cannot take, each reported while the default is shown; names that no
# view has are among them where names are not passed on to the API.
FAULTS = {
    "home": {"model": "foo", "context": "abc", "layer_type": "foo", "show": "bar"},
    "extension": {"model": "foo", "context": "0.5", "times": "-3", "layer_type": "foo"},
    "table": {
        "pool": "foo",
        "rows": "9",
        "columns": "a..b",
        "operation": "scale",
        "head": "7",
        "plot_rows": "x",
        "axis": "up",
    },
    "precision": {"angle": "f64", "dim": "2.5", "base": "x", "reach": "1", "nonsense": "1"},
    "models": {"sort": "size", "nonsense": "1"},
    "story": {"step": "2.5", "length": "many", "frequency": "9", "nonsense": "1"},
    "rotation": {"dim": "7", "position": "1.5", "base": "1", "delta": "-1", "nonsense": "1"},
    "grid": {
        "model_type": "foo",
        "height": "0",
        "width": "2.5",
        "frames": "4",
        "text": "99",
        "frame": "1",
        "pair": "64",
        "row": "24",
        "column": "40",
        "sample": "foo",
    },
    "distance": {"encoding": "foo", "dim": "x", "base": "0", "max_offset": "-5", "nonsense": "1"},
    "attention": {
        "encoding": "foo",
        "bias": "foo",
        "head": "7",
        "query_length": "9.5",
        "nonsense": "1",
    },
    "diagnosis": {"sample": "foo", "nonsense": "1"},
}
# Values that the API refuses.
REFUSED = [
    ("home", {"base": "-1"}),
    ("home", {"config": "{"}),
    ("home", {"nonsense": "1"}),
    ("home", {"config": '{"model_type":"llama","rope_theta":"x"}'}),
    ("extension", {"base": "x"}),
    ("extension", {"config": '{"model_type":"nonesuch"}'}),
    ("table", {"encoding": "rope", "dim": "7"}),
    ("table", {"encoding": "foo"}),
    ("table", {"length": "-1"}),
    ("table", {"layout": "foo"}),
    ("table", {"nonsense": "1"}),
    ("precision", {"dim": "7"}),
    ("distance", {"dim": "7"}),
    ("diagnosis", {"expected": "encoding=rope&base=-1"}),
    ("diagnosis", {"expected": "nonsense"}),
]


@pytest.fixture(scope="module")
def page(start_shared):
    return start_shared().url


@pytest.fixture(scope="module")
def scene(browser, page):
    def play(acts, search, **more):
        acts = [one if isinstance(one, tuple) else (one, None) for one in acts]
        return browser(
            "scene", f"{page}/?{urllib.parse.urlencode(search)}", play=acts, **{**SIZE, **more}
        )

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


@pytest.mark.parametrize("view", FAULTS)
def test_values_that_a_view_cannot_take_are_reported(scene, usual, view):
    [seen] = scene(["see"], {"view": view, **FAULTS[view]})["views"]
    lines = [one["text"] for one in seen["faults"]]
    assert not seen["failures"] and seen["pictures"], "the default is shown"
    for name, value in FAULTS[view].items():
        assert any(f"{name}={value}" in line for line in lines), (name, lines)
    assert len(lines) == len(FAULTS[view]) and not REQUESTS.search(" ".join(lines))
    assert set(usual(view)["controls"]) <= set(seen["controls"])


def controls_that_stay(view, wrong, usual):
    """What can be changed, whether there is a picture or not: not the names of a config that was
    not read, and not where hands are that are not there."""
    kept = set(usual(view)["controls"])
    if view == "table":
        return kept & {"encoding", *(["length"] if wrong.get("encoding") != "foo" else [])}
    if view == "extension":
        kept = (
            {one for one in kept if not re.fullmatch("[a-z_]+", one)}
            | {"context"}
            | ({"base"} & set(wrong))
        )
    return kept - {"position", "factor of all"}


@pytest.mark.parametrize(
    "view,wrong",
    REFUSED,
    ids=[
        f"{view}-{'-'.join(f'{k}={v}' for k, v in wrong.items())}"[:48] for view, wrong in REFUSED
    ],
)
def test_a_refused_value_is_marked_and_takes_no_control_away(scene, usual, view, wrong):
    [seen] = scene(["see"], {"view": view, **wrong})["views"]
    words, name = words_of(seen), list(wrong)[-1]
    assert above_the_fold(seen) and not REQUESTS.search(words), words
    assert name in seen["wrong"] or f"leave {name} out" in words, (seen["wrong"], words)
    kept = controls_that_stay(view, wrong, usual)
    assert kept <= set(seen["controls"]), kept - set(seen["controls"])


@pytest.mark.parametrize(
    "view,wrong",
    (("table", {"layout": "foo"}), ("precision", {"dim": "7"}), ("home", {"config": "{"})),
)
def test_a_mended_value_is_marked_no_more(scene, page, view, wrong):
    played = scene(
        ["see", ("follow", f"{page}/?view={view}"), "settle", "see"], {"view": view, **wrong}
    )
    before, after = played["views"]
    assert before["failures"] and not after["failures"] and not after["wrong"]
    assert before["wrong"] or view == "precision"  # whose dim has no control


@pytest.mark.parametrize(
    "name,value", (("view", "foo"), ("lang", "xx"), ("theme", "pink"), ("present", "yes"))
)
def test_a_wrong_name_of_the_page_is_reported(scene, name, value):
    [seen] = scene(["see"], {name: value})["views"]
    assert value in words_of(seen) and seen["pictures"]


def test_each_side_of_a_comparison_has_its_failures(scene):
    [seen] = scene(
        ["see"], {"view": "table", "a": "encoding=rope&dim=7", "b": "dim=16&foo=1"}, width=1200
    )["views"]
    assert len(seen["failures"]) == 2 and "foo" in words_of(seen)
    [seen] = scene(["see"], {"view": "distance", "a": "dim=x", "b": "encoding=foo"}, width=1200)[
        "views"
    ]
    assert len(seen["faults"]) == 2


def test_one_of_two_models_is_refused(scene):
    """The failure stands at its side, and no verdict is left of the two before."""
    played = scene(
        ["see", ("fill", ("section.side:nth-child(2) textarea", '{"rope_theta": []}'))]
        + [("wait", 500), "settle", "see"],
        {"view": "compare"},
        width=1200,
    )
    before, after = played["views"]
    assert any("positions." in text for text in before["texts"]) and "curves" in before["pictures"]
    assert len(after["failures"]) == 1 and after["wrong"] == ["config"]
    assert not any("positions." in text for text in after["texts"]) and not after["pictures"]


@pytest.mark.parametrize("view", SLIDERS)
def test_a_server_that_is_gone(scene, view):
    """No picture of other values than the controls have; the failure is seen from any place of the
    page; and what was asked for is there when the server is back."""
    played = scene(
        [
            "see",
            "block",
            ("slide", (SLIDERS[view], 2, 30)),
            "settle",
            ("scroll", 0),
            "see",
            ("scroll", 300),
            "see",
            "unblock",
            ("click", ".failures button.chip"),
            "settle",
            "see",
        ],
        {"view": view},
    )
    before, gone, scrolled, after = played["views"]
    assert above_the_fold(gone) and above_the_fold(scrolled)
    assert "does not answer" in words_of(gone) and not REQUESTS.search(words_of(gone))
    assert len(gone["failures"]) == 1, "one server is gone, which is one failure"
    left = (
        [one for one in gone["pictures"] if one != "heat"]
        if view == "attention"
        else gone["pictures"]
    )
    assert view == "attention" or not left, left
    assert not after["failures"] and sorted(after["pictures"]) == sorted(before["pictures"])


def test_bytes_of_a_fact_that_do_not_come(scene):
    played = scene(
        ["block", ("click", ".fact summary"), ("wait", 200), "settle", "see"], {"view": "home"}
    )
    [seen] = played["views"]
    assert any("does not answer" in text for text in seen["texts"]) and "…" not in seen["texts"]


def test_a_script_that_did_not_come_is_fetched_again(scene):
    """That of the other views, which the first screen does not have."""
    script = "**/second.js*"
    played = scene(
        [
            ("block", script),
            ("click", 'nav a[href*="view=story"]'),
            "settle",
            "see",
            ("unblock", script),
            ("click", ".failures button.chip"),
            "settle",
            "see",
        ],
        {},
        width=1200,
    )
    gone, after = played["views"]
    assert len(gone["failures"]) == 1 and not gone["pictures"]
    assert not after["failures"] and after["pictures"]


def test_after_a_refused_config_nothing_of_another_model_is_left(scene):
    played = scene(
        [
            "see",
            ("fill", ("textarea", '{"model_type": "llama", "rope_theta": []}')),
            ("wait", 500),
            "settle",
            "see",
        ],
        {},
        still=False,
    )
    before, after = played["views"]
    assert "hands" in before["pictures"] and after["failures"] and not after["pictures"]
    assert "config" in after["wrong"] and above_the_fold(after)
    assert not any("Llama" in text for text in after["texts"] if text != "Llama 3.1")


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_said_before_it_is_known(scene, view):
    """While answers wait, every text that is seen is one that stays."""
    waiting, settled = scene([("wait", 150), "see", "settle", "see"], {"view": view}, delay=500)[
        "views"
    ]
    gone = set(waiting["texts"]) - set(settled["texts"])
    assert not gone, gone


@pytest.mark.parametrize("view", SLIDERS)
def test_requests_that_a_slider_ends_are_no_failures(scene, view):
    """Steps come faster than answers."""
    played = scene(
        ["settle", ("slide", (SLIDERS[view], 5, 60)), "settle", "see"], {"view": view}, delay=150
    )
    assert not played["failed"] and not played["views"][0]["failures"], (view, played["failed"])
    assert played["views"][0]["pictures"]


def test_the_way_out_of_a_value_that_has_no_control(scene):
    refused, after = scene(
        ["see", ("click", ".failures button.link"), "settle", "see"], {"view": "home", "base": "-1"}
    )["views"]
    assert refused["failures"] and not after["failures"] and "hands" in after["pictures"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_choice_is_in_the_link(browser, page, view):
    """A list shows the value of the link, the default's where the link has none, and what was
    chosen is shown again by the link that the page then has."""
    asked = {"view": view, "lang": "zh-CN", "theme": "dark"}
    found = browser("choices", f"{page}/?{urllib.parse.urlencode(asked)}", **SIZE)
    for one in found["lists"]:
        assert one["shown"] in one["options"], one
        assert one["after"] == one["chosen"], (one["label"], one["link"])
        assert len(set(one["options"])) == len(one["options"]) > 1, one
    paths = [urllib.parse.urlsplit(link) for link in found["links"]]
    pages = [link for link in paths if link.path in ("/", "/docs")]
    assert {link.path for link in pages} == {"/", "/docs"}
    for link in pages:
        kept = dict(urllib.parse.parse_qsl(link.query))
        assert "lang" in kept and "theme" in kept, link
