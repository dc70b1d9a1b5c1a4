# SPDX-License-Identifier: MIT
"""Keys of configs at values that no class has by itself: read as the model's own code reads them,
or dead as they are there."""
import json

import pytest
from transformers import CONFIG_MAPPING

import finding
import layers
import models
import sweep
from test_layers import judge

YARN = {"rope_type": "yarn", "rope_theta": 777.0, "factor": 8.0, "beta_fast": 16, "truncate": False,
        "mscale": .7, "mscale_all_dim": 1.1, "original_max_position_embeddings": 1024}
PART = {"rope_parameters": {"rope_type": "default", "rope_theta": 777.0,
                            "partial_rotary_factor": .25}}
# Keys that other models have.
STRAY = {"partial_rotary_factor": .5, "rotary_dim": 16, "kv_channels": 48, "qk_rope_head_dim": 32,
         "rope_interleave": True, "original_rope": True, "attention_head_dim": 48,
         "global_head_dim": 64, "rope_local_base_freq": 777.0, "global_rope_theta": 777.0,
         "rotary_emb_base": 777.0, "rope_ratio": 2.0}
ROTATIONS = [(name, change) for name in ("llama", "mistral", "qwen3", "gemma2", "granite", "olmo3")
             for change in ({"rope_parameters": YARN}, PART, {"head_dim": 48}, STRAY)]
LAYERS = [("gemma3_text", {"use_bidirectional_attention": True}),
          ("gemma4_text", {"use_bidirectional_attention": "all"}),
          ("gemma4_unified_text", {"use_bidirectional_attention": "all", "sliding_window": 77}),
          *((name, {"is_causal": False}) for name in ("llama", "qwen3", "mistral", "gemma3_text",
                                                      "gpt_oss", "cohere2", "gpt_neox")),
          ("qwen2_moe", {"use_sliding_window": True, "max_window_layers": 5}),
          ("qwen2_moe", {"use_sliding_window": True, "layer_types": ["sliding_attention"] * 24}),
          ("exaone4", {"sliding_window": None, "layer_types": ["full_attention"] * 32}),
          ("cohere2", {"layer_types": ["full_attention"] * 40}),
          ("granite_swa", {"layer_rope_theta": [0, 500.0] * 12}),
          ("qwen3", {"sliding_window": 7, "use_sliding_window": True, "max_window_layers": 3})]


def stirred(model_type, change):
    config = CONFIG_MAPPING[model_type](**change)
    return config, json.loads(config.to_json_string(use_diff=True))


@pytest.mark.parametrize("model_type, change", ROTATIONS)
def test_rotations(server, model_type, change):
    config, posted = stirred(model_type, change)
    rotary, module = finding.rotary_of(config)
    for layer in finding.layer_types(rotary, config):
        model = models.Model(model_type, config, config, rotary, module, layer)
        assert sweep.judge(server, model, posted)[0] == sweep.RIGHT, layer


@pytest.mark.parametrize("model_type, change", LAYERS)
def test_what_layers_do(server, model_type, change):
    config, posted = stirred(model_type, change)
    assert judge(server, layers.walk(config), posted) == ("right", "")
