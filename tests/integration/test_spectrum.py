# SPDX-License-Identifier: MIT
"""plot=spectrum, held against the transform of numpy; docs/pictures.md has the formula."""

import re

import numpy
import pytest
from test_plots import SVG, TABLE, close, images, mapped, plot, texts

from service import get


def amplitudes(values):
    """(frequencies from once in all values on, amplitudes by numpy)."""
    count = len(values)
    size = 1 << (4 * count - 1).bit_length()
    window = (1 - ((2 * numpy.arange(count) + 1 - count) / count) ** 2) ** 2
    weights = numpy.abs(numpy.fft.fft(window, size))
    sums = numpy.fft.fft(window * (values - numpy.average(values, weights=window)), size)
    told = numpy.arange(-(-size // count), size // 2 + 1)
    return (
        2 * numpy.pi * told / size,
        2 * numpy.abs(sums[told]) / (weights[0] + weights[2 * told % size]),
    )


def test_the_spectrum_of_a_table(server):
    """The brightest frequency of a column is that of its sine, and each cell the greatest amplitude
    of its frequencies, of which each row of the upper half has some."""
    asked = dict(dim=32, length=200, step=2)
    image, _ = images(root := plot(server, TABLE, plot="spectrum", plot_height=200, **asked))
    table = get(server, TABLE, format="npy", dtype="f64", **asked).npy
    frequencies, _ = amplitudes(table[:, 0])
    every = numpy.array([amplitudes(column)[1] for column in table.T]).T
    high = len(image)
    rows = numpy.log(frequencies[-1] / frequencies) / numpy.log(frequencies[-1] / frequencies[0])
    rows = numpy.minimum((rows * high).astype(int), high - 1)
    shown = numpy.array([every[rows == row].max(0) for row in range(high // 2)])
    assert close(image[: high // 2], mapped(shown, 0, every.max())) and image.shape[1] == 32
    told = get(server, "/v1/encodings/rope/frequencies", dim=32).json["tensors"]["inv_freq"]["data"]
    for pair in range(6):
        assert frequencies[every[:, 2 * pair].argmax()] / 2 == pytest.approx(told[pair], rel=0.02)
        assert every[:, 2 * pair].max() == pytest.approx(1, abs=0.04)
    assert {"frequency (radians a position)", "column", "0.05", "1"} <= set(texts(root))
    assert any("amplitude" in text for text in texts(root))


def test_the_spectrum_of_a_decay(server):
    """A comb: each pair of rope is a line of one height, as far as so many offsets tell them
    apart."""
    asked = dict(dim=16, min_offset=0, max_offset=999)
    path = "/v1/encodings/rope/analysis/decay"
    decay = get(server, path, **asked).json["tensors"]["decay"]["data"]
    root = plot(server, path, plot="spectrum", plot_width=2000, **asked)
    (line,) = [
        path.get("d")
        for path in root.iter(SVG + "path")
        if path.get("class") == "curve c0" and len(path.get("d")) > 100
    ]
    drawn = numpy.array(
        [[float(x), float(y)] for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", line)]
    )
    frequencies, wanted = amplitudes(numpy.array(decay))
    x = numpy.log(frequencies / frequencies[0]) / numpy.log(frequencies[-1] / frequencies[0])
    x = drawn[0, 0] + x * (drawn[-1, 0] - drawn[0, 0])
    top = drawn[:, 1].max() - (drawn[:, 1].max() - drawn[:, 1].min()) / (
        wanted.max() - wanted.min()
    ) * (wanted - wanted.min())
    for at, height in drawn:
        near = numpy.abs(x - at) < 0.01
        assert numpy.abs(top[near] - height).min() < 0.02
    peaks = (wanted[1:-1] > wanted[:-2]) & (wanted[1:-1] > wanted[2:]) & (wanted[1:-1] > 0.9)
    assert frequencies[1:-1][peaks][-4:] == pytest.approx(
        10.0 ** numpy.arange(-1.5, 0.5, 0.5), rel=0.05
    )
