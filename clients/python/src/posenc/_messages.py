# SPDX-License-Identifier: MIT
"""A request and its reply as values, the same for every way on which they travel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._arrays import Buffer

JSON, SAFETENSORS = "application/json", "application/x-safetensors"
RAW, SVG = "application/octet-stream", "image/svg+xml"


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
    """An answer as it came: `status`, header `fields`, and `parts`, arrays of the bytes of its
    body, one behind the other.

    >>> import posenc
    >>> posenc.request("GET", "/v1/encodings/index/table?length=2&format=csv")
    Reply(200, 'text/csv', 15 bytes)
    """

    status: int
    fields: Fields
    parts: tuple[NDArray[np.uint8], ...]

    @property
    def content(self) -> bytes:
        """The body as bytes, copied.

        >>> import posenc
        >>> posenc.request("GET", "/v1/encodings/index/table?length=2&format=raw").content.hex()
        '000000000000803f'
        """
        return b"".join(part.tobytes() for part in self.parts)

    @property
    def text(self) -> str:
        """The body as text. UnicodeDecodeError: it is none.

        >>> import posenc
        >>> posenc.request("GET", "/v1/encodings/index/table?length=2&format=csv").text.split()
        ['table_0', '0', '1']
        """
        return self.content.decode()

    def json(self) -> Any:
        """The value of a JSON body. ValueError: it is none.

        >>> import posenc
        >>> posenc.request("GET", "/v1/encodings/nothing").json()["status"]
        404
        """
        return json.loads(self.content)

    @property
    def media_type(self) -> str:
        """Of the Content-Type in lower case, without its parameters; "" where there is none.

        >>> import posenc
        >>> posenc.request("GET", "/v1/encodings").media_type
        'application/json'
        """
        return (self.fields.get("Content-Type") or "").split(";")[0].strip().lower()

    def __repr__(self) -> str:
        size = sum(part.nbytes for part in self.parts)
        return f"Reply({self.status}, {self.media_type!r}, {size} bytes)"


class Refused(ValueError):
    """The service refuses a request, and says why in `detail`.

    `status` (of HTTP) and `code` are those of /problems/CODE; `errors` has an item for each
    parameter or tensor that is wrong; `hint` is what may help, or None; `problem` is the document.

    >>> import posenc
    >>> try:
    ...     posenc.table("rope", dim=64, lenght=10)
    ... except posenc.Refused as refused:
    ...     print(refused)
    ...     print(refused.status, refused.errors[0]["parameter"])
    there is no parameter 'lenght'; did you mean 'length'?
    422 lenght
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
    """There is no connection to a server, or it broke before the answer was complete: a
    ConnectionError. `url` is that of the server.

    >>> import posenc
    >>> posenc.connect("http://127.0.0.1:1").encodings()
    Traceback (most recent call last):
    posenc.ConnectionFailed: cannot connect to http://127.0.0.1:1: Connection refused
    """

    def __init__(self, url: str, detail: str) -> None:
        self.url = url
        super().__init__(detail)

    def __reduce__(self) -> tuple[type[ConnectionFailed], tuple[str, str]]:
        return ConnectionFailed, (self.url, str(self))


class EncodingWarning(UserWarning):
    """An answer warns beside its values: of a scale that is missing, positions beyond a context.
    The texts are also in `warnings` of the answer.

    >>> import posenc, warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     answer = posenc.view("sinusoidal", "decay", dim=8, max_offset=2)
    >>> caught[0].category.__name__, str(caught[0].message) == answer.warnings[0]
    ('EncodingWarning', True)
    """


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


def of_type(reply: Reply, *media_types: str) -> Reply:
    """The reply. ValueError for another media type, such as that of a redirection or of a proxy's
    page; Refused for a refusal."""
    if checked(reply).media_type in media_types:
        return reply
    place = reply.fields.get("Location")
    raise ValueError(
        f"the answer is no {' or '.join(media_types)}: status {reply.status}, "
        f"{reply.media_type or 'no media type'}" + (f", at {place}" if place else "")
    )
