# SPDX-License-Identifier: MIT
"""Every class of transformers whose model runs without weights: each of its layers does what
/v1/config says of it, the config posted whole and as a file has it; layers.py."""

import collections
import warnings

import layers
import sweep
import transformers

from service import post_json

# Models whose answers are refused: their positions are none of those that this service has, or are
# told by no config. Refusals are counted, and test_sweep.py looks at the reasons of rotary ones.
RIGHT_MIN = 215
# What is known to be otherwise, and why.
KNOWN = {
    "hrm_text": "its layers are run several times, each time with a cache of its own",
    "longcat_flash": "a layer has two attentions: its class counts 56, its config 28",
    "colpali": "the model around it masks: a prefix is seen both ways, what comes behind is causal",
    "paligemma": "the same",
}


def close(a, b):
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def words_of(norm):
    """As Layer.norm has them."""
    if not norm:
        return ""
    weight = {"none": [], "weight": ["weight"], "1 + weight": ["from-1"]}[norm["weight"]]
    return " ".join(
        [
            norm["kind"],
            *weight,
            *["after"] * (norm["rotation"] == "before"),
            *["whole"] * (norm["over"] == "all heads"),
            *([f"eps={norm['eps']:g}"] if "eps" in norm else []),
        ]
    )


def differences(layer, row, answer):
    """Words for what is told of a layer and is not so."""
    told = row["attention"]
    if told is None or not layer.attends:
        return ["attends"] * ((told is not None) != layer.attends)
    rotates = (row["encoding"] or {}).get("name") in ("rope", "mrope")
    pairs = {
        "turns": (layer.turns, rotates),
        "causal": (layer.causal, told["causal"]),
        "window": (layer.window, told.get("window", 0)),
        "chunk": (layer.chunk, told.get("chunk", 0)),
        "softcap": (layer.softcap, told.get("softcap", 0)),
        "sinks": (layer.sinks, told.get("sinks", False)),
        "norm": (layer.norm, words_of(told.get("qk_norm"))),
    }
    found = [
        f"{key}: {theirs} told {ours}"
        for key, (theirs, ours) in pairs.items()
        if theirs != ours
        and not (key == "turns" and answer["encoding"]["name"] not in ("rope", "mrope"))
    ]
    if "scale" in told and not close(told["scale"], layer.scale):
        found.append(f"scale: {layer.scale} told {told['scale']}")
    return found


def judge(server, walked, config):
    """('right' | 'refused' | 'wrong', words)"""
    answer = post_json(server, "/v1/config", {"config": config})
    if answer.status != 200:
        return "refused", answer.json["detail"]
    rows = {number: row for row in answer.json["layers"] for number in row.get("layers", [])}
    if set(rows) != set(range(len(walked))):
        return "wrong", f"{len(walked)} layers, told {sorted(rows)}"
    found = [
        f"layer {number}: {words}"
        for number, layer in enumerate(walked)
        for words in differences(layer, rows[number], answer.json)
    ]
    return ("wrong", f"{len(found)}: {found[0]}") if found else ("right", "")


def rows(server, wanted=()):
    """(model type, form, verdict, words)"""
    for model_type, config, part in layers.model_types():
        if wanted and model_type not in wanted:
            continue
        try:
            walked = layers.walk(part)
        except layers.NotWalked as reason:
            yield model_type, "whole", "not walked", str(reason)
            continue
        for form, posted in sweep.forms(config).items():
            yield model_type, form, *judge(server, walked, posted)


def test_layers_of_every_model(server):
    transformers.logging.set_verbosity_error()
    counts, wrong = collections.Counter(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model_type, form, verdict, words in rows(server):
            counts[form, verdict] += 1
            if verdict == "wrong" and model_type not in KNOWN:
                wrong.append((model_type, form, words))
    print(*sorted(counts.items()), sep="\n")
    assert not wrong, "\n".join(map(str, wrong))
    assert counts["whole", "right"] >= RIGHT_MIN and counts["raw", "right"] >= RIGHT_MIN
