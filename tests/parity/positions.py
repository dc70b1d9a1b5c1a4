#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prompts with images, videos and padding, and the position ids that get_rope_index of transformers
gives them. As a program, with tests/parity/requirements.txt installed, it writes what
tests/integration/test_positions.py compares with:

    python tests/parity/positions.py > tests/data/oracles/rope_index.json"""

import functools
import importlib
import json
import random
import types

import torch
import transformers

# The models that core/positions/position_models.def lists, and how their prompts differ.
APART = (
    "qwen3_vl",
    "qwen3_vl_moe",
    "qwen3_5",
    "qwen3_5_moe",
    "glm4v",
    "glm4v_moe",
    "glm46v",
    "glm_ocr",
    "cohere_compass",
    "qwen4_exp",
    "cosmos3_edge",
    "cosmos3_omni",
)
TIMED = ("qwen2_5_vl",)
MARKED = ("glm_image",)  # which knows images by the tokens around them, and has no videos
MODELS = ("qwen2_vl", *TIMED, *APART, "ernie4_5_vl_moe", "paddleocr_vl", *MARKED)
TEXT, IMAGE, VIDEO = range(3)


def indexed(model_type):
    """get_rope_index of a model whose weights nobody needs."""
    module = importlib.import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    owner = next(
        value
        for name, value in vars(module).items()
        if name.endswith("Model") and "get_rope_index" in getattr(value, "__dict__", {})
    )
    stub = types.SimpleNamespace(config=owner.config_class())
    stub.get_vision_position_ids = functools.partial(owner.get_vision_position_ids, stub)
    index = functools.partial(owner.get_rope_index, stub)
    return functools.partial(
        marked, index, stub.config
    ) if model_type in MARKED else index, stub.config.vision_config


def marked(index, config, ids, mm_token_type_ids, **told):
    """The ids of a model that finds images by a token before and one behind them."""
    images = mm_token_type_ids == IMAGE
    ids[:, :-1][images[:, 1:] & ~images[:, :-1]] = config.image_start_token_id
    ids[:, 1:][images[:, :-1] & ~images[:, 1:]] = config.image_end_token_id
    return index(ids, images_per_sample=(ids == config.image_end_token_id).sum(1), **told)


def grid(draw, vision, is_video):
    merge = vision.spatial_merge_size
    frames = draw.randint(1, 3) * getattr(vision, "temporal_merge_size", 1) if is_video else 1
    return [frames, draw.randint(1, 5) * merge, draw.randint(1, 5) * merge]


def tokens_of(sides, vision, is_video):
    merge = getattr(vision, "temporal_merge_size", 1) if is_video else 1
    return sides[0] // merge * sides[1] * sides[2] // vision.spatial_merge_size**2


def prompt(draw, model_type, vision):
    """(kinds of its tokens, grids of images, grids of videos)"""
    kinds, grids = [TEXT] * draw.randint(1, 4), {IMAGE: [], VIDEO: []}
    for _ in range(draw.randint(1, 3)):
        kind = IMAGE if model_type in MARKED else draw.choice((IMAGE, VIDEO))
        sides = grid(draw, vision, kind == VIDEO)
        grids[kind].append(sides)
        apart = sides[0] if kind == VIDEO and model_type in APART else 1
        for _ in range(apart):
            count = tokens_of([sides[0] // apart, *sides[1:]], vision, kind == VIDEO)
            kinds += [kind] * count + [TEXT] * draw.randint(1 + (model_type in MARKED), 3)
    return kinds, grids[IMAGE], grids[VIDEO]


def padded(prompts, draw):
    """Rows of kinds of one length, and the mask."""
    longest, left = max(len(kinds) for kinds, _, _ in prompts), draw.random() < 0.5
    kinds, mask = [], []
    for row, _, _ in prompts:
        fill = [0] * (longest - len(row))
        kinds.append(fill + row if left else row + fill)
        mask.append(fill + [1] * len(row) if left else [1] * len(row) + fill)
    return kinds, mask


def case(model_type, seed):
    """A request of POST /v1/positions, and the ids and deltas that are right."""
    draw = random.Random(f"{model_type} {seed}")
    index, vision = indexed(model_type)
    prompts = [prompt(draw, model_type, vision) for _ in range(draw.randint(1, 3))]
    kinds, mask = padded(prompts, draw)
    images, videos = (sum((one[at] for one in prompts), []) for at in (1, 2))
    asked = {"model_type": model_type, "mm_token_type_ids": kinds}
    if draw.random() < 0.5 or len(prompts) > 1:
        asked["attention_mask"] = mask
    if images:
        asked["image_grid_thw"] = images
    if videos:
        asked["video_grid_thw"] = videos
    if videos and model_type in TIMED and draw.random() < 0.7:
        asked["second_per_grid_ts"] = [draw.choice((0.5, 1.0, 0.1, 2.7, 1 / 3)) for _ in videos]
    told = {name: torch.tensor(value) for name, value in asked.items() if name != "model_type"}
    ids, deltas = index(torch.zeros_like(told["mm_token_type_ids"]), **told)
    return {"asked": asked, "position_ids": ids.tolist(), "rope_deltas": deltas.tolist()}


def main():
    cases = [case(model_type, seed) for model_type in MODELS for seed in range(4)]
    print(
        json.dumps(
            {"source": f"get_rope_index of transformers {transformers.__version__}", "cases": []}
        )[:-3]
        + "["
    )
    print(",\n".join(json.dumps(one, separators=(",", ":")) for one in cases) + "]}")


if __name__ == "__main__":
    main()
