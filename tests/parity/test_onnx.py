# SPDX-License-Identifier: MIT
"""RotaryEmbedding and Attention of ONNX (opset 23) and of com.microsoft: by onnxruntime, and by
ONNX's own reference in numpy. Caches of cosines and sines are the service's, cache=onnx."""

import numpy
import onnx
import onnx.reference
import onnxruntime
import pytest

from service import get, post_tensors, tensors_answer

DRAW = numpy.random.default_rng(23)
KINDS = {
    "float64": onnx.TensorProto.DOUBLE,
    "float32": onnx.TensorProto.FLOAT,
    "bool": onnx.TensorProto.BOOL,
    "int64": onnx.TensorProto.INT64,
}
YARN = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32}
DIM, ROWS, HEADS = 16, 40, 3


def run(engine, kind, inputs, outputs=1, **attributes):
    """Inputs that are None are left out, as ONNX leaves them out: by an empty name."""
    domain = "com.microsoft" if engine == "microsoft" else ""
    given = {name: x for name, x in inputs.items() if x is not None}
    values = [
        onnx.helper.make_tensor_value_info(name, KINDS[str(x.dtype)], x.shape)
        for name, x in given.items()
    ]
    names = [f"y{i}" for i in range(outputs)]
    node = onnx.helper.make_node(
        kind, [name if name in given else "" for name in inputs], names, domain=domain, **attributes
    )
    made = KINDS[str(next(iter(given.values())).dtype)]
    graph = onnx.helper.make_graph(
        [node],
        "graph",
        values,
        [onnx.helper.make_tensor_value_info(name, made, None) for name in names],
    )
    model = onnx.helper.make_model(
        graph,
        ir_version=10,
        opset_imports=[
            onnx.helper.make_opsetid("", 23),
            onnx.helper.make_opsetid("com.microsoft", 1),
        ],
    )
    if engine == "reference":
        return onnx.reference.ReferenceEvaluator(model).run(None, given)[0]
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, given)[0]


def apart(got, expected, dtype):
    """In roundings of the largest value."""
    most = numpy.abs(expected).max() * numpy.finfo(dtype).eps
    return numpy.abs(got.astype(float) - expected.astype(float)).max() / most


# ---- RotaryEmbedding -----------------------------------------------------------------------------


def caches(server, rotary_dim=DIM):
    kept = get(
        server,
        "/v1/encodings/rope/table",
        dim=DIM,
        rotary_dim=rotary_dim,
        length=ROWS,
        dtype="f32",
        cache="onnx",
        format="safetensors",
        **YARN,
    ).tensors
    return {name: kept[name] for name in ("cos_cache", "sin_cache")}


def operator(engine, x, kept, ids, **attributes):
    """RotaryEmbedding of x; com.microsoft's has positions before the caches."""
    inputs = (
        {"x": x, "position_ids": ids, **kept}
        if engine == "microsoft"
        else {"x": x, **kept, "position_ids": ids}
    )
    return run(engine, "RotaryEmbedding", inputs, **attributes)


@pytest.mark.parametrize("rotary_dim", [DIM, 8])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("engine", ["onnxruntime", "reference", "microsoft"])
def test_rotations(server, engine, interleaved, rotary_dim):
    """Positions of each batch row; rows of the caches, or a first position, instead; by the
    encoding, and by its caches."""
    kept = caches(server, rotary_dim)
    x = DRAW.standard_normal((2, HEADS, 9, DIM)).astype(numpy.float32)
    attributes = {"interleaved": interleaved}
    if rotary_dim != DIM:
        attributes |= {"rotary_embedding_dim": rotary_dim, "num_heads": HEADS}
    ids = numpy.stack([numpy.arange(9) + 5, DRAW.permutation(ROWS)[:9]])
    settings = {
        "encoding": "rope",
        "layout": "interleaved" if interleaved else "half",
        "axes": "bhsd",
        "rotary_dim": rotary_dim,
    }
    if engine == "microsoft":
        first = operator(engine, x, kept, numpy.array([7]), **attributes)
    else:
        taken = {name: rows[numpy.stack([numpy.arange(9) + 7] * 2)] for name, rows in kept.items()}
        first = operator(engine, x, taken, None, **attributes)
    for expected, places in (
        (operator(engine, x, kept, ids, **attributes), {"positions": "tensor:ids"}),
        (first, {"start": 7}),
    ):
        for posted, more in (({}, YARN), (kept, {})):
            beside = posted | ({"ids": ids} if "positions" in places else {})
            made = post_tensors(
                server, "/v1/rotation", {"q": x, **beside}, **settings, **places, **more
            )["q"]
            assert apart(made, expected, "float32") <= 1
            assert numpy.array_equal(made[..., rotary_dim:], x[..., rotary_dim:])


@pytest.mark.parametrize("engine", ["onnxruntime", "reference", "microsoft"])
def test_heads_side_by_side(server, engine):
    """Rank 3: the heads of a token lie one behind the other."""
    kept, ids = caches(server), numpy.arange(9)[None] + numpy.array([[3], [20]])
    x = DRAW.standard_normal((2, 9, HEADS * DIM)).astype(numpy.float32)
    expected = operator(engine, x, kept, ids, num_heads=HEADS)
    made = post_tensors(
        server,
        "/v1/rotation",
        {"q": x, "ids": ids},
        encoding="rope",
        dim=DIM,
        layout="half",
        axes="bsd",
        positions="tensor:ids",
        **YARN,
    )["q"]
    assert apart(made, expected, "float32") <= 1


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("engine", ["onnxruntime", "microsoft"])
def test_back_again(server, engine, interleaved):
    """The cache, and what the operator made of it, are diagnosed and compared as what they are."""
    kept = caches(server)
    layout = "interleaved" if interleaved else "half"
    yarn = {"encoding": "rope", "dim": DIM, **YARN}
    told = tensors_answer(server, "/v1/diagnosis", kept, **yarn).good().json
    assert (told["verdict"], told["identical_to"]) == ("match", ["exact"])
    x = DRAW.standard_normal((1, HEADS, 9, DIM)).astype(numpy.float32)
    ids = numpy.arange(9)[None]
    both = {"q": x, "q_rotated": operator(engine, x, kept, ids, interleaved=interleaved)}
    told = (
        tensors_answer(
            server, "/v1/diagnosis", both, per_head=True, axes="bhsd", layout=layout, **yarn
        )
        .good()
        .json
    )
    assert told["per_head"]["verdict"] == ["match"] * HEADS
    plain = tensors_answer(server, "/v1/diagnosis", both, axes="bhsd", encoding="rope").good().json
    assert plain["verdict"] != "match"


# ---- Attention -----------------------------------------------------------------------------------


def drawn(dtype, queries=ROWS, heads=4, key_heads=2):
    return {
        name: (DRAW.standard_normal((2, count, length, DIM)) / 2).astype(dtype)
        for name, count, length in (
            ("q", heads, queries),
            ("k", key_heads, ROWS),
            ("v", key_heads, ROWS),
        )
    }


def asked(server, tensors, **parameters):
    return post_tensors(
        server, "/v1/attention", tensors, outputs="output", **{"encoding": "none"} | parameters
    )["output"]


CASES = {
    "plain": ({}, {}, None),
    "causal": ({"causal": True}, {"is_causal": 1}, None),
    "scale": ({"scale": 0.5625}, {"scale": 0.5625}, None),
    "softcap": ({"softcap": 1.5}, {"softcap": 1.5}, None),
    "mask": ({}, {}, DRAW.random((ROWS, ROWS)) < 0.6),
    "mask of rows": ({}, {}, DRAW.random((2, 1, ROWS, ROWS)) < 0.6),
    "numbers": ({}, {}, DRAW.standard_normal((2, 4, ROWS, ROWS))),
    "causal, scale, numbers": (
        {"causal": True, "scale": 0.140625},
        {"is_causal": 1, "scale": 0.140625},
        DRAW.standard_normal((4, ROWS, ROWS)),
    ),
    "causal, mask": (
        {"causal": True},
        {"is_causal": 1},
        numpy.eye(ROWS) + DRAW.random((ROWS, ROWS)) > 0.6,
    ),
    "causal, softcap": ({"causal": True, "softcap": 0.75}, {"is_causal": 1, "softcap": 0.75}, None),
}


@pytest.mark.parametrize("key_heads", [4, 2, 1])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "engine, dtype, most",
    [("onnxruntime", "float32", 12), ("reference", "float32", 12), ("reference", "float64", 12)],
)
def test_attention(server, engine, dtype, most, name, key_heads):
    """The reference has sums of numpy, and roots of scales in float32: those here are exact."""
    given, attributes, mask = CASES[name]
    tensors = drawn(dtype, key_heads=key_heads)
    if mask is not None:
        tensors["mask"] = mask if mask.dtype == bool else mask.astype(dtype)
    expected = run(engine, "Attention", tensors, **attributes)
    assert apart(asked(server, tensors, **given), expected, dtype) <= most


@pytest.mark.parametrize("engine", ["onnxruntime", "reference"])
def test_rotated_attention(server, engine):
    """RotaryEmbedding before Attention is attention of that encoding."""
    tensors, kept = drawn("float32", key_heads=4), caches(server)
    ids = numpy.tile(numpy.arange(ROWS), (2, 1))
    turned = {name: operator(engine, tensors[name], kept, ids) for name in "qk"}
    expected = run(engine, "Attention", {**turned, "v": tensors["v"]}, is_causal=1)
    got = asked(server, tensors, encoding="rope", layout="half", causal=True, **YARN)
    assert apart(got, expected, "float32") <= 12
