# SPDX-License-Identifier: MIT
"""Rotary classes that are not asked by position ids: of a whole picture, of a whole sequence."""

import dataclasses
import typing

import numpy
import torch

SIDES = 8, 12  # of a grid: height, width
LONG = 4096  # of a sequence


@dataclasses.dataclass
class Driver:
    axes: int
    waves: typing.Callable  # (model, positions): cos and sin, or one complex tensor
    points: typing.Callable | None = None  # the positions that can be asked for
    apply: typing.Callable | None = None  # where it is a method


def grid(height, width):
    """[2, n]: x and y, row after row."""
    return numpy.stack(
        [numpy.tile(numpy.arange(width), height), numpy.repeat(numpy.arange(height), width)]
    )


# ---- pictures -----------------------------------------------------------------------------------


def llama4_side(model):
    return model.part.image_size // model.part.patch_size


def llama4_waves(model, _):
    return (model.rotary(torch.zeros(1))[:-1],)


def llama4_points(model):
    return grid(llama4_side(model), llama4_side(model))


def centres(_):
    """2 pi times the centres of patches, from -1 to 1."""
    height, width = SIDES
    x, y = grid(height, width)
    return 2 * numpy.pi * numpy.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1])


def dinov3_waves(model, _):
    patch = model.part.patch_size
    sides = patch if isinstance(patch, (list, tuple)) else (patch, patch)
    pixels = torch.zeros(1, 1, SIDES[0] * sides[0], SIDES[1] * sides[1])
    return model.rotary(pixels)


def gemma4_waves(model, at):
    return model.rotary(torch.zeros(1), torch.tensor(at[::-1].copy()).T[None])


def loftr_waves(model, _):
    stride = model.part.q_aggregation_stride
    cos, sin = model.rotary(torch.zeros(1, 1, SIDES[0] * stride, SIDES[1] * stride))
    return cos[0].flatten(0, 1)[None], sin[0].flatten(0, 1)[None]


# ---- sequences ----------------------------------------------------------------------------------


def first(_):
    return numpy.array([0, 1, 2, 7, 100, 1023, LONG - 1])


def conformer_waves(model, at):
    cos, sin = model.rotary(torch.zeros(1, LONG, 1))
    return cos[at, 0, 0], sin[at, 0, 0]


def conformer_apply(q, k, cos, sin):
    """What _apply_rotary_embedding of the conformers does, without its states."""
    half = q.shape[-1] // 2
    turned = torch.cat([-q[..., half:], q[..., :half]], -1)
    return q * cos + turned * sin, k


def clvp_waves(model, at):
    angles = model.rotary(torch.zeros(1, LONG, 1))[0]
    return angles.cos()[at], angles.sin()[at]


def clvp_apply(module):
    def apply(q, k, cos, sin):
        return module.apply_rotary_pos_emb(q, k, k, cos, sin, torch.arange(q.shape[-2])[None])

    return apply


def of(model):
    """None: its class takes position ids."""
    name = type(model.rotary).__name__
    if name == "ClvpRotaryPositionalEmbedding":
        return Driver(1, clvp_waves, first, clvp_apply(model.module))
    return DRIVERS.get(name)


CONFORMER = Driver(1, conformer_waves, first, conformer_apply)
DINO = Driver(2, dinov3_waves, centres)
DRIVERS = {
    "Llama4VisionRotaryEmbedding": Driver(2, llama4_waves, llama4_points),
    "Gemma4VisionRotaryEmbedding": Driver(2, gemma4_waves),
    "DINOv3ViTRopePositionEmbedding": DINO,
    "EomtDinov3RotaryEmbedding": DINO,
    "Sapiens2RopePositionEmbedding": DINO,
    "EfficientLoFTRRotaryEmbedding": Driver(2, loftr_waves, lambda _: grid(*SIDES)),
    "Wav2Vec2ConformerRotaryPositionalEmbedding": CONFORMER,
    "Wav2Vec2BertRotaryPositionalEmbedding": CONFORMER,
    "SeamlessM4TConformerRotaryPositionalEmbedding": CONFORMER,
}
