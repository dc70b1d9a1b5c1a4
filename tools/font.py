#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes api/pictures/glyphs.def, the outlines of pictures in PNG, from fonts of Debian.

    tools/font.py [--fonts /usr/share/fonts]

Needs the packages fonts-noto-core, fonts-noto-cjk and python3-fonttools (Debian 12; versions are
written into the list). Taken are Latin, Greek and signs of mathematics, in bold the letters that
titles have most, and the Chinese characters of api/pictures/labels.def and of this script."""

import argparse
import pathlib

from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

ROOT = pathlib.Path(__file__).resolve().parents[1]
LABELS = ROOT / "api/pictures/labels.def"
TO = ROOT / "api/pictures/glyphs.def"

EM = 400  # units of the list; the fonts have 1000
BOLD = 0x60000  # added to code points of bold glyphs: no character is there
PARTS = 0x50000  # parts of other glyphs that have no code point of their own, from here on
FIRST, SYMBOLS = 35, 92  # the alphabet: # to ~, with ! for ? and a blank for a backslash
LAST = SYMBOLS - 1  # where counts go on in another symbol
NEAR = 40  # differences up to this are one symbol

LATIN = [
    *range(0x20, 0x7F),
    *range(0xA0, 0xAD),
    *range(0xAE, 0x180),
    0x192,
    0x218,
    0x219,
    0x21A,
    0x21B,
    0x1E9E,
]
GREEK = [
    *range(0x384, 0x38B),
    0x38C,
    *range(0x38E, 0x3A2),
    *range(0x3A3, 0x3CF),
    0x3D1,
    0x3D5,
    0x3D6,
    0x3F0,
    0x3F1,
    0x3F5,
]
SIGNS = [
    *map(
        ord,
        "–—‘’‚“”„†‡•…‰′″‹›⁄€™ℓℏℂℕℚℝℤ←↑→↓↔↦⇐⇒⇔∀∂∃∅∆∇∈∉∋∏∑−∓∕∗∘∙√∝∞∠∣∥∧∨∩∪∫∮∼≃≅≈≠≡≤≥≪≫⊂⊃⊆⊇"
        "⊕⊖⊗⊙⊤⊥⋅⋮⋯⌈⌉⌊⌋⟨⟩‖",
    ),
    *range(0x2070, 0x2072),
    *range(0x2074, 0x208F),
    *range(0x2090, 0x209D),
]
BOLDS = [
    *range(0x20, 0x7F),
    *map(ord, "·×±°²³µ–—’…"),
    *range(0x391, 0x3A2),
    *range(0x3A3, 0x3AA),
    *range(0x3B1, 0x3CA),
]
CHINESE = "，。：；、（）编码旋转注意力"  # signs, and words that titles have


def chinese():
    """All of East Asia that our labels have, and signs that stand between such words."""
    return sorted({*map(ord, CHINESE + LABELS.read_text())} & {*range(0x2E80, 0x10000)})


def symbol(number):
    assert 0 <= number < SYMBOLS, number
    sign = chr(FIRST + number)
    return {"?": "!", "\\": " "}.get(sign, sign)


def count(number):
    return symbol(number) if number < LAST else symbol(LAST) + symbol(number - LAST)


def difference(value):
    """One symbol where it is small, else two, of which the first is one of the last eleven."""
    if abs(value) <= NEAR:
        return symbol(value + NEAR)
    far = 2 * (abs(value) - NEAR - 1) + (value < 0)
    assert far < (SYMBOLS - 2 * NEAR - 1) * SYMBOLS, value
    return symbol(2 * NEAR + 1 + far // SYMBOLS) + symbol(far % SYMBOLS)


class Font:
    """Glyphs as quadratic outlines of whole units, of which some are made of others."""

    def __init__(self, path, number=-1, added=0):
        self.font = TTFont(path, fontNumber=number)
        self.glyphs, self.codes = self.font.getGlyphSet(), self.font.getBestCmap()
        self.added, self.made, self.parts = added, {}, {}

    def version(self):
        name, version = (self.font["name"].getDebugName(number) for number in (4, 5))
        return f"{name}, {version.split(';')[0]}"

    def quadratic(self, name):
        if "glyf" in self.font:
            return self.font["glyf"][name]
        pen = TTGlyphPen(None)
        recorded = DecomposingRecordingPen(self.glyphs)
        self.glyphs[name].draw(recorded)
        recorded.replay(Cu2QuPen(pen, max_err=1.5, reverse_direction=True))
        return pen.glyph()

    def contours(self, name):
        glyph = self.quadratic(name)
        points, ends, flags = glyph.getCoordinates(self.font["glyf"] if "glyf" in self.font else {})
        text, at, begin = "", (0, 0), 0
        scale = EM / self.font["head"].unitsPerEm
        for end in ends:
            some = [
                (round(x * scale), round(y * scale), flag & 1)
                for (x, y), flag in zip(points[begin : end + 1], flags[begin : end + 1])
            ]
            begin = end + 1
            text += count(len(some))
            for i in range(0, len(some), 6):
                text += symbol(sum(point[2] << bit for bit, point in enumerate(some[i : i + 6])))
            for x, y, _ in some:
                text += difference(x - at[0]) + difference(y - at[1])
                at = (x, y)
        return text

    def part(self, name):
        """The code of a glyph that is part of others."""
        for code, known in self.codes.items():
            if known == name and code in self.wanted:
                return code + self.added
        if name not in self.parts:
            self.parts[name] = PARTS + len(self.parts) + self.added
            self.made[self.parts[name]] = (0, self.contours(name))
        return self.parts[name]

    def outline(self, name):
        glyph = self.font["glyf"][name] if "glyf" in self.font else None
        if glyph is None or not glyph.isComposite():
            return self.contours(name)
        text, scale = "", EM / self.font["head"].unitsPerEm
        for part in glyph.components:
            if self.font["glyf"][part.glyphName].isComposite() or hasattr(part, "transform"):
                return self.contours(name)
            code = self.part(part.glyphName)
            digits = (code // SYMBOLS**2, code // SYMBOLS % SYMBOLS, code % SYMBOLS)
            text += symbol(0) + "".join(map(symbol, digits))
            text += difference(round(part.x * scale)) + difference(round(part.y * scale))
        return text

    def take(self, codes):
        self.wanted = {code for code in codes if code in self.codes}
        for code in sorted(self.wanted):
            name = self.codes[code]
            width = round(self.glyphs[name].width * EM / self.font["head"].unitsPerEm)
            self.made[code + self.added] = (width, self.outline(name))
        return set(codes) - self.wanted


def line(code, glyph):
    return f'GLYPH(0x{code:x},{glyph[0]},"{glyph[1]}")\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fonts", type=pathlib.Path, default="/usr/share/fonts")
    folder = parser.parse_args().fonts
    regular = Font(folder / "truetype/noto/NotoSans-Regular.ttf")
    bold = Font(folder / "truetype/noto/NotoSans-Bold.ttf", added=BOLD)
    mathematics = Font(folder / "truetype/noto/NotoSansMath-Regular.ttf")
    asian = Font(folder / "opentype/noto/NotoSansCJK-Regular.ttc", number=2)
    left = regular.take(LATIN + GREEK + SIGNS)
    left = mathematics.take(sorted(left))
    print("nowhere:", *map(chr, sorted(left)))
    print("not bold:", *map(chr, sorted(bold.take(BOLDS))))
    print("not Chinese:", *map(chr, sorted(asian.take(chinese()))))
    fonts = (regular, mathematics, asian, bold)
    head = """/* SPDX-License-Identifier: OFL-1.1 */
/* GLYPH(code point, advance, outline), ordered by code points; bold glyphs have 0x60000 added.
 * Written by tools/font.py, read by api/pictures/font.c. Of these fonts, whose licence, the SIL
 * Open Font License 1.1, stands in LICENSE:
"""
    head += "".join(f" * {font.version()}\n" for font in fonts)
    made = {code: glyph for font in fonts for code, glyph in font.made.items()}
    TO.write_text(head + " */\n" + "".join(line(code, made[code]) for code in sorted(made)))
    print(
        len(made),
        "glyphs,",
        sum(len(glyph[1]) for glyph in made.values()),
        "symbols,",
        TO.stat().st_size,
        "bytes",
    )
    for font in fonts:
        print(len(font.made), sum(len(glyph[1]) for glyph in font.made.values()), font.version())


if __name__ == "__main__":
    main()
