#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The estimated cost of each recorded request. A service with a low --work-max refuses the request,
and the refusal contains the estimate. POSENC_ISA must be scalar: estimates of vector code depend on
the machine.

    POSENC_ISA=scalar python tests/recorded/costs.py [--update]

Exit code 1 where a cost differs from costs.jsonl. --update writes that file and ends with 0;
reviewed.md has the cases for it."""

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
# In ns. The first is below any estimate. It ends some requests before their estimate, while the
# body is read or the parameters are checked; with the higher limits they reach it.
LIMITS = (1, 3000, 60000)
REFUSALS = (
    (re.compile(r"would take about ([\d.e+-]+) s of one core"), "{} s"),
    (re.compile(r"more operations than the (\d+) it may take"), "{} operations"),
    (re.compile(r"takes more work than --work-max allows"), "body"),
)


def outcome(status, body):
    """The estimate or the limit of operations in a refusal, "body" where reading the body took more
    work than is allowed, else the status."""
    text = body.decode(errors="replace") if status == 413 else ""
    for pattern, template in REFUSALS:
        if match := pattern.search(text):
            return template.format(*match.groups())
    return status


def has_cost(request):
    """Not HEAD, which has no body; not what only a socket can answer; no headers with a placeholder
    ({etag}), which needs a successful answer; no loose requests, whose bodies change often."""
    return (
        not request.loose
        and request.method != "HEAD"
        and request.name not in replay.SOCKET_REQUESTS
        and not any("{" in value for _, value in request.headers)
    )


def costs_now():
    """name -> outcomes, one for each limit"""
    requests = [request for request in requested.requests() if has_cost(request)]
    outcomes = {request.name: [] for request in requests}
    for limit in LIMITS:

        def service(settings, limit=limit):
            kept = [pair for pair in settings if pair[0] != "work-max"]
            return in_process.Door([*kept, ("threads", "1"), ("work-max", str(limit))])

        with replay.doors(service) as opened:
            for request in requests:
                fields = list(({"Host": "127.0.0.1:1"} | dict(request.headers)).items())
                door = opened[request.server]
                status, _, body = door.ask(request.method, request.target, fields, request.body)
                outcomes[request.name].append(outcome(status, body))
    return outcomes


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
    assert os.environ.get("POSENC_ISA") == "scalar", "POSENC_ISA must be scalar"
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
