# SPDX-License-Identifier: MIT
"""Every class of transformers that rotates text, its config posted in three forms; sweep.py."""
import collections

import numpy
import pytest
import torch
from transformers import CONFIG_MAPPING
from transformers.models.llama4 import modeling_llama4
from transformers.models.pixtral import modeling_pixtral

import sweep
from service import post_json

# What is refused, and the part of the answer that says why.
ODD = "must be a whole multiple of"  # their class's own sizes give heads of a broken width
PARTS = "nothing in this config tells its positions"  # which of its parts is meant is not said
REASONS = {
    "clvp": PARTS, "clvp_encoder": PARTS, "dia": PARTS, "seamless_m4t": PARTS, "t5gemma": PARTS,
    "t5gemma2 (full_attention)": PARTS, "t5gemma2 (sliding_attention)": PARTS, "vjepa2": PARTS,
    "wav2vec2-bert": PARTS, "wav2vec2-conformer": PARTS,
    "efficientloftr": "partial_rotary_factor must be",
    "glm4_moe": ODD, "glm4v_moe": ODD, "glm4v_moe_text": ODD, "qwen3_omni_moe": ODD,
    "qwen3_omni_moe_text": ODD, "qwen3_omni_moe_thinker": ODD,
    "mlcd": "'axial' is not offered", "mlcd_vision_model": "'axial' is not offered",
    "nanochat": "the other way round", "dinov3_vit": "centres of patches",
}
# Of a config that has nothing but its model_type.
BARE = (PARTS, ODD, "the other way round", "centres of patches", "does not tell how",
        "dim is required")


def test_no_config_is_read_wrongly(server):
    rows = list(sweep.sweep(server))
    counts = collections.Counter((form, verdict) for _, form, verdict, _ in rows)
    print(*(f"{form} {verdict}: {count}" for (form, verdict), count in sorted(counts.items())),
          sep="\n")
    for name, form, verdict, words in rows:
        assert verdict not in (sweep.WRONG, sweep.UNTOLD), (name, form, words)
        if verdict == sweep.REFUSED and form != "bare":
            assert REASONS.get(name, "-") in words, (name, form, words)
        elif verdict == sweep.REFUSED:
            assert any(reason in words for reason in BARE), (name, words)
    assert counts["whole", sweep.RIGHT] >= 300 and counts["raw", sweep.RIGHT] >= 300
    assert counts["bare", sweep.RIGHT] >= 165


# Of a grid of 32 by 32, row after row: x fastest.
X, Y = numpy.tile(numpy.arange(32), 32), numpy.repeat(numpy.arange(32), 32)


def pixtral(config, q):
    rotary = modeling_pixtral.PixtralVisionRotaryEmbedding(config)
    cos, sin = rotary(torch.zeros(1), torch.tensor(numpy.stack([Y, X], 1)))
    return modeling_pixtral.apply_rotary_pos_emb(q, q, cos, sin, unsqueeze_dim=0)[0]


def llama4(config, q):
    turns = modeling_llama4.Llama4VisionRotaryEmbedding(config)(torch.zeros(1))[:-1]
    turned, _ = modeling_llama4.vision_apply_rotary_emb(q.transpose(1, 2), q.transpose(1, 2), turns)
    return turned.transpose(1, 2)


@pytest.mark.parametrize("model_type, code", [("pixtral", pixtral),
                                              ("llama4_vision_model", llama4)])
def test_towers_of_pictures(server, model_type, code):
    config = CONFIG_MAPPING[model_type]()
    for form in sweep.forms(config).values():
        answer = post_json(server, "/v1/config", {"config": form}).good().json
        encoding = answer["encoding"]
        assert (encoding["name"], answer["warnings"]) == ("rope-2d", [])
        q = torch.eye(encoding["dim"])[None, :, None].expand(1, -1, 1024, -1).clone()
        ours = sweep.rotated(server, encoding, encoding["layout"], numpy.stack([X, Y]))
        theirs = code(config, q)[0].permute(1, 2, 0).numpy()
        assert numpy.abs(ours - theirs).max() < 2e-5
