# SPDX-License-Identifier: MIT
"""The confusion matrix of POST /v1/diagnosis: every listed mistake is named first, and nothing that
is right is called one. Some cases of each group here; all of them in `tests/run confusion`."""

import os

import confusion
import pytest

# Every so many-th case of a group.
STEPS = {
    "listed": 4,
    "listed in float32": 4,
    "unlisted": 4,
    "right": 16,
    "float32": 45,
    "far": 16,
    "unexpected": 8,
    "batches": 3,
}


@pytest.mark.parametrize("group", confusion.GROUPS)
def test_confusion(server, group):
    step = 1 if os.environ.get("POSENC_WHOLE") else STEPS[group]
    cases = confusion.GROUPS[group]
    failures = [line for case in cases[step - 1 :: step] if (line := confusion.wrong(server, case))]
    assert not failures, "\n".join(failures)


def test_the_matrix_is_whole():
    """Every listed mistake is among the cases."""
    sizes = {group: len(cases) for group, cases in confusion.GROUPS.items()}
    assert sizes == {
        "listed": 113,
        "listed in float32": 9,
        "unlisted": 22,
        "right": 63,
        "float32": 220,
        "far": 33,
        "unexpected": 58,
        "batches": 8,
    }
    assert {case.bug for case in confusion.LISTED} == confusion.codes()
