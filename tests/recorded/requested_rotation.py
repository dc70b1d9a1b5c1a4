# SPDX-License-Identifier: MIT
"""POST /v1/rotation: every layout, order of axes, dtype and body; all ways to say by how much."""

from bodies import ODD_NUMBERS, SAFETENSORS, numbers, safetensors_bytes, tensor
from request import post, post_bytes, post_file

ROTATION = "/v1/rotation"
LAYOUTS, DTYPES = ("half", "interleaved"), ("f64", "f32", "f16", "bf16")
ROPE = {"encoding": "rope", "layout": "half", "axes": "bhsd"}
SHD = {"encoding": "rope", "layout": "half", "axes": "shd", "start": 1}
AXES = {
    "bhsd": (1, 2, 3, 4),
    "bshd": (1, 3, 2, 4),
    "thd": (3, 2, 4),
    "shd": (3, 2, 4),
    "hsd": (2, 3, 4),
    "bsd": (1, 3, 8),
    "sd": (3, 8),
}
Q = {"q": tensor(1, 1, 2, 3, 4)}
Q_SHD = {"q": tensor(2, 3, 1, 4)}
MROPE = {"name": "mrope", "mrope_section": [1, 1, 2]}
GRID = numbers([0, 1, 1, 0, 0, 1, 0, 2, 3], 3, 3, dtype="i64")
LLAMA = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "rope_theta": 500000}
SCALED = {"name": "rope", "rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64}


def rotation(label, parameters, tensors=None, **rest):
    return post("rotation", label, ROTATION, parameters, tensors or Q, **rest)


def filed(label, parameters, tensors=None, kind="safetensors", **rest):
    return post_file("rotation", label, ROTATION, parameters, tensors or Q, kind, **rest)


def kinds():
    """Each layout in each dtype and body; npy has no bf16 and JSON numbers have any."""
    found = []
    for layout in LAYOUTS:
        for dtype in DTYPES:
            given = {"q": tensor(3, 1, 2, 3, 4, dtype=dtype)}
            asked = ROPE | {"layout": layout, "start": 1000}
            told = f"{layout} {dtype}"
            found += [
                rotation(f"{told} json", asked, given),
                rotation(
                    f"{told} json hf",
                    asked | {"encoding": {"name": "rope", "arithmetic": "hf"}},
                    given,
                ),
                filed(f"{told} safetensors", asked, given),
                filed(f"{told} raw", asked, given, "raw"),
            ]
            if dtype != "bf16":
                found.append(filed(f"{told} npy", asked, given, "npy"))
    return found


def axes():
    found = []
    for name, shape in AXES.items():
        width = {"dim": 4} if name in ("bsd", "sd") else {}
        asked = ROPE | {"axes": name, "start": 3} | width
        found.append(rotation(f"axes {name}", asked, {"q": tensor(4, *shape)}))
        found.append(
            filed(
                f"axes {name} wide",
                asked | {"layout": "interleaved", "dim": 32},
                {"q": tensor(5, *shape[:-1], 64 if width else 32, dtype="f16")},
            )
        )
    return found


def where():
    """Positions, offsets and packed sequences in all their forms."""
    places = numbers([5, -3, 100000], dtype="i64")
    rows = numbers([1, 2, 3, 9, 8, 7], 2, 3, dtype="i32")
    fractions = numbers([0.5, 1.25, -2.0], dtype="f64")
    two = {"q": tensor(6, 2, 1, 3, 4)}
    packed = {"encoding": "rope", "layout": "half", "axes": "thd"}
    ends = numbers([0, 1, 1, 3], dtype="i64")
    return [
        rotation("positions in a list", ROPE | {"positions": [5, -3, 0.5]}),
        rotation("positions of each row", ROPE | {"positions": [[1, 2, 3], [9, 8, 7]]}, two),
        rotation("positions as text", ROPE | {"positions": "7..9"}),
        rotation("positions as an object", ROPE | {"positions": {"start": -2, "step": 0.25}}),
        filed("positions in the query", ROPE | {"positions": "5,7..8"}),
        filed("positions as a tensor", ROPE, Q | {"positions": places}),
        filed("positions as a tensor of each row", ROPE, two | {"positions": rows}),
        filed(
            "positions as fractions", ROPE | {"positions": "tensor:mine"}, Q | {"mine": fractions}
        ),
        rotation("start and step", ROPE | {"start": 10, "step": -3}),
        rotation("far", ROPE | {"start": 9007199254740000, "dtype": "f64"}),
        rotation("delta", ROPE | {"delta": -3}),
        rotation("delta of each sequence", ROPE | {"delta": [2, -7]}, two),
        rotation("delta of each token", ROPE | {"delta": [[1, 2, 3], [0, 0, -1]]}, two),
        filed("delta as a tensor", ROPE, two | {"delta": rows}),
        rotation("packed", packed | {"cu_seqlens": [0, 1, 1, 3]}, Q_SHD),
        rotation("packed from a start", packed | {"cu_seqlens": [0, 2, 3], "start": 7}, Q_SHD),
        rotation("packed along s", ROPE | {"cu_seqlens": [0, 1, 3]}),
        filed("packed by a tensor", packed, Q_SHD | {"cu_seqlens": ends}),
        filed(
            "packed by a named tensor",
            packed | {"cu_seqlens": "tensor:ends"},
            Q_SHD | {"ends": ends},
        ),
        rotation(
            "mrope",
            {
                "encoding": MROPE,
                "layout": "half",
                "axes": "shd",
                "positions": [[0, 1, 1], [0, 0, 1], [0, 2, 3]],
            },
            {"q": tensor(7, 3, 1, 8)},
        ),
        filed(
            "mrope by a tensor",
            {
                "encoding": "mrope",
                "mrope_section": "1,1,2",
                "axes": "shd",
                "layout": "interleaved",
                "mrope_interleaved": "true",
            },
            {"q": tensor(8, 3, 1, 8), "positions": GRID},
        ),
        rotation(
            "rope-2d",
            {
                "encoding": {"name": "rope-2d", "variant": "pixtral"},
                "layout": "half",
                "axes": "shd",
                "positions": [[0, 1, 2], [2, 1, 0]],
            },
            {"q": tensor(9, 3, 1, 8)},
        ),
        rotation(
            "xpos",
            {
                "encoding": {"name": "xpos", "t_center": 1},
                "layout": "half",
                "axes": "shd",
                "start": 0,
            },
            {"q": tensor(10, 3, 1, 4), "k": tensor(11, 3, 1, 4)},
        ),
    ]


def schemes():
    """Other rope types, parts of a head, own tables, and from one scheme to another."""
    cos, sin = tensor(12, 4, 2), tensor(13, 4, 2)
    own = Q_SHD | {"cos": cos, "sin": sin}
    wide = {"q": tensor(14, 3, 2, 8)}
    return [
        rotation("yarn", ROPE | {"encoding": SCALED, "start": 60}),
        rotation(
            "yarn without its factor",
            ROPE | {"encoding": SCALED, "start": 60, "apply_attention_factor": False},
        ),
        rotation(
            "base and type at the top",
            ROPE | {"base": 100, "rope_type": "linear", "factor": 2, "start": 5},
        ),
        rotation("rotary_dim", SHD | {"rotary_dim": 4}, wide),
        rotation(
            "partial_rotary_factor interleaved",
            SHD | {"layout": "interleaved", "partial_rotary_factor": 0.75},
            wide,
        ),
        rotation("inverse", ROPE | {"start": 3, "inverse": True}),
        rotation("inverse of yarn", ROPE | {"encoding": SCALED, "start": 60, "inverse": True}),
        rotation(
            "output_layout", ROPE | {"start": 1, "layout": "interleaved", "output_layout": "half"}
        ),
        rotation(
            "output_layout of a part", SHD | {"rotary_dim": 4, "output_layout": "interleaved"}, wide
        ),
        rotation("posted cos and sin", ROPE | {"axes": "shd", "positions": [3, 0, 3]}, own),
        filed(
            "posted cos and sin, inverse",
            {
                "encoding": "rope",
                "layout": "interleaved",
                "axes": "shd",
                "start": 1,
                "inverse": "true",
            },
            own,
        ),
        rotation(
            "from and to",
            {
                "from_encoding": "rope",
                "to_encoding": SCALED,
                "axes": "bhsd",
                "layout": "half",
                "start": 11,
            },
            {"k": tensor(15, 1, 2, 3, 4)},
        ),
        filed(
            "from and to in f16",
            {
                "from_encoding": "rope",
                "to_encoding": "rope",
                "axes": "bhsd",
                "layout": "half",
                "start": 11,
            },
            {"k": tensor(15, 1, 2, 3, 4, dtype="f16")},
        ),
        rotation("config", {"config": LLAMA, "axes": "bhsd", "start": 2}),
        rotation("config beside a name", ROPE | {"config": LLAMA, "start": 2}),
        rotation(
            "encoding of a config",
            {"encoding": {"config": LLAMA, "base": 7}, "axes": "bhsd", "start": 2},
        ),
        rotation("a config as the encoding", {"encoding": LLAMA, "axes": "bhsd", "start": 2}),
        rotation("dtype f64 of f32", ROPE | {"start": 1, "dtype": "f64"}),
        rotation("dtype bf16 of f32", ROPE | {"start": 1, "dtype": "bf16"}),
        rotation(
            "layout in the encoding",
            {"encoding": {"name": "rope", "dim": 4, "layout": "half"}, "axes": "bhsd", "start": 3},
        ),
    ]


def files():
    """Names, metadata, several tensors, an axis of none, odd numbers, other formats."""
    odd = {"q": numbers(ODD_NUMBERS, 2, 2, 4, dtype="f64")}
    odd32 = {"q": dict(numbers(ODD_NUMBERS, 2, 2, 4), dtype="f32")}
    grouped = {"zebra": tensor(16, 1, 4, 3, 4), "k": tensor(17, 1, 2, 3, 4)}
    told = {
        "posenc.encoding": "rope",
        "posenc.layout": "half",
        "posenc.axes": "bhsd",
        "posenc.start": "1",
        "note": "mine",
    }
    large = {"q": tensor(18, 2, 4, 150, 64)}
    half = ROPE | {"start": 0}
    return [
        rotation("odd numbers f64", SHD, odd),
        rotation("odd numbers f32", SHD, odd32),
        rotation("several tensors", half, grouped),
        filed("several tensors in a file", half, grouped),
        rotation("base64", half, form="base64"),
        rotation("flat in", half, form="flat"),
        rotation("flat out", half, query_of={"flat": True}),
        rotation("base64 out", half, query_of={"data_format": "base64"}),
        rotation("no row", half, {"q": tensor(19, 0, 2, 3, 4)}),
        filed("no token", half, {"q": tensor(19, 1, 2, 0, 4)}),
        rotation("json to npy", half, query_of={"format": "npy"}),
        rotation("json to safetensors", half, headers={"Accept": SAFETENSORS}),
        filed("safetensors to json", half | {"format": "json"}),
        filed("safetensors to raw", half | {"format": "raw"}),
        filed("npy to json", half | {"format": "json"}, kind="npy"),
        filed("raw to safetensors", half | {"format": "safetensors", "tensor": "mine"}, kind="raw"),
        filed("download", half | {"download": "false"}),
        filed("two megabits", half, large),
        filed("the same again", half, large),
        filed("two megabits raw", half | {"layout": "interleaved"}, large, "raw"),
        post_bytes(
            "rotation",
            "parameters in the metadata",
            ROTATION,
            SAFETENSORS,
            safetensors_bytes(Q, told),
        ),
        *(
            post_bytes(
                "rotation",
                f"sniffed from {media}",
                ROTATION + "?encoding=rope&layout=half&axes=bhsd&start=0",
                media,
                safetensors_bytes(Q),
            )
            for media in ("application/x-www-form-urlencoded", "application/octet-stream", "")
        ),
    ]


def requests():
    return [*kinds(), *axes(), *where(), *schemes(), *files()]
