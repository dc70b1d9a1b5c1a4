# SPDX-License-Identifier: MIT
"""Each model type, architecture of timm and class of diffusers that is known, with its defaults and
with sizes, and each key of configs with values of several kinds."""

import itertools
import pathlib
import random
import re

from request import post

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "core" / "config"
SIZES = {
    "hidden_size": 96,
    "num_attention_heads": 6,
    "num_hidden_layers": 6,
    "max_position_embeddings": 4096,
    "rope_theta": 250000,
}
LATENT = {"qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "head_dim": 48, "sliding_window": 64}
SCALED = {
    "rope_type": "yarn",
    "factor": 4,
    "original_max_position_embeddings": 1024,
    "mscale": 0.7,
    "mscale_all_dim": 0.5,
    "partial_rotary_factor": 0.5,
    "rope_theta": 20000,
}


def names_in(file, macro):
    """The first argument of each row of a list."""
    text = (CONFIG / file).read_text()
    return sorted(set(re.findall(rf'^{macro}\("([^"]+)"', text, re.M)))


def read(label, config, **rest):
    return post("classes", label, "/v1/config", {"config": config}, **rest)


def model_types():
    return sorted(
        {*names_in("model_types.def", "MODEL_TYPE"), *names_in("model_layers.def", "MODEL_LAYERS")}
    )


def models():
    """With sizes alone, or with a rope object too, by turns."""
    ways = (LATENT, {"rope_parameters": SCALED})
    return [
        read(name + " with a scaling" * (index % 2), {"model_type": name} | SIZES | ways[index % 2])
        for index, name in enumerate(model_types())
    ]


def timm():
    return [
        read(f"timm {name}", {"architecture": name}) for name in names_in("timm.def", "TIMM_MODEL")
    ]


# Without it the file is an older one, whose arguments are not read.
TIMM = {"pretrained_cfg": {"tag": "x"}}


def timm_arguments():
    """Each argument, by an architecture of each class: what no constructor takes is refused."""
    text = (CONFIG / "timm_arguments.def").read_text()
    models = {
        "Eva": "eva02_base_patch14_224",
        "NaFlexVit": "naflexvit_base_patch16_gap",
        "axial": "deepseek_vit_412m",
    }
    values = {"rope_mrope_section": [8, 12, 12], "rope_type": "mixed", "img_size": 448}
    values |= {"rope_grid_indexing": "xy", "ref_feat_shape": [32, 24], "patch_size": 32}
    return [
        read(
            f"timm {of}, {argument}",
            TIMM | {"architecture": model, "model_args": {argument: values.get(argument, 1)}},
        )
        for argument in re.findall(r"^TIMM_ARGUMENT\((\w+)", text, re.M)
        for of, model in models.items()
        if argument in values or of == "Eva" or "rope" in argument or "pos" in argument
    ]


def diffusers():
    grid = {"height": 24, "width": 16}
    own = {"attention_head_dim": 48, "num_attention_heads": 4, "rope_axes_dim": [16, 16, 16]}
    return [
        request
        for name in names_in("diffusers.def", "DIFFUSERS_CLASS")
        for request in (
            read(f"diffusers {name}", {"_class_name": name}),
            read(f"diffusers {name} with sizes", {"_class_name": name} | own, query_of=grid),
        )
    ]


# Values of every kind that a key may have, by turns, so that each key has two of them.
KINDS = ((3, "x"), (0.5, None), (True, [1, 2]), (-1, {}), (2**53, False), ("true", 0))


def keys():
    """All words of the list of keys but model types, on top and in a rope object."""
    text = re.sub(r"/\*.*?\*/", "", (CONFIG / "keys.def").read_text(), flags=re.S)
    words = sorted(set(re.findall(r'"([a-z_0-9.]+)"', text)) - set(model_types()))
    top = {"model_type": "somebody"} | SIZES
    found = []
    for index, word in enumerate(words):
        first, *rest = word.split(".")
        for value in KINDS[index % len(KINDS)]:
            inner = {rest[0]: value} if rest else value
            found.append(read(f"{word} is {value}", top | {first: inner}))
        if not rest:
            scaling = {"rope_type": "linear", "factor": 2, word: KINDS[index % len(KINDS)][0]}
            found.append(read(f"{word} of a rope object", top | {"rope_scaling": scaling}))
    return found


# Keys of configs with values that a config could have.
PLAUSIBLE = {
    **dict.fromkeys(
        (
            "alibi is_causal learned_pos_emb mla_use_nope position_biased_input "
            "position_encoding_2d relative_attention rope_interleave rotary_emb_interleaved rotary "
            "scale_attn_by_inverse_layer_idx sinusoidal_pos_embds use_dynamic_ntk use_logn_attn "
            "use_pos_enc use_rotary_embedding use_sliding_window use_qk_norm use_nope use_alibi "
            "is_neox_style rope_traditional tie_word_embeddings multi_query attention_bias"
        ).split(),
        (True, False),
    ),
    **dict.fromkeys(
        "head_dim rotary_dim qk_rope_head_dim v_head_dim kv_channels global_head_dim".split(),
        (16, 32, 48),
    ),
    **dict.fromkeys(
        "sliding_window sliding_window_pattern attention_chunk_size seq_length n_positions".split(),
        (2, 64, 1024),
    ),
    **dict.fromkeys(
        "num_key_value_heads no_rope_layer_interval layers_block_type max_window_layers".split(),
        (2, 3),
    ),
    **dict.fromkeys(
        "rope_local_base_freq global_rope_theta local_rope_theta rotary_emb_base base".split(),
        (500, 20000.5),
    ),
    **dict.fromkeys(
        "partial_rotary_factor rotary_pct rotary_emb_fraction rope_percent".split(), (0.25, 0.5, 1)
    ),
    **dict.fromkeys(
        "query_pre_attn_scalar attn_logit_softcapping attention_multiplier logit_scale".split(),
        (0.5, 30),
    ),
    "alibi_bias_max": (4, 16),
    "layer_types": (["full_attention", "sliding_attention"] * 3, ["sliding_attention"] * 6),
    "max_sequence_length": (512, 8192),
    "mrope_section": ([2, 3, 3], [8, 4, 4]),
    "no_rope_layers": ([1, 1, 0, 1, 0, 1], []),
    "original_max_position_embeddings": (512, 2048),
    "position_embedding_type": ("absolute", "relative_key", "rope", "alibi"),
    "rope_ratio": (1, 8.5),
    "rope_scaling": (
        {"type": "linear", "factor": 4},
        {"rope_type": "dynamic", "factor": 2.5},
        {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 512},
    ),
}


def bare():
    """Each model type without a base, and without a context or with a rope object: what the class
    has for them."""
    sizes = {key: SIZES[key] for key in SIZES if not key.startswith(("rope_", "max_"))}
    scaled = {"rope_parameters": {"rope_type": "linear", "factor": 2}}
    return [
        read(f"{name} without a base", {"model_type": name} | sizes | (scaled if index % 2 else {}))
        for index, name in enumerate(model_types())
    ]


def timm_ends():
    """Sizes at the end of what a list takes, and behind it."""
    return [
        read(
            f"timm {key} is {value}",
            TIMM | {"architecture": "eva02_base_patch14_224", "model_args": {key: value}},
        )
        for key in ("img_size", "patch_size", "ref_feat_shape")
        for value in (2**20, 2**20 + 1, 0, [2**20, 2**20], [2**20, 2**20 + 1], [16], [16.5, 16])
    ]


def mixed_config(draw, name):
    """A model type with some of these keys together: (the keys, the config)."""
    keys = draw.sample(sorted(PLAUSIBLE), 5)
    own = {key: draw.choice(PLAUSIBLE[key]) for key in keys}
    return ", ".join(keys), {"model_type": name} | SIZES | own


def mixed():
    draw, found = random.Random(7), []
    for name in model_types()[::2]:
        keys, config = mixed_config(draw, name)
        found.append(read(f"{name} with {keys}", config))
    return found


# Keys that say what single layers do, with two values each.
OF_LAYERS = {
    "layer_types": (["full_attention", "sliding_attention"] * 3, []),
    "no_rope_layers": ([1, 1, 0, 1, 0, 1], []),
    "no_rope_layer_interval": (2, 3),
    "sliding_window": (64, None),
    "sliding_window_pattern": (3, 1),
    "use_sliding_window": (True, False),
    "max_window_layers": (2, 6),
    "attention_chunk_size": (32, None),
    "rope_local_base_freq": (500, 20000),
    "global_attn_every_n_layers": (2, 3),
    "num_hidden_layers": (4, 7),
}


def of_layers():
    """Each two of these keys, by turns over models."""
    models = ("llama", "smollm3", "gemma3_text", "llama4_text", "qwen2", "cohere2", "somebody")
    pairs = itertools.combinations(sorted(OF_LAYERS), 2)
    return [
        read(
            f"{models[(2 * index + turn) % len(models)]}: {one} {turn} and {other}",
            {"model_type": models[(2 * index + turn) % len(models)]}
            | SIZES
            | {one: OF_LAYERS[one][turn], other: OF_LAYERS[other][(turn + index) % 2]},
        )
        for index, (one, other) in enumerate(pairs)
        for turn in range(2)
    ] + [
        read(f"{model}: an empty list and an interval", {"model_type": model} | SIZES | both)
        for model in models
        for both in ({"no_rope_layers": [], "no_rope_layer_interval": 2},)
    ]


def nulls():
    """Keys that are null: beside objects for types of layers, in such an object, in the only rope
    object, and on top."""
    keys = (*SCALED, "low_freq_factor", "short_factor", "mrope_section", "alpha", "rope_type")
    types = {"full_attention": {"rope_type": "yarn"} | SCALED, "sliding_attention": {}}
    gemma = {"model_type": "gemma3_text"} | SIZES
    llama = {"model_type": "llama"} | SIZES
    found = []
    for key in sorted(set(keys)):
        none, inner = {key: None}, types | {"sliding_attention": {key: None, "factor": 2}}
        found += [
            read(f"{key} is null beside types", gemma | {"rope_parameters": types | none}),
            read(f"{key} is null in a type", gemma | {"rope_parameters": inner}),
            read(f"{key} is null in a rope object", llama | {"rope_scaling": SCALED | none}),
            read(f"{key} is null on top", llama | {"rope_scaling": SCALED} | none),
        ]
    return found


SCALINGS = {
    "default": {},
    "linear": {"factor": (2, 4.5)},
    "dynamic": {"factor": (2, 8), "original_max_position_embeddings": (1024, None)},
    "yarn": {
        "factor": (4, 40),
        "original_max_position_embeddings": (1024, 512),
        "beta_fast": (32, 16, None),
        "beta_slow": (1, 2, None),
        "truncate": (False, None, None),
        "mscale": (1, 0.7, None),
        "mscale_all_dim": (1, 0, None),
        "attention_factor": (1.5, None, None),
    },
    "llama3": {
        "factor": (8, 32),
        "low_freq_factor": (1, 2),
        "high_freq_factor": (4, 8),
        "original_max_position_embeddings": (1024, 512),
    },
    "longrope": {
        "short_factor": ([1 + i / 8 for i in range(8)], [1] * 8),
        "long_factor": ([2 + i for i in range(8)],),
        "original_max_position_embeddings": (1024, None),
        "factor": (4, None),
        "attention_factor": (1.25, None),
    },
}


def rope_drawn(draw):
    """Keys of a config with a rope object in the form of transformers 4 or 5."""
    kind = draw.choice(sorted(SCALINGS))
    rope = {"rope_type": kind}
    for key, values in SCALINGS[kind].items():
        value = draw.choice(values)
        if value is not None:
            rope[key] = value
    if draw.random() < 0.3:
        rope["partial_rotary_factor"] = 0.5
    if draw.random() < 0.5:
        return {"rope_parameters": rope | {"rope_theta": draw.choice((10000, 250000.5))}}
    return {"rope_scaling": rope, "rope_theta": draw.choice((10000, 500000))}


def measured_types():
    text = (CONFIG.parent / "engines" / "measured.def").read_text()
    return sorted(set(re.findall(r'^RULES\(\d+, "([^"/]+)"', text, re.M)))


def engines():
    """Lint by all engines, and longer contexts, of model types that were measured, with sizes and
    rope objects that were not."""
    draw, found = random.Random(11), []
    for index, name in enumerate(measured_types()):
        config = {"model_type": name} | SIZES | rope_drawn(draw)
        if draw.random() < 0.3:
            config["head_dim"] = draw.choice((16, 24, 32))
        if draw.random() < 0.3:
            config["max_position_embeddings"] = draw.choice((2048, 40000))
        if index % 3:
            found.append(post("classes", f"lint of {name}", "/v1/lint", {"config": config}))
        else:
            if draw.random() < 0.8:
                del config["rope_scaling" if "rope_scaling" in config else "rope_parameters"]
            longer = {"config": config, "to": draw.choice((8192, 100000, 5000))}
            found.append(post("classes", f"extend {name}", "/v1/extend", longer))
    return found


def absent_classes():
    """Lint by all engines of a class that one of them lacks, the first and last of each engine."""
    text = (CONFIG.parent / "engines" / "measured.def").read_text()
    rows = re.findall(r'^ABSENT_CLASS\((\d+), "(\w+)"', text, re.M)
    engines = {}
    for engine, name in rows:
        engines.setdefault(engine, []).append(name)
    names = sorted({name for of in engines.values() for name in (of[0], of[-1])})
    return [
        post(
            "classes",
            f"lint of {name}",
            "/v1/lint",
            {"config": {"model_type": "llama", "architectures": [name]} | SIZES},
        )
        for name in [*names, "LlamaForCausalLM"]
    ]


def requests():
    return [
        *absent_classes(),
        *models(),
        *timm(),
        *timm_arguments(),
        *diffusers(),
        *keys(),
        *bare(),
        *timm_ends(),
        *mixed(),
        *of_layers(),
        *nulls(),
        *engines(),
    ]
