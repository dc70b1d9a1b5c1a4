# SPDX-License-Identifier: MIT
"""mlx-lm: the model as load_model makes it. Arrays are lazy, so that a model of any size costs
nothing, and one forward pass shows which layer rotates what, though nothing is computed."""

import contextlib
import copy
import inspect
import json

import mlx.core as mx
import mlx.nn as nn
import numpy
import rotation
from mlx_lm import utils
from serving import Absent, Unmeasured, serve


def made(config):
    try:
        model_class, args_class = utils._get_classes(config=config)
    except ValueError as error:
        raise Absent(str(error)) from error
    return model_class(args_class.from_dict(config))


def rotates(cls):
    """Is it a module of rotations? Its own code calls fast.rope, and it has no projections."""
    if cls is nn.RoPE:
        return True
    with contextlib.suppress(TypeError, OSError):
        source = inspect.getsource(cls)
        return "fast.rope(" in source and "nn.Linear(" not in source
    return False


class Watch:
    """Records rotations while a model runs: (layer, path, call, width) of each."""

    def __init__(self, model):
        self.layers = {id(layer): index for index, layer in enumerate(model.layers)}
        self.paths = {id(m): name for layer in model.layers for name, m in layer.named_modules()}
        self.current, self.inside, self.found = None, 0, []
        self.scales = {}
        self.undo = []
        for cls in {type(layer) for layer in model.layers}:
            self.wrap(cls, self.layer_called)
        for cls in {type(m) for layer in model.layers for _, m in layer.named_modules()}:
            if rotates(cls):
                self.wrap(cls, self.rope_called)
        self.rope, self.attend = mx.fast.rope, mx.fast.scaled_dot_product_attention
        mx.fast.rope = self.function_called
        mx.fast.scaled_dot_product_attention = self.attention_called

    def wrap(self, cls, instead):
        call = cls.__call__
        cls.__call__ = lambda module, *given, **more: instead(call, module, given, more)
        self.undo.append((cls, call))

    def close(self):
        for cls, call in self.undo:
            cls.__call__ = call
        mx.fast.rope, mx.fast.scaled_dot_product_attention = self.rope, self.attend

    def layer_called(self, call, module, given, more):
        before = self.current
        self.current = self.layers.get(id(module), before)
        try:
            return call(module, *given, **more)
        finally:
            self.current = before

    def rope_called(self, call, module, given, more):
        x = given[0] if given else more["x"]
        path = self.paths.get(id(module), "")

        def again(x, position):
            changed = {key: value for key, value in more.items() if key not in ("x", "offset")}
            return call(module, x, *given[2:], offset=position, **changed)

        self.found.append((self.current, path, again, x.shape[-1]))
        self.inside += 1
        try:
            return call(module, *given, **more)
        finally:
            self.inside -= 1

    def function_called(self, x, *given, **more):
        if not self.inside:

            def again(x, position):
                return self.rope(x, *given, **{**more, "offset": position})

            self.found.append((self.current, "function", again, x.shape[-1]))
        return self.rope(x, *given, **more)

    def attention_called(self, q, k, v, **more):
        if self.current is not None:
            self.scales.setdefault(self.current, float(more["scale"]))
        return self.attend(q, k, v, **more)


def matrices(again, width, at):
    """[n, d, d]"""
    vectors = mx.eye(width)[None, :, None, :]
    found = [numpy.array(again(vectors, position)[0, :, 0, :]).T for position in at]
    return numpy.stack(found)


def described(again, width, lengths):
    found = {}
    for length in lengths:
        at = rotation.positions(length)
        found[str(length)] = rotation.read(matrices(again, width, at), at)
    return found


def measure(config, lengths):
    model = made(copy.deepcopy(config))
    watch = Watch(model)
    try:
        model(mx.array([[1, 2, 3]]))
    except RuntimeError as error:
        if "No Metal" in str(error):
            raise Unmeasured("it needs Metal") from error
        raise
    finally:
        watch.close()
    count, kinds = len(model.layers), {}
    of_layer = {}
    for layer, path, again, width in watch.found:
        if layer is not None and "index" not in path:
            of_layer.setdefault(layer, (again, width))
    if not of_layer and not watch.scales:
        raise Unmeasured("no rotation was seen in a forward pass")
    for layer in range(count):
        if layer not in of_layer and layer not in watch.scales:
            continue  # no attention
        found = described(*of_layer[layer], lengths) if layer in of_layer else None
        scale = watch.scales.get(layer)
        key = json.dumps([found, scale])
        kinds.setdefault(key, {"layers": [], "rotation": found, "scale": scale})
        kinds[key]["layers"].append(layer)
    return list(kinds.values())


if __name__ == "__main__":
    serve(measure)
