# SPDX-License-Identifier: MIT
"""Rotation and attention of torch, onnxruntime and ggml, one thread each, asked line by line as
bench/workers/worker.h says, by the processor time of the process.

Words: onnxruntime-rotate, ggml-rotate or torch-rotate;DTYPE;TOKENS of [1, TOKENS, 32, 128];
sdpa, flex or eager;ENCODING;TOKENS;WIDTH;HEADS."""

import json
import math
import sys
import time

import numpy
import rotations

SHAW_WINDOW, T5_BUCKETS, T5_DISTANCE = 64, 32, 128


def alibi_slopes(torch, heads):
    return torch.tensor([2.0 ** (-8 * (head + 1) / heads) for head in range(heads)])


def t5_buckets(torch, distance):
    """Of key minus query, both ways (Raffel et al. 2020)."""
    side = T5_BUCKETS // 2
    exact = side // 2
    far = distance.abs()
    ratio = torch.log(far.clamp(min=1) / exact) / math.log(T5_DISTANCE / exact)
    wide = (exact + (ratio * (side - exact)).long()).clamp(max=side - 1)
    return torch.where(distance > 0, side, 0) + torch.where(far < exact, far, wide)


def distances(torch, tokens):
    at = torch.arange(tokens)
    return at[None] - at[:, None]


def bias_of(torch, encoding, tokens, heads):
    if encoding == "alibi":
        return -alibi_slopes(torch, heads)[:, None, None] * distances(torch, tokens).abs()
    if encoding == "t5":
        weights = torch.randn(T5_BUCKETS, heads)
        return weights[t5_buckets(torch, distances(torch, tokens))].permute(2, 0, 1).contiguous()
    return None


def sdpa(encoding, tokens, width, heads):
    """The bias is made once, as a model makes it for all of its layers; rope turns q and k."""
    torch = rotations.torch_of()
    q, k, v = (torch.randn(1, heads, tokens, width) for _ in range(3))
    bias = bias_of(torch, encoding, tokens, heads)
    attend = torch.nn.functional.scaled_dot_product_attention
    if encoding != "rope":
        return lambda: attend(q, k, v, attn_mask=bias)
    cos, sin = torch.randn(tokens, width), torch.randn(tokens, width)
    return lambda: attend(
        rotations.turned(torch, q, cos, sin), rotations.turned(torch, k, cos, sin), v
    )


def flex(encoding, tokens, width, heads):
    torch = rotations.torch_of()
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = (torch.randn(1, heads, tokens, width) for _ in range(3))
    if encoding == "alibi":
        slopes = alibi_slopes(torch, heads)

        def moved(score, _batch, head, query, key):
            return score - slopes[head] * (query - key).abs()
    else:
        weights, buckets = (
            torch.randn(T5_BUCKETS, heads),
            t5_buckets(torch, distances(torch, tokens)),
        )

        def moved(score, _batch, head, query, key):
            return score + weights[buckets[query, key], head]

    compiled = torch.compile(flex_attention)
    return lambda: compiled(q, k, v, score_mod=moved)


def eager(encoding, tokens, width, heads):
    """Shaw: logits and weights by distance are gathered."""
    assert encoding == "shaw"
    torch = rotations.torch_of()
    q, k, v = (torch.randn(1, heads, tokens, width) for _ in range(3))
    count = 2 * SHAW_WINDOW + 1
    of_keys, of_values = torch.randn(count, width), torch.randn(count, width)
    index = distances(torch, tokens).clamp(-SHAW_WINDOW, SHAW_WINDOW) + SHAW_WINDOW
    index = index.expand(1, heads, tokens, tokens)

    def run():
        logits = q @ k.transpose(-1, -2) + torch.gather(q @ of_keys.T, -1, index)
        weights = torch.softmax(logits / math.sqrt(width), -1)
        sums = torch.zeros(1, heads, tokens, count).scatter_add_(-1, index, weights)
        return weights @ v + sums @ of_values

    return run


def subject(words):
    name, *rest = words
    if name in rotations.ROTATIONS:
        dtype, tokens = rest
        return rotations.ROTATIONS[name](dtype, int(tokens))
    encoding, *sizes = rest
    return {"sdpa": sdpa, "flex": flex, "eager": eager}[name](encoding, *map(int, sizes))


def rate_of(run, seconds):
    began, calls, spent = time.process_time(), 0, 0
    while calls == 0 or spent < seconds:
        run()
        calls += 1
        spent = time.process_time() - began
    return calls / spent


def main():
    known, run = None, None
    numpy.random.seed(1)
    for line in sys.stdin:
        seconds, *words = line.strip().split(";")
        if words != known:
            known, run = words, subject(words)
            run()
        print(json.dumps({"rate": rate_of(run, float(seconds))}), flush=True)


if __name__ == "__main__":
    main()
