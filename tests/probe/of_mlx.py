# SPDX-License-Identifier: MIT
"""mlx's rope, probed; prints {name: verdict}."""

import json

import mlx.core as mx
import posenc

DIM = 64
found = {}


def probe(name, layout, traditional, **given):
    def fn(x, positions):
        rows = [
            mx.fast.rope(
                x[:, :, token : token + 1],
                DIM,
                traditional=traditional,
                base=10000.0,
                scale=1.0,
                offset=int(position),
            )
            for token, position in enumerate(positions.tolist())
        ]
        return mx.concatenate(rows, axis=2)

    given = {"dim": DIM, "layout": layout, "axes": "bhsd"} | given
    found[name] = posenc.probe(fn, "rope", **given).verdict


probe("mlx", "half", False)
probe("mlx, traditional", "interleaved", True)
probe("mlx as neighbours", "interleaved", False)
print(json.dumps(found))
