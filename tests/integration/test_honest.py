# SPDX-License-Identifier: MIT
"""No honest table of float32 is called wrong or unknown: random widths, lengths, bases, formulas
and dtypes (honest.py), with and without an expectation. Some here; POSENC_WHOLE for 4000."""

import os

import honest
import pytest
from samples import ask

SANITIZED = "POSENC_SANITIZED" in os.environ
COUNT = 4000 if os.environ.get("POSENC_WHOLE") else 12 if SANITIZED else 32

# Seeds of narrow and long tables that the look at all rows once called unknown.
ONCE_UNKNOWN = [316, 1060, 1095, 1156, 1187, 1398, 1651, 1794, 1830, 2621]


def wrong(server, made, verdict, **expected):
    """None, or what was said of the table."""
    name, tensors, _ = made
    report = ask(server, tensors, **expected).good().json
    return (
        None
        if report["verdict"] == verdict
        else f"{name}: {report['verdict']}, {report['bad_rows']} bad rows, {report['first_bad']}"
    )


@pytest.mark.parametrize("shape", [honest.any_shape, honest.narrow_shape])
def test_an_honest_table_matches(server, shape):
    tables = (honest.made(seed, shape) for seed in range(COUNT))
    failures = [line for made in tables if (line := wrong(server, made, "match", encoding=made[2]))]
    assert not failures, "\n".join(failures)


def test_narrow_tables_that_were_unknown(server):
    tables = (honest.made(seed, honest.narrow_shape, 0) for seed in ONCE_UNKNOWN)
    failures = [line for made in tables if (line := wrong(server, made, "match", encoding=made[2]))]
    assert not failures, "\n".join(failures)


def test_an_honest_table_is_consistent_where_nothing_is_expected(server):
    """A mistake must not be named; of few or coarse rows several schemes may be as likely."""
    for seed in range(COUNT // 8):
        name, tensors, _ = honest.made(seed, honest.clear_shape, 0)
        report = ask(server, tensors).good().json
        assert report["verdict"] == "consistent", (name, report["candidates"][:1])
