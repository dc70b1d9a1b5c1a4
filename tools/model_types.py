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
ROW = re.compile(r'^MODEL_TYPE\("([^"]*)"((?:"[^"]*"|[^";#])*?)\)$', re.M)
DEFAULT = re.compile(r'HEADS\((\d+), (\d+)\)|\{"(\w+)", "([^"]*)"\}')
SLIDING = {"": "", "?": "PE_SLIDING_BY_TYPE", "unscaled": "PE_SLIDING_UNSCALED"}
BACKWARDS = '"its code turns pairs the other way round: rotate with rope at negative positions"'
SOME_LAYERS = re.compile(r"if [^\n]*sliding[^\n]*:\n\s+\w+, \w+ = apply_rotary")
TEXT = re.findall(r'^CONFIG_TEXT_PART\("(\w+)"\)', (FILE.parent / "keys.def").read_text(), re.M)
SCALING = (
    "factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "attention_factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "truncate",
)


@dataclasses.dataclass
class Row:
    encoding: str
    layout: str
    defaults: dict
    sliding: str = ""
    note: str = '""'
    more: str = ""  # spread and sliding_note, as they are written
    plain_base: str = ""

    def text(self, model_type):
        """A row of members, those that are not zero. sliding: a key of SLIDING or a base."""
        defaults = [
            f'{{"{key}", "{value}"}}'
            for key, value in self.defaults.items()
            if key not in ("whole", "own")
        ]
        members = [
            f'.encoding = "{self.encoding}"' * bool(self.encoding),
            f'.layout = "{self.layout}"' * bool(self.layout),
            f".defaults = DEFAULTS({', '.join(defaults)})" * bool(defaults),
            ".whole_heads = true" * ("whole" in self.defaults),
            ".own_rope = true" * ("own" in self.defaults),
            f".plain_base = {self.plain_base}" * bool(self.plain_base),
            f".sliding = {SLIDING[self.sliding]}" * bool(self.sliding)
            if self.sliding in SLIDING
            else f".sliding = PE_SLIDING_BASE, .sliding_base = {self.sliding}",
            self.more,
            f".note = {self.note}" * (self.note != '""'),
        ]
        row = ", ".join([f'"{model_type}"', *filter(None, members)])
        heads = r'\{"hidden_size", "(\d+)"\}, \{"num_attention_heads", "(\d+)"\}'
        return re.sub(heads, r"HEADS(\1, \2)", f"MODEL_TYPE({row})\n")


# Defaults that are what was measured, or are the encoding's.
MEASURED = ("dim", "base", "hidden_size", "num_attention_heads", "own")

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


# ---- the class's own rope object ----------------------------------------------------------------

OTHER_BASE = 777.0


def base_of(cls, **keys):
    """The base that a class makes of a file's keys; None: it has none, or one for each type."""
    try:
        rope = cls.from_dict(keys).rope_parameters or {}
    except Exception:  # of a class that wants more keys
        return None
    return rope.get("rope_theta")


def own_rope(part):
    """{"own"} where a class has a rope object if a file has none, and its base for a rope object
    without one, if that is another."""
    cls, plain = type(part), {"rope_type": "default"}
    own = base_of(cls, rope_theta=OTHER_BASE)
    beside = base_of(cls, rope_theta=OTHER_BASE, rope_parameters=dict(plain))
    if own in (None, OTHER_BASE) or beside not in (None, OTHER_BASE):
        return {}, ""
    without = base_of(cls, rope_parameters=dict(plain))
    return {"own": "1"}, "" if without in (None, own) else number(without)


# ---- several coordinates ------------------------------------------------------------------------


@dataclasses.dataclass
class Grid:
    """How a variant of rope-2d shares out its pairs; core/encodings/rope_2d.c."""

    y_first: bool = False
    in_turns: bool = False
    between: bool = False
    offset: float = 0
    base: float = 10000

    def angles(self, dim, base, points):
        """[n, pairs]"""
        pair, half = numpy.arange(dim // 2), dim // 4
        second = pair % 2 == 1 if self.in_turns else pair >= half
        place = pair // 2 if self.in_turns else pair % half
        steps = 2 * place + (second if self.between else 0)
        rates = float(base) ** (-steps / (dim // 2))
        return (points[(second != self.y_first).astype(int)].T + self.offset) * rates


VARIANTS = {
    "axial": Grid(base=100),
    "llama4": Grid(offset=1),
    "pixtral": Grid(y_first=True, between=True),
    "qwen2-vl": Grid(y_first=True),
    "kimi-k25": Grid(in_turns=True),
    "efficientloftr": Grid(y_first=True, in_turns=True, offset=1),
}


def columns(layout, dim):
    pair = numpy.arange(dim // 2)
    return (pair, pair + dim // 2) if layout == "half" else (2 * pair, 2 * pair + 1)


def grid_row(model):
    """The variant and the layout with which every element of every matrix is the code's."""
    at = models.points(model, [0, 1, 2, 7])
    theirs = models.ordered(models.rotation(model, at))
    dim = theirs.shape[-1]
    base = (getattr(model.part, "rope_parameters", None) or {}).get(
        "rope_theta"
    ) or model.part.rope_theta
    for variant, spec in VARIANTS.items():
        angles = spec.angles(dim, base, numpy.asarray(at, float))
        for layout in ("half", "interleaved"):
            first, second = columns(layout, dim)
            ours = numpy.zeros_like(theirs)
            ours[:, first, first] = ours[:, second, second] = numpy.cos(angles)
            ours[:, second, first], ours[:, first, second] = numpy.sin(angles), -numpy.sin(angles)
            if numpy.abs(ours - theirs).max() < 1e-4:
                found = {"variant": variant} | ({"base": number(base)} if base != spec.base else {})
                return Row("rope-2d", layout, found | grid_sizes(model.part, dim))
    return Row("", "", {}, "", '""')


def grid_sizes(part, dim):
    if hasattr(part, "memory_attention_hidden_size"):
        return {
            key: number(getattr(part, key))
            for key in (
                "memory_attention_hidden_size",
                "memory_attention_downsample_rate",
                "memory_attention_num_attention_heads",
            )
        }
    if not isinstance(getattr(part, "hidden_size", None), int) or dim == part.hidden_size:
        return {"dim": number(dim)}
    found = sizes(part)
    if "hidden_size" in found and hasattr(part, "embed_dim"):
        return {
            "embed_dim": number(part.embed_dim),
            "num_attention_heads": found["num_attention_heads"],
        }
    return found


def sections(model):
    """The sections of coordinates that the class has, and in which order its pairs take them."""
    found = getattr(model.rotary, "mrope_section", None) or (
        getattr(model.part, "rope_parameters", None) or {}
    ).get("mrope_section")
    if isinstance(found, dict):
        found = found.get(model.layer_type, found)
    if models.axes_of(model) != 3 or not found:
        return {}
    given = {"mrope_section": ",".join(map(str, found))}
    still, *turned = models.rotation(model, numpy.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    moved = [numpy.abs(numpy.diag(matrix) - numpy.diag(still)) > 1e-12 for matrix in turned]
    half = models.layout(models.ordered(numpy.stack([still, turned[0]]))[1]) == "half"
    pairs = numpy.argmax([at[: len(at) // 2] if half else at[::2] for at in moved], 0).tolist()
    if pairs[:3] == [1, 2, 1]:
        return given | {"mrope_type": "ernie"}
    return given | ({"mrope_interleaved": "true"} if pairs[:3] == [0, 1, 2] else {})


# ---- rows ---------------------------------------------------------------------------------------


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


def whole(rotary):
    """Does the code of a class leave partial_rotary_factor aside, where nothing scales?"""
    made = getattr(type(rotary), "compute_default_rope_parameters", None)
    read = not made or re.search("partial|rotary_dim", inspect.getsource(made))
    return {} if read else {"whole": "1"}


def measured(model):
    if models.axes_of(model) == 2:
        return grid_row(model)
    matrix = models.ordered(models.rotation(model, numpy.array([0, 1])))[1]
    layout = models.layout(matrix)
    if not layout:
        raise models.NotWalked("pairs neither in halves nor side by side")
    if backwards(matrix):
        return Row("", "", {}, "", BACKWARDS)
    found = defaults(type(model.part)() if model.name in models.SWITCHED else model.part)
    if "hidden_size" in found and model.part.model_type in WIDER:
        found = {"dim": number(WIDER[model.part.model_type](model.part))}
    own, plain_base = own_rope(model.part)
    found |= sections(model) | whole(model.rotary) | own
    sliding = "?" if ropes(model.part)[1] else ""
    return Row("rope", layout, found, sliding, note(model), plain_base=plain_base)


def merge(known, row):
    """A measured row with what only people know of it."""
    if known.encoding == "" and not known.layout:  # which people chose to refuse
        return known
    if known.encoding == "":  # which turns where a key says so
        return Row("", row.layout, row.defaults, "", known.note)
    if row.encoding == "":
        return row
    if row.encoding == "rope-2d":
        return dataclasses.replace(row, note=known.note)
    sliding = known.sliding or row.sliding
    if sliding not in SLIDING:  # the base of the others is what was measured
        row.defaults["base"] = known.defaults.get("base", row.defaults.get("base", "10000"))
    kept = {
        key: value
        for key, value in known.defaults.items()
        if key not in row.defaults and key not in MEASURED
    }
    return Row(
        known.encoding,
        row.layout,
        kept | row.defaults,
        sliding,
        row.note if known.note == '""' else known.note,
        known.more,
        row.plain_base,
    )


def member(members, name):
    """The text or the word of a member; "": none."""
    found = re.search(rf'\.{name} = ("[^"]*"|\w+)', members)
    return found[1] if found else ""


def sliding_of(members):
    return member(members, "sliding_base") or next(
        key for key, name in SLIDING.items() if name == member(members, "sliding")
    )


def rows_of(text):
    rows = {}
    for name, members in ROW.findall(re.sub(r'"\s+"', "", text)):  # strings of several lines
        pairs = {}
        for width, heads, key, value in DEFAULT.findall(members):
            pairs |= {"hidden_size": width, "num_attention_heads": heads} if heads else {key: value}
        if ".whole_heads" in members:
            pairs["whole"] = "1"
        if ".own_rope" in members:
            pairs["own"] = "1"
        more = [
            f".{key} = {value}"
            for key in ("spread", "sliding_note")
            if (value := member(members, key))
        ]
        rows[name] = Row(
            member(members, "encoding").strip('"'),
            member(members, "layout").strip('"'),
            pairs,
            sliding_of(members),
            member(members, "note") or '""',
            ", ".join(more),
            member(members, "plain_base"),
        )
        written = rows[name].text(name)
        if squeezed(written) != squeezed(f'MODEL_TYPE("{name}"{members})'):
            raise ValueError(f"{name}: has members that a row written anew would lack: {written}")
    return rows


def squeezed(text):
    return re.sub(r"\s+", "", text)


def main(arguments):
    text, problems, wholes = FILE.read_text(), {}, {}
    rows = rows_of(text)
    for model in models.models(problems):
        if not model.config.model_type or not reached(model.config, model.part):
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
        elif known.encoding in ("rope", "rope-2d", ""):
            if known.layout != row.layout:
                print(f"{model.name}: layout '{known.layout}' becomes '{row.layout}'")
            rows[model.model_type] = merge(known, row)
    for name, part in wholes.items():  # whose part about text need not say its model_type
        rows[name] = rows.get(part) or rows.get(name)
    rows = {name: row for name, row in rows.items() if row}
    for name, reason in problems.items():
        print(f"{name}: {reason}")
    first, last = text.index('\nMODEL_TYPE("') + 1, text.rindex("\n#undef WHISPER")
    body = "".join(rows[name].text(name) for name in sorted(rows))
    made = re.sub(
        r"transformers \d[\w.]*\n? ?\*? ?\(measured\)",
        f"transformers {transformers.__version__} (measured)",
        text[:first] + body.rstrip("\n") + text[last:],
    )
    if "--check" in arguments:
        return int(rows_of(made) != rows_of(text))
    FILE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
