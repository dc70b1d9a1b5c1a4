# SPDX-License-Identifier: MIT
"""The tokens of images: frames of videos, how far pairs turn, ids of one's own, refused values,
and its controls. What is quick of the view is in test_drawings.py, test_pages.py and
test_faults.py."""

import json
import urllib.parse

import numpy
import pytest
from browsing import texts
from drawn import Canvas, number, palette
from test_drawings import check_small, small

SIZE = {"width": 900, "height": 900}
FAILURES = "[...document.querySelectorAll('.failures .failure')].map((one) => one.innerText)"
REFUSED = (
    ({"axes_dim": "15,56,56"}, "axes_dim must be even whole numbers"),
    ({"axes_dim": "16,56"}, "positions of rope-nd have 2 rows of coordinates"),
    ({"position_ids": "[[0, 1"}, "a list of numbers is expected"),
    ({"position_ids": "[[0, 0.5]]"}, "holds whole numbers, got 0.5"),
)


@pytest.fixture(scope="module")
def page(start_shared):
    return start_shared().url


@pytest.fixture(scope="module")
def on_grid(evaluated):
    def evaluate(search, script, **more):
        return evaluated({"view": "grid", **search}, script, **more)

    return evaluate


def test_a_frame_of_a_video(browser, page):
    """Time is what differs between frames, and all tokens in their order have it in their strip."""
    frames, height, width = 3, 4, 6
    colours = {name: palette(page, name) for name in ("rdbu", "viridis")}
    search = urllib.parse.urlencode(
        {
            "view": "grid",
            "model_type": "wan",
            "frames": frames,
            "frame": 2,
            "height": height,
            "width": width,
        }
    )
    found = browser("drawings", f"{page}/?{search}", **SIZE)
    assert not found["told"], found["told"]
    found["canvases"] = [Canvas(**one) for one in found["canvases"]]
    pictures = small(found, height, width)
    cosines = numpy.cos(2 * 10000.0 ** (-numpy.arange(22) / 22))
    for canvas, value in zip(pictures[:22], cosines):
        check_small(canvas, numpy.full((height, width), value), colours["rdbu"], -1, 1)
    ids = numpy.indices((frames, height, width))
    for axis, canvas in enumerate(pictures[64:]):
        check_small(canvas, ids[axis][2], colours["viridis"], 0, ids[axis].max())
    strips = small(found, 1, frames * height * width)
    assert len(strips) == 3
    for axis, canvas in enumerate(strips):
        check_small(canvas, ids[axis].reshape(1, -1), colours["viridis"], 0, ids[axis].max())


def test_how_far_a_pair_turns(on_grid):
    """The axis of a pair, the ids of one turn, and its turns over the image."""
    for pair, axis, base, k in (
        (12, "height", 10000, 4),
        (40, "width", 500, 4),
        (3, "time", 30, 3),
    ):
        count = 8 if axis == "time" else 28
        wave = 2 * numpy.pi * float(base) ** (k / count)
        name, *said = on_grid(
            {"pair": pair, "base": base, "height": 20, "width": 50},
            texts(".verdict b, main .verdict em"),
        )
        assert name == axis and numpy.isclose(number(said[0]), wave, rtol=5e-4)
        if axis == "time":
            assert len(said) == 1
        else:
            assert numpy.isclose(
                number(said[1]), (19 if axis == "height" else 49) / wave, rtol=5e-3
            )


@pytest.mark.parametrize("lang", ("en", "zh-CN"))
def test_ids_of_ones_own(on_grid, lang):
    """Ids of a link, of which some differ: the numbers of the report, and of each axis."""
    ids = numpy.indices((1, 3, 4)).reshape(3, 12)
    posted = ids.copy()
    posted[1, 5] = 7
    posted[2, 6:9] = 1
    counts = (posted != ids).sum(1)
    result, captions, cells = on_grid(
        {
            "lang": lang,
            "height": 3,
            "width": 4,
            "text": 0,
            "position_ids": f"tensor({posted.tolist()}, device='cuda:0')",
        },
        f"[document.querySelector('.result').textContent, {texts('.differ')}, "
        f"{texts('.parts td')}]",
    )
    assert f"{counts.sum()} of {ids.size} ids differ" in result or lang != "en"
    assert f"{ids.size} 个 id 中 {counts.sum()} 个不同" in result or lang == "en"
    assert (
        "height of token 5: 7 instead of 1" if lang == "en" else "token 5 的高：7，应为 1"
    ) in result
    assert len(captions) == 2
    for caption, count in zip(captions, counts[1:]):
        assert (
            f"{count} of 12 differ{'s' if count == 1 else ''}" in caption
            or f"12 个中 {count} 个不同" in caption
        )
    assert cells == ["0", "0 … 2", "0 … 3"]


def test_ids_too_long_for_a_link(on_grid):
    """They are checked all the same, and the page says that no link has them."""
    ids = numpy.indices((1, 40, 60)).reshape(3, 2400).tolist()
    result, note, own = on_grid(
        {"model_type": "wan", "frames": 1, "height": 40, "width": 60},
        "[...['.result', '.ids .note'].map((one) => document.querySelector(one)?.textContent), "
        "new URL(location).searchParams.has('position_ids')]",
        steps=[("main textarea", "fill", json.dumps(ids)), ("main textarea", "blur", {})],
    )
    assert "They are right" in result and "too long for a link" in note and not own


@pytest.mark.parametrize("search,words", REFUSED)
def test_refused_values_are_named_and_the_controls_stay(on_grid, search, words):
    failures, labels = on_grid(
        search,
        f"[{FAILURES}, [...document.querySelectorAll('main :is(input, select)')]"
        ".map((one) => one.ariaLabel)]",
        refused=True,
        wait="document.querySelector('.failures .failure')",
    )
    assert len(failures) == 1 and words in failures[0], failures
    assert {"model", "rows", "columns", "tokens of text", "pair"} <= set(labels)


def test_a_mistake_is_named_in_chinese(on_grid):
    search = {"lang": "zh-CN", "sample": "transposed", "height": 3, "width": 4}
    assert on_grid(search, texts(".result p"))[:2] == [
        "高与宽互换。",
        "→ 第二行 id 是高，第三行是宽。",
    ]


def test_controls_and_pictures_are_followed(on_grid):
    """A token of the large picture, and one of the small pictures, are chosen by a click; another
    model drops what was chosen of the one before, and has its frames."""
    search = {"height": 6, "width": 8, "pair": 9, "base": 500}
    clicks = [
        ("main .heat >> nth=1", "click", {"position": {"x": 100, "y": 20}}),
        (".sheet div[title='pair 40']", "click", {}),
    ]
    params = "Object.fromEntries(new URL(location).searchParams)"
    wait = "new Promise((done) => setTimeout(done, 600))"
    verdict = "document.querySelector('.verdict').textContent"
    chosen, words = on_grid(search, f"{wait}.then(() => [{params}, {verdict}])", steps=clicks)
    assert chosen["pair"] == "40" and chosen["base"] == "500" and chosen["row"] == "0"
    assert 0 <= int(chosen["column"]) < 8 and words.startswith("Pair 40 turns with width")
    steps = [("main select", "selectOption", "wan")]
    other, frames = on_grid(
        search, f"{wait}.then(() => [{params}, {texts('output')}])", steps=steps
    )
    assert other == {"view": "grid", "model_type": "wan"}
    assert frames == ["24", "32", "4", "0", "12 · time"]


def test_two_models_beside_each_other(on_grid):
    """Each side has the axis of its pair."""
    sides = {"a": "pair=40", "b": "model_type=wan&pair=40"}
    assert on_grid(sides, texts(".verdict b")) == ["width", "height"]
