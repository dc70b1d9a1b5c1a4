# SPDX-License-Identifier: MIT
"""Each kind of refusal in its words: every status that a request alone can provoke. Sentences that
tests of their own hold are left out here."""

import json

from bodies import JSON, NPY, RAW, SAFETENSORS, json_bytes, npy_bytes, safetensors_bytes, tensor
from request import ask, gets, post, post_bytes, post_file

VIEWS = """
rope/tabel?dim=8&length=2
rope/analysis/decai?dim=8
alibi/table?heads=8&query_length=2
rope/table/more
rope/table?dim=8&length=2&format=xml
rope/table?dim=8&length=2&dtype=bf16&format=npy
rope/table?dim=8
rope/table?dim=8&length=2&base=1e999
rope/table?dim=8&length=2&dtype=f8
rope/table?dim=8&length=2&revision=another
rope/table?dim=8&length=2&rope_type=ntkk
rope/table?dim=8&length=2&rope_type=ntk&factor=2&alpha=3
rope/table?dim=8&length=2&rope_type=yarn&factor=4
rope/table?dim=8&length=2&rope_type=longrope&short_factor=1&long_factor=2
rope/table?dim=8&length=2&rotary_dim=4&partial_rotary_factor=0.25
rope/table?dim=8&positions=1..
rope/table?dim=8&positions=0..99999999999
rope/table?dim=8&length=3&step=9007199254740991
rope/table?dim=%00
mrope/table?dim=12&mrope_section=2,2&length=2
mrope/table?dim=12&mrope_section=2,2,1&length=2
mrope/table?dim=12&mrope_section=2,2,2&positions=0,1;2,3
mrope/table?dim=12&mrope_section=2,2,2&length=2&mrope_interleaved=true&mrope_type=chunked
rope-2d/table?dim=6&width=2&height=2
rope-2d/table?dim=8&width=2
rope-nd/table?axes_dim=3,4&shape=2,2
rope-nd/table?axes_dim=4,4&length=2
rope-nd/table?axes_dim=4,4&axes_coordinates=centres&shape=2,2
rope-nd/table?axes_dim=4,4&axes_coordinates=ends&axes_size=1,2&shape=1,2
rope-nd/table?axes_dim=4,4&axes_coordinates=fractions&axes_size=20,20&shape=2,2&origin=0.1,0
sinusoidal-2d/table?dim=5&height=2&width=2
sinusoidal-2d/table?dim=8&height=2&width=2&scale=2
sinusoidal-2d/table?dim=8&height=4&width=2&variant=mae&max_size=3
sinusoidal-nd/table?dim=8&ndim=2&shape=2
sinusoidal-nd/table?dim=8&ndim=2
fourier/table?coordinates=1
fourier/table?ndim=2&matrix=1,2;3,4;5,6&coordinates=1,2
timestep/table?dim=2&length=2&downscale_freq_shift=1
normalized/table?length=3&positions=3
binary/table?dim=2&positions=4
periodic/table?dim=65&length=2
learned/table?table=sampel&length=1
alibi/bias?heads=2&slopes=1&query_length=2
alibi/bias?heads=2
t5/bias?query_length=2&num_buckets=3&max_distance=1
kerple-log/bias?heads=2&p=1,2,3&a=1&query_length=2
sandwich/bias?heads=2&dim=3&query_length=2
shaw/table?max_relative_position=2
rope/analysis/decay?dim=8&min_offset=3&max_offset=1
rope/analysis/uniqueness?dim=8&length=1
"""

PATHS = """
/nowhere
/v1/encoding
/v2
/v1/rotations
/problems/none
/v1/encodings?family=noble
/v1/engines?engine=mlx-lm==0.1&model_type=llama
/v1/engines?engine=mlx
/v1/engines?model_type=no_such_type
/v1/layout?from_layout=meta&to_layout=half
/v1/layout?from_layout=meta&to_layout=half&head_dim=4&rotary_dim=6
/%zz
"""


def methods():
    def refused(method, target):
        return ask("refused methods", target, method=method)

    return [
        refused("POST", "/v1"),
        refused("PUT", "/v1/encodings/rope/table"),
        refused("GET", "/v1/rotation"),
        refused("TRACE", "/livez"),
        refused("HEAD", "/v1/config"),
        refused("BREW", "/"),
    ]


Q = tensor(1, 1, 1, 2, 4)
GOOD = {"encoding": "rope", "layout": "half", "axes": "bhsd", "positions": {"start": 0}}
GOOD_JSON = json_bytes(GOOD, {"q": Q})
GOOD_TENSORS = json.loads(GOOD_JSON)["tensors"]


def without_none(parameters):
    return {name: value for name, value in parameters.items() if value is not None}


def rotations():
    """A good rotation in JSON but for one thing; None leaves a parameter out."""

    def body(label, text):
        return post_bytes("refused rotation", label, "/v1/rotation", JSON, text)

    def changed(label, **changes):
        return body(label, json.dumps(without_none(GOOD | {"tensors": GOOD_TENSORS} | changes)))

    def tensor_changed(label, **changes):
        one = without_none(GOOD_TENSORS["q"] | changes)
        return changed("tensor: " + label, tensors={"q": one})

    def packed(label, ends):
        three = {"q": {"shape": [2, 1, 4], "data": [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]}}
        return changed(label, axes="thd", positions=None, cu_seqlens=ends, tensors=three)

    llama = {"model_type": "llama", "head_dim": 4}
    cos = GOOD_TENSORS | {"cos": {"shape": [2, 2], "data": [1, 1, 1, 1]}}
    narrow = cos | {"sin": {"shape": [2, 1], "data": [1, 1]}}
    return [
        body("bom", b"\xef\xbb\xbf" + GOOD_JSON),
        body("deep", b"[" * 10000),
        body("text in data", GOOD_JSON.replace(b'"data":[[[[', b'"data":[[[["x",')),
        changed("unknown key", lay_out="half"),
        changed("no axes", axes=None),
        changed("positions ragged", positions=[[1, 2], [3]]),
        changed("position too far", positions=[0, 2**53]),
        changed("no such encoding", encoding="ropee"),
        changed("no name", encoding={"dim": 4}),
        changed("encoding as a number", encoding=3),
        changed("dim twice", encoding={"name": "rope", "dim": 4}, dim=8),
        changed("rotary_dim too wide", rotary_dim=6),
        changed("config twice", config=llama, encoding={"config": llama}),
        changed("dtype", dtype="f8"),
        changed("delta of text", positions=None, delta="x"),
        tensor_changed("negative shape", shape=[1, 1, -2, 4]),
        tensor_changed("shape against data", shape=[1, 1, 2, 5]),
        tensor_changed("integers", dtype="i64"),
        tensor_changed("no data", data=None),
        tensor_changed("base64", data=None, base64="AA!="),
        tensor_changed("both", base64="AAAA"),
        tensor_changed("number too large", data=[[[[1e39] * 4] * 2]]),
        packed("cu_seqlens falls", [0, 2, 1, 2]),
        packed("cu_seqlens of nothing", []),
        changed("cos without sin", tensors=cos),
        changed("cos of another shape", tensors=narrow),
        changed("tensors in a list", tensors=[GOOD_TENSORS["q"]]),
    ]


def files():
    """A good body of each format but for some bytes or a header."""
    target = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0"

    def refused(label, media, body, headers=None):
        return post_bytes("refused files", label, target, media, body, headers=headers)

    def header(label, name, value):
        return refused(label, SAFETENSORS, full, {name: value})

    npy, full = npy_bytes(Q), safetensors_bytes({"q": Q})
    twice = safetensors_bytes({"q": Q}, {"posenc.layout": "interleaved"})
    f32 = {"Tensor-Dtype": "f32"}
    shape = f32 | {"Tensor-Shape": "1,1,2,4"}
    return [
        refused("npy magic", NPY, b"\x93NUMPX" + npy[6:]),
        refused("npy version", NPY, npy[:6] + b"\x09" + npy[7:]),
        refused("npy object", NPY, npy.replace(b"<f4", b"|O8")),
        refused("npy order", NPY, npy.replace(b"False", b"True ")),
        refused("npy dict", NPY, b"\x93NUMPY\x01\x00\x02\x00()"),
        refused("safetensors length", SAFETENSORS, b"\xff" * 8 + b"{}"),
        refused("safetensors long", SAFETENSORS, full + b"\0"),
        refused("safetensors gap", SAFETENSORS, full.replace(b"[0,32]", b"[4,32]")),
        refused("twice in query and metadata", SAFETENSORS, twice),
        refused("raw without shape", RAW, bytes(32), f32),
        refused("raw cut", RAW, bytes(31), shape),
        refused("raw shape", RAW, bytes(32), f32 | {"Tensor-Shape": "1,x"}),
        header("br", "Content-Encoding", "br"),
        header("not gzip", "Content-Encoding", "gzip"),
        header("accept", "Accept", "text/html"),
    ]


def attentions():
    """Scores of q and k by the encoding none, but for what the label says."""

    def refused(label, tensors, **changes):
        given = without_none({"encoding": "none", "outputs": "scores"} | changes)
        return post("refused attention", label, "/v1/attention", given, tensors)

    keys, flat = tensor(2, 1, 3, 2, 4), {"dtype": "f32", "shape": [2, 4], "values": [0] * 8}
    two = {"q": Q, "k": Q}
    t5 = {"name": "t5", "num_buckets": 4, "max_distance": 8}
    shaw = {"name": "shaw", "max_relative_position": 2}
    return [
        refused("no k", {"q": Q}),
        refused("no v", two, outputs="output"),
        refused("d", {"q": Q, "k": tensor(3, 1, 1, 2, 2)}),
        refused("heads", {"q": tensor(4, 1, 4, 2, 4), "k": keys}),
        refused("dtypes", {"q": Q, "k": dict(Q, dtype="f16")}),
        refused("layout of none", two, layout="half"),
        refused("rows of rel_k", two | {"rel_k": flat}, encoding=shaw),
        refused("a tensor too many", two | {"mask": Q}),
        refused("weights missing", two, encoding=t5),
        refused("weights", two | {"weights": flat}, encoding=t5),
        refused("heads of alibi", two, encoding={"name": "alibi", "heads": 3}),
        refused("absolute without p", {"x": tensor(5, 1, 2, 4)}, encoding="absolute"),
    ]


def functions():
    def refused(label, path, parameters, tensors=None):
        return post("refused functions", f"{path}, {label}", f"/v1/{path}", parameters, tensors)

    def compare(label, a, b=None, **more):
        return refused(label, "comparison", without_none({"a": a, "b": b}) | more)

    def embed(label, tensors=None, **changes):
        sine = {"encoding": "sinusoidal", "start": 0}
        return refused(label, "embedding", without_none(sine | changes), tensors)

    def convert(label, **changes):
        to_half = {"from_layout": "interleaved", "to_layout": "half"}
        return refused(label, "layout", to_half | changes, x)

    def config(label, **keys):
        llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8}
        return refused(label, "config", llama | keys)

    def linted(label, **changes):
        llama = {"config": {"model_type": "llama", "head_dim": 8}}
        return refused(label, "lint", without_none(llama | changes))

    scaled = {"model_type": "llama", "head_dim": 8, "max_position_embeddings": 64}
    scaled |= {"rope_scaling": {"rope_type": "linear", "factor": 2}}

    def extended(label, **changes):
        llama = {"model_type": "llama", "head_dim": 8, "max_position_embeddings": 64}
        return refused(label, "extend", without_none({"config": llama, "to": 128} | changes))

    def config_of(text):
        llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8}
        return refused("in the query", "config?" + text, llama)

    x, rope = {"x": tensor(1, 1, 2, 4)}, {"name": "rope", "dim": 4}
    uneven = {"sin": tensor(1, 4, 2), "cos": tensor(1, 3, 2)}
    return [
        compare("no b", rope),
        compare("no length", rope, rope),
        compare("one table and two", rope, {"name": "sinusoidal", "dim": 4}, length=2),
        compare("no table", rope, "alibi", length=2),
        compare("a grid without a width", {"name": "rope-2d", "dim": 8}, rope, length=2),
        compare("widths", rope, rope | {"dim": 6}, length=2),
        embed("no x"),
        embed("xscale of a product", x, merge_mode="mul", xscale=2),
        embed("tokens beside x", x, tokens=["a"]),
        embed("two tensors", x | {"y": Q}),
        embed("no such table", x, encoding={"name": "learned", "table": "none"}),
        embed("behind the table", x, encoding="sample", start=3),
        convert("head_dim", kind="projection_rows", head_dim=3),
        refused("a number", "config", {"config": 1}),
        refused("text", "config", {"config": "{"}),
        refused("learned", "config", {"model_type": "bert", "hidden_size": 8}),
        linted("an engine that was not measured", **{"for": "tgi"}),
        linted("a version that was not measured", **{"for": ["vllm==0.1"]}),
        linted("an engine twice", **{"for": "vllm,vllm"}),
        linted("no engine", **{"for": [1]}),
        linted("a report", report="xml"),
        linted("against a number", against=1),
        linted("no rotation", config={"model_type": "bloom", "n_head": 2, "hidden_size": 8}),
        linted("no config", config=None),
        extended("not longer", to=64),
        extended("no context", to=None),
        extended("longrope", type="longrope"),
        extended("an engine that was not measured", **{"for": "tgi"}),
        extended("no config", config=None),
        extended("scaled already", config=scaled),
        extended("no rotation", config={"model_type": "bloom", "n_head": 2, "hidden_size": 8}),
        config("rope_theta of 1", rope_theta=1),
        config("an odd head", head_dim=7),
        config("scaling", rope_scaling={"type": "x"}),
        config_of("strict=maybe"),
        config_of("bse=2"),
        config_of("base=1"),
        config_of("layer_type=full_attention"),
        refused(
            "a config of another encoding",
            "encodings/rope/frequencies",
            {"config": {"model_type": "bloom", "n_head": 2, "hidden_size": 8}},
        ),
        refused("shapes", "diagnosis", {"encoding": "rope"}, uneven),
        refused("q alone", "diagnosis", {}, {"q": tensor(1, 4, 2)}),
        refused("inv_freq", "diagnosis", {}, {"inv_freq": Q}),
    ]


def heads():
    """Refused for the head of the request."""

    def refused(target, **headers):
        return ask("refused heads", target, headers=headers)

    table, many = "/v1/encodings/rope/table?dim=8&length=4", {f"X-{i}": "1" for i in range(400)}
    raw = {"Content-Type": SAFETENSORS}
    empty = "/v1/encodings/rope/table?dim=8&length=0&format=raw"
    return [
        refused(table, Accept="text/html"),
        refused(table, Accept=f"{NPY};q=0"),
        refused(table + "&format=raw", Range="bytes=128-"),
        refused(empty, Range="bytes=0-"),
        refused("/v1", Host="rebound.example"),
        refused("/v1", Host=""),
        refused(table, Expect="tea"),
        ask("refused heads", "/livez", "too many fields", headers=many),
        # The HTTP library's own answer, in its words.
        ask(
            "refused heads",
            "/v1/rotation",
            "a length that is no number",
            "POST",
            raw | {"Content-Length": "-1"},
            loose=True,
        ),
    ]


NARROW = """
rope/table?dim=64&length=2
rope/table?dim=64&length=400&format=raw
rope/analysis/uniqueness?dim=64&length=90&format=npy&dtype=f64
"""


def narrow():
    """Refused by a server with narrow limits."""

    def rotation(label, send, tensors):
        sent = {"encoding": "rope", "layout": "half", "axes": "sd", "dim": 4, "start": 0}
        return send("refused narrow", label, "/p/v1/rotation", sent, tensors, server="narrow")

    return [
        *gets("refused narrow", NARROW, "/p/v1/encodings/", server="narrow"),
        rotation("json too large", post, {"q": tensor(1, 90, 4)}),
        rotation("body too large", post_file, {"q": tensor(1, 300, 4)}),
        rotation("too many tensors", post_file, {name: tensor(1, 1, 4) for name in "abc"}),
    ]


def requests():
    return [
        *gets("refused views", VIEWS),
        *gets("refused paths", PATHS, ""),
        *methods(),
        *rotations(),
        *files(),
        *attentions(),
        *functions(),
        *heads(),
        *narrow(),
    ]
