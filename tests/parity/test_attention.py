# SPDX-License-Identifier: MIT
"""Attention against models of transformers and functions of torch."""

import json

import attention_models as models
import numpy
import pytest
import torch
from test_attention_models import LAYERS, attended, ulps
from torch.nn.attention import flex_attention as flex

from service import post_tensors

DRAW = numpy.random.default_rng(8)
# Units of float32 in the last place of a row's largest: float64; float32 beside torch's float64;
# and beside its float32, which is off from that by 3 to 7 itself.
EXACT, ROUNDED, BOTH = 1e-5, 4, 8


@pytest.mark.parametrize("name", models.MODELS)
def test_models(server, name):
    """In both types, and the file for the tests without torch has what the models give. Norms and
    softmax of most models are float32 in float64 too."""
    for layer, single in zip(models.layers(name), models.layers(name, torch.float32)):
        written = json.loads(json.dumps(models.written(layer)))
        ours = attended(server, written, "f32")
        assert ulps(attended(server, written, "f64"), layer.output) <= 4
        assert ulps(ours, layer.output) <= 4
        assert ulps(ours, single.output) <= 4
        kept = LAYERS[layer.name]
        assert {key: kept[key] for key in ("config", "parameters")} == {
            key: written[key] for key in ("config", "parameters")
        }
        assert ulps(attended(server, kept, "f64"), layer.output) <= 4


def drawn(queries=40, keys=40, heads=4, key_heads=2, dim=16):
    """Numbers that float32 holds, so that float64 computes from the same."""
    draw = numpy.random.default_rng(8)
    return {
        name: (draw.standard_normal((2, count, length, dim)) / 2).astype("float32")
        for name, count, length in (
            ("q", heads, queries),
            ("k", key_heads, keys),
            ("v", key_heads, keys),
        )
    }


def asked(server, tensors, output="output", **parameters):
    return post_tensors(
        server, "/v1/attention", tensors, outputs=output, **{"encoding": "none"} | parameters
    )[output]


def torches(tensors):
    return [torch.from_numpy(tensors[name]) for name in "qkv"]


MASKS = {
    "none": (None, {}),
    "causal": (None, {"causal": True}),
    "scale": (None, {"scale": 0.3}),
    "bool": (DRAW.random((2, 1, 40, 40)) < 0.6, {}),
    "bool of keys": (DRAW.random((2, 1, 1, 40)) < 0.6, {}),
    "numbers": (DRAW.standard_normal((4, 40, 40)).astype("float32"), {}),
    "a row hidden": (numpy.arange(40)[:, None] != 7, {}),
}


def judged(server, tensors, given, function):
    """Attention against a function of tensors, in float64 and in float32."""
    double = {key: x if x.dtype == bool else x.astype("float64") for key, x in tensors.items()}
    truth = function(double)
    assert ulps(asked(server, double, **given), truth) <= EXACT
    ours = asked(server, tensors, **given)
    assert ulps(ours, truth) <= ROUNDED
    assert ulps(ours, function(tensors)) <= BOTH


@pytest.mark.parametrize("name", MASKS)
def test_scaled_dot_product_attention(server, name):
    mask, given = MASKS[name]

    def function(tensors):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(
                *torches(tensors),
                enable_gqa=True,
                is_causal=given.get("causal", False),
                scale=given.get("scale"),
                attn_mask=torch.from_numpy(tensors["mask"]) if "mask" in tensors else None,
            ).numpy()

    judged(server, drawn() | ({} if mask is None else {"mask": mask}), given, function)


FLEX = {
    "window": (lambda b, h, i, j: (i - j < 6) & (j <= i), None, {"window": 6, "causal": True}),
    "chunk": (lambda b, h, i, j: (i // 9 == j // 9) & (j <= i), None, {"chunk": 9, "causal": True}),
    "packed": (lambda b, h, i, j: (i < 13) == (j < 13), None, {"cu_seqlens": "0,13,40"}),
    "softcap": (None, lambda s, b, h, i, j: 2 * torch.tanh(s / 2), {"softcap": 2}),
    "alibi": (
        None,
        lambda s, b, h, i, j: s - 4.0 ** -(h + 1) * (i - j).abs(),
        {"encoding": "alibi"},
    ),
}


@pytest.mark.parametrize("name", FLEX)
def test_flex_attention(server, name):
    """Packed sequences are in a batch of one."""
    mask, score, given = FLEX[name]
    batch = 1 if "cu_seqlens" in given else 2

    def function(tensors):
        block = mask and flex.create_block_mask(mask, batch, 4, 40, 40, device="cpu")
        return flex.flex_attention(
            *torches(tensors), score_mod=score, block_mask=block, enable_gqa=True
        ).numpy()

    judged(server, {key: x[:batch] for key, x in drawn().items()}, given, function)
