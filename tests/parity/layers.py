# SPDX-License-Identifier: MIT
"""What the layers of the installed transformers' models do, as their own code does it.

A model is made without weights and run over a few tokens. Its attention hands over what it would
compute with: the scale, the cap, the window, the sinks; masks are known by the function that made
them; and which layers rotate is seen by who calls the function that does. Whatever is no attention
(experts, state spaces) hands its input on."""

import contextlib
import dataclasses
import inspect
import re
import sys

import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

TOKENS = 4
PASSED = re.compile(
    r"MoE|Moe|MOE|MLP|Mlp|FeedForward|Experts|Mamba|Mixer|DeltaNet|ShortConv|KDA|"
    r"LinearAttention|Lightning|Indexer|GatedDelta"
)
KEPT = re.compile(r"(?<!Linear)Attention|DecoderLayer|Block$|Layer$|Model|Norm|Embedding|Rotary")
PLACE = re.compile(r"(?:^|\.)(?:layers|h|blocks|layer|block)\.(\d+)(?:\.|$)")
# These multiply queries before the product and hand over 1.
SCALED_BEFORE = re.compile(r"OPT|Esm|OpenAIPrivacy|Evolla|T5Gemma2Merged")


class NotWalked(Exception):
    """A model could not be run from outside."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """What the attention of one layer does; of another kind of layer, attends is False."""

    kind: str | None
    attends: bool = False
    turns: bool = False
    causal: bool = True
    window: int = 0
    chunk: int = 0
    width: int = 0
    scale: float = 0
    softcap: float = 0
    sinks: bool = False
    norm: str = ""  # "rms from-1 after whole eps=1e-06"


class Passed(torch.nn.Module):
    """Hands its first argument on, in a tuple where the module that it stands for answers so."""

    def __init__(self, module):
        super().__init__()
        returns = re.findall(r"return (.*)", inspect.getsource(type(module).forward))
        depth = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", returns[-1] if returns else "")
        self.count = depth.count(",")

    def forward(self, x=None, *_, **named):
        if x is None:
            x = named.get("hidden_states", next(iter(named.values()), None))
        return (x, *[None] * self.count) if self.count else x


@dataclasses.dataclass
class Call:
    module: torch.nn.Module
    what: dict


def reach(more, limit=1 << 13):
    """How many tokens behind its own a query sees by a function that adds to a mask; None: there is
    none."""
    if more is None:
        return None
    with torch.device("cpu"):
        return sum(bool(more(0, 0, 0, key)) for key in range(1, limit))


@contextlib.contextmanager
def watched(module, calls):
    """Functions of a modelling module that mask or rotate tell of their calls."""

    def masks(name):
        def made(*args, **named):
            if not re.search("causal|bidirectional", name):
                return None
            mask = torch.zeros(1, 1, TOKENS, TOKENS, device="meta")
            config = named.get("config", args[0] if args else None)
            mask.made = (name, config, reach(named.get("or_mask_function")))
            return mask

        return made

    def turns(function):
        def turned(*args, **named):
            calls.append(Call(sys._getframe(1).f_locals.get("self"), {"turns": True}))
            return function(*args, **named)

        return turned

    saved = {name: value for name, value in vars(module).items() if callable(value)}
    for name, value in saved.items():
        if re.match(r"create_\w*mask", name):
            setattr(module, name, masks(name))
        elif re.match(r"apply_\w*(rot|rope)", name):
            setattr(module, name, turns(value))
    try:
        yield
    finally:
        for name, value in saved.items():
            setattr(module, name, value)


RUNNING = []  # the calls of the model that runs


def attention(
    module,
    query,
    key,
    value,
    attention_mask=None,
    scaling=None,
    softcap=None,
    s_aux=None,
    sliding_window=None,
    **_,
):
    RUNNING[-1].append(
        Call(
            module,
            {
                "scale": scaling,
                "width": query.shape[-1],
                "softcap": softcap,
                "sinks": s_aux is not None,
                "given_window": sliding_window,
                "mask": getattr(attention_mask, "made", None),
            },
        )
    )
    shape = (query.shape[0], query.shape[2], query.shape[1], value.shape[-1])
    return torch.zeros(shape, device=query.device, dtype=query.dtype), None


transformers.AttentionInterface.register("told", attention)
transformers.AttentionMaskInterface.register("told", lambda *_, **__: None)


def class_of(part):
    found = MODEL_MAPPING.get(type(part), None)
    if found is None:
        raise NotWalked("no model of it")
    return found[0] if isinstance(found, (list, tuple)) else found


def run(part):
    """(model, calls)"""
    cls, calls = class_of(part), []
    with watched(sys.modules[cls.__module__], calls), torch.device("meta"), torch.no_grad():
        model = cls._from_config(part, attn_implementation="told").eval()
        for _, outer in list(model.named_modules()):
            for name, inner in list(outer.named_children()):
                what = type(inner).__name__
                if PASSED.search(what) and not KEPT.search(what):
                    setattr(outer, name, Passed(inner))
        RUNNING.append(calls)
        try:
            model(input_ids=torch.zeros(1, TOKENS, dtype=torch.long), use_cache=False)
        finally:
            RUNNING.pop()
    return model, calls


# ---- norms of queries and keys -------------------------------------------------------------------

NORMS = ("q_norm", "query_norm", "q_layernorm", "query_layernorm", "qk_norm")


def norm_of(module):
    """The words of model_layers.def about it; '' where nothing is normalised."""
    name = next(
        (
            n
            for n in NORMS
            if isinstance(getattr(module, n, None), torch.nn.Module)
            and not isinstance(getattr(module, n), torch.nn.Identity)
        ),
        None,
    )
    if not name:
        return ""
    norm, code = getattr(module, name), inspect.getsource(type(module).forward)
    words = ["rms" if "RMS" in type(norm).__name__ or "L2" in type(norm).__name__ else "layer"]
    weight = getattr(norm, "weight", None)
    inner = inspect.getsource(type(norm)) if type(norm).__module__ != "torch.nn.modules" else ""
    if weight is not None:
        words.append(
            "from-1"
            if re.search(
                r"1(\.0)? \+ self\.weight|self\.weight(\.float\(\))? \+ "
                r"1",
                inner,
            )
            else "weight"
        )
    use, turn = code.find(f"self.{name}("), code.find("apply_")
    if 0 <= turn < use:
        words.append("after")
    if (
        weight is not None
        and weight.numel() > getattr(module, "head_dim", 1 << 30)
        and weight.dim() == 1
    ):
        words.append("whole")
    eps = next((getattr(norm, n) for n in ("eps", "variance_epsilon") if hasattr(norm, n)), None)
    if eps is not None:
        words.append(f"eps={eps:g}")
    return " ".join(words)


# ---- layers --------------------------------------------------------------------------------------


def places(model):
    """{module: number of its layer}; the encoder of two stacks has none."""
    found = {}
    named = dict(model.named_modules())
    two = any("decoder." in name for name in named)
    for name, module in named.items():
        place = PLACE.search(name)
        if place and not (two and "encoder." in name.replace("decoder.", "")):
            found[module] = int(place.group(1))
    return found


def told_types(part, count):
    types = getattr(part, "layer_types", None)
    return list(types) if isinstance(types, (list, tuple)) and len(types) == count else None


def layer_of(kind, told, turns):
    mask, config, behind = told["mask"] or ("", None, None)
    windowed = "sliding" in mask
    scale = told["scale"] if told["scale"] is not None else told["width"] ** -0.5
    module = told["module"]
    if SCALED_BEFORE.search(type(module).__name__):
        scale = told["width"] ** -0.5
    given = told["given_window"]
    window = getattr(config, "sliding_window", None) if windowed else None
    if windowed and isinstance(window, (list, tuple)):
        window = given
    both_ways = "bidirectional" in mask or bool(behind) or getattr(config, "is_causal", 1) is False
    if windowed and behind:
        window = behind
    return Layer(
        kind,
        True,
        turns,
        not both_ways,
        window or 0,
        getattr(config, "attention_chunk_size", 0) if "chunked" in mask else 0,
        told["width"],
        scale,
        told["softcap"] or 0,
        told["sinks"],
        norm_of(module),
    )


def walk(part):
    """The layers of a config's text part. NotWalked: its model does not run this way."""
    try:
        model, calls = run(part)
    except Exception as error:
        raise NotWalked(f"{type(error).__name__}: {error}"[:200]) from error
    count, where = part.num_hidden_layers, places(model)
    turning = {id(call.module) for call in calls if "turns" in call.what}
    found = [None] * count
    for call in calls:
        place = where.get(call.module)
        if "scale" in call.what and place is not None and place < count and not found[place]:
            found[place] = {**call.what, "module": call.module}
    if not any(found):
        raise NotWalked("no attention was seen")
    types = told_types(part, count) or [None] * count
    return [
        layer_of(kind, told, id(told["module"]) in turning) if told else Layer(kind)
        for kind, told in zip(types, found)
    ]


def model_types():
    """(model type, its config, the part about text) of each that has numbered layers."""
    for model_type in sorted(CONFIG_MAPPING.keys()):
        try:
            config = CONFIG_MAPPING[model_type]()
            part = config.get_text_config(decoder=True)
            if isinstance(part.num_hidden_layers, int) and type(part) in MODEL_MAPPING:
                yield model_type, config, part
        except Exception:  # of any kind: its class has no defaults to make it from
            continue
