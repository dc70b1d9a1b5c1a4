# SPDX-License-Identifier: MIT
"""keras-hub: the backbone that its converter of transformers' checkpoints makes of a config, with
small weights. Its rotary layers are those that a layer calls for three tokens of nothing."""

import contextlib
import json
import os

os.environ["KERAS_BACKEND"] = "torch"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy
import rotation
import torch
from keras.src.backend.torch import core
from keras_hub.src.layers.modeling.rotary_embedding import RotaryEmbedding
from keras_hub.src.utils.transformers.preset_loader import TransformersPresetLoader
from serving import Absent, Unmeasured, serve


class Widths:
    """How many elements each rotary layer is given while the model is made."""

    def __enter__(self):
        self.found, self.calls = {}, {}
        for cls in [RotaryEmbedding, *RotaryEmbedding.__subclasses__()]:
            self.calls[cls] = cls.__call__
            cls.__call__ = self.watched(cls.__call__)
        return self

    def __exit__(self, *_):
        for cls, call in self.calls.items():
            cls.__call__ = call

    def watched(self, call):
        def instead(layer, x, *given, **more):
            self.found.setdefault(id(layer), int(x.shape[-1]))
            return call(layer, x, *given, **more)

        return instead


LAYERS = {"meta": 12, "cpu": 4}  # of which the first are made: patterns of layers are shorter


def backbone_of(config, device):
    """On `meta`, where weights take no memory, or small on the CPU, where all code runs."""
    try:
        loader = TransformersPresetLoader(None, config)
    except ValueError as error:
        if "has no converter" in str(error):
            raise Absent(str(error)) from error
        raise
    cls, read = loader.check_backbone_class(), Read()
    loader.load_backbone(read, load_weights=False)
    layers = {"num_layers": min(read.given["num_layers"], LAYERS[device])}
    if device == "meta":
        with core.device_scope("meta"):
            return cls(**(read.given | layers))
    return cls(**(read.given | layers | smaller(read.given)))


class Read:
    """In place of the backbone: what its converter makes of the config."""

    def __call__(self, **given):
        self.given = given


def smaller(given):
    """Sizes that no rotation depends on: heads keep their width, layers their number."""
    found = {key: 16 for key in given if key.endswith("intermediate_dim")}
    least = {"vocabulary_size": 64, "num_experts": 4, "top_k": 2}
    found |= {key: min(given[key], size) for key, size in least.items() if given.get(key)}
    heads = {"num_query_heads": 2, "num_key_value_heads": 1}
    if given.get("head_dim"):
        return found | heads | {"hidden_dim": 64}
    if "num_query_heads" in given:
        head = given["hidden_dim"] // given["num_query_heads"]
        found |= heads | {"hidden_dim": 2 * head}
    return found


def layers_of(backbone):
    for name in ("transformer_layers", "layers"):
        found = [
            layer
            for layer in getattr(backbone, name, None) or []
            if any(isinstance(part, RotaryEmbedding) for part in layer._flatten_layers())
        ]
        if found:
            return found
    raise Unmeasured("no layer of its backbone has a RotaryEmbedding")


def matrices(layer, width, at):
    vectors = torch.eye(width)[:, None, None, :]
    with torch.no_grad():
        found = [layer(vectors, start_index=position) for position in at]
    return numpy.stack([keras.ops.convert_to_numpy(x)[:, 0, 0, :].T for x in found])


def rotary_of(layer, device):
    """The rotary layer with which a layer rotates three tokens of nothing, and of what width."""
    hidden = layer_input(layer)
    with Widths() as widths, core.device_scope(device), torch.no_grad():
        with contextlib.suppress(Exception):  # of what follows the rotation
            layer(torch.zeros(1, 3, hidden, device=device))
    for part in layer._flatten_layers():
        if id(part) in widths.found:
            return part, widths.found[id(part)]
    return None, 0


def layer_input(layer):
    """How many elements a token has, by the weights of its first norm."""
    for weight in layer.weights:
        if len(weight.shape) == 1 and "norm" in weight.path:
            return int(weight.shape[0])
    raise Unmeasured("a layer without a norm")


def measured(config, lengths, device):
    kinds = {}
    for index, layer in enumerate(layers_of(backbone_of(config, device))):
        rotary, width = rotary_of(layer, device)
        if not rotary:
            continue
        told = {k: v for k, v in rotary.get_config().items() if k != "name"}
        key = json.dumps([width, told], default=str)
        if key not in kinds:
            found = {}
            for length in lengths:
                at = rotation.positions(length)
                found[str(length)] = rotation.read(matrices(rotary, width, at), at)
            kinds[key] = {"layers": [], "rotation": found}
        kinds[key]["layers"].append(index)
    if not kinds:
        raise Unmeasured("no layer was seen to rotate")
    return list(kinds.values())


def measure(config, lengths):
    try:
        return measured(config, lengths, "meta")
    except Absent:
        raise
    except Exception:  # of code that does not run on meta
        return measured(config, lengths, "cpu")


if __name__ == "__main__":
    serve(measure)
