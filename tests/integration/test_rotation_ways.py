# SPDX-License-Identifier: MIT
"""Rotation by packed sequences, by a table that is posted, and from one scheme to another."""

import json

import numpy
import pytest

from service import assert_close, get, post_json, post_tensors, rotated, table

ROTATION = "/v1/rotation"
LAYOUTS = ["half", "interleaved"]


def batch(shape, dtype=numpy.float64):
    return numpy.random.default_rng(3).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [numpy.float64, numpy.float32, numpy.float16])
def test_packed_is_each_alone(server, layout, dtype):
    """Bit for bit, empty sequences and a start for all included."""
    ends = [0, 3, 3, 10, 11, 50]
    x = batch((50, 2, 8), dtype)
    settings = {"encoding": "rope", "layout": layout, "axes": "thd", "start": 7}
    got = post_tensors(server, ROTATION, {"q": x, "cu_seqlens": numpy.array(ends)}, **settings)
    assert set(got) == {"q"}
    for begin, end in zip(ends, ends[1:]):
        if begin < end:
            alone = post_tensors(server, ROTATION, {"q": x[begin:end]}, **settings)["q"]
            assert numpy.array_equal(got["q"][begin:end], alone)
    listed = post_tensors(server, ROTATION, {"q": x}, cu_seqlens=ends, **settings)["q"]
    named = post_tensors(
        server,
        ROTATION,
        {"q": x, "ends": numpy.array(ends, numpy.int32)},
        cu_seqlens="tensor:ends",
        **settings,
    )["q"]
    assert numpy.array_equal(listed, got["q"]) and numpy.array_equal(named, got["q"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "dtype,name", [(numpy.float64, "f64"), (numpy.float32, "f32"), (numpy.float16, "f32")]
)
def test_own_table_is_no_table(server, layout, dtype, name):
    """The service's own cos and sin, posted, change not a bit; nor do partial heads, the inverse,
    or positions in any order."""
    x, where = batch((2, 3, 20, 12), dtype), numpy.random.default_rng(4).integers(0, 40, (2, 20))
    cos, sin = table(server, "rope", dim=12, rotary_dim=8, length=40, dtype=name)
    for inverse in (False, True):
        settings = {"encoding": "rope", "layout": layout, "axes": "bhsd", "inverse": inverse}
        got = post_tensors(
            server, ROTATION, {"q": x, "positions": where, "cos": cos, "sin": sin}, **settings
        )
        assert set(got) == {"q"}
        expected = post_tensors(
            server, ROTATION, {"q": x, "positions": where}, rotary_dim=8, **settings
        )["q"]
        assert numpy.array_equal(got["q"], expected)


def test_any_table(server):
    """No rows of a rotation at all: just products, and it says that the base took no part."""
    cos, sin = batch((5, 2)), batch((5, 2)) + 1
    x = batch((3, 1, 4))
    body = {
        "encoding": "rope",
        "layout": "half",
        "axes": "shd",
        "positions": [4, 0, 4],
        "tensors": {
            name: {"dtype": "f64", "data": value.tolist()}
            for name, value in (("q", x), ("cos", cos), ("sin", sin))
        },
    }
    answer = post_json(server, ROTATION, body).good().json
    got = numpy.array(answer["tensors"]["q"]["data"])
    pairs = (x[..., :2] + 1j * x[..., 2:]) * (cos + 1j * sin)[[4, 0, 4]][:, None]
    assert numpy.allclose(got, numpy.concatenate([pairs.real, pairs.imag], -1), atol=1e-14)
    assert "took no part" in answer["warnings"][0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "dtype,tolerance", [(numpy.float64, 1e-13), (numpy.float32, 1e-6), (numpy.float16, 2e-3)]
)
def test_from_one_scheme_to_another(server, layout, dtype, tolerance):
    """What was rotated by a short base and is rotated on by a scaled one with an attention factor
    is what was never rotated before; here in numpy."""
    x = batch((2, 3, 30, 8))
    old = {"name": "rope", "base": 500}
    new = {"name": "rope", "rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64}
    body = {
        "from_encoding": old,
        "to_encoding": new,
        "layout": layout,
        "axes": "bhsd",
        "positions": {"start": 11},
    }
    cached = rotated(x, 11 + numpy.arange(30), layout, base=500).astype(dtype)
    kind = {"float64": "f64", "float32": "f32", "float16": "f16"}[str(cached.dtype)]
    body["tensors"] = {"k": {"dtype": kind, "data": cached.tolist()}}
    answer = post_json(server, ROTATION, body).good().json
    got = numpy.array(answer["tensors"]["k"]["data"])
    told = get(
        server,
        "/v1/encodings/rope/frequencies",
        dim=8,
        dtype="f64",
        **{k: v for k, v in new.items() if k != "name"},
    ).json
    expected = rotated(
        x,
        11 + numpy.arange(30),
        layout,
        frequencies=numpy.array(told["tensors"]["inv_freq"]["data"]),
        factor=told["attention_factor"],
    )
    assert_close(got, expected, tolerance)
    assert answer["encoding"]["rope_type"] == "yarn" and answer["encoding"]["layout"] == layout


def test_from_a_scheme_to_itself(server):
    """Back and forth is the identity within 2 ulp (2^-23) of a pair's norm."""
    x = batch((40, 2, 8), numpy.float32)
    body = {
        "from_encoding": "rope",
        "to_encoding": "rope",
        "layout": "half",
        "axes": "shd",
        "start": 0,
        "tensors": {"k": {"dtype": "f32", "data": x.tolist()}},
    }
    got = numpy.array(
        json.loads(post_json(server, ROTATION, body).good().body)["tensors"]["k"]["data"]
    )
    norms = numpy.hypot(x[..., :4], x[..., 4:])
    error = numpy.hypot(*(got - x).reshape(40, 2, 2, 4).transpose(2, 0, 1, 3))
    assert (error <= 2 * 2.0**-23 * norms).all()
