# SPDX-License-Identifier: MIT
"""Classes of diffusers as they are made from a config: what their attention rotates, measured. A
class is made with one layer and two heads; its module of positions is called with a small grid, and
its attention runs with the result and without, up to the product of queries and keys."""

import importlib
import inspect
import pathlib
import pkgutil
import unittest.mock

import diffusers.models
import torch
from diffusers.models.modeling_utils import ModelMixin

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAMES, ROWS, COLUMNS = 2, 3, 4


def all_classes():
    """name -> class, of every model that has a config."""
    found = {}
    for entry in pkgutil.walk_packages(diffusers.models.__path__, "diffusers.models."):
        module = importlib.import_module(entry.name)
        for name, value in vars(module).items():
            if (
                inspect.isclass(value)
                and issubclass(value, ModelMixin)
                and hasattr(value, "register_to_config")
                and value.__module__ == module.__name__
            ):
                found[name] = value
    return found


def defaults(cls):
    """The config of a class with the values of its constructor."""
    return {
        name: list(p.default) if isinstance(p.default, tuple) else p.default
        for name, p in inspect.signature(cls.__init__).parameters.items()
        if name != "self" and p.default is not inspect.Parameter.empty
    }


# ---- making ------------------------------------------------------------------------------------

LAYERS = (
    "num_layers", "num_single_layers", "n_layers", "depth", "num_mmdit_layers", "num_visual_blocks",
    "num_text_blocks", "num_single_dit_layers", "n_refiner_layers", "num_refiner_layers",
    "perceiver_num_layers", "mmdit_layers", "dit_depth", "num_text_layers", "num_blocks",
    "num_hidden_layers",
)  # fmt: skip


HEADS = ("num_attention_heads", "dit_heads", "num_key_value_attention_heads", "num_heads",
         "n_heads", "num_key_value_heads", "num_kv_heads", "n_kv_heads")  # fmt: skip
WHOLES = (
    ("hidden_size", "num_attention_heads"),
    ("hidden_size", "num_heads"),
    ("dim", "n_heads"),
    ("dit_dim", "dit_heads"),
    ("embed_dim", "num_heads"),
)


def small(cls, config):
    """The same config with one layer and two heads of the same width."""
    made = dict(config)
    for whole, heads in WHOLES:
        if "attention_head_dim" in made and whole in made:
            made[whole] = 2 * made["attention_head_dim"]
        elif whole in made and heads in made:
            made[whole] = made[whole] // made[heads] * 2
    for key, value in made.items():
        if isinstance(value, int) and key in LAYERS + HEADS:
            made[key] = 1 if key in LAYERS else 2
    made.update(SMALLER.get(cls.__name__, {}))
    if cls.__name__.startswith("Kandinsky"):
        made["model_dim"] = 2 * sum(made["axes_dims"])
    return made


SMALLER = {
    "HunyuanDiT2DControlNetModel": {"patch_size": 2, "in_channels": 4, "transformer_num_layers": 4},
    "HunyuanDiT2DModel": {"patch_size": 2, "in_channels": 4},
    "WanVACETransformer3DModel": {"vace_layers": [0]},
    "HiDreamImageTransformer2DModel": {
        "patch_size": 2,
        "in_channels": 4,
        "caption_channels": [16, 16],
        "num_routed_experts": 2,
        "num_activated_experts": 1,
        "llama_layers": [0, 1],
    },  # fmt: skip
    "EasyAnimateTransformer3DModel": {"patch_size": 2, "in_channels": 4, "out_channels": 4},
    "Ideogram4Transformer2DModel": {"llm_features_dim": 64},
}


def make(cls, config):
    torch.manual_seed(0)
    return cls.from_config(small(cls, config)).eval().float()


# ---- positions ---------------------------------------------------------------------------------


def grid(axes=3):
    sizes = (FRAMES, ROWS, COLUMNS)[-axes:]
    return torch.stack(
        [a.reshape(-1) for a in torch.meshgrid(*[torch.arange(n) for n in sizes], indexing="ij")]
    )


def latents(patch=(1, 1, 1), video=True):
    sizes = [n * p for n, p in zip((FRAMES, ROWS, COLUMNS), patch, strict=True)]
    return torch.zeros([1, 4, *sizes] if video else [1, 4, *sizes[1:]])


def three(value):
    return tuple(value) if isinstance(value, list | tuple) else (1, value, value)


def anywhere(axes):
    return torch.randint(0, 40, (axes, 24), generator=torch.Generator().manual_seed(3))


def by_ids(attribute, batch=False):
    """A module that takes ids [n, axes]: any numbers."""

    def call(model, config):
        module = getattr(model, attribute)
        places = anywhere(len(module.axes_dim))
        ids = places.T.contiguous()
        return places, module(ids[None] if batch else ids)

    return call


def by_latents(attribute, patch, video=True, axes=3):
    """A module that takes latents and numbers their patches."""

    def call(model, config):
        return grid(axes), getattr(model, attribute)(latents(patch(config), video))

    return call


def qwen(model, config):
    places = grid()
    places[1] -= ROWS - ROWS // 2
    places[2] -= COLUMNS - COLUMNS // 2
    out = model.pos_embed(
        [[(FRAMES, ROWS, COLUMNS)]], device=torch.device("cpu"), max_txt_seq_len=5
    )
    return places, out[0]


def qwen21(model, config):
    mask = torch.zeros(1, 5 + ROWS * COLUMNS, dtype=torch.bool)
    mask[0, 5:] = True
    out = model.pos_embed([(1, ROWS, COLUMNS)], mask[0], torch.device("cpu"))
    image = grid(2)
    places = torch.full((3, 5 + ROWS * COLUMNS), 5)
    places[:, :5] = torch.arange(5)
    places[1, 5:] = image[0] - (ROWS - ROWS // 2)
    places[2, 5:] = image[1] - (COLUMNS - COLUMNS // 2)
    return places, out


def nucleus(model, config):
    places = grid()
    places[1] -= ROWS - ROWS // 2
    places[2] -= COLUMNS - COLUMNS // 2
    return places, model.pos_embed((FRAMES, ROWS, COLUMNS), torch.device("cpu"), 5)[0]


def z_image(model, config):
    places = anywhere(len(model.rope_embedder.axes_dims))
    return places, model.rope_embedder(places.T.contiguous())


def ltx(model, config):
    """Frequencies of up to 10^4 are powers of float32, unless its name is float64."""
    places = anywhere(3)
    with unittest.mock.patch.object(torch, "float32", torch.float64):
        return places, model.rope(torch.zeros(1), video_coords=places[None].double())


def ltx2(model, config):
    """Coordinates are rounded to float32, and nothing else of the angles."""
    places = anywhere(3)
    with unittest.mock.patch.object(torch, "float32", torch.float64):
        return places, model.rope(places[None].double())


def cosmos3(model, config):
    places = anywhere(3)
    return places, model.rotary_emb(places[:, None], torch.device("cpu"), torch.float32)


def lumina2(model, config):
    p = config["patch_size"]
    mask = torch.ones(1, 5, dtype=torch.bool)
    out = model.rope_embedder(torch.zeros(1, 4, ROWS * p, COLUMNS * p), mask)
    places = torch.zeros(3, 5 + ROWS * COLUMNS, dtype=torch.long)
    places[0] = torch.cat([torch.arange(5), torch.full((ROWS * COLUMNS,), 5)])
    places[1:, 5:] = grid(2)
    return places, out[3]


def joy(model, config):
    return grid(), model.get_rotary_pos_embed([FRAMES, ROWS, COLUMNS])[0]


def joy_plus(model, config):
    """Each sample of a batch has a rotation of its own there."""
    cos, sin = model._get_rotary_pos_embed_for_range((0, 0, 0), (FRAMES, ROWS, COLUMNS))
    return grid(), (cos[None], sin[None])


def kandinsky5(model, config):
    sizes = (FRAMES, ROWS, COLUMNS)
    pos = [torch.arange(n) for n in sizes]
    out = model.visual_rope_embeddings((1, *sizes), pos)
    return grid(), out.flatten(1, 3)


def kandinsky6(model, config):
    out = model.visual_rope_embeddings(tuple(torch.arange(n) for n in (FRAMES, ROWS, COLUMNS)))
    return grid(), out.flatten(0, 2)


def helios(model, config):
    out = model.rope(torch.arange(FRAMES)[None], ROWS, COLUMNS, "cpu")
    return grid(), out.flatten(2).transpose(1, 2)


def anyflow(model, config):
    layout = {"total_frames": FRAMES, "full_frame_shape": (ROWS, COLUMNS)}
    return grid(), model.rope(layout, torch.device("cpu"))["query"]


def mrope(model, config):
    places = anywhere(3)
    return places, model.rotary_emb(places.T[None].contiguous())


def minimax_h3(model, config):
    places = anywhere(3)
    return places, model.rope(places.T.contiguous())


def cropped_3d(model, config):
    from diffusers.models.embeddings import get_3d_rotary_pos_embed

    out = get_3d_rotary_pos_embed(
        config["attention_head_dim"], ((0, 0), (ROWS, COLUMNS)), (ROWS, COLUMNS), FRAMES
    )
    return grid(), out


def easy_animate(model, config):
    """Rows and columns of the base grid, as the module crops it."""
    module, p = model.rope_embedding, model.rope_embedding.patch_size
    out = module(torch.zeros(1, 4, FRAMES, ROWS * p, COLUMNS * p))
    (top, left), (bottom, right) = module.get_resize_crop_region_for_grid(
        (ROWS, COLUMNS), 90 // p, 60 // p
    )
    rows = torch.linspace(top, bottom * (ROWS - 1) / ROWS, ROWS)
    columns = torch.linspace(left, right * (COLUMNS - 1) / COLUMNS, COLUMNS)
    frames = torch.linspace(0, FRAMES - 1, FRAMES)
    places = torch.meshgrid(frames, rows, columns, indexing="ij")
    return torch.stack([a.reshape(-1) for a in places]).double(), out


def hunyuan_dit(model, config):
    from diffusers.models.embeddings import get_2d_rotary_pos_embed

    out = get_2d_rotary_pos_embed(
        config["attention_head_dim"], ((0, 0), (ROWS, COLUMNS)), (ROWS, COLUMNS)
    )
    return grid(2).flip(0), out


def cogview4(model, config):
    module = model.rope
    p = module.patch_size
    out = module(torch.zeros(1, 4, ROWS * p, COLUMNS * p))
    places = grid(2)
    lengths = torch.tensor(config["rope_axes_dim"])
    return places * lengths[:, None] // torch.tensor([[ROWS], [COLUMNS]]), out


def one_axis(model, config):
    from diffusers.models.transformers.ace_step_transformer import _ace_step_rotary_freqs

    out = _ace_step_rotary_freqs(
        24, config["head_dim"], config["rope_theta"], torch.device("cpu"), torch.float32
    )
    return torch.arange(24)[None], out


def stable_audio(model, config):
    """As its pipeline makes it."""
    from diffusers.models.embeddings import get_1d_rotary_pos_embed

    out = get_1d_rotary_pos_embed(
        config["attention_head_dim"] // 2, 24, use_real=True, repeat_interleave_real=False
    )
    return torch.arange(24)[None], out


def by_length(attribute, takes_states=False):
    """A module that takes a number of tokens."""

    def call(model, config):
        first = torch.zeros(1, 24, 1) if takes_states else 24
        out = getattr(model, attribute)(first, 24 if takes_states else torch.device("cpu"))
        return torch.arange(24)[None], out

    return call


def wan_patch(config):
    return three(config["patch_size"])


def hunyuan_patch(config):
    return (config["patch_size_t"], config["patch_size"], config["patch_size"])


def chrono_edit(model, config):
    """The second of two frames is at the end of those that are skipped."""
    places, out = by_latents("rope", wan_patch)(model, config)
    places[0] *= config["rope_temporal_skip_len"] - 1
    return places, out


WAN = by_latents("rope", wan_patch)
HUNYUAN = by_latents("rope", hunyuan_patch)
POSITIONS = {
    "AceStepTransformer1DModel": one_axis,
    "AnyFlowFARTransformer3DModel": None,
    "AnyFlowTransformer3DModel": anyflow,
    "BriaFibo2Transformer2DModel": z_image,
    "BriaFiboTransformer2DModel": by_ids("pos_embed"),
    "BriaTransformer2DModel": by_ids("pos_embed"),
    "ChromaTransformer2DModel": by_ids("pos_embed"),
    "ChronoEditTransformer3DModel": chrono_edit,
    "CogVideoXTransformer3DModel": cropped_3d,
    "CogView4Transformer2DModel": cogview4,
    "ConsisIDTransformer3DModel": cropped_3d,
    "Cosmos3OmniTransformer": cosmos3,
    "CosmosControlNetModel": by_latents("rope", wan_patch),
    "CosmosTransformer3DModel": by_latents("rope", wan_patch),
    "EasyAnimateTransformer3DModel": easy_animate,
    "Flux2Transformer2DModel": by_ids("pos_embed"),
    "Flux3Transformer2DModel": by_ids("pos_embed"),
    "FluxControlNetModel": by_ids("pos_embed"),
    "FluxTransformer2DModel": by_ids("pos_embed"),
    "GlmImageTransformer2DModel": by_latents("rope", lambda c: three(c["patch_size"]), False, 2),
    "HeliosTransformer3DModel": helios,
    "HiDreamImageTransformer2DModel": by_ids("pe_embedder", batch=True),
    "HunyuanDiT2DControlNetModel": hunyuan_dit,
    "HunyuanDiT2DModel": hunyuan_dit,
    "HunyuanImageTransformer2DModel": by_latents("rope", lambda c: (1, *c["patch_size"]), False, 2),
    "HunyuanVideo15Transformer3DModel": HUNYUAN,
    "HunyuanVideoFramepackTransformer3DModel": None,
    "HunyuanVideoTransformer3DModel": HUNYUAN,
    "Ideogram4Transformer2DModel": mrope,
    "JoyImageEditPlusTransformer3DModel": joy_plus,
    "JoyImageEditTransformer3DModel": joy,
    "Kandinsky5Transformer3DModel": kandinsky5,
    "Kandinsky6SRTransformer3DModel": kandinsky6,
    "Kandinsky6Transformer3DModel": kandinsky6,
    "Krea2Transformer2DModel": by_ids("rotary_emb"),
    "LTX2VideoTransformer3DModel": ltx2,
    "LTXVideoTransformer3DModel": ltx,
    "LongCatAudioDiTTransformer": by_length("rotary_embed", takes_states=True),
    "LongCatImageTransformer2DModel": by_ids("pos_embed"),
    "Lumina2Transformer2DModel": lumina2,
    "MiniMaxH3Transformer3DModel": minimax_h3,
    "MiniMaxMusic3Transformer1DModel": by_length("rotary_emb"),
    "MotifVideoTransformer3DModel": HUNYUAN,
    "NucleusMoEImageTransformer2DModel": nucleus,
    "OvisImageTransformer2DModel": by_ids("pos_embed"),
    "PRXTransformer2DModel": by_ids("pe_embedder", batch=True),
    "QwenImage21Transformer2DModel": qwen21,
    "QwenImageControlNetModel": qwen,
    "QwenImageTransformer2DModel": qwen,
    "SanaVideoTransformer3DModel": WAN,
    "SkyReelsV2Transformer3DModel": WAN,
    "StableAudio3DiTModel": by_length("rotary_pos_emb"),
    "StableAudioDiTModel": stable_audio,
    "WanAnimate2Transformer3DModel": None,
    "WanAnimateTransformer3DModel": WAN,
    "WanTransformer3DModel": WAN,
    "WanVACETransformer3DModel": WAN,
    "ZImageTransformer2DModel": z_image,
}


# ---- rotation ----------------------------------------------------------------------------------

ROTARY = (
    "query_rotary_emb",
    "audio_rotary_emb",
    "image_rotary_emb",
    "rotary_emb",
    "rotary_embedding",
    "freqs_cis",
    "rope",
)
# Attention that is not the first one with a rotation: by the end of its name.
ATTENTION = {"Krea2Transformer2DModel": "transformer_blocks.0.attn"}


def batched(rotary):
    return rotary[None] if torch.is_tensor(rotary) else tuple(part[None] for part in rotary)


# How a model passes the result of its module on to its attention, where it changes it.
PASSED = {
    "AnyFlowTransformer3DModel": lambda r: {"query": r, "key": r},
    "BriaFibo2Transformer2DModel": batched,
    "JoyImageEditTransformer3DModel": lambda r: (r, None),
    "NucleusMoEImageTransformer2DModel": lambda r: (r, r[:0]),
    "QwenImageControlNetModel": lambda r: (r, r[:1]),
    "QwenImageTransformer2DModel": lambda r: (r, r[:1]),
    "ZImageTransformer2DModel": batched,
}
OTHER_ARGUMENTS = {"sparse_params": None, "encoder_hidden_states_mask": None}


# Classes whose module gives angles.
ANGLES = ("StableAudio3DiTModel",)


def identity(rotary):
    """A rotation by nothing, of the same form."""
    if not torch.is_tensor(rotary):
        return torch.ones_like(rotary[0]), torch.zeros_like(rotary[1])
    if rotary.is_complex():
        return torch.ones_like(rotary)
    if rotary.shape[-2:] == (2, 2):
        return torch.eye(2).expand(rotary.shape)
    cos, sin = rotary.chunk(2, dim=-1)  # Helios
    return torch.cat([torch.ones_like(cos), torch.zeros_like(sin)], dim=-1)


# Attention that is more than a product: the function that it applies, on heads of a width.
APPLIED = {"Kandinsky6SRTransformer3DModel": lambda model: sum(model.config.axes_dims)}


def cosmos3_queries(model, rotary, count):
    """The tokens that are generated are beside those of the text, which has none."""
    attention = model.layers[0].self_attn
    states = torch.randn(
        count, attention.to_q.in_features, generator=torch.Generator().manual_seed(1)
    )
    cos, sin = (part[0] for part in rotary)
    taken = []

    def take(query, *others, **named):
        taken.append(query[0])
        return query

    still = torch.ones_like(cos), torch.zeros_like(sin)
    for one in (still, (cos, sin)):
        with unittest.mock.patch(f"{type(model).__module__}.dispatch_attention_fn", take):
            with torch.no_grad():
                attention(states[:0], states, (one[0][:0], one[1][:0], *one))
    return taken[1::2]


# Attention whose call is of another form: (model, rotary, count) -> both queries.
CALLED = {"Cosmos3OmniTransformer": cosmos3_queries}
MASKED = ("HunyuanVideo15Transformer3DModel",)


class Captured(Exception):
    pass


def rotates(module):
    """The name of the argument that takes the rotation; None: there is none."""
    processor = getattr(module, "processor", None)
    parameters = inspect.signature(type(processor).__call__).parameters if processor else {}
    return next((name for name in ROTARY if name in parameters), None)


def call(module, states, rotary, text, mask):
    """Runs the processor of an attention."""
    parameters = inspect.signature(type(module.processor).__call__).parameters
    named = {k: v for k, v in OTHER_ARGUMENTS.items() if k in parameters}
    named[rotates(module)] = rotary
    if "attention_mask" in parameters:
        named["attention_mask"] = mask
    if "encoder_hidden_states" in parameters:
        named["encoder_hidden_states"] = text
    with torch.no_grad():
        module.processor(module, states, **named)


def captured(monkeypatch, module, states, rotary, text, mask):
    """Queries at the product with keys, [n, heads, width]; of linear attention the keys."""
    taken = []

    def take(query, *others, **named):
        taken.append(query)
        raise Captured

    def take_second(value, key):
        taken.append(key)
        raise Captured

    with monkeypatch.context() as patch:
        for place in {type(module).__module__, type(module.processor).__module__}:
            patch.setattr(f"{place}.dispatch_attention_fn", take, raising=False)
        patch.setattr("torch.matmul", take_second)
        patch.setattr("torch.nn.functional.scaled_dot_product_attention", take)
        try:
            call(module, states, rotary, text, mask)
        except Captured:
            pass
    query = taken[0] if taken[0].shape[1] >= states.shape[1] else taken[0].transpose(1, 2)
    return query[0, -states.shape[1] :]  # an image follows its text


def queries(monkeypatch, model, rotary, count):
    """(as they are, rotated) of the first attention that rotates."""
    name = type(model).__name__
    ending = ATTENTION.get(name, "")
    passed = PASSED.get(name, lambda r: r)
    none = torch.zeros_like(rotary) if name in ANGLES else identity(rotary)
    both = [passed(none), passed(rotary)]
    if name in CALLED:
        return CALLED[name](model, rotary, count)
    if name in APPLIED:
        states = torch.randn(
            count, 2, APPLIED[name](model), generator=torch.Generator().manual_seed(1)
        )
        apply = importlib.import_module(type(model).__module__).apply_rotary
        return [apply(states, one) for one in both]
    failures = []
    for path, module in model.named_modules():
        if not rotates(module) or not path.endswith(ending):
            continue
        width = next(m for m in module.modules() if isinstance(m, torch.nn.Linear)).in_features
        states = torch.randn(1, count, width, generator=torch.Generator().manual_seed(1))
        for text in (None, torch.zeros(1, 0, width), states[:, :1], states):
            mask = torch.ones(1, count, dtype=torch.bool) if name in MASKED else None
            try:
                return [captured(monkeypatch, module, states, r, text, mask) for r in both]
            except Exception as failure:
                failures.append((path, type(failure).__name__, str(failure)[:120]))
    raise AssertionError(failures)
