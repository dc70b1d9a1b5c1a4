# SPDX-License-Identifier: MIT
"""Does an engine read a head_dim that is not hidden_size / num_attention_heads? Some compute the
width of a head of the other two keys, and some refuse a config where these disagree.

The rules of a model type have "head_dim": "read"; "ignored", where the engine computes the width;
or {"raises"}. None of these: it is unknown."""

import copy

import expected
import rules
from forms import text_of

KEY = "head_dim"  # of a model type's rules
PART = "default full"  # the rope object of the config with another head_dim
READINGS = {"read": [], "ignored": [["head_dim", None]]}  # changes of the config
WIDTHS = (96, 64)  # of a head


def is_apart(config):
    """Is head_dim given, and not what the two other keys make?"""
    text = text_of(config)
    head, count, hidden = (
        text.get(key) for key in ("head_dim", "num_attention_heads", "hidden_size")
    )
    if not all(isinstance(value, int) and value > 0 for value in (head, count, hidden)):
        return False
    return head * count != hidden


def with_another(config):
    """The config with a head_dim apart from the other keys, and not its own; None: it has none."""
    for width in WIDTHS:
        found = copy.deepcopy(config)
        text_of(found)["head_dim"] = width
        if text_of(config).get("head_dim") != width and is_apart(found):
            return found
    return None


def stirred(forms, form):
    for rope_type, part, made in rules.stirred(forms):
        if f"{rope_type} {part}" == PART:
            return made.get(form)
    return None


def change_of(rule):
    """After which posenc reads the config as the engine does; None: no such change is known."""
    return [] if rule == "same" else (rule or {}).get("reads_as")


def read(driver, forms, form, of_parts):
    """What the rules of a model type have; None: it is unknown."""
    change, config = change_of(of_parts.get(PART)), stirred(forms, form)
    other = with_another(config) if config and change is not None else None
    if other is None:
        return None
    try:
        lengths = expected.lengths(expected.read(other))
        answer = driver.ask(other, lengths)
    except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
        return None
    if "raises" in answer:
        return answer
    for name, more in READINGS.items():
        if "kinds" in answer and rules.holds(
            change + more, other, answer, lengths, driver.engine.permuted
        ):
            return name
    return None


def added(driver, table, form, about):
    """The rules of a model type in a form, with what was read now."""
    row = next(row["forms"] for row in table if row["name"] == about["row"])
    forms = {key: row[key] for key in {form, "5"} if key in row}
    found = read(driver, forms, form, rules.parts_of(about))
    return {k: v for k, v in about.items() if k != KEY} | ({KEY: found} if found else {})
