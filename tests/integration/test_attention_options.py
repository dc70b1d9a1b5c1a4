# SPDX-License-Identifier: MIT
"""Attention's options over HTTP against their restatement in float64, alone and together."""

import numpy
import pytest
from attention_restated import attended

from service import assert_close, post_json, post_tensors

ATTENTION = "/v1/attention"
OUTPUTS = ["scores", "weights", "output"]
DRAW = numpy.random.default_rng(11)


def drawn(heads=4, key_heads=2, queries=30, keys=30, dim=8, dtype=numpy.float64, batch=2):
    return {
        name: DRAW.standard_normal((batch, count, length, dim)).astype(dtype)
        for name, count, length in (
            ("q", heads, queries),
            ("k", key_heads, keys),
            ("v", key_heads, keys),
        )
    }


HIDDEN = DRAW.random((2, 1, 30, 30)) < 0.4
HIDDEN[0, 0, 3] = True  # a row that is masked whole
ADDED = numpy.where(DRAW.random((4, 30, 30)) < 0.3, -numpy.inf, DRAW.standard_normal((4, 30, 30)))
WEIGHTS = {"q_norm": DRAW.standard_normal(8), "k_norm": DRAW.standard_normal(8)}
ROWS = {"pos_key": DRAW.standard_normal((16, 32)), "pos_query": DRAW.standard_normal((16, 32))}
PLACES = DRAW.integers(0, 5000, (2, 30)).astype(numpy.float64)
DEBERTA = {"position_buckets": 8, "max_relative_positions": 24}

# name: (parameters of the request, tensors beside q, k and v, the restatement's where they differ)
OPTIONS = {
    "window": ({"window": 5}, {}, {"window": (4, 4)}),
    "window, causal": ({"window": 5, "causal": True}, {}, {"window": (4, None)}),
    "left": ({"window_left": 3}, {}, {"window": (3, None)}),
    "right": ({"window_right": 0}, {}, {"window": (None, 0)}),
    "chunk": ({"chunk": 7, "causal": True}, {}, {}),
    "softcap": ({"softcap": 1.5}, {}, {}),
    "mask of bool": ({}, {"mask": ~HIDDEN}, {}),
    "mask of numbers": ({}, {"mask": ADDED}, {}),
    "mask of keys": ({"causal": True}, {"mask": ~HIDDEN[:, :, :1]}, {}),
    "bias": ({"softcap": 2.0}, {"bias": DRAW.standard_normal((4, 1, 30))}, {}),
    "sinks": ({"causal": True}, {"sinks": numpy.array([-1.0, 0, 2, 300])}, {}),
    "temperature": (
        {"temperature_strength": 0.5, "temperature_length": 4},
        {},
        {"temperature": (0.5, 4, 1)},
    ),
    "temperature of 0": (
        {"temperature_strength": 0.5, "temperature_length": 4, "temperature_offset": 0},
        {},
        {"temperature": (0.5, 4, 0)},
    ),
    "norm": ({"encoding": "rope", "layout": "half", "norm": "after"}, {}, {}),
    "weights of a norm": (
        {"encoding": "rope", "layout": "half", "norm_offset": 1, "norm_epsilon": 1e-3},
        WEIGHTS,
        {"norm": "before"},
    ),
    "norm afterwards": (
        {"encoding": "rope", "layout": "interleaved", "norm": "after"},
        WEIGHTS,
        {},
    ),
    "Falcon's alibi": ({"encoding": "alibi", "bias_before_scale": True, "causal": True}, {}, {}),
    "positions": ({"encoding": "rope", "layout": "half"}, {"positions": PLACES}, {}),
    "deberta": ({"encoding": "deberta-log", **DEBERTA}, ROWS, {"buckets": 8, "farthest": 24}),
    "c2p": (
        {"encoding": "deberta-log", **DEBERTA},
        {"pos_key": ROWS["pos_key"]},
        {"buckets": 8, "farthest": 24},
    ),
    "all": (
        {
            "encoding": "rope",
            "layout": "half",
            "window": 9,
            "chunk": 16,
            "softcap": 3.0,
            "causal": True,
            "scale": 0.6,
            "temperature_strength": 0.1,
            "temperature_length": 50,
        },
        {
            "mask": ~HIDDEN,
            "bias": DRAW.standard_normal((2, 1, 1, 30)),
            "positions": PLACES,
            "sinks": numpy.array([0.5, 0, -1, 1]),
            **WEIGHTS,
        },
        {"window": (8, None), "norm": "before", "temperature": (0.1, 50, 1)},
    ),
}


def asked(server, tensors, output, **parameters):
    return post_tensors(
        server, ATTENTION, tensors, outputs=output, **{"encoding": "none"} | parameters
    )[output]


def restated(tensors, parameters, more):
    known = {
        name: value
        for name, value in parameters.items()
        if not name.startswith(("temperature", "window_")) and name not in DEBERTA
    }
    return attended(**tensors, **known | more)


@pytest.mark.parametrize("name", OPTIONS)
def test_definition(server, name):
    parameters, beside, more = OPTIONS[name]
    tensors = drawn() | beside
    for output, expected in zip(OUTPUTS, restated(tensors, parameters, more)):
        assert_close(asked(server, tensors, output, **parameters), expected, 1e-12)


@pytest.mark.parametrize("encoding", ["none", "rope", "alibi"])
@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences(server, encoding, causal):
    """Five sequences of queries with their keys, one of them empty, one with more queries."""
    ends, ends_k = [0, 3, 3, 10, 15, 30], [0, 9, 12, 14, 19, 40]
    tensors = drawn(queries=30, keys=40, batch=1)
    layout = {"layout": "half"} if encoding == "rope" else {}
    expected = attended(
        **tensors,
        encoding=encoding,
        causal=causal,
        window=(6, None),
        cu_seqlens=ends,
        cu_seqlens_k=ends_k,
    )
    packed = {"cu_seqlens": numpy.array(ends), "cu_seqlens_k": numpy.array(ends_k, numpy.int32)}
    for output, rows in zip(OUTPUTS, expected):
        got = asked(
            server,
            tensors | packed,
            output,
            encoding=encoding,
            causal=causal,
            window_left=6,
            **layout,
        )
        assert_close(got, rows, 1e-12)
    last = {name: tensor[:, :, 15 if name == "q" else 19 :] for name, tensor in tensors.items()}
    alone = asked(server, last, "output", encoding=encoding, causal=causal, window_left=6, **layout)
    assert_close(got[:, :, 15:], alone, 1e-12)


@pytest.mark.parametrize("encoding, axes", [("mrope", 3), ("rope-2d", 2), ("rope-nd", 3)])
def test_positions_of_several_coordinates(server, encoding, axes):
    """Attention of q and k is that of q and k after a rotation."""
    tensors = drawn(dim=16)
    places = DRAW.integers(0, 60, (axes, 2, 30))
    scheme = {"encoding": encoding, "layout": "half"}
    if encoding == "mrope":
        scheme |= {"mrope_section": "2,3,3"}
    if encoding == "rope-nd":
        scheme |= {"axes_dim": "4,6,6", "base": 256}
    turned = post_tensors(
        server,
        "/v1/rotation",
        {"q": tensors["q"], "k": tensors["k"], "positions": places},
        axes="bhsd",
        **scheme,
    )
    expected = asked(server, turned | {"v": tensors["v"]}, "output")
    got = asked(server, tensors | {"positions": places}, "output", **scheme)
    assert_close(got, expected, 1e-13)
    assert numpy.abs(got - asked(server, tensors, "output")).max() > 1e-3


def test_keys_that_are_cached(server):
    """Three queries at the end of eleven keys, each with positions of its own."""
    tensors = drawn(queries=3, keys=11)
    places, of_keys = PLACES[:, :3], PLACES[:, :11]
    expected = attended(
        **tensors, encoding="rope", causal=True, positions=places, key_positions=of_keys
    )[2]
    got = asked(
        server,
        tensors | {"positions": places, "key_positions": of_keys},
        "output",
        encoding="rope",
        layout="half",
        causal=True,
    )
    assert_close(got, expected, 1e-12)


@pytest.mark.parametrize("dtype, tolerance", [(numpy.float32, 2e-6), (numpy.float16, 1e-3)])
def test_dtypes(server, dtype, tolerance):
    """Sums are f32, and what stands beside f16 may be f32."""
    parameters, beside, more = OPTIONS["all"]
    tensors = drawn(dtype=dtype) | {
        name: tensor
        if tensor.dtype == bool or name == "positions"
        else tensor.astype(numpy.float32)
        for name, tensor in beside.items()
    }
    expected = restated(tensors, parameters, more)[2]
    got = asked(server, tensors, "output", **parameters)
    assert got.dtype == dtype
    assert_close(got, expected, tolerance)


def test_masked_values_do_not_matter(server):
    """A NaN in a value touches the rows that see it, and no others."""
    tensors = drawn(dtype=numpy.float32) | {"mask": ~HIDDEN}
    want = asked(server, tensors, "output")
    tensors["v"][:, :, 17] = numpy.nan
    got = asked(server, tensors, "output")
    hidden = numpy.broadcast_to(HIDDEN[..., 17], got.shape[:3])
    assert numpy.isnan(got[~hidden]).all() and hidden.any()
    assert numpy.allclose(got[hidden], want[hidden], rtol=1e-5, atol=1e-6)


def test_what_was_done_is_told(server):
    tensors = {name: {"dtype": "f16", "shape": [1, 1, 2, 2], "data": [1, 0, 0, 1]} for name in "qk"}
    body = {
        "tensors": tensors,
        "outputs": "scores",
        "encoding": "alibi",
        "window": 3,
        "causal": True,
        "softcap": 20,
        "cu_seqlens": [0, 1, 2],
    }
    assert post_json(server, ATTENTION, body).good().json["attention"] == {
        "accumulation": "f32",
        "scale": 1 / numpy.sqrt(2),
        "causal": True,
        "window_left": 2,
        "window_right": 2,
        "softcap": 20,
    }


def test_a_mask_says_how_it_is_meant(server):
    """Refusals of masks without their dtype name bool, which takes true and false."""
    rows = {"shape": [1, 1, 2, 2], "data": [1, 2, 3, 4]}

    def attend(**mask):
        return post_json(
            server,
            ATTENTION,
            {"encoding": "none", "tensors": dict.fromkeys("qkv", rows) | {"mask": mask}},
        )

    bare = attend(data=[[True, False], [True, True]])
    assert bare.status == 422 and '"dtype": "bool"' in bare.json["detail"]
    assert "or be bool" in attend(dtype="u8", data=[[1, 0], [1, 1]]).json["detail"]
    meant = attend(dtype="bool", data=[[True, False], [True, True]]).good().json
    assert meant["warnings"] == [] and meant["tensors"]["output"]["data"][0][0][0] == [1, 2]
    flags = attend(data=[[1, 0], [1, 1]]).good().json["warnings"]
    assert len(flags) == 1 and "dtype bool" in flags[0]
    for data in ([[0, 0], [0, 0]], [[1, 0], [1, 2]]):
        assert attend(data=data).good().json["warnings"] == []
