# SPDX-License-Identifier: MIT
"""The rotary embeddings of the installed transformers, as its own code computes them.

A model's code is asked for nothing but rotated vectors: of the unit vectors, which give its
rotation as a matrix, and so how it pairs elements, how many rotate, and by which angles."""
import dataclasses
import importlib
import inspect
import re

import numpy
import torch
from transformers import CONFIG_MAPPING, PretrainedConfig
from transformers.models.auto.configuration_auto import model_type_to_module_name

ROTARY = re.compile(r"Rot(ary|ational)?(Pos\w*)?Emb|RoPE|Rope")
NOT_OF_TEXT = re.compile(r"Vision|Visual|Image|Video|Audio|2D|3D|Grid|Patch|Spatial|ViT")
APPLY = ("apply_rotary_pos_emb", "apply_rotary_emb", "apply_multimodal_rotary_pos_emb")


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


# ---- finding ------------------------------------------------------------------------------------

def modules_of(config):
    """The modelling modules beside a config's own: some folders have several."""
    folder = type(config).__module__.rsplit(".", 1)[0]
    name = type(config).__module__.rsplit(".", 1)[1].replace("configuration_", "modeling_")
    try:
        return importlib.import_module(f"{folder}.{name}")
    except ImportError as error:
        raise NotWalked(f"{folder}.{name}: {error}")


def rotary_classes(module, part):
    """Those of the module that may be the config's: by its annotation, or by a name of text."""
    for name, cls in vars(module).items():
        if (inspect.isclass(cls) and issubclass(cls, torch.nn.Module) and ROTARY.search(name)
                and cls.__module__ == module.__name__
                and (fits(cls, part) == 3 or not NOT_OF_TEXT.search(name))):
            yield cls


def is_axial(part):
    """Positions of pictures, with two or three coordinates."""
    return getattr(part, "default_rope_type", "default") == "axial"


def fits(cls, part):
    """Is a rotary class the one of this config? Its annotation says so, else its name."""
    annotation = inspect.signature(cls.__init__).parameters.get("config")
    if annotation is None:
        return 0
    wanted = getattr(annotation.annotation, "__name__", str(annotation.annotation))
    if wanted == type(part).__name__:
        return 3
    stem = type(part).__name__.removesuffix("Config").removesuffix("Text")
    return 2 if cls.__name__.startswith(stem) else 1


def rotary_of(part, module):
    """The best-fitting class that can be made from the config, made."""
    candidates = sorted(rotary_classes(module, part), key=lambda cls: -fits(cls, part))
    problem = None
    for cls in candidates:
        if fits(cls, part) == 0:
            continue
        try:
            return cls(part)
        except Exception as error:  # of any kind: the next one may fit
            problem = problem or f"{cls.__name__}: {type(error).__name__} {error}"
    raise NotWalked(problem or "no rotary class takes its config")


def layer_types(rotary, part):
    if "layer_type" not in inspect.signature(rotary.forward).parameters:
        return [None]
    known = getattr(rotary, "rope_type", None)
    return sorted(known) if isinstance(known, dict) and known else sorted(set(part.layer_types))


def models(problems, wanted=()):
    """Every model type with a rotary embedding of text; those that cannot be walked are told to
    problems, a dict of reasons."""
    for model_type in wanted or sorted(CONFIG_MAPPING.keys()):
        try:
            config = CONFIG_MAPPING[model_type]()
            part = config.get_text_config()
            module = modules_of(part)
            if is_axial(part) or not any(rotary_classes(module, part)):
                continue
            rotary = rotary_of(part, module)
            layers = layer_types(rotary, part)
        except Exception as error:
            problems[model_type] = f"{type(error).__name__}: {error}"[:300]
            continue
        for layer in layers:
            yield Model(model_type, config, part, rotary, module, layer)


# ---- rotating -----------------------------------------------------------------------------------

def axes_of(model):
    """3 where positions have coordinates (time, height, width)."""
    rope = getattr(model.part, "rope_parameters", None) or {}
    rope = rope.get(model.layer_type, rope) if model.layer_type else rope
    return 3 if "mrope_section" in rope else 1


def waves(model, positions):
    """What the rotary class gives: cos and sin, or one complex tensor."""
    more = {"layer_type": model.layer_type} if model.layer_type else {}
    ids = torch.tensor(positions)[None] if numpy.ndim(positions) == 1 else \
        torch.tensor(numpy.asarray(positions))[:, None]
    x = torch.zeros(1, ids.shape[-1], 8)
    first = list(inspect.signature(model.rotary.forward).parameters)[0]
    result = model.rotary(ids, **more) if first == "position_ids" else \
        model.rotary(x, ids, **more)
    return result if isinstance(result, tuple) else (result,)


def attentions(model):
    """The attention classes of the rotary class's own part of the module, else those of text. An
    indexer, which chooses keys, may rotate in another way than the attention itself."""
    found = {name: cls for name, cls in vars(model.module).items()
             if inspect.isclass(cls) and "Attention" in name and "Index" not in name
             and cls.__module__ == model.module.__name__}
    stem = ROTARY.split(type(model.rotary).__name__)[0]
    own = [cls for name, cls in found.items() if name.startswith(stem)]
    if not own and NOT_OF_TEXT.search(stem):
        raise NotWalked(f"no attention of {stem}")
    return own or [cls for name, cls in found.items() if not NOT_OF_TEXT.search(name)]


def attention_calls(model, named):
    """Which of the named functions the attention calls, in their order there."""
    found = [call for cls in attentions(model)
             for call in re.findall(r"\b(apply_\w+)\(", inspect.getsource(cls)) if call in named]
    return list(dict.fromkeys(found))


def apply_of(model):
    """The function with which the model's attention rotates: of two, as its config chooses."""
    named = [name for name in vars(model.module)
             if re.match(r"apply_\w*(rotary|rope)", name) and "vision" not in name]
    called = attention_calls(model, named)
    if "apply_rotary_pos_emb_interleave" in called and len(called) > 1:
        wanted = bool(getattr(model.part, "rope_interleave", False))
        called = [name for name in called if ("interleave" in name) == wanted]
    for name in called or [name for name in (*APPLY, *named) if name in named]:
        return getattr(model.module, name)
    raise NotWalked("no function that applies it")


def applied(model, apply, x, given):
    """x [1, 1, n, d] through a function whose arguments differ from model to model."""
    names = list(inspect.signature(apply).parameters)
    if names[0] in ("x", "tensor") and len(given) == 2 and "k" not in names:
        return apply(x, *given)
    if len(given) == 1:
        try:
            return apply(x, x, given[0])[0]
        except RuntimeError:  # some have heads behind positions
            turned = apply(x.transpose(1, 2), x.transpose(1, 2), given[0])
            return turned[0].transpose(1, 2)
    more = {"mrope_section": model.part.rope_parameters["mrope_section"]} \
        if "mrope_section" in names else {}
    if "v" in names[:3]:
        raise NotWalked("rotates values as well")
    result = apply(x, x, *given, **more)
    return result[0] if isinstance(result, tuple) else result


def rotation(model, positions):
    """[n, d, d]: column j of the matrix of a position is the unit vector j, rotated. d is as wide
    as what rotates, where the class does not see the rest."""
    count = numpy.shape(positions)[-1]
    with torch.no_grad():
        given = waves(model, positions)
        width = given[0].shape[-1] * (2 if given[0].is_complex() else 1)
        apply, problem = apply_of(model), None
        for wide in (width, 2 * width):
            columns = torch.eye(wide)[None, :, None].expand(1, wide, count, wide).clone()
            try:
                turned = applied(model, apply, columns, given)
            except (RuntimeError, ValueError) as error:
                problem = error
                continue
            if turned.shape == columns.shape:
                return turned[0].permute(1, 2, 0).double().numpy()
    raise NotWalked(f"{apply.__name__}: {problem or turned.shape}")


# ---- what the code says about layout ------------------------------------------------------------

def layout(matrix):
    """'half' or 'interleaved', by which outputs an input reaches beside its own; '' where it is
    neither. Of a head that turns whole, pairs may stand still."""
    turned = numpy.abs(matrix - numpy.diag(numpy.diag(matrix))) > 1e-9
    partner = {int(j): int(i) for i, j in zip(*numpy.nonzero(turned))}
    ways = {"interleaved": [lambda j: j ^ 1]}
    ways["half"] = [lambda j, half=half: (j + half) % (2 * half)
                    for half in (turning(matrix) // 2, len(matrix) // 2)]
    for name, others in ways.items():
        if partner and any(all(other(j) == i for j, i in partner.items()) for other in others):
            return name
    return ""


def turning(matrix):
    """How many elements rotate: those behind them are passed through."""
    moved = numpy.nonzero(numpy.abs(matrix - numpy.eye(len(matrix))).max(0) > 1e-12)[0]
    return int(moved.max()) + 1 if len(moved) else 0
