# SPDX-License-Identifier: MIT
"""Answers of the service: one array, several arrays by name, and reports."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from . import _arrays, _display
from ._arrays import BF16, Array
from ._messages import JSON, SAFETENSORS, SVG, EncodingWarning, Reply, checked, of_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[[], Reply]
"""Requests the picture of a view."""


class _Answer:
    """What an answer of one array and one of several have in common."""

    names: tuple[str, ...] = ()
    """The names of the arrays, in the order of the answer."""
    encoding: dict[str, Any]
    """The encoding with all its parameters resolved; can be given instead of a name."""
    warnings: tuple[str, ...]
    """What the answer warns of; each text was a posenc.EncodingWarning too."""
    info: dict[str, Any]
    """Everything else in the answer, such as `attention_factor`."""
    _draw: Draw | None = None

    def _describe(
        self,
        names: Iterable[str],
        encoding: Mapping[str, Any] | None,
        warned: Iterable[str],
        info: Mapping[str, Any] | None,
        draw: Draw | None = None,
    ) -> None:
        self.names, self.encoding = tuple(names), dict(encoding or {})
        self.warnings, self.info, self._draw = tuple(warned), dict(info or {}), draw

    def as_dict(self) -> dict[str, Array]:
        """The arrays by name, in the order of the answer."""
        raise NotImplementedError

    def _named(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(f"{name}; there are {', '.join(self.names)}")
        return self.as_dict()[name]

    def __getattr__(self, name: str) -> Array:
        names = self.__dict__.get("names", ())
        if name.startswith("__") or name not in names:
            raise AttributeError(f"{name}; there are {', '.join(names)}")
        return self._named(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    def _repr_html_(self) -> str | None:
        """For notebooks: the picture of a view, as the service draws it for the same request. A
        table of shapes where there is none: the request is refused as a picture, or its server
        cannot be reached. None, so that the text is shown, where an answer is no view's."""
        if self._draw is None:
            return None
        try:
            picture = checked(self._draw())
        except (ValueError, OSError, MemoryError):
            return _display.shapes_html(self.as_dict())
        if picture.media_type != SVG:
            return _display.shapes_html(self.as_dict())
        return _display.picture_html(picture.content, self.as_dict())


class Tensor(_Answer, np.ndarray[Any, np.dtype[Any]]):
    """The array of a view that has one: a NumPy array with the answer's attributes.

    `names`, `encoding`, `warnings` and `info` are as those of posenc.Tensors, and the array is
    found by its name as well. Slices and results of arithmetic are plain arrays; copies and
    reshaped arrays have no attributes of the answer. A notebook shows the picture of the view,
    drawn when it is displayed.

    >>> import posenc
    >>> table = posenc.table("sinusoidal", dim=4, length=2)
    >>> table
    array([[0.        , 1.        , 0.        , 1.        ],
           [0.84147096, 0.5403023 , 0.00999983, 0.99995   ]], dtype=float32)
    >>> table.names, table.encoding["base"], table["table"] is not None
    (('table',), 10000, True)
    >>> type(table[1]), type(table + 1)
    (<class 'numpy.ndarray'>, <class 'numpy.ndarray'>)
    """

    # Of two types of arrays, NumPy makes results of the one with the higher priority: the other.
    __array_priority__ = -1.0

    def __array_finalize__(self, obj: object) -> None:
        """Arrays that NumPy derives from this one have no attributes of the answer."""
        self._describe((), None, (), None)

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False, /
    ) -> Any:
        """Results of NumPy's functions are plain, unless they are written into this array."""
        if array is self:
            return self
        return array[()] if array.ndim == 0 else array.view(_plain_type(self))

    def _plain(self) -> Array:
        """The same memory as an array of NumPy's own type."""
        return np.ndarray.view(self, _plain_type(self))

    if not TYPE_CHECKING:  # the types are those of NumPy

        def __getitem__(self, key: Any) -> Any:
            return self._named(key) if isinstance(key, str) else self._plain()[key]

    def as_dict(self) -> dict[str, Array]:
        return {name: self._plain() for name in self.names}

    def __repr__(self) -> str:
        return repr(self._plain())

    def __reduce__(self) -> Any:
        if not self.names:
            return self._plain().__reduce__()
        arrays = list(self.as_dict().items())
        return _unpickled, (arrays, self.encoding, self.warnings, self.info)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.__reduce__() if self.names else self._plain().__reduce_ex__(protocol)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the array with matplotlib (``pip install posenc[plot]``), on `ax` or on axes of a
        new figure, which are returned: one axis of numbers as a curve, two as a heat map with the
        rows downwards, more as rows of the last axis. ImportError where matplotlib is absent.

        >>> import posenc
        >>> posenc.table("sinusoidal", dim=8, length=5).plot().get_title()
        'table'
        """
        name = self.names[0] if self.names else ""
        return _display.plot({name: self._plain()}, None if ax is None else [ax])[0]


class _BF16Tensor(Tensor, BF16):
    """Bits of bfloat16, where ml_dtypes is not installed."""


def _plain_type(array: Array) -> type[Array]:
    return BF16 if isinstance(array, BF16) else np.ndarray


class Tensors(_Answer, tuple[Array, ...]):
    """The arrays of an answer, in order and by name. A notebook shows the picture of a view, drawn
    when it is displayed.

    >>> import posenc
    >>> angles = posenc.table("rope", dim=4, length=2)
    >>> angles.names
    ('cos', 'sin')
    >>> cos, sin = angles
    >>> angles.cos is cos and angles["cos"] is cos
    True
    >>> angles.encoding
    {'name': 'rope', 'dim': 4, 'base': 10000, 'rope_type': 'default', 'arithmetic': 'exact'}
    """

    def __new__(
        cls,
        arrays: Iterable[tuple[str, Array]],
        encoding: Mapping[str, Any] | None = None,
        warned: Iterable[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> Tensors:
        named = dict(arrays)
        made = super().__new__(cls, named.values())
        made._describe(named, encoding, warned, info)
        return made

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Array: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Array, ...]: ...

    def __getitem__(self, key: str | SupportsIndex | slice) -> Array | tuple[Array, ...]:
        return self._named(key) if isinstance(key, str) else super().__getitem__(key)

    def as_dict(self) -> dict[str, Array]:
        return dict(zip(self.names, self))

    def __repr__(self) -> str:
        return f"Tensors({', '.join(_display.described(self.as_dict()))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensors, (list(self.as_dict().items()), self.encoding, self.warnings, self.info)

    def plot(self, ax: Sequence[Axes] | None = None) -> list[Axes]:
        """Draws each array on axes of its own, as `Tensor.plot` does. `ax` has as many axes as
        there are arrays; ValueError for another number.

        >>> import posenc
        >>> [ax.get_title() for ax in posenc.table("rope", dim=8, length=5).plot()]
        ['cos', 'sin']
        """
        return _display.plot(self.as_dict(), ax)


class Report(dict[str, Any]):
    """An answer in words and numbers: a dict whose keys are attributes too, AttributeError for one
    that it does not have. Its repr has a line for each key, with the beginning of long values; a
    notebook shows a table below the verdict.

    >>> import posenc
    >>> posenc.encodings("index")["operations"][0]["name"], len(repr(posenc.encodings())) < 3000
    ('table', True)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{name}; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        lines = [f"  {key}={_display.short(value)}," for key, value in self.items()]
        return "\n".join(["Report(", *lines, ")"]) if lines else "Report()"

    def _repr_html_(self) -> str:
        return _display.report_html(self)


# ---- reading a reply -----------------------------------------------------------------------------


def report_of(reply: Reply) -> Report:
    return Report(of_type(reply, JSON).json())


def _field_json(reply: Reply, name: str) -> Any:
    text = reply.fields.get(name)
    return json.loads(text) if text else None


def tensors_of(reply: Reply) -> Tensors:
    """Arrays over the body's memory where that is possible; warns of what the answer warns of."""
    if of_type(reply, JSON, SAFETENSORS).media_type == JSON:
        members: dict[str, Any] = reply.json()
        made = Tensors(
            _arrays.json_arrays(members.pop("tensors", {})),
            members.pop("encoding", None),
            members.pop("warnings", ()),
            members,
        )
    else:
        made = Tensors(
            _arrays.safetensors_arrays(reply.parts),
            _field_json(reply, "Encoding-Parameters"),
            _field_json(reply, "Encoding-Warnings") or (),
        )
    for text in made.warnings:
        warnings.warn(text, EncodingWarning, stacklevel=_caller_level())
    return made


def view_of(reply: Reply, draw: Draw | None) -> Tensor | Tensors:
    """The array itself where an answer has one."""
    answer = tensors_of(reply)
    answer._draw = draw
    return _tensor(answer) if len(answer) == 1 else answer


def _tensor(answer: Tensors) -> Tensor:
    array = answer[0]
    made: Tensor = array.view(_BF16Tensor if isinstance(array, BF16) else Tensor)
    made._describe(answer.names, answer.encoding, answer.warnings, answer.info, answer._draw)
    return made


def _unpickled(*answer: Any) -> Tensor:
    return _tensor(Tensors(*answer))


def _caller_level() -> int:
    """The stacklevel of the first function outside of this package, as seen by a caller of this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level
