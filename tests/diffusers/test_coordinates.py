# SPDX-License-Identifier: MIT
"""Rotations of vision and video models whose coordinates are made of a grid: the series, unit,
axes_coordinates and order of rope-nd beside the libraries' own code. That code asks for float32 by
name; here the name is float64, so that what remains is the formula."""

import functools

import numpy
import pytest
import torch
from diffusers.models.transformers.transformer_cosmos import CosmosRotaryPosEmbed
from diffusers.models.transformers.transformer_ltx import LTXVideoRotaryPosEmbed
from diffusers.models.transformers.transformer_ltx2 import LTX2AudioVideoRotaryPosEmbed
from timm.layers import pos_embed_sincos
from transformers.models.dinov3_vit.modeling_dinov3_vit import (
    DINOv3ViTConfig,
    DINOv3ViTRopePositionEmbedding,
)

from service import post_json, table

GRIDS = [(3, 4), (14, 14), (2, 9)]


@pytest.fixture(autouse=True)
def in_float64(monkeypatch):
    monkeypatch.setattr(torch, "float32", torch.float64)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    grid = functools.partial(pos_embed_sincos._build_grid, dtype=torch.float64)
    monkeypatch.setattr(pos_embed_sincos, "_build_grid", grid)


def ours(server, **parameters):
    """Cosines beside sines, [2, points, pairs]."""
    return table(server, "rope-nd", dtype="f64", **parameters)


def expect_equal(mine, cos, sin, angle=64):
    """Their angle, at most `angle`, has some ten roundings to float64."""
    theirs = numpy.stack([cos.numpy(), sin.numpy()])
    assert mine.shape == theirs.shape
    assert numpy.abs(mine - theirs).max() <= 2**-49 * angle


def listed(numbers):
    return ",".join(repr(float(number)) for number in numbers)


def pairs_of(tensor, interleaved):
    """One of the two elements of each pair."""
    return tensor[..., ::2] if interleaved else tensor[..., : tensor.shape[-1] // 2]


# ---- DINOv3 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("theta", [100.0, 10000.0])
def test_dinov3(server, grid, theta):
    config = DINOv3ViTConfig(rope_theta=theta, hidden_size=128, num_attention_heads=2, patch_size=2)
    module = DINOv3ViTRopePositionEmbedding(config).double().eval()
    module.inv_freq = 1 / theta ** torch.arange(0, 1, 4 / 64, dtype=torch.float64)
    cos, sin = module(torch.zeros(1, 3, 2 * grid[0], 2 * grid[1], dtype=torch.float64))
    mine = ours(
        server, axes_dim="32,32", base=theta, unit="turn", axes_coordinates="centres",
        axes_size=listed(grid), shape=listed(grid),
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos, False), pairs_of(sin, False))


@pytest.mark.parametrize("normalize", ["separate", "min", "max"])
@pytest.mark.parametrize("grid", GRIDS)
def test_dinov3_of_timm(server, grid, normalize):
    module = pos_embed_sincos.RotaryEmbeddingDinoV3(64, normalize_coords=normalize).double()
    module.periods = module._compute_periods(dtype=torch.float64)
    sin, cos = module.get_embed(grid).chunk(2, -1)
    of = {"separate": grid, "min": [min(grid)] * 2, "max": [max(grid)] * 2}[normalize]
    mine = ours(
        server, axes_dim="32,32", base=100, unit="turn", axes_coordinates="centres",
        axes_size=listed(of), shape=listed(grid),
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos, False), pairs_of(sin, False))


@pytest.mark.parametrize("periods", [(0.5, 90.0), (3.0, 4.0), (1e-3, 1e6)])
@pytest.mark.parametrize("dim", [64, 4])
def test_dinov3_of_periods(server, periods, dim):
    """timm's, and Meta's (base^linspace / base * max_period), whose base is the quotient of both.
    Of one pair the period is min_period."""
    module = pos_embed_sincos.RotaryEmbeddingDinoV3(
        dim, temperature=None, min_period=periods[0], max_period=periods[1]
    ).double()
    module.periods = module._compute_periods(dtype=torch.float64)
    if dim > 4:
        base = periods[1] / periods[0]
        meta = base ** torch.linspace(0, 1, dim // 4, dtype=torch.float64) / base * periods[1]
        assert torch.allclose(meta, module.periods, rtol=1e-14)
    sin, cos = module.get_embed((14, 9)).chunk(2, -1)
    mine = ours(
        server, axes_dim=listed([dim // 2] * 2), min_period=periods[0], max_period=periods[1],
        unit="turn", axes_coordinates="centres", axes_size="14,9", shape="14,9",
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos, False), pairs_of(sin, False), 64 * max(1, 1 / periods[0]))


# ---- timm --------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("grid", GRIDS)
def test_pixel_frequencies(server, grid, linear):
    sin, cos = pos_embed_sincos.build_rotary_pos_embed(
        grid, dim=64, max_res=224, linear_bands=linear, in_pixels=True, dtype=torch.float64
    )
    mine = ours(
        server, axes_dim="32,32", base=112, series="linear" if linear else "rising",
        unit="half-turn", axes_coordinates="ends", axes_size=listed(grid), shape=listed(grid),
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos, True), pairs_of(sin, True), 112 * 3.15)


@pytest.mark.parametrize("offset", [0, 1, 0.5])
@pytest.mark.parametrize("grid", GRIDS)
def test_eva02(server, grid, offset):
    sin, cos = pos_embed_sincos.build_rotary_pos_embed(
        grid, dim=64, temperature=10000.0, in_pixels=False, ref_feat_shape=[16, 16],
        grid_offset=offset, dtype=torch.float64,
    )  # fmt: skip
    mine = ours(
        server, axes_dim="32,32", base=10000, axes_coordinates="ratio", axes_reference="16,16",
        axes_size=listed(grid), shape=listed(grid), origin=listed([offset] * 2),
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos, True), pairs_of(sin, True))


# ---- video -------------------------------------------------------------------------------------

LTX = {
    "series": "rising",
    "unit": "quarter-turn",
    "order": "alternating",
    "axes_coordinates": "fractions",
    "base": 10000,
}


@pytest.mark.parametrize("dim", [2048, 120, 64])
def test_ltx(server, dim):
    """Their powers of theta have exponents through logarithms: some more roundings of ln(theta)."""
    module = LTXVideoRotaryPosEmbed(dim)
    sizes, scale = (3, 2, 4), (8 / 25, 32, 32)
    cos, sin = module(torch.zeros(1, 1, dtype=torch.float64), *sizes, scale)
    mine = ours(
        server, **LTX, dim=dim, axes_dim=listed([dim // 6 * 2] * 3), axes_size="20,2048,2048",
        shape=listed(sizes), steps=listed(scale),
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos[0], True), pairs_of(sin[0], True), 1.6e4 * 10)


@pytest.mark.parametrize("dim", [4096, 120, 64])
@pytest.mark.parametrize("rope_type", ["interleaved", "split"])
def test_ltx2_video(server, dim, rope_type):
    module = LTX2AudioVideoRotaryPosEmbed(dim, rope_type=rope_type, num_attention_heads=2)
    cells = module.prepare_video_coords(1, 3, 2, 4, "cpu", fps=25.0)
    cos, sin = module(cells)
    places = cells[0].mean(-1)
    mine = ours(
        server, **LTX, dim=dim, axes_dim=listed([dim // 6 * 2] * 3), axes_size="20,2048,2048",
        positions=";".join(listed(axis) for axis in places),
    )  # fmt: skip
    if rope_type == "split":
        cos, sin = (part.swapaxes(1, 2).flatten(2).repeat_interleave(2, -1) for part in (cos, sin))
    expect_equal(mine, pairs_of(cos[0], True), pairs_of(sin[0], True), 1.6e4)


def test_ltx2_audio(server):
    module = LTX2AudioVideoRotaryPosEmbed(130, modality="audio", scale_factors=(4,))
    cells = module.prepare_audio_coords(1, 50, "cpu")
    cos, sin = module(cells)
    mine = ours(
        server, **LTX, dim=130, axes_dim="130", axes_size="20",
        positions=listed(cells[0, 0].mean(-1)),
    )  # fmt: skip
    expect_equal(mine, pairs_of(cos[0], True), pairs_of(sin[0], True), 1.6e4 * 4)


@pytest.mark.parametrize("fps", [None, 16, 30])
def test_cosmos(server, fps):
    module = CosmosRotaryPosEmbed(128, patch_size=(1, 1, 1), rope_scale=(2.0, 1.0, 3.0))
    sizes = (4, 3, 2)
    cos, sin = module(torch.zeros(1, 1, *sizes, dtype=torch.float64), fps)
    time = {} if fps is None else {
        "axes_coordinates": "ratio", "axes_reference": "24,1,1", "axes_size": f"{fps},1,1"
    }  # fmt: skip
    mine = ours(server, axes_dim="44,42,42", axes_factor="2,1,3", shape=listed(sizes), **time)
    expect_equal(mine, pairs_of(cos, False), pairs_of(sin, False))
    if fps is not None:
        config = {"_class_name": "CosmosTransformer3DModel", "rope_scale": [2.0, 1.0, 3.0]}
        read = post_json(server, "/v1/config", {"config": config, "axes_size": [fps, 1, 1]})
        encoding = read.good().json["encoding"]
        assert encoding["axes_dim"] == [44, 42, 42] and encoding["axes_factor"] == [2, 1, 3]
        assert encoding["axes_coordinates"] == "ratio"
        assert encoding["axes_reference"] == [24, 1, 1] and encoding["axes_size"] == [fps, 1, 1]
