# SPDX-License-Identifier: MIT
"""The confusion matrix of POST /v1/diagnosis: tables made with every listed mistake, tables damaged
in ways that no list names, right tables with noise, and tables of float32 that are right in it.

A case is what is posted and what must be said of it. Each is made by numpy when it is asked for,
since all of them together are 300 MB."""

import dataclasses
import pathlib
import re
import typing

import numpy
from samples import F16, F32, ask, bf16, cos_sin, f16, float32_cos_sin

from service import inv_freq, post_json, rotated, table


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    verdict: str  # of the answer; "not right": neither a match nor a mistake
    bug: str | None
    make: typing.Callable  # make(server): tensors and the other members of the body
    row: int | None = None  # the first that is bad, where one is


def wrong(server, case):
    """None where the answer is right; else it, shortened."""
    tensors, parameters = case.make(server)
    report = ask(server, tensors, **parameters).good().json
    best = report["candidates"][0]
    got = report["verdict"], best["bug"] if report["verdict"] != "unknown" else None
    right = (
        got[0] in ("unknown", "other-scheme")
        if case.verdict == "not right"
        else got == (case.verdict, case.bug)
    )
    first = (report.get("first_bad") or {}).get("row")
    if right and (case.row is None or case.row == first):
        return None
    return f"{case.name}: {got}, first bad row {first}, not {case.row}; {best['encoding']}"


def codes():
    """Of all listed mistakes."""
    listed_in = pathlib.Path(__file__).parents[2] / "core/diagnosis/bugs.def"
    return set(re.findall(r'BUG\(\w+, "([\w-]+)"', listed_in.read_text()))


# ---- schemes ------------------------------------------------------------------------------------


def rope(dim=64, base=10000, **more):
    return {"name": "rope", "dim": dim, "base": base, **more}


YARN = rope(rope_type="yarn", factor=8, original_max_position_embeddings=512)
LLAMA = rope(
    128,
    500000,
    rope_type="llama3",
    factor=8,
    low_freq_factor=1,
    high_freq_factor=4,
    original_max_position_embeddings=8192,
)
LINEAR = rope(base=500000, rope_type="linear", factor=4)
LONG = rope(
    rope_type="longrope",
    factor=32,
    original_max_position_embeddings=4096,
    seq_len=131072,
    short_factor=[1 + i / 64 for i in range(32)],
    long_factor=[1 + i * i / 20 for i in range(32)],
)
DYNAMIC = rope(rope_type="dynamic", factor=2, max_position_embeddings=4096, seq_len=16384)
NTK = rope(96, 1000000, rope_type="ntk", factor=4)
PARTIAL = rope(128, 10000, partial_rotary_factor=0.25)
DEEPSEEK = rope(
    rope_type="yarn", factor=40, original_max_position_embeddings=4096, mscale=1, mscale_all_dim=0.5
)
GPT_OSS = rope(
    base=150000, rope_type="yarn", factor=32, truncate=False, original_max_position_embeddings=4096
)
LAGUNA = rope(
    rope_type="yarn", factor=64, original_max_position_embeddings=4096, attention_factor=1.1
)
SCHEMES = {
    "plain": rope(),
    "base 500000": rope(128, 500000),
    "yarn": YARN,
    "llama3": LLAMA,
    "linear": LINEAR,
    "longrope": LONG,
    "dynamic": DYNAMIC,
    "partial": PARTIAL,
    "deepseek": DEEPSEEK,
}


def frequencies(server, scheme):
    """As the service has them, which other tests compare with the models' code."""
    told = (
        post_json(server, "/v1/encodings/rope/frequencies?dtype=f64", {"encoding": scheme})
        .good()
        .json
    )
    return numpy.array(told["tensors"]["inv_freq"]["data"]), told["attention_factor"]


def to(kind, tensors):
    """Rounded to a dtype, kept in it or in a wider one; or with noise on top."""
    noise = numpy.random.default_rng(0)
    ways = {
        "f64": numpy.float64,
        "f32": F32,
        "f16": F16,
        "bf16 in f32": bf16,
        "f16 in f32": f16,
        "normal noise": lambda x: (x + noise.standard_normal(x.shape) * 2.0**-11).astype(F32),
        "uniform noise": lambda x: (x + noise.uniform(-1, 1, x.shape) * 2.0**-9).astype(F32),
    }
    way = ways[kind]
    return {
        name: way(x) if callable(way) and not isinstance(way, type) else x.astype(way)
        for name, x in tensors.items()
    }


# ---- listed mistakes ----------------------------------------------------------------------------


def listed(bug, name, make):
    return Case(f"{bug}, {name}", "known-bug", bug, make)


def made(scheme, angle, kind="f32", start=0, length=600, w=None, factor=None, base=None):
    """A case's maker: angle(t, w) with the frequencies of the scheme, or with others."""

    def make(server):
        own, its = frequencies(server, base or scheme)
        own = own if w is None else w(own)
        t = start + numpy.arange(length)
        a = its if factor is None else factor(its)
        return to(kind, cos_sin(angle(t.astype(float), own), a)), {
            "encoding": scheme,
            "start": start,
        }

    return make


def product(t, w):
    return t[:, None] * w


def mistaken(t=None, w=None, angle=None):
    """Operations of an angle, each rounded where it is said."""

    def same(x):
        return x

    t, w, angle = t or same, w or same, angle or same
    return lambda at, frequency: angle(
        numpy.float64(t(at))[:, None] * numpy.float64(w(frequency))
    ).astype(float)


def turned(scheme, theirs, shift=0, sign=1, other=None, **expected):
    """q before and after."""

    def make(server):
        w, factor = frequencies(server, other or scheme)
        q = numpy.random.default_rng(2).standard_normal((1, 3, 200, scheme["dim"]))
        after = rotated(q, sign * (numpy.arange(200) + shift), theirs, frequencies=w, factor=factor)
        return {"q": q.astype(F32), "q_rotated": after.astype(F32)}, {
            "axes": "bhsd",
            "encoding": scheme,
            **expected,
        }

    return make


def twice(scheme, theirs, start=0):
    """q after two rotations by the angles of its tokens."""

    def make(server):
        w, factor = frequencies(server, scheme)
        q = numpy.random.default_rng(4).standard_normal((1, 2, 200, scheme["dim"]))
        after = q
        for _ in range(2):
            after = rotated(after, start + numpy.arange(200), theirs, frequencies=w, factor=factor)
        return {"q": q.astype(F32), "q_rotated": after.astype(F32)}, {
            "axes": "bhsd",
            "encoding": scheme,
            "start": start,
        }

    return make


def unrotated(scheme, factor):
    def make(_server):
        q = numpy.random.default_rng(6).standard_normal((1, 2, 100, scheme["dim"]))
        return {"q": q.astype(F32), "q_rotated": (factor * q).astype(F32)}, {
            "axes": "bhsd",
            "encoding": scheme,
        }

    return make


def paired(x, t, w, first, second, factor=1.0):
    """The elements `first` and `second` of heads rotated pair by pair."""
    turn = factor * numpy.exp(1j * t[:, None] * w)
    pairs = (x[..., first] + 1j * x[..., second]) * turn
    y = x.copy()
    y[..., first], y[..., second] = pairs.real, pairs.imag
    return y


def partly(scheme, first, second, w=None, **asked):
    """q whose pairs are elsewhere than in the part that rotates."""

    def make(server):
        own, factor = frequencies(server, scheme)
        own = own[: len(first)] if w is None else w
        q = numpy.random.default_rng(9).standard_normal((1, 2, 150, scheme["dim"]))
        after = paired(q, 40 + numpy.arange(150.0), own, first, second, factor)
        return {"q": q.astype(F32), "q_rotated": after.astype(F32)}, {
            "axes": "bhsd",
            "encoding": scheme,
            "start": 40,
            **asked,
        }

    return make


def queries_and_keys(scheme, of_queries, of_keys, shift=0, **asked):
    """Four heads of queries, two of keys."""

    def make(server):
        w, factor = frequencies(server, scheme)
        tensors = {}
        for name, heads, theirs in (("q", 4, of_queries), ("k", 2, of_keys)):
            x = numpy.random.default_rng(heads).standard_normal((1, heads, 120, scheme["dim"]))
            after = rotated(x, numpy.arange(120) + shift, theirs, frequencies=w, factor=factor)
            tensors |= {name: x.astype(F32), f"{name}_rotated": after.astype(F32)}
        return tensors, {"axes": "bhsd", "encoding": scheme, **asked}

    return make


def memory(kind, shape):
    """What a float32 buffer holds that was never written."""
    rng = numpy.random.default_rng(7)
    count = int(numpy.prod(shape))
    return {
        "zeros": lambda: numpy.zeros(count, F32),
        "subnormal": lambda: rng.integers(1, 1 << 22, count).astype(numpy.uint32).view(F32),
        "huge": lambda: (rng.standard_normal(count) * 1e30).astype(F32),
        "not finite": lambda: numpy.full(count, numpy.nan, F32),
        "random bits": lambda: rng.integers(0, 1 << 32, count, numpy.uint32).view(F32),
        "one value": lambda: numpy.full(count, 0xCDCDCDCD, numpy.uint32).view(F32),
        "a pattern": lambda: numpy.resize(F32([0.1, -2, 0, 7e-3]), count),
        "pointers": lambda: rng.integers(1 << 46, 1 << 47, count // 2 + 1).view(F32)[:count],
    }[kind]().reshape(shape)


MEMORY = ["zeros", "subnormal", "huge", "not finite", "random bits", "one value", "a pattern"]


def unwritten(kind, names, shape, scheme=None, **asked):
    def make(_server):
        return {name: memory(kind, shape) for name in names}, {
            "encoding": scheme or rope(),
            **asked,
        }

    return make


def unwritten_cache(kind):
    """q rotated by cosines and sines that were never written."""

    def make(_server):
        q = numpy.random.default_rng(8).standard_normal((1, 2, 100, 64)).astype(F32)
        cos, sin = (numpy.tile(memory(kind, (100, 32)), 2) for _ in range(2))
        with numpy.errstate(all="ignore"):
            half = numpy.concatenate([-q[..., 32:], q[..., :32]], -1)
            after = q * cos + half * sin
        return {"q": q, "q_rotated": after}, {"axes": "bhsd", "encoding": rope()}

    return make


# Places of a video of 4 x 6 x 5 tokens after 7 of text, and text after it.
GRID = 7 + numpy.stack(numpy.meshgrid(range(4), range(6), range(5), indexing="ij")).reshape(3, -1)
PLACES = numpy.concatenate(
    [numpy.tile(range(7), (3, 1)), GRID, 13 + numpy.tile(range(9), (3, 1))], 1
)


def sections(lengths, order=(0, 1, 2)):
    """The coordinate of each pair where sections follow each other."""
    return numpy.repeat(order, lengths)


def interleaved_sections(lengths, order=(0, 1, 2)):
    """t h w t h w; t after the end of the others."""
    axis = numpy.array([pair % 3 for pair in range(sum(lengths))])
    pairs = numpy.arange(sum(lengths))
    axis[(axis > 0) & (pairs >= 3 * numpy.array(lengths)[axis])] = 0
    return numpy.array(order)[axis]


def mrope(lengths, interleaved=False, **more):
    return {
        "name": "mrope",
        "dim": 2 * sum(lengths),
        "mrope_section": lengths,
        "mrope_interleaved": interleaved,
        **more,
    }


def placed(scheme, axis, kind="f32", base=10000):
    """cos and sin at PLACES, each pair at the coordinate that `axis` has for it."""

    def make(_server):
        w = inv_freq(scheme["dim"], base)
        return to(kind, cos_sin(PLACES[axis].T * w)), {
            "encoding": scheme,
            "positions": PLACES.tolist(),
        }

    return make


def placed_q(scheme, axis, layout):
    def make(_server):
        w = inv_freq(scheme["dim"])
        q = numpy.random.default_rng(5).standard_normal((1, 2, PLACES.shape[1], scheme["dim"]))
        after = rotated(q, numpy.ones(PLACES.shape[1]), layout, frequencies=PLACES[axis].T * w)
        return {"q": q.astype(F32), "q_rotated": after.astype(F32)}, {
            "axes": "bhsd",
            "encoding": scheme,
            "layout": layout,
            "positions": PLACES.tolist(),
        }

    return make


def doubled(ours, theirs):
    def make(server):
        w, _ = frequencies(server, rope())
        double = {
            "half": lambda x: numpy.concatenate([x, x], -1),
            "interleaved": lambda x: numpy.repeat(x, 2, -1),
        }[theirs]
        tensors = to("f32", cos_sin(product(numpy.arange(300.0), w)))
        return {n: double(x) for n, x in tensors.items()}, {"encoding": rope(), "layout": ours}

    return make


def added(ours, theirs, kind):
    def make(server):
        rows = table(server, "sinusoidal", dim=32, length=200, layout=theirs, dtype="f64")
        return to(kind, {"table": rows}), {"encoding": {"name": "sinusoidal", "layout": ours}}

    return make


def endless(base):
    return lambda w: float(base) ** (-numpy.arange(len(w)) / (len(w) - 1))


def frequencies_posted(way, scheme=None, other=None):
    scheme = scheme or rope(128)

    def make(server):
        return {"inv_freq": way(frequencies(server, other or scheme)[0])}, {"encoding": scheme}

    return make


def far(start):
    """Right in float32 but for where it is too coarse."""

    def make(_server):
        return float32_cos_sin(start + numpy.arange(600), inv_freq(64)), {
            "encoding": rope(),
            "start": start,
        }

    return make


def truncated(x):
    return (numpy.asarray(x, F32).view(numpy.uint32) & 0xFFFF0000).view(F32).astype(float)


def other_way(make):
    def swap(server):
        tensors, asked = make(server)
        return {"cos": tensors["sin"], "sin": tensors["cos"]}, asked

    return swap


def bf16_product(t, w):
    return bf16(bf16(t)[:, None] * bf16(w)).astype(float)


ONE, NONE = (lambda factor: 1.0), None
QWEN = mrope([16, 24, 24])
LOW = numpy.arange(64)
GEMMA = rope(64, 1e6, rope_type="proportional", partial_rotary_factor=0.25)
LISTED = [
    listed("base-ignored", "f32", made(rope(base=500000), product, base=rope())),
    listed("base-ignored", "bf16", made(rope(128, 1e6), product, "bf16 in f32", base=rope(128))),
    listed("base-ignored", "q", turned(rope(base=500000), "half", other=rope())),
    listed("config-ignored", "llama3", made(LLAMA, product, base=rope(128))),
    listed("config-ignored", "llama3, bf16", made(LLAMA, product, "bf16 in f32", base=rope(128))),
    listed("config-ignored", "linear", made(LINEAR, product, base=rope())),
    listed("config-ignored", "ntk", made(NTK, product, base=rope(96))),
    listed("scaling-missing", "llama3", made(LLAMA, product, base=rope(128, 500000))),
    listed("scaling-missing", "yarn", made(YARN, product, base=rope())),
    listed("scaling-missing", "linear", made(LINEAR, product, base=rope(base=500000))),
    listed("scaling-missing", "longrope", made(LONG, product, base=rope())),
    listed("scaling-wrong", "llama3's factor", made(LLAMA, product, base=LLAMA | {"factor": 32})),
    listed(
        "scaling-wrong",
        "linear instead of yarn",
        made(YARN, product, base=rope(rope_type="linear", factor=8)),
    ),
    listed("scaling-wrong", "twice", made(LINEAR, product, base=LINEAR | {"factor": 16})),
    listed(
        "truncate-ignored", "gpt-oss", made(GPT_OSS, product, base=GPT_OSS | {"truncate": True})
    ),
    listed(
        "truncate-ignored",
        "gpt-oss, bf16",
        made(GPT_OSS, product, "bf16 in f32", base=GPT_OSS | {"truncate": True}),
    ),
    listed("truncate-ignored", "yarn", made(YARN, product, base=YARN | {"truncate": False})),
    listed(
        "truncate-ignored",
        "alone",
        frequencies_posted(lambda w: w, GPT_OSS, GPT_OSS | {"truncate": True}),
    ),
    listed("wrong-width", "partial", made(PARTIAL, product, w=lambda w: inv_freq(128)[:16])),
    listed("wrong-width", "of the part", made(rope(128), product, base=rope(128, rotary_dim=64))),
    listed("attention-factor-missing", "yarn", made(YARN, product, factor=ONE)),
    listed("attention-factor-missing", "longrope", made(LONG, product, factor=ONE)),
    listed("attention-factor-missing", "longrope, f16", made(LONG, product, "f16", factor=ONE)),
    listed("attention-factor-twice", "yarn", made(YARN, product, factor=lambda a: a * a)),
    listed("attention-factor-twice", "longrope", made(LONG, product, factor=lambda a: a * a)),
    listed(
        "attention-factor-twice",
        "on top of the one that is read",
        made(LAGUNA, product, factor=lambda a: a * (0.1 * numpy.log(64) + 1)),
    ),
    listed(
        "attention-factor-in-logarithm",
        "as mscale",
        made(LAGUNA, product, factor=lambda a: 0.1 * a * numpy.log(64) + 1),
    ),
    listed(
        "attention-factor-in-logarithm",
        "beside the factor, bf16",
        made(LAGUNA, product, "bf16 in f32", factor=lambda a: 0.1 * numpy.log(64 * a) + 1),
    ),
    listed(
        "attention-factor-in-logarithm",
        "mscale beside the factor",
        made(
            DEEPSEEK | {"mscale": 0.707, "mscale_all_dim": 1},
            product,
            factor=lambda a: (0.1 * numpy.log(40 * 0.707) + 1) / (0.1 * numpy.log(40) + 1),
        ),
    ),
    listed(
        "attention-factor-wrong",
        "mscale_all_dim dropped",
        made(
            DEEPSEEK | {"mscale": 0.707, "mscale_all_dim": 1},
            product,
            factor=lambda a: 0.1 * 0.707 * numpy.log(40) + 1,
        ),
    ),
    listed(
        "attention-factor-wrong",
        "mscale",
        made(DEEPSEEK, product, factor=lambda a: 0.1 * numpy.log(40) + 1),
    ),
    listed("inv-freq-bf16", "f32", made(rope(), mistaken(w=bf16))),
    listed("inv-freq-bf16", "llama3", made(LLAMA, mistaken(w=bf16))),
    listed("inv-freq-bf16", "alone", frequencies_posted(bf16)),
    listed("inv-freq-truncated", "f32", made(rope(), mistaken(w=truncated))),
    listed("inv-freq-truncated", "alone", frequencies_posted(truncated)),
    listed("inv-freq-f16", "f32", made(rope(), mistaken(w=f16))),
    listed("inv-freq-f16", "noise", made(rope(), mistaken(w=f16), "normal noise", length=1500)),
    listed("positions-bf16", "f32", made(rope(), mistaken(t=bf16), start=300)),
    listed("positions-bf16", "yarn", made(YARN, mistaken(t=bf16), start=900)),
    listed("positions-f16", "f32", made(rope(), mistaken(t=f16), start=3000)),
    listed("positions-f16", "llama3", made(LLAMA, mistaken(t=f16), start=5000)),
    listed("angles-bf16", "all", made(rope(), bf16_product)),
    listed("angles-bf16", "product", made(rope(128), mistaken(angle=bf16))),
    listed(
        "angles-f16", "all", made(rope(), lambda t, w: f16(f16(t)[:, None] * f16(w)).astype(float))
    ),
    listed("angles-f16", "product", made(rope(128), mistaken(angle=f16))),
    listed("off-by-one-position", "later", made(rope(), mistaken(t=lambda t: t + 1))),
    listed("off-by-one-position", "earlier", made(LLAMA, mistaken(t=lambda t: t - 1))),
    listed("off-by-one-position", "q", turned(rope(), "half", shift=1)),
    listed(
        "scaled-offset", "not at all", made(LINEAR, lambda t, w: product(t + 3 * 900, w), start=900)
    ),
    listed(
        "scaled-offset",
        "twice",
        made(LINEAR, lambda t, w: product(t + 900 / 4 - 900, w), "bf16 in f32", start=900),
    ),
    listed("rotated-twice", "half", twice(rope(), "half")),
    listed("rotated-twice", "interleaved, from 1000", twice(LLAMA, "interleaved", 1000)),
    listed("rotated-twice", "yarn", twice(YARN, "half")),
    listed("not-rotated", "cos and sin", made(rope(), lambda t, w: product(0 * t, w))),
    listed(
        "not-rotated",
        "with the attention factor, f16",
        made(YARN, lambda t, w: product(t, 0 * w), "f16", start=1000),
    ),
    listed("not-rotated", "q", unrotated(YARN, 1)),
    listed("not-rotated", "q, with the attention factor", unrotated(YARN, 0.1 * numpy.log(8) + 1)),
    listed("mrope-sections-order", "lengths", placed(QWEN, sections([24, 16, 24], [1, 0, 2]))),
    listed(
        "mrope-sections-order", "height, width", placed(QWEN, sections([16, 24, 24], [0, 2, 1]))
    ),
    listed("mrope-sections-order", "interleaved", placed(QWEN, interleaved_sections([16, 24, 24]))),
    listed(
        "mrope-sections-order",
        "not interleaved",
        placed(mrope([24, 20, 20], True), sections([24, 20, 20]), "bf16 in f32"),
    ),
    listed(
        "mrope-sections-order",
        "q",
        placed_q(QWEN, sections([16, 24, 24], [2, 1, 0]), "interleaved"),
    ),
    listed("half-minus-one-divisor", "f32", made(rope(), product, w=endless(10000))),
    listed(
        "half-minus-one-divisor",
        "bf16",
        made(rope(128, 500000), product, "bf16 in f32", w=endless(500000)),
    ),
    listed("rotated-backwards", "f32", made(rope(), lambda t, w: -product(t, w))),
    listed("rotated-backwards", "q", turned(rope(), "interleaved", sign=-1)),
    listed("cos-sin-swapped", "f32", other_way(made(YARN, product))),
    listed("cos-sin-swapped", "bf16", other_way(made(rope(), product, "bf16 in f32", start=300))),
    *[
        listed("uninitialized", f"cos and sin, {kind}", unwritten(kind, ["cos", "sin"], (300, 32)))
        for kind in [*MEMORY, "pointers"]
    ],
    *[
        listed("uninitialized", f"inv_freq, {kind}", unwritten(kind, ["inv_freq"], (32,)))
        for kind in [*MEMORY, "pointers"]
    ],
    *[
        listed(
            "uninitialized",
            f"table, {kind}",
            unwritten(kind, ["table"], (64, 32), {"name": "sinusoidal"}),
        )
        for kind in MEMORY
    ],
    *[
        listed("uninitialized", f"q, {kind}", unwritten_cache(kind))
        for kind in ["zeros", "subnormal", "huge", "not finite", "random bits"]
    ],
    listed("pairs-across-head", "of a quarter", partly(PARTIAL, LOW[:16], LOW[:16] + 64)),
    listed(
        "pairs-across-head",
        "frequencies of the head",
        partly(PARTIAL, LOW[:16], LOW[:16] + 64, inv_freq(128)[:16], layout="half"),
    ),
    listed(
        "pairs-across-head",
        "of three quarters",
        partly(rope(64, rotary_dim=48), LOW[:24], LOW[:24] + 32),
    ),
    listed("pairs-within-prefix", "of a quarter", partly(GEMMA, LOW[:8], LOW[:8] + 8)),
    listed(
        "pairs-within-prefix",
        "frequencies of the part",
        partly(GEMMA, LOW[:8], LOW[:8] + 8, inv_freq(16, 1e6), layout="half"),
    ),
    listed("layout-mixed", "half", queries_and_keys(rope(), "half", "interleaved", layout="half")),
    listed("layout-mixed", "either", queries_and_keys(LLAMA, "interleaved", "half")),
    listed(
        "layout-swapped", "q and k", queries_and_keys(rope(), "half", "half", layout="interleaved")
    ),
    listed("off-by-one-position", "q and k", queries_and_keys(YARN, "half", "half", 1)),
    listed("layout-swapped", "half", doubled("half", "interleaved")),
    listed("layout-swapped", "interleaved", doubled("interleaved", "half")),
    listed("layout-swapped", "q", turned(rope(), "half", layout="interleaved")),
    listed("columns-swapped", "interleaved", added("interleaved", "concatenated", "f32")),
    listed("columns-swapped", "concatenated", added("concatenated", "interleaved", "f16 in f32")),
    listed("float32-angle", "200000", far(200000)),
    listed("float32-angle", "500000", far(500000)),
]


# ---- damage that no list names ------------------------------------------------------------------

LONG_ROWS, BAD = 8192, 5001


def damaged(name, change, row=None, length=600):
    def make(server):
        w, _ = frequencies(server, rope())
        tensors = to("f32", cos_sin(product(numpy.arange(float(length)), w)))
        change(tensors["cos"], tensors["sin"])
        return tensors, {"encoding": rope()}

    return Case(name, "not right", None, make, row)


def both(change):
    def changed(cos, sin):
        change(cos)
        change(sin)

    return changed


def rows_set(to_rows, from_rows):
    def change(x):
        x[to_rows] = x[from_rows].copy()

    return both(change)


def element_set(row, pair, value):
    def change(cos, _sin):
        cos[row, pair] = value(cos[row, pair])

    return change


def columns_set(columns):
    def change(x):
        x[:] = x[:, columns]

    return both(change)


def phases(more):
    """Other angles than those of the table."""

    def change(cos, sin):
        t = numpy.arange(float(len(cos)))[:, None]
        angle = more(t, inv_freq(64)[None])
        cos[:], sin[:] = numpy.cos(angle), numpy.sin(angle)

    return change


def scaled(by):
    def change(x):
        x *= by(numpy.arange(len(x), dtype=F32)[:, None])

    return both(change)


def zeros(x):
    x[BAD] = 0


def last_zeros(x):
    x[-1] = 0


def four_bits(x):
    x[:] = numpy.round(x * 7) / 7


UNLISTED = [
    damaged("a copied row", rows_set(BAD, BAD - 1), BAD, LONG_ROWS),
    damaged("a row of zeros", both(zeros), BAD, LONG_ROWS),
    damaged("two rows swapped", rows_set([BAD, BAD + 9], [BAD + 9, BAD]), BAD, LONG_ROWS),
    damaged("the last row never written", both(last_zeros), LONG_ROWS - 1, LONG_ROWS),
    damaged("a sign", element_set(BAD, 3, lambda x: -x), BAD, LONG_ROWS),
    damaged("a bit of the exponent", element_set(BAD, 30, lambda x: x / 2), BAD, LONG_ROWS),
    damaged(
        "a bit of the mantissa", element_set(BAD, 9, lambda x: x * (1 + 2.0**-8)), BAD, LONG_ROWS
    ),
    damaged(
        "a tail that begins anew", rows_set(slice(4096, None), slice(0, 4096)), 4096, LONG_ROWS
    ),
    damaged(
        "a tail that stands still", rows_set(slice(4096, None), slice(4095, 4096)), 4096, LONG_ROWS
    ),
    damaged("a row of a short table", rows_set(77, 76), 77, 100),
    damaged("positions backwards", both(lambda x: x.__setitem__(slice(None), x[::-1].copy()))),
    damaged("seven positions off", phases(lambda t, w: (t + 7) * w)),
    damaged("a phase", phases(lambda t, w: t * w + 0.3)),
    damaged("degrees", phases(lambda t, w: t * w * numpy.pi / 180)),
    damaged("cycles", phases(lambda t, w: t * w * 2 * numpy.pi)),
    damaged(
        "one frequency", phases(lambda t, w: t * numpy.where(numpy.arange(32) == 5, 1.1, 1.0) * w)
    ),
    damaged("a column of zeros", both(lambda x: x.__setitem__((slice(None), 4), 0))),
    damaged("two columns swapped", columns_set([1, 0, *range(2, 32)])),
    damaged("columns backwards", columns_set(list(range(31, -1, -1)))),
    damaged("half as large again", scaled(lambda t: F32(1.5))),
    damaged("smaller with the position", scaled(lambda t: F32(0.999) ** t)),
    damaged("four bits", both(four_bits)),
]


# ---- right tables -------------------------------------------------------------------------------

NOISES = ["f64", "f32", "f16", "bf16 in f32", "f16 in f32", "normal noise", "uniform noise"]


def hf(bug, start, scheme, t=None, w=None, other=None):
    """A mistake in float32 where float32 is expected: its own error hides none."""

    def make(server):
        own, factor = frequencies(server, other or scheme)
        at, own = start + numpy.arange(512), own if w is None else w(own)
        return float32_cos_sin(at if t is None else t(at), own, factor), {
            "encoding": scheme | {"arithmetic": "hf"},
            "start": start,
        }

    return listed(bug, f"in float32, {start}", make)


IN_HF = [
    hf("off-by-one-position", start, rope(), t=lambda t: t + 1) for start in (0, 100000, 900000)
] + [
    hf("inv-freq-bf16", 100000, rope(), w=bf16),
    hf("positions-bf16", 120000, rope(), t=bf16),
    hf("positions-f16", 40000, rope(128, 500000), t=f16),
    hf("scaling-missing", 100000, LLAMA, other=rope(128, 500000)),
    hf("scaling-wrong", 100000, LLAMA, other=LLAMA | {"factor": 32}),
    hf("base-ignored", 100000, rope(base=500000), other=rope()),
]


def right(name, scheme, noise):
    return Case(
        f"{name}, {noise}", "match", None, made(scheme, product, noise, start=1000, length=200)
    )


RIGHT = [right(name, scheme, noise) for name, scheme in SCHEMES.items() for noise in NOISES]


# ---- tables that are right in float32 -----------------------------------------------------------

# Longrope's factors are floats already: in lists of doubles float32 has frequencies of its own.
IN_FLOAT32 = {
    **{name: scheme for name, scheme in SCHEMES.items() if name != "deepseek"},
    "base 10^7": rope(128, 1e7),
    "gpt-oss": GPT_OSS,
    "deepseek": DEEPSEEK,
}


def float32(name, scheme, start, kind, length=512):
    """By the service's own arithmetic=hf, or by numpy in float32, which differs in last bits."""
    expected = scheme | {"arithmetic": "hf"}

    def make(server):
        if kind.startswith("own"):
            posted = post_json(
                server,
                "/v1/encodings/rope/table",
                {
                    "encoding": expected,
                    "start": start,
                    "length": length,
                    "dtype": "f32",
                    "format": "npy",
                },
            ).npy
            tensors = {"cos": posted[0], "sin": posted[1]}
        else:
            w, factor = frequencies(server, scheme)
            tensors = float32_cos_sin(start + numpy.arange(length), w, factor)
        way = {"bf16": bf16, "f16": f16}.get(kind.split()[-1], F32)
        return {n: way(x) for n, x in tensors.items()}, {"encoding": expected, "start": start}

    return Case(f"{name}, {start}, {kind}", "match", None, make)


FLOAT32 = [
    float32(name, scheme, start, kind)
    for name, scheme in IN_FLOAT32.items()
    for start in (0, 16384, 65536, 100000, 131072 - 512)
    for kind in ("own", "numpy", "own bf16", "numpy f16")
]
FLOAT32_FAR = [
    float32(name, scheme, start, "numpy")
    for name, scheme in IN_FLOAT32.items()
    for start in (200000, 500000, 1000000 - 511)
]


# ---- nothing is expected ------------------------------------------------------------------------


def unexpected(name, make):
    """A right table of whatever parameters: neither a match nor a mistake."""

    def forget(server):
        tensors, asked = make(server)
        return tensors, {key: value for key, value in asked.items() if key == "start"}

    return Case(name, "consistent", None, forget)


def rows_added(spacing, base, layout, kind, dim=64):
    def make(server):
        rows = table(
            server,
            "sinusoidal",
            dim=dim,
            length=300,
            layout=layout,
            spacing=spacing,
            base=base,
            dtype="f64",
        )
        return to(kind, {"table": rows}), {}

    return make


UNEXPECTED = [
    unexpected(f"rope, {base}, {kind}", made(rope(base=base), product, kind))
    for base in (100, 777, 10000, 10007, 500000, 1234567)
    for kind in ("f32", "f16", "bf16 in f32")
] + [
    unexpected(
        f"sinusoidal, {spacing}, {base}, {layout}, {kind}", rows_added(spacing, base, layout, kind)
    )
    for spacing in ("paper", "endpoint")
    for base in (100, 137, 10000, 10007, 1e6)
    for layout in ("interleaved", "concatenated")
    for kind in ("f32", "f16")
]


# ---- batch rows ---------------------------------------------------------------------------------


def batch(name, verdict, change, row=None):
    """q before and after, three batch rows of 100 tokens and four heads."""

    def make(server):
        q = numpy.random.default_rng(3).standard_normal((3, 4, 100, 32))
        after = rotated(q, numpy.arange(100), "half")
        change(after)
        return {"q": q.astype(F32), "q_rotated": after.astype(F32)}, {
            "axes": "bhsd",
            "encoding": rope(32),
        }

    return Case(name, verdict, None, make, row)


def batch_tables(name, verdict, change, row=None):
    def make(server):
        tensors = to("f32", cos_sin(product(numpy.arange(400.0), inv_freq(64))))
        tensors = {key: numpy.stack([x] * 3) for key, x in tensors.items()}
        change(tensors["sin"])
        return tensors, {"encoding": rope()}

    return Case(name, verdict, None, make, row)


def element(*at):
    def change(x):
        x[at] += 0.1

    return change


def cleared(*at):
    def change(x):
        x[at] = 0

    return change


BATCHES = [
    batch("three batch rows", "match", lambda x: None),
    batch("the last batch row of zeros", "not right", cleared(2), 200),
    batch(
        "the second batch row never rotated",
        "not right",
        lambda x: x.__setitem__(1, x[1, :, ::-1].copy()),
        100,
    ),
    batch("a token of the last batch row", "not right", cleared(2, slice(None), 50), 250),
    batch("one element of the last batch row", "not right", element(2, 1, 99, 3), 299),
    batch_tables("tables of three batch rows", "match", lambda x: None),
    batch_tables("the last table of zeros", "not right", cleared(2), 801),
    batch_tables("one element of the last table", "not right", element(2, 399, 5), 1199),
]

GROUPS = {
    "listed": LISTED,
    "listed in float32": IN_HF,
    "unlisted": UNLISTED,
    "right": RIGHT,
    "float32": FLOAT32,
    "far": FLOAT32_FAR,
    "unexpected": UNEXPECTED,
    "batches": BATCHES,
}
