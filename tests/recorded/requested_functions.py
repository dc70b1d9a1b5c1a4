# SPDX-License-Identifier: MIT
"""POST /v1/comparison, /v1/embedding, /v1/layout, /v1/config, /v1/diagnosis,
/v1/positions, /v1/lint, /v1/golden and /v1/check."""

import json
import math
import pathlib

from bodies import numbers, tensor
from request import gets, post, post_file

CONFIGS = pathlib.Path(__file__).resolve().parents[1] / "data" / "configs"


# ---- comparison ---------------------------------------------------------------------------------


def comparisons():
    def compare(label, a, b, tensors=None, **parameters):
        return post("comparison", label, "/v1/comparison", {"a": a, "b": b} | parameters, tensors)

    rope, sine = {"name": "rope", "dim": 4}, {"name": "sinusoidal", "dim": 4}
    near, shorter = rope | {"base": 9999}, sine | {"base": 100}
    mine = {"mine": numbers([0.0, 1.0, 0.75, 0.5403023], 2, 2)}
    llama = {"config": {"model_type": "llama", "head_dim": 4, "rope_theta": 100}}
    scaled = {"name": "learned", "table": "sample", "scale": 2}
    file = {"a": "tensor:cos", "b": "rope", "part": "cos"}
    each = {"per_pair": True, "per_position": True}
    return [
        compare("in f64", sine, shorter, length=4, dtype="f64", **each),
        compare("in f32", sine, shorter, length=4, dtype="f32", **each),
        compare("in f16", sine, shorter, length=4, dtype="f16", **each),
        compare("in bf16", sine, shorter, length=4, dtype="bf16", **each),
        compare("a tensor", "tensor:mine", {"name": "sinusoidal"}, mine, per_position=True),
        compare("a part", rope, near, length=3, part="cos", duplicate=True),
        compare("a config", llama, rope, length=3),
        compare("a stored table", "sample", scaled, length=4),
        post_file(
            "comparison", "a file", "/v1/comparison", file, {"cos": tensor(3, 4, 2, dtype="f16")}
        ),
    ]


# ---- engines ------------------------------------------------------------------------------------


def engines():
    lines = """
/v1/engines
/v1/engines?model_type=gpt_oss
/v1/engines?engine=keras-hub&model_type=gemma3_text
"""
    return gets("engines", lines, "")


def lints():
    def lint(label, config, **more):
        return post("lint", label, "/v1/lint", {"config": config} | more)

    sizes = {"model_type": "llama", "head_dim": 8, "num_hidden_layers": 2}
    five = sizes | {"rope_parameters": {"rope_type": "default", "rope_theta": 500000}}
    four = sizes | {"rope_theta": 500000}
    return [
        lint("a base that is not read", five, **{"for": ["mlx-lm", "transformers==5.23.0"]}),
        lint("as sarif", five, report="sarif", file="a.json", **{"for": "mlx-lm"}),
        lint(
            "a rope type that was not measured",
            four | {"rope_scaling": {"rope_type": "ntk", "factor": 2}},
            **{"for": "mlx-lm"},
        ),
        lint(
            "two configs", five, against=four | {"rope_theta": 10000, "max_position_embeddings": 64}
        ),
    ]


def extensions():
    def extension(label, config, **more):
        return post("extend", label, "/v1/extend", {"config": config} | more)

    sizes = {"model_type": "llama", "head_dim": 8, "num_hidden_layers": 2}
    llama = sizes | {"max_position_embeddings": 64, "rope_theta": 500000}
    gemma = {
        "model_type": "gemma3_text",
        "head_dim": 8,
        "num_hidden_layers": 6,
        "max_position_embeddings": 4096,
        "sliding_window": 512,
        "rope_theta": 1000000,
        "rope_local_base_freq": 10000,
    }
    return [
        extension("yarn", llama, to=256, **{"for": ["mlx-lm", "llama.cpp", "vllm"]}),
        extension("dynamic", llama, to=256, type="dynamic", **{"for": "transformers"}),
        extension("layers of a window", gemma, to=16384, **{"for": "transformers"}),
    ]


# ---- embedding ----------------------------------------------------------------------------------


def goldens():
    config = {"model_type": "llama", "head_dim": 4, "max_position_embeddings": 16}
    kind = {
        "prefix": "",
        "encoding": {"name": "rope", "dim": 4},
        "layout": "half",
        "positions": [0, 3],
    }
    posted = {"cos": tensor(1, 2, 2)}
    return [
        post("golden", "of a config", "/v1/golden", {"config": config}),
        post(
            "check",
            "another table",
            "/v1/check",
            {"golden": {"format": 1, "kinds": [kind]}},
            posted,
        ),
    ]


def embeddings():
    path, x = "/v1/embedding", {"x": tensor(4, 1, 3, 4)}
    sine = {"encoding": "sinusoidal", "start": 2}

    def embed(label, parameters, tensors=None, **rest):
        return post("embedding", label, path, parameters, tensors, **rest)

    def two(dtype):
        return {"x": tensor(4, 2, 3, 4, dtype=dtype)}

    def by(encoding):
        return {"encoding": encoding, "start": 0}

    words = {"encoding": "sinusoidal", "tokens": ["to", "be", "to", "我"], "dim": 2}
    posted = {"encoding": "learned", "table": "tensor:e", "start": 1}
    return [
        embed("add f16", sine | {"merge_mode": "add"}, two("f16")),
        embed("mul bf16", sine | {"merge_mode": "mul"}, two("bf16")),
        embed("concat f64", sine | {"merge_mode": "concat", "dim": 2}, two("f64")),
        embed("by timestep", by({"name": "timestep", "max_period": 100}), x),
        embed("by hierarchical", by({"name": "hierarchical", "table": "sample"}), x),
        embed("by sample", by("sample"), x),
        embed("by index", by("index"), {"x": tensor(4, 3, 1)}),
        embed("words behind", words | {"merge_mode": "concat"}),
        post_file("embedding", "npy", path, sine, x, "npy"),
        post_file("embedding", "raw", path, sine, x, "raw"),
        post_file("embedding", "a posted table", path, posted, x | {"e": tensor(6, 8, 4)}),
        post_file("embedding", "many rows", path, sine, {"x": tensor(7, 3, 200, 32)}),
    ]


# ---- layout -------------------------------------------------------------------------------------

LAYOUTS = """
?from_layout=meta&to_layout=half&head_dim=4&heads=2
?from_layout=neox&to_layout=gptj&head_dim=8&rotary_dim=4
?from_layout=half&to_layout=half&head_dim=4
?from_layout=interleaved&to_layout=half&head_dim=4&format=npy
?from_layout=interleaved&to_layout=half&head_dim=4&heads=3&format=raw
?from_layout=interleaved&to_layout=concatenated&head_dim=4&flat=true
"""


def layouts():
    path, to_half = "/v1/layout", {"from_layout": "interleaved", "to_layout": "half"}

    def convert(label, parameters, tensors, **rest):
        return post("layout", label, path, to_half | parameters, tensors, **rest)

    rows, table = {"kind": "projection_rows", "head_dim": 4}, {"kind": "table"}
    activations = {"kind": "activations"}
    back = {"from_layout": "half", "to_layout": "meta"}
    return [
        *gets("layout", LAYOUTS, path),
        convert(
            "activations of a part",
            activations | {"axes": "shd", "rotary_dim": 4},
            {"x": tensor(2, 2, 1, 6, dtype="f16")},
        ),
        convert(
            "heads side by side",
            activations | {"axes": "bsd", "head_dim": 4},
            {"x": tensor(3, 1, 2, 8, dtype="bf16")},
        ),
        convert("projection", rows, {"w_q": tensor(4, 8, 3), "b_q": tensor(5, 8)}),
        convert("projection of integers", rows, {"w": numbers([0, 1, 2, 3], dtype="i64")}),
        convert("back", rows | back, {"w": tensor(4, 8, 2)}),
        convert("concatenated", table | {"to_layout": "concatenated"}, {"table": tensor(6, 3, 4)}),
        post_file("layout", "npy", path, to_half | rows, {"w": tensor(7, 8, 5)}, "npy"),
        post_file("layout", "raw", path, to_half | rows, {"w": tensor(7, 8, 5)}, "raw"),
    ]


# ---- config -------------------------------------------------------------------------------------

# Files of tests/data/configs that hold between them every key of an answer; all files are compared
# line by line in tests/integration/test_config.py.
MODELS = """
gemma-3-27b bloom-3b devstral-small-2 exaone-4.0 gpt-oss-120b olmo-3.1 olmocr-2-7b phi-4-mini
qwen-7b-dynamic qwen3.5-397b t5-small
""".split()


def published(name):
    return json.loads((CONFIGS / f"{name}.json").read_text())["config"]


def configs():
    path, frequencies = "/v1/config", "/v1/encodings/rope/frequencies"
    full, sliding = {"layer_type": "full_attention"}, {"layer_type": "sliding_attention"}
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8}
    return [
        *(post("config", name, path, published(name)) for name in MODELS),
        post("config", "gemma-3-27b full", path, published("gemma-3-27b"), query_of=full),
        post("config", "olmo-3.1 sliding", path, published("olmo-3.1"), query_of=sliding),
        post(
            "config", "gpt-oss-120b frequencies", frequencies, {"config": published("gpt-oss-120b")}
        ),
        post("config", "as text", path, {"config": json.dumps(llama)}),
        post("config", "in the query", path, {}, query_of={"config": json.dumps(llama)}),
        post("config", "strict", path, llama | {"vocab_size": 7}, query_of={"strict": True}),
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


def sines():
    """A sinusoidal table, [20, 8]."""
    return [
        math.sin(t / 10000 ** (2 * (k // 2) / 8) + (k % 2) * math.pi / 2)
        for t in range(20)
        for k in range(8)
    ]


def called(*columns):
    """x and y of a function that was called with both unit vectors at positions 0, 1 and 3."""
    angles = [0, 1, 3]
    units = [column for column in ((1, 0), (0, 1)) for _ in angles]
    turned = [
        (x * math.cos(a) - y * math.sin(a), x * math.sin(a) + y * math.cos(a))
        for (x, y), a in zip(units, 2 * angles)
    ]
    turned = [[row[column] for column in columns] for row in turned]
    return {
        "x": numbers(sum(map(list, units), []), 2, 3, 2),
        "y": numbers(sum(turned, []), 2, 3, 2),
    }


def diagnoses():
    path, rope = "/v1/diagnosis", {"encoding": {"name": "rope", "base": 10000}}

    def diagnose(label, parameters, tensors, **rest):
        return post("diagnosis", label, path, parameters, tensors, **rest)

    plain, table = waves(16, 40), {"table": numbers(sines(), 20, 8)}
    llama3 = {
        "name": "rope",
        "base": 500000,
        "rope_type": "llama3",
        "factor": 8,
        "low_freq_factor": 1,
        "high_freq_factor": 4,
        "original_max_position_embeddings": 8192,
    }
    concatenated = {"encoding": {"name": "sinusoidal", "layout": "concatenated"}}
    heads = {"q": tensor(1, 2, 12, 8), "q_rotated": tensor(2, 2, 12, 8)}
    beside = {"k": tensor(4, 1, 12, 8), "k_rotated": tensor(5, 1, 12, 8)}
    layers = {"q": tensor(1, 2, 2, 1, 12, 8), "q_rotated": tensor(2, 2, 2, 1, 12, 8)}
    stayed = {"q": tensor(3, 1, 2, 2, 6, 8), "q_rotated": tensor(3, 1, 2, 2, 6, 8)}
    before = [float(i % 7) for i in range(96)]
    after = [*before[:62], 40.5, *before[63:]]
    one = {"q": numbers(before, 1, 2, 1, 6, 8), "q_rotated": numbers(after, 1, 2, 1, 6, 8)}
    return [
        diagnose("as expected", rope, plain),
        diagnose("nothing expected", {}, plain),
        diagnose("off by one", rope, waves(16, 40, start=1)),
        diagnose("backwards", rope, waves(16, 40, sign=-1)),
        diagnose("frequencies of llama3", {"encoding": llama3}, frequencies(16, 500000.0, 12)),
        diagnose("a table to add", {"encoding": "sinusoidal"}, table),
        diagnose("a table of another layout", concatenated, table),
        diagnose("before and after", rope | {"axes": "hsd", "layout": "half"}, heads),
        diagnose("heads of layers", rope, layers),
        diagnose("queries and keys", rope | {"axes": "hsd"}, heads | beside),
        diagnose("keys and values that stayed", rope | {"axes": "lkhsd", "layout": "half"}, stayed),
        diagnose("a value that changed", rope | {"axes": "lkhsd", "layout": "half"}, one),
        diagnose("a function", rope | {"layout": "half"}, called(0, 1)),
        diagnose("a function that is none", rope, called(0, 0)),
        post_file("diagnosis", "a file", path, {"encoding": "rope"}, plain),
    ]


# ---- positions ----------------------------------------------------------------------------------


def positions():
    def ask(label, **parameters):
        return post("positions", label, "/v1/positions", parameters)

    seen = {
        "model_type": "qwen2_5_vl",
        "mm_token_type_ids": [[0, 1, 1, 1, 1, 1, 1, 0, 2, 2, 2, 2, 0]],
        "image_grid_thw": [[1, 4, 6]],
        "video_grid_thw": [[2, 4, 2]],
        "second_per_grid_ts": [0.75],
    }
    made = {"mm_token_type_ids": [[0, 1, 1, 1, 1]], "image_grid_thw": [[1, 2, 2]]}
    packed, lengths = {"cu_seqlens": [0, 2, 5]}, {"lengths": numbers([2, 3], 2)}
    return [
        ask("padding", lengths=[2, 4], padding_side="left"),
        ask("behind the prompt", **seen, chunk_start=12, chunk_length=3),
        ask("by the largest", **seen, continues="largest"),
        ask("packed without a reset", **packed, position_ids=[0, 1, 2, 3, 4]),
        ask("nothing known", **packed, position_ids=[0, 1, 0, 2, 1]),
        ask("an image that is made", **made, model_type="qwen_image"),
        ask("four coordinates", **made, model_type="flux2"),
        ask(
            "an image from its corner",
            **made,
            model_type="qwen_image",
            position_ids=[[1, 0, 0, 0, 0], [1, 0, 0, 1, 1], [1, 0, 1, 0, 1]],
        ),
        post_file("positions", "a file", "/v1/positions", {"padding_side": "right"}, lengths),
        post(
            "refused positions",
            "a grid too many",
            "/v1/positions",
            seen | {"image_grid_thw": [[1, 4, 6], [1, 2, 2]]},
        ),
    ]


def requests():
    return [
        *comparisons(),
        *engines(),
        *lints(),
        *extensions(),
        *goldens(),
        *embeddings(),
        *layouts(),
        *configs(),
        *diagnoses(),
        *positions(),
    ]
