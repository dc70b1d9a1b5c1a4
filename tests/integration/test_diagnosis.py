# SPDX-License-Identifier: MIT
"""POST /v1/diagnosis: mistakes made on purpose, as real code makes them, and what is no mistake."""

import json
import pathlib
import re

import numpy
import pytest
from samples import F32, ask, bf16, cos_sin, f16, float32_cos_sin

from service import SAFETENSORS, call, get, inv_freq, post_json, rotated, table

YARN = {
    "name": "rope",
    "dim": 64,
    "rope_type": "yarn",
    "factor": 8,
    "original_max_position_embeddings": 512,
}
LLAMA = {
    "name": "rope",
    "dim": 128,
    "base": 500000,
    "rope_type": "llama3",
    "factor": 8,
    "low_freq_factor": 1,
    "high_freq_factor": 4,
    "original_max_position_embeddings": 8192,
}


def diagnose(server, tensors, **parameters):
    return ask(server, tensors, **parameters).good().json


def verdict(report):
    best = report["candidates"][0]
    return report["verdict"], best["bug"] if report["verdict"] != "unknown" else None


CONSISTENT = "consistent", None


def known(bug):
    return ("known-bug", bug) if bug else ("match", None)


def frequencies(server, scheme):
    told = get(
        server,
        "/v1/encodings/rope/frequencies",
        dtype="f64",
        **{k: v for k, v in scheme.items() if k != "name"},
    ).json
    return numpy.array(told["tensors"]["inv_freq"]["data"]), told["attention_factor"]


def noisy(tensors, kind):
    """Rounded to a dtype; f16 kept in f32; or f32 with noise as large as that of f16 on top."""
    rng = numpy.random.default_rng(0)
    if kind == "noise":
        return {
            n: (x + rng.standard_normal(x.shape) * 2.0**-11).astype(F32) for n, x in tensors.items()
        }
    if kind == "f16 in f32":
        return {n: f16(x) for n, x in tensors.items()}
    return {
        n: x.astype({"f32": F32, "f16": numpy.float16, "f64": numpy.float64}[kind])
        for n, x in tensors.items()
    }


NOISES = ["f32", "f16 in f32", "noise"]


# ---- each mistake -------------------------------------------------------------------------------


def plain(dim, base, **more):
    return {"name": "rope", "dim": dim, "base": base, **more}


def mistake(server, name, dim, base, length):
    """(cos and sin, the scheme that was expected, the first position)"""
    t = numpy.arange(length)
    w, half = inv_freq(dim, base), dim // 2
    yarn = plain(dim, base, rope_type="yarn", factor=8, original_max_position_embeddings=512)
    llama = LLAMA | {"dim": dim, "base": base}
    if name in ("inv-freq-bf16", "inv-freq-f16"):
        # model.half(): the buffer is rounded, the product is not
        return float32_cos_sin(t, {"bf16": bf16, "f16": f16}[name[9:]](w)), plain(dim, base), 0
    if name in ("positions-bf16", "positions-f16"):
        rounded, start = (bf16, 300) if name.endswith("bf16") else (f16, 3000)
        return float32_cos_sin(rounded(start + t), w), plain(dim, base), start
    if name == "angles-bf16":
        # torch.arange(n, dtype=inv_freq.dtype), an outer product, all in bf16
        return cos_sin(bf16(bf16(t)[:, None] * bf16(w)).astype(float)), plain(dim, base), 0
    if name == "float32-angle":
        return float32_cos_sin(t + 500000, w), plain(dim, base), 500000
    if name == "off-by-one-position":
        return cos_sin((t + 1)[:, None] * w), plain(dim, base), 0
    if name == "half-minus-one-divisor":
        return cos_sin(t[:, None] * base ** (-numpy.arange(half) / (half - 1))), plain(dim, base), 0
    if name == "wrong-width":
        return (
            cos_sin(t[:, None] * inv_freq(2 * dim, base)[:half]),
            plain(2 * dim, base, partial_rotary_factor=0.5),
            0,
        )
    if name == "base-ignored":
        return cos_sin(t[:, None] * inv_freq(dim)), plain(dim, 3 * base), 0
    if name == "scaling-missing":
        return cos_sin(t[:, None] * w), llama, 0
    if name == "scaling-wrong":
        return cos_sin(t[:, None] * frequencies(server, llama | {"factor": 32})[0]), llama, 0
    if name == "rotated-backwards":
        return cos_sin(-t[:, None] * w), plain(dim, base), 0
    w, factor = frequencies(server, yarn)
    if name == "attention-factor-wrong":
        asked = yarn | {"mscale": 1, "mscale_all_dim": 0.5}
        return cos_sin(t[:, None] * frequencies(server, asked)[0], factor), asked, 0
    return cos_sin(t[:, None] * w, factor ** (2 if name.endswith("twice") else 0)), yarn, 0


MISTAKES = [
    "inv-freq-bf16",
    "inv-freq-f16",
    "positions-bf16",
    "positions-f16",
    "angles-bf16",
    "float32-angle",
    "off-by-one-position",
    "half-minus-one-divisor",
    "wrong-width",
    "base-ignored",
    "scaling-missing",
    "scaling-wrong",
    "attention-factor-missing",
    "attention-factor-twice",
    "attention-factor-wrong",
    "rotated-backwards",
]


@pytest.mark.numbers(11, quick=2)
@pytest.mark.parametrize(
    "dim,base,length", [(64, 10000.0, 600), (128, 500000.0, 100), (48, 25000.0, 1500)]
)
@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake(server, name, dim, base, length):
    tensors, expected, start = mistake(server, name, dim, base, length)
    for noise in NOISES:
        seen = noisy(tensors, noise)
        report = diagnose(server, seen, encoding=expected, start=start)
        assert verdict(report) == known(name), (noise, report)
        if noise != "f32" or length != 600 or name == "rotated-backwards":
            continue
        for part in ("cos", "sin"):  # one alone tells the same
            report = diagnose(server, {part: seen[part]}, encoding=expected, start=start)
            assert verdict(report) == known(name), (part, report)


def test_every_mistake_of_the_contract_is_made():
    """Those of tensors and of other arithmetic are made further down, or in confusion.py."""
    listed = pathlib.Path(__file__).parents[2] / "core" / "diagnosis" / "bugs.def"
    codes = re.findall(r'BUG\(\w+, "([\w-]+)"', listed.read_text())
    assert set(codes) - set(MISTAKES) == {
        "angles-f16",
        "layout-swapped",
        "columns-swapped",
        "inv-freq-truncated",
        "cos-sin-swapped",
        "config-ignored",
        "attention-factor-in-logarithm",
        "truncate-ignored",
        "scaled-offset",
        "rotated-twice",
        "not-rotated",
        "mrope-sections-order",
        "uninitialized",
        "layout-mixed",
        "pairs-across-head",
        "pairs-within-prefix",
        "pairs-permuted",  # of functions, tests/core/diagnosis/test_probe.c
        "outputs-reordered",
    }


@pytest.mark.numbers(2)
@pytest.mark.parametrize("kind", ["f32", "bf16", "f16"])
def test_frequencies(server, kind):
    w = inv_freq(128)
    posted = {"f32": F32, "bf16": bf16, "f16": f16}[kind](w)
    bug = None if kind == "f32" else f"inv-freq-{kind}"
    for expected in ({}, {"encoding": "rope"}):
        assert verdict(diagnose(server, {"inv_freq": posted}, **expected)) == (
            known(bug) if bug or expected else CONSISTENT
        )
    half = 10000.0 ** (-numpy.arange(64) / 63)
    for posted in (half.astype(F32), half.astype(numpy.float16)):
        assert verdict(diagnose(server, {"inv_freq": posted}, encoding="rope")) == known(
            "half-minus-one-divisor"
        )
    angles = cos_sin(f16(f16(numpy.arange(900))[:, None] * f16(w)).astype(float))
    assert verdict(diagnose(server, angles, encoding="rope")) == known("angles-f16")


@pytest.mark.parametrize("wrong", [[20], [3, 4], [0, 7, 30, 50, 63]])
def test_a_few_wrong_frequencies_are_no_noise(server, wrong):
    """One value of 32 makes most of the rms, and was once as good as hidden in it."""
    right = inv_freq(128)
    for kind in F32, bf16:
        posted = kind(right).astype(float)
        posted[wrong] *= 1.02
        report = diagnose(server, {"inv_freq": posted.astype(F32)}, encoding=plain(128, 10000))
        assert verdict(report) == ("unknown", None), report
    noise = 1 + 1e-3 * numpy.random.default_rng(7).standard_normal(64)
    assert verdict(diagnose(server, {"inv_freq": right * noise}, encoding="rope"))[0] == "match"


# ---- what is no mistake -------------------------------------------------------------------------


@pytest.mark.numbers(9, quick=3)
@pytest.mark.parametrize("noise", ["f64", "f16", *NOISES])
@pytest.mark.parametrize(
    "scheme",
    [
        plain(64, 10000),
        YARN,
        LLAMA,
        plain(32, 7),
        plain(128, 10000, rotary_dim=2),
        plain(96, 1000000, rope_type="ntk", factor=4),
    ],
    ids=["plain", "yarn", "llama3", "base 7", "one pair", "ntk"],
)
def test_a_correct_table_is_never_a_mistake(server, scheme, noise):
    """The service's own tables, those of float64 and those of float32, expected or not."""
    w, factor = frequencies(server, scheme)
    start = 9000 if noise in NOISES else -20
    t = start + numpy.arange(150)
    cos, sin = table(
        server,
        "rope",
        length=150,
        start=start,
        dtype="f64",
        **{k: v for k, v in scheme.items() if k != "name"},
    )
    for tensors in (
        {"cos": cos, "sin": sin},
        cos_sin(t[:, None] * w, factor),
        float32_cos_sin(t, w, factor),
    ):
        seen = noisy(tensors, noise)
        report = diagnose(server, seen, encoding=scheme, start=start)
        assert verdict(report) == ("match", None), report
    report = diagnose(server, seen, start=start)
    assert report["verdict"] in ("consistent", "unknown"), report


def test_float32_at_the_length_of_a_model(server):
    """A table as long as contexts mostly are is right in float32; ten times as far it is not."""
    w = inv_freq(64)
    for start, bug in ((16000, None), (200000, "float32-angle")):
        tensors = float32_cos_sin(start + numpy.arange(4096), w)
        report = diagnose(server, tensors, encoding=plain(64, 10000), start=start)
        assert verdict(report) == known(bug)
        assert (report["rows"], report["rows_compared"], report["bad_rows"]) == (4096, 4096, 0)


@pytest.mark.numbers(6)
@pytest.mark.parametrize("base", [10000, 500000, 1e6, 12345, 250, 3.5e7])
def test_a_base_is_found(server, base):
    base = float("%.2e" % base)
    t = numpy.arange(600)
    for tensors in (
        noisy(cos_sin(t[:, None] * inv_freq(64, base)), "f32"),
        {"inv_freq": inv_freq(64, base).astype(F32)},
    ):
        report = diagnose(server, tensors)
        assert report["verdict"] == "consistent"
        assert report["candidates"][0]["encoding"]["base"] == base


def test_another_scheme_or_none(server):
    t = numpy.arange(600)
    tensors = noisy(cos_sin(t[:, None] * inv_freq(64, 500000)), "f32")
    report = diagnose(server, tensors, encoding=plain(64, 10000))
    assert report["verdict"] == "other-scheme"
    assert report["candidates"][0]["encoding"]["base"] == 500000
    junk = numpy.random.default_rng(1).standard_normal((50, 32)).astype(F32)
    report = diagnose(server, {"cos": junk})
    assert report["verdict"] == "unknown"
    assert not any(candidate["fits"] for candidate in report["candidates"])


# ---- what cannot be told ------------------------------------------------------------------------


def test_ambiguity_is_said(server):
    """At position 0 every rotation is none; two mistakes that agree are both named."""
    first = {"cos": numpy.ones((1, 32)), "sin": numpy.zeros((1, 32))}
    for expected in ({}, {"encoding": plain(64, 10000)}):
        report = diagnose(server, first, **expected)
        assert (report["verdict"], report["ambiguous"]) == (
            "match" if expected else "consistent",
            True,
        )
        assert any("equally well" in warning for warning in report["warnings"])
    report = diagnose(server, first, encoding=YARN)
    bugs = {candidate["bug"] for candidate in report["candidates"] if candidate["fits"]}
    assert (report["verdict"], report["ambiguous"]) == ("known-bug", True)
    assert {"scaling-missing", "attention-factor-missing"} <= bugs
    second = cos_sin(numpy.arange(40)[:, None] * inv_freq(64))
    report = diagnose(server, second, encoding=plain(64, 10000))
    assert (report["verdict"], report["ambiguous"]) == ("match", False)


# ---- the ways that cos and sin are kept ---------------------------------------------------------


def test_complex_and_doubled_tables(server):
    parts = noisy(cos_sin(numpy.arange(300)[:, None] * inv_freq(64)), "f32")
    both = numpy.stack([parts["cos"], parts["sin"]], -1)
    assert verdict(diagnose(server, {"freqs_cis": both})) == CONSISTENT
    for layout, double in (
        ("half", lambda x: numpy.concatenate([x, x], -1)),
        ("interleaved", lambda x: numpy.repeat(x, 2, -1)),
    ):
        tensors = {name: double(x)[None] for name, x in parts.items()}
        for expected in ({"encoding": plain(64, 10000)}, {"encoding": "rope"}):
            report = diagnose(server, tensors, **expected)
            assert verdict(report) == ("match", None)
            assert report["candidates"][0]["layout"] == layout
        other = {"half": "interleaved", "interleaved": "half"}[layout]
        report = diagnose(server, tensors, encoding=plain(64, 10000), layout=other)
        assert verdict(report) == ("known-bug", "layout-swapped")


def test_a_config_is_expected(server):
    config = {
        "model_type": "llama",
        "head_dim": 64,
        "rope_theta": 500000,
        "rope_scaling": {"rope_type": "linear", "factor": 4},
    }
    t = numpy.arange(200)[:, None]
    for factor, bug in ((4, None), (1, "scaling-missing"), (2, "scaling-wrong")):
        tensors = noisy(cos_sin(t * inv_freq(64, 500000) / factor), "f32")
        assert verdict(diagnose(server, tensors, config=config)) == known(bug)


@pytest.mark.numbers(5)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "dim,ours,theirs",
    [
        (32, "interleaved", "concatenated"),
        (30, "concatenated", "interleaved"),
        (33, "interleaved", "concatenated"),
    ],
)
def test_rows_to_add(server, dim, ours, theirs, noise):
    for spacing in ("paper", "endpoint"):
        rows = table(
            server, "sinusoidal", dim=dim, length=100, layout=theirs, spacing=spacing, dtype="f64"
        )
        posted = noisy({"table": rows}, noise)
        expected = {"name": "sinusoidal", "spacing": spacing, "layout": theirs}
        assert verdict(diagnose(server, posted, encoding=expected)) == ("match", None)
        report = diagnose(server, posted, encoding=expected | {"layout": ours})
        assert verdict(report) == ("known-bug", "columns-swapped")
        if dim % 2 == 0:
            report = diagnose(server, posted)
            assert verdict(report) == CONSISTENT
            assert report["candidates"][0]["layout"] == theirs
            assert report["candidates"][0]["encoding"]["spacing"] == spacing
    if dim % 2 == 0:
        report = diagnose(server, posted, encoding={"name": "sinusoidal", "layout": theirs})
        assert verdict(report) == ("known-bug", "half-minus-one-divisor")


def test_time_steps(server):
    """An encoding whose order of columns is no parameter called layout."""
    for flip in (True, False):
        rows = table(server, "timestep", dim=32, length=100, flip_sin_to_cos=flip, dtype="f64")
        for asked in (True, False):
            expected = {"name": "timestep", "flip_sin_to_cos": asked}
            report = diagnose(server, noisy({"table": rows}, "f32"), encoding=expected)
            assert verdict(report) == known(None if asked == flip else "columns-swapped")


# ---- before and after ---------------------------------------------------------------------------


@pytest.mark.numbers(5, quick=5)
@pytest.mark.parametrize("dtype", [numpy.float64, F32, numpy.float16])
@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("heads", [1, 3])
def test_before_and_after(server, layout, dtype, heads):
    q = numpy.random.default_rng(2).standard_normal((1, heads, 200, 32)).astype(dtype)
    other = {"half": "interleaved", "interleaved": "half"}[layout]

    def look(where, w=None, **parameters):
        after = rotated(q, where, layout, frequencies=w).astype(dtype)
        return diagnose(server, {"q": q, "q_rotated": after}, axes="bhsd", **parameters)

    where = numpy.arange(200)
    report = look(where)
    assert verdict(report) == CONSISTENT
    assert report["candidates"][0]["layout"] == layout
    assert verdict(look(where, encoding="rope", layout=layout)) == ("match", None)
    assert verdict(look(where, encoding="rope", layout=other)) == known("layout-swapped")
    assert verdict(look(where + 1, encoding="rope")) == known("off-by-one-position")
    assert verdict(look(where + 1, encoding="rope", start=1)) == ("match", None)
    assert verdict(look(where, bf16(inv_freq(32)), encoding="rope")) == known("inv-freq-bf16")
    base = {"name": "rope", "base": 500000}
    assert verdict(look(where, encoding=base)) == known("base-ignored")


def test_part_of_a_head(server):
    """How much of a head rotates is seen where nothing is expected, and is wrong where it is."""
    q = numpy.random.default_rng(2).standard_normal((2, 60, 32))
    for width, bug in ((8, None), (32, "wrong-width")):
        after = rotated(q[None], numpy.arange(60), "half", width)[0]
        report = diagnose(server, {"q": q, "q_rotated": after}, axes="hsd")
        assert verdict(report) == CONSISTENT
        assert report["candidates"][0]["encoding"]["dim"] == width
        report = diagnose(
            server,
            {"q": q, "q_rotated": after},
            axes="hsd",
            encoding={"name": "rope", "rotary_dim": 8},
        )
        assert verdict(report) == known(bug)


# ---- every row ----------------------------------------------------------------------------------


@pytest.mark.numbers(5)
@pytest.mark.parametrize("kind", [F32, numpy.float16, "bf16"])
@pytest.mark.parametrize("sizes", [(1, 1), (30, 1), (1, 1000, 1, 1), (1, 1e-3)])
def test_each_head_is_judged_by_itself(server, sizes, kind):
    """However large it is beside the others: in a row far from those that are looked at closely."""
    cast = bf16 if kind == "bf16" else lambda x: x.astype(kind)
    q = numpy.random.default_rng(7).standard_normal((1, len(sizes), 3000, 32))
    q = cast(q * numpy.array(sizes)[None, :, None, None])
    right = cast(rotated(q, numpy.arange(3000), "half"))
    for head in (None, *range(len(sizes))):
        after = right.copy()
        if head is not None:
            after[0, head, 2345] = cast(rotated(q, numpy.arange(3000) + 1, "half"))[0, head, 2345]
        report = diagnose(
            server, {"q": q, "q_rotated": after}, axes="bhsd", encoding="rope", layout="half"
        )
        assert (report["verdict"], report["bad_rows"], (report["first_bad"] or {}).get("row")) == (
            ("match", 0, None) if head is None else ("unknown", 1, 2345)
        ), head


def test_very_small_values_round_coarsely(server):
    """A head of values near the smallest of float16 is right; so is a pair of zeros that stays."""
    q = numpy.random.default_rng(7).standard_normal((1, 2, 3000, 32))
    q[0, 1] *= 1e-5
    q[0, 0, 2345, [3, 19]] = 0
    q = q.astype(numpy.float16)
    after = rotated(q, numpy.arange(3000), "half").astype(numpy.float16)
    asked = {"axes": "bhsd", "encoding": "rope", "layout": "half"}
    assert diagnose(server, {"q": q, "q_rotated": after}, **asked)["verdict"] == "match"
    after[0, 0, 2345, 3] = 0.5
    report = diagnose(server, {"q": q, "q_rotated": after}, **asked)
    assert (report["verdict"], report["first_bad"]["row"]) == ("unknown", 2345)


def in_kind(values, kind):
    """Rounded to a dtype, or with noise."""
    if kind == "bf16":
        return bf16(values)
    return noisy({"y": values}, "noise")["y"] if kind == "noise" else values.astype(kind)


@pytest.mark.numbers(5)
@pytest.mark.parametrize("kind", [F32, numpy.float16, "noise", "bf16"])
@pytest.mark.parametrize("per_head", [False, True])
def test_elements_that_do_not_turn_stay_in_every_row_and_head(server, per_head, kind):
    q = bf16(numpy.random.default_rng(5).standard_normal((1, 20, 1500, 24)))
    after = rotated(q, numpy.arange(1500), "half", 8)
    after = in_kind(after, kind)
    q = q.astype(after.dtype)
    for row in (None, 1234):
        if row:
            after[0, 7, row, 17] += 0.25
        report = diagnose(
            server,
            {"q": q, "q_rotated": after},
            per_head=per_head,
            encoding={"name": "rope", "dim": 24, "rotary_dim": 8},
            layout="half",
            **({} if per_head else {"axes": "bhsd"}),
        )
        first = report["first_bad"] or {}
        assert (report["verdict"], report["bad_rows"], first.get("row"), first.get("pair")) == (
            ("unknown", 1, 1234, 17) if row else ("match", 0, None, None)
        )


def test_positions_of_each_batch_row_by_head(server):
    """[b, s]: a sequence that is padded on its left, and one that is not."""
    q = numpy.random.default_rng(2).standard_normal((2, 3, 90, 32)).astype(F32)
    places = numpy.stack([numpy.maximum(numpy.arange(90) - 20, 0), numpy.arange(90)])
    after = numpy.concatenate([rotated(q[b : b + 1], places[b], "half") for b in range(2)]).astype(
        F32
    )
    asked = {"per_head": True, "encoding": "rope", "layout": "half"}
    tensors = {"q": q, "q_rotated": after}
    report = diagnose(server, tensors, positions=places.tolist(), **asked)
    assert (report["verdict"], report["bad_rows"]) == ("match", 0)
    assert report["per_head"]["verdict"] == ["match"] * 3
    report = diagnose(server, tensors, positions=places[::-1].tolist(), **asked)
    assert report["verdict"] != "match"
    after[1, 2, 50, 3] += 1
    report = diagnose(server, tensors, positions=places.tolist(), **asked)
    assert (report["verdict"], report["first_bad"]["position"]) == ("unknown", 50)
    assert (report["first_head"]["b"], report["first_head"]["h"]) == (1, 2)


def test_a_copy_in_a_doubled_table_is_looked_at(server):
    """In a row far from those that are looked at closely."""
    tensors = noisy(cos_sin((7 + numpy.arange(5000))[:, None] * inv_freq(64)), "f32")
    doubled = {name: numpy.concatenate([x, x], -1) for name, x in tensors.items()}
    report = diagnose(server, doubled, encoding=plain(64, 10000), start=7)
    assert (report["verdict"], report["bad_rows"], report["first_bad"]) == ("match", 0, None)
    doubled["sin"][4321, 40] += 0.5
    report = diagnose(server, doubled, encoding=plain(64, 10000), start=7)
    first = report["first_bad"]
    assert (report["verdict"], report["bad_rows"], first["seen"]) == ("unknown", 1, "NaN")
    assert (first["row"], first["position"], first["part"], first["pair"]) == (4321, 4328, "sin", 8)
    assert any("1 of 5000 rows" in warning for warning in report["warnings"])
    off = diagnose(server, doubled, encoding=plain(64, 10000), start=6)
    assert (verdict(off), off["bad_rows"]) == (known("off-by-one-position"), 1)


@pytest.mark.numbers(3)
@pytest.mark.parametrize("kind", [F32, numpy.float16, "noise", "bf16"])
def test_one_element_of_one_head(server, kind):
    q = bf16(numpy.random.default_rng(2).standard_normal((1, 8, 400, 32)))
    after = rotated(q, numpy.arange(400), "half")
    after = in_kind(after, kind)
    q = q.astype(after.dtype)
    for row in (None, 333):
        if row:
            after[0, 5, row, 3] *= -1
        report = diagnose(server, {"q": q, "q_rotated": after}, axes="bhsd", encoding="rope")
        assert report["verdict"] == ("unknown" if row else "match")
        assert (report["first_bad"] or {}).get("row") == row


@pytest.mark.numbers(2)
@pytest.mark.parametrize("start", [0, 100000])
def test_identical_tables(server, start):
    """Bit for bit, in the precision of what was posted."""
    for dtype in ("f32", "f16", "bf16", "f64"):
        for arithmetic in ("exact", "hf"):
            posted = get(
                server,
                "/v1/encodings/rope/table",
                dim=64,
                length=400,
                start=start,
                dtype=dtype,
                arithmetic=arithmetic,
                data_format="base64",
            ).json["tensors"]
            report = (
                post_json(
                    server, "/v1/diagnosis", {"tensors": posted, "encoding": "rope", "start": start}
                )
                .good()
                .json
            )
            assert report["identical_to"] == [arithmetic]
    exact = noisy(cos_sin(numpy.arange(2)[:, None] * inv_freq(64)), "f32")
    report = diagnose(server, {"cos": exact["cos"][:1], "sin": exact["sin"][:1]}, encoding="rope")
    assert report["identical_to"] == ["exact", "hf"]
    w = numpy.array(
        get(server, "/v1/encodings/rope/frequencies", dim=64, arithmetic="hf").json["tensors"][
            "inv_freq"
        ]["data"],
        F32,
    )
    report = diagnose(server, {"inv_freq": w}, encoding=plain(64, 10000))
    assert (report["verdict"], report["identical_to"]) == ("match", ["hf"])
    report = diagnose(
        server, {"table": table(server, "sinusoidal", dim=33, length=70)}, encoding="sinusoidal"
    )
    assert report["identical_to"] == ["exact"]


# ---- nothing is expected ------------------------------------------------------------------------


@pytest.mark.numbers(3)
@pytest.mark.parametrize(
    "base,words",
    [
        (10000, "rope, base 10 000"),
        (10007, "rope, base 10 007 (usual: 10 000)"),
        (777, "rope, base 777 (usual: 10 000)"),
        (500000, "rope, base 500 000"),
    ],
)
def test_unusual_parameters_are_named(server, base, words):
    tensors = noisy(cos_sin(numpy.arange(600)[:, None] * inv_freq(64, base)), "f32")
    report = diagnose(server, tensors)
    assert verdict(report) == CONSISTENT
    assert report["candidates"][0]["explanation"] == f"consistent with {words}"
    assert any("nothing was expected" in warning for warning in report["warnings"])


def test_noise_is_near_nothing(server):
    rng = numpy.random.default_rng(5)
    noise = {
        "cos": rng.standard_normal((300, 32)),
        "inv_freq": rng.uniform(0, 1, 32),
        "table": rng.uniform(-1, 1, (300, 64)),
    }
    for name, values in noise.items():
        for expected in ({}, {"encoding": "sinusoidal" if name == "table" else "rope"}):
            report = diagnose(server, {name: values}, **expected)
            assert report["verdict"] == "unknown"
            for candidate in report["candidates"]:
                assert candidate["explanation"].startswith("far away"), report


def test_a_table_with_one_bad_row_is_near(server):
    tensors = noisy(cos_sin(numpy.arange(600)[:, None] * inv_freq(64)), "f32")
    tensors["cos"][77] = 0
    report = diagnose(server, tensors, encoding="rope")
    assert report["verdict"] == "unknown"
    assert report["candidates"][0]["explanation"].startswith("near")


# ---- files that the service wrote ---------------------------------------------------------------


@pytest.mark.numbers(5)
@pytest.mark.parametrize("dtype", ["f32", "f16", "f64"])
@pytest.mark.parametrize(
    "name,scheme,places",
    [
        ("rope", {"dim": 64}, {"length": 100}),
        (
            "mrope",
            {"dim": 32, "mrope_section": "4,6,6"},
            {"positions": "0,1,2,3,4,5;0,0,1,1,2,2;0,1,0,1,0,1"},
        ),
    ],
)
def test_own_files_are_read_as_they_are(server, dtype, name, scheme, places):
    path = f"/v1/encodings/{name}/table"
    asked = {"dtype": dtype, **scheme, **places}
    where = {key: value for key, value in places.items() if key != "length"}
    shape = list(get(server, path, format="npy", **asked).npy.shape)
    assert shape[0] == 2
    for kind in ("npy", "raw", "safetensors", "json"):
        body = get(server, path, format=kind, **asked)
        raw = {"tensor_dtype": dtype, "tensor_shape": shape} if kind == "raw" else {}
        tensor = {"tensor": "table"} if kind in ("npy", "raw") else {}
        for expected in ({}, {"encoding": name, **scheme}):
            says = kind in ("safetensors", "json")
            if says and expected or name == "mrope" and not says and not expected:
                continue  # the file names its encoding; mrope is in no list
            report = (
                call(
                    server,
                    "POST",
                    "/v1/diagnosis",
                    body.body,
                    {"Content-Type": body.headers["content-type"]},
                    **expected,
                    **where,
                    **raw,
                    **tensor,
                )
                .good()
                .json
            )
            verdict_of = "match" if expected or says else "consistent"
            assert report["verdict"] == verdict_of, (kind, report)
            assert report["rows"] == shape[1]


# ---- positions of several coordinates -----------------------------------------------------------

MROPE = {"name": "mrope", "dim": 32, "mrope_section": [4, 6, 6]}
PLACES = numpy.array([numpy.arange(70) // 2, numpy.arange(70) // 7, numpy.arange(70) % 7])


def mrope_angles(places):
    axis = numpy.repeat([0, 1, 2], MROPE["mrope_section"])
    return places[axis].T * inv_freq(32)


def test_tables_at_coordinates(server):
    def look(places):
        return verdict(
            diagnose(
                server,
                noisy(cos_sin(mrope_angles(places)), "f32"),
                encoding=MROPE,
                positions=PLACES.tolist(),
            )
        )

    assert look(PLACES) == ("match", None)
    assert look(PLACES + 1) == known("off-by-one-position")
    assert look(PLACES[[0, 0, 0]])[0] == "other-scheme"
    assert look(PLACES[[0, 2, 1]]) == known("mrope-sections-order")
    assert look(2 * PLACES)[0] == "unknown"


def test_coordinates_that_begin_at_one(server):
    """Those of Llama 4's tower, whose tables begin at 1 where a patch has the coordinate 0."""
    expected = {"name": "rope-2d", "dim": 32, "variant": "llama4"}
    given = {"encoding": expected, "positions": PLACES[1:].tolist()}
    places = ";".join(",".join(map(str, row)) for row in PLACES[1:].tolist())
    right = {
        part: table(server, **expected, dtype="f64", part=part, positions=places)
        for part in ("cos", "sin")
    }
    assert verdict(diagnose(server, right, **given)) == ("match", None)


@pytest.mark.parametrize("per_head", [False, True])
def test_heads_at_coordinates(server, per_head):
    q = numpy.random.default_rng(2).standard_normal((2, 3, 70, 32))
    angle = mrope_angles(PLACES)
    cos, sin = numpy.cos(angle), numpy.sin(angle)
    a, b = q[..., :16], q[..., 16:]
    after = numpy.concatenate([a * cos - b * sin, a * sin + b * cos], -1)
    asked = {"encoding": MROPE, "axes": "bhsd", "layout": "half", "per_head": per_head}
    for damage, expected in ((0, "match"), (0.5, "unknown")):
        after[1, 2, 40, 3] += damage
        report = diagnose(server, {"q": q, "q_rotated": after}, positions=PLACES.tolist(), **asked)
        assert report["verdict"] == expected, report
    three = numpy.stack([PLACES, PLACES], 1).tolist()
    if not per_head:
        report = diagnose(server, {"q": q, "q_rotated": after}, positions=three, **asked)
        assert (report["verdict"], report["bad_rows"]) == ("unknown", 1)
        assert report["first_bad"]["row"] == 70 + 40


# ---- functions -----------------------------------------------------------------------------------


def called(turn, dim=8, positions=(0, 1, 2, 4, 8, 16), seed=5):
    """x [calls, tokens, dim] of unit vectors and a call of others, and what `turn` makes of it."""
    units = numpy.broadcast_to(numpy.eye(dim)[:, None], (dim, len(positions), dim))
    others = numpy.random.default_rng(seed).standard_normal((1, len(positions), dim))
    x = numpy.concatenate([units, others]).astype(F32)
    return {"x": x, "y": turn(x, numpy.array(positions)).astype(F32)}


def halves(x, positions, base=10000.0, half=True):
    angles = positions[:, None] * base ** (-numpy.arange(x.shape[-1] // 2) / (x.shape[-1] // 2))
    cos, sin = numpy.cos(angles), numpy.sin(angles)
    one, two = numpy.split(x, 2, -1) if half else (x[..., ::2], x[..., 1::2])
    y = one * cos - two * sin, two * cos + one * sin
    return numpy.concatenate(y, -1) if half else numpy.stack(y, -1).reshape(x.shape)


def test_a_function(server):
    given = {"encoding": "rope", "layout": "half", "positions": [0, 1, 2, 4, 8, 16]}

    def probe(turn, **changed):
        return diagnose(server, called(turn), **(given | changed))

    found = probe(halves)
    assert found["verdict"] == "match" and found["probe"]["right"] is True
    assert found["probe"]["layout"] == "half" and len(found["probe"]["pairs"]) == 4
    found = probe(lambda x, p: halves(x, p, half=False))
    assert found["verdict"] == "known-bug" and found["probe"]["right"] is False
    assert found["probe"]["pairing"]["code"] == "layout-swapped"
    given = {"positions": given["positions"]}
    found = probe(lambda x, p: halves(x, p, base=100))
    assert found["probe"]["right"] is None
    assert found["probe"]["pairs"][1]["frequency"] == pytest.approx(100**-0.25, rel=1e-6)
    found = probe(lambda x, p: halves(x, p) ** 2, encoding="rope")
    assert found["verdict"] == "refused" and found["candidates"] == []
    assert found["probe"]["fault"]["code"] == "not-linear" and found["probe"]["pairs"] == []


@pytest.mark.parametrize(
    "change, status, where",
    [
        ({"x": None}, 422, "x is missing"),
        ({"x": numpy.zeros((9, 6, 8), F32)}, 422, "x"),
        ({"y": numpy.zeros((9, 6, 7), F32)}, 422, "y"),
        ({"x": numpy.full((9, 6, 8), numpy.nan, F32)}, 422, "x"),
        ({"inv_freq": numpy.ones(4, F32)}, 422, "post one thing"),
    ],
)
def test_a_function_that_cannot_be_read(server, change, status, where):
    tensors = called(halves) | change
    tensors = {name: array for name, array in tensors.items() if array is not None}
    answer = ask(server, tensors, encoding="rope", positions=[0, 1, 2, 4, 8, 16])
    assert answer.status == status, answer.body
    assert where in answer.json["detail"]


@pytest.mark.parametrize("base", [10000, 500])
@pytest.mark.parametrize("name", ["rope", "sinusoidal"])
def test_what_is_given_is_expected_and_not_what_a_file_notes(server, name, base):
    """A file's own encoding is expected only where neither encoding nor config is given."""
    file = get(
        server, f"/v1/encodings/{name}/table", dim=8, length=9, base=base, format="safetensors"
    )
    llama = {"model_type": "llama", "head_dim": 8, "rope_theta": 10000}
    ways = [({}, True), ({"encoding": name}, base == 10000)]
    if name == "rope":
        ways += [({"config": json.dumps(llama)}, base == 10000)]
        ways += [({"config": json.dumps(llama | {"rope_theta": 500})}, base == 500)]
    for asked, right in ways:
        answer = call(
            server, "POST", "/v1/diagnosis", file.body, {"Content-Type": SAFETENSORS}, **asked
        )
        assert (answer.good().json["verdict"] == "match") == right, (asked, answer.json)
