# SPDX-License-Identifier: MIT
"""Relative vectors in attention: shaw with NEZHA's sinusoidal vectors, Transformer-XL. Against the
code of others (tests/data/oracles/relative_attention.json names it) and against numpy in the other
form, where a matrix of all distances is skewed."""

import json
import pathlib

import numpy
import pytest

from service import assert_close, post_tensors, softmax, table

CASES = json.loads(
    (
        pathlib.Path(__file__).resolve().parents[1] / "data" / "oracles" / "relative_attention.json"
    ).read_text()
)["cases"]
ATTENTION = "/v1/attention"


def array(tensor):
    return numpy.array(tensor["data"]).reshape(tensor["shape"])


def asked(server, tensors, encoding, **parameters):
    return post_tensors(
        server, ATTENTION, tensors, encoding=encoding.pop("name"), **encoding, **parameters
    )


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c["kind"].endswith("attention")],
    ids=lambda c: c["source"].split("/")[3],
)
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
def test_published_code(server, case, dtype):
    tensors = {name: array(t).astype(dtype) for name, t in case["tensors"].items()}
    for output in ("weights", "output"):
        if output in case:
            got = asked(
                server, tensors, dict(case["encoding"]), outputs=output, **case["parameters"]
            )[output]
            assert numpy.allclose(got, array(case[output]), rtol=0, atol=case["atol"])


def test_nezha_vectors(server):
    (case,) = [c for c in CASES if c["kind"] == "nezha-table"]
    rows = table(server, "shaw", **case["encoding"])
    i, j = numpy.indices((6, 6))
    assert numpy.allclose(
        rows[numpy.clip(j - i, -3, 3) + 3],
        array(case["positions_encoding"]),
        rtol=0,
        atol=case["atol"],
    )


# ---- numpy, skewed ----


def drawn(heads=3, key_heads=3, queries=6, keys=9, dim=8, row_dim=10):
    draw = numpy.random.default_rng(11).standard_normal
    return {
        "q": draw((2, heads, queries, dim)),
        "k": draw((2, key_heads, keys, dim)),
        "v": draw((2, key_heads, keys, dim)),
        "w_r": draw((heads * dim, row_dim)),
        "pos_bias_u": draw((heads, dim)),
        "pos_bias_v": draw((heads, dim)),
    }


def skewed(by_distance, keys):
    """[.., queries, distances] from the farthest on, each row one further left than the next:
    padding and a reshape do it without an index."""
    *front, queries, distances = by_distance.shape
    padded = numpy.concatenate([by_distance, numpy.zeros((*front, queries, 1))], axis=-1)
    flat = padded.reshape(*front, -1)[..., queries - 1 : queries - 1 + queries * distances]
    return flat.reshape(*front, queries, distances)[..., :keys]


def expected_scores(server, t, **rows):
    heads, dim = t["q"].shape[1], t["q"].shape[3]
    queries, keys = t["q"].shape[2], t["k"].shape[2]
    distances = table(
        server,
        "sinusoidal",
        dim=t["w_r"].shape[1],
        dtype="f64",
        start=keys - 1,
        step=-1,
        length=queries + keys - 1,
        **rows,
    )
    projected = (distances @ t["w_r"].T).reshape(-1, heads, dim)
    k = numpy.repeat(t["k"], heads // t["k"].shape[1], axis=1)
    content = (t["q"] + t["pos_bias_u"][:, None]) @ k.swapaxes(-1, -2)
    position = numpy.einsum("bhid,rhd->bhir", t["q"] + t["pos_bias_v"][:, None], projected)
    return (content + skewed(position, keys)) / dim**0.5


@pytest.mark.parametrize("key_heads", [1, 3])
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("rows", [{}, {"layout": "concatenated", "base": 100}], ids=["", "other"])
def test_transformer_xl_skewed(server, rows, causal, key_heads):
    given = drawn(key_heads=key_heads)
    scores = expected_scores(server, given, **rows)
    if causal:
        behind = numpy.arange(9)[None] > numpy.arange(6)[:, None] + 3
        scores = numpy.where(behind, -numpy.inf, scores)
    weights = softmax(scores)
    output = weights @ numpy.repeat(given["v"], 3 // key_heads, axis=1)
    for name, expected in [("scores", scores), ("weights", weights), ("output", output)]:
        got = asked(server, given, {"name": "transformer-xl"}, outputs=name, causal=causal, **rows)
        assert_close(got[name], expected, 1e-12)


def test_past_is_both_where_nothing_is_ahead(server):
    given = drawn()
    both, past = (
        asked(server, given, {"name": "transformer-xl", "direction": direction}, causal=True)[
            "output"
        ]
        for direction in ("both", "past")
    )
    assert numpy.array_equal(both, past)


# ---- relations ----


def test_without_distances_nothing_is_relative(server):
    """Vectors of zeros, and no u: attention without position."""
    given = drawn()
    qkv = {name: given[name] for name in "qkv"}
    plain = asked(server, qkv, {"name": "none"})["output"]
    zeros = {"w_r": numpy.zeros_like(given["w_r"]), "pos_bias_v": given["pos_bias_v"]}
    assert_close(asked(server, qkv | zeros, {"name": "transformer-xl"})["output"], plain, 1e-15)
    zeros = {"rel_k": numpy.zeros((5, 8)), "rel_v": numpy.zeros((5, 8))}
    assert_close(asked(server, qkv | zeros, {"name": "shaw"})["output"], plain, 1e-15)


def test_both_signs_are_one_turned_over(server):
    given = drawn()
    qkv = {name: given[name] for name in "qkv"}
    draw = numpy.random.default_rng(2).standard_normal
    rel_k, rel_v = draw((9, 8)), draw((9, 8))
    forth = asked(server, qkv | {"rel_k": rel_k, "rel_v": rel_v}, {"name": "shaw"})["output"]
    back = asked(
        server,
        qkv | {"rel_k": rel_k[::-1].copy(), "rel_v": rel_v[::-1].copy()},
        {"name": "shaw", "direction": "i-j"},
    )["output"]
    assert numpy.array_equal(forth, back)


@pytest.mark.parametrize("direction", ["j-i", "i-j"])
def test_made_vectors_are_a_posted_table(server, direction):
    """vectors=sinusoidal and the table of that view posted as learned: the same bytes."""
    given = drawn()
    qkv = {name: given[name] for name in "qkv"}
    rows = table(
        server, "shaw", max_relative_position=3, vectors="sinusoidal", dim=8, base=50, dtype="f64"
    )
    made = asked(
        server,
        qkv,
        {
            "name": "shaw",
            "vectors": "sinusoidal",
            "base": 50,
            "max_relative_position": 3,
            "direction": direction,
        },
    )["output"]
    posted = asked(
        server, qkv | {"rel_k": rows, "rel_v": rows}, {"name": "shaw", "direction": direction}
    )["output"]
    assert numpy.array_equal(made, posted)


@pytest.mark.parametrize(
    "encoding",
    [
        {"name": "transformer-xl"},
        {"name": "sandwich", "dim": 8, "causal": True},
        {"name": "shaw", "vectors": "sinusoidal", "max_relative_position": 2},
    ],
    ids=lambda e: e["name"],
)
def test_order_is_seen(server, encoding):
    """Tokens in another order: the outputs are not merely permuted."""
    qkv = {name: t[:, :, :6] for name, t in drawn().items() if name in "qkv"}
    order = [2, 0, 1, 5, 3, 4]
    plain = asked(server, qkv, dict(encoding))["output"]
    moved = asked(server, {n: t[:, :, order] for n, t in qkv.items()}, dict(encoding))["output"]
    assert numpy.abs(plain[:, :, order] - moved).max() > 1e-3
