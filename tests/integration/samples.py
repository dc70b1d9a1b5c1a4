# SPDX-License-Identifier: MIT
"""Cosines and sines as models make them, and a diagnosis of them."""

import base64

import numpy

from service import post_json

F16, F32 = numpy.float16, numpy.float32
KINDS = {"float16": "f16", "float32": "f32", "float64": "f64"}


def bf16(x):
    """To the nearest bf16, as float32."""
    bits = numpy.asarray(x, F32).view(numpy.uint32).astype(numpy.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    return bits.astype(numpy.uint32).view(F32)


def f16(x):
    return numpy.asarray(x).astype(F16).astype(F32)


def ask(server, tensors, **parameters):
    body = {
        "tensors": {
            name: {
                "dtype": KINDS[str(x.dtype)],
                "shape": list(x.shape),
                "base64": base64.b64encode(x.tobytes()).decode(),
            }
            for name, x in tensors.items()
        },
        **parameters,
    }
    return post_json(server, "/v1/diagnosis", body)


def cos_sin(angle, factor=1.0):
    return {"cos": factor * numpy.cos(angle), "sin": factor * numpy.sin(angle)}


def float32_cos_sin(t, w, factor=1.0):
    """Every operation in float32, as models do it."""
    angle = numpy.asarray(t, F32)[:, None] * numpy.asarray(w, F32)
    return {"cos": numpy.cos(angle) * F32(factor), "sin": numpy.sin(angle) * F32(factor)}
