# SPDX-License-Identifier: MIT
"""The configs by which engines are judged (tools/engines/rules.py): each model type with a rope
object of each rope type, in the form of transformers 4 and of 5. What posenc reads is what the
class of transformers rotates, or posenc refuses, or warns."""

import collections
import gzip
import json
import pathlib
import sys

ENGINES = pathlib.Path(__file__).resolve().parents[2] / "tools/engines"
sys.path[:0] = [str(ENGINES), str(ENGINES / "drivers")]

import compare  # noqa: E402
import expected  # noqa: E402
import matrix  # noqa: E402
import rules  # noqa: E402
import transformers  # noqa: E402
import transformers_driver  # noqa: E402
from serving import answer  # noqa: E402

SAME, WARNED, SILENT, REFUSED, FAILS = "same", "warned", "SILENT", "refused", "its class fails"


def bases(wanted=()):
    """(model type, form, config, {form: config}) of the first row of each model type, the class's
    own config before a published one."""
    found = {}
    table = json.loads(gzip.decompress(matrix.ROWS.read_bytes()))
    for row in sorted(table, key=lambda row: row["kind"] != "defaults"):
        for form, config in row["forms"].items():
            key = rules.model_key(config)
            if row["kind"] != "stirred" and key and (not wanted or key in wanted):
                found.setdefault((key, form), row["forms"])
    for (key, form), forms in found.items():
        yield key, form, forms[form], {f: forms[f] for f in {form, "5"} if f in forms}


def configs(wanted=()):
    """(name, config)"""
    for key, form, config, forms in bases(wanted):
        yield f"{key} {form}", config
        for rope_type, part, made in rules.stirred(forms):
            if made.get(form):
                yield f"{key} {form}: {rope_type} {part}", made[form]


def judged(config):
    """(verdict, what differs)"""
    try:
        report = expected.read(config)
        lengths = expected.lengths(report)
        ours = expected.kinds(report, lengths)
    except (expected.NotARow, expected.posenc.Refused) as error:
        return REFUSED, str(error)
    theirs = answer(transformers_driver.measure, {"config": config, "lengths": lengths})
    if "kinds" not in theirs:
        return FAILS, theirs
    found = compare.models(ours, theirs["kinds"])
    if found is None:
        return SAME, None
    return (WARNED if report["warnings"] else SILENT), found


def counted(wanted=()):
    """(counts of verdicts, what is silently wrong)"""
    transformers.logging.set_verbosity_error()
    counts, wrong = collections.Counter(), []
    for name, config in configs(wanted):
        verdict, found = judged(config)
        counts[verdict] += 1
        if verdict == SILENT:
            wrong.append((name, found))
    return counts, wrong


def test_rope_objects():
    counts, wrong = counted()
    print(counts)
    assert not wrong, (len(wrong), wrong[:20])
    assert counts[SAME] >= 6000 and counts[WARNED] <= 38
