# SPDX-License-Identifier: MIT
"""Sines over a grid that classes of diffusers add: read from their config and the size of the
latents, and compared with what the module of the class adds to patches that are 0."""

import re

import classes
import numpy
import pytest
import torch

from service import post_json

ALL = classes.all_classes()
DIM = 2 * 36
GRIDS = [(8, 8), (5, 7), (12, 3), (1, 16)]

# class, the name of its module, configs beside the constructor's
CASES = {
    "DiTTransformer2DModel": ("pos_embed", [{}, {"sample_size": 64, "patch_size": 4}]),
    "PixArtTransformer2DModel": (
        "pos_embed",
        [{}, {"sample_size": 64}, {"sample_size": 200}, {"interpolation_scale": 1.5},
         {"sample_size": 20, "interpolation_scale": None}],
    ),
    "LatteTransformer3DModel": (
        "pos_embed", [{"sample_size": 128, "patch_size": 2}, {"sample_size": 63, "patch_size": 2}],
    ),
    "SD3Transformer2DModel": (
        "pos_embed",
        [{}, {"pos_embed_max_size": 33}, {"pos_embed_max_size": None}, {"sample_size": 65}],
    ),
    "SD3ControlNetModel": ("pos_embed", [{"sample_size": 64}, {"pos_embed_max_size": 16}]),
    "SanaTransformer2DModel": (
        "patch_embed", [{"interpolation_scale": 2}, {"interpolation_scale": 0.5, "patch_size": 2}],
    ),
    "Transformer2DModel": (
        "pos_embed",
        [{"norm_type": "ada_norm_zero", "num_embeds_ada_norm": 8, "sample_size": 128},
         {"norm_type": "ada_norm_single", "sample_size": 128},
         {"norm_type": "ada_norm_single", "sample_size": 32, "interpolation_scale": 3}],
    ),
    "SanaControlNetModel": ("patch_embed", [{"interpolation_scale": 2, "sample_size": 64}]),
}  # fmt: skip
ALL_CASES = [(name, module, more) for name, (module, cases) in CASES.items() for more in cases]
# Keys that are read of other classes.
STRANGERS = {
    "interpolation_scale": 3,
    "pos_embed_max_size": 17,
    "pos_embed_type": None,
    "use_pos_embed": False,
    "base_size": 5,
    "rope_theta": 5,
    "max_size": 99,
}


REMAPPED = {"ada_norm_zero": "DiTTransformer2DModel", "ada_norm_single": "PixArtTransformer2DModel"}


def config_of(name, more):
    if name == "Transformer2DModel":
        return {"patch_size": 2} | config_of(REMAPPED[more["norm_type"]], more)
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


def posted(name, config):
    return {"_class_name": name, "_diffusers_version": "0.42.1"} | config


def read(server, name, config, height, width):
    asked = {"config": posted(name, config), "height": height, "width": width}
    return post_json(server, "/v1/config", asked)


def table_of(server, name, config, height, width):
    """By the config alone."""
    asked = {"config": posted(name, config), "height": height, "width": width, "dtype": "f64"}
    answer = post_json(server, "/v1/encodings/sinusoidal-2d/table", asked).good().json
    return numpy.array(answer["tensors"]["table"]["data"])


@pytest.mark.parametrize(("name", "module", "more"), ALL_CASES)
def test_what_is_added(server, name, module, more):
    """Coordinates are rounded to float32 three times there, and so is the result."""
    config = config_of(name, more)
    strangers = {key: value for key, value in STRANGERS.items() if key not in config}
    made = getattr(ALL[name].from_config(config | strangers), module)
    for height, width in GRIDS:
        theirs = added(made, height, width, config["patch_size"])
        for keys in (config, config | strangers):
            ours = table_of(server, name, keys, height, width)
            encoding = read(server, name, keys, height, width).good().json["encoding"]
            largest = encoding["base_size"] / encoding.get("interpolation_scale", 1)
            assert numpy.abs(ours - theirs).max() <= 2**-24 * (3 * largest + 1)


@pytest.mark.parametrize("name", [*CASES, "CogView3PlusTransformer2DModel"])
def test_keys_that_are_not_in_the_file(server, name):
    """The same as with the values of the constructor."""
    whole = classes.defaults(ALL[name])
    needed = {"patch_size": 2} if name.startswith("Latte") else {}
    needed |= {"interpolation_scale": 1} if name.startswith("Sana") else {}
    if name == "Transformer2DModel":
        needed = {"norm_type": "ada_norm_single"}
        whole = classes.defaults(ALL[REMAPPED["ada_norm_single"]])
    answers = [
        read(server, name, config, 4, 6).good().json["encoding"]
        for config in (needed, whole | needed)
    ]
    assert answers[0] == answers[1]


def test_cogview3_plus(server):
    """The table of a larger grid from its first row and column: coordinates are not scaled."""
    name = "CogView3PlusTransformer2DModel"
    config = config_of(name, {"pos_embed_max_size": 16})
    made = ALL[name](**config).patch_embed
    for height, width in GRIDS:
        theirs = made.pos_embed[:height, :width].reshape(height * width, DIM).double().numpy()
        ours = table_of(server, name, config, height, width)
        assert numpy.abs(ours - theirs).max() <= 2**-24
    for height, width in [(17, 2), (2, 17)]:
        with pytest.raises(RuntimeError):
            made.pos_embed[:height, :width].reshape(height * width, DIM)
        refused = read(server, name, config, height, width)
        assert refused.status == 422 and "fails" in refused.json["detail"]


@pytest.mark.parametrize(("name", "module", "more"), ALL_CASES)
def test_the_size_of_the_latents_is_asked_for(server, name, module, more):
    config = posted(name, config_of(name, more))
    for given, missing in (({}, "height"), ({"height": 4}, "width"), ({"width": 4}, "height")):
        refused = post_json(server, "/v1/config", {"config": config} | given)
        assert refused.status == 422 and refused.json["code"] == "missing-parameter"
        assert re.search(
            rf"{missing} is required.*{REMAPPED.get(more.get('norm_type'), name)}",
            refused.json["detail"],
        )


@pytest.mark.parametrize(
    ("name", "module", "more"),
    [
        ("SanaTransformer2DModel", "patch_embed", {}),
        ("SanaControlNetModel", "patch_embed", {"interpolation_scale": None}),
        ("SD3ControlNetModel", "pos_embed", {"pos_embed_type": None}),
        ("SD3ControlNetModel", "pos_embed", {"use_pos_embed": False}),
    ],
)
def test_nothing_is_added(server, name, module, more):
    config = config_of(name, more)
    made = getattr(ALL[name](**config), module)
    assert made is None or not added(made, 4, 5, config["patch_size"]).any()
    refused = read(server, name, config, 4, 5)
    assert refused.status == 422 and refused.json["code"] == "unsupported"
    assert name in refused.json["detail"]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("LatteTransformer3DModel", {}),
        ("DiTTransformer2DModel", {"patch_size": 0}),
        ("DiTTransformer2DModel", {"sample_size": None}),
        ("SD3Transformer2DModel", {"pos_embed_max_size": 8}),
        ("CogView3PlusTransformer2DModel", {"pos_embed_max_size": None}),
    ],
)
def test_where_the_class_fails(server, name, more):
    """It cannot be made, or a grid does not fit into it."""
    config = config_of(name, more)
    with pytest.raises((TypeError, ZeroDivisionError, ValueError)):
        added(ALL[name](**config).pos_embed, 9, 9, 2)
    assert read(server, name, config, 9, 9).status == 422
