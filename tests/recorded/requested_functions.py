# SPDX-License-Identifier: MIT
"""POST /v1/comparison, /v1/embedding, /v1/layout, /v1/config, /v1/diagnosis and /v1/positions."""

import json
import math
import pathlib

from bodies import numbers, tensor
from request import gets, post, post_file

CONFIGS = pathlib.Path(__file__).resolve().parents[1] / "data" / "configs"
ROPE4, SINE4 = {"name": "rope", "dim": 4}, {"name": "sinusoidal", "dim": 4}
LAYERS = {"gemma-3-27b": "full_attention", "olmo-3.1": "sliding_attention"}


# ---- comparison ---------------------------------------------------------------------------------


def comparisons():
    def compare(label, a, b, tensors=None, **parameters):
        return post("comparison", label, "/v1/comparison", {"a": a, "b": b} | parameters, tensors)

    mine = {"mine": numbers([0.0, 1.0, 0.75, 0.5403023], 2, 2)}
    pair = {"x": tensor(1, 2, 3, 2), "y": tensor(2, 2, 3, 2)}
    llama = {"config": {"model_type": "llama", "head_dim": 4, "rope_theta": 100}}
    cos = {"cos": tensor(3, 4, 2, dtype="f16")}
    return [
        compare("another base", ROPE4, ROPE4 | {"base": 500000}, length=3),
        compare("itself", ROPE4, ROPE4, length=5),
        compare("hf", ROPE4, ROPE4 | {"arithmetic": "hf"}, positions=[0, 131071, 1000000]),
        *(
            compare(
                f"in {dtype}",
                SINE4,
                SINE4 | {"base": 100},
                length=4,
                dtype=dtype,
                per_pair=True,
                per_position=True,
            )
            for dtype in ("f64", "f32", "f16", "bf16")
        ),
        compare("layouts", SINE4, SINE4 | {"layout": "concatenated"}, length=3, per_pair=True),
        compare("a tensor", "tensor:mine", {"name": "sinusoidal"}, mine, per_position=True),
        compare("two tensors", "tensor:x", "tensor:y", pair, tolerance=0.5),
        compare("start and step", ROPE4, ROPE4 | {"base": 9999}, length=3, start=5, step=-2),
        compare("a part", ROPE4, ROPE4 | {"base": 9999}, length=3, part="cos", duplicate=True),
        compare("a tolerance that holds", ROPE4, ROPE4 | {"base": 9999}, length=3, tolerance=1),
        compare("a config", llama, ROPE4, length=3),
        compare(
            "a stored table", "sample", {"name": "learned", "table": "sample", "scale": 2}, length=4
        ),
        compare("xpos", {"name": "xpos", "dim": 4, "t_center": 0}, ROPE4, length=3),
        compare(
            "mrope",
            {"name": "mrope", "dim": 8, "mrope_section": [2, 1, 1]},
            {"name": "rope", "dim": 8},
            length=3,
        ),
        post_file(
            "comparison",
            "a file",
            "/v1/comparison",
            {"a": "tensor:cos", "b": "rope", "part": "cos"},
            cos,
        ),
    ]


# ---- embedding ----------------------------------------------------------------------------------


def embeddings():
    path, x = "/v1/embedding", {"x": tensor(4, 1, 3, 4)}
    sine = {"encoding": "sinusoidal", "start": 2}

    def embed(label, parameters, tensors=None, **rest):
        return post("embedding", label, path, parameters, tensors, **rest)

    behind = {"concat": {"dim": 2}}
    found = [
        embed(
            f"{mode} {dtype}",
            sine | {"merge_mode": mode} | behind.get(mode, {}),
            {"x": tensor(4, 2, 3, 4, dtype=dtype)},
        )
        for mode in ("add", "mul", "concat")
        for dtype in ("f64", "f32", "f16", "bf16")
    ]
    others = [
        {"name": "all-sin"},
        {"name": "timestep", "max_period": 100},
        {"name": "binary"},
        {"name": "periodic"},
        {"name": "learned", "table": "sample"},
        {"name": "hierarchical", "table": "sample"},
        "sample",
    ]
    found += [
        embed(
            f"by {one if isinstance(one, str) else one['name']}", {"encoding": one, "start": 0}, x
        )
        for one in others
    ]
    words = {"encoding": "sinusoidal", "tokens": ["to", "be", "to", "我"], "dim": 2}
    return found + [
        embed("by index", {"encoding": "index", "start": 0}, {"x": tensor(4, 3, 1)}),
        embed("xscale", sine | {"xscale": 2}, x),
        embed(
            "positions of each row",
            {"encoding": "sinusoidal", "positions": [[1, 2], [8, 9]]},
            {"x": tensor(5, 2, 2, 4)},
        ),
        embed("words", words),
        embed("words behind", words | {"merge_mode": "concat"}),
        embed("words of another seed", words | {"seed": 7, "start": 5}),
        embed("a config", {"config": {"model_type": "marian", "d_model": 4}, "start": 0}, x),
        embed("flat", sine, x, query_of={"flat": True}),
        post_file("embedding", "a file", path, sine, x),
        post_file("embedding", "npy", path, sine, x, "npy"),
        post_file("embedding", "raw", path, sine, x, "raw"),
        post_file(
            "embedding",
            "positions in the file",
            path,
            {"encoding": "sinusoidal"},
            {"x": tensor(5, 2, 2, 4), "positions": numbers([1, 2, 8, 9], 2, 2, dtype="i64")},
        ),
        post_file(
            "embedding",
            "a posted table",
            path,
            {"encoding": "learned", "table": "tensor:e", "start": 1},
            x | {"e": tensor(6, 8, 4)},
        ),
        post_file("embedding", "many rows", path, sine, {"x": tensor(7, 3, 200, 32)}),
    ]


# ---- layout -------------------------------------------------------------------------------------

LAYOUTS = """
?from_layout=meta&to_layout=half&head_dim=4&heads=2
?from_layout=half&to_layout=interleaved&head_dim=6
?from_layout=neox&to_layout=gptj&head_dim=8&rotary_dim=4
?from_layout=half&to_layout=half&head_dim=4
?from_layout=interleaved&to_layout=half&head_dim=4&format=npy
?from_layout=interleaved&to_layout=half&head_dim=4&format=safetensors
?from_layout=interleaved&to_layout=half&head_dim=4&heads=3&format=raw
?from_layout=interleaved&to_layout=concatenated&head_dim=4&flat=true
"""


def layouts():
    path, to_half = "/v1/layout", {"from_layout": "interleaved", "to_layout": "half"}

    def convert(label, parameters, tensors, **rest):
        return post("layout", label, path, to_half | parameters, tensors, **rest)

    rows = {"kind": "projection_rows", "head_dim": 4}
    return [
        *gets("layout", LAYOUTS, path),
        convert(
            "activations", {"kind": "activations", "axes": "bhsd"}, {"x": tensor(1, 1, 2, 2, 6)}
        ),
        convert(
            "activations of a part",
            {"kind": "activations", "axes": "shd", "rotary_dim": 4},
            {"x": tensor(2, 2, 1, 6, dtype="f16")},
        ),
        convert(
            "heads side by side",
            {"kind": "activations", "axes": "bsd", "head_dim": 4},
            {"x": tensor(3, 1, 2, 8, dtype="bf16")},
        ),
        convert("projection", rows, {"w_q": tensor(4, 8, 3), "b_q": tensor(5, 8)}),
        convert("projection of a part", rows | {"rotary_dim": 2}, {"w": tensor(4, 4, 2)}),
        convert("projection of integers", rows, {"w": numbers([0, 1, 2, 3], dtype="i64")}),
        convert(
            "back", rows | {"from_layout": "half", "to_layout": "meta"}, {"w": tensor(4, 8, 2)}
        ),
        convert("table", {"kind": "table"}, {"cos": tensor(6, 3, 4, dtype="f64")}),
        convert(
            "concatenated",
            {"kind": "table", "to_layout": "concatenated"},
            {"table": tensor(6, 3, 4)},
        ),
        post_file("layout", "a file", path, to_half | rows, {"w": tensor(7, 8, 5, dtype="bf16")}),
        post_file("layout", "npy", path, to_half | rows, {"w": tensor(7, 8, 5)}, "npy"),
        post_file("layout", "raw", path, to_half | rows, {"w": tensor(7, 8, 5)}, "raw"),
    ]


# ---- config -------------------------------------------------------------------------------------


def configs():
    """Every file of tests/data/configs, its view where it has one, and the ways to send it."""
    found, path = [], "/v1/config"
    for file in sorted(CONFIGS.glob("*.json")):
        config = json.loads(file.read_text())["config"]
        found.append(post("config", file.stem, path, config))
        found.append(
            post(
                "config",
                file.stem + " frequencies",
                "/v1/encodings/rope/frequencies",
                {"config": config},
            )
        )
        if file.stem in LAYERS:
            found.append(
                post(
                    "config",
                    f"{file.stem} {LAYERS[file.stem]}",
                    path,
                    config,
                    query_of={"layer_type": LAYERS[file.stem]},
                )
            )
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8}
    return found + [
        post("config", "in an object", path, {"config": llama}),
        post("config", "as text", path, {"config": json.dumps(llama)}),
        post("config", "in the query", path, {}, query_of={"config": json.dumps(llama)}),
        post("config", "strict", path, llama | {"vocab_size": 7}, query_of={"strict": True}),
        post("config", "a parameter beside it", path, llama, query_of={"base": 7}),
        post(
            "config",
            "no encoding",
            path,
            {"model_type": "bert", "max_position_embeddings": 512, "hidden_size": 8},
        ),
    ]


# ---- diagnosis ----------------------------------------------------------------------------------


def waves(dim, rows, base=10000.0, start=0, sign=1):
    """cos and sin in f32, [rows, dim / 2]."""
    angles = [(start + t) * base ** (-2 * k / dim) for t in range(rows) for k in range(dim // 2)]
    return {
        "cos": numbers([math.cos(a) for a in angles], rows, dim // 2),
        "sin": numbers([sign * math.sin(a) for a in angles], rows, dim // 2),
    }


def frequencies(dim, base, digits=9):
    return {"inv_freq": numbers([round(base ** (-2 * k / dim), digits) for k in range(dim // 2)])}


def diagnoses():
    path, rope = "/v1/diagnosis", {"encoding": {"name": "rope", "base": 10000}}

    def diagnose(label, parameters, tensors, **rest):
        return post("diagnosis", label, path, parameters, tensors, **rest)

    plain = waves(16, 40)
    sine = [
        math.sin(t / 10000 ** (2 * (k // 2) / 8) + (k % 2) * math.pi / 2)
        for t in range(20)
        for k in range(8)
    ]
    before = {"q": tensor(1, 2, 12, 8), "q_rotated": tensor(2, 2, 12, 8)}
    return [
        diagnose("as expected", rope, plain),
        diagnose("nothing expected", {}, plain),
        diagnose("cos alone", rope, {"cos": plain["cos"]}),
        diagnose("off by one", rope, waves(16, 40, start=1)),
        diagnose("backwards", rope, waves(16, 40, sign=-1)),
        diagnose("another base", rope, waves(16, 40, base=500.0)),
        diagnose("base ignored", {"encoding": {"name": "rope", "base": 500000}}, plain),
        diagnose("a start", rope | {"start": 7}, waves(16, 40, start=7)),
        diagnose("positions", rope | {"positions": list(range(40))}, plain),
        diagnose("noise", rope, {"cos": tensor(3, 40, 8)}),
        diagnose("frequencies", rope, frequencies(16, 10000.0)),
        diagnose("frequencies in few digits", rope, frequencies(16, 10000.0, 3)),
        diagnose("frequencies of another base", {}, frequencies(16, 500000.0, 12)),
        diagnose(
            "frequencies of llama3",
            {
                "encoding": {
                    "name": "rope",
                    "base": 500000,
                    "rope_type": "llama3",
                    "factor": 8,
                    "low_freq_factor": 1,
                    "high_freq_factor": 4,
                    "original_max_position_embeddings": 8192,
                }
            },
            frequencies(16, 500000.0, 12),
        ),
        diagnose("a table to add", {"encoding": "sinusoidal"}, {"table": numbers(sine, 20, 8)}),
        diagnose(
            "a table of another layout",
            {"encoding": {"name": "sinusoidal", "layout": "concatenated"}},
            {"table": numbers(sine, 20, 8)},
        ),
        diagnose("before and after", rope | {"axes": "hsd", "layout": "half"}, before),
        diagnose(
            "heads of layers",
            rope,
            {name: tensor(seed, 2, 2, 1, 12, 8) for name, seed in (("q", 1), ("q_rotated", 2))},
        ),
        diagnose(
            "keys and values that stayed",
            rope | {"axes": "lkhsd", "layout": "half"},
            {name: tensor(3, 1, 2, 2, 6, 8) for name in ("q", "q_rotated")},
        ),
        diagnose(
            "narrower than expected",
            {"encoding": {"name": "rope", "dim": 6}},
            {"cos": tensor(1, 4, 2)},
        ),
        diagnose("a config", {"config": {"model_type": "llama", "head_dim": 16}}, plain),
        diagnose("in base64", rope, plain, form="base64"),
        post_file("diagnosis", "a file", path, {"encoding": "rope"}, plain),
    ]


# ---- positions ----------------------------------------------------------------------------------


def positions():
    def ask(label, tensors=None, **parameters):
        return post("positions", label, "/v1/positions", parameters, tensors)

    kinds = [[0, 1, 1, 1, 1, 1, 1, 0, 2, 2, 2, 2, 0]]
    seen = {
        "model_type": "qwen2_5_vl",
        "mm_token_type_ids": kinds,
        "image_grid_thw": [[1, 4, 6]],
        "video_grid_thw": [[2, 4, 2]],
        "second_per_grid_ts": [0.75],
    }
    packed = {"cu_seqlens": [0, 2, 5]}
    return [
        ask("a length", length=4),
        ask("padding", lengths=[2, 4], padding_side="left"),
        ask("packed", **packed),
        ask("an image and a video", **seen),
        ask("behind the prompt", **seen, chunk_start=12, chunk_length=3),
        ask("by the largest", **seen, continues="largest"),
        ask("packed without a reset", **packed, position_ids=[0, 1, 2, 3, 4]),
        ask("nothing known", **packed, position_ids=[0, 1, 0, 2, 1]),
        post_file(
            "positions",
            "a file",
            "/v1/positions",
            {"padding_side": "right"},
            {"lengths": numbers([2, 3], 2)},
        ),
        post(
            "refused positions",
            "a grid too many",
            "/v1/positions",
            seen | {"image_grid_thw": [[1, 4, 6], [1, 2, 2]]},
        ),
    ]


def requests():
    return [*comparisons(), *embeddings(), *layouts(), *configs(), *diagnoses(), *positions()]
