# SPDX-License-Identifier: MIT
"""The rotary embeddings of the installed transformers, as its own code computes them.

A model's code is asked for nothing but rotated vectors: of the unit vectors, which give its
rotation as a matrix, and so how it pairs elements, how many rotate, and by which angles."""

import functools
import inspect
import re

import drivers
import numpy
import torch
from finding import FAILS, SWITCHED, Model, NotWalked, classes_of, made_by, models  # noqa: F401

source_of = functools.lru_cache(None)(inspect.getsource)
OF_PICTURES = re.compile(r"vision|2d|multidimensional")


# ---- rotating -----------------------------------------------------------------------------------


def axes_of(model):
    """How many coordinates a position has, by what the code does with them: 1; 2 of pictures; 3 or
    4 (time, height, width) of videos and of text among them."""
    driver = drivers.of(model)
    if driver:
        return driver.axes
    source = source_of(type(model.rotary).forward)
    if "position_ids.expand(3" in source:
        return 3
    sections = getattr(model.rotary, "mrope_section", None)
    if "position_ids.expand(len(self.mrope_section)" in source:
        if sections is None:
            raise NotWalked(f"{FAILS}: no mrope_section")
        return len(sections)
    if getattr(model.part, "default_rope_type", "default") == "axial":
        return 3 if "3, N" in source else 2
    return 3 if sections is not None else 1


def points(model, wanted):
    """Positions of the sweep, in the order of the service's coordinates (x before y): the wanted
    ones, or those that the code can be asked for."""
    driver = drivers.of(model)
    if driver and driver.points:
        return driver.points(model)
    axes, at = axes_of(model), numpy.asarray(wanted)
    if axes == 1:
        return at
    return numpy.stack([at, at[::-1]] if axes == 2 else [at, at // 2, at // 3, at // 5][:axes])


def x_first(model):
    """Do the ids of pictures have x before y? By the code that makes them of a grid."""
    return "stack([wpos_ids" in source_of(model.module)


def ids_of(model, at):
    """Position ids as the class takes them."""
    if at.ndim == 1:
        return torch.tensor(at)[None]
    if getattr(model.part, "default_rope_type", "default") != "axial":
        return torch.tensor(at)[:, None]
    ordered = at[::-1].copy() if len(at) == 2 and not x_first(model) else at
    return torch.tensor(ordered).T


def width_check(model, width):
    """Sizes of a class that are no whole multiples make heads narrower than what would turn."""
    part = model.part
    if model.layer_type:  # whose sizes may be its own
        return
    hidden, heads = (getattr(part, key, None) for key in ("hidden_size", "num_attention_heads"))
    told = "head_dim" in part.to_dict() or not isinstance(hidden, int) or not heads
    if not told and hidden % heads and width > hidden // heads:
        raise NotWalked(f"{FAILS}: {width} columns for heads of {hidden // heads}")


def waves(model, at):
    """What the rotary class gives: cos and sin, or one complex tensor."""
    driver = drivers.of(model)
    if driver:
        return driver.waves(model, at)
    more = {"layer_type": model.layer_type} if model.layer_type else {}
    ids = ids_of(model, at)
    x = torch.zeros(1, at.shape[-1], 8)
    first = list(inspect.signature(model.rotary.forward).parameters)[0]
    result = model.rotary(ids, **more) if first == "position_ids" else model.rotary(x, ids, **more)
    return result if isinstance(result, tuple) else (result,)


def attentions(model):
    """The attention classes that the models of this config are made of. An indexer, which chooses
    keys, may rotate in another way than the attention itself."""
    found = {
        name: cls
        for name, cls in classes_of(model.module).items()
        if "Attention" in name and "Index" not in name
    }
    made = [cls for name, cls in found.items() if name in made_by(model.module, type(model.part))]
    return made or list(found.values())


def attention_calls(model, named):
    """Which of the named functions the attention calls, in their order there."""
    found = [
        call
        for cls in attentions(model)
        for call in re.findall(r"\b(\w*apply_\w+)\(", source_of(cls))
        if call in named
    ]
    return list(dict.fromkeys(found))


def apply_of(model):
    """The function with which the model's attention rotates: of two, as its config chooses."""
    named = [name for name in vars(model.module) if re.match(r"\w*apply_\w*(rotary|rope)", name)]
    called = attention_calls(model, named)
    if "apply_rotary_pos_emb_interleave" in called and len(called) > 1:
        wanted = bool(getattr(model.part, "rope_interleave", False))
        called = [name for name in called if ("interleave" in name) == wanted]
    pictures = axes_of(model) == 2
    by_kind = sorted(named, key=lambda name: bool(OF_PICTURES.search(name)) != pictures)
    for name in called or by_kind:
        return getattr(model.module, name)
    raise NotWalked("no function that applies it")


# How vectors lie that a function takes: [heads, positions, width] here, and as its model has them.
SHAPES = [
    (lambda x: x[None], lambda x: x[0]),
    (lambda x: x[None].transpose(1, 2), lambda x: x[0].transpose(0, 1)),
    (lambda x: x.transpose(0, 1), lambda x: x.transpose(0, 1)),
]


def applied(model, apply, x, given):
    """x through a function whose arguments differ from model to model."""
    names = list(inspect.signature(apply).parameters)
    if "v" in names[:3]:
        raise NotWalked("rotates values as well")
    if names[0] in ("x", "tensor") and "k" not in names:
        if "position_ids" in names and len(given) == 2:
            given = (*given, torch.zeros(1, x.shape[1], axes_of(model)))
        return apply(x, *given)
    more = (
        {"mrope_section": model.part.rope_parameters["mrope_section"]}
        if "mrope_section" in names
        else {}
    )
    result = apply(x, x, *given, **more)
    return result[0] if isinstance(result, tuple) else result


def rotation(model, at):
    """[n, d, d]: column j of the matrix of a position is the unit vector j, rotated. d is as wide
    as what rotates, where the class does not see the rest."""
    count = numpy.shape(at)[-1]
    with torch.no_grad():
        given = waves(model, numpy.asarray(at))
        width = given[0].shape[-1] * (2 if given[0].is_complex() else 1)
        width_check(model, width)
        driver, problem = drivers.of(model), None
        apply = (driver and driver.apply) or apply_of(model)
        for wide in (width, 2 * width):
            for into, back in SHAPES:
                vectors = torch.eye(wide)[:, None].expand(wide, count, wide).clone()
                try:
                    turned = applied(model, apply, into(vectors), given)
                except (RuntimeError, ValueError, IndexError) as error:
                    problem = problem or error
                    continue
                if turned.shape == into(vectors).shape:
                    return back(turned).permute(1, 2, 0).double().numpy()
    raise NotWalked(f"{FAILS}: {apply.__name__}: {problem or turned.shape}")


def ordered(matrices):
    """Outputs in the order of inputs, by the first matrix, of a position where nothing turns: some
    codes hand back all first elements of pairs and then all second ones, which no product of q and
    k sees."""
    order = matrices[0] / numpy.abs(matrices[0]).max()
    if numpy.abs(order - numpy.eye(len(order))).max() < 1e-6:
        return matrices
    moves = numpy.abs(numpy.abs(order).round() - numpy.abs(order)).max() < 1e-6
    return order.T @ matrices if moves else matrices


# ---- what the code says about layout ------------------------------------------------------------


def layout(matrix):
    """'half' or 'interleaved', by which outputs an input reaches beside its own; '' where it is
    neither. Of a head that turns whole, pairs may stand still."""
    turned = numpy.abs(matrix - numpy.diag(numpy.diag(matrix))) > 1e-9
    partner = {int(j): int(i) for i, j in zip(*numpy.nonzero(turned))}
    ways = {"interleaved": [lambda j: j ^ 1]}
    ways["half"] = [
        lambda j, half=half: (j + half) % (2 * half)
        for half in (turning(matrix) // 2, len(matrix) // 2)
    ]
    for name, others in ways.items():
        if partner and any(all(other(j) == i for j, i in partner.items()) for other in others):
            return name
    return ""


def turning(matrix):
    """How many elements rotate: those behind them are passed through."""
    moved = numpy.nonzero(numpy.abs(matrix - numpy.eye(len(matrix))).max(0) > 1e-12)[0]
    return int(moved.max()) + 1 if len(moved) else 0
