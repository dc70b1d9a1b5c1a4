# SPDX-License-Identifier: MIT
"""A server for asyncio, by httpx, which is an extra: ``pip install posenc[async]``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import numpy as np

from ._http import Origin, pieces, retry_after
from ._messages import Reply, Request

if TYPE_CHECKING:
    import httpx


class AsyncConnections:
    def __init__(self, origin: Origin, timeout: float, retries: int) -> None:
        import httpx

        self.origin, self._retries, self._timeout = origin, retries, timeout
        self._client: httpx.AsyncClient = httpx.AsyncClient(
            base_url=origin.url, timeout=timeout, trust_env=False
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def send(self, request: Request) -> Reply:
        for _ in range(self._retries):
            reply = await self._send(request)
            seconds = retry_after(reply.status, reply.fields.get("Retry-After"))
            if seconds is None:
                return reply
            await asyncio.sleep(seconds)
        return await self._send(request)

    async def _send(self, request: Request) -> Reply:
        import httpx

        body = bytearray()
        try:
            async with self._client.stream(
                request.method,
                self.origin.base + request.target,
                headers=self.origin.headers(request),
                content=_sent(request) if request.body else None,
            ) as response:
                async for piece in response.aiter_raw():  # as it comes, without decoding
                    body += piece
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self.origin.refused(error) from error
        except httpx.TimeoutException as error:
            raise self.origin.late(self._timeout) from error
        except httpx.TransportError as error:
            raise self.origin.broken(error) from error
        return Reply(response.status_code, response.headers, (np.frombuffer(body, np.uint8),))


async def _sent(request: Request) -> AsyncIterator[bytes]:
    for piece in pieces(request.body):
        yield bytes(piece)
