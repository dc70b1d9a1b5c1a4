# SPDX-License-Identifier: MIT
"""Rotation over HTTP against numpy in float64, and the relations that must hold."""

import numpy
import pytest

from service import assert_close, call, post_json, post_tensors, rotated

ROTATION = "/v1/rotation"
LAYOUTS = ["half", "interleaved"]


def batch(shape=(2, 4, 6, 16), seed=1, dtype=numpy.float64):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rotary_dim", [16, 8, 2])
def test_partial(server, layout, rotary_dim):
    x = batch()
    got = post_tensors(
        server,
        ROTATION,
        {"q": x},
        encoding="rope",
        layout=layout,
        axes="bhsd",
        start=100,
        rotary_dim=rotary_dim,
    )["q"]
    expected = rotated(x, 100 + numpy.arange(6), layout, rotary_dim)
    assert_close(got, expected, 1e-13)
    assert numpy.array_equal(got[..., rotary_dim:], x[..., rotary_dim:])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions_of_each_row(server, layout):
    x, where = batch(), numpy.random.default_rng(2).integers(-50, 5000, (2, 6))
    for tensor in (where, where.astype(numpy.int32), where.astype(numpy.float64)):
        got = post_tensors(
            server,
            ROTATION,
            {"q": x, "positions": tensor},
            encoding="rope",
            layout=layout,
            axes="bhsd",
            positions="tensor:positions",
        )
        assert set(got) == {"q"}
        assert_close(got["q"], rotated(x, where, layout), 1e-12)


def test_positions_of_all_rows(server):
    x, where = batch(), [7, 0, 3, 3, -9, 2.5]
    got = post_tensors(
        server, ROTATION, {"q": x}, encoding="rope", layout="half", axes="bhsd", positions=where
    )["q"]
    assert_close(got, rotated(x, where, "half"), 1e-13)


@pytest.mark.parametrize("axes, order", [("bhsd", (0, 1, 2, 3)), ("bshd", (0, 2, 1, 3))])
def test_axes(server, axes, order):
    x = batch()
    got = post_tensors(
        server,
        ROTATION,
        {"q": x.transpose(order)},
        encoding="rope",
        layout="half",
        axes=axes,
        start=3,
    )["q"]
    assert_close(got.transpose(order), rotated(x, 3 + numpy.arange(6), "half"), 1e-13)


def test_axes_of_models_width(server):
    x = batch()
    together = numpy.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(2, 6, 64)
    got = post_tensors(
        server,
        ROTATION,
        {"q": together},
        encoding="rope",
        layout="half",
        axes="bsd",
        dim=16,
        start=0,
    )["q"]
    got = got.reshape(2, 6, 4, 16).transpose(0, 2, 1, 3)
    assert_close(got, rotated(x, numpy.arange(6), "half"), 1e-13)


def test_grouped_heads_and_names(server):
    tensors = {"zebra": batch((2, 8, 6, 16)), "k": batch((2, 2, 6, 16), 2)}
    got = post_tensors(
        server, ROTATION, tensors, encoding="rope", layout="interleaved", axes="bhsd", start=5
    )
    assert set(got) == set(tensors)
    for name, x in tensors.items():
        assert_close(got[name], rotated(x, 5 + numpy.arange(6), "interleaved"), 1e-13)


@pytest.mark.parametrize("delta", [-3, [2, -7], [[1, 2, 3, 4, 5, 6], [0, 0, -1, 9, 9, 9]]])
def test_delta(server, delta):
    x = batch()
    answer = post_json(
        server,
        ROTATION,
        {
            "encoding": "rope",
            "layout": "half",
            "axes": "bhsd",
            "delta": delta,
            "tensors": {"k": {"dtype": "f64", "shape": list(x.shape), "data": x.tolist()}},
        },
    )
    assert answer.status == 200, answer.body
    turn = numpy.broadcast_to(
        numpy.array(delta).reshape(-1, 1) if numpy.ndim(delta) < 2 else delta, (2, 6)
    )
    assert_close(numpy.array(answer.json["tensors"]["k"]["data"]), rotated(x, turn, "half"), 1e-13)


def test_output_layout(server):
    """Rotating as interleaved and answering as half is the same rotation, its columns moved."""
    x = batch()
    where = {"encoding": "rope", "axes": "bhsd", "start": 1}
    moved = post_tensors(
        server, ROTATION, {"q": x}, layout="interleaved", output_layout="half", **where
    )["q"]
    plain = post_tensors(server, ROTATION, {"q": x}, layout="interleaved", **where)["q"]
    assert numpy.array_equal(moved, numpy.concatenate([plain[..., 0::2], plain[..., 1::2]], -1))


def test_scalings(server):
    x = batch()
    positions = numpy.arange(6)
    got = post_tensors(
        server,
        ROTATION,
        {"q": x},
        encoding="rope",
        rope_type="yarn",
        factor=4,
        original_max_position_embeddings=4096,
        layout="half",
        axes="bhsd",
        start=0,
    )
    frequencies = numpy.array(
        call(
            server,
            "GET",
            "/v1/encodings/rope/frequencies",
            dim=16,
            rope_type="yarn",
            factor=4,
            original_max_position_embeddings=4096,
            dtype="f64",
        ).json["tensors"]["inv_freq"]["data"]
    )
    factor = 0.1 * numpy.log(4) + 1
    assert_close(
        got["q"], rotated(x, positions, "half", frequencies=frequencies, factor=factor), 1e-13
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_distance_counts(server, layout):
    """rope(q, m) · rope(k, n) depends on n - m."""
    q, k = batch((1, 1, 1, 32)), batch((1, 1, 1, 32), 2)
    where = {"encoding": "rope", "layout": layout, "axes": "bhsd"}

    def product(m, n):
        a = post_tensors(server, ROTATION, {"q": q}, start=m, **where)["q"]
        b = post_tensors(server, ROTATION, {"k": k}, start=n, **where)["k"]
        return (a * b).sum()

    for distance in (0, 1, 17, -400):
        first = product(0, distance)
        for m in (1, 250, 8191, 10**6):
            assert abs(product(m, m + distance) - first) < 1e-12
    assert abs(product(0, 1) - product(0, 17)) > 1e-3


def test_relations(server):
    x = batch()
    where = {"encoding": "rope", "layout": "half", "axes": "bhsd"}

    def rotate(t, **more):
        return post_tensors(server, ROTATION, {"q": t}, **where, **more)["q"]

    assert numpy.array_equal(rotate(x, positions=[0] * 6), x)
    assert numpy.array_equal(rotate(x, start=9, rope_type="linear", factor=1), rotate(x, start=9))
    assert_close(rotate(rotate(x, start=4), start=9), rotate(x, start=13, step=2), 1e-14)
    norms = numpy.linalg.norm
    assert numpy.allclose(norms(rotate(x, start=77), axis=-1), norms(x, axis=-1), rtol=1e-14)


def test_nan_stays_in_its_pair(server):
    x = batch()
    x[0, 0, 2, 3], x[1, 2, 4, 9] = numpy.nan, numpy.inf
    got = post_tensors(
        server, ROTATION, {"q": x}, encoding="rope", layout="half", axes="bhsd", start=5
    )["q"]
    touched = {(0, 0, 2, 3), (0, 0, 2, 11), (1, 2, 4, 1), (1, 2, 4, 9)}
    assert {tuple(map(int, i)) for i in numpy.argwhere(~numpy.isfinite(got))} == touched


def test_empty_batch(server):
    got = post_tensors(
        server,
        ROTATION,
        {"q": numpy.zeros((0, 4, 6, 16))},
        encoding="rope",
        layout="half",
        axes="bhsd",
        start=0,
    )["q"]
    assert got.shape == (0, 4, 6, 16)


def test_large_batch(server):
    """33 MB: sent from the buffer that it was received in, over many blocks of the pool."""
    x = batch((2, 16, 2048, 128), dtype=numpy.float32)
    got = post_tensors(
        server, ROTATION, {"q": x}, encoding="rope", layout="half", axes="bhsd", start=0
    )["q"]
    for head in (0, 15):
        expected = rotated(x[:, head : head + 1], numpy.arange(2048), "half")
        assert_close(got[:, head : head + 1], expected, 1e-6)


def test_the_encoding_of_an_answer_is_accepted_back(server):
    """Its layout stands in it; another one beside it is a contradiction."""
    body = {
        "encoding": "rope",
        "layout": "half",
        "axes": "shd",
        "start": 3,
        "tensors": {"q": {"shape": [2, 1, 4], "data": [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]}},
    }
    there = post_json(server, "/v1/rotation", body).json
    again = {
        "encoding": there["encoding"],
        "axes": "shd",
        "start": 3,
        "inverse": True,
        "tensors": there["tensors"],
    }
    back = post_json(server, "/v1/rotation", again)
    assert back.status == 200, back.body
    got = numpy.array(back.json["tensors"]["q"]["data"])
    assert abs(got - [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]).max() < 2e-6
    refused = post_json(server, "/v1/rotation", {**again, "layout": "interleaved"})
    assert refused.status == 422
    assert "half and interleaved" in refused.json["detail"]


@pytest.mark.parametrize("start", [None, 0, 1, -2])
@pytest.mark.parametrize("step", [None, 1, 2, -1])
@pytest.mark.parametrize(
    "way", [{}, {"positions": [4, 1, 3]}, {"delta": 2}, {"cu_seqlens": [0, 1, 3]}], ids=str
)
def test_start_and_step_beside_other_ways(server, start, step, way):
    """A start or step that would have no part is refused; the defaults are accepted everywhere."""
    x = numpy.random.default_rng(5).standard_normal((1, 1, 3, 4)).astype("f4")
    asked = {name: value for name, value in (("start", start), ("step", step)) if value is not None}
    for kind in ("query", "object"):
        given = {name: value for name, value in way.items()}
        if kind == "object" and ("positions" in way or not asked):
            continue
        body = {"tensors": {"q": {"dtype": "f32", "data": x.tolist()}}} | given
        if kind == "object":
            body["positions"] = asked
        answer = post_json(
            server,
            "/v1/rotation",
            body,
            encoding="rope",
            layout="half",
            axes="bhsd",
            **(asked if kind == "query" else {}),
        )
        first, distance = asked.get("start", 0), asked.get("step", 1)
        places = [first + distance * i for i in range(3)]
        if "cu_seqlens" in way:
            places = [first, first, first + distance]
        elif way or not asked:
            places = way.get("positions", [2] * 3)
        other = (first, distance) != (0, 1)
        if not way and not asked:
            assert answer.status == 422 and answer.json["code"] == "missing-parameter"
        elif "cu_seqlens" not in way and way and other or kind == "object" and "delta" in way:
            assert answer.status == 422, (answer.status, asked, way)
            assert answer.json["code"] == "conflicting-parameters"
        else:
            got = answer.good().json["tensors"]["q"]["data"]
            assert numpy.allclose(got, rotated(x, places, "half"), atol=1e-6)
