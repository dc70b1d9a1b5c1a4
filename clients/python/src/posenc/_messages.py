# SPDX-License-Identifier: MIT
"""A request and its reply as values, the same for every way on which they travel."""

from __future__ import annotations

import itertools
import json
import reprlib
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._arrays import Array, Buffer

JSON, SAFETENSORS = "application/json", "application/x-safetensors"
RAW = "application/octet-stream"


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    fields: tuple[tuple[str, str], ...] = ()
    body: tuple[Buffer, ...] = ()

    @property
    def length(self) -> int:
        return sum(map(len, self.body))


class Fields(Protocol):
    """Header fields; names are found in any case."""

    def get(self, name: str, /) -> str | None: ...

    def items(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True, repr=False)
class Reply:
    """An answer as it came; `parts` are the bytes of its body, one behind the other.

    >>> import posenc
    >>> posenc.request("GET", "/v1/encodings/index/table?length=2&format=csv")
    Reply(200, 'text/csv', 15 bytes)
    """

    status: int
    fields: Fields
    parts: tuple[NDArray[np.uint8], ...]

    @property
    def content(self) -> bytes:
        """The body as a copy."""
        return b"".join(part.tobytes() for part in self.parts)

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def media_type(self) -> str:
        return (self.fields.get("Content-Type") or "").split(";")[0]

    def __repr__(self) -> str:
        size = sum(part.nbytes for part in self.parts)
        return f"Reply({self.status}, {self.media_type!r}, {size} bytes)"


class Refused(ValueError):
    """The service refuses a request, and says why in `detail`.

    `status` and `code` are those of /problems/CODE; `errors` says which parameters or tensors are
    meant; `hint` is what may help, or None.

    >>> import posenc
    >>> try:
    ...     posenc.table("rope", dim=64, lenght=10)
    ... except posenc.Refused as refused:
    ...     print(refused)
    there is no parameter 'lenght'; did you mean 'length'?
    """

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = dict(problem)
        self.status = int(problem.get("status", 500))
        self.code = str(problem.get("code", "unknown"))
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", self.title))
        self.errors: list[dict[str, Any]] = list(problem.get("errors", ()))
        self.hint: str | None = problem.get("hint")
        super().__init__(self.detail)

    def __str__(self) -> str:
        return f"{self.detail} ({self.hint})" if self.hint else self.detail

    def __reduce__(self) -> tuple[type[Refused], tuple[dict[str, Any]]]:
        return Refused, (self.problem,)


class ConnectionFailed(ConnectionError):
    """There is no connection to a server, or it broke before the answer was complete. `url` is
    that of the server."""

    def __init__(self, url: str, detail: str) -> None:
        self.url = url
        super().__init__(detail)

    def __reduce__(self) -> tuple[type[ConnectionFailed], tuple[str, str]]:
        return ConnectionFailed, (self.url, str(self))


class EncodingWarning(UserWarning):
    """An answer warns beside its values: of a scale that is missing, positions beyond a context."""


class Tensors(tuple[Array, ...]):
    """The arrays of an answer, in order and by name.

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

    names: tuple[str, ...]
    encoding: dict[str, Any]
    """The encoding with all its parameters resolved; can be given instead of a name."""
    warnings: tuple[str, ...]
    info: dict[str, Any]
    """Everything else in the answer, such as `attention_factor`."""

    def __new__(
        cls,
        arrays: Iterable[tuple[str, Array]],
        encoding: Mapping[str, Any] | None = None,
        warned: Iterable[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> Tensors:
        named = dict(arrays)
        made = super().__new__(cls, named.values())
        made.names = tuple(named)
        made.encoding = dict(encoding or {})
        made.warnings = tuple(warned)
        made.info = dict(info or {})
        return made

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Array: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Array, ...]: ...

    def __getitem__(self, key: str | SupportsIndex | slice) -> Array | tuple[Array, ...]:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            raise KeyError(f"{key}; there are {', '.join(self.names)}")
        return super().__getitem__(self.names.index(key))

    def __getattr__(self, name: str) -> Array:
        names = self.__dict__.get("names", ())
        if name.startswith("__") or name not in names:
            raise AttributeError(f"{name}; there are {', '.join(names)}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    def as_dict(self) -> dict[str, Array]:
        return dict(zip(self.names, self))

    def __repr__(self) -> str:
        arrays = ", ".join(
            f"{name}: {array.dtype}{list(array.shape)}" for name, array in zip(self.names, self)
        )
        return f"Tensors({arrays})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensors, (list(self.as_dict().items()), self.encoding, self.warnings, self.info)


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


_short = _Short()


class Report(dict[str, Any]):
    """An answer in words and numbers: a dict whose keys are attributes too. Its repr has a line for
    each key, with the beginning of long values.

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
        lines = [f"  {key}={_short.repr(value)}," for key, value in self.items()]
        return "\n".join(["Report(", *lines, ")"]) if lines else "Report()"


# ---- reading a reply -----------------------------------------------------------------------------


def checked(reply: Reply) -> Reply:
    """The reply, where it is none of a refusal."""
    if reply.status < 400:
        return reply
    try:
        problem = reply.json()
    except ValueError:
        problem = {"detail": reply.content[:300].decode(errors="replace").strip()}
    if not isinstance(problem, dict):
        problem = {"detail": str(problem)}
    raise Refused({"status": reply.status, **problem})


def report_of(reply: Reply) -> Report:
    return Report(checked(reply).json())


def _field_json(reply: Reply, name: str) -> Any:
    text = reply.fields.get(name)
    return json.loads(text) if text else None


def tensors_of(reply: Reply) -> Tensors:
    """Arrays over the body's memory where that is possible; says what the answer warns of."""
    if checked(reply).media_type == JSON:
        told: dict[str, Any] = reply.json()
        made = Tensors(
            _arrays.json_arrays(told.pop("tensors", {})),
            told.pop("encoding", None),
            told.pop("warnings", ()),
            told,
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


def _caller_level() -> int:
    """The stacklevel of the first function outside of this package, as seen by a caller of this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level
