# SPDX-License-Identifier: MIT
"""Three ways to a service: inside of the process, over HTTP, and over HTTP for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from . import _requests, _steps
from ._aio import AsyncConnections
from ._answers import Report, Tensor, Tensors, report_of, tensors_of, view_of
from ._arrays import check_in_place
from ._audit import Audit
from ._functions import Functions
from ._http import Connections, Origin, Progress, send_once
from ._library import Service
from ._messages import Reply, Request, checked
from ._probe import Probe
from ._requests import Config, Encoding
from ._steps import Steps

T = TypeVar("T")


class Door(Protocol):
    def send(self, request: Request) -> Reply: ...


class Client(Functions[Tensor, Tensors, Report, Reply, Probe, Audit]):
    """The functions, answered at once."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def _tensors(self, request: Request) -> Tensors:
        return tensors_of(self._door.send(request))

    def _report(self, request: Request) -> Report:
        return report_of(self._door.send(request))

    def _reply(self, request: Request) -> Reply:
        return self._door.send(request)

    def _draw(self, request: Request) -> Reply:
        """Requests a picture, while a notebook waits."""
        return self._door.send(request)

    def _view(self, request: Request) -> Tensor | Tensors:
        reply = self._door.send(request)
        return view_of(reply, lambda: self._draw(_requests.picture(request)))

    def _view_after(self, request: Request, then: Callable[[Report], Request]) -> Tensor | Tensors:
        return self._view(then(self._report(request)))

    def _result(self, steps: Steps[T]) -> T:
        return _steps.run(steps, self._report)


class Local(Client):
    """A service inside of this process, started by its first request. Settings are the flags of
    posencd, with underscores: ``Local(threads=1, tables="folder")``; ValueError for one that does
    not exist, by the first request. `timeout` is in seconds, for each request: what has not begun
    by then is refused (503), what is not complete is a TimeoutError. Any number of threads may use
    it, and forked processes start their own.

    >>> Local(dim_max=64).table("rope", dim=128, length=1)
    Traceback (most recent call last):
    posenc.Refused: dim is at most 64, the value of --dim-max
    """

    def __init__(self, *, timeout: float | None = None, **settings: Any) -> None:
        self._service = Service(timeout=timeout, **settings)
        self._arguments = ({} if timeout is None else {"timeout": timeout}) | settings
        super().__init__(self._service)

    def __repr__(self) -> str:
        return f"Local({', '.join(f'{name}={value!r}' for name, value in self._arguments.items())})"

    def rotate_in_place(
        self,
        encoding: Encoding | None = None,
        /,
        *arrays: Any,
        config: Config | None = None,
        **parameters: Any,
    ) -> None:
        """Like `rotate`, in the arrays' own memory: NumPy arrays that can be written to (of torch:
        ``tensor.numpy()``), contiguous in C order, with the `axes` that are named. Positions are
        `start` and `step`, or not too many to stand in a URL. All arrays are rotated or none:
        posenc.Refused, errors and the timeout come before the first element is written. TypeError:
        an array is masked or read-only, or its result would have another dtype; ValueError: two
        arrays share memory, or the layers of a config differ.

        >>> import numpy
        >>> q = numpy.eye(2, 4, dtype=numpy.float32).reshape(2, 1, 4)
        >>> Local().rotate_in_place("rope", q, axes="shd", layout="half", start=1)
        >>> q[0, 0]
        array([0.5403023 , 0.        , 0.84147096, 0.        ], dtype=float32)
        """
        if config is not None:
            told = {
                key: parameters.pop(key) for key in ("layer_type", "strict") if key in parameters
            }
            found = _requests.only_encoding(self.config(config, **told))
            encoding, parameters = encoding or found["name"], {**found, **parameters}
            parameters.pop("name")
        check_in_place(arrays)
        given = {"encoding": encoding, **parameters}
        requests = [_requests.rotation_in_place(array, given) for array in arrays]
        begun = [
            self._service.begin_in_place(request, array) for request, array in zip(requests, arrays)
        ]
        for rotation in begun:
            checked(rotation.reply())
        for rotation in begun:
            rotation.run()


class Remote(Client):
    """A server, as posenc.connect gives it. ``with posenc.connect(url) as server:`` closes its
    connections at the end.

    >>> import posenc
    >>> with posenc.connect("http://127.0.0.1:8080") as server:
    ...     server.table("rope", dim=8, length=9)
    Tensors(cos: float32[9, 4], sin: float32[9, 4])
    """

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._connections = connections

    def __repr__(self) -> str:
        return f"Remote({self._connections.origin.address!r})"

    def _draw(self, request: Request) -> Reply:
        return send_once(self._connections.origin, request)

    def close(self) -> None:
        """Closes the idle connections; another request opens one again.

        >>> import posenc
        >>> posenc.connect("http://127.0.0.1:8080").close()
        """
        self._connections.close()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRemote(
    Functions[
        Awaitable[Tensor],
        Awaitable[Tensors],
        Awaitable[Report],
        Awaitable[Reply],
        Awaitable[Probe],
        Awaitable[Audit],
    ]
):
    """A server for asyncio, as posenc.connect_async gives it: the same functions, awaited.

    >>> import asyncio, posenc
    >>> async def table():
    ...     async with posenc.connect_async("http://127.0.0.1:8080") as server:
    ...         return await server.table("rope", dim=8, length=9)
    >>> asyncio.run(table())
    Tensors(cos: float32[9, 4], sin: float32[9, 4])
    """

    def __init__(self, connections: AsyncConnections) -> None:
        self._connections = connections

    def __repr__(self) -> str:
        return f"AsyncRemote({self._connections.origin.address!r})"

    async def _tensors(self, request: Request) -> Tensors:
        return tensors_of(await self._connections.send(request))

    async def _report(self, request: Request) -> Report:
        return report_of(await self._connections.send(request))

    async def _reply(self, request: Request) -> Reply:
        return await self._connections.send(request)

    async def _view(self, request: Request) -> Tensor | Tensors:
        reply, origin = await self._connections.send(request), self._connections.origin
        return view_of(reply, lambda: send_once(origin, _requests.picture(request)))

    async def _view_after(
        self, request: Request, then: Callable[[Report], Request]
    ) -> Tensor | Tensors:
        return await self._view(then(await self._report(request)))

    async def _result(self, steps: Steps[T]) -> T:
        return await _steps.run_async(steps, self._report)

    async def close(self) -> None:
        """Closes the connections.

        >>> import asyncio, posenc
        >>> asyncio.run(posenc.connect_async("http://127.0.0.1:8080").close())
        """
        await self._connections.close()

    async def __aenter__(self) -> AsyncRemote:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def connect(
    url: str,
    *,
    token: str | None = None,
    timeout: float = 300,
    retries: int = 4,
    progress: Progress = None,
) -> Remote:
    """A server at "http://host:port", or below a path there, with all functions of this module.

    The first request connects; posenc.ConnectionFailed names the URL where no server answers.
    `timeout` is in seconds, for each step of an exchange, and ends in a TimeoutError. Where the
    server has no capacity (503 with Retry-After) a request is sent again, `retries` times at most,
    after the seconds that the server says, 30 at most. `progress` is True for a bar of
    tqdm, or a function called with "send" or "receive", bytes so far, and bytes in all; without,
    transfers over 16 MiB have a bar where tqdm is installed and stderr is a terminal. Any number of
    threads may use it. Proxies of the environment are not used. ValueError: `url` is no address.

    >>> import posenc
    >>> server = posenc.connect("http://127.0.0.1:8080")
    >>> server.table("sinusoidal", dim=8, length=5).shape
    (5, 8)
    >>> server.close()
    """
    return Remote(Connections(Origin(url, token), timeout, retries, progress))


def connect_async(
    url: str, *, token: str | None = None, timeout: float = 300, retries: int = 4
) -> AsyncRemote:
    """Like `connect`, for asyncio, without a `progress`. ImportError where httpx is absent
    (``pip install posenc[async]``).

    >>> import posenc
    >>> posenc.connect_async("http://127.0.0.1:8080")
    AsyncRemote('http://127.0.0.1:8080')
    """
    return AsyncRemote(AsyncConnections(Origin(url, token), timeout, retries))
