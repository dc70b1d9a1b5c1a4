# SPDX-License-Identifier: MIT
"""Attention by the config of a model against its own code: tests/parity/attention_models.py ran it
in float64, where norms, angles and softmax of most models are float32 all the same."""

import base64
import json
import pathlib

import numpy
import pytest

from service import post_json

FILE = pathlib.Path(__file__).resolve().parents[1] / "data/oracles/attention_models.json"
LAYERS = {layer["name"]: layer for layer in json.loads(FILE.read_text())["layers"]}
TYPES = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}


def read(tensor):
    data = numpy.frombuffer(base64.b64decode(tensor["base64"]), TYPES[tensor["dtype"]])
    return data.reshape(tensor["shape"])


def posted(tensor, dtype):
    data = base64.b64encode(read(tensor).astype(TYPES[dtype])).decode()
    return {"dtype": dtype, "shape": tensor["shape"], "base64": data}


def attended(server, layer, dtype):
    body = layer["parameters"] | {
        "data_format": "base64",
        "tensors": {name: posted(tensor, dtype) for name, tensor in layer["tensors"].items()},
    }
    if layer["config"]:
        body["config"] = layer["config"]
    return read(post_json(server, "/v1/attention", body).good().json["tensors"]["output"])


def ulps(got, expected):
    """Units of float32 in the last place of each row's largest."""
    largest = numpy.abs(expected).max(-1, keepdims=True).astype(numpy.float32)
    return (numpy.abs(got.astype(numpy.float64) - expected) / numpy.spacing(largest)).max()


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", ["f64", "f32"])  # in f64 the model's softmax rounds, at least
def test_models(server, name, dtype):
    layer = LAYERS[name]
    assert ulps(attended(server, layer, dtype), read(layer["output"])) <= 4
