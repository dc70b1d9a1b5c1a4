# SPDX-License-Identifier: MIT
"""The confusion matrix of POST /v1/diagnosis: every listed mistake is named first, and nothing that
is right is called one. Some cases of each group here; all of them in `tests/run confusion`."""

import collections
import itertools
import os

import confusion
import confusion_many as many
import pytest

WHOLE = bool(os.environ.get("POSENC_WHOLE"))

# Every so many-th case of a group; under a sanitizer, which sees the same lines in each, fewer.
FEWER = 5 if "POSENC_SANITIZED" in os.environ else 1
STEPS = {
    "listed": 8,
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
    cases = confusion.GROUPS[group]
    step = 1 if WHOLE else min(FEWER * STEPS[group], len(cases))
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
    # Only a function shows these: tests/core/diagnosis/test_probe.c.
    of_functions = {"pairs-permuted", "outputs-reordered"}
    assert {case.bug for case in confusion.LISTED} == confusion.codes() - of_functions


# ---- the population -----------------------------------------------------------------------------

# In the suite every so many-th case of all; here every one of a few.
POPULATION = {
    "lists": (many.lists, many.outcome, 1, {"dims": (4,)}),
    "tables": (
        many.tables,
        many.outcome,
        29,
        {"dims": (4,), "places": [(16, 0)], "forms": {"pairs": many.FORMS["pairs"]}}
        | {"dtypes": {"f32": many.DTYPES["f32"]}},
    ),
    "rotations": (
        many.rotations,
        many.outcome,
        29,
        {"dims": (8,), "places": [(16, 5000)], "dtypes": ["f16"]},
    ),
    "damaged": (many.damaged, many.damaged_outcome, 97, {"dims": ()}),
}


PARTS = [
    (kind, dim)
    for kind, (_, _, _, few) in POPULATION.items()
    for dim in (many.DIMS if WHOLE else few["dims"])
]


@pytest.mark.numbers(3)
@pytest.mark.parametrize("kind,dim", PARTS)
def test_population(server, kind, dim):
    """No mistake is named for another; what is not named is undecided or changes no value."""
    make, judge, step, few = POPULATION[kind]
    cases = make(server, dims=(dim,)) if WHOLE else make(server, **few)
    outcomes = [
        judge(server, case) for case in itertools.islice(cases, 0, None, step if WHOLE else 1)
    ]
    counts = collections.Counter(one for one in outcomes if ":" not in one)
    wrong = [one for one in outcomes if ":" in one]
    print(kind, dim, dict(counts), len(wrong), "wrong")
    assert not wrong, "\n".join(wrong[:50])
    assert counts["named"] > 0 or judge is many.damaged_outcome, counts
