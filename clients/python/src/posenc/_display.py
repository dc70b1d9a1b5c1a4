# SPDX-License-Identifier: MIT
"""How answers are displayed: short texts, HTML for notebooks, plots by matplotlib."""

from __future__ import annotations

import base64
import itertools
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import BF16, Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# ---- texts ---------------------------------------------------------------------------------------


class _Short(reprlib.Repr):
    """The beginning of long values: a report is read by people."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist = 3, 12, 4
        self.maxstring = self.maxother = 100

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """In the order of the answer, which reprlib sorts."""
        if level <= 0 and x:
            return "{...}"
        shown = [
            f"{key!r}: {self.repr1(value, level - 1)}"
            for key, value in itertools.islice(x.items(), self.maxdict)
        ]
        return "{" + ", ".join(shown + ["..."] * (len(x) > self.maxdict)) + "}"


short = _Short().repr


def described(arrays: Mapping[str, Array]) -> list[str]:
    """``cos: float32[4096, 64]`` of each array."""
    return [f"{name}: {array.dtype}{list(array.shape)}" for name, array in arrays.items()]


# ---- HTML ----------------------------------------------------------------------------------------

_ROWS_MAX, _TEXT_MAX, _DEPTH_MAX = 8, 200, 2


def _row(cells: Iterable[str], tags: Iterable[str]) -> str:
    texts = (f'<{tag} style="text-align: left">{cell}</{tag}>' for tag, cell in zip(tags, cells))
    return f"<tr>{''.join(texts)}</tr>"


def _table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Cells are HTML. Without a head the first cell of each row is its name."""
    lines = [_row(map(escape, head), itertools.repeat("th"))] if head else []
    lines += [
        _row(row, itertools.chain(["td" if head else "th"], itertools.repeat("td"))) for row in rows
    ]
    return f"<table>{''.join(lines)}</table>"


def table_html(rows: Iterable[Sequence[str]], head: Sequence[str]) -> str:
    return _table((list(map(escape, row)) for row in rows), head)


def picture_html(svg: bytes, arrays: Mapping[str, Array]) -> str:
    """The picture over the names and shapes. In an <img> a server's SVG runs no scripts, and its
    styles are its own."""
    texts, data = escape(", ".join(described(arrays))), base64.b64encode(svg).decode()
    picture = f'<img alt="{texts}" src="data:image/svg+xml;base64,{data}"/>'
    return f"{picture}<div><code>{texts}</code></div>"


def shapes_html(arrays: Mapping[str, Array]) -> str:
    rows = [
        (escape(name), escape(str(array.dtype)), escape(str(list(array.shape))))
        for name, array in arrays.items()
    ]
    return _table(rows, ("name", "dtype", "shape"))


def _text(value: Any) -> str:
    """On one line: ``rope dim=128 base=10000`` of an encoding, numbers to six digits."""
    if isinstance(value, Mapping):
        return " ".join(
            _text(item) if key == "name" else f"{key}={_text(item)}"
            for key, item in value.items()
            if not _is_empty(item)
        )
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_empty(value: Any) -> bool:
    return value is None or isinstance(value, (str, list, Mapping)) and not value


def _html(value: Any, depth: int = 0) -> str:
    """The beginning of a value: a list of mappings and a mapping that holds others are tables."""
    if depth < _DEPTH_MAX and isinstance(value, list) and value:
        if all(isinstance(item, Mapping) for item in value):
            names = list(dict.fromkeys(itertools.chain(*value)))
            rows = [
                [_html(item.get(name, ""), depth + 1) for name in names]
                for item in value[:_ROWS_MAX]
            ]
            more = len(value) - _ROWS_MAX
            return _table(rows, names) + (f"{more} more" if more > 0 else "")
    if depth < _DEPTH_MAX and isinstance(value, Mapping):
        if any(isinstance(item, (Mapping, list)) for item in value.values()):
            return _table([escape(key), _html(item, depth + 1)] for key, item in value.items())
    text = _text(value)
    return escape(text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…")


def _verdict(report: Mapping[str, Any]) -> list[str]:
    """The lines above a report, in the words of the command `posenc`; none of a catalogue."""
    if {"unequal", "elements"} <= report.keys():
        unequal, elements = report["unequal"], report["elements"]
        return [
            f"✗ different: {unequal} of {elements} elements"
            if unequal
            else f"✓ equal: all {elements} elements"
        ]
    if "verdict" in report:
        best: Mapping[str, Any] = next(iter(report.get("candidates", [report])), {})
        sign = {"match": "✓", "known-bug": "✗"}.get(report["verdict"], "?")
        reason = best.get("explanation") or "no scheme explains it"
        fix = best.get("fix")
        return [f"{sign} {best.get('bug') or report['verdict']}: {reason}"] + (
            [f"fix: {fix}"] if fix else []
        )
    if "provenance" in report:
        sign = "!" if report.get("warnings") else "✓"
        return [f"{sign} {_text(report.get('encoding') or 'no positional encoding')}"]
    return []


def report_html(report: Mapping[str, Any]) -> str:
    lines = [f"<div><strong>{escape(line)}</strong></div>" for line in _verdict(report)]
    rows = [[escape(key), _html(item)] for key, item in report.items() if not _is_empty(item)]
    return "".join(lines) + _table(rows)


# ---- plots ---------------------------------------------------------------------------------------


def plot(arrays: Mapping[str, Array], axes: Sequence[Axes] | None) -> list[Axes]:
    """Each array on axes of its own: those given, or new ones side by side."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install posenc[plot]") from error

    count = len(arrays)
    if axes is None:
        size = (5 * max(count, 1), 3.75)
        figure = pyplot.figure(figsize=size, layout="constrained")
        axes = [figure.add_subplot(1, count, at + 1) for at in range(count)]
    if len(axes) != count:
        raise ValueError(f"{count} arrays are drawn on {count} axes, not on {len(axes)}")
    for ax, (name, array) in zip(axes, arrays.items()):
        _plot(ax, name, _numbers(array))
    return list(axes)


def _numbers(array: Array) -> NDArray[np.float64]:
    values = array.to_float32() if isinstance(array, BF16) else array
    return np.asarray(values, np.float64)


def _plot(ax: Axes, name: str, values: NDArray[np.float64]) -> None:
    ax.set_title(name)
    finite = values[np.isfinite(values)]
    if values.ndim < 2:
        ax.plot(values.reshape(-1), marker="." if values.size <= 64 else "")
        if finite.size and finite.min() > 0 and finite.max() > 1000 * finite.min():
            ax.set_yscale("log")
        ax.set_xlabel("index")
        return
    ax.set_xlabel("column")
    ax.set_ylabel(
        "row" if values.ndim == 2 else "row of " + " × ".join(map(str, values.shape[:-1]))
    )
    if not values.size:
        return
    most = float(abs(finite).max()) if finite.size else 0.0
    signed = bool(finite.size) and float(finite.min()) < 0 < float(finite.max())
    image = ax.imshow(
        values.reshape(-1, values.shape[-1]),
        aspect="auto",
        interpolation="nearest",
        cmap="RdBu_r" if signed else "viridis",
        vmin=-most if signed else None,
        vmax=most if signed else None,
    )
    ax.figure.colorbar(image, ax=ax)
