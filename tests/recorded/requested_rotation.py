# SPDX-License-Identifier: MIT
"""POST /v1/rotation: layouts, orders of axes, dtypes, bodies, and all ways to say by how much."""

from bodies import ODD_NUMBERS, SAFETENSORS, numbers, safetensors_bytes, tensor
from request import post, post_bytes, post_file

ROTATION = "/v1/rotation"
BHSD = {"layout": "half", "axes": "bhsd"}
ROPE = {"encoding": "rope"} | BHSD
NEIGHBOURS = ROPE | {"layout": "interleaved"}
SHD = {"encoding": "rope", "layout": "half", "axes": "shd", "start": 1}
Q = {"q": tensor(1, 1, 2, 3, 4)}
LLAMA = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "rope_theta": 500000}
SCALED = {"name": "rope", "rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64}


def rotation(label, parameters, tensors=None, **rest):
    return post("rotation", label, ROTATION, parameters, tensors or Q, **rest)


def filed(label, parameters, tensors=None, kind="safetensors", **rest):
    return post_file("rotation", label, ROTATION, parameters, tensors or Q, kind, **rest)


def q(*shape, dtype="f32", seed=3):
    return {"q": tensor(seed, *shape, dtype=dtype)}


def kinds():
    """Both layouts, every dtype and every body."""
    hf = {"encoding": {"name": "rope", "arithmetic": "hf"}, "start": 1000}
    return [
        rotation("half f32 json hf", ROPE | hf, q(1, 2, 3, 4)),
        rotation("interleaved bf16 json hf", NEIGHBOURS | hf, q(1, 2, 3, 4, dtype="bf16")),
        filed(
            "interleaved f16 npy", NEIGHBOURS | {"start": 1000}, q(1, 2, 3, 4, dtype="f16"), "npy"
        ),
        filed("half f32 raw", ROPE | {"start": 1000}, q(1, 2, 3, 4), "raw"),
    ]


def axes():
    """Each order of axes; without an axis of heads, dim says how wide one is."""
    wide = NEIGHBOURS | {"start": 3}
    return [
        rotation("axes bshd", ROPE | {"axes": "bshd", "start": 3}, q(1, 3, 2, 4)),
        rotation("axes bsd", ROPE | {"axes": "bsd", "start": 3, "dim": 4}, q(1, 3, 8)),
        filed("axes sd wide", wide | {"axes": "sd", "dim": 32}, q(3, 64, dtype="f16")),
    ]


def where():
    """Positions, offsets and packed sequences in all their forms."""
    rows = numbers([1, 2, 3, 9, 8, 7], 2, 3, dtype="i32")
    grid = numbers([0, 1, 1, 0, 0, 1, 0, 2, 3], 3, 3, dtype="i64")
    ends = numbers([0, 1, 1, 3], dtype="i64")
    two, three = q(2, 1, 3, 4, seed=6), q(3, 1, 4, seed=2)
    packed = {"encoding": "rope", "layout": "half", "axes": "thd"}
    shd = {"layout": "half", "axes": "shd"}
    return [
        rotation("positions of each row", ROPE | {"positions": [[1, 2, 3], [9, 8, 7]]}, two),
        rotation("positions as an object", ROPE | {"positions": {"start": -2, "step": 0.25}}),
        filed("positions in the query", ROPE | {"positions": "5,7..8"}),
        rotation("start and step", ROPE | {"start": 10, "step": -3}),
        rotation("far", ROPE | {"start": 9007199254740000, "dtype": "f64"}),
        filed("delta as a tensor", ROPE, two | {"delta": rows}),
        filed("packed by a tensor", packed, three | {"cu_seqlens": ends}),
        filed(
            "mrope by a tensor",
            {"encoding": "mrope", "mrope_section": "1,1,2", "mrope_interleaved": "true"}
            | {"axes": "shd", "layout": "interleaved"},
            q(3, 1, 8, seed=8) | {"positions": grid},
        ),
        rotation(
            "rope-2d",
            {
                "encoding": {"name": "rope-2d", "variant": "pixtral"},
                "positions": [[0, 1, 2], [2, 1, 0]],
            }
            | shd,
            q(3, 1, 8, seed=9),
        ),
        rotation(
            "rope-nd",
            {
                "encoding": {"name": "rope-nd", "axes_dim": [2, 2, 4], "base": 256},
                "positions": [[0, 0, 1], [-1, 0, 1], [2.5, 1, 0]],
            }
            | shd,
            q(3, 1, 8, seed=9),
        ),
        rotation(
            "xpos",
            {"encoding": {"name": "xpos", "t_center": 1}, "start": 0} | shd,
            {"q": tensor(10, 3, 1, 4), "k": tensor(11, 3, 1, 4)},
        ),
    ]


def schemes():
    """Other rope types, parts of a head, own tables, and from one scheme to another."""
    own = q(3, 1, 4, seed=2) | {"cos": tensor(12, 4, 2), "sin": tensor(13, 4, 2)}
    wide = q(3, 2, 8, seed=14)
    yarn = ROPE | {"encoding": SCALED, "start": 60}
    return [
        rotation("yarn without its factor", yarn | {"apply_attention_factor": False}),
        rotation(
            "partial_rotary_factor interleaved",
            SHD | {"layout": "interleaved", "partial_rotary_factor": 0.75},
            wide,
        ),
        rotation("output_layout", NEIGHBOURS | {"start": 1, "output_layout": "half"}),
        rotation(
            "output_layout of a part", SHD | {"rotary_dim": 4, "output_layout": "interleaved"}, wide
        ),
        filed(
            "posted cos and sin, inverse", SHD | {"layout": "interleaved", "inverse": "true"}, own
        ),
        filed(
            "from and to in f16",
            {"from_encoding": "rope", "to_encoding": "rope", "start": 11} | BHSD,
            {"k": tensor(15, 1, 2, 3, 4, dtype="f16")},
        ),
        rotation(
            "encoding of a config",
            {"encoding": {"config": LLAMA, "base": 7}, "axes": "bhsd", "start": 2},
        ),
    ]


def files():
    """Metadata, several tensors, an empty axis, odd numbers, and other formats in the answer."""
    odd = {"q": numbers(ODD_NUMBERS, 2, 2, 4, dtype="f64")}
    odd32 = {"q": numbers(ODD_NUMBERS, 2, 2, 4)}
    grouped = {"zebra": tensor(16, 1, 4, 3, 4), "k": tensor(17, 1, 2, 3, 4)}
    metadata = {
        "posenc.encoding": "rope",
        "posenc.layout": "half",
        "posenc.axes": "bhsd",
        "posenc.start": "1",
        "note": "mine",
    }
    large = q(2, 4, 150, 64, seed=18)
    at_0 = ROPE | {"start": 0}
    target = ROTATION + "?encoding=rope&layout=half&axes=bhsd&start=0"
    form = "application/x-www-form-urlencoded"
    return [
        rotation("odd numbers f64", SHD, odd),
        rotation("odd numbers f32", SHD, odd32),
        filed("several tensors in a file", at_0, grouped),
        rotation("base64 out", at_0, query_of={"data_format": "base64"}),
        filed("no token", at_0, q(1, 2, 0, 4)),
        rotation("json to npy", at_0, query_of={"format": "npy"}),
        filed("safetensors to raw", at_0 | {"format": "raw"}),
        filed("raw to safetensors", at_0 | {"format": "safetensors", "tensor": "mine"}, kind="raw"),
        filed("two megabits", at_0, large),
        post_bytes(
            "rotation",
            "parameters in the metadata",
            ROTATION,
            SAFETENSORS,
            safetensors_bytes(Q, metadata),
        ),
        post_bytes("rotation", "sniffed from a form", target, form, safetensors_bytes(Q)),
        post_bytes("rotation", "sniffed from no type", target, "", safetensors_bytes(Q)),
    ]


def requests():
    return [*kinds(), *axes(), *where(), *schemes(), *files()]
