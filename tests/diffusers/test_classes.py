# SPDX-License-Identifier: MIT
"""Configs of every class of diffusers: read as the class itself reads them, or refused. What is
read is compared with the queries that the class's own attention rotates."""

import re

import classes
import numpy
import pytest
import test_sines

from service import post_json, post_tensors

ALL = classes.all_classes()
READ = classes.POSITIONS
SINES = [*test_sines.CASES, "CogView3PlusTransformer2DModel"]
# Rotations that need more than a grid: read, and the frequencies are those of a class beside it.
LIKE = {
    "AnyFlowFARTransformer3DModel": "AnyFlowTransformer3DModel",
    "HunyuanVideoFramepackTransformer3DModel": "HunyuanVideoTransformer3DModel",
    "WanAnimate2Transformer3DModel": "WanTransformer3DModel",
}
# Queries are rounded to bfloat16 there, those that do not rotate too.
ROUNDED = ("Kandinsky5Transformer3DModel",)
# Heads that rotate as one vector: their number counts.
TOGETHER = ("LTX2VideoTransformer3DModel", "LTXVideoTransformer3DModel")
# Lists that are no widths of axes.
OTHER_AXES = ("CogView4Transformer2DModel", "Cosmos3OmniTransformer")
WIDTHS = {1: [24], 2: [16, 32], 3: [8, 16, 24], 4: [8, 4, 16, 20]}


def config_of(name):
    config = classes.defaults(ALL[name])
    if name in ("CogVideoXTransformer3DModel", "ConsisIDTransformer3DModel"):
        config["use_rotary_positional_embeddings"] = True
    return config


def heads_made(config, width):
    """Heads of another width."""
    for heads in ("num_attention_heads", "n_heads", "num_heads", "dit_heads"):
        for whole in ("hidden_size", "dim", "dit_dim", "embed_dim"):
            if heads in config and whole in config and "attention_head_dim" not in config:
                config[whole] = width * config[heads]
    for key in ("attention_head_dim", "head_dim"):
        if key in config:
            config[key] = width


def stirred(name):
    """Every key about positions has another value than the class's."""
    config = config_of(name)
    for key in ("rope_theta", "theta"):
        if key in config:
            config[key] = 777
    heads_made(config, 48)
    for key in ("axes_dims_rope", "rope_axes_dim", "axes_dim_rope", "axes_dims", "rope_dim_list",
                "rope_dim", "axes_dim"):  # fmt: skip
        if key in config and name not in OTHER_AXES:
            config[key] = WIDTHS[len(config[key] or [0, 0])]
    if "rotary_dim" in config:
        config["rotary_dim"] = 20
    if "rope_scale" in config:
        config["rope_scale"] = [0.75, 2.5, 1.5]
    if "rope_freq_dim" in config:
        config["rope_freq_dim"] = 7
    if "mrope_section" in config:
        config["mrope_section"] = [10, 5, 4]
    if "rope_scaling" in config and name.startswith("Cosmos3"):
        config["rope_scaling"] = {"mrope_section": [9, 8, 7]}
    for key, size in (("pos_embed_max_pos", 15), ("base_height", 1024), ("base_width", 512)):
        if key in config:
            config[key] = size
    return config


def strangers(name):
    """Keys that the class does not have are ignored by it."""
    others = {
        "rope_theta": 5,
        "axes_dims_rope": [2, 2, 2],
        "theta": 5,
        "rope_scaling": {"factor": 9},
        "rope_axes_dim": [2, 2],
        "head_dim": 6,
    }
    config = config_of(name)
    return {key: value for key, value in others.items() if key not in config} | config


MAKERS = {"defaults": config_of, "stirred": stirred, "strangers": strangers}


def posted(name, config):
    return {"_class_name": name, "_diffusers_version": "0.42.1"} | config


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", [name for name in READ if READ[name]])
def test_read_as_the_class(server, monkeypatch, name, maker):
    config = MAKERS[maker](name)
    if name in TOGETHER:
        config = classes.small(ALL[name], config)
    answer = post_json(server, "/v1/config", {"config": posted(name, config)}).good().json
    model = classes.make(ALL[name], config)
    places, rotary = READ[name](model, dict(model.config))
    plain, rotated = classes.queries(monkeypatch, model, rotary, places.shape[1])
    encoding = dict(answer["encoding"])
    layout = encoding.pop("layout")
    if encoding["name"] == "rope":
        places = places[0]
    if name in TOGETHER:
        plain, rotated = (part.flatten(1)[:, None] for part in (plain, rotated))
    got = post_tensors(
        server,
        "/v1/rotation",
        {"q": plain.double().numpy(), "positions": places.double().numpy()},
        axes="shd",
        layout=layout,
        encoding=encoding.pop("name"),
        **encoding,
    )["q"]
    expected = rotated.double().numpy()
    assert numpy.abs(plain.numpy() - expected).max() > 0.1
    # Angles up to 40 in float32, and cosines and sines of it.
    allowed = 2**-7 if name in ROUNDED else 3e-5
    assert numpy.abs(got - expected).max() < allowed * numpy.abs(expected).max()
    assert answer["attention"]["causal"] is False


@pytest.mark.parametrize("name", LIKE)
def test_like_another_class(server, name):
    """With the key of the width that the class has."""
    config = config_of(name)
    like = config_of(LIKE[name])
    one = post_json(server, "/v1/config", {"config": posted(name, config)}).good().json
    other = post_json(server, "/v1/config", {"config": posted(LIKE[name], like)}).good().json
    assert one["encoding"] == other["encoding"]


@pytest.mark.parametrize("name", sorted(set(ALL) - set(READ) - set(SINES)))
def test_the_others_are_refused(server, name):
    """With a reason that is about the class, where it has positions."""
    refused = post_json(server, "/v1/config", {"config": posted(name, classes.defaults(ALL[name]))})
    assert refused.status == 422 and refused.json["code"] == "unsupported"
    assert name in refused.json["detail"]


def test_the_list_of_classes():
    """Measured classes are in the list, and those of the list are in diffusers."""
    text = (classes.ROOT / "core/config/diffusers.def").read_text()
    listed = set(re.findall(r'DIFFUSERS_CLASS\("(\w+)"', text))
    assert set(READ) | set(SINES) <= listed <= set(ALL)


def test_the_count_in_the_documents():
    """Classes whose own values are compared, those that are like another one, and all."""
    compared = sum(call is not None for call in READ.values()) + len(SINES)
    text = (classes.ROOT / "docs/configs.md").read_text()
    said = re.search(r"Of its (\d+) classes (\d+) are read, of which (\d+) are compared", text)
    assert said and [int(n) for n in said.groups()] == [len(ALL), compared + len(LIKE), compared]
    text = (classes.ROOT / "CHANGELOG.md").read_text()
    said = re.search(r"of (\d+) classes, of which (\d+) are compared", text)
    assert said and [int(n) for n in said.groups()] == [compared + len(LIKE), compared]
