# SPDX-License-Identifier: MIT
"""Measures what engines rotate for a config, beside what posenc reads of it.

    make
    .venv/bin/python tools/engines/measure.py \\
        [--check] [--row TEXT | --rules TYPES | --heads] [ENGINE ...]

Each engine has an environment of its own in build/engines and a driver (drivers/), which runs the
engine's own reading of a config without weights; ENGINE may be an older release, mlx-lm==0.31.3,
which has the driver of the newest. Writes tools/engines/engines.json and
docs/engines.md. --check: writes nothing, exit code 1 where a cell differs from the file. --row:
only rows whose name has one of these texts ("gpt_neox,glmasr"); the others, and the rules
(rules.py), keep what they have. --rules: only the rules of these model types ("llama,qwen3";
"all"; "new": those without rules), written after every few types, by the cells of the file.
--heads: of the rules that the file has, only what a head_dim does that is apart (heads.py)."""

import argparse
import copy
import itertools
import json
import os
import pathlib
import re
import select
import subprocess
import sys

import compare
import expected
import heads
import matrix
import rules
from engines import BUILD, BY_NAME, HERE, ROOT, set_up, wheel_hash

BESIDE = ("torch", "transformers", "mlx", "keras", "onnx-ir", "numpy")  # told beside the engine
MESSAGE = 200  # of the characters of a reason
SECONDS = 120  # for one config
SAVED_EVERY = 4  # model types, of a measurement of rules
OF_POSITIONS = re.compile(
    r"rope|rotary|theta|yarn|scal|factor|beta|truncate|position|partial|head_dim|window|freq"
)
ROPE_OBJECT = re.compile(r"rope_|rotary|scaling")
WHOLE = ("rope_type", "type", "rope_theta")  # without which little is left: tried last
MOVED = ("rope_theta", "rotary_emb_base")  # to tell what is read from what is right by default
PAIRS_MAX = 36  # of keys that are taken away together


# ---- an engine ----------------------------------------------------------------------------------


class Driver:
    """The process of a driver, started again where it died."""

    def __init__(self, engine):
        self.engine, self.process, self.known, self.keys = engine, None, {}, {}

    def start(self):
        folders = [HERE, HERE / "drivers"]
        # Native code of several libraries on two cores: one thread each.
        more = {"PYTHONPATH": os.pathsep.join(map(str, folders)), "OMP_NUM_THREADS": "1"}
        more["PYTHONHASHSEED"] = "0"  # messages print sets
        self.process = subprocess.Popen(
            [self.engine.python, self.engine.driver],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | more | {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
            cwd=BUILD,
        )

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, config, lengths):
        request = json.dumps({"config": config, "lengths": lengths})
        if request not in self.known:
            answer = excused(self.run(request), self.engine)
            self.known[request] = of_file(answer, lengths)
        return self.known[request]

    def run(self, request):
        if not self.process:
            self.start()
        self.process.stdin.write(request.encode() + b"\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], SECONDS)[0]:
            self.close()
            return {"unmeasured": f"no answer within {SECONDS} s"}
        line = self.process.stdout.readline()
        if not line:
            self.close()
            return {"unmeasured": "the process of the engine ended"}
        return json.loads(line)


# ---- a cell -------------------------------------------------------------------------------------


def cell(driver, config):
    """Of the matrix; expected.NotARow where posenc has nothing to compare."""
    report = expected.read(config)
    lengths = expected.lengths(report)
    answer = driver.ask(config, lengths)
    if "kinds" not in answer:
        return answer
    ours = expected.kinds(report, lengths)
    return compare.models(ours, answer["kinds"], driver.engine.permuted) or "same"


def excused(answer, engine):
    """An error of the environment in place of the engine's own is a cell that is not measured."""
    for pattern, reason in engine.excused:
        if re.search(pattern, answer.get("raises", "")):
            return {"unmeasured": reason}
    return answer


def of_file(answer, lengths):
    """The kinds of layers that posenc reads of a GGUF file, of an engine that writes one."""
    path = isinstance(answer.get("kinds"), dict) and answer["kinds"]["gguf"]
    if not path:
        return answer
    try:
        found = expected.kinds(expected.read(pathlib.Path(path)), lengths)
    except (expected.NotARow, expected.posenc.Refused) as error:
        return {"unmeasured": f"posenc on the file: {error}"[:MESSAGE]}
    # Scales of the softmax and layers without positions are in llama.cpp's graphs.
    return {"kinds": [kind | {"layers": None, "scale": None} for kind in found]}


def agrees(driver, config):
    try:
        return cell(driver, config) == "same"
    except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
        return False


def paths(config, before=()):
    """Keys about positions: leaves and the objects that hold them, innermost first."""
    for key, value in config.items():
        path = (*before, key)
        if isinstance(value, dict) and (
            key in ("text_config", "thinker_config") or any(map(ROPE_OBJECT.search, path))
        ):
            yield from paths(value, path)
        within = any(map(ROPE_OBJECT.search, path))
        if within or (OF_POSITIONS.search(key) and not isinstance(value, dict)):
            yield path


def without(config, taken):
    changed = copy.deepcopy(config)
    for path in taken:
        at = changed
        for key in path[:-1]:
            at = at.get(key, {})
        at.pop(path[-1], None)
    return changed


def least(driver, config, alike):
    """What is different in a config that the engine reads as posenc does: {"keys"}, the fewest keys
    that it lacks, or {"as_if"}, a key that it has beside them. Those of alike cells come first."""
    found = [path for path in paths(config) if value_at(config, path) is not None]
    leaves = [path for path in found if not isinstance(value_at(config, path), dict)]
    few = [path for path in leaves if path[-1] not in WHOLE]
    of_objects = [path for path in leaves if len(path) > 1 and ROPE_OBJECT.search(path[-2])]
    pairs = itertools.islice(itertools.combinations(of_objects, 2), PAIRS_MAX)
    tries = itertools.chain(
        (taken for taken in alike if all(path in found for path in taken)),
        ([path] for path in few),
        as_if(config, found),
        ([path] for path in leaves + [p for p in found if p not in leaves] if path not in few),
        map(list, pairs),
    )
    for taken in itertools.islice(tries, driver.engine.tries):
        if isinstance(taken, dict):
            if agrees(driver, beside(config, taken)):
                return {"keys": None, "as_if": {".".join(p): v for p, v in taken.items()}}
        elif agrees(driver, without(config, taken)):
            if taken not in alike:
                alike.append(taken)
            return {"keys": [".".join(path) for path in taken]}
    return {"keys": None}


def as_if(config, found):
    """Keys that are absent, at values that engines take for granted."""
    for path in found:
        inner = value_at(config, path)
        if isinstance(inner, dict) and inner.get("rope_type", inner.get("type")) == "yarn":
            if "truncate" not in inner:
                yield {(*path, "truncate"): False}


def beside(config, values):
    changed = copy.deepcopy(config)
    for path, value in values.items():
        value_at(changed, path[:-1])[path[-1]] = value
    return changed


def value_at(config, path):
    for key in path:
        config = config[key]
    return config


def measured(driver, form, config):
    result = cell(driver, config)
    if result == "same":
        unread = [
            path for path in paths(config) if path[-1] in MOVED and by_default(driver, config, path)
        ]
        return {"by_default": [".".join(path) for path in unread]} if unread else result
    if isinstance(result, dict) and "code" in result:
        result |= least(driver, config, driver.keys.setdefault((form, result["code"]), []))
        if not result["keys"] and "as_if" not in result:
            result["keys"] = reset(driver, config, result.get("reads", {}))
    return result


def by_default(driver, config, path):
    """Do engine and posenc agree only because the engine's own value is that of the config? The
    engine rotates alike, and posenc otherwise, once it is another one."""
    value = value_at(config, path)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    moved = beside(config, {path: 3 * value})
    try:
        lengths = expected.lengths(expected.read(moved))
        differs = isinstance(cell(driver, moved), dict)
    except (expected.NotARow, expected.posenc.Refused):
        return False
    before, after = driver.ask(config, lengths), driver.ask(moved, lengths)
    return differs and "kinds" in after and before == after


def reset(driver, config, reads):
    """A base that the engine does not read: both agree where the config has the engine's own."""
    for path in paths(config):
        if path[-1] in MOVED and "base" in reads:
            if agrees(driver, beside(config, {path: reads["base"]})):
                return [".".join(path)]
    return None


# ---- the matrix ---------------------------------------------------------------------------------


def rows():
    """Made in the environment of transformers, which writes its own form of a config."""
    base = BY_NAME["transformers"]
    set_up(base)
    found = subprocess.run(
        [base.python, HERE / "rows.py"], check=True, capture_output=True, text=True
    )
    return json.loads(found.stdout)


def comparable(row):
    """The row with those forms that posenc reads as a rotation, all of them alike."""
    kept, first = {}, None
    for form, config in row["forms"].items():
        try:
            report = expected.read(config)
            kinds = expected.kinds(report, expected.lengths(report))
        except (expected.NotARow, expected.posenc.Refused):
            continue
        seen = [(k["layer_type"], k["layers"], k["rotation"]) for k in kinds]
        first = first or seen
        if seen == first:
            kept[form] = config
    return row | {"forms": kept} if kept else None


def measure(engine, table, of_rules):
    set_up(engine)
    driver, found = Driver(engine), {}
    try:
        for row in table:
            cells = {f: measured(driver, f, config) for f, config in row["forms"].items()}
            found.setdefault(row["kind"], {})[row["name"]] = cells
            print(f"{engine.label}: {row['name']}: {json.dumps(cells)}"[:300], flush=True)
        if not of_rules:
            return found, {}
        return found, by_type({}, of_types(driver, table, found))
    finally:
        driver.close()


def of_types(driver, table, *given):
    """Of rules.measured, with what a head_dim does that is apart."""
    for model_type, form, about in rules.measured(driver, table, *given):
        yield model_type, form, heads.added(driver, table, form, about)


def by_type(kept, measured):
    """{model type: {form: rules}}, of rules in any order."""
    found = dict(kept)
    for model_type, form, about in measured:
        found[model_type] = found.get(model_type, {}) | {form: about}
    return dict(sorted(found.items()))


def rules_measure(engine, table, types):
    """Rules alone, of some model types; the file is written while they are found."""
    set_up(engine)
    driver = Driver(engine)
    try:
        kept = matrix.load()["engines"][engine.label]
        known = {(of, f) for of, forms in kept["rules"].items() for f in forms if types == "new"}
        wanted = None if types in ("all", "new") else types.split(",")
        several = of_types(driver, table, kept["cells"], wanted, known)
        while batch := list(itertools.islice(several, SAVED_EVERY)):
            before = matrix.load()  # which may be newer
            now = before["engines"][engine.label]
            found = now | {"rules": by_type(now["rules"], batch)}
            matrix.save(before, {engine.label: found}, matrix.table())
    finally:
        driver.close()


def heads_measure(engine, table):
    """Of known rules alone, whether the engine reads another head_dim."""
    set_up(engine)
    driver = Driver(engine)
    try:
        data = matrix.load()
        now = data["engines"][engine.label]
        for model_type, forms in now["rules"].items():
            for form, about in forms.items():
                forms[form] = heads.added(driver, table, form, about)
                print(f"{engine.label}: {model_type} {form}: {forms[form].get(heads.KEY)}"[:300])
    finally:
        driver.close()
    matrix.save(matrix.load(), {engine.label: now}, table)


def entry(engine, cells, found):
    pins = (BY_NAME["transformers"].pins if engine.borrows else {}) | engine.pins
    plain = {name.split("[")[0]: version for name, version in pins.items()}
    beside = {name: plain[name] for name in BESIDE if name in plain and name != engine.package}
    return {
        "package": engine.package,
        "version": engine.version,
        "sha256": wheel_hash(engine),
        "beside": beside,
        "how": engine.how,
        "cells": cells,
        "rules": found,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="*", default=list(BY_NAME))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--row", default="")
    parser.add_argument("--rules", default="")
    parser.add_argument("--heads", action="store_true")
    given = parser.parse_args()
    if given.heads:
        for engine in [BY_NAME[name] for name in given.engines]:
            heads_measure(engine, matrix.table())
        subprocess.run([sys.executable, HERE / "page.py"], check=True, cwd=ROOT)
        return 0
    if given.rules:
        for engine in [BY_NAME[name] for name in given.engines]:
            rules_measure(engine, matrix.table(), given.rules)
        subprocess.run([sys.executable, HERE / "page.py"], check=True, cwd=ROOT)
        return 0
    everything = list(filter(None, map(comparable, rows())))
    table = [row for row in everything if any(t in row["name"] for t in given.row.split(","))]
    changed = []
    for engine in [BY_NAME[name] for name in given.engines]:
        found, of_types = measure(engine, table, not given.row)
        before = matrix.load()
        if given.row:
            kept = before["engines"][engine.label]
            found = {k: kept["cells"].get(k, {}) | found.get(k, {}) for k in matrix.KINDS}
            of_types = kept["rules"]
        now = {engine.label: entry(engine, found, of_types)}
        if given.check:
            changed += matrix.changes(before["engines"], now)
        else:
            matrix.save(before, now, everything)
            subprocess.run([sys.executable, HERE / "page.py"], check=True, cwd=ROOT)
    if given.check:
        print(*changed, f"{len(changed)} cells differ from {matrix.FILE.name}", sep="\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
