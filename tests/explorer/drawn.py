# SPDX-License-Identifier: MIT
"""Canvases of the page held against numbers: pixels of heat maps, curves, and the numbers of axes.
Nothing here comes from the page but the pixels, the texts and where a picture is."""

import base64
import dataclasses
import io
import re
import struct
import xml.etree.ElementTree as ElementTree

import numpy
import requests

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
COLOURS_APART = 2  # steps of a palette of 255: ends of the colour bar are told in three digits
NEAR = 60  # of the sum of differences of red, green and blue: a curve's edge is mixed with paper


def number(text):
    """What an axis says: 131 072, −0.5, 3.2·10⁻⁹; None where it is no number."""
    plain = re.sub("[\u202f ]", "", text).replace("−", "-").replace("∞", "inf")
    found = re.fullmatch(r"(?:(-?[\d.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", plain)
    if found:
        return float(found[1] or 1) * 10 ** int(found[2].translate(RAISED))
    try:
        return float(plain)
    except ValueError:
        return None


def array(url, path, body=None, **asked):
    """An answer of the API as npy: one array, or several behind each other."""
    session = requests.Session()
    session.trust_env = False
    answer = (
        session.post(url + path, params=asked | {"format": "npy"}, json=body)
        if body
        else session.get(url + path, params=asked | {"format": "npy"})
    )
    assert answer.status_code == 200, answer.text
    return numpy.load(io.BytesIO(answer.content)).astype(float)


def report(url, path, **asked):
    session = requests.Session()
    session.trust_env = False
    answer = session.get(url + path, params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def palette(url, name):
    """The colours of the API's own pictures, as red, green and blue."""
    session = requests.Session()
    session.trust_env = False
    svg = session.get(
        f"{url}/v1/encodings/sinusoidal/table",
        params={"dim": 4, "length": 4, "format": "svg", "colormap": name},
    ).content
    [href, *_] = [
        one.get("href") for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("image")
    ]
    png, at = base64.b64decode(href.split(",")[1]), 8
    while png[at + 4 : at + 8] != b"PLTE":
        at += 12 + struct.unpack(">I", png[at : at + 4])[0]
    return numpy.frombuffer(png[at + 8 : at + 8 + 3 * 255], numpy.uint8).reshape(255, 3).astype(int)


@dataclasses.dataclass
class Canvas:
    kind: str
    width: int
    height: int
    rgba: str
    texts: list
    room: list = None
    label: str = ""

    def __post_init__(self):
        self.pixels = (
            numpy.frombuffer(base64.b64decode(self.rgba), numpy.uint8)
            .reshape(self.height, self.width, 4)
            .astype(int)
        )

    def numbers(self, align):
        """Texts that are numbers, as (value, x, y)."""
        return [
            (number(one["text"]), one["x"], one["y"])
            for one in self.texts
            if one["align"] == align and not one["turned"] and number(one["text"]) is not None
        ]


# ---- heat maps ----------------------------------------------------------------------------------


def bar_ends(canvas):
    """(low, high) as the colour bar has them."""
    left, _, width, _ = canvas.room
    beside = [(y, value) for value, x, y in canvas.numbers("left") if x > left + width]
    [(_, high), (_, low)] = sorted(beside)
    return low, high


def check_heat(canvas, values, colours, ends=None, log=False):
    """Every cell has its number's colour, the picture ends where the room ends, and the colour bar
    has its colours from the largest value above to the least below. `log`: the bar says the values
    whose logarithms are drawn."""
    rows, columns = values.shape
    left, top, width, height = canvas.room
    low, high = numpy.log10(bar_ends(canvas)) if log else bar_ends(canvas)
    if ends:
        assert numpy.allclose((low, high), ends, rtol=6e-3, atol=1e-12), (low, high, ends)
        low, high = ends
    ys = numpy.floor(top + (numpy.arange(rows) + 0.5) / rows * height).astype(int)
    xs = numpy.floor(left + (numpy.arange(columns) + 0.5) / columns * width).astype(int)
    drawn = canvas.pixels[ys][:, xs]
    finite = numpy.isfinite(values)
    assert (drawn[..., 3][~finite] == 0).all(), "what is no number is clear"
    assert (drawn[..., 3][finite] == 255).all(), "what is a number is drawn"
    share = numpy.clip((values[finite] - low) / (high - low), 0, 1) * 254
    apart = numpy.stack(
        [
            numpy.abs(
                drawn[finite][:, :3]
                - colours[numpy.clip(numpy.rint(share).astype(int) + step, 0, 254)]
            ).sum(-1)
            for step in range(-COLOURS_APART, COLOURS_APART + 1)
        ]
    ).min(0)
    assert (apart <= 3).mean() == 1, f"{(apart > 3).sum()} of {apart.size} cells have other colours"
    edges = canvas.pixels[int(top + height / 2), [int(left) - 2, int(left + width) + 2], 3]
    assert not edges.any(), "nothing is drawn beside the picture"
    x = int(left + width + 16 + 6)
    bar = canvas.pixels[
        numpy.rint(top + (1 - numpy.linspace(0.02, 0.98, 49)) * height).astype(int), x, :3
    ]
    steps = numpy.abs(bar[:, None] - colours[None]).sum(-1).argmin(1)
    assert numpy.abs(steps - numpy.linspace(0.02, 0.98, 49) * 254).max() <= 4, "the colour bar"


def check_heat_axes(canvas, down, across):
    """Numbers at the sides are those of their rows and columns (None: words stand there)."""
    left, top, width, height = canvas.room
    found = 0
    for places, align, begin, size, axis in (
        (across, "center", left, width, 1),
        (down, "right", top, height, 2),
    ):
        if places is None:
            continue
        places = numpy.asarray(places, float)
        for tick in canvas.numbers(align):
            at = (tick[axis] - (4 if axis == 2 else 0) - begin) / size * len(places) - 0.5
            cell = min(max(round(at), 0), len(places) - 1)
            step = abs(places[min(cell + 1, len(places) - 1)] - places[max(cell - 1, 0)]) / 2
            assert abs(at - cell) < 0.05 + len(places) / size and abs(places[cell] - tick[0]) <= (
                step if step > 1 else 0
            ), (tick, at, places[cell])
            found += 1
    assert found >= 3, "there are numbers at the sides"


# ---- curves -------------------------------------------------------------------------------------


@dataclasses.dataclass
class Line:
    x: list
    y: list
    colour: str
    share: float = 0.97  # of points that are seen: less where the line is broken, or covered


def axis(ticks, log):
    """(pixel of 0, pixels a unit) of an axis, by its numbers; the last one may be moved inside."""
    values = numpy.array([one[0] for one in ticks])
    pixels = numpy.array([one[1] for one in ticks])
    if log:
        assert (values > 0).all(), values
        values = numpy.log10(values)
    used = slice(None, -1) if len(values) > 2 else slice(None)
    slope, begin = numpy.polyfit(values[used], pixels[used], 1)
    off = numpy.abs(begin + slope * values - pixels)
    assert off[used].max() < 1.5 and off.max() < 40, f"numbers of an axis: {ticks}"
    return begin, slope


def scales(canvas, x_log, y_log):
    small = canvas.numbers("center")
    line = max(one[2] for one in small)
    across = sorted((value, x) for value, x, y in small if y == line)
    up = sorted((value, y - 4) for value, _, y in canvas.numbers("right"))
    assert len(across) >= 2 and len(up) >= 2, (across, up)
    return axis(across, x_log), axis(up, y_log)


def shares(canvas, lines, tokens, x_log=False, y_log=False):
    """Of each line the share of its points where a pixel has its colour, or that of one above."""
    (x0, dx), (y0, dy) = scales(canvas, x_log, y_log)
    # Texts and lines of axes are no curve.
    found = []
    for k, line in enumerate(lines):
        with numpy.errstate(divide="ignore", invalid="ignore"):
            xs, ys = numpy.asarray(line.x, float), numpy.asarray(line.y, float)
            px = x0 + dx * (numpy.log10(xs) if x_log else xs)
            py = y0 + dy * (numpy.log10(ys) if y_log else ys)
        inside = (
            numpy.isfinite(px)
            & numpy.isfinite(py)
            & (px > 3)
            & (px < canvas.width - 27)
            & (py > 7)
            & (py < canvas.height - 45)
        )
        assert inside.sum() >= 2, f"{line.colour}: nothing is inside of the picture"
        chosen = numpy.flatnonzero(inside)
        chosen = chosen[numpy.linspace(0, len(chosen) - 1, min(80, len(chosen))).astype(int)]
        colours = [numpy.array(tokens[one.colour]) for one in lines[k:]]
        hits = 0
        for i in chosen:
            window = canvas.pixels[int(py[i]) - 2 : int(py[i]) + 3, int(px[i]) - 2 : int(px[i]) + 3]
            window = window[window[..., 3] > 90][:, :3]
            hits += any(
                len(window) and numpy.abs(window - colour).sum(-1).min() < NEAR
                for colour in colours
            )
        found.append(hits / len(chosen))
    return found


def check_curves(canvas, lines, tokens, **logs):
    found = shares(canvas, lines, tokens, **logs)
    assert all(share >= line.share for share, line in zip(found, lines)), [
        (line.colour, share) for line, share in zip(lines, found)
    ]
