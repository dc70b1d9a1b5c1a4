# SPDX-License-Identifier: MIT
"""Three ways to a service: inside of the process, over HTTP, and over HTTP for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from . import _requests
from ._aio import AsyncConnections
from ._arrays import check_in_place
from ._functions import Functions
from ._http import Connections, Origin, Progress
from ._library import Service
from ._messages import Reply, Report, Request, Tensors, checked, report_of, tensors_of
from ._requests import Config, Encoding


class Door(Protocol):
    def send(self, request: Request) -> Reply: ...


class Client(Functions[Tensors, Report, Reply]):
    """The functions, answered at once."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def _tensors(self, request: Request) -> Tensors:
        return tensors_of(self._door.send(request))

    def _report(self, request: Request) -> Report:
        return report_of(self._door.send(request))

    def _reply(self, request: Request) -> Reply:
        return self._door.send(request)

    def _tensors_after(self, request: Request, then: Callable[[Report], Request]) -> Tensors:
        return self._tensors(then(self._report(request)))


class Local(Client):
    """A service inside of this process, started when it is first asked. Settings are the flags of
    posencd, with underscores: ``Local(threads=1, tables="folder")``. `timeout` is in seconds, for
    each request: what has not begun by then is refused (503), what is not whole is a TimeoutError.
    Any number of threads may use it, and forked processes start their own.

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
        ``tensor.numpy()``), contiguous in C order. Positions are `start` and `step`, or not too
        many to stand in a URL. All arrays are rotated or none: refusals, errors and the
        timeout come before the first element is written. Two arrays that share memory are
        refused, and so are masked arrays.

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
    """A server. ``with posenc.connect(url) as server:`` closes its connections at the end."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._connections = connections

    def __repr__(self) -> str:
        return f"Remote({self._connections.origin.address!r})"

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRemote(Functions[Awaitable[Tensors], Awaitable[Report], Awaitable[Reply]]):
    """A server for asyncio: the same functions, awaited."""

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

    async def _tensors_after(self, request: Request, then: Callable[[Report], Request]) -> Tensors:
        return await self._tensors(then(await self._report(request)))

    async def close(self) -> None:
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
    threads may ask. Proxies of the environment are not used."""
    return Remote(Connections(Origin(url, token), timeout, retries, progress))


def connect_async(
    url: str, *, token: str | None = None, timeout: float = 300, retries: int = 4
) -> AsyncRemote:
    """Like `connect`, for asyncio; needs httpx (``pip install posenc[async]``)."""
    return AsyncRemote(AsyncConnections(Origin(url, token), timeout, retries))
