# SPDX-License-Identifier: MIT
"""Which configs of the installed transformers have a rotary embedding, and of which class.

A class of configs is joined to the rotary class that its models make: by the annotation of the
rotary class, else by the names that the source of these models leads to."""

import ast
import copy
import dataclasses
import functools
import importlib
import inspect
import pathlib
import re

import torch
import transformers
from transformers import CONFIG_MAPPING, PretrainedConfig, PreTrainedModel

ROTARY = re.compile(r"(Rot(ary|ational)?(Pos\w*)?Emb|RoPE|Rope)(?!\w*(Attention|Layer|Block)$)")
FAILS = "its own code fails on what its class defaults to"
ABSENT = "its config stands here alone: transformers has no code of it"

# What the code of a model needs beside its class's own defaults: sections that fit the width, heads
# of a whole width, or a key that switches to a rotary embedding.
PART = {
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
    },
    "head_dim": 128,
}
WHOLE = {"text_config": PART}
ALPHA = {
    "rope_parameters": {
        "rope_type": "dynamic",
        "rope_theta": 10000.0,
        "alpha": 1000.0,
        "factor": 1.0,
        "mrope_section": [16, 16, 16, 16],
    },
    "head_dim": 128,
}
HEADS = {"head_dim": 128}
LAYERS = {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}}
SWITCHED = {
    "cohere_compass_text": LAYERS,
    "cohere_compass": {"text_config": LAYERS},
    "gemma4_assistant": {
        "text_config": {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
    },
    "glm4v_text": PART,
    "glm4v_moe_text": PART,
    "glm_image_text": PART,
    "glm4v": WHOLE,
    "glm46v": WHOLE,
    "glm4v_moe": WHOLE,
    "glm_image": WHOLE,
    "glmga": WHOLE,
    "hunyuan_vl_text": ALPHA,
    "hunyuan_vl": {"text_config": ALPHA},
    "qwen3_omni_moe_text": HEADS,
    "qwen3_omni_moe_thinker": {"text_config": HEADS},
    "qwen3_omni_moe": {"thinker_config": {"text_config": HEADS}},
    "zamba2": {"use_mem_rope": True},
    "esm": {"position_embedding_type": "rotary"},
    "seamless_m4t": {"position_embeddings_type": "rotary"},
    "wav2vec2-bert": {"position_embeddings_type": "rotary"},
    "wav2vec2-conformer": {"position_embeddings_type": "rotary"},
}


class NotWalked(Exception):
    """The code of a model could not be driven from outside."""


@dataclasses.dataclass(eq=False)
class Model:
    """One row of the sweep: what is posted, and the class that says how it is to be read."""

    model_type: str
    config: PretrainedConfig  # whole, as its file has it
    part: PretrainedConfig  # the one that the rotary class was made from
    rotary: torch.nn.Module
    module: object
    layer_type: str | None = None

    @property
    def name(self):
        return self.model_type + (f" ({self.layer_type})" if self.layer_type else "")


def module_of(cls):
    """The modelling module beside a config's own: some folders have several."""
    folder, name = cls.__module__.rsplit(".", 1)
    name = name.replace("configuration_", "modeling_")
    try:
        return importlib.import_module(f"{folder}.{name}")
    except ImportError as error:
        missing = re.search(r"No module named '(\w+)'$", str(error))
        raise NotWalked(f"its code needs {missing[1]}" if missing else ABSENT) from error


# ---- what a model is made of --------------------------------------------------------------------


@functools.lru_cache(None)
def classes_of(module):
    return {
        name: cls
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and cls.__module__ == module.__name__
    }


def calls(node):
    """What the source of a constructor makes, or has a class method make."""
    for call in (at for at in ast.walk(node) if isinstance(at, ast.Call)):
        made = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        yield from [made.id] if isinstance(made, ast.Name) else []


@functools.lru_cache(None)
def constructors(module):
    """By the name of a class: its bases, and the names that its constructor calls."""
    found = {}
    for node in ast.parse(pathlib.Path(module.__file__).read_text()).body:
        if isinstance(node, ast.ClassDef):
            inits = [at for at in node.body if getattr(at, "name", "") == "__init__"]
            found[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)} | {
                name for init in inits for name in calls(init)
            }
    return found


@functools.lru_cache(None)
def made_by(module, config_class):
    """The classes that the models of a config are made of."""
    todo = [
        name
        for name, cls in classes_of(module).items()
        if issubclass(cls, PreTrainedModel)
        and (cls.config_class is config_class or annotated(cls) is config_class)
    ]
    found = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += set(constructors(module).get(name, ())) & set(classes_of(module))
    return found


def annotated(cls):
    """The class of configs that a class is made from, as it says."""
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        if "config" in name and parameter.annotation is not inspect.Parameter.empty:
            wanted = parameter.annotation
            return (
                getattr(inspect.getmodule(cls), wanted, None) if isinstance(wanted, str) else wanted
            )
    return None


def rotary_classes(module, config_class):
    """Those that were made for this config first, then those that its models make of a config
    which no model has."""
    found = {
        name: cls
        for name, cls in classes_of(module).items()
        if ROTARY.search(name) and issubclass(cls, torch.nn.Module)
    }
    if not found:
        return []
    own = [cls for cls in found.values() if annotated(cls) is config_class]
    reached = made_by(module, config_class)
    return own or [
        cls
        for name, cls in found.items()
        if name in reached and not of_another(module, annotated(cls), config_class)
    ]


def of_another(module, wanted, config_class):
    """Is a rotary class's config one of a part, whose row is another one?"""
    parts = [spec for spec in (getattr(config_class, "sub_configs", None) or {}).values()]
    return inspect.isclass(wanted) and (
        wanted in parts or wanted.__name__ in [str(part) for part in parts]
    )


# ---- rows ---------------------------------------------------------------------------------------


def layer_types(rotary, part):
    if "layer_type" not in inspect.signature(rotary.forward).parameters:
        return [None]
    known = getattr(rotary, "rope_type", None)
    if isinstance(known, dict) and known:
        return sorted(known)
    return sorted(set(getattr(part, "layer_types", None) or [])) or [None]


def made(cls, part):
    try:
        return cls(part).eval()
    except Exception as error:  # of any kind
        if getattr(type(part), "sub_configs", None):
            raise NotWalked("no part about text; the parts have rows of their own") from None
        if "has no attribute 'rope_parameters'" in str(error):
            raise NotWalked("a part without rope_parameters, which turns nothing") from None
        raise NotWalked(f"{FAILS}: {cls.__name__}: {type(error).__name__} {error}") from error


def config_classes(wanted):
    """By the model_type of the mapping; parts that it has not stand behind them by their name."""
    listed = {name: CONFIG_MAPPING[name] for name in sorted(CONFIG_MAPPING.keys())}
    behind = {}
    for cls in list(listed.values()):
        for part in (getattr(cls, "sub_configs", None) or {}).values():
            if (
                inspect.isclass(part)
                and issubclass(part, PretrainedConfig)
                and part not in listed.values()
                and part.__module__.startswith(transformers.__name__ + ".models")
            ):
                behind[part.__name__] = part
    return {name: cls for name, cls in (listed | behind).items() if not wanted or name in wanted}


def part_about_text(config):
    try:
        return config.get_text_config()
    except ValueError:  # of two texts
        return config.get_text_config(decoder=True)


def rotary_of(part):
    """The rotary class that is the part's, and its module; None: there is none."""
    if not any(base.__name__.startswith("PreTrained") for base in type(part).__mro__):
        return None
    module = module_of(type(part))
    for cls in rotary_classes(module, type(part)):
        return made(cls, part_of_layers(part, module)), module
    return None


def part_of_layers(part, module):
    """The config that the rotary class of the layers is made of: models with rotary_embs make one
    for each base of layer_rope_theta, and leave the one of the config unused."""
    bases = {base for base in getattr(part, "layer_rope_theta", None) or [] if base}
    if not bases or "self.rotary_embs" not in pathlib.Path(module.__file__).read_text():
        return part
    if len(bases) > 1:
        raise NotWalked("layers with several bases")
    changed = copy.deepcopy(part)
    changed.rope_parameters = {**part.rope_parameters, "rope_theta": bases.pop()}
    return changed


def models(problems, wanted=()):
    """Every config with a rotary embedding: of text, of pictures, of sound. Those that cannot be
    walked are told to problems, a dict of reasons."""
    for name, cls in config_classes(wanted).items():
        try:
            config = cls(**SWITCHED.get(name, {}))
            part = part_about_text(config)
            found = rotary_of(part)
            if found and not config.model_type:
                raise NotWalked("a part without model_type: nothing in its file tells whose it is")
            layers = layer_types(found[0], part) if found else []
        except NotWalked as error:
            problems[name] = str(error)[:300]
            continue
        except Exception as error:  # a class that has no default config
            problems[name] = f"{type(error).__name__}: {error}"[:300]
            continue
        for layer in layers:
            yield Model(name, config, part, *found, layer)
