# SPDX-License-Identifier: MIT
"""What is refused, and in which words: every status that a request alone can provoke."""

import json

from bodies import (
    JSON,
    NPY,
    RAW,
    SAFETENSORS,
    json_bytes,
    npy_bytes,
    numbers,
    safetensors_bytes,
    tensor,
)
from request import ask, gets, post, post_bytes, post_file, query

VIEWS = """
rop/table?dim=8&length=2
sinusodal
rope/tabel?dim=8&length=2
rope/analysis/decai?dim=8
rope/analysis/table?dim=8&length=2
alibi/table?heads=8&query_length=2
rope/bias?dim=8&length=2
rope/table/more
rope/table?dim=8& length=2&format=xml length=2&dtype=bf16&format=npy length=100000000
rope/table? dim=8&length=900719925474099&format=raw dim=131072&length=2 dim=8 length=8
rope/table
rope/table? dim=8&lenght=8 dim=8&lenght=8&bse=3 dim=8&length=2&q=1 dim=7&length=2 dim=0&length=2
rope/table? dim=-8&length=2 dim=8.5&length=2 dim=eight&length=2 dim=&length=2 dim=8&length=2&dim=16
rope/table?dim=8& head_dim=4&length=2 length=2&base=1 length=2&base=-3 length=2&base=1e31
rope/table?dim=8&length=2& base=nan base=1e999 dtype=f8 dtype=i64 part=tan duplicate=maybe
rope/table?dim=8&length=2& part=complex&duplicate=true flat=2 data_format=hex download=x
rope/table?dim=8&length=2& revision=another arithmetic=fast rope_type=ntkk rope_type=linear
rope/table?dim=8&length=2& rope_type=linear&factor=0 rope_type=ntk&factor=2&alpha=3 factor=2
rope/table?dim=8&length=2& mscale=1 rope_type=llama3&factor=8 rope_type=yarn&factor=4
rope/table?dim=8&length=2& rope_type=longrope&short_factor=1&long_factor=2 rotary_dim=10
rope/table?dim=8&length=2& rotary_dim=3 rotary_dim=4&partial_rotary_factor=0.25
rope/table?dim=8& positions=1,x positions=5..2 positions=1e300 positions=1..
rope/table?dim=8& positions=0..99999999999 length=2&positions=1,2 length=2&start=9007199254740991
rope/table? dim=8&length=3&step=9007199254740991 dim=8&positions=0,1;2,3 dim=%zz&length=2 dim=%00
rope/table? dim=8&length=2&config=%7B length=2&layer_type=full
rope/frequencies?dim=8&length=2
mrope/table?dim=12& length=2 mrope_section=2,2&length=2 mrope_section=2,2,1&length=2
mrope/table?dim=12&mrope_section=2,2,2&positions=0,1;2,3
mrope/table?dim=12&mrope_section=2,2,2&length=2&mrope_interleaved=true&mrope_type=chunked
rope-2d/table? dim=6&width=2&height=2 dim=8&width=2 dim=8&width=2&height=2&positions=0;1
xpos/table?dim=4& length=2 length=2&t_center=0&side=value
sinusoidal/table?dim=8&length=2& layout=half spacing=even
sinusoidal-2d/table? dim=5&height=2&width=2 dim=8&height=2&width=2&scale=2
sinusoidal-nd/table?dim=8& ndim=4&shape=1,1,1,1 ndim=2&shape=2 ndim=2
timestep/table?dim=2&length=2&downscale_freq_shift=1
index/table?length=2&dim=4
normalized/table? length=0 length=3&positions=3
binary/table?dim=2& positions=4 positions=-1 positions=0.5
periodic/table?dim=65&length=2
learned/table? length=2 table=none&length=1 table=sample&length=5 table=sample&length=1&version=9
learned/table? table=sample&positions=0.5 table=sample&length=1&dim=3 table=sampel&length=1
hierarchical/table?table=sample& length=17 length=1&alpha=1
alibi/bias? heads=0&query_length=2 heads=2147483648&query_length=2 heads=2&slopes=1&query_length=2
alibi/bias? heads=2 heads=2&query_length=2&causal=1.5
t5/bias?query_length=2& num_buckets=3&max_distance=1 dtype=f8
kerple-log/bias?heads=2& p=1,2,3&a=1&query_length=2 p=0&a=1&query_length=2
kerple-power/bias?heads=2&a=1&p=3&query_length=2
sandwich/bias?heads=2&dim=3&query_length=2
deberta-log/bias?query_length=2& position_buckets=512&max_relative_positions=8 causal=true
shaw/bias?max_relative_position=0&query_length=2
shaw/table? max_relative_position=2 max_relative_position=2&vectors=sinusoidal
rope/analysis/similarity?dim=8&length=10000000
rope/analysis/decay? dim=8 dim=8&min_offset=3&max_offset=1
rope/analysis/uniqueness?dim=8&length=1
rope/analysis/wavelengths? dim=8 dim=8&context=0
rope/analysis/error?dim=8&length=2&angle=f8
rope/analysis/shift?dim=8&position=1
"""

PATHS = [
    "/nowhere",
    "/v1/encoding",
    "/v2",
    "/v1/rotations",
    "/problems/none",
    "/?verbose=1",
    "/v1?x=1",
    "/v1/encodings?family=noble",
    "/v1/layout?from_layout=meta&to_layout=half",
    "/v1/layout?to_layout=half&head_dim=4",
    "/v1/layout?from_layout=neo&to_layout=half&head_dim=4",
    "/v1/layout?from_layout=meta&to_layout=half&head_dim=5",
    "/v1/layout?from_layout=meta&to_layout=half&head_dim=4&rotary_dim=6",
    "/%zz",
    "/%00",
]
METHODS = [
    ("POST", "/v1"),
    ("PUT", "/v1/encodings/rope/table"),
    ("DELETE", "/v1/encodings"),
    ("GET", "/v1/rotation"),
    ("PATCH", "/v1/attention"),
    ("TRACE", "/livez"),
    ("HEAD", "/v1/config"),
    ("BREW", "/"),
    ("POST", "/v1/encodings/rope"),
    ("DELETE", "/v1/encodings/rope/analysis/decay"),
]

Q = tensor(1, 1, 1, 2, 4)
GOOD = {"encoding": "rope", "layout": "half", "axes": "bhsd", "positions": {"start": 0}}
GOOD_JSON = json_bytes(GOOD, {"q": Q})

ROTATIONS = {
    "empty": b"",
    "truncated": GOOD_JSON[:-5],
    "trailing": GOOD_JSON + b"x",
    "bom": b"\xef\xbb\xbf" + GOOD_JSON,
    "bad utf-8": GOOD_JSON.replace(b"rope", b"r\xffpe"),
    "key twice": GOOD_JSON[:-1] + b',"axes":"bshd"}',
    "nan literal": GOOD_JSON.replace(b'"data":[[[[', b'"data":[[[[NaN,'),
    "deep": b"[" * 10000,
    "a list": b"[1]",
    "a number": b"7",
    "no comma": GOOD_JSON.replace(b",", b" ", 1),
    "hex number": GOOD_JSON.replace(b'"start":0', b'"start":0x1'),
    "long number": GOOD_JSON.replace(b'"start":0', b'"start":' + b"9" * 400),
    "text in data": GOOD_JSON.replace(b'"data":[[[[', b'"data":[[[["x",'),
}
CHANGES = {
    "unknown key": {"lay_out": "half"},
    "no layout": {"layout": None},
    "layout": {"layout": "neo"},
    "layout as a number": {"layout": 1},
    "no axes": {"axes": None},
    "axes": {"axes": "bhds"},
    "rank": {"axes": "shd"},
    "no positions": {"positions": None},
    "positions short": {"positions": [1]},
    "positions ragged": {"positions": [[1, 2], [3]]},
    "positions and delta": {"delta": 1},
    "position too far": {"positions": [0, 2**53]},
    "positions as an object of text": {"positions": {"start": "1"}},
    "true as a number": {"encoding": {"name": "rope", "dim": True}},
    "no such encoding": {"encoding": "ropee"},
    "no encoding": {"encoding": None},
    "no name": {"encoding": {"dim": 4}},
    "encoding as a number": {"encoding": 3},
    "not rotary": {"encoding": {"name": "alibi", "heads": 1}},
    "dim against d": {"encoding": {"name": "rope", "dim": 8}},
    "dim twice": {"encoding": {"name": "rope", "dim": 4}, "dim": 8},
    "rotary_dim too wide": {"rotary_dim": 6},
    "empty config": {"config": {}},
    "config twice": {
        "config": {"model_type": "llama", "head_dim": 4},
        "encoding": {"config": {"model_type": "llama", "head_dim": 4}},
    },
    "dtype": {"dtype": "f8"},
    "inverse": {"inverse": "yes"},
    "from without to": {"encoding": None, "from_encoding": "rope"},
    "from beside an encoding": {"from_encoding": "rope", "to_encoding": "rope"},
    "packed to the wrong end": {"cu_seqlens": [0, 3]},
    "start beside positions": {"start": 1},
    "seq_len too large": {"seq_len": 1e300},
    "delta of text": {"positions": None, "delta": "x"},
    "no such tensor": {"positions": "tensor:none"},
}
TENSORS = {
    "negative shape": {"shape": [1, 1, -2, 4]},
    "shape too large": {"shape": [2**40, 2**40, 2, 4]},
    "shape against data": {"shape": [1, 1, 2, 5]},
    "dtype": {"dtype": "f128"},
    "integers": {"dtype": "i64"},
    "no data": {"data": None},
    "shape as text": {"shape": "1,2"},
    "ragged": {"shape": None, "data": [[1, 2], [3]]},
    "base64": {"data": None, "base64": "AA!="},
    "base64 short": {"data": None, "base64": "AAAA"},
    "both": {"base64": "AAAA"},
    "unknown key": {"dtpe": "f32"},
    "number too large": {"data": [[[[1e39] * 4] * 2]]},
}


def rotations():
    def changed(told, changes, tensors):
        body = {key: value for key, value in (GOOD | changes).items() if value is not None}
        return post_bytes(
            "refused rotation", told, "/v1/rotation", JSON, json.dumps(body | tensors)
        )

    good = json.loads(GOOD_JSON)["tensors"]
    found = [
        post_bytes("refused rotation", told, "/v1/rotation", JSON, body)
        for told, body in ROTATIONS.items()
    ]
    found += [changed(told, changes, {"tensors": good}) for told, changes in CHANGES.items()]
    found += [
        changed(
            "tensor: " + told,
            {},
            {
                "tensors": {
                    "q": {
                        key: value
                        for key, value in (good["q"] | changes).items()
                        if value is not None
                    }
                }
            },
        )
        for told, changes in TENSORS.items()
    ]
    packed = {"axes": "thd", "positions": None}
    three = {"q": {"shape": [2, 1, 4], "data": [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]}}
    found += [
        changed(f"cu_seqlens {ends}", packed | {"cu_seqlens": ends}, {"tensors": three})
        for ends in ([1, 2], [0, 1], [0, 2, 1, 2], [0.5, 2], "x", [])
    ]
    cos = {"cos": {"shape": [2, 2], "data": [1, 1, 1, 1]}}
    found += [
        changed("cos without sin", {}, {"tensors": good | cos}),
        changed(
            "cos of another shape",
            {},
            {"tensors": good | cos | {"sin": {"shape": [2, 1], "data": [1, 1]}}},
        ),
        changed("no tensors", {}, {}),
        changed("tensors empty", {}, {"tensors": {}}),
        changed("tensors in a list", {}, {"tensors": [good["q"]]}),
    ]
    return found


def files():
    target = "/v1/rotation?" + query(
        {"encoding": "rope", "layout": "half", "axes": "bhsd", "start": 0}
    )
    npy, whole, raw = npy_bytes(Q), safetensors_bytes({"q": Q}), {"Tensor-Dtype": "f32"}
    shape = raw | {"Tensor-Shape": "1,1,2,4"}
    given = [
        ("npy cut", NPY, npy[:-1], {}),
        ("npy long", NPY, npy + b"\0", {}),
        ("npy magic", NPY, b"\x93NUMPX" + npy[6:], {}),
        ("npy version", NPY, npy[:6] + b"\x09" + npy[7:], {}),
        ("npy object", NPY, npy.replace(b"<f4", b"|O8"), {}),
        ("npy order", NPY, npy.replace(b"False", b"True "), {}),
        ("npy shape", NPY, npy.replace(b"(1, 1, 2, 4, )", b"(1, 1, -2, 4)"), {}),
        ("npy big-endian", NPY, npy.replace(b"<f4", b">f4"), {}),
        ("npy dict", NPY, b"\x93NUMPY\x01\x00\x02\x00()", {}),
        ("safetensors short", SAFETENSORS, b"\1\0", {}),
        ("safetensors length", SAFETENSORS, b"\xff" * 8 + b"{}", {}),
        ("safetensors cut", SAFETENSORS, whole[:-1], {}),
        ("safetensors long", SAFETENSORS, whole + b"\0", {}),
        ("safetensors gap", SAFETENSORS, whole.replace(b"[0,32]", b"[4,32]"), {}),
        ("safetensors dtype", SAFETENSORS, whole.replace(b"F32", b"F33"), {}),
        ("safetensors json", SAFETENSORS, whole.replace(b'{"q"', b'{ q "'), {}),
        (
            "safetensors of integers",
            SAFETENSORS,
            safetensors_bytes({"q": numbers([1, 2, 3, 4], 1, 1, 1, 4, dtype="i64")}),
            {},
        ),
        ("raw without shape", RAW, bytes(32), raw),
        ("raw without dtype", RAW, bytes(32), {}),
        ("raw cut", RAW, bytes(31), shape),
        ("raw long", RAW, bytes(36), shape),
        ("raw shape", RAW, bytes(32), raw | {"Tensor-Shape": "1,x"}),
        ("raw dtype", RAW, bytes(32), shape | {"Tensor-Dtype": "f31"}),
        ("csv", "text/csv", b"1,2\n", {}),
        ("xml", "application/xml", b"<q/>", {}),
        ("no type", "", b"?", {}),
        ("nothing", SAFETENSORS, b"", {}),
        ("br", SAFETENSORS, whole, {"Content-Encoding": "br"}),
        ("two codings", SAFETENSORS, whole, {"Content-Encoding": "gzip, gzip"}),
        ("not gzip", SAFETENSORS, whole, {"Content-Encoding": "gzip"}),
        ("accept", SAFETENSORS, whole, {"Accept": "text/html"}),
        ("expect", SAFETENSORS, whole, {"Expect": "tea"}),
    ]
    return [
        post_bytes("refused files", told, target, media, body, headers=headers)
        for told, media, body, headers in given
    ] + [
        post_bytes(
            "refused files",
            "twice in query and metadata",
            target,
            SAFETENSORS,
            safetensors_bytes({"q": Q}, {"posenc.layout": "interleaved"}),
        )
    ]


def attentions():
    """q and k are right but for what the label says."""
    k3, flat = tensor(2, 1, 3, 2, 4), {"dtype": "f32", "shape": [2, 4], "values": [0] * 8}
    half = dict(Q, dtype="f16")
    two, narrow = {"q": Q, "k": Q}, tensor(3, 1, 1, 2, 2)
    weights = {"encoding": {"name": "t5", "num_buckets": 4, "max_distance": 8}}
    shaw = {"encoding": {"name": "shaw", "max_relative_position": 2}}
    given = {
        "no k": ({"q": Q}, {}),
        "no v": (two, {"outputs": "output"}),
        "nothing": ({}, {}),
        "rank": ({"q": flat, "k": flat}, {}),
        "d": ({"q": Q, "k": narrow}, {}),
        "heads": ({"q": tensor(4, 1, 4, 2, 4), "k": k3}, {}),
        "dtypes": ({"q": Q, "k": half}, {}),
        "outputs": (two, {"outputs": "score"}),
        "layout": (two, {"encoding": "rope"}),
        "layout of none": (two, {"layout": "half"}),
        "rel_k": (two, {"encoding": "shaw"}),
        "rows of rel_k": (two | {"rel_k": flat}, shaw),
        "a tensor too many": (two | {"mask": Q}, {}),
        "scale": (two, {"scale": 0}),
        "weights missing": (two, weights),
        "weights": (two | {"weights": flat}, weights),
        "no query, nested": ({"q": tensor(6, 1, 2, 0, 4), "k": k3}, {}),
        "no part in it": (two, {"encoding": "sinusoidal"}),
        "unknown": (two, {"encoding": "nope"}),
        "missing": (two, {"encoding": None}),
        "causal": (two, {"causal": "x"}),
        "xl": (two | {"w_r": flat}, {"encoding": "transformer-xl"}),
        "heads of alibi": (two, {"encoding": {"name": "alibi", "heads": 3}}),
        "query_start": (two, {"query_start": 1.5}),
        "absolute without p": ({"x": tensor(5, 1, 2, 4)}, {"encoding": "absolute"}),
        "components of none": (two, {"outputs": "components"}),
    }
    return [
        post(
            "refused attention",
            told,
            "/v1/attention",
            {
                key: value
                for key, value in ({"encoding": "none", "outputs": "scores"} | more).items()
                if value is not None
            },
            tensors,
        )
        for told, (tensors, more) in given.items()
    ]


def functions():
    x, rope = {"x": tensor(1, 1, 2, 4)}, {"name": "rope", "dim": 4}
    sine, to_half = (
        {"encoding": "sinusoidal", "start": 0},
        {"from_layout": "interleaved", "to_layout": "half"},
    )
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8}
    given = [
        ("comparison", {"a": rope}, None),
        ("comparison", {"a": rope, "b": rope}, None),
        ("comparison", {"a": rope, "b": "tensor:z", "length": 2}, None),
        ("comparison", {"a": rope, "b": {"name": "sinusoidal", "dim": 4}, "length": 2}, None),
        ("comparison", {"a": rope, "b": "alibi", "length": 2}, None),
        ("comparison", {"a": {"name": "rope-2d", "dim": 8}, "b": rope, "length": 2}, None),
        ("comparison", {"a": rope, "b": rope, "length": 2, "tolerance": -1}, None),
        ("comparison", {"a": rope, "b": rope | {"dim": 6}, "length": 2}, None),
        ("embedding", sine, None),
        ("embedding", {"encoding": "sinusoidal"}, x),
        ("embedding", sine | {"encoding": "rope"}, x),
        ("embedding", sine | {"dim": 6}, x),
        ("embedding", sine | {"merge_mode": "sub"}, x),
        ("embedding", sine | {"xscale": "x"}, x),
        ("embedding", sine | {"merge_mode": "mul", "xscale": 2}, x),
        ("embedding", sine | {"tokens": ["a"]}, x),
        ("embedding", sine | {"tokens": []}, None),
        ("embedding", sine | {"tokens": [1], "dim": 2}, None),
        ("embedding", sine, x | {"y": Q}),
        ("embedding", {"encoding": "learned", "start": 0}, x),
        ("embedding", {"encoding": {"name": "learned", "table": "none"}, "start": 0}, x),
        ("embedding", {"encoding": "sample", "start": 3}, x),
        ("layout", to_half, x),
        ("layout", to_half | {"kind": "rows"}, x),
        ("layout", to_half | {"kind": "projection_rows"}, x),
        ("layout", to_half | {"kind": "projection_rows", "head_dim": 3}, x),
        ("layout", to_half | {"kind": "activations", "axes": "bhsd"}, x),
        ("layout", {"kind": "table", "to_layout": "half"}, x),
        ("config", {}, None),
        ("config", {"config": 1}, None),
        ("config", {"config": "{"}, None),
        ("config", llama | {"rope_theta": "1e4"}, None),
        ("config", llama | {"head_dim": 7}, None),
        ("config", llama | {"rope_theta": 1}, None),
        ("config", {"model_type": "gpt2"}, None),
        ("config", llama | {"num_attention_heads": 33}, None),
        ("config", llama | {"rope_scaling": {"type": "x"}}, None),
        ("config", llama | {"rope_scaling": {"type": "linear"}}, None),
        ("config", {"model_type": "nonesuch"}, None),
        ("diagnosis", {}, None),
        ("diagnosis", {"encoding": "alibi"}, {"cos": tensor(1, 4, 2)}),
        ("diagnosis", {"encoding": "rope"}, {"sin": tensor(1, 4, 2), "cos": tensor(1, 3, 2)}),
        ("diagnosis", {}, {"q": tensor(1, 4, 2)}),
        ("diagnosis", {}, {"inv_freq": Q}),
    ]

    def told(name, parameters, tensors):
        return " ".join([name, json.dumps(parameters), *(tensors or [])])

    return [
        post(
            "refused functions", told(name, parameters, tensors), f"/v1/{name}", parameters, tensors
        )
        for name, parameters, tensors in given
    ] + [
        post_file(
            "refused functions",
            "embedding of two in a file",
            "/v1/embedding",
            sine,
            x | {"y": tensor(2, 1, 2, 4)},
        ),
        *(
            post_bytes(
                "refused functions", f"config?{text}", "/v1/config?" + text, JSON, json.dumps(llama)
            )
            for text in ("strict=maybe", "bse=2", "base=1", "layer_type=full_attention")
        ),
    ]


def heads():
    """Refused for the head of the request, and by a server with narrow limits."""
    table = "/v1/encodings/rope/table?dim=8&length=4"
    found = [
        ask("refused heads", target, headers=headers)
        for target, headers in (
            (table, {"Accept": "text/html"}),
            (table, {"Accept": f"{NPY};q=0"}),
            (table + "&format=raw", {"Range": "bytes=128-"}),
            (table + "&format=raw", {"Range": "bytes=-0"}),
            ("/v1/encodings/rope/table?dim=8&length=0&format=raw", {"Range": "bytes=0-"}),
            ("/v1", {"Host": "rebound.example"}),
            ("/v1", {"Host": ""}),
            (table, {"Expect": "tea"}),
        )
    ]
    found += [
        ask(
            "refused heads",
            "/livez",
            "too many fields",
            headers={f"X-{i}": "1" for i in range(400)},
        ),
        ask(
            "refused heads",
            "/v1/rotation",
            "no room for it",
            "POST",
            {"Content-Type": SAFETENSORS, "Content-Length": str(2**40)},
        ),
        # The HTTP library's own answer, in its words.
        ask(
            "refused heads",
            "/v1/rotation",
            "a length that is no number",
            "POST",
            {"Content-Type": SAFETENSORS, "Content-Length": "-1"},
            loose=True,
        ),
    ]
    sent = {"encoding": "rope", "layout": "half", "axes": "sd", "dim": 4, "start": 0}
    path = "/p/v1/rotation"
    found += [
        ask("refused narrow", "/p/v1/encodings/" + target, server="narrow")
        for target in (
            "rope/table?dim=128&length=1",
            "rope/table?dim=64&length=2",
            "rope/table?dim=64&length=400&format=raw",
            "rope/analysis/similarity?dim=64&length=90&format=npy&dtype=f64",
            "alibi/bias?heads=8&query_length=20",
        )
    ]
    return found + [
        post(
            "refused narrow", "json too large", path, sent, {"q": tensor(1, 90, 4)}, server="narrow"
        ),
        post_file(
            "refused narrow",
            "body too large",
            path,
            sent,
            {"q": tensor(1, 300, 4)},
            server="narrow",
        ),
        post_file(
            "refused narrow",
            "too many tensors",
            path,
            sent,
            {name: tensor(1, 1, 4) for name in "abc"},
            server="narrow",
        ),
    ]


def requests():
    return [
        *gets("refused views", VIEWS),
        *(ask("refused paths", target) for target in PATHS),
        *(ask("refused methods", target, method=method) for method, target in METHODS),
        *rotations(),
        *files(),
        *attentions(),
        *functions(),
        *heads(),
    ]
