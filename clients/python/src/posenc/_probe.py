# SPDX-License-Identifier: MIT
"""A rotation as a black box: which calls show what it does. What they show is found by the service
(POST /v1/diagnosis of x and y)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _display, _foreign, _requests
from ._answers import Report
from ._arrays import BF16, Array
from ._requests import Config, Encoding
from ._steps import Steps

Function = Callable[[Any, Any], Any]

AXES = ("sd", "shd", "hsd", "bsd", "bshd", "bhsd")
_NEAR = 16  # positions from 0 on
_STEP = 1.3  # between far ones, which are odd: few of them are numbers of bf16
_FARTHEST = 131071
_WITHOUT_CONFIG = 4095
_PAIRS_SHOWN = 12


class Probe:
    """What posenc.probe found out about a function.

    >>> import numpy, posenc
    >>> found = posenc.probe(lambda x, positions: x[..., ::-1], "rope", dim=4, layout="half")
    >>> found.right, found.fault["code"]
    (False, 'not-a-rotation')
    """

    def __init__(self, found: Mapping[str, Any], report: Report | None) -> None:
        self.verdict: str = found["summary"]
        """One line: ``right: ...``, or the codes of what is wrong, the pairs, and by how much."""
        self.right: bool | None = found["right"]
        """Is the function what was expected? None: nothing was."""
        self.fault: dict[str, Any] | None = found["fault"]
        """Why it is no rotation at all: ``code``, ``explanation`` and where it is seen."""
        self.layout: str | None = found["layout"]
        """half, interleaved or permuted; None: no pair rotates."""
        self.pairs: list[dict[str, Any]] = found["pairs"]
        """Each pair: its elements ``first`` and ``second``, ``frequency`` in radians a position,
        ``direction``, ``scale``, ``offset`` in radians, the ``expected`` frequency, and ``error``,
        the largest distance from the expected angle, at ``error_position``."""
        self.report = report
        """The report of the diagnosis behind it. None: the shape of y was wrong."""

    def __repr__(self) -> str:
        return f"Probe({self.verdict!r})"

    def __str__(self) -> str:
        return "\n".join([self.verdict, *self._fix(), *self._lines()])

    def _fix(self) -> list[str]:
        """How the first thing that is wrong is put right."""
        report = self.report or Report()
        pairing = report.get("probe", {}).get("pairing")
        candidates = report.get("candidates") or [{}]
        fix = pairing["fix"] if pairing else candidates[0].get("fix")
        return [f"fix: {fix}"] if fix else []

    def _shown(self) -> list[tuple[int, dict[str, Any]]]:
        """The pairs that differ, else the first ones."""
        every = list(enumerate(self.pairs))
        return [item for item in every if item[1]["differs"]] or every

    def _rows(self) -> Iterator[list[str]]:
        for number, pair in self._shown()[:_PAIRS_SHOWN]:
            yield [
                str(number),
                f"{pair['first']}, {pair['second']}",
                *(
                    "" if pair[key] is None else f"{pair[key]:.6g}"
                    for key in ("frequency", "expected", "direction", "scale", "offset", "error")
                ),
            ]

    def _lines(self) -> list[str]:
        if not self.pairs:
            return []
        rows = [_HEAD, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        more = len(self._shown()) - _PAIRS_SHOWN
        return lines + ([f"and {more} more"] if more > 0 else [])

    def _repr_html_(self) -> str:
        """For notebooks: the verdict above the table of pairs."""
        texts = "".join(
            f"<div><strong>{escape(line)}</strong></div>" for line in [self.verdict, *self._fix()]
        )
        return texts + (_display.table_html(self._rows(), _HEAD) if self.pairs else "")


_HEAD = ["pair", "elements", "frequency", "expected", "direction", "scale", "offset", "error"]


# ---- what a function is called with --------------------------------------------------------------


def farthest(encoding: Mapping[str, Any]) -> int:
    """The last position that frequencies are intended for, and that a model's cache has."""
    context = encoding.get("max_position_embeddings")
    if encoding.get("rope_type") == "longrope":
        context = encoding.get("original_max_position_embeddings", context)
    context = encoding.get("seq_len", context)
    return min(int(context) - 1, _FARTHEST) if context else _WITHOUT_CONFIG


def coordinates(encoding: Mapping[str, Any]) -> int:
    """How many numbers a position is."""
    if encoding.get("name") == "mrope":
        is_four = encoding.get("mrope_type") == "imrope"
        return 4 if is_four else len(encoding.get("mrope_section") or (0, 0, 0))
    return 2 if encoding.get("name") == "rope-2d" else 1


def positions_to(last: int, axes: int) -> NDArray[np.int64]:
    """Near ones, which show the fast pairs, and far ones, which show the slow pairs, in ascending
    order; of several coordinates, which differ: [axes, positions]."""
    found, far = list(range(min(_NEAR, last + 1))), float(_NEAR)
    while far * _STEP < last:
        far *= _STEP
        found.append(int(far) | 1)
    found.append(last)
    ascending = np.unique(np.array(found, np.int64))
    ascending = ascending[ascending <= last]
    return ascending if axes < 2 else np.stack([ascending // (1 + axis) for axis in range(axes)])


class Plan:
    """The arrays x of all calls: unit vectors, each at each position once, and three calls of mixed
    numbers. Of these the second has other numbers at every second position, and the third is the
    first again."""

    def __init__(self, axes: str, sizes: Mapping[str, int]) -> None:
        if axes not in AXES:
            raise ValueError(f"axes must be one of {', '.join(AXES)}, got {axes!r}")
        self.shape = tuple(sizes[letter] for letter in axes)
        self._order = tuple("bhsd".index(letter) for letter in axes)
        self._full = tuple(sizes[letter] if letter in axes else 1 for letter in "bhsd")

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        yield from map(self._reordered, self._units())
        mixed, other = self._mixed(1), self._mixed(2)
        changed = mixed.copy()
        changed[:, :, 1::2] = other[:, :, 1::2]
        yield from map(self._reordered, (mixed, changed, mixed))

    def _reordered(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of [b, h, s, d] in the caller's order."""
        return np.ascontiguousarray(np.transpose(x, self._with_units()).reshape(self.shape))

    def _with_units(self) -> tuple[int, ...]:
        """The order of all four axes, those first that the caller does not have."""
        return (*(axis for axis in range(4) if axis not in self._order), *self._order)

    def _units(self) -> Iterator[NDArray[np.float32]]:
        batch, heads, tokens, dim = self._full
        places = batch * heads
        for call in range(-(-dim // places)):
            x = np.zeros((places, tokens, dim), np.float32)
            for place in range(places):
                at = (call * places + place + np.arange(tokens)) % dim
                x[place, np.arange(tokens), at] = 1
            yield x.reshape(self._full)

    def _mixed(self, seed: int) -> NDArray[np.float32]:
        """Multiples of 1/8 below 2, which every dtype holds, the same in all heads."""
        _, _, tokens, dim = self._full
        numbers = np.arange(tokens * dim, dtype=np.uint64) * np.uint64(2654435761 * (2 * seed + 1))
        eighths = (numbers >> np.uint64(13)) % np.uint64(30)
        row = ((eighths.astype(np.float32) - 14.5).round() / 8).astype(np.float32)
        row[row == 0] = 1.125
        return np.broadcast_to(row.reshape(tokens, dim), self._full).copy()


# ---- calls ---------------------------------------------------------------------------------------


class WrongShape(Exception):
    """y has another shape than x."""


def _called(fn: Function, x: Array, positions: Array, make: _foreign.Make) -> Array:
    y = _foreign.read(fn(make(x), make(positions)))
    if y.shape != x.shape:
        raise WrongShape(f"changes-shape: x is {list(x.shape)}, y is {list(y.shape)}")
    return y


def _maker(fn: Function, x: Array, positions: Array) -> _foreign.Make:
    """Arrays of NumPy if fn takes them, else those of a library that is imported."""
    failures: list[tuple[str, Exception]] = []
    for name, make in _foreign.makers():
        try:
            y = fn(make(x), make(positions))
        except Exception as failure:  # whatever a library raises for arrays that are not its own
            failures.append((name, failure))
            continue
        own = _foreign.library_of(y)
        return make if own in (None, name) else _foreign.maker_of_library(own)
    told = "; ".join(f"{name}: {type(failure).__name__}: {failure}" for name, failure in failures)
    raise TypeError(
        f"fn takes arrays of no library ({told}); pass a sample of them as `like`"
    ) from (failures[-1][1])


def _stacked(arrays: Sequence[Array]) -> Array:
    made = np.stack(arrays)
    return made.view(BF16) if isinstance(arrays[0], BF16) else made


def calls_of(
    fn: Function, plan: Plan, positions: Array, like: Any
) -> tuple[NDArray[np.float32], Array]:
    """All x and y, [calls, ...]."""
    every = list(plan)
    make = _foreign.maker_of(like) if like is not None else _maker(fn, every[0], positions)
    return np.stack(every), _stacked([_called(fn, x, positions, make) for x in every])


def refused(summary: str) -> Probe:
    """A probe that ended before there were x and y of one shape."""
    code, explanation = summary.split(": ", 1)
    return Probe(
        {
            "summary": summary,
            "right": False,
            "fault": {"code": code, "explanation": explanation},
            "layout": None,
            "pairs": [],
        },
        None,
    )


# ---- requests ------------------------------------------------------------------------------------


def _expected(
    encoding: Encoding | None, config: Config | None, told: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """The encoding that fn should be, without the parameters beside it."""
    if config is None:
        return {"name": encoding} if isinstance(encoding, str) else dict(encoding or {})
    read = {key: told[key] for key in ("layer_type",) if told[key] is not None}
    report = yield _requests.config(config, read)
    return dict(_requests.only_encoding(report))


def steps(
    fn: Function,
    encoding: Encoding | None = None,
    *,
    config: Config | None = None,
    layer_type: str | None = None,
    layout: str | None = None,
    positions: Any = None,
    axes: str = "sd",
    heads: int = 2,
    batch: int = 2,
    like: Any = None,
    parameters: Mapping[str, Any],
) -> Steps[Probe]:
    """A probe: the config is read, fn is called, what it took and gave is diagnosed."""
    told: dict[str, Any] = {**parameters, "layout": layout, "layer_type": layer_type}
    expected = yield from _expected(encoding, config, told)
    expected |= parameters
    dim = expected.get("dim")
    if not dim:
        raise TypeError("the width of a head is required: dim, in the encoding or beside it")
    if positions is None:
        positions = positions_to(farthest(expected), coordinates(expected))
    positions = np.asarray(positions)
    sizes = {"b": batch, "h": heads, "s": positions.shape[-1], "d": int(dim)}
    try:
        x, y = calls_of(fn, Plan(axes, sizes), positions, like)
    except WrongShape as wrong:
        return refused(str(wrong))
    report = yield _requests.probe(x, y, f"c{axes}", positions, config, expected, told)
    return Probe(report["probe"], report)
