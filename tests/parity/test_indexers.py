# SPDX-License-Identifier: MIT
"""The rotary of an indexer, which chooses keys for sparse attention, as the code of each model runs
it over a few tokens: `others` of an answer rotates the same vectors alike."""

import json
import re
import sys

import changed_keys
import numpy
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel

TOKENS, CLOSE = 6, 1e-5
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 32,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 32,
    "n_routed_experts": 2,
    "num_local_experts": 2,
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 2,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 16,
    "v_head_dim": 16,
    "index_n_heads": 2,
    "index_head_dim": 24,
    "index_topk": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
MLA = {"num_key_value_heads": 4}
MODELS = {
    "axk2": MLA,
    "deepseek_v32": MLA,
    "deepseek_v4": {
        "head_dim": 32,
        "num_key_value_heads": 1,
        "o_groups": 2,
        "o_lora_rank": 16,
        "compress_rates": {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4},
        "layer_types": ["compressed_sparse_attention"] * 2,
        "mlp_layer_types": ["moe"] * 2,
    },
    "dots3_note_text": MLA | {"head_dim": 32, "layer_types": ["indexed_attention"] * 2},
    "glm_moe_dsa": MLA,
    "hy_v4": MLA,
    "minimax_m3_vl_text": {
        "head_dim": 32,
        "layer_types": ["minimax_m3_sparse"] * 2,
        "mlp_layer_types": ["dense"] * 2,
        "index_n_heads": 2,
        "index_block_size": 2,
        "index_topk_blocks": 1,
        "index_local_blocks": 1,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 7.0,
            "partial_rotary_factor": 0.5,
        },
    },
    "mistral_large4_text": MLA,
}


def rotations_of_indexer(config):
    """[(x, y, the axis of heads)]: what an indexer rotates, before and after."""
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    module, seen = sys.modules[type(model).__module__], []

    def spied(function):
        def rotated(*args, **named):
            result = function(*args, **named)
            caller = sys._getframe(1).f_locals.get("self")
            if "Indexer" in type(caller).__name__:
                first = result[0] if isinstance(result, tuple) else result
                seen.append((args[0], first, named.get("unsqueeze_dim", 1)))
            return result

        return rotated

    for key, value in list(vars(module).items()):
        if re.match(r"apply_\w*rotary", key):
            setattr(module, key, spied(value))
    with torch.no_grad():
        model(input_ids=torch.arange(3, 3 + TOKENS)[None])
    return seen


@pytest.mark.parametrize("name", MODELS)
def test_the_rotary_of_an_indexer(name):
    config = CONFIG_MAPPING[name](**SMALL | MODELS[name])
    raw = json.loads(config.to_json_string(use_diff=False))
    report = json.loads(json.dumps(changed_keys.posenc.config(raw), default=str))
    (other,) = report["others"]
    assert other["where"] == "indexer" and other["head_dim"] == config.index_head_dim
    encoding = other["encoding"]
    rotary = encoding.get("rotary_dim", encoding["dim"])
    x, y = queries(rotations_of_indexer(config), rotary, other["rotated"] == "last")
    matrices = changed_keys.rotated(encoding, encoding["layout"], numpy.arange(TOKENS))
    ours = numpy.einsum("tij,htj->hti", matrices[:, :rotary, :rotary], x)
    if numpy.abs(ours - y).max() > CLOSE and encoding["layout"] == "interleaved":
        ours = ours[..., [*range(0, rotary, 2), *range(1, rotary, 2)]]  # of queries and keys alike
    assert numpy.abs(ours - y).max() <= CLOSE


def queries(calls, rotary, last):
    """[heads, tokens, rotary] before and after: of the call that has a vector for each token. Some
    codes hand over the part that rotates alone."""
    for x, y, heads in calls:
        x, y = (at.movedim(heads, 1)[0].double().numpy() for at in (x, y))
        if x.shape[1] == TOKENS:
            return (at[..., -rotary:] if last else at[..., :rotary] for at in (x, y))
    raise AssertionError("no call of an indexer has all tokens")
