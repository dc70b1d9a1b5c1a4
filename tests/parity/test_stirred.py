# SPDX-License-Identifier: MIT
"""Keys of configs at values that no class has by itself: read as the model's own code reads them,
or dead as they are there."""

import copy
import json

import finding
import layers
import models
import pytest
import sweep
from test_layers import judge
from transformers import CONFIG_MAPPING

from service import post_json

YARN = {
    "rope_type": "yarn",
    "rope_theta": 777.0,
    "factor": 8.0,
    "beta_fast": 16,
    "truncate": False,
    "mscale": 0.7,
    "mscale_all_dim": 1.1,
    "original_max_position_embeddings": 1024,
}
PART = {
    "rope_parameters": {"rope_type": "default", "rope_theta": 777.0, "partial_rotary_factor": 0.25}
}
OUTSIDE = {"original_max_position_embeddings": 2048}
TYPES = {"full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 9e3}}
MIXED = ["full_attention", "sliding_attention", "sliding_attention"] * 15
WHOLE = {key: value for key, value in YARN.items() if key != "truncate"}
# Keys that other models have.
STRAY = {
    "partial_rotary_factor": 0.5,
    "rotary_dim": 16,
    "kv_channels": 48,
    "qk_rope_head_dim": 32,
    "rope_interleave": True,
    "original_rope": True,
    "attention_head_dim": 48,
    "global_head_dim": 64,
    "rope_local_base_freq": 777.0,
    "global_rope_theta": 777.0,
    "rotary_emb_base": 777.0,
    "rope_ratio": 2.0,
}
ROTATIONS = [
    (name, change)
    for name in ("llama", "mistral", "qwen3", "gemma2", "granite", "olmo3")
    for change in ({"rope_parameters": YARN}, PART, {"head_dim": 48}, STRAY)
]
# Read at another place than it seems, or not at all.
ROTATIONS += [
    ("llama", {**OUTSIDE, "rope_parameters": YARN}),
    ("gemma3_text", {**OUTSIDE, "rope_parameters": TYPES}),
    ("gemma3_text", {"rope_parameters": {**TYPES, "truncate": False}}),
    ("gemma3_text", {"rope_parameters": {**TYPES, "full_attention": WHOLE, "truncate": False}}),
    (
        "phi3",
        {
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 777.0,
                "long_factor": [2.0] * 48,
                "short_factor": [1 + pair / 8 for pair in range(48)],
                "factor": 4.0,
                "original_max_position_embeddings": 1024,
            }
        },
    ),
    ("deepseek_v2", {"head_dim": 48}),
    ("minicpm3", {"head_dim": 48}),
    ("deepseek_v3", {"head_dim": 64, "qk_rope_head_dim": 64}),
    # Rope objects that the class makes anew, unless each type of layer has one.
    ("step3p5", {"rope_parameters": YARN, "rope_theta": 555.0, "partial_rotary_factor": 0.5}),
    ("step3p5", {"rope_parameters": {**TYPES, "truncate": False}, "layer_types": MIXED}),
    ("step3p5", {"rope_parameters": TYPES, "rope_theta": 5.0, "partial_rotary_factor": 0.5}),
    (
        "step3p5",
        {"rope_parameters": {"full_attention": YARN}, "rope_theta": 5.0, "layer_types": MIXED},
    ),
    # Widths that are not read.
    ("wav2vec2-bert", {"position_embeddings_type": "rotary", "head_dim": 48}),
    ("seamless_m4t", {"position_embeddings_type": "rotary", "head_dim": 48}),
    ("sapiens2", {"head_dim": 48, "rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}),
    ("clvp_encoder", {"num_attention_heads": 6, "head_dim": 48}),
]
LAYERS = [
    ("gemma3_text", {"use_bidirectional_attention": True}),
    ("gemma4_text", {"use_bidirectional_attention": "all"}),
    ("gemma4_unified_text", {"use_bidirectional_attention": "all", "sliding_window": 77}),
    *(
        (name, {"is_causal": False})
        for name in ("llama", "qwen3", "mistral", "gemma3_text", "gpt_oss", "cohere2", "gpt_neox")
    ),
    ("qwen2_moe", {"use_sliding_window": True, "max_window_layers": 5}),
    ("qwen2_moe", {"use_sliding_window": True, "layer_types": ["sliding_attention"] * 24}),
    ("exaone4", {"sliding_window": None, "layer_types": ["full_attention"] * 32}),
    ("kolibri1", {"sliding_window": None, "layer_types": ["full_attention"] * 50}),
    ("cohere2", {"layer_types": ["full_attention"] * 40}),
    ("granite_swa", {"layer_rope_theta": [0, 500.0] * 12}),
    ("qwen3", {"sliding_window": 7, "use_sliding_window": True, "max_window_layers": 3}),
    ("neomme", {"sliding_window": 77}),
    (
        "neomme",
        {
            "per_layer_config": {
                "2": {"sliding_window": 99},
                "5": {"sliding_window": None},
                "11": {"sliding_window": None},
                "16": {"sliding_window": None},
            }
        },
    ),
]


def stirred(model_type, change):
    """The config, which changes what it is made of, and what a file has that says so. The class of
    olmo3 leaves a flat rope_parameters aside: a file of it has rope_scaling, or what is saved."""
    config = CONFIG_MAPPING[model_type](**copy.deepcopy(change))
    saved = json.loads(config.to_json_string(use_diff=True))
    return config, saved if model_type == "olmo3" else saved | change


@pytest.mark.parametrize("model_type, change", ROTATIONS)
def test_rotations(server, model_type, change):
    config, posted = stirred(model_type, change)
    rotary, module = finding.rotary_of(config)
    for layer in finding.layer_types(rotary, config):
        model = models.Model(model_type, config, config, rotary, module, layer)
        assert sweep.judge(server, model, posted)[0] == sweep.RIGHT, layer


def fails(model_type, change):
    """Does the model's own code fail over these keys?"""
    try:
        layers.run(stirred(model_type, change)[0])
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize(
    "model_type, change, words",
    [
        ("deepseek_v3", {"head_dim": 48}, "makes frequencies for 48"),
        (
            "deepseek_v2",
            {
                "rope_parameters": {
                    "rope_type": "linear",
                    "rope_theta": 777.0,
                    "factor": 2.0,
                    "partial_rotary_factor": 0.5,
                }
            },
            "makes frequencies for 32",
        ),
        ("persimmon", {"head_dim": 48}, "heads of persimmon are"),
    ],
)
def test_what_no_model_runs_with_is_told(server, model_type, change, words):
    answer = post_json(server, "/v1/config", {"config": stirred(model_type, change)[1]})
    told = answer.json["warnings"] if answer.status == 200 else [answer.json["detail"]]
    assert fails(model_type, change) and not fails(model_type, {})
    assert any(words in sentence for sentence in told), told


def test_heads_of_two_widths(server):
    """gpt_neox runs: frequencies are of head_dim, heads and their scale of hidden_size."""
    change = {"head_dim": 48}
    config, posted = stirred("gpt_neox", change)
    assert layers.walk(config)[0].scale == 96**-0.5
    answer = post_json(server, "/v1/config", {"config": posted})
    assert answer.status == 422 and "another width" in answer.json["detail"]


@pytest.mark.parametrize("model_type, change", LAYERS)
def test_what_layers_do(server, model_type, change):
    config, posted = stirred(model_type, change)
    assert judge(server, layers.walk(config), posted) == ("right", "")
