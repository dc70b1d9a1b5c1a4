# SPDX-License-Identifier: MIT
"""Each tensor that a recorded request posts, absent, of another dtype and of other shapes: what is
refused, in its words."""

import json
import math

import requested_attention
import requested_edges
import requested_functions
import requested_pairs
import requested_rotation
from bodies import JSON, json_bytes, numbers, tensor
from request import post, post_bytes

PARTS = (
    requested_rotation,
    requested_attention,
    requested_functions,
    requested_edges,
    requested_pairs,
)
ELEMENTS_MAX = 2000  # of a tensor; a larger one is refused in the same words


def is_small(one):
    return "shape" in one and "dtype" in one and 0 < math.prod(one["shape"]) <= ELEMENTS_MAX


def q_and_k(length=3, dim=4):
    return {name: tensor(seed, 1, 2, length, dim) for seed, name in enumerate("qk", 1)}


def rare():
    """Tensors that no request of the other parts posts as JSON: a path and a body each."""
    deberta = {"name": "deberta-log", "position_buckets": 4, "max_relative_positions": 8}
    distances = {"pos_key": tensor(3, 8, 8), "pos_query": tensor(4, 8, 8)}
    circle = {"cos": tensor(5, 3, 2), "sin": tensor(6, 3, 2)}
    ends = {"cu_seqlens": numbers([0, 1, 3], dtype="i32")}
    half = {"encoding": {"name": "rope"}, "layout": "half", "axes": "bhsd", "start": 0}
    return [
        ("/v1/attention", {"encoding": deberta, "outputs": "scores"}, q_and_k() | distances),
        ("/v1/attention", {"encoding": "none", "outputs": "scores"}, q_and_k() | ends),
        ("/v1/rotation", half, q_and_k() | circle),
        ("/v1/diagnosis", {}, {"freqs_cis": tensor(7, 3, 2, 2)}),
    ]


def bodies_posted():
    for path, parameters, tensors in rare():
        yield path, json.loads(json_bytes(parameters, tensors))
    for request in (request for part in PARTS for request in part.requests()):
        is_json = dict(request.headers).get("Content-Type") == JSON
        if is_json and "?" not in request.target and not request.group.startswith("refused"):
            yield request.target, json.loads(request.body)


def bases():
    """The first request that posts each tensor to each route: its body."""
    found = {}
    for path, body in bodies_posted():
        tensors = body.get("tensors")
        if isinstance(tensors, dict) and all(map(is_small, tensors.values())):
            for name in tensors:
                found.setdefault((path, name), body)
    return found


def shaped(one, shape):
    return {"dtype": one["dtype"], "shape": shape, "data": [0.5] * math.prod(shape)}


def changes(one):
    """What the tensor becomes, by what changes; None: it is absent."""
    shape = one["shape"]
    return {
        "absent": None,
        "of another dtype": shaped(one | {"dtype": "f16"}, shape),
        "of integers": {"dtype": "i64", "shape": shape, "data": [1] * math.prod(shape)},
        "with an axis more": shaped(one, [1, *shape]),
        "with an axis less": shaped(one, shape[1:]),
        "with a row more": shaped(one, [shape[0] + 1, *shape[1:]]),
        "with a column more": shaped(one, [*shape[:-1], shape[-1] + 1]),
    }


def foreign():
    """Tensors of one encoding beside each other one, and beside none."""
    own = {name: tensor(8, 2, 4) for name in ("rel_k", "rel_v", "w_r", "pos_key", "pos_query")}
    own |= {name: tensor(9, 2, 4) for name in ("pos_bias_u", "pos_bias_v", "weights")}
    encodings = (
        "none",
        {"name": "rope"},
        {"name": "alibi"},
        {"name": "shaw", "max_relative_position": 2},
        {"name": "transformer-xl", "dim": 4},
        {"name": "deberta-log", "position_buckets": 4, "max_relative_positions": 8},
        {"name": "t5", "num_buckets": 4, "max_distance": 8},
    )
    found = []
    for encoding in encodings:
        label = encoding if isinstance(encoding, str) else encoding["name"]
        given = {"encoding": encoding, "outputs": "scores"}
        given |= {"layout": "half"} if label == "rope" else {}
        for name, one in own.items():
            tensors = q_and_k() | {name: one}
            found.append(post("tensors", f"{name} beside {label}", "/v1/attention", given, tensors))
    return found


def rotations():
    """Every dtype by every arithmetic and layout, near and far, of an odd number of heads."""
    scaled = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64}
    schemes = {
        "rope": {"name": "rope"},
        "rope in float32": {"name": "rope", "arithmetic": "hf"},
        "yarn in float32": {"name": "rope", "arithmetic": "hf"} | scaled,
        "a part": {"name": "rope", "rotary_dim": 4},
        "mrope in float32": {"name": "mrope", "mrope_section": [2, 1, 1], "arithmetic": "hf"},
    }
    return [
        post(
            "tensors",
            f"{label}, {dtype}, {layout}, from {start}",
            "/v1/rotation",
            {"encoding": scheme, "layout": layout, "axes": "hsd", "start": start},
            {"q": tensor(10, 3, 2, 8, dtype=dtype)},
        )
        for label, scheme in schemes.items()
        for dtype in ("f64", "f32", "f16")
        for layout in ("half", "interleaved")
        for start in (1, 70001)
    ]


def requests():
    found = [*foreign(), *rotations()]
    for (path, name), body in bases().items():
        others = {other: body["tensors"][other] for other in body["tensors"] if other != name}
        for change, changed in changes(body["tensors"][name]).items():
            tensors = others if changed is None else others | {name: changed}
            text = json.dumps(body | {"tensors": tensors})
            found.append(post_bytes("tensors", f"{path} {name} {change}", path, JSON, text))
    return found
