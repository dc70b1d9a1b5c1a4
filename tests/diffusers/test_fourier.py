# SPDX-License-Identifier: MIT
"""Fourier features beside the libraries' own code. That code has float32 by name or by default;
here both are float64, so that what remains is the formula."""

import numpy
import pytest
import torch
from diffusers.models.embeddings import (
    GaussianFourierProjection,
    get_fourier_embeds_from_boundingbox,
)
from diffusers.models.transformers.stable_audio_transformer import (
    StableAudioGaussianFourierProjection,
)
from transformers import Sam2VideoConfig, SamConfig
from transformers.models.perceiver.modeling_perceiver import PerceiverFourierPositionEncoding
from transformers.models.sam.modeling_sam import SamPositionalEmbedding
from transformers.models.sam2.modeling_sam2 import Sam2PositionalEmbedding

from service import post_json


@pytest.fixture(autouse=True)
def in_float64(monkeypatch):
    default = torch.get_default_dtype()
    monkeypatch.setattr(torch, "float32", torch.float64)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(7)
    yield
    torch.set_default_dtype(default)


def ours(server, *, coordinates=None, shape=None, **encoding):
    points = {"shape": shape} if coordinates is None else {"coordinates": coordinates}
    answer = post_json(
        server, "/v1/encodings/fourier/table",
        {"encoding": {"name": "fourier", **encoding}, "dtype": "f64", **points},
    )  # fmt: skip
    assert answer.status == 200, answer.body
    return numpy.array(answer.json["tensors"]["table"]["data"])


def expect_equal(mine, theirs, angle):
    """Their angle, at most `angle`, has some ten roundings to float64."""
    theirs = theirs.detach().numpy()
    assert mine.shape == theirs.shape
    assert numpy.abs(mine - theirs).max() <= 2**-49 * angle


# ---- Perceiver ---------------------------------------------------------------------------------


@pytest.mark.parametrize("concat_pos", [True, False])
@pytest.mark.parametrize("grid, resolution, bands", [
    ([7, 5], (224, 224), 64), ([4, 4], (56, 20), 6), ([50], (50,), 1),
    ([2, 3, 4], (16, 224, 224), 3),
])  # fmt: skip
def test_perceiver(server, grid, resolution, bands, concat_pos):
    module = PerceiverFourierPositionEncoding(bands, resolution, concat_pos)
    theirs = module(grid, 1, torch.device("cpu"), torch.float64).flatten(0, -2)
    mine = ours(
        server, bands=bands, max_resolution=resolution, axes_coordinates="ends", axes_size=grid,
        include_input="first" if concat_pos else "none", shape=grid,
    )  # fmt: skip
    assert mine.shape[1] == module.output_size()
    expect_equal(mine, theirs, 4 * max(resolution))


# ---- Segment Anything --------------------------------------------------------------------------


def sam_modules():
    sam = SamConfig().vision_config
    sam2 = Sam2VideoConfig().prompt_encoder_config
    return [SamPositionalEmbedding(sam), Sam2PositionalEmbedding(sam2)]


@pytest.mark.parametrize("which", [0, 1])
def test_sam_points(server, which):
    """Their points are (x, y), half a pixel added."""
    module = sam_modules()[which]
    points = torch.rand(1, 1, 9, 2) * 1000
    theirs = module(points + 0.5, (768, 1024))[0, 0]
    mine = ours(
        server, matrix=module.positional_embedding.tolist(), axes_coordinates="centres",
        axes_size=[1024, 768], coordinates=points[0, 0].tolist(),
    )  # fmt: skip
    expect_equal(mine, theirs, 2**14)


def test_sam_image(server):
    """get_image_wide_positional_embeddings: a grid of rows and columns; the matrix has y first."""
    module = sam_modules()[0]
    rows, columns = 5, 7
    y, x = torch.meshgrid(
        (torch.arange(rows) + 0.5) / rows, (torch.arange(columns) + 0.5) / columns, indexing="ij"
    )
    theirs = module(torch.stack([x, y], dim=-1)).flatten(0, 1)
    mine = ours(
        server, matrix=module.positional_embedding.flip(0).tolist(), axes_coordinates="centres",
        axes_size=[rows, columns], shape=[rows, columns],
    )  # fmt: skip
    expect_equal(mine, theirs, 2**14)


# ---- diffusion ---------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("log", [True, False])
def test_gaussian_projection(server, log, flip):
    module = GaussianFourierProjection(32, scale=16, log=log, flip_sin_to_cos=flip)
    levels = torch.tensor([0.01, 0.5, 1.0, 1.0001, 50.0, 1378.0])
    mine = ours(
        server, matrix=[module.weight.tolist()], flip_sin_to_cos=flip, coordinates=levels.tolist(),
        axes_coordinates="logarithm" if log else "index",
    )  # fmt: skip
    expect_equal(mine, module(levels), 2**9 * (1 if log else 200))


def test_gaussian_projection_scale(server):
    """The weights without the scale, which is a parameter."""
    module = GaussianFourierProjection(8, scale=1, log=False)
    mine = ours(server, matrix=[module.weight.tolist()], scale=30, coordinates=[0.1, 0.7])
    module.weight.data *= 30
    expect_equal(mine, module(torch.tensor([0.1, 0.7])), 2**9)


def test_stable_audio(server):
    module = StableAudioGaussianFourierProjection(16, log=False, flip_sin_to_cos=True)
    times = torch.tensor([0.0, 0.25, 0.9])
    mine = ours(
        server, matrix=[module.weight.tolist()], flip_sin_to_cos=True, coordinates=times.tolist()
    )
    expect_equal(mine, module(times), 64)


def test_boxes_of_gligen(server):
    boxes = torch.rand(1, 5, 4)
    theirs = get_fourier_embeds_from_boundingbox(8, boxes)[0]
    mine = ours(
        server, ndim=4, frequencies=[100 ** (k / 8) for k in range(8)], unit="radian",
        order="alternating", layout="grouped", coordinates=boxes[0].tolist(),
    )  # fmt: skip
    expect_equal(mine, theirs, 400)


# ---- NeRF --------------------------------------------------------------------------------------


def nerf(x, octaves, unit):
    """bmild/nerf, run_nerf_helpers.py, class Embedder, whose frequencies have no factor pi."""
    parts = [x]
    for frequency in 2.0 ** torch.linspace(0, octaves - 1, octaves):
        for function in (torch.sin, torch.cos):
            parts.append(function(x * frequency * unit))
    return torch.cat(parts, -1)


@pytest.mark.parametrize("unit, factor", [("radian", 1), ("half-turn", numpy.pi)])
def test_nerf(server, unit, factor):
    points = torch.rand(20, 3) * 2 - 1
    mine = ours(
        server, ndim=3, bands=10, unit=unit, order="alternating", layout="grouped",
        include_input="first", coordinates=points.tolist(),
    )  # fmt: skip
    expect_equal(mine, nerf(points, 10, factor), 2000)


def harmonic(x, octaves, omega, turned):
    """PyTorch3D's HarmonicEmbedding, and nerfstudio's NeRFEncoding with omega 2 pi."""
    angles = (x[..., None] * omega * 2.0 ** torch.arange(octaves)).flatten(-2)
    cosines = torch.sin(angles + numpy.pi / 2) if turned else torch.cos(angles)
    return torch.cat([torch.sin(angles), cosines, x], -1)


@pytest.mark.parametrize("unit, omega, scale", [("radian", 0.3, 0.3), ("turn", 2 * numpy.pi, 1)])
def test_harmonic(server, unit, omega, scale):
    points = torch.rand(20, 3) * 2 - 1
    mine = ours(
        server, ndim=3, bands=6, unit=unit, scale=scale, include_input="last",
        coordinates=points.tolist(),
    )  # fmt: skip
    expect_equal(mine, harmonic(points, 6, omega, unit == "turn"), 400)


def test_gaussian_features_of_tancik(server):
    matrix = torch.randn(16, 2) * 10
    points = torch.rand(12, 2)
    angles = 2 * numpy.pi * points @ matrix.T
    mine = ours(server, matrix=matrix.T.tolist(), coordinates=points.tolist())
    expect_equal(mine, torch.cat([torch.sin(angles), torch.cos(angles)], -1), 2**9)
