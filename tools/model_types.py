#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures model types from the code of the installed transformers and writes their rows into
core/config/model_types.def.

    build/parity/bin/python tools/model_types.py [--check]

Layouts come from unit vectors that the model's own code rotates, defaults from its class of
configs. Rows of encodings that do not rotate, notes and the column of sliding layers stay as they
are. --check: writes nothing, exit code 1 where a row would change. Run it, then clang-format."""
import dataclasses
import inspect
import pathlib
import re
import sys

import numpy
import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/parity"))
import models  # noqa: E402

FILE = ROOT / "core/config/model_types.def"
ROW = re.compile(r'MODEL_TYPE\("([^"]*)", "([^"]*)", "([^"]*)",\s*"([^"]*)",\s*"([^"]*)",'
                 r'\s*((?:"[^"]*"|\w+)(?:\s*"[^"]*")*)\)\n')
BACKWARDS = '"its code turns pairs the other way round: rotate with rope at negative positions"'
SOME_LAYERS = re.compile(r"if [^\n]*sliding[^\n]*:\n\s+\w+, \w+ = apply_rotary")
TEXT = re.findall(r'^CONFIG_TEXT\("(\w+)"\)', (FILE.parent / "keys.def").read_text(), re.M)
SCALING = ("factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "attention_factor",
           "low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "truncate")


@dataclasses.dataclass
class Row:
    encoding: str
    layout: str
    defaults: dict
    sliding: str = ""
    note: str = '""'

    def text(self, model_type):
        defaults = " ".join(f"{key}={value}" for key, value in self.defaults.items())
        return (f'MODEL_TYPE("{model_type}", "{self.encoding}", "{self.layout}", "{defaults}", '
                f'"{self.sliding}", {self.note})\n')


# Defaults that are what was measured, or are the encoding's.
MEASURED = ("dim", "base", "hidden_size", "num_attention_heads")

# Heads that are no quotient of the two sizes, and by what their class makes them.
WIDER = {"zamba2": lambda part: part.attention_head_dim, "jetmoe": lambda part: part.kv_channels}


def number(value):
    return str(value).lower() if isinstance(value, bool) else repr(float(value)).removesuffix(".0")


def sizes(part):
    """The width of what a head turns, or the two sizes that it is a quotient of."""
    if getattr(part, "qk_rope_head_dim", None):
        return {"dim": number(part.qk_rope_head_dim)}
    field = getattr(type(part), "__dataclass_fields__", {}).get("head_dim")
    if field is not None and isinstance(field.default, int):
        return {"dim": number(field.default)}
    if not isinstance(getattr(part, "hidden_size", None), int):
        return {}
    return {key: number(getattr(part, key)) for key in ("hidden_size", "num_attention_heads")}


def ropes(part):
    """The rope object of the class, and whether there is one for each type of layer."""
    rope = getattr(part, "rope_parameters", None) or {}
    nested = [value for value in rope.values() if isinstance(value, dict)]
    return rope.get("full_attention") or (nested or [rope])[0], len(nested) > 1


def defaults(part):
    rope, nested = ropes(part)
    base = getattr(part, "default_theta", 10000) if nested else rope.get("rope_theta", 10000)
    base = 10000 if isinstance(base, dict) else base  # each type of layer has its own
    found = {"base": number(base)} if base != 10000 else {}
    found |= sizes(part)
    if nested:
        return found
    if rope.get("partial_rotary_factor", 1) != 1 and not hasattr(part, "qk_rope_head_dim"):
        found["partial_rotary_factor"] = number(rope["partial_rotary_factor"])
    kind = rope.get("rope_type", "default")
    if kind not in ("default", "proportional"):
        found["rope_type"] = kind
        found |= {key: number(rope[key]) for key in SCALING if rope.get(key) is not None}
    return found


def backwards(matrix):
    """Is the second of a pair turned towards the first?"""
    return matrix[numpy.abs(matrix[1:, 0]).argmax() + 1, 0] < 0


def interleaves(model):
    """Do pairs take their coordinates in turns: time, height, width, time, ...?"""
    if models.axes_of(model) < 3:
        return False
    still, *turned = models.rotation(model, numpy.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
                                     .astype(int)).round(6)
    return bool((numpy.abs(turned[1] - still)[1].max() > 0) and
                (numpy.abs(turned[0] - still)[1].max() == 0))


def reached(config, part):
    """Does the service find the part about text where the class has it?"""
    while config is not part:
        config = next((getattr(config, key) for key in TEXT if getattr(config, key, None)), None)
        if config is None:
            return False
    return True


def note(model):
    if getattr(model.part, "no_rope_layers", None):
        return "SOME_LAYERS"
    return "NOT_ALL" if SOME_LAYERS.search(inspect.getsource(model.module)) else '""'


def measured(model):
    matrices = models.rotation(model, numpy.array([0, 1]))
    matrix = (matrices[0] / numpy.abs(matrices[0]).max()).T @ matrices[1]
    layout = models.layout(matrix)
    if not layout:
        raise models.NotWalked("pairs neither in halves nor side by side")
    if backwards(matrix):
        return Row("", "", {}, "", BACKWARDS)
    found = defaults(model.part)
    if "hidden_size" in found and model.part.model_type in WIDER:
        found = {"dim": number(WIDER[model.part.model_type](model.part))}
    if interleaves(model):
        found["mrope_interleaved"] = "true"
    return Row("rope", layout, found, "?" if ropes(model.part)[1] else "", note(model))


def merge(known, row):
    """A measured row with what only people know of it."""
    if row.encoding == "":
        return row
    sliding = known.sliding or row.sliding
    if sliding not in ("", "?"):  # the base of the others is what was measured
        row.defaults["base"] = known.defaults.get("base", row.defaults.get("base", "10000"))
    kept = {key: value for key, value in known.defaults.items()
            if key not in row.defaults and key not in MEASURED}
    return Row(known.encoding, row.layout, kept | row.defaults, sliding,
               row.note if known.note == '""' else known.note)


def rows_of(text):
    rows, whole = {}, re.sub(r'"\s+"', "", text)  # strings that go on in the next line
    for name, encoding, layout, pairs, sliding, note in ROW.findall(whole):
        rows[name] = Row(encoding, layout, dict(pair.split("=") for pair in pairs.split()),
                         sliding, note)
    return rows


def main(arguments):
    text, problems, wholes = FILE.read_text(), {}, {}
    rows = rows_of(text)
    for model in models.models(problems):
        if not reached(model.config, model.part):
            continue
        try:
            row = measured(model)
        except Exception as error:
            problems[model.name] = f"{type(error).__name__}: {error}"[:200]
            continue
        known = rows.get(model.model_type)
        if model.config is not model.part:
            wholes[model.model_type] = model.part.model_type
        elif known is None:
            rows[model.model_type] = row
        elif known.encoding in ("rope", ""):
            if known.layout != row.layout:
                print(f"{model.name}: layout '{known.layout}' becomes '{row.layout}'")
            rows[model.model_type] = merge(known, row)
    for name, part in wholes.items():  # whose part about text need not say its model_type
        rows[name] = rows.get(part) or rows.get(name)
    rows = {name: row for name, row in rows.items() if row}
    for name, reason in problems.items():
        print(f"{name}: {reason}")
    first, last = text.index('MODEL_TYPE("'), text.rindex("\n#undef WHISPER")
    body = "".join(rows[name].text(name) for name in sorted(rows))
    made = re.sub(r"transformers \d[\w.]*\n? ?\*? ?\(measured\)",
                  f"transformers {transformers.__version__} (measured)",
                  text[:first] + body.rstrip("\n") + text[last:])
    if "--check" in arguments:
        return int(rows_of(made) != rows_of(text))
    FILE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
