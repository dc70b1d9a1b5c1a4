#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the layers of models do by the code of the installed transformers, and writes the
rows of core/config/model_layers.def that are between its two marks.

    build/parity/bin/python tools/model_layers.py [--check] [MODEL_TYPE ...]

Models are run without weights (tests/parity/layers.py): as their class makes them, with another
number of layers, and with each key of KEYS at another value, which shows the keys that are read.
Rows below the second mark are by hand: models whose code cannot be run this way. --check: writes
nothing, exit code 1 where a row would change. Run it, then clang-format."""

import collections
import pathlib
import re
import sys

import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/parity"))
import layers  # noqa: E402
from transformers import CONFIG_MAPPING  # noqa: E402

FILE = ROOT / "core/config/model_layers.def"
BEGIN, END = "/* ---- measured ---- */\n", "/* ---- by hand ---- */\n"

# Keys about attention, each with the value that shows whether it is read, and how it shows.
STIRRED = {
    "sliding_window": (78, lambda found: any(layer.window == 78 for layer in found)),
    "local_attention": (156, lambda found: any(layer.window == 78 for layer in found)),
    "attention_chunk_size": (77, lambda found: any(layer.chunk == 77 for layer in found)),
    "attn_logit_softcapping": (33.0, lambda found: any(layer.softcap == 33 for layer in found)),
    "query_pre_attn_scalar": (16, lambda found: any(layer.scale == 0.25 for layer in found)),
    "attention_multiplier": (0.3, lambda found: any(layer.scale == 0.3 for layer in found)),
}
# Their layers are run several times, or have two attentions each.
LEFT_OUT = ("hrm_text", "longcat_flash", "neomme")
SWITCHES = (
    "use_sliding_window",
    "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx",
    "use_bidirectional_attention",
)
PERIODS = (
    "sliding_window_pattern",
    "full_attention_interval",
    "global_attn_every_n_layers",
    "layer_group_size",
)
NORM_SWITCHES = ("use_qk_norm", "qk_layernorm")
TEMPERATURE = ("attn_temperature_tuning", "attn_scale", "floor_scale")
# What tests/parity/layers.py calls a norm, as a member of struct pe_qk_norm.
NORM_WORDS = {
    "weight": ("weight", "PE_QK_WEIGHT"),
    "from-1": ("weight", "PE_QK_WEIGHT_FROM_1"),
    "after": ("after", "true"),
    "whole": ("whole", "true"),
}
MULTIPLIED = re.compile(r"yarn_apply_mscale|yarn_get_mscale")
WINDOWLESS = re.compile(
    r"sliding_window is None or self\.is_sliding"
)  # of classes that refuse null
FAR = re.compile(r"get_llama_4_attn_scale")


def made(model_type, **keys):
    """A config's part about text, with some keys at other values. A wrapper's text part is made by
    its own class."""
    config = CONFIG_MAPPING[model_type]()
    part = config.get_text_config(decoder=True)
    return type(part)(**keys) if keys else part


def tried(model_type, **keys):
    """None where a class refuses such keys or such a model does not run."""
    try:
        return layers.walk(made(model_type, **keys))
    except Exception:  # of any kind
        return None


def types_tried(model_type, **keys):
    try:
        part = made(model_type, **keys)
        return layers.told_types(part, part.num_hidden_layers)
    except Exception:  # of any kind
        return None


def number(value):
    return repr(value).removesuffix(".0")


def text(value):
    return f'"{value}"'


def value_of_class(value):
    """A value of struct pe_class_key; None: the class has none."""
    if value is None:
        return "NONE"
    if isinstance(value, bool):
        return str(value).upper()
    return f"TEXT({text(value)})" if isinstance(value, str) else f"NUMBER({number(value)})"


def struct(members):
    """An initializer of a C struct: {name: text of C}."""
    return "{" + ", ".join(f".{name} = {value}" for name, value in members.items()) + "}"


def own(part, key):
    """The value of the class, before anything was made of it."""
    value = vars(type(part)).get(key, getattr(part, key, None))
    return getattr(part, key, None) if callable(value) or isinstance(value, property) else value


# ---- which layers are of which type --------------------------------------------------------------


def periodic(types):
    """(usual, other, period, at, last): layer i is of the other type where (i - at) % period == 0;
    None: by no such rule."""
    for period in range(2, 13):
        for at in range(period):
            other = {kind for i, kind in enumerate(types) if i % period == at}
            usual = collections.Counter(kind for i, kind in enumerate(types) if i % period != at)
            if len(other) != 1 or not usual:
                continue
            (kind,) = other
            if len(usual) == 1 and kind not in usual:
                return usual.most_common(1)[0][0], kind, period, at, False
            if len(usual) == 2 and types[-1] == kind and usual[kind] == 1:
                return next(k for k in usual if k != kind), kind, period, at, True
    return None


def rule_of(model_type, part, types):
    """(members of struct pe_layer_rule, {key that it reads: value of the class})"""
    usual = {"usual": text(types[0])}
    if hasattr(part, "no_rope_layers") and len(set(types)) == 2:
        return usual | {"other": text(types[3]), "by_rotation": "true"}, {}
    if hasattr(part, "max_window_layers"):
        stirred = types_tried(
            model_type, use_sliding_window=True, max_window_layers=2, sliding_window=77
        )
        if stirred and stirred[:2] == types[:2] and set(stirred[2:]) == {"sliding_attention"}:
            return (
                usual
                | {
                    "other": text("sliding_attention"),
                    "from_key": text("max_window_layers"),
                    "switch_key": text("use_sliding_window"),
                },
                {"max_window_layers": own(part, "max_window_layers")},
            )
    if len(set(types)) == 1:
        return usual, {}
    found = periodic(types)
    longer = types_tried(model_type, num_hidden_layers=len(types) + 5)
    if (
        not found
        or not longer
        or periodic(longer) != found
        and periodic(longer) is not None
        and (periodic(longer)[:4] != found[:4])
    ):
        return {"runs": runs(types)}, {}
    usual, other, period, at, last = found
    last = last or bool(periodic(longer) and periodic(longer)[4])
    names = {"usual": text(usual), "other": text(other)}
    ending = {"last": "true"} if last else {}
    behind = at == period - 1
    for key in PERIODS:
        stirred = types_tried(model_type, **{key: period + 1})
        again = stirred and stirred != types and periodic(stirred)
        if again and again[2] == period + 1:
            return (
                names | {"period_key": text(key), "at": str(-1 if behind else at)} | ending,
                {key: period},
            )
    return names | {"period": str(period), "at": str(at)} | ending, {}


def runs(types):
    """Consecutive layers of one type: struct pe_layer_run."""
    found = []
    for kind in types:
        if found and found[-1][0] == kind:
            found[-1][1] += 1
        else:
            found.append([kind, 1])
    return "RUNS(" + ", ".join(f"{{{text(kind)}, {count}}}" for kind, count in found) + ")"


# ---- which keys are read -------------------------------------------------------------------------


def count_of(part):
    """The key of the number of layers, and that of the class."""
    key = part.attribute_map.get("num_hidden_layers", "num_hidden_layers")
    return {"count_key": text(key), "count": str(part.num_hidden_layers)}


def keys_of(model_type, part, found):
    """{key: value of the class or None}, without that of the number of layers."""
    keys = {}
    for key, (value, shows) in STIRRED.items():
        if not hasattr(part, key) or isinstance(getattr(type(part), key, None), property):
            continue
        more = (
            {"use_sliding_window": True, "max_window_layers": 0}
            if key == "sliding_window" and hasattr(part, "use_sliding_window")
            else {}
        )
        stirred = tried(model_type, **{key: value}, **more)
        if key == "sliding_window" and not (stirred and shows(stirred)):
            stirred = tried(model_type, **{key: value}, **more | sliding(part))
        if stirred and shows(stirred):
            keys[key] = own(part, key)
    keys |= {key: own(part, key) for key in SWITCHES if hasattr(part, key)}
    if hasattr(part, "is_decoder") and not any(layer.causal for layer in found if layer.attends):
        keys["is_decoder"] = part.is_decoder
    if hasattr(part, "no_rope_layers"):
        keys["no_rope_layers"] = None
    if hasattr(part, "no_rope_layer_interval"):
        keys["no_rope_layer_interval"] = part.no_rope_layer_interval
    keys |= {key: None for key in ("layer_rope_theta", "rope_scaling_layers") if hasattr(part, key)}
    if part.model_type == "llama4_text":
        keys |= {key: getattr(part, key) for key in TEMPERATURE}
    keys |= rope_keys(part)
    if hasattr(part, "no_rope_layers") and not hasattr(part, "no_rope_layer_interval"):
        keys |= next(
            (
                {"no_rope_layer_interval": interval}
                for interval in range(2, 9)
                if all(layer.turns == ((i + 1) % interval != 0) for i, layer in enumerate(found))
            ),
            {},
        )
    if hasattr(part, "use_mem_rope"):
        keys["use_mem_rope"] = part.use_mem_rope
    if has_parts(part):
        keys |= {key: getattr(part, key) for key in ("qk_nope_head_dim", "qk_rope_head_dim")}
    on = norm_switch(model_type, part, found)
    if on or any(layer.norm for layer in found):
        keys |= norm_keys(model_type, part, found, on)
    return keys


def sliding(part):
    """Keys by which all layers see by a window, where a class has none that do."""
    return (
        {"layer_types": ["sliding_attention"] * part.num_hidden_layers}
        if getattr(part, "layer_types", None)
        else {}
    )


def norm_switch(model_type, part, found):
    """The switch of norms that a class has and leaves off, as keys; {}: none."""
    for key in NORM_SWITCHES:
        if not any(layer.norm for layer in found) and getattr(part, key, None) is False:
            stirred = tried(model_type, **{key: True})
            if stirred and any(layer.norm for layer in stirred):
                return {key: True}
    return {}


def has_parts(part):
    """Are heads made of a part that rotates and one that does not? Not where layers differ."""
    try:
        return hasattr(part, "qk_nope_head_dim") and hasattr(part, "qk_rope_head_dim")
    except Exception:  # the class refuses to tell one value for all layers
        return False


def code_of(part):
    return pathlib.Path(sys.modules[layers.class_of(part).__module__].__file__).read_text()


def rope_keys(part):
    """Keys of the rope object that attention reads."""
    code, rope, keys = code_of(part), getattr(part, "rope_parameters", None) or {}, []
    if MULTIPLIED.search(code):
        keys += ["rope_type", "type", "factor", "mscale_all_dim"]
    if FAR.search(code):
        keys += ["llama_4_scaling_beta", "original_max_position_embeddings"]
    return {f"rope.{key}": rope.get(key) for key in keys}


def norm_keys(model_type, part, found, on):
    """The key of eps, and switches of the norms; `on` switches them on."""
    keys = {}
    for key in ("rms_norm_eps", "norm_eps", "layer_norm_eps"):
        stirred = tried(model_type, **{key: 0.125}, **on) if hasattr(part, key) else None
        if stirred and any("eps=0.125" in layer.norm for layer in stirred):
            keys[key] = getattr(part, key)
    for key in NORM_SWITCHES:
        stirred = tried(model_type, **{key: not getattr(part, key)}) if hasattr(part, key) else None
        if stirred and [layer.norm for layer in stirred] != [layer.norm for layer in found]:
            keys[key] = getattr(part, key)
    return keys


# ---- traits --------------------------------------------------------------------------------------


def where(found, has):
    """In which of the layers that attend something holds: struct pe_layer_where; None: in all."""
    attending = [layer for layer in found if layer.attends]
    if all(has(layer) for layer in attending):
        return None
    if all(has(layer) == layer.turns for layer in attending):
        return "{.which = PE_WHERE_ROTATING}"
    if all(has(layer) != layer.turns for layer in attending):
        return "{.which = PE_WHERE_NOPE}"
    kinds = {layer.kind for layer in attending if has(layer)}
    assert len(kinds) == 1, kinds
    return f"{{.which = PE_WHERE_TYPE, .type = {text(kinds.pop())}}}"


def trait(name, value, found, has):
    """The members of a trait that some layers have, and where; {}: none has it."""
    if not any(has(layer) for layer in found):
        return {}
    place = where(found, has)
    return {name: value} | ({f"{name}_where": place} if place else {})


def halved(model_type, part):
    """What a key that makes attention not causal makes of a window."""
    if not hasattr(part, "use_bidirectional_attention") or not getattr(part, "sliding_window", 0):
        return {}
    for value in (True, "all"):
        found = tried(model_type, use_bidirectional_attention=value, sliding_window=64) or []
        windows = {layer.window for layer in found if layer.window and not layer.causal}
        if windows and windows != {64}:
            plus = windows.pop() - 32
            return {
                "both_ways_window": struct(
                    {"halved": "true"} | ({"plus": str(plus)} if plus else {})
                )
            }
    return {}


def scale_of(part, attending, keys):
    scales = {round(layer.scale * layer.width**0.5, 12) for layer in attending}
    if MULTIPLIED.search(code_of(part)):
        return {"scale_by_mscale": "true"}
    if scales == {1.0} or {"query_pre_attn_scalar", "attention_multiplier"} & set(keys):
        return {}
    flat = {layer.scale for layer in attending}
    return {"scale": "1"} if flat == {1.0} else {"scale_by_width": number(scales.pop())}


def norm_of(model_type, part, found, keys):
    """struct pe_qk_norm, and where it holds."""
    on = norm_switch(model_type, part, found)
    normed = tried(model_type, **on) if on else found
    if not any(layer.norm for layer in normed):
        return {}
    kind, *words = next(layer.norm for layer in normed if layer.norm).split()
    members = {"kind": f"PE_QK_NORM_{kind.upper()}"}
    for word in words:
        if not word.startswith("eps="):
            name, value = NORM_WORDS[word]
            members[name] = value
        elif not any("eps" in key for key in keys):
            members["eps"] = word.removeprefix("eps=")
    return trait("qk_norm", struct(members), normed, lambda layer: bool(layer.norm))


def traits_of(model_type, part, found, keys):
    """Members of struct pe_config_layers about attention, in their order."""
    attending = [layer for layer in found if layer.attends]
    members = {"width_by_layer": "true"} if len({layer.width for layer in attending}) > 1 else {}
    if not any(layer.causal for layer in attending):
        members["both_ways"] = "true"
    members |= halved(model_type, part) | scale_of(part, attending, keys)
    members |= norm_of(model_type, part, found, keys)
    members |= trait("sinks", "true", found, lambda layer: layer.sinks)
    if part.model_type == "llama4_text":
        members["temperature_where"] = "{.which = PE_WHERE_NOPE}"
    return members


def rotating_of(part, found):
    """The types that rotate, where not all that attend do and no key decides it."""
    attending = [layer for layer in found if layer.attends]
    kinds = {layer.kind for layer in attending if layer.turns}
    if hasattr(part, "no_rope_layers") or not kinds or all(layer.turns for layer in attending):
        return {}
    assert not kinds & {layer.kind for layer in attending if not layer.turns}, kinds
    code = code_of(part)
    full = {"sliding_window": None, "layer_types": ["full_attention"] * len(found)}
    without = tried(part.model_type, **full) if hasattr(part, "sliding_window") else None
    members = {"rotating": "{" + ", ".join(map(text, sorted(kinds))) + "}"}
    without_window = all(layer.turns for layer in without) if without else WINDOWLESS.search(code)
    if without_window:
        members["all_rotate_without_window"] = "true"
    return members


def row(model_type, part):
    found = layers.walk(part)
    types = [layer.kind for layer in found]
    if None in types:
        rule, more = {}, {}
        if len({(layer.attends, layer.turns, layer.window > 0) for layer in found}) > 1:
            raise layers.NotWalked("layers of several kinds without names")
    else:
        rule, more = rule_of(model_type, part, types)
    keys = keys_of(model_type, part, found) | more
    return row_text(
        model_type,
        keys,
        rule,
        count_of(part),
        rotating_of(part, found) | traits_of(model_type, part, found, keys),
    )


def row_text(model_type, keys, rule, count, members):
    pairs = ", ".join(f"{{{text(key)}, {value_of_class(value)}}}" for key, value in keys.items())
    members = (
        count
        | ({"keys": f"KEYS({pairs})"} if keys else {})
        | ({"types": struct(rule)} if rule else {})
        | members
    )
    named = ", ".join(f".{name} = {value}" for name, value in members.items())
    return f'MODEL_LAYERS("{model_type}", {named})\n'


def rows_of(code):
    """{model_type: text of its row}"""
    return {
        found.group(1): found.group(0)
        for found in re.finditer(
            r'^MODEL_LAYERS\(\s*"([^"]+)".*?(?=^MODEL_LAYERS|\Z)', code, re.M | re.S
        )
    }


def squeezed(code):
    """Without the white space of its format."""
    return re.sub(r"\s+", "", code)


def main(arguments):
    transformers.logging.set_verbosity_error()
    before, rest = FILE.read_text().split(BEGIN)
    measured, behind = rest.split(END)
    wanted = [name for name in arguments if name != "--check"]
    by_hand, rows = rows_of(behind), rows_of(measured)
    for model_type, _, part in layers.model_types():
        if model_type in by_hand or model_type in LEFT_OUT:
            rows.pop(model_type, None)
            continue
        if wanted and model_type not in wanted:
            continue
        try:
            rows[model_type] = row(model_type, part)
        except Exception as error:
            print(f"{model_type}: {type(error).__name__} {error}"[:160], flush=True)
    made = "".join(rows[name] for name in sorted(rows))
    if "--check" in arguments:
        return int(squeezed(made) != squeezed(measured))
    FILE.write_text(before + BEGIN + made + END + behind)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
