#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the layers of models do by the code of the installed transformers, and writes the
rows of core/config/model_layers.def that are between its two marks.

    build/parity/bin/python tools/model_layers.py [MODEL_TYPE ...]

Models are run without weights (tests/parity/layers.py): as their class makes them, with another
number of layers, and with each key of KEYS at another value, which shows the keys that are read.
Rows below the second mark are by hand: models whose code cannot be run this way. Run it, then
clang-format."""
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
    "query_pre_attn_scalar": (16, lambda found: any(layer.scale == .25 for layer in found)),
    "attention_multiplier": (.3, lambda found: any(layer.scale == .3 for layer in found)),
}
# Their layers are run several times, or have two attentions each.
LEFT_OUT = ("hrm_text", "longcat_flash", "neomme")
SWITCHES = ("use_sliding_window", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
            "use_bidirectional_attention")
PERIODS = ("sliding_window_pattern", "full_attention_interval", "global_attn_every_n_layers",
           "layer_group_size")
NORM_SWITCHES = ("use_qk_norm", "qk_layernorm")
TEMPERATURE = ("attn_temperature_tuning", "attn_scale", "floor_scale")
MULTIPLIED = re.compile(r"yarn_apply_mscale|yarn_get_mscale")
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


def plain(value):
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) \
        else repr(value).removesuffix(".0")


def pair(key, value):
    return key if value is None else f"{key}={plain(value)}"


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
            kind, = other
            if len(usual) == 1 and kind not in usual:
                return usual.most_common(1)[0][0], kind, period, at, False
            if len(usual) == 2 and types[-1] == kind and usual[kind] == 1:
                return next(k for k in usual if k != kind), kind, period, at, True
    return None


def rule_of(model_type, part, types):
    """(column layers, keys that it reads)"""
    if hasattr(part, "no_rope_layers") and len(set(types)) == 2:
        return f"{types[0]} {types[3]} by-turning", []
    if hasattr(part, "max_window_layers"):
        stirred = types_tried(model_type, use_sliding_window=True, max_window_layers=2,
                              sliding_window=77)
        if stirred and stirred[:2] == types[:2] and set(stirred[2:]) == {"sliding_attention"}:
            return (f"{types[0]} sliding_attention from=max_window_layers "
                    "switch=use_sliding_window", [pair("max_window_layers",
                                                       own(part, "max_window_layers"))])
    if len(set(types)) == 1:
        return types[0], []
    found = periodic(types)
    longer = types_tried(model_type, num_hidden_layers=len(types) + 5)
    if not found or not longer or periodic(longer) != found and periodic(longer) is not None \
            and (periodic(longer)[:4] != found[:4]):
        return literal(types), []
    usual, other, period, at, last = found
    last = last or bool(periodic(longer) and periodic(longer)[4])
    ending = " last" if last else ""
    behind = at == period - 1
    for key in PERIODS:
        stirred = types_tried(model_type, **{key: period + 1})
        again = stirred and stirred != types and periodic(stirred)
        if again and again[2] == period + 1:
            return (f"{usual} {other} period={key} at={-1 if behind else at}{ending}",
                    [f"{key}={period}"])
    return f"{usual} {other} period={period} at={at}{ending}", []


def literal(types):
    runs = []
    for kind in types:
        if runs and runs[-1][0] == kind:
            runs[-1][1] += 1
        else:
            runs.append([kind, 1])
    return "=" + " ".join(f"{kind}*{count}" for kind, count in runs)


# ---- which keys are read -------------------------------------------------------------------------

def keys_of(model_type, part, found):
    keys = [pair(part.attribute_map.get("num_hidden_layers", "num_hidden_layers"),
                 part.num_hidden_layers)]
    for key, (value, shows) in STIRRED.items():
        if not hasattr(part, key) or isinstance(getattr(type(part), key, None), property):
            continue
        more = {"use_sliding_window": True, "max_window_layers": 0} \
            if key == "sliding_window" and hasattr(part, "use_sliding_window") else {}
        stirred = tried(model_type, **{key: value}, **more)
        if key == "sliding_window" and not (stirred and shows(stirred)):
            stirred = tried(model_type, **{key: value}, **more | sliding(part))
        if stirred and shows(stirred):
            keys.append(pair(key, own(part, key)))
    keys += [pair(key, own(part, key)) for key in SWITCHES if hasattr(part, key)]
    if hasattr(part, "is_decoder") and not any(layer.causal for layer in found if layer.attends):
        keys.append(pair("is_decoder", part.is_decoder))
    for key in ("no_rope_layers", "no_rope_layer_interval"):
        if hasattr(part, key):
            keys.append(key if key == "no_rope_layers" else pair(key, getattr(part, key)))
    keys += [key for key in ("layer_rope_theta", "rope_scaling_layers") if hasattr(part, key)]
    if part.model_type == "llama4_text":
        keys += [pair(key, getattr(part, key)) for key in TEMPERATURE]
    keys += rope_keys(part)
    if hasattr(part, "no_rope_layers") and not hasattr(part, "no_rope_layer_interval"):
        keys += [f"no_rope_layer_interval={interval}" for interval in range(2, 9)
                 if all(layer.turns == ((i + 1) % interval != 0) for i, layer in enumerate(found))]
    if hasattr(part, "use_mem_rope"):
        keys.append(pair("use_mem_rope", part.use_mem_rope))
    if has_parts(part):
        keys += [pair(key, getattr(part, key)) for key in ("qk_nope_head_dim", "qk_rope_head_dim")]
    on = norm_switch(model_type, part, found)
    if on or any(layer.norm for layer in found):
        keys += norm_keys(model_type, part, found, on)
    return keys


def sliding(part):
    """Keys by which all layers see by a window, where a class has none that do."""
    return {"layer_types": ["sliding_attention"] * part.num_hidden_layers} \
        if getattr(part, "layer_types", None) else {}


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
    return [pair(f"rope.{key}", rope.get(key)) for key in keys]


def norm_keys(model_type, part, found, on):
    """The key of eps, and switches of the norms; `on` switches them on."""
    keys = []
    for key in ("rms_norm_eps", "norm_eps", "layer_norm_eps"):
        stirred = tried(model_type, **{key: .125}, **on) if hasattr(part, key) else None
        if stirred and any("eps=0.125" in layer.norm for layer in stirred):
            keys.append(pair(key, getattr(part, key)))
    for key in NORM_SWITCHES:
        stirred = tried(model_type, **{key: not getattr(part, key)}) if hasattr(part, key) else None
        if stirred and [layer.norm for layer in stirred] != [layer.norm for layer in found]:
            keys.append(pair(key, getattr(part, key)))
    return keys


# ---- traits --------------------------------------------------------------------------------------

def condition(found, has):
    """In which of the layers that attend something holds: a word of *-if; '' in all of them."""
    attending = [layer for layer in found if layer.attends]
    if all(has(layer) for layer in attending):
        return ""
    if all(has(layer) == layer.turns for layer in attending):
        return "turning"
    if all(has(layer) != layer.turns for layer in attending):
        return "still"
    kinds = {layer.kind for layer in attending if has(layer)}
    assert len(kinds) == 1, kinds
    return kinds.pop()


def trait(words, name, found, has):
    if any(has(layer) for layer in found):
        words.append(name)
        where = condition(found, has)
        if where:
            words.append(f"{name.split('=')[0]}-if={where}")


def halved(model_type, part):
    """What a key that lets layers see both ways makes of a window."""
    if not hasattr(part, "use_bidirectional_attention") or not getattr(part, "sliding_window", 0):
        return []
    for value in (True, "all"):
        found = tried(model_type, use_bidirectional_attention=value, sliding_window=64) or []
        windows = {layer.window for layer in found if layer.window and not layer.causal}
        if windows and windows != {64}:
            return [f"half_both_ways={windows.pop() - 32}"]
    return []


def traits_of(model_type, part, found, keys):
    attending = [layer for layer in found if layer.attends]
    words = ["width-by-layer"] if len({layer.width for layer in attending}) > 1 else []
    words += halved(model_type, part)
    scales = {round(layer.scale * layer.width ** .5, 12) for layer in attending}
    scaled = any(key.split("=")[0] in ("query_pre_attn_scalar", "attention_multiplier")
                 for key in keys)
    if MULTIPLIED.search(code_of(part)):
        words.append("mscale")
    elif scales != {1.0} and not scaled:
        flat = {layer.scale for layer in attending}
        words.append(f"scale={plain(flat.pop())}" if len(flat) == 1 and flat == {1.0}
                     else f"scale-by-width={plain(scales.pop())}")
    on = norm_switch(model_type, part, found)
    normed = tried(model_type, **on) if on else found
    if any(layer.norm for layer in normed):
        norm = next(layer.norm for layer in normed if layer.norm).split()
        trait(words, f"qk_norm={norm[0]}", normed, lambda layer: bool(layer.norm))
        words += [{"weight": "qk_weight=1", "from-1": "qk_weight=from-1", "after": "qk_after",
                   "whole": "qk_whole"}[word] for word in norm[1:] if "=" not in word]
        words += [word for word in norm if "eps" in word and not any("eps" in k for k in keys)]
    trait(words, "sinks", found, lambda layer: layer.sinks)
    if not any(layer.causal for layer in attending):
        words.append("both_ways")
    if part.model_type == "llama4_text":
        words.append("temperature-if=still")
    return words


def turning_of(part, found):
    """The types that rotate, where not all that attend do and no key tells."""
    attending = [layer for layer in found if layer.attends]
    kinds = {layer.kind for layer in attending if layer.turns}
    if hasattr(part, "no_rope_layers") or not kinds or all(layer.turns for layer in attending):
        return ""
    assert not kinds & {layer.kind for layer in attending if not layer.turns}, kinds
    full = {"sliding_window": None, "layer_types": ["full_attention"] * len(found)}
    without = tried(part.model_type, **full) if hasattr(part, "sliding_window") else None
    all_turn = without and all(layer.turns for layer in without)
    return " ".join([*sorted(kinds), *["or-without-window"] * bool(all_turn)])


def row(model_type, part):
    found = layers.walk(part)
    types = [layer.kind for layer in found]
    if None in types:
        column, more = "", []
        if len({(layer.attends, layer.turns, layer.window > 0) for layer in found}) > 1:
            raise layers.NotWalked("layers of several kinds without names")
    else:
        column, more = rule_of(model_type, part, types)
    keys = keys_of(model_type, part, found) + more
    return (f'MODEL_LAYERS("{model_type}", "{" ".join(keys)}", "{column}", '
            f'"{turning_of(part, found)}", "{" ".join(traits_of(model_type, part, found, keys))}")'
            "\n")


def main():
    transformers.logging.set_verbosity_error()
    before, rest = FILE.read_text().split(BEGIN)
    measured, behind = rest.split(END)
    by_hand = set(re.findall(r'MODEL_LAYERS\(\s*"([^"]+)"', behind))
    rows = dict((found.group(1), found.group(0)) for found in
                re.finditer(r'MODEL_LAYERS\(\s*"([^"]+)"[^)]*\)\n', measured))
    for model_type, _, part in layers.model_types():
        if model_type in by_hand or model_type in LEFT_OUT:
            rows.pop(model_type, None)
            continue
        if sys.argv[1:] and model_type not in sys.argv[1:]:
            continue
        try:
            rows[model_type] = row(model_type, part)
        except Exception as error:
            print(f"{model_type}: {type(error).__name__} {error}"[:160], flush=True)
    FILE.write_text(before + BEGIN + "".join(rows[name] for name in sorted(rows)) + END + behind)


if __name__ == "__main__":
    main()
