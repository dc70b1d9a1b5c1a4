# SPDX-License-Identifier: MIT
"""Configs that are not in the matrix, given to an engine and to lint: how often what lint answers
is what the engine does.

    .venv/bin/python tools/engines/sample.py [--count 120] [--seed 1] ENGINE ...

Exit code 1 where an answer is wrong: lint answers "same", "differs" or "raises", and the engine was
measured to do otherwise. "not-measured" is never wrong.

A config is one of a row whose model type has rules, with a random rope object: a rope type, some of
its keys, at random values; sometimes another head_dim, context, or part of the head."""

import argparse
import collections
import copy
import json
import random
import sys

import expected
import matrix
import measure
import rules
from engines import BY_NAME, set_up
from forms import model_key, text_of

SAID = {"raises": "raises", "absent": "no-such-model", "unmeasured": "not-measured"}
THETAS = (10000.0, 50000.0, 500000.0, 1000000.0, 8000000.0)
KEYS = {
    "default": {},
    "linear": {"factor": (2.0, 8.0)},
    "dynamic": {"factor": (2.0, 8.0)},
    "llama3": {
        "factor": (8.0, 32.0),
        "low_freq_factor": (1.0, 2.0),
        "high_freq_factor": (4.0, 8.0),
        "original_max_position_embeddings": (2048, 8192),
    },
    "yarn": {"factor": (2.0, 4.0, 8.0, 40.0), "original_max_position_embeddings": (2048, 8192)},
    "longrope": {"factor": (8.0, 32.0), "original_max_position_embeddings": (2048, 4096)},
}
MORE = {
    "yarn": {
        "beta_fast": (8.0, 32.0, 48.0),
        "beta_slow": (1.0, 4.0),
        "truncate": (True, False),
        "attention_factor": (1.0, 1.25),
        "mscale": (0.707, 1.0),
        "mscale_all_dim": (0.707, 1.0, 1.2),
    },
    "longrope": {"attention_factor": (1.25,)},
}


def values(chance, keys):
    return {key: chance.choice(of) for key, of in keys.items()}


def rope_object(chance, rope_type):
    more = [key for key in MORE.get(rope_type, {}) if chance.random() < 0.4]
    found = {"rope_type": rope_type, "rope_theta": chance.choice(THETAS)}
    found |= values(chance, KEYS[rope_type])
    found |= values(chance, {key: MORE[rope_type][key] for key in more})
    return found | ({"partial_rotary_factor": 0.5} if chance.random() < 0.15 else {})


def beside(chance, text):
    """Keys beside the rope object."""
    if chance.random() < 0.3 and "max_position_embeddings" in text:
        text["max_position_embeddings"] = chance.choice((8192, 40960))
    if chance.random() < 0.2 and isinstance(text.get("head_dim"), int):
        text["head_dim"] = chance.choice((64, 96, 128))


def stirred(chance, forms, form):
    """A config in a form, or None."""
    base = copy.deepcopy(forms.get("5") or forms["4"])
    text = text_of(base)
    if "5" not in forms:
        for key in ("rope_theta", "rope_scaling"):
            text.pop(key, None)
    beside(chance, text)
    rope_type = chance.choice(list(KEYS))
    rope = next(o for *of, o in rules.objects(base) if of == [rope_type, rules.FULL])
    flat, new = rope.get("full_attention", rope), rope_object(chance, rope_type)
    for key in [k for k in flat if k in rules.STIRRED]:
        del flat[key]
    flat.update(new)
    config = copy.deepcopy(base)
    text = text_of(config)
    text["rope_parameters"] = rope
    longest = 2 * new.get("original_max_position_embeddings", 0)
    if text.get("max_position_embeddings", longest) < longest:
        text["max_position_embeddings"] = longest
    if rope_type == "longrope" and not rules.lengthened(config, base):
        return None
    return config if form == "5" else rules.as_old(config, forms)


def bases(engine):
    """(forms, form) of rows that the engine runs and whose model type has rules in the form."""
    known = {(of, form) for of, forms in engine["rules"].items() for form in forms}
    found = collections.defaultdict(list)
    for row in matrix.table():
        for form, config in row["forms"].items():
            cell = engine["cells"].get(row["kind"], {}).get(row["name"], {}).get(form)
            if (model_key(config), form) in known and rules.is_run(cell):
                found[model_key(config)].append((row["forms"], form))
    return found


def judged(config, engine):
    report = expected.posenc.lint(config, engines=[engine])
    return json.loads(json.dumps(report, default=str))["engines"][0]


def worst(findings):
    return max(findings, key=lambda found: (found.get("radians", 0), found.get("layers", 0)))


def agreement(cell, answer):
    """(what the engine does, what lint answers, do they agree?)"""
    does = (
        cell if cell == "same" else next((said for k, said in SAID.items() if k in cell), "differs")
    )
    if does != "differs" or answer["verdict"] != "differs":
        return does, answer["verdict"], does == answer["verdict"]
    found = worst(answer["findings"])
    wanted = cell.get("radians", 0)
    near = abs(found.get("radians", 0) - wanted) <= 1e-2 * wanted
    alike = all(found.get(key) == cell.get(key) for key in ("code", "pairs", "of"))
    return does, answer["verdict"], near and alike


def is_wrong(does, said, agree):
    return not agree and "not-measured" not in (does, said)


def sample(engine, count, seed):
    set_up(engine)
    chance, driver = random.Random(seed), measure.Driver(engine)
    several = bases(matrix.load()["engines"][engine.label])
    counts = collections.Counter()
    try:
        while sum(counts.values()) < count:
            forms, form = chance.choice(several[chance.choice(sorted(several))])
            config = stirred(chance, forms, form)
            try:
                if config is None:
                    continue
                cell = measure.cell(driver, config)
                answer = judged(config, engine.label)
            except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
                continue
            counts[agreement(cell, answer)] += 1
            if is_wrong(*agreement(cell, answer)):
                print(json.dumps([config, cell, answer]), flush=True)
    finally:
        driver.close()
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="+")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong = 0
    for name in given.engines:
        counts = sample(BY_NAME[name], given.count, given.seed)
        for (does, said, agree), count in sorted(counts.items()):
            other = "" if agree or does != said else ", another difference"
            print(f"{name}: {count:4}  engine: {does}; lint: {said}{other}")
        wrong += sum(count for found, count in counts.items() if is_wrong(*found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
