# SPDX-License-Identifier: MIT
"""Attention over HTTP against the definitions in numpy, and its blindness to order."""

import itertools

import numpy
import pytest

from service import assert_close, attended, post_json, post_tensors

ATTENTION = "/v1/attention"
OUTPUTS = ["scores", "weights", "output"]


def tensors(heads=4, key_heads=4, queries=9, keys=9, dim=8, dtype=numpy.float64, seed=3):
    draw = numpy.random.default_rng(seed).standard_normal
    return {
        "q": draw((2, heads, queries, dim)).astype(dtype),
        "k": draw((2, key_heads, keys, dim)).astype(dtype),
        "v": draw((2, key_heads, keys, dim)).astype(dtype),
    }


def relative(clip=3, dim=8, dtype=numpy.float64):
    draw = numpy.random.default_rng(4).standard_normal
    return {
        "rel_k": draw((2 * clip + 1, dim)).astype(dtype),
        "rel_v": draw((2 * clip + 1, dim)).astype(dtype),
    }


def asked(server, given, scheme, **parameters):
    if scheme == "rope":
        parameters["layout"] = "half"
    return post_tensors(server, ATTENTION, given, encoding=scheme, **parameters)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("scheme", ["none", "rope", "alibi", "shaw"])
def test_definition(server, scheme, causal, output):
    given = tensors()
    more = relative() if scheme == "shaw" else {}
    expected = attended(**given, scheme=scheme, causal=causal, **more)[OUTPUTS.index(output)]
    got = asked(server, given | more, scheme, causal=causal, outputs=output)
    assert set(got) == {output}
    assert_close(got[output], expected, 1e-12)


@pytest.mark.parametrize("scheme", ["none", "rope", "alibi", "shaw"])
def test_grouped_heads_and_last_queries(server, scheme):
    """Eight query heads share two of keys; the queries are the last rows of the keys."""
    given = tensors(heads=8, key_heads=2, queries=3, keys=11)
    more = relative() if scheme == "shaw" else {}
    expected = attended(**given, scheme=scheme, causal=True, **more)[2]
    assert_close(asked(server, given | more, scheme, causal=True)["output"], expected, 1e-12)
    shifted = attended(**given, scheme=scheme, query_start=2, **more)[0]
    got = asked(server, given | more, scheme, query_start=2, outputs="scores")["scores"]
    assert_close(got, shifted, 1e-12)


@pytest.mark.parametrize("scheme", ["none", "rope", "alibi", "shaw"])
def test_float32(server, scheme):
    given = tensors(dtype=numpy.float32, queries=130, keys=130, dim=64)
    more = relative(dim=64, clip=16, dtype=numpy.float32) if scheme == "shaw" else {}
    for output, expected in zip(OUTPUTS, attended(**given, scheme=scheme, causal=True, **more)):
        got = asked(server, given | more, scheme, causal=True, outputs=output)[output]
        assert got.dtype == numpy.float32
        assert_close(got, expected, 3e-6)


def test_shaw_is_the_naive_formula(server):
    """e_ij = q_i · (k_j + a_clip(j - i)) / sqrt(d), one pair of tokens at a time."""
    given, more = tensors(queries=7, keys=7), relative(clip=2)
    q, k, rel_k = given["q"], given["k"], more["rel_k"]
    got = asked(
        server, {"q": q, "k": k, "rel_k": rel_k}, "shaw", outputs="scores", max_relative_position=2
    )["scores"]
    for b, h, i, j in itertools.product(range(2), range(4), range(7), range(7)):
        row = max(-2, min(2, j - i)) + 2
        assert abs(got[b, h, i, j] - q[b, h, i] @ (k[b, h, j] + rel_k[row]) / 8**0.5) < 1e-13


def words(order):
    """Three tokens, each with a query, a key and a value, in some order."""
    draw = numpy.random.default_rng(5).standard_normal
    token = {letter: draw((3, 2, 8)) for letter in "ABC"}
    stacked = numpy.stack([token[letter] for letter in order], axis=2)
    return dict(zip("qkv", stacked[:, None]))


@pytest.mark.parametrize("scheme", ["none", "rope", "alibi", "shaw"])
def test_order(server, scheme):
    """ABC against CBA: without position every token gets the same output, with any it does not."""
    more = relative() if scheme == "shaw" else {}
    forth = asked(server, words("ABC") | more, scheme)["output"]
    back = asked(server, words("CBA") | more, scheme)["output"][:, :, ::-1]
    difference = numpy.abs(forth - back).max(axis=(0, 1, 3))
    if scheme == "none":
        assert difference.max() < 1e-14
    elif scheme == "alibi":  # counts distances alike both ways: only the reversal of all is unseen
        assert difference.max() < 1e-14
        swapped = asked(server, words("ACB"), scheme)["output"][:, :, [0, 2, 1]]
        assert numpy.abs(forth - swapped).max() > 1e-3
        causal = [asked(server, words(o), scheme, causal=True)["output"] for o in ("ABC", "CBA")]
        assert numpy.abs(causal[0] - causal[1][:, :, ::-1]).max() > 1e-3
    else:
        assert difference.max() > 1e-3


def test_masked_whole(server):
    """Queries before the first key see nothing: zeros, not NaN."""
    given = tensors(queries=4, keys=4)
    weights = asked(server, given, "none", causal=True, query_start=-2, outputs="weights")[
        "weights"
    ]
    assert not weights[:, :, :2].any()
    assert numpy.allclose(weights[:, :, 2:].sum(-1), 1)
    output = asked(server, given, "none", causal=True, query_start=-2)["output"]
    assert not output[:, :, :2].any() and numpy.isfinite(output).all()


def test_json(server):
    answer = post_json(
        server,
        ATTENTION,
        {
            "encoding": "alibi",
            "outputs": "scores",
            "causal": True,
            "scale": 1,
            "tensors": {
                "q": {"dtype": "f64", "shape": [1, 1, 2, 2], "data": [[[[1, 0], [0, 1]]]]},
                "k": {"dtype": "f64", "shape": [1, 1, 2, 2], "data": [[[[1, 0], [0, 1]]]]},
            },
        },
    )
    assert answer.status == 200, answer.body
    assert answer.json["tensors"]["scores"]["data"] == [[[[1, "-Infinity"], [-0.00390625, 1]]]]


def test_long_rows_stream(server):
    """4096 queries and keys: 64 MB of scores that are never held whole."""
    given = tensors(heads=1, key_heads=1, queries=4096, keys=4096, dim=32, dtype=numpy.float32)
    given = {name: t[:1] for name, t in given.items()}
    got = asked(server, {"q": given["q"], "k": given["k"]}, "alibi", causal=True, outputs="scores")[
        "scores"
    ]
    assert_close(got, attended(given["q"], given["k"], scheme="alibi", causal=True)[0], 3e-6)
