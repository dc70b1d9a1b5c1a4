# SPDX-License-Identifier: MIT
"""tools/engines/engines.json: written by measure.py, read by page.py and the tests."""

import copy
import gzip
import json
import pathlib

from engines import BY_NAME
from forms import model_key

FILE = pathlib.Path(__file__).resolve().parents[2] / "tools/engines/engines.json"
ROWS = FILE.with_name("rows.json.gz")  # the configs themselves
ABOUT = (
    "Measured by tools/engines/measure.py, never written by hand. A row is a config, in the form "
    "of transformers 4 (rope_theta, rope_scaling) and of transformers 5 (rope_parameters). A cell "
    'is "same", or what differs: code; pairs, of how many; radians, the worst difference of an '
    "angle at position `at`; layers, of how many layers; keys, the fewest keys without which "
    "engine and posenc agree; as_if, a key with which they do. Or by_default: the engine does not "
    'read these keys, and its own values happen to be theirs. Or "raises", "absent" (no such '
    'model), "unmeasured". Rules: by model type and form, what the engine does with the config of '
    "a row once it has a rope object of rules.py. `same`: those for which it is the same; of the "
    "others what differs, with reads_as, the least change after which posenc reads the config as "
    "the engine does (null takes a key away); or what it raises, with the key without which it "
    "does not. `needs`: by rope type, keys without which the engine raises, and what; rope.KEY is "
    "one of the rope object. "
    "`beyond`: by rope type, what is otherwise where the context is longer than factor × "
    "original_max_position_embeddings. "
    "An engine with a version in its name is an older release: it has what is otherwise "
    "than in the entry of the newest, null for what it lacks."
)
DEPTHS = {"cells": 3, "rules": 2}  # below which values of two releases are compared whole
KINDS = ("published", "stirred", "defaults")


def load(file=FILE):
    if not file.exists():
        return {"about": ABOUT, "rows": {}, "engines": {}}
    data = json.loads(file.read_text())
    for newest, older in older_releases(data["engines"]):
        for part, depth in DEPTHS.items():
            older[part] = copy.deepcopy(overlaid(newest[part], older[part], depth))
    return data


def older_releases(engines):
    """(the newest release, an older one) of each older one."""
    for label, engine in engines.items():
        name = label.split("==")[0]
        if name != label:
            yield engines[name], engine


def otherwise(newest, older, depth):
    """What is otherwise in `older`; null for what only `newest` has."""
    found = {}
    for key in [*newest, *(key for key in older if key not in newest)]:
        new, old = newest.get(key), older.get(key)
        if depth > 1 and isinstance(new or {}, dict) and isinstance(old, dict):
            inner = otherwise(new or {}, old, depth - 1)
            found |= {key: inner} if inner else {}
        elif new != old:
            found[key] = old
    return found


def overlaid(newest, found, depth):
    """`older`, by what is otherwise."""
    merged = dict(newest)
    for key, value in found.items():
        if value is None:
            del merged[key]
        elif depth > 1:
            merged[key] = overlaid(merged.get(key, {}), value, depth - 1)
        else:
            merged[key] = value
    return merged


def configs():
    """{row: {form: config}}"""
    return {row["name"]: row["forms"] for row in table()}


def table():
    """The rows, as measure.py keeps them."""
    return json.loads(gzip.decompress(ROWS.read_bytes()))


def configs_save(table):
    text = json.dumps(table, separators=(",", ":"), sort_keys=True)
    ROWS.write_bytes(gzip.compress(text.encode(), mtime=0))


def changes(before, after):
    """Sentences about cells, versions and hashes that are not what they were."""
    found = []
    for name, engine in after.items():
        old = before.get(name, {"cells": {}})
        for key in ("version", "sha256", "beside"):
            if old.get(key) != engine[key]:
                found.append(f"{name}: {key} was {old.get(key)}, is {engine[key]}")
        for kind in KINDS:
            now, then = engine["cells"].get(kind, {}), old["cells"].get(kind, {})
            for row in sorted(set(now) | set(then)):
                if now.get(row) != then.get(row):
                    found.append(f"{name}: {row}: was {then.get(row)}, is {now.get(row)}")
        now, then = engine["rules"], old.get("rules", {})
        for of in sorted(set(now) | set(then)):
            if now.get(of) != then.get(of):
                found.append(f"{name}: rules of {of}: was {then.get(of)}, is {now.get(of)}")
    return found


def lines(value, depth):
    """JSON with objects a line each below this depth."""
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value)
    inner = ",\n".join(f"{json.dumps(key)}: {lines(v, depth - 1)}" for key, v in value.items())
    return "{\n" + inner + "\n}"


def save(before, engines, table):
    configs_save(table)
    rows = {row["name"]: kind_of(row) for row in table}
    merged = before["engines"] | engines
    merged = {name: dict(merged[name]) for name in BY_NAME if name in merged}
    for newest, older in older_releases(merged):
        older |= {part: otherwise(newest[part], older[part], d) for part, d in DEPTHS.items()}
    head = f'{{\n"about": {json.dumps(ABOUT)},\n"rows": {lines(rows, 1)},\n"engines": '
    FILE.write_text(head + engines_text(merged) + "\n}\n")


def engines_text(engines):
    parts = []
    for name, engine in engines.items():
        plain = "".join(
            f"{json.dumps(k)}: {json.dumps(v)},\n"
            for k, v in engine.items()
            if k not in ("cells", "rules")
        )
        cells, found = lines(engine["cells"], 2), lines(engine.get("rules", {}), 2)
        parts.append(f'{json.dumps(name)}: {{\n{plain}"cells": {cells},\n"rules": {found}\n}}')
    return "{\n" + ",\n".join(parts) + "\n}"


def kind_of(row):
    config = next(iter(row["forms"].values()))
    return {
        "kind": row["kind"],
        "model_type": config.get("model_type"),
        "key": model_key(config),
        "forms": list(row["forms"]),
    }
