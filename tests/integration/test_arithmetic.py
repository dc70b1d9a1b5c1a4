# SPDX-License-Identifier: MIT
"""arithmetic=hf against the same float32 operations in numpy, bit for bit. A function (power, cos,
sin) is taken in float64 and rounded, which is the correctly rounded float32 but for one value in
2^28. tests/parity asks transformers itself."""

import json

import numpy
import pytest

from service import get, post_json, post_tensors, table

F = numpy.float32
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
POSITIONS = [0, 1, 2, 1000, 131071, 16777217, 10_000_000, -5, 2**53 - 1]


def plain(dim, base):
    exponents = numpy.arange(0, dim, 2, dtype=F) / F(dim)
    return F(1) / (float(F(base)) ** exponents.astype(numpy.float64)).astype(F)


def llama3(
    dim, base, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings, **_
):
    w = plain(dim, base)
    original = original_max_position_embeddings
    wave = (F(1) / w) * F(2 * numpy.pi)
    smooth = ((F(1) / wave) * F(original) - F(low_freq_factor)) / F(
        high_freq_factor - low_freq_factor
    )
    blended = (F(1) - smooth) * w / F(factor) + smooth * w
    long = numpy.where(wave > F(original / low_freq_factor), w / F(factor), w)
    between = ~(wave < F(original / high_freq_factor)) & ~(wave > F(original / low_freq_factor))
    return numpy.where(between, blended, long)


def waves(frequencies, positions, factor=1):
    angles = (numpy.array(positions, F)[:, None] * frequencies).astype(numpy.float64)
    return [(f(angles).astype(F) * F(factor)) for f in (numpy.cos, numpy.sin)]


def bf16(values):
    """To bfloat16 and back, to nearest even."""
    bits = values.astype(F).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(F)


def same(got, expected):
    assert got.dtype == expected.dtype == F
    assert numpy.array_equal(got.view(numpy.uint32), expected.view(numpy.uint32))


@pytest.mark.parametrize(
    "given,expected",
    [
        ({"dim": 128}, plain(128, 1e4)),
        ({"dim": 64, "base": 500000}, plain(64, 5e5)),
        ({"dim": 96, "base": 1e6, "rope_type": "linear", "factor": 3}, plain(96, 1e6) / F(3)),
        ({"dim": 128, "base": 500000, **LLAMA3}, llama3(128, 5e5, **LLAMA3)),
    ],
    ids=["default", "base", "linear", "llama3"],
)
def test_frequencies_and_tables(server, given, expected):
    same(table(server, "rope", "frequencies", dtype="f32", arithmetic="hf", **given), expected)
    for part, wave in zip(("cos", "sin"), waves(expected, POSITIONS)):
        got = table(server, "rope", positions=POSITIONS, part=part, arithmetic="hf", **given)
        same(got, wave)


def test_positions_are_rounded_once(server):
    """A hair above the middle of two float32, which no float64 holds, goes up: not to the middle
    first and from there to the even one below."""
    given = {"dim": 8, "arithmetic": "hf", "dtype": "f32"}
    steps = table(server, "rope", start=2**24 + 1, step=2.0**-40, length=2, part="cos", **given)
    whole = table(server, "rope", positions=[2**24, 2**24 + 2], part="cos", **given)
    assert numpy.array_equal(steps, whole)


def test_attention_factor_and_casts(server):
    given = {
        "dim": 64,
        "rope_type": "yarn",
        "factor": 16,
        "original_max_position_embeddings": 4096,
        "arithmetic": "hf",
    }
    w = table(server, "rope", "frequencies", dtype="f32", **given)
    expected, _ = waves(w, range(300), factor=0.1 * numpy.log(16) + 1)
    for dtype, cast in (
        ("f64", lambda x: x.astype(numpy.float64)),
        ("f32", lambda x: x),
        ("f16", lambda x: x.astype(numpy.float16)),
    ):
        got = table(server, "rope", length=300, part="cos", dtype=dtype, **given)
        assert numpy.array_equal(got, cast(expected)), dtype


def test_answer_names_it_and_exact_is_the_default(server):
    for given, expected in (
        ({}, "exact"),
        ({"arithmetic": "exact"}, "exact"),
        ({"arithmetic": "hf"}, "hf"),
    ):
        answer = get(server, "/v1/encodings/rope/table", dim=8, length=2, format="npy", **given)
        told = json.loads(answer.headers["encoding-parameters"])
        assert told["arithmetic"] == expected
    refused = get(server, "/v1/encodings/rope/table", dim=8, length=2, arithmetic="fast")
    assert refused.status == 422 and b"arithmetic" in refused.body


def test_comparison_shows_what_float32_angles_cost(server):
    """encodings.md: 3e-3 at position 131071, 5e-2 at a million."""
    answer = post_json(
        server,
        "/v1/comparison",
        {
            "a": {"name": "rope", "dim": 128},
            "b": {"name": "rope", "dim": 128, "arithmetic": "hf"},
            "positions": [0, 131071, 1000000],
            "per_position": True,
            "dtype": "f32",
        },
    )
    assert answer.status == 200, answer.body
    errors = answer.json["per_position"]["max_abs"]
    assert errors[0] == 0
    assert 1e-3 < errors[1] < 1e-2 and 1e-2 < errors[2] < 1e-1


def test_error_is_told_against_the_real_numbers(server):
    given = {"dim": 64, "positions": [0, 131071, 1000000]}
    exact = table(server, "rope", dtype="f64", part="cos", **given)
    hf = table(server, "rope", dtype="f32", part="cos", arithmetic="hf", **given)
    answer = get(
        server, "/v1/encodings/rope/analysis/error", dtype="f32", arithmetic="hf", **given
    ).good()
    told = numpy.array(answer.json["tensors"]["error"]["data"])
    assert told.shape == hf.shape and told.max() > 1e-2
    assert (told >= numpy.abs(hf - exact) * (1 - 1e-6)).all()


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_rotation_rounds_each_operation(server, layout, dtype):
    cast = {
        "f32": lambda x: x.astype(F),
        "bf16": bf16,
        "f16": lambda x: x.astype(numpy.float16).astype(F),
    }[dtype]
    x = cast(numpy.random.default_rng(7).normal(size=(1, 3, 40, 64)).astype(F))
    c, s = (cast(wave) for wave in waves(plain(64, 1e4), range(1000, 1040)))
    first, second = (x[..., :32], x[..., 32:]) if layout == "half" else (x[..., 0::2], x[..., 1::2])
    a = cast(cast(first * c) - cast(second * s))
    b = cast(cast(second * c) + cast(first * s))
    expected = (
        numpy.concatenate([a, b], -1)
        if layout == "half"
        else numpy.stack([a, b], -1).reshape(x.shape)
    )
    if dtype == "bf16":
        answer = post_json(
            server,
            "/v1/rotation",
            {
                "encoding": {"name": "rope", "arithmetic": "hf"},
                "axes": "bhsd",
                "layout": layout,
                "positions": {"start": 1000},
                "tensors": {"x": {"dtype": "bf16", "shape": list(x.shape), "data": x.tolist()}},
            },
        )
        got = numpy.array(answer.good().json["tensors"]["x"]["data"], F)
    else:
        wire = x.astype(numpy.float16) if dtype == "f16" else x
        got = post_tensors(
            server,
            "/v1/rotation",
            {"x": wire},
            encoding="rope",
            axes="bhsd",
            layout=layout,
            start=1000,
            arithmetic="hf",
        )["x"].astype(F)
    assert numpy.array_equal(got, expected)
