# SPDX-License-Identifier: MIT
"""The population of POST /v1/diagnosis: every mistake with every scheme that it can be made with,
in tables and rotations as narrow and as short as they come, early and late, in every dtype. A
mistake that is not named must be undecided; another one must never be named alone."""

import dataclasses
import itertools
import typing

import numpy
from confusion import frequencies, rope, truncated
from samples import F16, F32, ask, bf16, cos_sin, f16

from service import rotated

DIMS = (4, 8, 16, 128)
PLACES = ((1, 0), (1, 7), (2, 0), (2, 3000), (16, 0), (16, 5000), (64, 300))  # rows, start
DTYPES = {
    "f64": lambda x: x.astype(numpy.float64),
    "f32": lambda x: x.astype(F32),
    "f16": lambda x: x.astype(F16),
    "bf16": bf16,
    "f16 in f32": f16,
}
# The error of one rounding, and of values near 0.
UNITS = {"f64": 2.0**-24, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f16 in f32": 2.0**-11}


def schemes(dim):
    pairs = dim // 2
    original = {"original_max_position_embeddings": 4096}
    yield "plain", rope(dim)
    yield "base 500000", rope(dim, 500000)
    yield "linear", rope(dim, 500000, rope_type="linear", factor=4)
    yield "ntk", rope(dim, 500000, rope_type="ntk", factor=4)
    yield (
        "dynamic",
        rope(dim, rope_type="dynamic", factor=2, max_position_embeddings=4096, seq_len=16384),
    )
    yield (
        "llama3",
        rope(
            dim,
            500000,
            rope_type="llama3",
            factor=8,
            low_freq_factor=1,
            high_freq_factor=4,
            original_max_position_embeddings=8192,
        ),
    )
    yarn = {"rope_type": "yarn", **original}
    yield "yarn", rope(dim, factor=8, **yarn)
    yield "gpt-oss", rope(dim, 150000, factor=32, truncate=False, **yarn)
    yield "deepseek", rope(dim, factor=40, mscale=1, mscale_all_dim=0.5, **yarn)
    yield "laguna", rope(dim, factor=64, attention_factor=1.1, **yarn)
    yield (
        "longrope",
        rope(
            dim,
            rope_type="longrope",
            factor=32,
            seq_len=131072,
            short_factor=[1 + i / 64 for i in range(pairs)],
            long_factor=[1 + i * i / 20 for i in range(pairs)],
            **original,
        ),
    )
    if dim > 4:
        yield "partial", rope(dim, rotary_dim=dim // 2)
        yield ("proportional", rope(dim, 1e6, rope_type="proportional", partial_rotary_factor=0.5))


@dataclasses.dataclass(frozen=True)
class Made:
    """A mistake: other frequencies, attention factor, positions or angles than those of a scheme,
    or another scheme's."""

    bug: str | None
    scheme: typing.Callable | None = None  # of the expected one; None: it cannot be made
    w: typing.Callable | None = None
    factor: typing.Callable | None = None  # of the factor and the scheme
    t: typing.Callable | None = None  # of the positions and the scheme
    angle: typing.Callable | None = None
    sign: int = 1
    swapped: bool = False


def drop(*keys):
    def dropped(scheme):
        left = {key: value for key, value in scheme.items() if key not in keys}
        return left if left != scheme else None

    return dropped


SCALING = (
    "rope_type factor original_max_position_embeddings max_position_embeddings seq_len truncate "
    "mscale mscale_all_dim attention_factor short_factor long_factor low_freq_factor "
    "high_freq_factor"
).split()


def of_types(types, change):
    return lambda scheme: change(scheme) if scheme.get("rope_type") in types else None


def has_factor(change):
    """Of schemes with an attention factor."""
    types = ("yarn", "longrope")
    return lambda a, scheme: change(a, scheme) if scheme.get("rope_type") in types else None


def logarithm(scheme):
    return 0.1 * numpy.log(scheme["factor"])


def yarn_factor(change):
    return lambda a, scheme: change(a, scheme) if scheme.get("rope_type") == "yarn" else None


def linear_offset(change):
    is_linear = of_types(("linear",), lambda scheme: scheme["factor"])
    return lambda t, scheme: change(t, factor) if (factor := is_linear(scheme)) else None


MISTAKES = [
    Made("base-ignored", lambda s: {**s, "base": 10000} if s["base"] != 10000 else None),
    Made("scaling-missing", drop(*SCALING)),
    Made(
        "config-ignored",
        lambda s: drop("base", *SCALING)(s) if s["base"] != 10000 and "rope_type" in s else None,
    ),
    Made(
        "scaling-wrong",
        of_types(
            ("linear", "ntk", "llama3", "yarn", "dynamic"),
            lambda s: {**s, "factor": 2 * s["factor"]} if "attention_factor" not in s else None,
        ),
    ),
    Made(
        "truncate-ignored",
        of_types(("yarn",), lambda s: {**s, "truncate": not s.get("truncate", True)}),
    ),
    Made("wrong-width", lambda s: drop("rotary_dim")(s)),
    Made("attention-factor-missing", factor=has_factor(lambda a, s: 1.0)),
    Made("attention-factor-twice", factor=has_factor(lambda a, s: a * a)),
    Made(
        "attention-factor-twice",
        factor=yarn_factor(
            lambda a, s: a * (logarithm(s) + 1) if "attention_factor" in s else None
        ),
    ),
    Made("attention-factor-in-logarithm", factor=yarn_factor(lambda a, s: logarithm(s) * a + 1)),
    Made(
        "attention-factor-in-logarithm",
        factor=yarn_factor(lambda a, s: 0.1 * numpy.log(s["factor"] * a) + 1),
    ),
    Made(
        "attention-factor-wrong",
        factor=yarn_factor(
            lambda a, s: logarithm(s) + 1 if "mscale" in s or "attention_factor" in s else None
        ),
    ),
    Made("inv-freq-bf16", w=bf16),
    Made("inv-freq-f16", w=f16),
    Made("inv-freq-truncated", w=truncated),
    Made("positions-bf16", t=lambda t, s: bf16(t)),
    Made("positions-f16", t=lambda t, s: f16(t)),
    Made("angles-bf16", angle=bf16),
    Made("angles-f16", angle=f16),
    Made("off-by-one-position", t=lambda t, s: t + 1),
    Made("off-by-one-position", t=lambda t, s: t - 1),
    Made("scaled-offset", t=linear_offset(lambda t, f: t + t[0] * (f - 1))),
    Made("scaled-offset", t=linear_offset(lambda t, f: t + t[0] / f - t[0])),
    Made(
        "half-minus-one-divisor",
        w=lambda w: w[0] * (w / w[0]) ** (len(w) / (len(w) - 1)) if w[-1] > 0 else None,
    ),
    Made("rotated-backwards", sign=-1),
    Made("cos-sin-swapped", swapped=True),
    Made("not-rotated", t=lambda t, s: 0 * t),
    Made("not-rotated", t=lambda t, s: 0 * t, factor=has_factor(lambda a, s: 1.0)),
    Made(None),
]


def parts(server, scheme, mistake, rows, start):
    """Positions, frequencies and the attention factor with a mistake; None: it cannot be made."""
    other = mistake.scheme(scheme) if mistake.scheme else scheme
    if other is None:
        return None
    w, factor = frequencies(server, other)
    own = frequencies(server, scheme)[0]
    t = start + numpy.arange(float(rows))
    if len(w) != len(own):
        w = w[: len(own)]
    if mistake.w:
        w = mistake.w(w)
    if mistake.factor:
        factor = mistake.factor(factor, scheme)
    if mistake.t:
        t = mistake.t(t, scheme)
    if w is None or factor is None or t is None or len(w) != len(own):
        return None
    return numpy.asarray(t, float), numpy.asarray(w, float), factor


def table(made, mistake):
    t, w, factor = made
    angle = t[:, None] * w
    if mistake.angle:
        angle = mistake.angle(angle).astype(float)
    pair = cos_sin(mistake.sign * angle, factor)
    return {"cos": pair["sin"], "sin": pair["cos"]} if mistake.swapped else pair


FORMS = {
    "pairs": lambda x: x,
    "half": lambda x: {n: numpy.concatenate([v, v], -1) for n, v in x.items()},
    "interleaved": lambda x: {n: numpy.repeat(v, 2, -1) for n, v in x.items()},
    "complex": lambda x: {"freqs_cis": numpy.stack([x["cos"], x["sin"]], -1)},
    "cos": lambda x: {"cos": x["cos"]},
    "sin": lambda x: {"sin": x["sin"]},
}


def tables(server, dims=DIMS, places=PLACES, forms=FORMS, dtypes=DTYPES):
    """(name, the mistake's code, tensors, right ones, the unit of the dtype, the request)"""
    for dim in dims:
        for (name, scheme), mistake, (rows, start) in itertools.product(
            schemes(dim), MISTAKES, places
        ):
            made = parts(server, scheme, mistake, rows, start)
            if made is None:
                continue
            wrong = table(made, mistake)
            right = table(parts(server, scheme, Made(None), rows, start), Made(None))
            for (form, shaped), (dtype, to) in itertools.product(forms.items(), dtypes.items()):
                yield (
                    f"{mistake.bug}, {name} {dim}, {rows} from {start}, {form}, {dtype}",
                    mistake.bug,
                    {n: to(x) for n, x in shaped(wrong).items()},
                    {n: to(x) for n, x in shaped(right).items()},
                    UNITS[dtype],
                    {"encoding": scheme, "start": start},
                )


def lists(server, dims=DIMS, dtypes=("f64", "f32")):
    """Frequencies alone, with the mistakes that change them. Coarser dtypes are mistakes."""
    for dim in dims:
        for (name, scheme), mistake in itertools.product(schemes(dim), MISTAKES):
            made = parts(server, scheme, mistake, 1, 0)
            changes = mistake.scheme or mistake.w or mistake.bug is None
            if made is None or not changes:
                continue
            right = frequencies(server, scheme)[0]
            for dtype in dtypes:
                to = DTYPES[dtype]
                yield (
                    f"{mistake.bug}, {name} {dim}, inv_freq, {dtype}",
                    mistake.bug,
                    {"inv_freq": to(made[1])},
                    {"inv_freq": to(right)},
                    UNITS[dtype],
                    {"encoding": scheme},
                )


def rotations(server, dims=DIMS, places=PLACES, dtypes=("f32", "f16", "bf16"), heads=2):
    """q before and after, in either layout; rotated twice too, and beside keys."""
    for dim, layout, (rows, start) in itertools.product(dims, ("half", "interleaved"), places):
        for name, scheme in schemes(dim):
            if scheme.get("rope_type") == "proportional" and layout == "interleaved":
                continue
            width = scheme.get("rotary_dim", dim)
            for mistake in [*MISTAKES, "rotated-twice", "layout-swapped", "layout-mixed"]:
                twice = mistake == "rotated-twice"
                plain = mistake if isinstance(mistake, Made) else Made(None)
                made = parts(server, scheme, plain, rows, start)
                if made is None or plain.angle or plain.swapped:
                    continue
                t, w, factor = made
                other = "half" if layout == "interleaved" else "interleaved"
                theirs = other if mistake == "layout-swapped" else layout
                bug = mistake if isinstance(mistake, str) else mistake.bug
                mixed = mistake == "layout-mixed"
                if (mixed or mistake == "layout-swapped") and width == 2:
                    continue
                tensors, right = {}, {}
                for letter in "qk" if mixed else "q":
                    x = numpy.random.default_rng(dim + rows).standard_normal((1, heads, rows, dim))
                    used = other if letter == "k" else theirs
                    y = rotated(
                        x,
                        plain.sign * t * (1 + twice),
                        used,
                        rotary_dim=width,
                        frequencies=w,
                        factor=factor ** (1 + twice),
                    )
                    own = parts(server, scheme, Made(None), rows, start)
                    z = rotated(
                        x, own[0], layout, rotary_dim=width, frequencies=own[1], factor=own[2]
                    )
                    tensors |= {letter: x, f"{letter}_rotated": y}
                    right |= {letter: x, f"{letter}_rotated": z}
                for dtype in dtypes:
                    to = DTYPES[dtype]
                    yield (
                        f"{bug}, {name} {dim}, {rows} from {start}, {layout}, q, {dtype}",
                        bug,
                        {n: to(x) if "_" in n else x.astype(F32) for n, x in tensors.items()},
                        {n: to(x) if "_" in n else x.astype(F32) for n, x in right.items()},
                        UNITS[dtype],
                        {"encoding": scheme, "start": start, "axes": "bhsd", "layout": layout},
                    )


DAMAGES = {
    "zeros": lambda x, rows: numpy.zeros_like(x[rows]),
    "the row before": lambda x, rows: x[rows - 1],
    "the other sign": lambda x, rows: -x[rows],
    "another row": lambda x, rows: x[(rows * 7 + 3) % len(x)],
}


def damaged(server, dims=DIMS, dtypes=("f32", "bf16")):
    """Some rows of right and of wrong tables, one to a third of them."""
    for dim in dims:
        for (name, scheme), mistake, rows in itertools.product(schemes(dim), MISTAKES, (16, 64)):
            made = parts(server, scheme, mistake, rows, 50)
            if made is None:
                continue
            wrong = table(made, mistake)
            for (damage, change), some, dtype in itertools.product(
                DAMAGES.items(), (1, rows // 8, rows // 3), dtypes
            ):
                at = 1 + numpy.sort(numpy.random.default_rng(some).permutation(rows - 1)[:some])
                tensors = {n: DTYPES[dtype](x) for n, x in wrong.items()}
                before = {n: x.copy() for n, x in tensors.items()}
                for x in tensors.values():
                    x[at] = change(x, at)
                yield (
                    f"{mistake.bug}, {name} {dim}, {some} of {rows} rows: {damage}, {dtype}",
                    mistake.bug,
                    tensors,
                    before,
                    UNITS[dtype],
                    {"encoding": scheme, "start": 50},
                )


def damaged_outcome(server, case):
    """named, with bad rows, or undecided; or a sentence where the answer is wrong: a match, or
    another mistake. invisible: damage changes no value."""
    name, bug, tensors, before, unit, asked = case
    if not differs(tensors, before, unit):
        return "invisible"
    report = ask(server, tensors, **asked).good().json
    fitting = [one["bug"] for one in report["candidates"] if one["fits"]]
    if report["verdict"] == "unknown":
        return "undecided"
    if report["verdict"] == "known-bug" and report["bad_rows"] > 0 and bug in fitting[:1]:
        return "named"
    if report["ambiguous"] and report["verdict"] != "match":
        return "both" if bug in fitting else "undecided"
    return f"{name}: {report['verdict']} {fitting}, {report['bad_rows']} bad rows"


def differs(tensors, right, unit):
    """Is there a value that rounding cannot explain?"""
    return any(
        numpy.any(
            numpy.abs(x.astype(float) - right[n].astype(float))
            > 2 * unit * numpy.maximum(numpy.abs(right[n].astype(float)), 2.0**-14)
        )
        for n, x in tensors.items()
    )


def outcome(server, case):
    """named, both (it and another one), undecided, right, invisible (no value differs); or a
    sentence where the answer is wrong."""
    name, bug, tensors, right, unit, asked = case
    report = ask(server, tensors, **asked).good().json
    verdict = report["verdict"]
    fitting = [one["bug"] for one in report["candidates"] if one["fits"]]
    if bug is None:
        return "right" if verdict == "match" else f"{name}: {verdict} {fitting}"
    if verdict == "known-bug" and fitting[0] == bug:
        return "named"
    if report["ambiguous"] and bug in fitting:
        return "both"
    if not differs(tensors, right, unit):
        return "invisible" if verdict == "match" else f"{name}: {verdict} {fitting}, same values"
    if verdict == "unknown":
        return "undecided"
    if report["ambiguous"]:  # five candidates are listed
        return "undecided"
    return f"{name}: {verdict} {fitting}, ambiguous {report['ambiguous']}"
