# SPDX-License-Identifier: MIT
"""core/engines/measured.def: engines.json as lists for the library. Equal messages, differences and
outcomes are written once.

    .venv/bin/python tools/engines/compiled.py [--check] [--data FILE] [--out FILE]"""

import argparse
import json
import pathlib
import re
import sys

import heads
import matrix
import page
import rules
from engines import BY_NAME
from forms import text_of

OUT = matrix.FILE.parents[2] / "core/engines/measured.def"
HEAD = """\
/* Written by tools/engines/compiled.py from tools/engines/engines.json; not edited.
 *   ENGINE(name, package, version, sha256, beside, how): a release, the newest of an engine first
 *   ROW(name, kind, model_type): a measured config
 *   MESSAGE(text): what an engine raises, or why a cell was not measured
 *   DIFFERENCE(members of struct pe_engine_difference)
 *   CELL(engine, row, form, verdict, index of the difference or message)
 *   PART(rope_type, name, keys): rope objects that each model type was given
 *   CHANGE(path, kind, number, text): a change of a config
 *   OUTCOME(verdict, index of the difference or message, key, first change, number of changes)
 *   RULES(engine, model_type, form, row, outcomes of the parts): how a model type is read; outcome
 *     0 is that of a part which was not given to the engine
 *   NEED(engine, model_type, form, rope_type, path, message): a key without which the engine raises
 *   BEYOND(engine, model_type, form, rope_type, message): what is otherwise where the context is
 *     longer than factor * original_max_position_embeddings
 *   HEAD_DIM(engine, model_type, form, verdict, message, own): what the engine does with a head_dim
 *     that is not hidden_size / num_attention_heads: SAME: reads it, DIFFERS: ignores it, RAISES;
 *     own: such a head_dim of the config that the rules are from; 0: it has none
 *   ABSENT_CLASS(engine, architecture): a class of `architectures` that the engine lacks
 *   UNSEEN(engine, rope_type, key): a key whose effect the measurement does not show
 */
"""
VERDICTS = {
    "same": "SAME",
    "by_default": "BY_DEFAULT",
    "differs": "DIFFERS",
    "raises": "RAISES",
    "absent": "ABSENT",
    "unmeasured": "UNMEASURED",
}
FORMS = ("4", "5")


class Unique:
    """Values in the order of their first use."""

    def __init__(self):
        self.index = {}

    def of(self, value):
        return self.index.setdefault(value, len(self.index))


def quoted(text):
    return "NULL" if text is None else json.dumps(text, ensure_ascii=True)


def number(value):
    return f"{value:g}" if value != int(value) or abs(value) >= 1e15 else str(int(value))


def keys_of(keys):
    return f"KEYS({' '.join(quoted(key) + ',' for key in keys)})"


def classes_of(config):
    """By which an engine may choose: those of the part about text, or of the config."""
    return text_of(config).get("architectures") or config.get("architectures") or []


class Lists:
    def __init__(self, data):
        self.data = data
        self.rows = Unique()
        self.messages, self.differences = Unique(), Unique()
        self.changes, self.outcomes = [], Unique()
        for row in data["rows"]:
            self.rows.of(row)

    # ---- cells ----

    def difference(self, cell):
        members = {
            name: cell[name]
            for name in ("code", "also", "layer_type")
            if cell.get(name) is not None
        }
        keys = list(cell.get("keys") or cell.get("by_default") or ())
        keys += [f"{key}={json.dumps(value)}" for key, value in cell.get("as_if", {}).items()]
        members |= {"keys": ", ".join(keys)} if keys else {}
        reads = page.reading(cell).replace(" 000", "000")
        members |= {"reads": reads} if reads else {}
        texts = [f".{name} = {quoted(text)}" for name, text in members.items()]
        numbers = [
            f".{name} = {number(cell[name])}"
            for name in ("pairs", "of", "radians", "at", "length", "layers")
            if cell.get(name)
        ]
        return self.differences.of(", ".join(texts + numbers))

    def found(self, cell):
        """(verdict, index of its difference or message)"""
        verdict = page.verdict(cell)
        if verdict == "same":
            return VERDICTS[verdict], 0
        if verdict in ("differs", "by_default"):
            return VERDICTS[verdict], self.difference(cell)
        if verdict == "absent":
            return VERDICTS[verdict], self.messages.of("the engine has no such model")
        return VERDICTS[verdict], self.messages.of(cell[verdict])

    def cells(self):
        for at, engine in enumerate(self.data["engines"].values()):
            for row, form, cell in page.cells_of(engine):
                verdict, index = self.found(cell)
                yield f"CELL({at}, {self.rows.of(row)}, {form}, {verdict}, {index})"

    # ---- rules ----

    def change(self, path, value):
        if value is None:
            return f"CHANGE({quoted(path)}, DROP, 0, NULL)"
        if isinstance(value, dict):
            return f"CHANGE({quoted(path)}, COPY, 0, {quoted(value['as'])})"
        if isinstance(value, bool):
            return f"CHANGE({quoted(path)}, TRUTH, {int(value)}, NULL)"
        if isinstance(value, str):
            return f"CHANGE({quoted(path)}, TEXT, 0, {quoted(value)})"
        return f"CHANGE({quoted(path)}, NUMBER, {number(value)}, NULL)"

    def first_change(self, lines):
        """The place of consecutive changes, which are written once."""
        for at in range(len(self.changes) - len(lines) + 1):
            if self.changes[at : at + len(lines)] == lines:
                return at
        self.changes += lines
        return len(self.changes) - len(lines)

    def outcome(self, rule):
        verdict, index = self.found(rule)
        change = rule.get("reads_as") if isinstance(rule, dict) else None
        lines = [self.change(*one) for one in change or ()]
        first = self.first_change(lines) if lines else 0
        key = rule.get("key") if isinstance(rule, dict) else None
        return self.outcomes.of(f"{verdict}, {index}, {quoted(key)}, {first}, {len(lines)}")

    def rules(self):
        missing = self.outcome({"unmeasured": "no config of this kind was given to the engine"})
        for at, engine in enumerate(self.data["engines"].values()):
            for (model_type, form), found in sorted(self.rules_of(engine).items()):
                row = self.rows.of(found["row"])
                parts = [found.get(name) for name in rules.PARTS]
                numbers = [missing if part is None else self.outcome(part) for part in parts]
                inner = ", ".join(map(str, numbers))
                yield f"RULES({at}, {quoted(model_type)}, {form}, {row}, {inner})"

    def of_rules(self, member):
        """(engine, model type and form as arguments, member of the rules)"""
        for at, engine in enumerate(self.data["engines"].values()):
            for model_type, forms in engine.get("rules", {}).items():
                for form, about in forms.items():
                    for rope_type, found in about.get(member, {}).items():
                        yield f"{at}, {quoted(model_type)}, {form}, {quoted(rope_type)}", found

    def needs(self):
        for place, keys in self.of_rules("needs"):
            for path, message in keys.items():
                yield f"NEED({place}, {quoted(path)}, {self.messages.of(message)})"

    def beyond(self):
        for place, message in self.of_rules("beyond"):
            yield f"BEYOND({place}, {self.messages.of(message)})"

    def heads_in_cells(self, engine):
        """Model types and forms with a config whose head_dim is apart and was read."""
        configs, found = matrix.configs(), set()
        for row, form, cell in page.cells_of(engine):
            is_read = cell == "same" or cell.get("code", "width") != "width"
            if is_read and heads.is_apart(configs[row][form]):
                found.add((self.data["rows"][row]["key"], form))
        return found

    def heads(self):
        configs = matrix.configs()
        for at, engine in enumerate(self.data["engines"].values()):
            in_cells = self.heads_in_cells(engine)
            for model_type, forms in engine.get("rules", {}).items():
                for form, about in forms.items():
                    config = configs[about["row"]][form]
                    own = text_of(config)["head_dim"] if heads.is_apart(config) else 0
                    found = self.head_of(about.get(heads.KEY), (model_type, form) in in_cells)
                    if own or found[0] != "UNMEASURED":
                        place = f"{at}, {quoted(model_type)}, {form}"
                        yield f"HEAD_DIM({place}, {found[0]}, {found[1]}, {own})"

    def head_of(self, read, in_cells):
        """(verdict, index of a message); unmeasured where a cell contradicts what was read."""
        if in_cells and read not in (None, "read"):
            return "UNMEASURED", 0
        if in_cells or read == "read":
            return "SAME", 0
        if read == "ignored":
            return "DIFFERS", 0
        return self.found(read) if read else ("UNMEASURED", 0)

    def absent_classes(self):
        """Classes that an engine names as absent, and that no config has which it runs."""
        configs = matrix.configs()
        for at, engine in enumerate(self.data["engines"].values()):
            absent, run = set(), set()
            for row, form, cell in page.cells_of(engine):
                named = classes_of(configs[row][form])
                if page.verdict(cell) == "absent":
                    absent |= {name for name in named if name in re.split(r"\W+", cell["absent"])}
                else:
                    run |= set(named)
            for name in sorted(absent - run):
                yield f"ABSENT_CLASS({at}, {quoted(name)})"

    def unseen(self):
        for at, label in enumerate(self.data["engines"]):
            for rope_type, key in BY_NAME[label].unseen:
                yield f"UNSEEN({at}, {quoted(rope_type)}, {quoted(key)})"

    def rules_of(self, engine):
        """By model type and form; of those that the engine runs with no config, by a cell."""
        found, runs = {}, set()
        for row, form, cell in page.cells_of(engine, ("published", "defaults")):
            model_type = self.data["rows"][row]["key"]
            if page.verdict(cell) not in ("raises", "absent", "unmeasured"):
                runs.add((model_type, form))
            elif model_type:
                found[model_type, form] = {"row": row} | dict.fromkeys(rules.PARTS, cell)
        found = {of: about for of, about in found.items() if of not in runs}
        for model_type, forms in engine.get("rules", {}).items():
            for form, about in forms.items():
                found[model_type, form] = {"row": about["row"]} | rules.parts_of(about)
        return found

    # ---- the file ----

    def text(self):
        engines = [
            "ENGINE("
            + ", ".join(
                [
                    quoted(name.split("==")[0]),
                    quoted(engine["package"]),
                    quoted(engine["version"]),
                    quoted(engine["sha256"]),
                    quoted(", ".join(f"{k} {v}" for k, v in engine["beside"].items())),
                    quoted(engine["how"]),
                ]
            )
            + ")"
            for name, engine in self.data["engines"].items()
        ]
        rows = [
            f"ROW({quoted(name)}, {row['kind'].upper()}, {quoted(row['model_type'])})"
            for name, row in self.data["rows"].items()
        ]
        parts = [
            f"PART({quoted(rope_type)}, {quoted(part)}, {keys_of(keys)})"
            for (rope_type, part), keys in rules.part_keys().items()
        ]
        cells, found = list(self.cells()), list(self.rules())
        needed, limits, of_heads = list(self.needs()), list(self.beyond()), list(self.heads())
        blocks = {
            "ENGINE": engines,
            "ROW": rows,
            "MESSAGE": [f"MESSAGE({quoted(text)})" for text in self.messages.index],
            "DIFFERENCE": [f"DIFFERENCE({members})" for members in self.differences.index],
            "CELL": cells,
            "PART": parts,
            "CHANGE": self.changes,
            "OUTCOME": [f"OUTCOME({members})" for members in self.outcomes.index],
            "RULES": found,
            "NEED": needed,
            "BEYOND": limits,
            "HEAD_DIM": of_heads,
            "ABSENT_CLASS": list(self.absent_classes()),
            "UNSEEN": list(self.unseen()),
        }
        body = "".join(
            f"\n#ifdef {name}\n" + "".join(f"{line}\n" for line in lines) + "#endif\n"
            for name, lines in blocks.items()
        )
        return "/* SPDX-License-Identifier: MIT */\n" + HEAD + body


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--data", type=pathlib.Path, default=matrix.FILE)
    parser.add_argument("--out", type=pathlib.Path, default=OUT)
    given = parser.parse_args()
    text = Lists(matrix.load(given.data)).text()
    if given.check:
        return 0 if given.out.read_text() == text else 1
    given.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
