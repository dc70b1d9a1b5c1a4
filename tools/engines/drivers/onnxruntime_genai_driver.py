# SPDX-License-Identifier: MIT
"""onnxruntime-genai: the model builder, up to the point where it would load weights. The tables of
cos and sin that it makes for the graph are what rotates."""

import importlib.util
import json
import pathlib
import sys
import tempfile

# Importing the package itself would load its native runtime, which nothing here needs.
SOURCE = pathlib.Path(importlib.util.find_spec("onnxruntime_genai").origin).parent / "models"
sys.path.insert(0, str(SOURCE))

import builder  # noqa: E402
import rotation  # noqa: E402
import torch  # noqa: E402
from builders.base import Model  # noqa: E402
from serving import Absent, Unmeasured, serve  # noqa: E402
from transformers import AutoConfig  # noqa: E402

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="engines-genai-"))
LONGEST = 1 << 20  # the tables have a row a position


class Made(Exception):
    """The builder has read the config and made its class."""

    def __init__(self, model):
        self.model = model


def stop(model, *_):
    raise Made(model)


def classes(cls):
    yield cls
    for derived in cls.__subclasses__():
        yield from classes(derived)


class Tables:
    """By name: what the builder makes of cos and sin."""

    def __init__(self):
        self.found, self.make, self.keep = {}, Model.make_rotary_embedding_caches, None

    def __enter__(self):
        self.keep = Model.make_initializer
        Model.make_rotary_embedding_caches = lambda model, **more: self.made(model, more)
        Model.make_initializer = lambda model, tensor, name, *given, **more: self.kept(name, tensor)
        return self

    def __exit__(self, *_):
        Model.make_rotary_embedding_caches, Model.make_initializer = self.make, self.keep

    def made(self, model, more):
        result = self.make(model, **more)
        if isinstance(result[0], torch.Tensor):
            self.kept(more["cos_cache_name"], result[0])
            self.kept(more["sin_cache_name"], result[1])
        return result

    def kept(self, name, tensor):
        if "cos_cache" in name or "sin_cache" in name:
            self.found[name] = tensor


def model_of(config):
    """The builder's model, by its own choice of class."""
    (FOLDER / "config.json").write_text(json.dumps(config))
    read = AutoConfig.from_pretrained(FOLDER)
    details = {"extra_kwargs": {}, "hf_name": str(FOLDER), "hf_config": read}
    if not read.architectures:
        raise Unmeasured("the config names no architecture, by which the builder chooses")
    folders = str(FOLDER), str(FOLDER / "out")
    try:
        builder.create_model(
            "model", *folders, "fp32", "cpu", str(FOLDER / "cache"), hf_details=details
        )
    except Made as made:
        return made.model
    except NotImplementedError as error:
        if "model is not currently supported" in str(error):
            words = f"The {read.architectures[0]} model is not currently supported"
            raise Absent(words) from error
        raise
    raise Unmeasured("the builder made no model")


def described(tables, suffix, model, at):
    cos, sin = tables[f"cos_cache{suffix}"], tables[f"sin_cache{suffix}"]
    return rotation.of_caches(cos, sin, at, bool(model.rope_attrs["interleaved"]))


def suffix_of(tables, length, original):
    """Which of the tables a sequence of this length takes."""
    if "cos_cache_large" in tables:
        return "_large" if length > original else "_small"
    return ""


def measure(config, lengths):
    if max(lengths) > LONGEST:
        raise Unmeasured(f"a context over {LONGEST} positions")
    with Tables() as made:
        model = model_of(config)
        if not model.attention_attrs["rope"]:
            return [{"rotation": None}]
        if not made.found:
            if "multi_cache" in model.rope_attrs:
                model.make_rotary_embedding_multi_cache()
            else:
                model.make_rotary_embedding_caches()
    names = {"_global": "full_attention", "_local": "sliding_attention"}
    kinds = {s: t for s, t in names.items() if f"cos_cache{s}" in made.found} or {None: None}
    scale = model.attention_attrs.get("scale")
    found = []
    for suffix, layer_type in kinds.items():
        rotations = {}
        for length in lengths:
            chosen = suffix or suffix_of(made.found, length, model.original_context_length)
            at = rotation.positions(length)
            rotations[str(length)] = described(made.found, chosen, model, at)
        found.append({"layer_type": layer_type, "rotation": rotations, "scale": scale})
    return found


if __name__ == "__main__":
    for cls in classes(Model):
        if "make_model" in vars(cls):
            cls.make_model = stop
    serve(measure)
