# SPDX-License-Identifier: MIT
"""The rotation of Qwen2.5-Omni's DiT in transformers, probed; prints {name: verdict}. Before its
pull request 47403, cos and sin were in halves and the pairs were neighbours."""

import json

import posenc
from transformers.models.qwen2_5_omni import modeling_qwen2_5_omni as omni
from transformers.models.qwen2_5_omni.configuration_qwen2_5_omni import Qwen2_5OmniDiTConfig

config = Qwen2_5OmniDiTConfig()
rotary = omni.Qwen2_5OmniDiTRotaryEmbedding(config)


def rotated(x, positions):
    cos, sin = rotary(x, positions[None].expand(len(x), -1))
    x = getattr(omni, "deinterleave_head_dim", lambda x: x)(x)
    return omni.apply_rotary_pos_emb(x, x, cos, sin)[0]


found = posenc.probe(
    rotated, "rope", dim=config.head_dim, layout="interleaved", axes="bhsd", positions=range(64)
)
print(json.dumps({"the DiT of Qwen2.5-Omni": found.verdict}))
