# SPDX-License-Identifier: MIT
"""The pictures of README.md are what the page shows: made anew by tools/screenshots and compared.
Letters differ a little between releases of the browser, and their edges with them."""

import pathlib
import subprocess
import sys

import numpy
import PIL.Image
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
NAMES = sorted(path.name for path in PICTURES.glob("*.png"))
BLOCK = 20  # pixels: means of such squares are compared, which edges of letters change little
APART_MEAN, APART_SHARE = 24, 0.03  # of 255; share of the squares that may differ by more


def pixels(path):
    return numpy.asarray(PIL.Image.open(path).convert("RGB"))


def blocks(picture):
    height, width = (size // BLOCK * BLOCK for size in picture.shape[:2])
    cut = picture[:height, :width].astype("f8")
    return cut.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean((1, 3))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screenshots")
    subprocess.run([sys.executable, ROOT / "tools/screenshots", folder], check=True, timeout=300)
    return folder


def test_every_picture_is_made(made):
    assert sorted(path.name for path in made.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_picture(made, name):
    kept, now = pixels(PICTURES / name), pixels(made / name)
    assert kept.shape == now.shape
    apart = numpy.abs(blocks(kept) - blocks(now)).max(-1) > APART_MEAN
    assert apart.mean() <= APART_SHARE, f"{apart.sum()} of {apart.size} squares differ"


def test_a_difference_is_seen():
    light, dark = (pixels(PICTURES / f"first-screen-{theme}.png") for theme in ("light", "dark"))
    assert (numpy.abs(blocks(light) - blocks(dark)).max(-1) > APART_MEAN).mean() > APART_SHARE
