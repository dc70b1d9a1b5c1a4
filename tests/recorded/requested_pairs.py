# SPDX-License-Identifier: MIT
"""Attention with each pair of its options, by turns over encodings, outputs and dtypes; diagnoses
of rotations with a mistake each; observed caches of many heads; comparisons by each way of
computing."""

import itertools
import math
import random

from bodies import numbers, tensor
from request import post

# ---- attention ----------------------------------------------------------------------------------

HEADS, KEY_HEADS, QUERIES, KEYS, DIM = 4, 2, 5, 7, 8

OPTIONS = {
    "causal": ({"causal": True}, {}),
    "a start": ({"query_start": 3}, {}),
    "a window": ({"window_left": 2, "window_right": 1}, {}),
    "a scale": ({"scale": 0.3}, {}),
    "a cap": ({"softcap": 1.5}, {}),
    "sinks": ({}, {"sinks": numbers([0.5, -1, 2, 0], HEADS)}),
    "a bias": ({}, {"bias": tensor(21, HEADS, QUERIES, KEYS)}),
    "a mask": ({}, {"mask": numbers([i % 3 > 0 for i in range(35)], QUERIES, KEYS, dtype="bool")}),
    "norms": ({"norm_epsilon": 0.125}, {"q_norm": tensor(22, DIM), "k_norm": tensor(23, DIM)}),
    "a temperature": (
        {"temperature_strength": 0.5, "temperature_length": 2, "temperature_offset": 1},
        {},
    ),
}
SCHEMES = (
    {"encoding": "none"},
    {"encoding": {"name": "rope", "base": 100}, "layout": "half"},
    {"encoding": "alibi"},
    {"encoding": {"name": "shaw", "vectors": "sinusoidal", "max_relative_position": 2}},
    {"encoding": {"name": "sandwich", "dim": 8}},
    {"encoding": {"name": "rope", "rotary_dim": 4}, "layout": "interleaved"},
)
OUTPUTS = ("output", "weights", "scores")
DTYPES = ("f32", "f64", "f32", "f32")


def qkv(dtype):
    return {
        "q": tensor(31, 1, HEADS, QUERIES, DIM, dtype=dtype),
        "k": tensor(32, 1, KEY_HEADS, KEYS, DIM, dtype=dtype),
        "v": tensor(33, 1, KEY_HEADS, KEYS, DIM, dtype=dtype),
    }


def attentions():
    found = []
    for index, (one, other) in enumerate(itertools.combinations(OPTIONS, 2)):
        for turn in range(3):
            at = 3 * index + turn
            scheme = SCHEMES[at % len(SCHEMES)]
            parameters = scheme | OPTIONS[one][0] | OPTIONS[other][0]
            parameters["outputs"] = OUTPUTS[(at // len(SCHEMES) + turn) % len(OUTPUTS)]
            dtype = DTYPES[at % len(DTYPES)]
            tensors = OPTIONS[one][1] | OPTIONS[other][1]
            tensors = {
                name: more if more["dtype"] == "bool" else more | {"dtype": dtype}
                for name, more in tensors.items()
            }
            tensors |= qkv(dtype)
            found.append(
                post("pairs", f"{one} and {other} {turn}", "/v1/attention", parameters, tensors)
            )
    return found


# ---- diagnosis ----------------------------------------------------------------------------------


def turned(x, place, base=10000.0, layout="half", sign=1, scale=1.0, rotary=None, factor=1.0):
    rotary = rotary or len(x)
    out = list(x)
    for pair in range(rotary // 2):
        i, j = (pair, pair + rotary // 2) if layout == "half" else (2 * pair, 2 * pair + 1)
        angle = place / factor * base ** (-2 * pair / rotary)
        c, s = math.cos(angle), sign * math.sin(angle)
        out[i], out[j] = scale * (x[i] * c - x[j] * s), scale * (x[j] * c + x[i] * s)
    return out


MISTAKES = {
    "right": {},
    "another base": {"base": 500000.0},
    "another layout": {"layout": "interleaved"},
    "backwards": {"sign": -1},
    "a factor": {"scale": 1.25},
    "a part": {"rotary": 4},
    "slower": {"factor": 4.0},
    "slower and another layout": {"factor": 2.0, "layout": "interleaved"},
}


def rows(shape, seed):
    one = tensor(seed, *shape)
    return [one["values"][i : i + shape[-1]] for i in range(0, len(one["values"]), shape[-1])]


def diagnoses():
    expected = {"encoding": {"name": "rope", "base": 10000}, "layout": "half"}
    found = []
    for index, (label, mistake) in enumerate(MISTAKES.items()):
        for start, more in ((0, {}), (3, {"start": 2})):
            shape = (2, 12, 8)
            x = rows(shape, 40 + index)
            y = [turned(row, start + i % 12, **mistake) for i, row in enumerate(x)]
            tensors = {"q": numbers(sum(x, []), *shape), "q_rotated": numbers(sum(y, []), *shape)}
            found.append(
                post(
                    "pairs",
                    f"diagnosis of {label} from {start}",
                    "/v1/diagnosis",
                    expected | {"axes": "hsd"} | more,
                    tensors,
                )
            )
    return found


def axes_diagnoses():
    """Heads of mrope, each pair by the coordinate of its section, and mistakes in coordinates."""
    places = [[0, 1, 2, 2, 2, 2, 3, 4], [0, 1, 2, 2, 3, 3, 4, 5], [0, 1, 2, 3, 2, 3, 5, 6]]
    sections = (0, 1, 2, 2)
    mistakes = {
        "right": lambda axis, token: places[axis][token],
        "rows and columns exchanged": lambda axis, token: places[(0, 2, 1)[axis]][token],
        "one late": lambda axis, token: places[axis][token] + 1,
        "text alone": lambda axis, token: token,
        "the first coordinate alone": lambda axis, token: places[0][token],
    }
    expected = {
        "encoding": {"name": "mrope", "mrope_section": [1, 1, 2]},
        "layout": "half",
        "axes": "hsd",
        "positions": places,
    }
    shape = (2, 8, 8)
    x = rows(shape, 70)
    found = []
    for label, place in mistakes.items():
        y = []
        for i, row in enumerate(x):
            out = list(row)
            for pair, axis in enumerate(sections):
                turn = turned(row, place(axis, i % 8))
                out[pair], out[pair + 4] = turn[pair], turn[pair + 4]
            y.append(out)
        tensors = {"q": numbers(sum(x, []), *shape), "q_rotated": numbers(sum(y, []), *shape)}
        found.append(
            post("pairs", f"diagnosis of axes, {label}", "/v1/diagnosis", expected, tensors)
        )
    return found


def caches():
    """Keys of layers, sequences and heads, where one differs in something; values that changed."""
    shape = (2, 2, 2, 6, 8)  # layers, keys and values, heads, tokens, a head
    expected = {"encoding": {"name": "rope", "base": 10000}, "layout": "half", "axes": "lkhsd"}
    found = []
    for label, mistake in MISTAKES.items():
        for layer, head, value in ((0, 0, False), (1, 1, False), (1, 0, True)):
            x = rows(shape, 60)
            y = []
            for i, row in enumerate(x):
                token, at_head, kind, at_layer = i % 6, i // 6 % 2, i // 12 % 2, i // 24
                chosen = (at_layer, at_head) == (layer, head)
                if kind == 0:
                    y.append(turned(row, token, **(mistake if chosen and not value else {})))
                else:
                    y.append(turned(row, token, **mistake) if chosen and value else row)
            tensors = {"q": numbers(sum(x, []), *shape), "q_rotated": numbers(sum(y, []), *shape)}
            where = f"{'values' if value else 'keys'} of layer {layer}, head {head}"
            found.append(
                post("pairs", f"a cache: {label}, {where}", "/v1/diagnosis", expected, tensors)
            )
    return found


# ---- comparison ---------------------------------------------------------------------------------

WAYS = ("none", "f32-angle", "bf16-cache", "f16-q")
COMPARED = (
    {"name": "rope", "dim": 8},
    {"name": "rope", "dim": 8, "rope_type": "linear", "factor": 4},
    {"name": "sinusoidal", "dim": 8},
    {"name": "timestep", "dim": 8},
    {"name": "rope", "dim": 8, "rope_type": "dynamic", "factor": 4, "max_position_embeddings": 9},
    {"name": "all-sin", "dim": 8},
    {"name": "transformer-xl", "dim": 8},
)


def comparisons():
    draw = random.Random(5)
    found = []
    for scheme, way in itertools.product(COMPARED, WAYS):
        start = draw.choice((0, 1, 1000, 70000))
        width = 4 if scheme["name"] == "rope" else 8
        label = f"{scheme['name']} {scheme.get('rope_type', '')} {way}"
        tensors = {"x": tensor(start + 7, 3, width)}
        more = {"part": "cos"} if width == 4 else {}
        found.append(
            post(
                "pairs",
                f"comparison of {label}",
                "/v1/comparison",
                {"a": "tensor:x", "b": scheme, "start": start, "tolerance_of": way}
                | {"per_element": way != "none", "per_pair": True, "per_position": True}
                | more,
                tensors,
            )
        )
    return found


def requests():
    return [*attentions(), *diagnoses(), *axes_diagnoses(), *caches(), *comparisons()]
