# SPDX-License-Identifier: MIT
"""Sines over a grid that classes of diffusers add, by the parameters that their refusal names."""

import classes
import numpy
import pytest
import torch

from service import post_json, table

ALL = classes.all_classes()
DIM = 2 * 36
GRIDS = [(8, 8), (5, 7), (12, 3)]


def floor_of_64(config):
    return max(config["sample_size"] // 64, 1)


def base_size(config):
    return {"base_size": config["sample_size"] // config["patch_size"]}


def cropped(config):
    return base_size(config) | {"max_size": config["pos_embed_max_size"]}


def scaled(config):
    return base_size(config) | {"interpolation_scale": config["interpolation_scale"]}


def scaled_by_size(config):
    return base_size(config) | {"interpolation_scale": floor_of_64(config)}


# class, its config, the name of its module, the parameters
CASES = [
    ("DiTTransformer2DModel", {}, "pos_embed", base_size),
    ("DiTTransformer2DModel", {"sample_size": 64}, "pos_embed", base_size),
    ("PixArtTransformer2DModel", {}, "pos_embed", scaled_by_size),
    ("PixArtTransformer2DModel", {"sample_size": 64}, "pos_embed", scaled_by_size),
    ("PixArtTransformer2DModel", {"interpolation_scale": 1.5}, "pos_embed", scaled),
    ("LatteTransformer3DModel", {"sample_size": 128, "patch_size": 2}, "pos_embed", scaled_by_size),
    ("SD3Transformer2DModel", {}, "pos_embed", cropped),
    ("SD3Transformer2DModel", {"pos_embed_max_size": 33}, "pos_embed", cropped),
    ("SD3ControlNetModel", {"sample_size": 64}, "pos_embed", cropped),
    ("SanaTransformer2DModel", {"interpolation_scale": 2}, "patch_embed", scaled),
    ("SanaControlNetModel", {"interpolation_scale": 2}, "patch_embed", scaled),
]


def config_of(name, more):
    config = classes.defaults(ALL[name]) | {"num_layers": 1} | more
    config |= {"num_attention_heads": 2, "attention_head_dim": DIM // 2}
    sizes = {"in_channels": 4, "caption_projection_dim": DIM, "caption_channels": DIM}
    config |= {key: size for key, size in sizes.items() if key in config}
    if name.startswith("Sana"):
        config |= {"num_cross_attention_heads": 2, "cross_attention_dim": DIM}
        config |= {"cross_attention_head_dim": DIM // 2}
    return config


def added(module, height, width, patch):
    """What a module adds to patches that are 0."""
    for parameter in module.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        return module(torch.zeros(1, 4, height * patch, width * patch))[0].double().numpy()


@pytest.mark.parametrize(("name", "more", "module", "parameters"), CASES)
def test_what_is_added(server, name, more, module, parameters):
    """Their coordinates are rounded to float32 three times, and so is the result."""
    config = config_of(name, more)
    made = getattr(ALL[name](**config), module)
    given = parameters(config)
    for height, width in GRIDS:
        theirs = added(made, height, width, config["patch_size"])
        ours = table(
            server, "sinusoidal-2d", variant="mae", dim=DIM, height=height, width=width,
            dtype="f64", **given,
        )  # fmt: skip
        largest = given["base_size"] / given.get("interpolation_scale", 1)
        assert numpy.abs(ours - theirs).max() <= 2**-24 * (3 * largest + 1)


def test_cogview3_plus(server):
    """The table of a larger grid from its first row and column: coordinates are not scaled."""
    name = "CogView3PlusTransformer2DModel"
    config = config_of(name, {"pos_embed_max_size": 16})
    made = ALL[name](**config).patch_embed
    for height, width in GRIDS:
        theirs = made.pos_embed[:height, :width].reshape(height * width, DIM).double().numpy()
        ours = table(
            server, "sinusoidal-2d", variant="mae", dim=DIM, height=height, width=width, dtype="f64"
        )
        assert numpy.abs(ours - theirs).max() <= 2**-24


@pytest.mark.parametrize(("name", "more", "module", "parameters"), CASES)
def test_refusals_name_the_parameters(server, name, more, module, parameters):
    config = config_of(name, more)
    refused = post_json(server, "/v1/config", {"config": {"_class_name": name} | config})
    assert refused.status == 422 and refused.json["code"] == "unsupported"
    for word in parameters(config):
        assert word in refused.json["detail"]
