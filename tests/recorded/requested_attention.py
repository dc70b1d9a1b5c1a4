# SPDX-License-Identifier: MIT
"""POST /v1/attention: every encoding that has a part in it, every output, and the masks."""

from bodies import SAFETENSORS, tensor
from request import post, post_file

ATTENTION = "/v1/attention"


def qkv(heads=2, key_heads=2, queries=2, keys=3, dim=4, dtype="f32"):
    return {
        "q": tensor(1, 1, heads, queries, dim, dtype=dtype),
        "k": tensor(2, 1, key_heads, keys, dim, dtype=dtype),
        "v": tensor(3, 1, key_heads, keys, dim, dtype=dtype),
    }


def attention(label, encoding, more=None, tensors=None, **rest):
    given = {} if encoding is None else {"encoding": encoding}
    return post("attention", label, ATTENTION, given | (more or {}), tensors or qkv(), **rest)


def filed(label, encoding, more, tensors):
    return post_file("attention", label, ATTENTION, {"encoding": encoding} | more, tensors)


def f64(tensors):
    return {name: dict(one, dtype="f64") for name, one in tensors.items()}


def schemes():
    """Each encoding: scores, and an output where a causal mask or f64 takes another way."""
    scores, output, weights = ({"outputs": name} for name in ("scores", "output", "weights"))
    half, causal = {"layout": "half"}, {"causal": True, "query_start": 1}
    scaled = {"name": "rope", "rope_type": "yarn", "factor": 4}
    t5, buckets = {"name": "t5", "num_buckets": 4, "max_distance": 8}, tensor(4, 4, 2)
    relative = {"rel_k": tensor(5, 5, 4), "rel_v": tensor(6, 5, 4)}
    past = {"name": "transformer-xl", "direction": "past"}
    xl = {"w_r": tensor(7, 8, 6), "pos_bias_u": tensor(8, 2, 4), "pos_bias_v": tensor(9, 2, 4)}
    sines = {"name": "shaw", "vectors": "sinusoidal", "max_relative_position": 2}
    return [
        attention("none scores", "none", scores),
        attention("none output", "none", output),
        attention("rope", "rope", scores | half),
        attention("rope causal f64", "rope", causal | half, f64(qkv())),
        attention("yarn", scaled | {"original_max_position_embeddings": 64}, scores | half),
        attention("mrope", {"name": "mrope", "mrope_section": [1, 1, 0]}, output | half),
        attention("xpos", {"name": "xpos", "t_center": 1}, weights | half),
        attention("alibi causal f64", "alibi", causal, f64(qkv())),
        attention("t5 causal f64", t5, causal, f64(qkv() | {"weights": buckets})),
        attention("kerple-log", {"name": "kerple-log", "p": [1, 0.5], "a": 0.25}, output),
        attention("kerple-power", {"name": "kerple-power", "a": [1, 0.5], "p": 1.5}, scores),
        attention("sandwich", {"name": "sandwich", "dim": 8}, weights),
        attention("shaw causal f64", "shaw", causal, f64(qkv() | relative)),
        attention("shaw sinusoidal", sines, output),
        attention("transformer-xl", {"name": "transformer-xl", "dim": 6}, output, qkv() | xl),
        attention("transformer-xl past", past, weights | causal, qkv() | {"w_r": xl["w_r"]}),
    ]


def forms():
    """Grouped heads, masks, scales, dtypes, formats, and sizes that take several blocks."""
    half, scores = {"layout": "half"}, {"outputs": "scores"}
    wide, causal = qkv(heads=4, key_heads=2, queries=40, keys=70, dim=16), {"causal": "true"}
    bloom = {"model_type": "bloom", "n_head": 2, "hidden_size": 8}
    return [
        attention("grouped heads", "none", {}, qkv(heads=4)),
        attention("scale", "none", scores | {"scale": 0.25}),
        attention("before the first key", "none", {"causal": True, "query_start": -1}),
        attention("config", None, scores | {"config": bloom}),
        attention("npy", "none", query_of={"format": "npy"}),
        attention("Accept: safetensors", "none", headers={"Accept": SAFETENSORS}),
        filed("f16 output", "rope", half | {"outputs": "output"}, qkv(dtype="f16")),
        filed("bf16 output", "rope", half | {"outputs": "output"}, qkv(dtype="bf16")),
        filed("many blocks none output", "none", causal | {"outputs": "output"}, wide),
        filed("many blocks rope scores", "rope", causal | {"outputs": "scores"} | half, wide),
    ]


def absolute():
    """Embeddings and positions, projected: x, p and the weights."""
    given = {
        "x": tensor(10, 1, 3, 6),
        "p": tensor(11, 3, 6),
        "w_q": tensor(12, 4, 6),
        "w_k": tensor(13, 4, 6),
        "w_v": tensor(14, 4, 6),
    }
    heads = {"heads": 2}
    return [
        attention("absolute components", "absolute", heads | {"outputs": "components"}, given),
        attention("absolute causal", "absolute", heads | {"causal": True, "scale": 0.5}, given),
        filed("absolute in a file", "absolute", heads, given),
    ]


def requests():
    return [*schemes(), *forms(), *absolute()]
