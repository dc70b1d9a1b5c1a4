# SPDX-License-Identifier: MIT
"""Pictures: each mark with each kind of view, its options at their limits, and every refusal."""

from bodies import tensor
from request import gets, post_file

# Small, so that each is drawn in a millisecond.
SIZE = "&plot_width=240&plot_height=200"

DRAWN = """
rope/table?dim=8&length=9 &format=svg &format=png
rope/table?dim=8&length=9&part=cos&plot=curves &format=svg &format=png
rope/table?dim=8&length=9&plot=curves&plot_columns=3,0 &format=svg &format=png
rope/table?dim=8&length=9&plot=circle&plot_columns=1 &format=svg &format=png
rope/table?dim=8&length=9&plot=circle&plot_columns=0,1,2,3 &format=svg
rope/table?dim=8&length=9&plot=rows &format=svg &format=png
rope/table?dim=8&length=1&plot=curves &format=svg
rope/table?dim=2&length=5 &format=svg &format=png
rope/table?dim=8&positions=5,1,1,40 &format=svg &format=png
rope/table?dim=8&positions=5,1,1,40&plot=curves &format=svg
rope/table?dim=8&length=9&start=-3&step=0.25 &format=svg
rope/frequencies?dim=32 &format=svg &format=png
rope/frequencies?dim=32&plot=points &format=svg &format=png
sinusoidal/table?dim=16&length=9&theme=dark&title=%3Ca%20%26%20b%3E &format=svg &format=png
sinusoidal/table?dim=16&length=400 &format=png
sinusoidal/table?dim=16&length=400&plot=rows &format=svg
sinusoidal/table?dim=16&length=400&plot=curves &format=png
sinusoidal/table?dim=400&length=3 &format=png
sinusoidal/table?dim=16&length=32&plot=spectrum &format=svg &format=png
sinusoidal/frequencies?dim=16&theme=dark &format=svg
binary/table?dim=5&length=32&dtype=f32 &format=svg &format=png
alibi/bias?heads=1&query_length=4 &format=svg &format=png
alibi/bias?heads=2&query_length=4&causal=true &format=svg &format=png
alibi/bias?heads=5&query_length=4&key_length=6 &format=svg &format=png
alibi/bias?heads=12&query_length=3&query_start=4 &format=svg &format=png
alibi/analysis/decay?heads=3&min_offset=-5&max_offset=5 &format=svg &format=png
rope/analysis/similarity?dim=8&length=12 &format=svg &format=png
rope/analysis/similarity?dim=8&length=12&anchor=4 &format=svg
rope/analysis/decay?dim=16&max_offset=40 &format=svg &format=png
rope/analysis/decay?dim=16&max_offset=40&plot=points &format=svg
rope/analysis/decay?dim=16&max_offset=63&plot=spectrum &format=png
rope/analysis/wavelengths?dim=16&context=100 &format=png
rope/analysis/wavelengths?dim=16&context=1 &format=png &format=svg
rope/analysis/wavelengths?dim=16&context=1000000 &format=png &format=svg
rope/analysis/error?dim=8&length=5&angle=bf16 &format=svg &format=png
rope/analysis/uniqueness?dim=8&length=5 &format=svg
rope-2d/table?dim=8&width=3&height=2 &format=svg
sinusoidal/table?dim=8&length=9&lang=zh-CN&plot=curves &format=svg &format=png
"""

# Options, each by itself with one view.
OPTIONS = """
&theme=light
&theme=dark
&theme=auto
&title=
&title=x
&lang=en
&plot_width=240
&plot_height=200
&plot_width=2000&plot_height=2000
&plot_columns=0
&plot_columns=0,1,2,3,4,5,6,7
"""

REFUSED = """
rope/table?dim=8&length=2&format=png&theme=auto
rope/table?dim=8&length=2&format=png&plot_width=1366&plot_height=1366&plot_scale=3
rope/table?dim=8&length=2&format=png&title=%E0%B8%81
rope/table?dim=8&length=2&format=png&title=a%E4%BD%8D%E0%B8%81
rope/table?dim=8&length=2&format=svg&title=a%0Ab
rope/table?dim=8&length=2&format=svg&title=a%7F
rope/table?dim=8&length=2&format=svg&title=a%C2%9F
rope/table?dim=8&length=2&format=svg&title=a%EF%BF%BE
rope/table?dim=8&length=2&format=svg&plot_columns=1
rope/table?dim=8&length=2&format=svg&plot=curves&plot_columns=4
rope/table?dim=8&length=2&format=svg&plot=curves&plot_columns=
rope/table?dim=8&length=2&format=svg&plot=curves&plot_columns=0,1,2,3,0,1,2,3,0
rope/table?dim=8&length=2&format=svg&plot=circle&plot_columns=0,1,2,3,0,1,2,3,0,1
rope/table?dim=8&length=2&format=svg&plot=points
rope/table?dim=8&length=513&format=svg&plot=circle
rope/table?dim=8&length=2&format=svg&part=complex
rope/table?dim=8&length=2&format=svg&plot=bars
rope/table?dim=8&length=2&format=svg&plot_width=239
rope/table?dim=8&length=2&format=svg&plot_width=2001
rope/table?dim=8&length=2&format=svg&plot_height=199
rope/table?dim=8&length=2&format=svg&plot_scale=0
rope/table?dim=8&length=2&format=svg&plot_scale=4
rope/table?dim=8&length=2&format=svg&theme=blue
rope/table?dim=8&length=2&format=svg&lang=de
rope/table?dim=8&length=2&format=svg&pool=max&plot=curves
rope/frequencies?dim=8&format=svg&plot=rows
rope/frequencies?dim=8&format=svg&plot=spectrum
rope/frequencies?dim=10000&format=svg&plot=points
alibi/bias?heads=2&query_length=3&format=svg&plot=curves
alibi/bias?heads=2&query_length=3&format=svg&plot=rows
alibi/bias?heads=2&query_length=3&format=svg&plot=spectrum
t5/bias?query_length=3&format=svg&dtype=u8
sinusoidal/table?dim=8&length=2&format=svg&plot=circle
"""


def titles():
    """At the limit of a title and one byte behind it."""
    view = "rope/table?dim=8&length=2&format=svg&title="
    return [*gets("pictures", view + "t" * 200 + SIZE), *gets("refused pictures", view + "t" * 201)]


def posted():
    """Pictures of a posted table with gaps, of one without a number, and of one too wide for an
    axis."""
    big, far = 1e30, 1.7e308  # an infinity in f16, and the largest of f64

    def drawn(label, plot, values, group="pictures"):
        dtype = "f64" if far in values else "f16"
        view = {"table": "tensor:e", "length": 2, "dtype": dtype, "format": "svg", "plot": plot}
        table = {"e": dict(tensor(1, 2, 4, dtype="f64"), values=values)}
        view |= {"plot_width": 240, "plot_height": 200}
        return post_file(group, label, "/v1/encodings/learned/table", view, table)

    gaps, none = [0, big, 1, 2, big, -1, 0.5, -big], [big] * 8
    wide, same = [-far, far, *range(6)], [3.25] * 8
    refused = "refused pictures"
    return [
        drawn("a map with gaps", "heatmap", gaps),
        drawn("curves with gaps", "curves", gaps),
        drawn("rows with gaps", "rows", gaps),
        drawn("a map of one value", "heatmap", same),
        drawn("curves of one value", "curves", same),
        drawn("a map of no number", "heatmap", none, refused),
        drawn("curves of no number", "curves", none, refused),
        drawn("a spectrum of no number", "spectrum", none, refused),
        drawn("curves too far apart", "curves", wide, refused),
        drawn("a map too far apart", "heatmap", wide),
    ]


def requests():
    drawn = [line for line in DRAWN.splitlines() if line]
    words = [line.split() for line in drawn]
    lines = [view + SIZE + form for view, *forms in words for form in forms]
    options = [f"rope/table?dim=16&length=5&plot=curves&format=svg{x}" for x in OPTIONS.split()]
    return [
        *gets("pictures", "\n".join(lines)),
        *gets("pictures", "\n".join(options)),
        *gets("refused pictures", REFUSED),
        *titles(),
        *posted(),
    ]
