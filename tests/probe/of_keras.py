# SPDX-License-Identifier: MIT
"""keras-hub's layer, on tensorflow, probed; prints {name: verdict}."""

import json

import keras_hub
import posenc
import tensorflow

DIM = 64
found = {}


def probe(name, layer, **given):
    def fn(x, positions):
        return layer(x, positions=tensorflow.cast(positions, "float32")[None])

    given = {"dim": DIM, "layout": "half", "axes": "bshd"} | given
    like = tensorflow.zeros(1)
    found[name] = posenc.probe(fn, "rope", like=like, **given).verdict


probe("keras-hub", keras_hub.layers.RotaryEmbedding(max_wavelength=10000))
probe("keras-hub, linear", keras_hub.layers.RotaryEmbedding(scaling_factor=4.0),
      rope_type="linear", factor=4)  # fmt: skip
probe("keras-hub, another base", keras_hub.layers.RotaryEmbedding(max_wavelength=10000), base=5e5)
probe("keras-hub as neighbours", keras_hub.layers.RotaryEmbedding(), layout="interleaved")
print(json.dumps(found))
