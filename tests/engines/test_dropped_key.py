# SPDX-License-Identifier: MIT
"""A key that an engine stops to read turns the cells of the configs that have it, and no others."""

import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

import matrix  # noqa: E402
import measure  # noqa: E402
from engines import BY_NAME, Engine, set_up  # noqa: E402

DATA = matrix.load()
CONFIGS = matrix.configs()


class Dropping(Engine):
    driver = pathlib.Path(__file__).with_name("dropping_driver.py")


def ropes(config):
    """Every object that may be a rope object."""
    for value in config.values():
        if isinstance(value, dict):
            yield value
            yield from ropes(value)


def is_yarn(config):
    return any("yarn" in (rope.get("rope_type"), rope.get("type")) for rope in ropes(config))


def test_a_key_that_is_dropped_turns_its_cells():
    engine = Dropping(**dataclasses.asdict(BY_NAME["transformers"]))
    set_up(engine)
    driver, turned, wanted, same = measure.Driver(engine), {}, set(), 0
    try:
        for row, forms in CONFIGS.items():
            for form in filter(lambda form: is_yarn(forms[form]), DATA["rows"][row]["forms"]):
                kind = DATA["rows"][row]["kind"]
                before = DATA["engines"]["transformers"]["cells"][kind][row][form]
                if before != "same":
                    continue
                if any(rope.get("truncate") is False for rope in ropes(forms[form])):
                    wanted.add((row, form))
                now = measure.measured(driver, form, forms[form])
                if now == before:
                    same += 1
                else:
                    turned[row, form] = now
    finally:
        driver.close()
    assert turned.keys() == wanted and len(wanted) == 12 and same >= 20, turned
    for cell in turned.values():
        assert cell["code"] == "scaling" and len(cell["keys"]) == 1
        assert cell["keys"][0].endswith(".truncate")
    found = turned["gpt-oss-120b", "4"]
    assert (found["pairs"], found["of"]) == (9, 32)
