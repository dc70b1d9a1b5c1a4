# SPDX-License-Identifier: MIT
"""Pictures: format=svg of every view, held against the numbers that the API gives."""

import base64
import concurrent.futures
import json
import math
import pathlib
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib

import numpy
import pytest
import requests

from service import call, get, post_json

ROOT = pathlib.Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
TABLE = "/v1/encodings/sinusoidal/table"
ROPE = "/v1/encodings/rope/table"
WAVES = "/v1/encodings/rope/analysis/wavelengths"
BIAS = "/v1/encodings/alibi/bias"
HOSTILE = "</text><script>alert(1)</script>\"'&amp;<!--]]>"


def plot(server, path, **asked):
    answer = get(server, path, format="svg", **asked)
    assert answer.headers["content-type"] == "image/svg+xml"
    return ElementTree.fromstring(answer.body)


def texts(root):
    return [text.text for text in root.iter(SVG + "text")]


def chunks_of(png):
    """Of a PNG, its sums checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + size]))
        (told,) = struct.unpack(">I", png[at + 8 + size : at + 12 + size])
        assert zlib.crc32(png[at + 4 : at + 8 + size]) == told
        at += 12 + size
    assert chunks[-1] == (b"IEND", b"")
    return chunks


def pixels(image):
    """Indices and colours of an embedded PNG."""
    png = base64.b64decode(image.get("href").removeprefix("data:image/png;base64,"), validate=True)
    chunks = dict(chunks_of(png))
    wide, high = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = numpy.frombuffer(zlib.decompress(chunks[b"IDAT"]), numpy.uint8).reshape(high, wide + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:], numpy.frombuffer(chunks[b"PLTE"], numpy.uint8).reshape(256, 3)


def rgb(png):
    """A picture's pixels: by a list of colours, or rows of which each says what it differs from."""
    chunks = dict(chunks_of(png))
    wide, high, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind in (2, 3)) == (8, True)
    rows = numpy.frombuffer(zlib.decompress(chunks[b"IDAT"]), numpy.uint8).reshape(high, -1)
    above = numpy.zeros(rows.shape[1] - 1, numpy.uint8)
    out = []
    for filtered, row in zip(rows[:, 0], rows[:, 1:]):
        left = row.reshape(wide, -1).astype(int).cumsum(0).astype(numpy.uint8).ravel()
        above = (row, left, row + above)[filtered]
        out.append(above)
    out = numpy.array(out).reshape(high, wide, -1)
    return (
        numpy.frombuffer(chunks[b"PLTE"], numpy.uint8).reshape(-1, 3)[out[..., 0]]
        if kind == 3
        else out
    )


def images(root):
    return [pixels(image)[0] for image in root.iter(SVG + "image")]


def mapped(values, least, most):
    share = numpy.clip((values.astype(float) - least) / (most - least), 0, 1)
    return numpy.where(numpy.isfinite(values), numpy.floor(share * 254 + 0.5), 255)


def close(indices, expected):
    """But for values on the border of two colours, which a reader may round the other way."""
    return (
        numpy.abs(indices.astype(int) - expected).max() <= 1
        and (indices == expected).mean() > 0.999
    )


def test_a_heat_map_has_the_numbers(server):
    values = get(server, TABLE, dim=32, length=20, format="npy").npy
    root = plot(server, TABLE, dim=32, length=20, start=100)
    shifted = get(server, TABLE, dim=32, length=20, start=100, format="npy").npy
    most = numpy.abs(shifted).max()
    table, bar = images(root)
    assert close(table, mapped(shifted, -most, most)) and not close(table, mapped(values, -1, 1))
    assert (bar[:, 0] == numpy.arange(254, -1, -1)).all()
    assert {"100", "110", "position", "column", "−0.5", "0.5"} <= set(texts(root))
    colours = pixels(next(root.iter(SVG + "image")))[1]
    assert colours[0, 2] > 2 * colours[0, 0] and colours[254, 0] > 2 * colours[254, 2], "+1 is red"
    assert colours[127].min() > 240, "zero is nearly white"


def test_large_matrices_are_pooled_to_the_pixels(server):
    root = plot(server, ROPE, dim=128, length=4096, plot_width=400, plot_height=300)
    asked = dict(pool="mean", rows=300, columns=400, format="npy")
    cos, sin = get(server, ROPE, dim=128, length=4096, **asked).npy
    most = max(numpy.abs(cos).max(), numpy.abs(sin).max())
    drawn = images(root)
    assert close(drawn[0], mapped(cos, -most, most)) and close(drawn[1], mapped(sin, -most, most))
    assert any("4096 × 64 pooled" in text for text in texts(root))
    assert {"cos", "sin", "pair"} <= set(texts(root))


def test_heads_are_small_multiples_and_the_rest_is_said(server):
    asked = dict(heads=8, query_length=9, key_length=9, causal=True)
    values = get(server, BIAS, format="npy", **asked).npy
    root = plot(server, BIAS, **asked)
    least = values[numpy.isfinite(values)].min()
    drawn = images(root)
    for image, head in zip(drawn, (0, 1, 2, 4, 5, 7)):
        assert close(image, mapped(values[head], least, 0)) and f"head {head}" in texts(root)
    assert len(drawn) == 7 and drawn[0][0, 8] == 255
    assert any("shown 6 / 8" in text and "blank" in text for text in texts(root))
    many = dict(heads=20000, query_length=32)
    assert call(server, "GET", BIAS, **many).status == 413
    assert "shown 6 / 20000" in " ".join(texts(plot(server, BIAS, **many))), "six are made"
    late = plot(server, BIAS, heads=1, query_length=4, key_length=40)
    assert {"36", "38"} <= set(texts(late)), "queries are the last ones"


def test_wavelengths_fade_beyond_the_context(server):
    told = get(server, WAVES, dim=64, context=4096).json
    root = plot(server, WAVES, dim=64, context=4096)
    points = list(root.iter(SVG + "circle"))
    faded = [point for point in points if point.get("opacity")]
    assert len(points) == 32 and len(faded) == told["never_turn"] > 0
    ticks = {text.text: float(text.get("y")) for text in root.iter(SVG + "text") if text.get("y")}
    decade = ticks["10¹"] - ticks["10²"]
    first, last = (float(points[i].get("cy")) for i in (0, -1))
    data = told["tensors"]["wavelengths"]["data"]
    assert (first - last) / decade == pytest.approx(math.log10(data[-1] / data[0]), abs=1e-3)
    assert "context 4096" in ticks and "pair" in ticks


def test_curves(server):
    root = plot(server, ROPE, dim=512, length=100, plot="curves")
    assert {"pair 0", "pair 32", "pair 64", "pair 128", "position"} <= set(texts(root))
    sines = get(server, ROPE, dim=512, length=100, format="npy").npy[1]
    paths = [path for path in root.iter(SVG + "path") if path.get("class") == "curve c1"]
    points = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", max(path.get("d") for path in paths))
    heights = numpy.array([float(y) for _, y in points])
    assert len(heights) == 100
    slope, offset = numpy.polyfit(sines[:, 32], heights, 1)
    assert slope < 0 and numpy.abs(slope * sines[:, 32] + offset - heights).max() < 0.02
    long = plot(server, "/v1/encodings/rope/analysis/decay", dim=64, max_offset=100000)
    assert {"decay", "envelope", "offset (key − query)"} <= set(texts(long))
    assert max(len(path.get("d")) for path in long.iter(SVG + "path")) < 100_000, "thinned"


def test_rows(server):
    """Sines of positions 0, 4, 8 and 12 over the pairs."""
    asked = dict(dim=512, positions="0,4,8,12")
    root = plot(server, ROPE, plot="rows", **asked)
    assert {"position 0", "position 4", "position 12", "pair"} <= set(texts(root))
    path = [path.get("d") for path in root.iter(SVG + "path") if path.get("class") == "curve c3"]
    heights = [float(y) for _, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", max(path, key=len))]
    sines = get(server, ROPE, format="npy", **asked).npy[1][3]
    slope, offset = numpy.polyfit(sines, heights, 1)
    assert slope < 0 and numpy.abs(slope * sines + offset - heights).max() < 0.02


def test_dials(server):
    root = plot(server, ROPE, dim=16, length=12, plot="circle", plot_columns="0,3..4")
    assert {"pair 0", "pair 3", "pair 4"} <= set(texts(root))
    assert sum(circle.get("class") == "f0" for circle in root.iter(SVG + "circle")) == 36


VIEWS = (
    TABLE + "?dim=8&length=4",
    BIAS + "?heads=2&query_length=4",
    WAVES + "?dim=8&context=99",
    "/v1/encodings/rope/frequencies?dim=8",
    "/v1/encodings/t5/bias?query_length=4",
    "/v1/encodings/rope/analysis/error?dim=8&length=9",
    "/v1/encodings/index/table?length=3",
    "/v1/encodings/rope/analysis/similarity?dim=8&length=9",
    "/v1/encodings/alibi/analysis/decay?heads=12&max_offset=9",
    ROPE + "?dim=8&length=3",
)


@pytest.mark.parametrize("url", VIEWS)
def test_every_view_is_its_own_picture(server, url):
    path, _, query = url.partition("?")
    asked = dict(pair.split("=") for pair in query.split("&"))
    for width, height in ((390, 320), (900, 500)):
        root = plot(
            server,
            path,
            plot_width=width,
            plot_height=height,
            lang="zh-CN",
            title="位置 <&>",
            **asked,
        )
        assert root.get("viewBox") == f"0 0 {width} {height}" and "位置 <&>" in texts(root)
        for text in root.iter(SVG + "text"):
            if text.get("x"):
                assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height
    named = json.loads(root.find(SVG + "metadata").text)
    assert path.split("/")[3] == named["name"]


def test_light_dark_sizes_and_languages(server):
    light, dark, auto = (
        get(server, TABLE, dim=8, length=4, format="svg", theme=theme).body
        for theme in ("light", "dark", "auto")
    )
    assert b".paper{fill:#ffffff}" in light and b".paper{fill:#12161f}" in dark
    assert b"prefers-color-scheme:dark" in auto and b"prefers" not in light + dark
    root = plot(server, TABLE, dim=8, length=4, lang="zh-CN")
    assert (root.get("width"), root.get("viewBox")) == ("720", "0 0 720 440")
    assert {"位置", "列"} <= set(texts(root)) and "position" not in texts(root)


def test_pictures_of_the_documents(server):
    """They are what their commands make; a map within is a PNG, compared decompressed."""
    made = re.findall(
        r"^posenc get '(\S+)' -o (docs/pictures/\S+)$",
        (ROOT / "docs/pictures.md").read_text(),
        re.M,
    )
    assert len(made) == len(list((ROOT / "docs/pictures").glob("*.svg"))) >= 2
    for url, path in made:
        assert call(server, "GET", url).body == (ROOT / path).read_bytes(), path


def test_titles_are_text(server):
    root = plot(server, TABLE, dim=8, length=4, title=HOSTILE)
    assert HOSTILE in texts(root) and not list(root.iter(SVG + "script"))
    posted = post_json(server, TABLE, {"dim": 8, "length": 4, "title": HOSTILE, "format": "svg"})
    assert HOSTILE in texts(ElementTree.fromstring(posted.body))


@pytest.mark.parametrize(
    "asked", (dict(), dict(theme="dark"), dict(plot_scale=1), dict(plot_scale=3, plot_width=400))
)
def test_pixels_show_what_svg_does(server, asked):
    """Each cell of the heat map has the colour that SVG gives it, where SVG has it."""
    asked = dict(dim=16, length=9, **asked)
    answer = get(server, TABLE, format="png", **asked)
    assert answer.headers["content-type"] == "image/png"
    picture, scale = rgb(answer.body), asked.get("plot_scale", 2)
    assert picture.shape == (440 * scale, asked.get("plot_width", 720) * scale, 3)
    paper = (0x12, 0x16, 0x1F) if "theme" in asked else (255, 255, 255)
    assert (picture[0, 0] == paper).all() and (picture[-1, -1] == paper).all()
    image = next(plot(server, TABLE, **asked).iter(SVG + "image"))
    indices, colours = pixels(image)
    x, y, wide, high = (float(image.get(name)) for name in ("x", "y", "width", "height"))
    for row, column in numpy.ndindex(9, 16):
        at = y + (row + 0.5) * high / 9, x + (column + 0.5) * wide / 16
        shown = picture[int(at[0] * scale), int(at[1] * scale)]
        assert (shown == colours[indices[row, column]]).all()


def covered(cells, first, last):
    """How much of each pixel from first to last each of so many cells covers."""
    edges = numpy.linspace(first, last, cells + 1)
    at = numpy.arange(first, last)[:, None]
    shared = numpy.minimum(edges[1:], at + 1) - numpy.maximum(edges[:-1], at)
    return numpy.clip(shared, 0, 1)


def test_pixels_have_the_means_of_what_they_cover(server):
    """A picture with more cells than pixels down and nearly as many across: means of values, whose
    colours are those of the scale, with none between."""
    asked = dict(dim=512, length=440)
    image = next(plot(server, TABLE, **asked).iter(SVG + "image"))
    indices, colours = pixels(image)
    x, y, wide, high = (float(image.get(name)) for name in ("x", "y", "width", "height"))
    left, top, right, bottom = (math.floor(at + 0.5) for at in (x, y, x + wide, y + high))
    assert (right - left, bottom - top) != indices.shape[::-1] == (512, 440)
    means = covered(440, top, bottom) @ indices @ covered(512, left, right).T
    picture = rgb(get(server, TABLE, plot_scale=1, format="png", **asked).body)
    known = {tuple(colour): index for index, colour in enumerate(colours.tolist())}
    for row, line in zip(picture[top + 1 : bottom - 1], means[1:]):
        found = numpy.array([known[tuple(pixel)] for pixel in row[left + 1 : right - 1].tolist()])
        assert numpy.abs(found - line[1:-1]).max() < 1.1


def test_pixels_have_letters_and_marks(server):
    """The title moves pixels where it stands and no others; a wide one ends in dots."""
    asked = dict(dim=64, context=99, format="png", plot_scale=1)
    one, other = (
        rgb(get(server, WAVES, title=title, **asked).body)
        for title in ("Ω ≈ ∑ ħ é ő", "√x ∈ ℝ ⊗ ∞")
    )
    changed = numpy.argwhere((one != other).any(2))
    assert 16 <= changed[:, 1].min() and 12 <= changed[:, 0].min() and changed[:, 0].max() < 40
    wide = rgb(get(server, WAVES, title="W" * 200, **asked).body)
    assert (wide[12:40, 704:] == 255).all() and (wide[12:40, 660:704] != 255).any()
    blue = (one == (0x0B, 0x67, 0xB2)).all(2)
    assert blue.sum() > 400, "discs"


def test_letters_for_every_word_of_our_own(server):
    """No label lacks a glyph: a word that is not drawn would leave its place blank."""
    labels = (ROOT / "api/pictures/labels.def").read_text()
    words = re.findall(r'^LABEL\(\w+, +"(.*?)", +"(.*?)"\)', labels, re.M)
    assert len(words) > 10
    for word in (word for pair in words for word in pair):
        assert get(server, TABLE, dim=2, length=1, format="png", title=word).status == 200, word


def test_png_says_where_it_is_from(server):
    answer = get(
        server,
        TABLE,
        dim=8,
        length=4,
        format="png",
        title="位置",
        plot_scale=3,
        headers={"Accept-Encoding": "gzip"},
    )
    assert "content-encoding" not in answer.headers
    chunks = chunks_of(answer.body)
    words = {
        data.split(b"\0")[0]: data.split(b"\0", 5)[5].decode()
        for name, data in chunks
        if name == b"iTXt"
    }
    assert words[b"Title"] == "位置" and json.loads(words[b"Description"])["dim"] == 8
    assert call(server, "GET", words[b"Source"]).body == answer.body
    assert dict(chunks)[b"pHYs"] == struct.pack(">IIB", 11339, 11339, 1)
    head = call(server, "HEAD", TABLE, dim=8, length=4, format="png")
    assert (head.status, head.body) == (200, b"")


REFUSED = (
    (TABLE, dict(dim=8, length=4, title="a\nb"), 422, "control"),
    (TABLE, dict(dim=8, length=4, title="a\u0085b"), 422, "control"),
    (TABLE, dict(dim=8, length=4, title="x" * 201), 422, "200 bytes"),
    (TABLE, dict(dim=8, length=4, plot_width=239), 422, "240"),
    (TABLE, dict(dim=8, length=0), 406, "nothing to draw"),
    (TABLE, dict(dim=8, length=4, dtype="u8"), 406, "u8"),
    (TABLE, dict(dim=8, length=4, plot="circle"), 406, "cos and sin"),
    (TABLE, dict(dim=8, length=4, plot="points"), 406, "plot=heatmap"),
    (TABLE, dict(dim=8, length=4, plot_columns="1"), 422, "plot=curves"),
    (TABLE, dict(dim=8, length=4, plot="curves", plot_columns="8"), 422, "0 to 7"),
    (ROPE, dict(dim=8, length=4, part="complex"), 406, "complex"),
    (TABLE, dict(dim=8, length=4, format="png", theme="auto"), 422, "format=svg"),
    (TABLE, dict(dim=8, length=4, format="png", title="emoji 😀"), 422, "format=svg"),
    (TABLE, dict(dim=8, length=4, format="png", title="񠁁"), 422, "format=svg"),
    (
        TABLE,
        dict(dim=8, length=4, format="png", plot_width=2000, plot_height=2000, plot_scale=3),
        422,
        "16777216 pixels",
    ),
    (ROPE, dict(dim=8, length=513, plot="circle"), 406, "512 positions"),
    (WAVES, dict(dim=8, context=9, plot="heatmap"), 406, "plot=curves"),
    (BIAS, dict(heads=2, query_length=4, plot="curves"), 406, "plot=heatmap"),
    (TABLE, dict(dim=8, length=7, plot="spectrum"), 406, "8 to 65536 positions"),
    (TABLE, dict(dim=8, positions="0..9,11", plot="spectrum"), 406, "evenly spaced"),
    (BIAS, dict(heads=2, query_length=9, plot="spectrum"), 406, "these are bias"),
    (BIAS, dict(heads=2, query_length=9, plot="rows"), 406, "ask for plot=heatmap"),
    (WAVES, dict(dim=64, context=99, plot="spectrum"), 406, "analysis/decay"),
    (ROPE, dict(dim=256, length=65536, plot="spectrum"), 413, "4194304 cells"),
    ("/v1/layout", dict(from_layout="half", to_layout="interleaved", head_dim=8), 406, "views"),
)


@pytest.mark.parametrize("path,asked,status,word", REFUSED)
def test_refusals_are_sentences(server, path, asked, status, word):
    answer = call(server, "GET", path, **{"format": "svg", **asked})
    assert (answer.status, word in answer.json["detail"]) == (status, True), answer.body


def test_http(server):
    asked = dict(dim=64, length=64, format="svg")
    first = get(server, TABLE, headers={"Accept-Encoding": "identity"}, **asked)
    assert (
        first.headers["content-security-policy"]
        == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    assert "content-disposition" not in first.headers
    tag = first.headers["etag"]
    assert tag != get(server, TABLE, theme="dark", **asked).headers["etag"]
    again = call(server, "GET", TABLE, headers={"If-None-Match": tag}, **asked)
    assert (again.status, again.body) == (304, b"")
    head = call(server, "HEAD", TABLE, **asked)
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", tag)
    coded = get(server, TABLE, headers={"Accept-Encoding": "gzip"}, **asked)
    assert coded.headers["content-encoding"] == "gzip"
    assert zlib.decompress(coded.body, 31) == first.body
    accepted = get(server, TABLE, headers={"Accept": "image/*"}, dim=64, length=64)
    assert accepted.body == first.body
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        bodies = pool.map(lambda n: get(server, TABLE, plot_height=440, **asked).body, range(8))
        assert len(set(bodies)) == 1


def asked(server, name, **params):
    return requests.get(f"{server.url}/v1/encodings/{name}/table", params, timeout=9)


def test_places_need_not_be_in_order(server):
    """Each may be a run of its own, and there is room for all of them."""
    positions = ",".join(["0", "9"] * 1500)
    assert (
        asked(
            server,
            "sinusoidal",
            dim=8,
            format="svg",
            plot="curves",
            plot_width=240,
            plot_columns=0,
            positions=positions,
        ).status_code
        == 200
    )


@pytest.mark.parametrize("plot", ["curves", "circle"])
def test_what_is_no_heat_map_is_not_pooled(server, plot):
    answer = asked(
        server,
        "rope",
        dim=128,
        length=8,
        pool="mean",
        rows=8,
        columns=2,
        format="png",
        plot=plot,
        plot_columns=60,
    )
    assert answer.status_code == 422 and answer.json()["errors"][0]["parameter"] == "pool"


def test_matrices_that_do_not_fit_are_refused(server):
    answer = requests.get(
        f"{server.url}/v1/encodings/alibi/bias",
        timeout=9,
        params={
            "heads": 6,
            "query_length": 8,
            "key_length": 8,
            "query_start": 10**12,
            "format": "svg",
            "plot_width": 240,
            "plot_height": 200,
        },
    )
    assert answer.status_code == 406 and "plot_width" in answer.json()["detail"]
