# SPDX-License-Identifier: MIT
"""POST /v1/positions against get_rope_index of each model of core/positions/position_models.def."""

import json
import pathlib
import re

import positions
import pytest

from service import post_json

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = 40


# Of models that make images and of towers, which tests/diffusers and tests/integration compare.
ELSEWHERE = "GENERATOR|VIDEO|TOWER|BLOCKS"


def test_every_model_is_compared():
    listed = re.findall(
        rf'^MODEL\("(\w+)"(?!.*\b(?:{ELSEWHERE})\b)',
        (ROOT / "core/positions/position_models.def").read_text(),
        re.M,
    )
    assert sorted(listed) == sorted((*positions.MODELS, "text"))


@pytest.mark.parametrize("model_type", positions.MODELS)
def test_ids_and_deltas(server, model_type):
    for seed in range(1000, 1000 + CASES):
        case = positions.case(model_type, seed)
        tensors = post_json(server, "/v1/positions", case["asked"]).good().json["tensors"]
        assert tensors["position_ids"]["data"] == case["position_ids"], case["asked"]
        assert tensors["rope_deltas"]["data"] == case["rope_deltas"], case["asked"]


def test_the_fixture_is_what_transformers_gives():
    kept = json.loads((ROOT / "tests/data/oracles/rope_index.json").read_text())["cases"]
    made = [positions.case(name, seed) for name in positions.MODELS for seed in range(4)]
    assert made == kept
