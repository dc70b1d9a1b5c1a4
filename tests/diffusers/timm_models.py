# SPDX-License-Identifier: MIT
"""Architectures of timm as they are made from a config: what their first attention rotates,
measured in float64. A model is made with one layer and without memory; its rope and its first
attention get their numbers then."""

import functools
import json
import pathlib
import re
import tempfile
import unittest.mock

import timm
import torch
from timm.layers import pos_embed_sincos

# Modules of timm with classes that rotate.
MODULES = ("deepseek_vit", "eva", "gemma4_vit", "naflexvit", "qwen3_vit", "vision_transformer_sam")
ROOT = pathlib.Path(__file__).resolve().parents[2]
GRID = (3, 5)  # of images, where a model takes images of any size


def architectures():
    return [name for module in MODULES for name in timm.list_models(module=module)]


class InFloat64:
    """float32 by name and by default is float64 there."""

    def __enter__(self):
        grid = functools.partial(pos_embed_sincos._build_grid, dtype=torch.float64)
        self.patches = [
            unittest.mock.patch.object(torch, "float32", torch.float64),
            unittest.mock.patch.object(pos_embed_sincos, "_build_grid", grid),
        ]
        torch.set_default_dtype(torch.float64)
        for patch in self.patches:
            patch.start()

    def __exit__(self, *failure):
        for patch in self.patches:
            patch.stop()
        torch.set_default_dtype(torch.float32)


def make(config):
    """The model of a file with one layer, unless its layers have heads one by one."""
    few = {} if "sapiens2" in config["architecture"] else {"depth": 1}
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(config))
        return timm.create_model(f"local-dir:{folder}", **few, device="meta").eval()


def trunk(model):
    return getattr(model, "encoder", model)


def renewed_rope(rope):
    rope.to_empty(device="cpu")
    rope.init_non_persistent_buffers()
    if isinstance(rope, pos_embed_sincos.RotaryEmbeddingDinoV3):
        rope.periods = rope._compute_periods(dtype=torch.float64)
        if rope.feat_shape is not None:
            rope._cache_embed(rope.feat_shape)
    return rope


def embedding(model, grid):
    """([points, 2 width], the grid) as the forward of the model has it."""
    rope = renewed_rope(model.rope)
    if getattr(rope, "feat_shape", None) is not None:
        return rope.get_embed(), tuple(rope.feat_shape)
    if not getattr(model, "dynamic_img_size", True):
        grid = model.patch_embed.grid_size
    return rope.get_embed(shape=grid), tuple(grid)


class Captured(Exception):
    pass


def captured(attention, states, rope):
    """The queries at their product with keys, [tokens, heads, width]."""

    def take(query, *others, **named):
        raise Captured(query)

    with unittest.mock.patch("torch.nn.functional.scaled_dot_product_attention", take):
        try:
            with torch.no_grad():
                attention(states, rope=rope)
        except Captured as captured:
            return captured.args[0][0].transpose(0, 1)
    raise AssertionError("no attention")


def queries(config, grid=GRID):
    """(as they are, rotated, the grid, tokens before the patches); None: nothing rotates."""
    with InFloat64():
        model = trunk(make(config))
        if model.rope is None:
            return None
        rope, grid = embedding(model, grid)
        attention = model.blocks[0].attn
        width = (
            attention.qkv.in_features if attention.qkv is not None else attention.q_proj.in_features
        )
        attention.to_empty(device="cpu")
        random = torch.Generator().manual_seed(1)
        for parameter in attention.parameters():
            torch.nn.init.normal_(parameter, std=width**-0.5, generator=random)
        before = attention.num_prefix_tokens
        states = torch.randn(1, before + grid[0] * grid[1], width, generator=random)
        if rope.ndim == 4:  # of each layer, for the heads of each
            rope = rope[0]
        sin, cos = rope.chunk(2, -1)
        still = torch.cat([torch.zeros_like(sin), torch.ones_like(cos)], -1)
        both = [captured(attention, states, one) for one in (still, rope)]
    return *both, grid, before


def places(answer, grid):
    """The coordinates of the patches of a grid, as the warnings of an answer describe them."""
    words = " ".join(answer["warnings"])
    rows, columns = torch.meshgrid(*[torch.arange(n).double() for n in grid], indexing="ij")
    rows, columns = rows.reshape(-1), columns.reshape(-1)
    origin = re.search(r"origin=([-\d.e+]+),", words)
    offset = float(origin[1]) if origin else 0
    if "0, row and column" in words:
        return torch.stack([torch.zeros_like(rows), rows, columns])
    if "column and row" in words:
        rows, columns = columns, rows
    return torch.stack([rows, columns]) + offset
