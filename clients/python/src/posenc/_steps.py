# SPDX-License-Identifier: MIT
"""Functions of several requests, written once for clients that wait and for those that are awaited:
a generator yields each request, is sent its report, and returns the result. An exception of a
request is raised where the generator yielded it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

from ._answers import Report
from ._messages import Request

T = TypeVar("T")
Steps = Generator[Request, Report, T]


def run(steps: Steps[T], report: Callable[[Request], Report]) -> T:
    try:
        request = next(steps)
        while True:
            try:
                found = report(request)
            except Exception as failure:
                request = steps.throw(failure)
            else:
                request = steps.send(found)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(steps: Steps[T], report: Callable[[Request], Awaitable[Report]]) -> T:
    try:
        request = next(steps)
        while True:
            try:
                found = await report(request)
            except Exception as failure:
                request = steps.throw(failure)
            else:
                request = steps.send(found)
    except StopIteration as end:
        result: T = end.value
        return result
