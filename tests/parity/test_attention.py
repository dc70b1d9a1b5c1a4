# SPDX-License-Identifier: MIT
"""Attention against models of transformers and functions of torch."""
import json

import numpy
import pytest
import torch
from torch.nn.attention import flex_attention as flex

import attention_models as models
from service import post_tensors
from test_attention_models import LAYERS, attended, ulps

DRAW = numpy.random.default_rng(8)
# In float32 both sides round 40 products of each sum, in orders of their own.
EXACT, ROUNDED = 1e-5, 12


@pytest.mark.parametrize("name", models.MODELS)
def test_models(server, name):
    """In both types, and the file for the tests without torch has what the models give."""
    for layer in models.layers(name):
        written = json.loads(json.dumps(models.written(layer)))
        for dtype, most in (("f64", 4), ("f32", 8)):
            assert ulps(attended(server, written, dtype), layer.output) <= most
        kept = LAYERS[layer.name]
        assert {key: kept[key] for key in ("config", "parameters")} == \
            {key: written[key] for key in ("config", "parameters")}
        assert ulps(attended(server, kept, "f64"), layer.output) <= 4


def drawn(queries=40, keys=40, heads=4, key_heads=2, dim=16):
    return {name: DRAW.standard_normal((2, count, length, dim)) / 2
            for name, count, length in (("q", heads, queries), ("k", key_heads, keys),
                                        ("v", key_heads, keys))}


def asked(server, tensors, output="output", **parameters):
    return post_tensors(server, "/v1/attention", tensors, outputs=output,
                        **{"encoding": "none"} | parameters)[output]


def torches(tensors, dtype):
    return [torch.from_numpy(tensors[name].astype(dtype)) for name in "qkv"]


MASKS = {
    "none": (None, {}), "causal": (None, {"causal": True}), "scale": (None, {"scale": 0.3}),
    "bool": (DRAW.random((2, 1, 40, 40)) < 0.6, {}),
    "bool of keys": (DRAW.random((2, 1, 1, 40)) < 0.6, {}),
    "numbers": (DRAW.standard_normal((4, 40, 40)), {}),
    "a row hidden": (numpy.arange(40)[:, None] != 7, {}),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype, most", [("float64", EXACT), ("float32", ROUNDED)])
def test_scaled_dot_product_attention(server, name, dtype, most):
    mask, given = MASKS[name]
    tensors = {key: x.astype(dtype) for key, x in drawn().items()}
    extra = {} if mask is None else {"mask": mask if mask.dtype == bool else mask.astype(dtype)}
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        expected = torch.nn.functional.scaled_dot_product_attention(
            *torches(tensors, dtype), enable_gqa=True, is_causal=given.get("causal", False),
            scale=given.get("scale"), attn_mask=torch.from_numpy(extra["mask"]) if extra else None)
    assert ulps(asked(server, tensors | extra, **given), expected.numpy()) <= most


FLEX = {
    "window": (lambda b, h, i, j: (i - j < 6) & (j <= i), None, {"window": 6, "causal": True}),
    "chunk": (lambda b, h, i, j: (i // 9 == j // 9) & (j <= i), None,
              {"chunk": 9, "causal": True}),
    "packed": (lambda b, h, i, j: (i < 13) == (j < 13), None, {"cu_seqlens": "0,13,40"}),
    "softcap": (None, lambda s, b, h, i, j: 2 * torch.tanh(s / 2), {"softcap": 2}),
    "alibi": (None, lambda s, b, h, i, j: s - 4.0 ** -(h + 1) * (i - j).abs(),
              {"encoding": "alibi"}),
}


@pytest.mark.parametrize("name", FLEX)
@pytest.mark.parametrize("dtype, most", [("float64", EXACT), ("float32", ROUNDED)])
def test_flex_attention(server, name, dtype, most):
    """Packed sequences are in a batch of one."""
    mask, score, given = FLEX[name]
    batch = 1 if "cu_seqlens" in given else 2
    tensors = {key: x[:batch].astype(dtype) for key, x in drawn().items()}
    block = mask and flex.create_block_mask(mask, batch, 4, 40, 40, device="cpu")
    expected = flex.flex_attention(*torches(tensors, dtype), score_mod=score, block_mask=block,
                                   enable_gqa=True)
    assert ulps(asked(server, tensors, **given), expected.numpy()) <= most
