# SPDX-License-Identifier: MIT
"""Learned tables resampled to other grids, beside torch.nn.functional.interpolate and the modules
of transformers and timm that call it or have the same weights."""

import itertools

import numpy
import pytest
import timm.layers
import torch
import transformers
from transformers import vision_utils

from service import post_tensors

WIDTH = 8
GRIDS = [(16, 16), (7, 5), (9, 24)]
TARGETS = [(24, 32), (3, 2), (1, 1), (16, 9), (37, 37), (7, 24)]


def table_of(prefix, grid, seed=0):
    rng = numpy.random.default_rng(seed)
    return rng.standard_normal((prefix + grid[0] * grid[1], WIDTH))


def ours(server, table, prefix, grid, to, positions=None, **way):
    """Rows of the new grid, in order or at positions."""
    query = {"grid": ",".join(map(str, grid)), "to": ",".join(map(str, to)), "prefix": prefix}
    query |= {name: str(value).lower() for name, value in way.items()}
    if positions is None:
        query |= {"length": prefix + to[0] * to[1]}
    else:
        query |= {"positions": ",".join(map(str, positions))}
    query |= {"table": "tensor:e", "dtype": "f64", "format": "safetensors"}
    return post_tensors(server, "/v1/encodings/learned/table", {"e": table}, **query)["table"]


def bound(table, grid, unit):
    """What roundings move a result of torch by, in units of the last place of a number below 1.

    A point of an axis of m cells is off by 4 (m + 1), and f, whose slope is at most 1.35, by as
    much in each of 4 cells, twice where the weights are divided by their sum; 80 for evaluating
    it. The weights of the other axis sum to at most 1.5. Twice 80 for the sums of products."""
    return unit * numpy.abs(table).max() * (70 * (grid[0] + grid[1]) + 1000)


def interpolated(table, prefix, grid, dtype=torch.float64, **options):
    cells = torch.tensor(table[prefix:], dtype=dtype).reshape(1, *grid, WIDTH).permute(0, 3, 1, 2)
    made = torch.nn.functional.interpolate(cells, **options).permute(0, 2, 3, 1)
    return numpy.concatenate([table[:prefix], made.reshape(-1, WIDTH).double().numpy()])


WAYS = [
    {"mode": mode, "align_corners": aligned, "antialias": antialias}
    for mode in ("bilinear", "bicubic")
    for aligned in (False, True)
    for antialias in (False, True)
]


@pytest.mark.parametrize("way", WAYS)
def test_interpolate(server, way):
    for prefix, (grid, to) in enumerate(itertools.product(GRIDS, TARGETS)):
        table = table_of(prefix, grid, prefix)
        theirs = interpolated(table, prefix, grid, size=to, **way)
        got = ours(server, table, prefix, grid, to, **way)
        assert numpy.abs(got - theirs).max() <= bound(table, grid, 2**-53), (grid, to)


@pytest.mark.parametrize("way", [way for way in WAYS if not way["align_corners"]])
@pytest.mark.parametrize("offset", [0.1, 0.5])
def test_interpolate_offset(server, way, offset):
    """The scale that DINOv2 gives: (to + offset) / grid."""
    for grid, to in itertools.product(GRIDS, TARGETS):
        table = table_of(1, grid)
        scale = tuple((new + offset) / old for new, old in zip(to, grid, strict=True))
        theirs = interpolated(table, 1, grid, scale_factor=scale, **way)
        got = ours(server, table, 1, grid, to, interpolate_offset=offset, **way)
        assert numpy.abs(got - theirs).max() <= bound(table, grid, 2**-53), (grid, to)


def test_float32(server):
    """As most models compute it."""
    way = {"mode": "bicubic", "align_corners": False, "antialias": False}
    table = table_of(0, (16, 16)).astype(numpy.float32).astype(numpy.float64)
    for to in TARGETS:
        theirs = interpolated(table, 0, (16, 16), torch.float32, size=to, **way)
        got = ours(server, table, 0, (16, 16), to, **way)
        assert numpy.abs(got - theirs).max() <= bound(table, (16, 16), 2**-24)


SMALL = {"hidden_size": WIDTH, "num_attention_heads": 1, "num_hidden_layers": 1}
SMALL |= {"intermediate_size": 8, "image_size": 64, "patch_size": 4}
BICUBIC = {"mode": "bicubic", "align_corners": False}


def vit(table, to):
    config = transformers.ViTConfig(**SMALL)
    module = transformers.ViTModel(config).embeddings
    return module, "position_embeddings", 1


def dinov2(table, to):
    module = transformers.Dinov2Model(transformers.Dinov2Config(**SMALL)).embeddings
    return module, "position_embeddings", 1


def dinov2_with_registers(table, to):
    config = transformers.Dinov2WithRegistersConfig(**SMALL)
    module = transformers.Dinov2WithRegistersModel(config).embeddings
    return module, "position_embeddings", 1


@pytest.mark.parametrize(
    ("make", "antialias"), [(vit, False), (dinov2, False), (dinov2_with_registers, True)]
)
def test_modules_of_transformers(server, make, antialias):
    for to in TARGETS:
        table = table_of(1, (16, 16)).astype(numpy.float32)
        module, name, prefix = make(table, to)
        getattr(module, name).data = torch.tensor(table)[None]
        tokens = torch.zeros(1, prefix + to[0] * to[1], WIDTH)
        with torch.no_grad():
            theirs = module.interpolate_pos_encoding(tokens, to[0] * 4, to[1] * 4)[0].numpy()
        wide = table.astype(numpy.float64)
        got = ours(server, wide, prefix, (16, 16), to, antialias=antialias, **BICUBIC)
        assert numpy.abs(got - theirs).max() <= bound(table, (16, 16), 2**-24)


def test_siglip2(server):
    resize = transformers.models.siglip2.modeling_siglip2.Siglip2VisionEmbeddings
    way = {"mode": "bilinear", "align_corners": False, "antialias": True}
    table = table_of(0, (16, 16)).astype(numpy.float32)
    for to in TARGETS:
        shapes, count = torch.tensor([to]), to[0] * to[1]
        cells = torch.tensor(table).reshape(16, 16, WIDTH)
        theirs = resize.resize_positional_embeddings(cells, shapes, count)[0].numpy()
        got = ours(server, table.astype(numpy.float64), 0, (16, 16), to, **way)
        assert numpy.abs(got - theirs).max() <= bound(table, (16, 16), 2**-24)


@pytest.mark.parametrize(
    ("mode", "aligned"), [("bilinear", True), ("bilinear", False), ("bicubic", False)]
)
def test_towers_with_weights_of_their_own(server, mode, aligned):
    """Qwen3-VL (bilinear, aligned), PaddleOCR-VL (bilinear) and Kimi K2.5 (bicubic) gather rows by
    weights, in blocks of merged patches: positions give the same order."""
    weights_of = vision_utils.get_vision_interpolation_indices_and_weights
    table = table_of(0, (16, 16)).astype(numpy.float32)
    for rows, columns in [(24, 32), (2, 2), (6, 40)]:
        grid = torch.tensor([[1, rows, columns]])
        indices, weights = weights_of(grid, 16, mode, aligned, spatial_merge_size=2)
        theirs = (torch.tensor(table)[indices] * weights[:, :, None]).sum(1).numpy()
        order = numpy.arange(rows * columns).reshape(rows // 2, 2, columns // 2, 2)
        positions = order.transpose(0, 2, 1, 3).reshape(-1)
        way = {"mode": mode, "align_corners": aligned, "antialias": False}
        wide = table.astype(numpy.float64)
        got = ours(server, wide, 0, (16, 16), (rows, columns), positions, **way)
        assert numpy.abs(got - theirs).max() <= bound(table, (16, 16), 2**-24)


@pytest.mark.parametrize("prefix", [0, 1, 5])
def test_timm(server, prefix):
    for grid, to in itertools.product(GRIDS, TARGETS):
        table = table_of(prefix, grid).astype(numpy.float32)
        theirs = timm.layers.resample_abs_pos_embed(
            torch.tensor(table)[None], list(to), list(grid), num_prefix_tokens=prefix
        )[0].numpy()
        got = ours(server, table.astype(numpy.float64), prefix, grid, to, antialias=True, **BICUBIC)
        assert numpy.abs(got - theirs).max() <= bound(table, grid, 2**-24)
