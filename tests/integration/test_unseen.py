# SPDX-License-Identifier: MIT
"""Nothing that a query may not see can touch its output: not even a NaN or an infinity, which a
weight of zero would not erase."""

import numpy
import pytest

from service import post_tensors

QUERIES, KEYS, DIM, CLIP = 40, 40, 8, 5


def drawn(dtype):
    draw = numpy.random.default_rng(3).standard_normal
    return {
        name: draw(shape).astype(dtype)
        for name, shape in {
            "q": (1, 2, QUERIES, DIM),
            "k": (1, 2, KEYS, DIM),
            "v": (1, 2, KEYS, DIM),
            "rel_k": (2 * CLIP + 1, DIM),
            "rel_v": (2 * CLIP + 1, DIM),
        }.items()
    }


def attended(server, tensors, **parameters):
    return post_tensors(
        server, "/v1/attention", tensors, causal=True, outputs="output", **parameters
    )["output"]


@pytest.mark.parametrize("odd", [numpy.inf, -numpy.inf, numpy.nan])
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64, numpy.float16])
@pytest.mark.parametrize("direction", ["j-i", "i-j"])
def test_vectors_of_the_future(server, odd, dtype, direction):
    """Shaw's vectors of keys behind the query, one of them odd, then all."""
    shaw = {"encoding": "shaw", "max_relative_position": CLIP, "direction": direction}
    tensors = drawn(dtype)
    want = attended(server, tensors, **shaw)
    assert numpy.isfinite(want).all()
    future = slice(CLIP + 1, None) if direction == "j-i" else slice(0, CLIP)
    for name in ("rel_v", "rel_k"):
        for rows in (future, future.start, (future.stop or 2 * CLIP + 1) - 1):
            changed = {**tensors, name: tensors[name].copy()}
            changed[name][rows] = odd
            assert numpy.array_equal(attended(server, changed, **shaw), want), (name, rows)
    seen = {**tensors, "rel_v": tensors["rel_v"].copy()}
    seen["rel_v"][CLIP] = odd  # every query sees itself
    assert not numpy.isfinite(attended(server, seen, **shaw)).any()


@pytest.mark.parametrize(
    "encoding",
    [
        {"encoding": "none"},
        {"encoding": "alibi"},
        {"encoding": "rope", "layout": "half"},
        {"encoding": "shaw", "max_relative_position": CLIP},
    ],
)
def test_values_of_the_future(server, encoding):
    """Queries before the odd key have the same bytes, those from it on do not."""
    tensors = drawn(numpy.float32)
    if encoding["encoding"] != "shaw":
        del tensors["rel_k"], tensors["rel_v"]
    want = attended(server, tensors, **encoding)
    for key in (1, 17, KEYS - 1):
        changed = {**tensors, "v": tensors["v"].copy()}
        changed["v"][0, :, key] = numpy.nan
        got = attended(server, changed, **encoding)
        assert numpy.array_equal(got[:, :, :key], want[:, :, :key])
        assert numpy.isnan(got[:, :, key:]).all()
