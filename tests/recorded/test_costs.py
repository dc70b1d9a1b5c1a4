# SPDX-License-Identifier: MIT
"""The estimated cost of every recorded request is as it was recorded."""

import os
import pathlib
import subprocess
import sys

import costs


def test_estimates():
    """In a process of its own: the instruction set is chosen once."""
    ran = subprocess.run(
        [sys.executable, pathlib.Path(costs.__file__)],
        env=dict(os.environ, POSENC_ISA="scalar"),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]


def test_most_requests_have_an_estimate():
    """A record of nothing but statuses would hold no cost."""
    recorded = costs.read()
    estimated = [one for one in recorded.values() if any(str(cost).endswith(" s") for cost in one)]
    assert len(recorded) > 1000 and len(estimated) > len(recorded) / 3


def test_differences():
    assert costs.differences({"a": [1]}, {"a": [1]}) == []
    assert costs.differences({"a": ["1e-06 s"]}, {"a": ["2e-06 s"]}) != []
    assert costs.differences({"a": [1]}, {}) != []
    assert costs.outcome(413, b"the answer would take about 3e-06 s of one core") == "3e-06 s"
    assert costs.outcome(422, b"about 3e-06 s of one core") == 422
