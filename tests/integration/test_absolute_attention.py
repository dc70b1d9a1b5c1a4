# SPDX-License-Identifier: MIT
"""Absolute positions in attention: projections of x + p, and the four terms that their products
fall into, beside numpy in f64."""

import numpy
import pytest

from service import post_json, post_tensors, softmax

ATTENTION = "/v1/attention"
NAMES = ("content_content", "content_position", "position_content", "position_position")


def drawn(batch=2, tokens=7, dim=12, heads=3, width=5, values=4, dtype=numpy.float64):
    draw = numpy.random.default_rng(5).standard_normal
    return {
        "x": draw((batch, tokens, dim)).astype(dtype),
        "p": draw((tokens, dim)).astype(dtype),
        "w_q": draw((heads * width, dim)).astype(dtype),
        "w_k": draw((heads * width, dim)).astype(dtype),
        "w_v": draw((heads * values, dim)).astype(dtype),
    }


def projected(rows, weight, heads):
    """x W^T, [b, heads, s, d]."""
    flat = rows @ weight.T
    batch, tokens, columns = flat.shape
    return flat.reshape(batch, tokens, heads, columns // heads).transpose(0, 2, 1, 3)


def scores(a, b, t, heads, scale=None):
    q, k = projected(a, t["w_q"], heads), projected(b, t["w_k"], heads)
    return q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5)


def asked(server, tensors, **parameters):
    return post_tensors(server, ATTENTION, tensors, encoding="absolute", **parameters)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("dtype, near", [(numpy.float64, 1e-12), (numpy.float32, 3e-4)])
@pytest.mark.parametrize("causal", [False, True])
def test_scores_weights_output(server, heads, dtype, near, causal):
    t = drawn(dtype=dtype)
    wide = {name: value.astype(numpy.float64) for name, value in t.items()}
    x = wide["x"] + wide["p"]
    wanted = scores(x, x, wide, heads)
    if causal:
        wanted[..., ~numpy.tri(7, dtype=bool)] = -numpy.inf
    weights = softmax(wanted)
    parameters = {"heads": heads, "causal": str(causal).lower()}
    assert numpy.allclose(
        asked(server, t, outputs="scores", **parameters)["scores"], wanted, rtol=0, atol=near * 30
    )
    assert numpy.allclose(
        asked(server, t, outputs="weights", **parameters)["weights"], weights, rtol=0, atol=near
    )
    assert numpy.allclose(
        asked(server, t, **parameters)["output"],
        weights @ projected(x, wide["w_v"], heads),
        rtol=0,
        atol=near * 30,
    )


@pytest.mark.parametrize("shared", [True, False])
def test_components(server, shared):
    """Each of the four terms, and their sum: it is the scores."""
    t = drawn()
    if not shared:
        t["p"] = numpy.random.default_rng(6).standard_normal(t["x"].shape)
    p = numpy.broadcast_to(t["p"], t["x"].shape)
    del t["w_v"]
    got = asked(server, t, heads=3, outputs="components", scale=0.25)
    assert set(got) == set(NAMES)
    for name, rows in zip(NAMES, [(a, b) for a in (t["x"], p) for b in (t["x"], p)]):
        assert numpy.allclose(got[name], scores(*rows, t, 3, 0.25), rtol=0, atol=1e-12), name
    whole = asked(server, t, heads=3, outputs="scores", scale=0.25)["scores"]
    assert numpy.allclose(sum(got.values()), whole, rtol=0, atol=1e-12)


def test_position_alone_decides_where_tokens_are_alike(server):
    t = drawn(heads=1)
    t["x"] = numpy.broadcast_to(t["x"][:, :1], t["x"].shape).copy()
    got = asked(server, t, outputs="components")
    assert numpy.ptp(got["content_content"], axis=(2, 3)).max() < 1e-12
    assert numpy.ptp(got["position_position"], axis=(2, 3)).min() > 0.1


def test_many_rows(server):
    t = drawn(batch=3, tokens=150, dim=40, heads=4, width=16, values=16, dtype=numpy.float32)
    wide = {name: value.astype(numpy.float64) for name, value in t.items()}
    x = wide["x"] + wide["p"]
    weights = softmax(scores(x, x, wide, 4))
    assert numpy.allclose(
        asked(server, t, heads=4)["output"],
        weights @ projected(x, wide["w_v"], 4),
        rtol=0,
        atol=2e-3,
    )


X = {"shape": [1, 2, 2], "data": [1, 2, 3, 4]}
P = {"shape": [2, 2], "data": [0, 1, 1, 0]}
W = {"shape": [2, 2], "data": [1, 0, 0, 1]}
WHOLE = {"x": X, "p": P, "w_q": W, "w_k": W, "w_v": W}
WRONG = [
    ({"p": None}, {}, "p"),
    ({"x": None}, {}, "x"),
    ({"w_q": None}, {}, "w_q"),
    ({"w_k": None}, {}, "w_k"),
    ({"w_v": None}, {}, "w_v"),
    ({"p": {"shape": [3, 2], "data": [0] * 6}}, {}, "p"),
    ({"p": {"shape": [2, 2, 2], "data": [0] * 8}}, {}, "p"),
    ({"w_k": {"shape": [4, 2], "data": [0] * 8}}, {}, "w_k"),
    ({"w_q": {"shape": [2, 3], "data": [0] * 6}}, {}, "w_q"),
    ({"x": X | {"dtype": "f16"}}, {}, "x"),
    ({"p": P | {"dtype": "f64"}}, {}, "p"),
    ({"q": {"shape": [1, 1, 2, 2], "data": [1, 2, 3, 4]}}, {}, "q"),
    ({}, {"heads": 3}, "w_q"),
    ({}, {"heads": 0}, "heads"),
    ({}, {"encoding": "none"}, "x"),
    ({}, {"encoding": "rope", "layout": "half"}, "x"),
    ({}, {"encoding": "none", "heads": 2}, "heads"),
    ({}, {"encoding": "none", "outputs": "components"}, "outputs"),
    ({}, {"layout": "half"}, "layout"),
]


@pytest.mark.parametrize("tensors, parameters, named", WRONG, ids=range(len(WRONG)))
def test_wrong(server, tensors, parameters, named):
    body = {"encoding": "absolute"} | parameters
    body["tensors"] = {name: t for name, t in (WHOLE | tensors).items() if t}
    problem = post_json(server, ATTENTION, body)
    assert problem.status == 422, problem.json
    error = problem.json["errors"][0]
    assert named in (
        error.get("tensor"),
        error.get("parameter"),
        error.get("pointer", "/").split("/")[1],
    ), problem.json
