# SPDX-License-Identifier: MIT
"""The configs that engines are measured with, each in the form of transformers 4 (rope_theta,
rope_scaling) and of transformers 5 (rope_parameters, as its save_pretrained writes a file).

    build/engines/transformers/bin/python tools/engines/rows.py > build/engines/rows.json"""

import contextlib
import copy
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))

import finding  # noqa: E402
from forms import old_form, text_of  # noqa: E402
from transformers import CONFIG_MAPPING  # noqa: E402

PUBLISHED = ROOT / "tests/data/configs"

YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
}
DEEPSEEK = {"mscale": 0.7, "mscale_all_dim": 1.0}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "long_factor": [2.0 + pair / 4 for pair in range(64)],
    "short_factor": [1.0 + pair / 64 for pair in range(64)],
    "factor": 16.0,
    "original_max_position_embeddings": 8192,
}
# By a published config: what its rope object is changed to, a key at a time. "whole" replaces it.
STIRRED = {
    "llama-3.1": [
        {"rope_theta": 777000.0},
        {"factor": 16.0},
        {"low_freq_factor": 2.0},
        {"high_freq_factor": 8.0},
        {"original_max_position_embeddings": 4096},
        {"partial_rotary_factor": 0.5},
        {"whole": {"rope_type": "linear", "rope_theta": 500000.0, "factor": 4.0}},
        {"whole": {"rope_type": "dynamic", "rope_theta": 500000.0, "factor": 4.0}},
        {"whole": LONGROPE},
        {"whole": YARN},
    ],
    "qwen3-8b": [
        {"whole": YARN | more}
        for more in (
            {},
            {"truncate": False},
            {"beta_fast": 16.0},
            {"beta_slow": 2.0},
            {"attention_factor": 1.5},
            {"mscale": 0.7, "mscale_all_dim": 1.1},
        )
    ],
    "qwen2.5-7b": [
        {"rope_theta": 777000.0},
        {"whole": YARN},
        {"whole": YARN | {"truncate": False}},
    ],
    "mistral-7b-v0.3": [{"rope_theta": 777000.0}, {"whole": YARN}],
    "deepseek-v3": [
        {"rope_theta": 777000.0},
        {"factor": 8.0},
        {"beta_fast": 16.0},
        {"beta_slow": 2.0},
        {"truncate": False},
        {"attention_factor": 1.5},
        DEEPSEEK,
    ],
    "gpt-oss-120b": [
        {"truncate": True},
        {"truncate": True, "beta_fast": 16.0},
        {"truncate": True, "attention_factor": 1.5},
    ],
    "phi-3.5-mini": [{"rope_theta": 777000.0}, {"original_max_position_embeddings": 8192}],
    "phi-1": [{"rope_theta": 777000.0}, {"partial_rotary_factor": 0.25}],
    "glm-4.5": [{"rope_theta": 777000.0}, {"partial_rotary_factor": 0.25}],
    "olmo-2-32b": [{"rope_theta": 777000.0}],
    "smollm2-135m": [{"rope_theta": 777000.0}],
    "starcoder2-7b": [{"rope_theta": 777000.0}],
    "command-r": [{"rope_theta": 777000.0}],
    "gemma-3-1b": [
        {"full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 4.0}},
        {"full_attention": {"rope_type": "default", "rope_theta": 777000.0}},
        {"sliding_attention": {"rope_type": "default", "rope_theta": 777.0}},
    ],
}


# ---- the two forms ------------------------------------------------------------------------------


def saved(config):
    """As a file of transformers 5 has it; None: it has no such model, or no rope object."""
    model_type = config.get("model_type")
    if model_type not in CONFIG_MAPPING:
        return None
    made = CONFIG_MAPPING[model_type].from_dict(copy.deepcopy(config))
    found = json.loads(made.to_json_string(use_diff=True))
    for key in ("transformers_version", "dtype"):
        found.pop(key, None)
    if "architectures" in config:
        found["architectures"] = config["architectures"]
    return found if "rope_parameters" in text_of(found) else None


def forms(config):
    new = "rope_parameters" in text_of(config)
    found = {}
    with contextlib.suppress(Exception):  # of a class that does not take it
        found["5"] = config if new else saved(config)
    found["4"] = old_form(config) if new else config
    return {form: found[form] for form in ("4", "5") if found.get(form)}


# ---- rows ---------------------------------------------------------------------------------------


def published():
    for path in sorted(PUBLISHED.glob("*.json")):
        config = json.loads(path.read_text())["config"]
        yield {"kind": "published", "name": path.stem, "forms": forms(config)}


def words(change):
    whole = change.get("whole")
    if whole is None:
        return ", ".join(f"{key}={short(value)}" for key, value in change.items())
    usual = YARN if whole["rope_type"] == "yarn" else {}
    own = {k: v for k, v in whole.items() if usual.get(k) != v and k != "rope_type"}
    own = own if usual else {}
    return ", ".join([whole["rope_type"], *(f"{k}={short(v)}" for k, v in own.items())])


def short(value):
    return (
        json.dumps(value)
        if not isinstance(value, dict)
        else words({"whole": value})
        + (f" {value['rope_theta']:g}" + (f"/{value['factor']:g}" if "factor" in value else ""))
    )


def stirred():
    for name, changes in STIRRED.items():
        config = json.loads((PUBLISHED / f"{name}.json").read_text())["config"]
        new = saved(config)
        for change in changes:
            changed = copy.deepcopy(new)
            text = text_of(changed)
            if "whole" in change:
                text["rope_parameters"] = copy.deepcopy(change["whole"])
            else:
                text["rope_parameters"].update(copy.deepcopy(change))
            yield {"kind": "stirred", "name": f"{name}: {words(change)}", "forms": forms(changed)}


def defaults():
    """The default config of each class of transformers that rotates."""
    for name, cls in finding.config_classes(()).items():
        with contextlib.suppress(Exception):  # of classes without a default config
            made = cls(**finding.SWITCHED.get(name, {}))
            found = finding.rotary_of(finding.part_about_text(made))
            if not found or not made.model_type:
                continue
            config = json.loads(made.to_json_string(use_diff=True))
            for key in ("transformers_version", "dtype"):
                config.pop(key, None)
            config["architectures"] = architectures(made.model_type)
            if not config["architectures"]:
                del config["architectures"]
            yield {"kind": "defaults", "name": name, "forms": forms(config)}


def architectures(model_type):
    """The class that a checkpoint of this type names; engines choose their code by it."""
    from transformers.models.auto import modeling_auto

    for mapping in (
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    ):
        if model_type in mapping:
            found = mapping[model_type]
            return [found if isinstance(found, str) else found[0]]
    return []


if __name__ == "__main__":
    json.dump([*published(), *stirred(), *defaults()], sys.stdout)
