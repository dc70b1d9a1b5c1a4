# SPDX-License-Identifier: MIT
"""Random tables as honest code makes them: float32 frequencies by the common formulas, positions
times frequencies in float32, cosines and sines in float32, kept in float32, float16 or bfloat16."""

import math

import numpy
from samples import F16, F32, bf16

# ---- frequencies, each operation in float32 ------------------------------------------------------


def steps(dim):
    return numpy.arange(0, dim, 2, dtype=F32)


def of_power(dim, base):
    """transformers"""
    return F32(1) / F32(base) ** (steps(dim) / F32(dim))


def of_negative_power(dim, base):
    return F32(base) ** (-steps(dim) / F32(dim))


def of_exponential(dim, base):
    """The annotated transformer; the logarithm is a double of Python's."""
    return numpy.exp(steps(dim) * F32(-math.log(base) / dim))


def of_quotient(dim, base):
    """diffusers"""
    half = dim // 2
    return numpy.exp(F32(-math.log(base)) * numpy.arange(half, dtype=F32) / F32(half))


def of_logarithm(dim, base):
    """The logarithm in float32 too."""
    return numpy.exp(-numpy.log(F32(base)) * (steps(dim) / F32(dim)))


def of_float64(dim, base):
    return (base ** (-numpy.arange(0, dim, 2) / dim)).astype(F32)


def of_endpoint(dim, base):
    """tensor2tensor, fairseq"""
    half = dim // 2
    return numpy.exp(numpy.arange(half, dtype=F32) * F32(-math.log(base) / max(half - 1, 1)))


FORMULAS = [of_power, of_negative_power, of_exponential, of_quotient, of_logarithm, of_float64]
BASES = [10000, 10000, 10000, 500000, 1000000, 100000, 5000000, 150000, 1000]
DTYPES = {"f32": lambda x: x.astype(F32), "f16": lambda x: x.astype(F16), "bf16": bf16}


# ---- tables --------------------------------------------------------------------------------------


def rotary(cos, sin, way):
    """As rotary code keeps them: one column a pair, or each twice."""
    if way == 0:
        return {"cos": cos, "sin": sin}
    double = (
        (lambda x: numpy.concatenate([x, x], -1))
        if way == 1
        else (lambda x: numpy.repeat(x, 2, -1))
    )
    return {"cos": double(cos), "sin": double(sin)}


def absolute(cos, sin, layout):
    if layout == "concatenated":
        return {"table": numpy.concatenate([sin, cos], -1)}
    return {"table": numpy.stack([sin, cos], -1).reshape(len(sin), -1)}


def any_shape(rng):
    """Width and rows: narrow and short ones as often as wide and long ones."""
    dim = 2 * int(2 ** rng.uniform(0, 7))
    return dim, int(2 ** rng.uniform(4, min(13, 20 - math.log2(dim))))


def narrow_shape(rng):
    return 2 * int(rng.integers(2, 9)), int(rng.integers(300, 8193))


def clear_shape(rng):
    """Enough pairs and rows to tell a base from others."""
    return 2 * int(rng.integers(8, 65)), int(rng.integers(300, 2049))


def moved(rng, x, ulps):
    """As another library has it: up to so many units in the last place beside."""
    steps = rng.integers(-ulps, ulps + 1, x.shape) if ulps else numpy.zeros(x.shape, int)
    bits = x.astype(F32).view(numpy.int32) + steps.astype(numpy.int32)
    return numpy.where(x == 0, x, bits.view(F32)).astype(F32)


def made(seed, shape, ulps=1):
    """(a name, tensors, what is expected) of one random table."""
    rng = numpy.random.default_rng(seed)
    dim, rows = shape(rng)
    base = BASES[rng.integers(len(BASES))]
    kind = list(DTYPES)[rng.integers(3)]
    is_rotary, endpoint = rng.random() < 0.6, rng.random() < 0.3
    formula = FORMULAS[rng.integers(len(FORMULAS))]
    if not is_rotary and endpoint:
        formula = of_endpoint
    way, layout = rng.integers(3), ["interleaved", "concatenated"][rng.integers(2)]
    w = formula(dim, base)
    w[1:] = moved(rng, w[1:], 2 * ulps)  # the first is 1 in every library
    angle = numpy.arange(rows, dtype=F32)[:, None] * w
    cos, sin = (numpy.clip(moved(rng, f(angle), ulps), -1, 1) for f in (numpy.cos, numpy.sin))
    name = f"{seed}: {formula.__name__} dim {dim} base {base} rows {rows} {kind}"
    if is_rotary:
        tensors, expected = rotary(cos, sin, way), {"name": "rope", "dim": dim, "base": base}
    else:
        tensors = absolute(cos, sin, layout)
        expected = {
            "name": "sinusoidal",
            "dim": dim,
            "base": base,
            "layout": layout,
            "spacing": "endpoint" if formula is of_endpoint else "paper",
        }
        name += f" {expected['spacing']} {layout}"
    return name, {key: DTYPES[kind](x) for key, x in tensors.items()}, expected
