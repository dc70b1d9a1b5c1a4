# SPDX-License-Identifier: MIT
"""Rows beside libraries that people use for the same, one thread each."""

from rows import Figure, Row, Who
from rows_library import WIDTH, attention, flops, rotation_bytes, turned

ROTATIONS = (("onnxruntime", 2), ("ggml", 2.5), ("torch", 10))


def tensors(words, title):
    return Who("tensors", words, title)


def rotations():
    found = []
    for dtype, tokens in (("f32", 512), ("f32", 4096), ("bf16", 4096)):
        goals = [
            (name, ">=", goal) for name, goal in ROTATIONS if dtype == "f32" or name == "torch"
        ]
        others = {name: tensors(f"{name}-rotate;{dtype};{tokens}", name) for name, _, _ in goals}
        found.append(
            Row(
                "worker",
                (
                    Figure(
                        f"rotate-{dtype}-{tokens}-peers",
                        f"rotation of {dtype}, 1x{tokens}x32x128, as libraries do it",
                        "gb_s",
                        "GB/s",
                        tuple(goals),
                        limit="memory: a stream in place of as many bytes is no faster",
                    ),
                ),
                turned(dtype, tokens),
                others,
                bytes=rotation_bytes(dtype, tokens),
            )
        )
    return found


def attentions():
    found = []
    for encoding, params, peers in (
        ("none", "", ("sdpa",)),
        ("rope", "dim=64", ("sdpa",)),
        ("alibi", "heads=8", ("sdpa", "flex")),
        ("t5", "", ("sdpa", "flex")),
        ("shaw", "max_relative_position=64", ("eager",)),
    ):
        titles = {"sdpa": "torch SDPA", "flex": "flex_attention", "eager": "torch, eager"}
        others = {
            peer: tensors(f"{peer};{encoding};1024;{WIDTH};8", titles[peer]) for peer in peers
        }
        found.append(
            Row(
                "worker",
                (
                    Figure(
                        f"attention-{encoding}-torch",
                        f"attention f32, {encoding}, 1024 tokens, as torch does it",
                        "gflop_s",
                        "GFLOP/s",
                        tuple((peer, ">=", 2) for peer in peers),
                    ),
                ),
                attention(encoding, params, 1024, WIDTH, 8),
                others,
                flops=flops(1024, WIDTH, 8),
            )
        )
    return found


def peer_rows():
    return [*rotations(), *attentions()]
