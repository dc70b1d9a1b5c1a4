# SPDX-License-Identifier: MIT
"""The ways a parameter can be given: each JSON type for each kind of parameter, spellings, the
query beside the body, metadata, lists of each depth, and the place that a refusal names."""

from bodies import JSON, SAFETENSORS, safetensors_bytes, tensor
from request import ask, gets, post, post_bytes

VIEWS = "/v1/encodings/"
TABLE = VIEWS + "rope/table"
GRID = VIEWS + "rope-2d/table"

# Parameters of each kind: integers, numbers, choices, ranges, lists, a boolean, text.
KINDS = {
    TABLE: ("dim", "base", "part", "positions", "short_factor"),
    GRID: ("dim", "duplicate"),
    VIEWS + "learned/table": ("length", "table"),
}
TYPES = {
    "text": "x",
    "the text of a number": "4",
    "a list": [1],
    "a list of text": ["x"],
    "an empty list": [],
    "a list of lists": [[1], [2]],
    "ragged lists": [[1, 2], [3]],
    "an object": {"a": 1},
    "true": True,
    "a fraction": 2.5,
    "a negative number": -1,
}


def typed():
    """All parameters of one wrong type: the errors are reported together."""
    return [
        post("refused parameters", f"{path} of {label}", path, dict.fromkeys(names, value))
        for label, value in TYPES.items()
        for path, names in KINDS.items()
    ]


LISTS = """
rope/table?dim=4&positions= 3 3,3 0..2 5..5 -2..1,7 1.5 1e3 1.0 +2
rope/table?dim=4&positions=1,2,3&start=0
rope/table?dim=4&length=0
rope/table?dim=4&length=1&step=0
rope/table?dim=4&length=3&step=-0.5
rope-2d/table?dim=8&positions= 0,1;2,3 0..1;2..3 1;2
rope-nd/table?axes_dim=2,4&shape= 1,1 2,1 0,2
"""

REFUSED_LISTS = """
rope/table?dim=4&positions= , 1, ,1 1;2 a 2..1 6..0 0..6..3 0.1..2 1..2.5 1..2..0
rope/table?dim=4&positions= 1..2.. 1...2 0..2..-1 nan 1e400 9007199254740993
rope/table?dim=4&length= -1 1.5 x 1e3x 9007199254740993
rope/table?dim= 0 -2 3 1e9 4.5
rope/table?dim=4&length=2&base= 0 1 -1 nan inf
rope/table?dim=4&length=2&start= nan 9007199254740993
rope/table?dim=4&length=2&duplicate=yes
rope/table?dim=4&length=2&part=tan
rope/table?dim=4&length=2&dtype= i64 f33
rope/table?dim=4&length=2&format=JSON
rope/table?dim=4&length=2&dim=5
rope/table?dim=4&length=2&positions=1&positions=2
rope/table?dim=4&length=2&tensors=1
rope/table?dim=4&length=2&layer_type=full_attention
rope/table?dim=4&length=2&strict=true
rope/table?dim=4&length=2&strict=1
rope/table?dim=4&length=2&config=7
rope/table?dim=4&length=2&config=[]
rope/table?dim=4&length=2&config={
rope/table?length=2&config={"model_type":"llama","head_dim":4}&strict=perhaps
rope/table?dim=4&length=2&=1
rope/table?dim=4&length=2&a=1&b=2&c=3
rope/table?dim=4&length=2&Base=7&lenght=3
rope/table?headDim=4&length=2
rope/table?dim=4&seq_len=2
alibi/bias?heads=2&query_len=3
rope-2d/table?dim=8&positions= 0,1;2 0,1;2,3;4,5 1
rope-nd/table?axes_dim=2,4&shape= 1 1,2,3 -1,2 1.5,2
rope-nd/table?axes_dim= , 2, 0,4 3,4&shape=2,2
"""

# Names from other libraries, and how parameters are written there.
SPELLINGS = """
rope/table?head_dim=4&length=2&rope_theta=100
rope/table?d=4&length=2
rope/table?HEAD_DIM=4&length=2&dtype=u8
rope/table?dim=4&length=2&dtype= F32 float32 half bfloat16 double
rope/table?dim=4&length=2&dim=4
rope/table?head-dim=4&max_len=2
sinusoidal/table?d_model=4&seqlen=2
sinusoidal/table?embedding_dim=4&n=2
alibi/bias?num_heads=2&q_len=3
alibi/bias?n_heads=2&query_length=3
t5/bias?relative_attention_num_buckets=8&query_length=3
"""


def bodies():
    """In JSON: names of lists that are spelled otherwise, pointers with ~ and /, null, members."""

    def rope(label, group="parameters", **given):
        return post(group, label, TABLE, {"dim": 4} | given)

    def refused(label, **given):
        return rope(label, "refused parameters", **given)

    long = [float(i) for i in range(70)]
    llama = {"model_type": "llama", "head_dim": 4}
    return [
        rope("null is left out", length=2, base=None),
        rope("a long list", positions=long),
        rope("a long list of one number", positions=[7.0] * 70),
        rope("a number as a list", positions=3),
        rope("text of ranges", positions="0..2,9"),
        rope("a list of ranges is nested once", positions=[0.5, -9007199254740991]),
        rope("strict about nothing", length=2, strict=False),
        rope("format in the body", length=2, format="raw"),
        rope("dtype in the body", length=2, dtype="f64"),
        rope("data_format in the body", length=2, data_format="base64", dtype="f16"),
        rope("the encoding again", length=2, encoding="rope"),
        rope("the encoding again as an object", length=2, encoding={"name": "rope", "dim": 4}),
        refused("another encoding", length=2, encoding="alibi"),
        refused("the encoding with another value", length=2, encoding={"name": "rope", "dim": 8}),
        refused("the encoding as a number", length=2, encoding=4),
        refused("a long list of two depths", positions=[long, long]),
        refused("a long list for a number", base=long, length=2),
        refused("a long list for text", rope_type=long, length=2),
        refused("a long list with text", positions=[*long, "x"]),
        refused("a long list with null", positions=[*long, None]),
        refused("format is a number", length=2, format=7),
        refused("format is unknown", length=2, format="xml"),
        refused("dtype is a number", length=2, dtype=32),
        refused("dtype is a list", length=2, dtype=["f32"]),
        refused("config is a list", length=2, config=[]),
        refused("strict is a list", config=llama, strict=[True], length=2),
        refused("strict is text", config=llama, strict="so", length=2),
        refused("layer_type is a number", config=llama, layer_type=7, length=2),
        refused("layer_type beside nothing", layer_type="full_attention", length=2),
        refused("a name with a slash", **{"a/b": 1, "length": 2}),
        refused("a name with a tilde", **{"a~b": 1, "length": 2}),
        refused("an empty name", **{"": 1, "length": 2}),
        refused("four errors", base=-1, length=-1, part="x", nowhere=1),
        rope("a name and its spelling", length=2, base=7, rope_theta=7),
        refused("a name and its spelling differ", length=2, base=7, rope_theta=8),
        refused("a tensor for a table", length=2, tensors={"q": {"shape": [1], "data": [1]}}),
    ]


def sources():
    """The query beside the body and metadata: the same value twice, and another."""

    def twice(label, inside, group="parameters", **outside):
        return post(group, label, TABLE, inside, query_of=outside)

    def told(label, metadata, query="", group="parameters"):
        body = safetensors_bytes({"table": tensor(1, 4, 2)}, metadata)
        target = VIEWS + "learned/table?table=tensor:table" + query
        return post_bytes(group, label, target, SAFETENSORS, body)

    refused, both = "refused parameters", {"dim": 4, "length": 2}
    return [
        twice("format twice, the same", both | {"format": "raw"}, format="raw"),
        twice("format twice", both | {"format": "raw"}, refused, format="npy"),
        twice("a number twice, the same", both, dim=4),
        twice("a number twice", both, refused, dim=6),
        twice("text twice, the same", both | {"revision": "x"}, refused, revision="x"),
        twice("dtype twice, the same", both | {"dtype": "f64"}, dtype="f64"),
        twice("dtype twice", both | {"dtype": "f64"}, refused, dtype="f32"),
        told("positions in metadata", {"posenc.positions": "3,0"}),
        told("format in metadata", {"posenc.length": "2", "posenc.format": "raw"}),
        told("format in metadata and query", {"posenc.format": "raw"}, "&format=npy", refused),
        told("dtype in metadata and query", {"posenc.dtype": "f64"}, "&dtype=f16", refused),
        told("an unknown name in metadata", {"posenc.nowhere": "1"}, "", refused),
        told("other metadata", {"posenc": "1", "posencx.length": "7"}, "&length=1"),
    ]


def queries():
    """What a query can be: separators, coded letters, and far too many parameters."""

    def refused(label, target):
        return ask("refused parameters", TABLE + target, label)

    many = "&".join(f"p{i}=1" for i in range(130))
    return [
        ask("parameters", TABLE + "?&dim=4&&length=2&", "empty pairs"),
        ask("parameters", TABLE + "?dim=4&length=2&title", "a name without a value"),
        refused("a hundred names", "?" + many),
        refused("a path with an empty part", "//x"),
        refused("coded in part", "?dim=%4&length=2"),
        refused("a long name", "?" + "n" * 300 + "=1"),
        refused("a long value", "?dim=" + "9" * 300),
        post_bytes("refused parameters", "json that is a list", TABLE, JSON, "[1]"),
        post_bytes("refused parameters", "json that is empty", TABLE, JSON, ""),
        post_bytes("refused parameters", "json with a name twice", TABLE, JSON, '{"a":1,"a":2}'),
        post_bytes("refused parameters", "json with a comma", TABLE, JSON, '{"dim":4,}'),
        post_bytes("refused parameters", "json with more", TABLE, JSON, '{"dim":4} 1'),
    ]


def requests():
    found = [*typed(), *bodies(), *sources(), *queries()]
    found += gets("parameters", LISTS) + gets("parameters", SPELLINGS)
    return [*found, *gets("refused parameters", REFUSED_LISTS)]
