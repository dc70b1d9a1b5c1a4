# SPDX-License-Identifier: MIT
"""Every class of transformers that has a rotary embedding, its config posted in three forms;
sweep.py."""

import collections
import json
import pathlib

import finding
import models
import numpy
import pytest
import sweep
import torch
from transformers import CONFIG_MAPPING
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
from transformers.models.pix2struct.modeling_pix2struct import Pix2StructTextAttention
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.udop.modeling_udop import UdopAttention

from service import get, post_json

TESTS = pathlib.Path(__file__).resolve().parents[1]
README = TESTS.parent / "README.md"
FILES = {
    path.stem: json.loads(path.read_text())["config"]
    for path in sorted((TESTS / "data" / "configs").glob("*.json"))
}

# What is refused, and the part of the answer that says why.
ODD = "must be a whole multiple of"  # its class's own sizes give heads of a broken width
REASONS = {
    "glm4_moe": ODD,
    "nanochat": "the other way round",
    "gemma4_vision": "each half of a head",
    "hunyuan_vl": "angles of two coordinates",
    "hunyuan_vl_text": "angles of two coordinates",
}
# Of a config that has nothing but its model_type.
BARE = (ODD, "does not say how", "dim is required", *REASONS.values())
# Why the code of a class was not asked.
OUTSIDE = (
    "needs torchaudio",
    "transformers has no code of it",
    "parts have rows of their own",
    "which turns nothing",
    "a part without model_type",
    "Unrecognized model type",
)


def test_no_config_is_read_wrongly(server):
    rows = list(sweep.sweep(server))
    counts = collections.Counter((form, verdict) for _, form, verdict, _ in rows)
    print(
        *(f"{form} {verdict}: {count}" for (form, verdict), count in sorted(counts.items())),
        sep="\n",
    )
    for name, form, verdict, words in rows:
        assert verdict not in (sweep.WRONG, sweep.UNTOLD), (name, form, words)
        if verdict == sweep.REFUSED:
            reasons = BARE if form == "bare" else (REASONS.get(name, "-"),)
            assert any(reason in words for reason in reasons), (name, form, words)
        if verdict == sweep.OUTSIDE:
            assert any(reason in words for reason in OUTSIDE), (name, words)
    assert len(REASONS) <= 5
    assert counts["whole", sweep.RIGHT] >= 376 and counts["raw", sweep.RIGHT] >= 376
    assert counts["bare", sweep.RIGHT] >= 226
    assert sweep.badge(counts) in README.read_text()


# gptj has a function for a class, ministral3 no text_config in transformers; others turn nothing.
APART = (
    "gpt-j-6b",
    "ministral-3-3b",
    "gpt2",
    "bloom-3b",
    "t5-small",
    "minilm-l6",
    "bert-large-2018",
    "olmocr-2-7b-tower",
)


def published(name):
    """The rows of a config as its model's publisher has it."""
    config = FILES[name]
    cls = CONFIG_MAPPING[config["model_type"]].from_dict(config)
    part = finding.part_about_text(cls)
    rotary, module = finding.rotary_of(part)
    for layer in finding.layer_types(rotary, part):
        yield models.Model(config["model_type"], cls, part, rotary, module, layer)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, config in FILES.items()
        if config.get("model_type") in CONFIG_MAPPING and name not in APART
    ],
)
def test_configs_as_published(server, name):
    """Near positions where dynamic and longrope depend on the length of the sequence."""
    rows = list(published(name))
    for model in rows:
        verdict, words = sweep.judge(server, model, FILES[name])
        assert verdict == sweep.RIGHT, (model.name, words)
    assert rows


def test_two_scales_within_the_original_length(server):
    """phimoe's short_mscale, by its own code. Longer ones: tests/integration/test_config.py."""
    pairs = 64
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_mscale": 1.2,
        "long_mscale": 1.4,
        "short_factor": [1.0 + 0.01 * pair for pair in range(pairs)],
        "long_factor": [2.0 + pair for pair in range(pairs)],
        "original_max_position_embeddings": 4096,
    }
    config = CONFIG_MAPPING["phimoe"](rope_parameters=rope)
    model = models.Model("phimoe", config, config, *finding.rotary_of(config))
    verdict, words = sweep.judge(server, model, json.loads(config.to_json_string(use_diff=False)))
    assert verdict == sweep.RIGHT, words


@pytest.mark.parametrize(
    "model_type, code, given",
    [
        ("mpnet", MPNetEncoder.relative_position_bucket, {}),
        ("t5", T5Attention._relative_position_bucket, {}),
        ("udop", UdopAttention._relative_position_bucket, {}),
        (
            "pix2struct_text_model",
            Pix2StructTextAttention._relative_position_bucket,
            {"bidirectional": False},
        ),
    ],
)
def test_buckets(server, model_type, code, given):
    """Of biases by buckets, as transformers' code finds them."""
    config = json.loads(CONFIG_MAPPING[model_type]().to_json_string(use_diff=False))
    encoding = post_json(server, "/v1/config", {"config": config}).good().json["encoding"]
    told = {key: value for key, value in encoding.items() if key not in ("name", "heads")}
    answer = (
        get(
            server,
            f"/v1/encodings/{encoding['name']}/bias",
            query_length=400,
            key_length=400,
            format="npy",
            dtype="f32",
            **told,
        )
        .good()
        .npy
    )
    distance = torch.arange(400)[None] - torch.arange(400)[:, None]
    assert numpy.array_equal(numpy.squeeze(answer), code(distance, **given).numpy())
