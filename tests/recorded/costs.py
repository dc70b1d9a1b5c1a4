#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each recorded request is estimated to cost: services with low limits of work refuse it, and
the refusal has the estimate in its words. Scalar loops are estimated alike on every machine.

    POSENC_ISA=scalar python tests/recorded/costs.py [--update]

Exit code 1 where anything differs from costs.jsonl; --update writes it anew (reviewed.md says
when)."""

import contextlib
import json
import os
import pathlib
import re
import sys

import in_process
import replay
import requested

COSTS = pathlib.Path(__file__).resolve().parent / "costs.jsonl"
# In ns. The first is less than any work; the others are for requests that are refused earlier,
# while the body is read or the parameters are checked, and end a request at several places.
LIMITS = (1, 3000, 60000)
REFUSALS = (
    (re.compile(r"would take about ([\d.e+-]+) s of one core"), "{} s"),
    (re.compile(r"more operations than the (\d+) it may take"), "{} operations"),
    (re.compile(r"takes more work than --work-max allows"), "body"),
)


def outcome(status, body):
    """The estimate, what ended the work otherwise, or the status."""
    text = body.decode(errors="replace") if status == 413 else ""
    for pattern, words in REFUSALS:
        if found := pattern.search(text):
            return words.format(*found.groups())
    return status


def is_asked(request):
    """HEAD has no body with the estimate, an ETag is of a good answer, and pages that change often
    are loose."""
    return (
        not request.loose
        and request.method != "HEAD"
        and request.name not in replay.SOCKET_REQUESTS
        and not any("{" in value for _, value in request.headers)
    )


def costs_now():
    """name -> outcomes, one for each limit"""
    requests = [request for request in requested.requests() if is_asked(request)]
    found = {request.name: [] for request in requests}
    for limit in LIMITS:

        def service(settings, limit=limit):
            told = [pair for pair in settings if pair[0] != "work-max"]
            return in_process.Door([*told, ("threads", "1"), ("work-max", str(limit))])

        with replay.doors(service) as opened:
            for request in requests:
                fields = list(({"Host": "127.0.0.1:1"} | dict(request.headers)).items())
                door = opened[request.server]
                status, _, body = door.ask(request.method, request.target, fields, request.body)
                found[request.name].append(outcome(status, body))
    return found


def read():
    return dict(map(json.loads, COSTS.read_text().splitlines()))


def write(costs):
    COSTS.write_text("".join(json.dumps(pair) + "\n" for pair in costs.items()))


def differences(old, new):
    """Lines for the costs that differ."""
    names = [*new, *(old.keys() - new.keys())]
    return [
        f"{name}: {old.get(name)} -> {new.get(name)}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def main():
    assert os.environ.get("POSENC_ISA") == "scalar", "POSENC_ISA=scalar is to be set"
    new = costs_now()
    old = read() if COSTS.exists() else {}
    with contextlib.suppress(BrokenPipeError):
        print("\n".join([*differences(old, new), f"{len(new)} requests"]))
    if "--update" in sys.argv[1:]:
        write(new)
        return 0
    return 1 if old != new else 0


if __name__ == "__main__":
    sys.exit(main())
