# SPDX-License-Identifier: MIT
"""The two forms of a config: of transformers 4 (rope_theta, rope_scaling) and of transformers 5
(rope_parameters)."""

import copy

OLD = ("rope_theta", "rope_scaling", "partial_rotary_factor", "rope_local_base_freq")


def text_of(config):
    """The part that has the rope object, of a dict."""
    for name in ("text_config", "thinker_config", "llm_config"):
        if isinstance(config.get(name), dict):
            return text_of(config[name])
    return config


def model_key(config):
    """The model_type, with that of the part about text where it has one of its own: "mistral3",
    "mistral3/ministral3". None: the config has no model_type."""
    outer, text = config.get("model_type"), text_of(config)
    inner = text.get("model_type") if text is not config else None
    return f"{outer}/{inner}" if outer and inner else outer


def old_form(config):
    """rope_parameters as transformers 4 has them; None where it has no way to write them."""
    config = copy.deepcopy(config)
    text = text_of(config)
    if text is not config and "rope_parameters" in config:
        return None
    rope = text.pop("rope_parameters", None)
    if rope is None:
        return config if any(key in text for key in OLD) else None
    if any(isinstance(value, dict) for value in rope.values()):
        if set(rope) != {"full_attention", "sliding_attention"} or "gemma3" not in text.get(
            "model_type", ""
        ):
            return None
        text["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    rope = dict(rope)
    for key in ("rope_theta", "partial_rotary_factor"):
        if key in rope:
            text[key] = rope.pop(key)
    if rope.get("rope_type", "default") == "default":
        rope.pop("rope_type", None)
    text["rope_scaling"] = rope or None
    return config
