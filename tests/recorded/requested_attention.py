# SPDX-License-Identifier: MIT
"""POST /v1/attention: every encoding that has a part in it, every output, and the masks."""

from bodies import SAFETENSORS, tensor
from request import post, post_file

ATTENTION = "/v1/attention"
OUTPUTS = ("scores", "weights", "output")


def qkv(heads=2, key_heads=2, queries=2, keys=3, dim=4, dtype="f32"):
    return {
        "q": tensor(1, 1, heads, queries, dim, dtype=dtype),
        "k": tensor(2, 1, key_heads, keys, dim, dtype=dtype),
        "v": tensor(3, 1, key_heads, keys, dim, dtype=dtype),
    }


# name -> (the encoding, what else is said, tensors beside q, k and v)
SCHEMES = {
    "none": ("none", {}, {}),
    "rope": ("rope", {"layout": "half"}, {}),
    "rope interleaved": (
        {"name": "rope", "rotary_dim": 2, "base": 100},
        {"layout": "interleaved"},
        {},
    ),
    "yarn": (
        {"name": "rope", "rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64},
        {"layout": "half"},
        {},
    ),
    "hf": ({"name": "rope", "arithmetic": "hf"}, {"layout": "half"}, {}),
    "mrope": ({"name": "mrope", "mrope_section": [1, 1, 0]}, {"layout": "half"}, {}),
    "xpos": ({"name": "xpos", "t_center": 1}, {"layout": "half"}, {}),
    "alibi": ("alibi", {}, {}),
    "alibi slopes": ({"name": "alibi", "slopes": [1, 0.5]}, {}, {}),
    "t5": ({"name": "t5", "num_buckets": 4, "max_distance": 8}, {}, {"weights": tensor(4, 4, 2)}),
    "kerple-log": ({"name": "kerple-log", "p": [1, 0.5], "a": 0.25}, {}, {}),
    "kerple-power": ({"name": "kerple-power", "a": [1, 0.5], "p": 1.5}, {}, {}),
    "sandwich": ({"name": "sandwich", "dim": 8}, {}, {}),
    "shaw": ("shaw", {}, {"rel_k": tensor(5, 5, 4), "rel_v": tensor(6, 5, 4)}),
    "shaw i-j": ({"name": "shaw", "direction": "i-j"}, {}, {"rel_k": tensor(5, 5, 4)}),
    "shaw sinusoidal": (
        {"name": "shaw", "vectors": "sinusoidal", "max_relative_position": 2},
        {},
        {},
    ),
    "transformer-xl": (
        {"name": "transformer-xl", "dim": 6},
        {},
        {"w_r": tensor(7, 8, 6), "pos_bias_u": tensor(8, 2, 4), "pos_bias_v": tensor(9, 2, 4)},
    ),
    "transformer-xl past": (
        {"name": "transformer-xl", "direction": "past"},
        {"causal": True},
        {"w_r": tensor(7, 8, 6)},
    ),
}


def attention(label, parameters, tensors, **rest):
    return post("attention", label, ATTENTION, parameters, tensors, **rest)


def schemes():
    found = []
    for name, (encoding, said, tensors) in SCHEMES.items():
        for output in OUTPUTS:
            found.append(
                attention(
                    f"{name} {output}",
                    {"encoding": encoding, "outputs": output} | said,
                    qkv() | tensors,
                )
            )
        found.append(
            attention(
                f"{name} causal f64",
                {"encoding": encoding, "causal": True, "query_start": 1} | said,
                {key: dict(one, dtype="f64") for key, one in (qkv() | tensors).items()},
            )
        )
    return found


def forms():
    """Grouped heads, masks, scales, dtypes, formats, and sizes that take several blocks."""
    none, wide = {"encoding": "none"}, qkv(heads=4, key_heads=2, queries=40, keys=70, dim=16)
    rope = {"encoding": "rope", "layout": "half"}
    small = qkv()
    return [
        attention("grouped heads", none, qkv(heads=4)),
        attention("scale", none | {"scale": 0.25, "outputs": "scores"}, small),
        attention("before the first key", none | {"causal": True, "query_start": -1}, small),
        attention("query_start of rope", rope | {"query_start": 5, "outputs": "scores"}, small),
        attention("no query", none, qkv(queries=0), form="flat"),
        attention("no row", none, {key: tensor(1, 0, 2, 3, 4) for key in "qkv"}),
        attention(
            "scores without v", none | {"outputs": "scores"}, {key: small[key] for key in "qk"}
        ),
        attention(
            "config",
            {"outputs": "scores", "config": {"model_type": "bloom", "n_head": 2, "hidden_size": 8}},
            small,
        ),
        attention(
            "encoding of a config",
            {
                "outputs": "scores",
                "encoding": {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2},
            },
            small,
        ),
        attention("flat", none | {"outputs": "weights"}, small, query_of={"flat": True}),
        attention("raw", none, small, query_of={"format": "raw"}),
        attention("npy", none, small, query_of={"format": "npy"}),
        attention("Accept: safetensors", none, small, headers={"Accept": SAFETENSORS}),
        post_file("attention", "a file", ATTENTION, rope, small),
        post_file("attention", "a file to json", ATTENTION, rope | {"format": "json"}, small),
        *(
            post_file(
                "attention",
                f"many blocks {name} {output}",
                ATTENTION,
                {"encoding": name, "causal": "true", "outputs": output} | said,
                wide,
            )
            for name, said in (("none", {}), ("rope", {"layout": "interleaved"}), ("alibi", {}))
            for output in OUTPUTS
        ),
        *(
            post_file(
                "attention",
                f"{dtype} {output}",
                ATTENTION,
                rope | {"outputs": output},
                qkv(dtype=dtype),
            )
            for dtype in ("f64", "f16", "bf16")
            for output in OUTPUTS
        ),
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
    each = given | {"p": tensor(15, 1, 3, 6)}
    asked = {"encoding": "absolute", "heads": 2}
    found = [
        attention(f"absolute {output}", asked | {"outputs": output}, given)
        for output in (*OUTPUTS, "components")
    ]
    return found + [
        attention("absolute causal", asked | {"causal": True, "scale": 0.5}, given),
        attention("absolute of each row", {"encoding": "absolute", "outputs": "components"}, each),
        post_file("attention", "absolute in a file", ATTENTION, asked, given),
    ]


def requests():
    return [*schemes(), *forms(), *absolute()]
