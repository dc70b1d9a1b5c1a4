# SPDX-License-Identifier: MIT
"""Rotations of torch's libraries and of jax, probed; prints {name: verdict}."""

import json

import jax.numpy as jnp
import litgpt.model
import posenc
import torch
import x_transformers.x_transformers
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from torchtune.modules import RotaryPositionalEmbeddings

DIM, CONTEXT = 64, 4096
found = {}


def probe(name, fn, layout, axes="bhsd", **given):
    given = {"dim": DIM, "layout": layout, "axes": axes} | given
    found[name] = posenc.probe(fn, "rope", **given).verdict


lucidrains = RotaryEmbedding(dim=DIM)
probe("rotary-embedding-torch", lambda x, p: apply_rotary_emb(lucidrains(p), x), "interleaved")
# It numbers positions itself, so that they are those of a prompt.
probe(
    "rotary-embedding-torch, a prompt",
    lambda x, p: lucidrains.rotate_queries_or_keys(x),
    "interleaved",
    positions=range(200),
    like=torch.zeros(1),
)
part = RotaryEmbedding(dim=DIM // 2)
probe(
    "rotary-embedding-torch, a part",
    lambda x, p: part.rotate_queries_or_keys(x),
    "interleaved",
    rotary_dim=DIM // 2,
    positions=range(200),
    like=torch.zeros(1),
)
linear = RotaryEmbedding(dim=DIM, interpolate_factor=4.0)
probe(
    "rotary-embedding-torch, interpolated",
    lambda x, p: linear.rotate_queries_or_keys(x),
    "interleaved",
    rope_type="linear",
    factor=4,
    positions=range(200),
    like=torch.zeros(1),
)
probe("rotary-embedding-torch as halves", lambda x, p: apply_rotary_emb(lucidrains(p), x), "half")

lucid = x_transformers.x_transformers.RotaryEmbedding(DIM)


def x_rotated(x, positions):
    return x_transformers.x_transformers.apply_rotary_pos_emb(x, *lucid(positions))


probe("x-transformers", x_rotated, "interleaved")
probe("x-transformers as halves", x_rotated, "half")

tune = RotaryPositionalEmbeddings(dim=DIM, max_seq_len=CONTEXT)
probe("torchtune", lambda x, p: tune(x, input_pos=p), "interleaved", "bshd")
probe("torchtune, another base", lambda x, p: tune(x, input_pos=p), "interleaved", "bshd", base=5e5)

cos, sin = litgpt.model.build_rope_cache(CONTEXT, DIM)
probe("litgpt", lambda x, p: litgpt.model.apply_rope(x, cos[p][None], sin[p][None]), "half")
llama3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
cos3, sin3 = litgpt.model.build_rope_cache(
    CONTEXT, DIM, base=500000, extra_config=llama3 | {"original_max_seq_len": 8192}
)
probe(
    "litgpt, llama3",
    lambda x, p: litgpt.model.apply_rope(x, cos3[p][None], sin3[p][None]),
    "half",
    base=500000,
    rope_type="llama3",
    original_max_position_embeddings=8192,
    positions=[*range(16), 32, 64, 128, 256, 512, 1024, 2048, CONTEXT - 1],
    **llama3,
)


def bf16(x, p):
    return lucidrains_half(x.float(), p).bfloat16()


def lucidrains_half(x, p):
    angles = p[:, None].float() * 10000.0 ** (-torch.arange(DIM // 2) / (DIM // 2))
    a, b = x.chunk(2, -1)
    c, s = angles.cos(), angles.sin()
    return torch.cat([a * c - b * s, b * c + a * s], -1)


def positions_in_bf16(x, p):
    return lucidrains_half(x, p.bfloat16())


probe("torch in bfloat16", bf16, "half", like=torch.zeros(1, dtype=torch.bfloat16))
probe("torch with positions in bfloat16", positions_in_bf16, "half")


def in_jax(x, p):
    angles = p[:, None] * 10000.0 ** (-jnp.arange(DIM // 2) / (DIM // 2))
    a, b = jnp.split(x, 2, -1)
    c, s = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


probe("jax", in_jax, "half", like=jnp.zeros(1))
print(json.dumps(found))
