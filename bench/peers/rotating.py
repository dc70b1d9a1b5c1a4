# SPDX-License-Identifier: MIT
"""The peer of a rotation over HTTP, as one would write it: FastAPI, with NumPy or with torch. The
body is float32 of [1, 8, 1024, 128]; cos and sin are made once."""

import numpy
import torch
from fastapi import FastAPI, Request, Response

HEADS, TOKENS, DIM, BASE = 8, 1024, 128, 10000.0
HALF = DIM // 2

app = FastAPI()
torch.set_num_threads(1)  # a worker process has one; there are as many as processors
angles = numpy.arange(TOKENS)[:, None] * BASE ** (-numpy.arange(HALF) / HALF)
cos, sin = (f(angles).astype(numpy.float32) for f in (numpy.cos, numpy.sin))
# The form that transformers keeps: both halves side by side.
wide_cos, wide_sin = (
    torch.from_numpy(numpy.concatenate((part, part), axis=1)) for part in (cos, sin)
)


@app.get("/")
async def ready():
    return {}


def answer(array):
    return Response(array.tobytes(), media_type="application/octet-stream")


@app.post("/numpy")
async def by_numpy(request: Request):
    x = numpy.frombuffer(await request.body(), numpy.float32).reshape(1, HEADS, TOKENS, DIM)
    out = numpy.empty_like(x)
    first, second = x[..., :HALF], x[..., HALF:]
    numpy.multiply(first, cos, out=out[..., :HALF])
    out[..., :HALF] -= second * sin
    numpy.multiply(second, cos, out=out[..., HALF:])
    out[..., HALF:] += first * sin
    return answer(out)


@app.post("/torch")
async def by_torch(request: Request):
    body = bytearray(await request.body())
    x = torch.frombuffer(body, dtype=torch.float32).view(1, HEADS, TOKENS, DIM)
    turned = torch.cat((-x[..., HALF:], x[..., :HALF]), dim=-1)
    return answer((x * wide_cos + turned * wide_sin).numpy())
