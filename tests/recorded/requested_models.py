# SPDX-License-Identifier: MIT
"""Configs as models have them and as people change them: what /v1/config reads, what engines do
with them, how their context is extended; functions that rotate wrongly; ids of each model."""

import math

from bodies import numbers
from request import post

# ---- configs ------------------------------------------------------------------------------------

SIZES = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
}
OBJECTS = {
    "linear": {"factor": 4},
    "dynamic": {"factor": 4},
    "llama3": {
        "factor": 8,
        "low_freq_factor": 1,
        "high_freq_factor": 4,
        "original_max_position_embeddings": 512,
    },
    "yarn": {
        "factor": 4,
        "original_max_position_embeddings": 1024,
        "beta_fast": 16,
        "beta_slow": 2,
        "mscale": 0.7,
        "mscale_all_dim": 0.5,
        "truncate": False,
    },
    "longrope": {
        "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
        "long_factor": [1, 2, 3, 4, 5, 6, 7, 8],
        "original_max_position_embeddings": 1024,
    },
}


def four(model_type, rope_type=None, rope=None, **more):
    """In the form of transformers 4."""
    scaling = {"rope_scaling": {"rope_type": rope_type} | OBJECTS[rope_type]} if rope_type else {}
    if rope:
        scaling["rope_scaling"] = scaling.get("rope_scaling", {}) | rope
    return SIZES | {"model_type": model_type, "rope_theta": 500000} | scaling | more


def five(model_type, rope_type="default", rope=None, **more):
    """In the form of transformers 5."""
    own = {"rope_type": rope_type, "rope_theta": 500000} | OBJECTS.get(rope_type, {})
    return SIZES | {"model_type": model_type, "rope_parameters": own | (rope or {})} | more


def by_type(model_type, full, sliding, **more):
    """With a rope object for each type of layers."""
    both = {"full_attention": full, "sliding_attention": sliding}
    return SIZES | {"model_type": model_type, "sliding_window": 512, "rope_parameters": both} | more


def default(base):
    return {"rope_type": "default", "rope_theta": base}


TYPES = ["full_attention", "sliding_attention"]
ALTERNATE = {"layer_types": 2 * TYPES}
LOCAL = {"sliding_window_pattern": 2, "rope_local_base_freq": 100, "sliding_window": 512}
SECTIONS = {"mrope_section": [2, 3, 3], "type": "mrope"}
LATENT = {"qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 16, "kv_lora_rank": 32}


def models():
    """(label, config) of every way in which a model holds its positions."""
    scaled = {"rope_type": "yarn", "rope_theta": 1e6} | OBJECTS["yarn"]
    return [
        *((f"llama {name}", four("llama", name)) for name in OBJECTS),
        *((f"llama {name} of 5", five("llama", name)) for name in OBJECTS),
        ("llama, a part", four("llama", partial_rotary_factor=0.5)),
        ("llama, a head of its own", four("llama", head_dim=32)),
        ("llama, another attention", four("llama", "yarn", {"attention_factor": 1.5})),
        ("llama, ntk", four("llama", rope={"rope_type": "ntk", "factor": 2})),
        ("llama, an unknown class", four("llama", architectures=["LlamaForSomething"])),
        ("phi3 longrope", four("phi3", "longrope", original_max_position_embeddings=1024)),
        ("gpt_oss", four("gpt_oss", "yarn", sliding_window=128, **ALTERNATE)),
        ("gemma3", four("gemma3_text", "linear", **LOCAL)),
        ("gemma3 of 5", by_type("gemma3_text", scaled, default(100), **ALTERNATE)),
        (
            "gemma3 of both",
            by_type("gemma3_text", default(1e6), {"rope_type": "default"}, **ALTERNATE, **LOCAL),
        ),
        ("olmo3", four("olmo3", "yarn", sliding_window=512, **ALTERNATE)),
        ("cohere2", four("cohere2", sliding_window=512, sliding_window_pattern=2)),
        ("smollm3", four("smollm3", no_rope_layer_interval=2)),
        ("llama4", four("llama4_text", "llama3", no_rope_layers=[1, 1, 0, 1])),
        ("modernbert", by_type("modernbert", default(1e5), default(1e3), **ALTERNATE)),
        ("qwen2_vl", four("qwen2_vl", rope=SECTIONS)),
        ("qwen3_vl", five("qwen3_vl_text", rope=SECTIONS | {"mrope_interleaved": True})),
        ("glm4", four("glm4", partial_rotary_factor=0.5)),
        ("gpt_neox", four("gpt_neox", rotary_pct=0.25, rotary_emb_base=1000)),
        ("deepseek_v2", four("deepseek_v2", "yarn", **LATENT)),
        ("deepseek_v3", five("deepseek_v3", "yarn", rope_interleave=True, **LATENT)),
        ("mistral of a window", four("mistral", sliding_window=256)),
        ("qwen2 of a window", four("qwen2", use_sliding_window=True, sliding_window=256)),
        ("falcon", four("falcon", alibi=False, multi_query=True)),
        ("no model", four("no_such_model")),
        ("a class of null", four("llama", _class_name=None)),
    ]


def other_models():
    """Those whose positions are added, learned or biases."""
    t5 = {"d_model": 64, "num_heads": 4, "num_layers": 2, "relative_attention_num_buckets": 8}
    mpt = {"d_model": 64, "n_heads": 4, "attn_config": {"alibi": True, "alibi_bias_max": 4}}
    return [
        ("falcon with alibi", SIZES | {"model_type": "falcon", "alibi": True}),
        ("mpt", mpt | {"model_type": "mpt", "max_seq_len": 128}),
        ("mpt of six heads", mpt | {"model_type": "mpt", "n_heads": 6, "d_model": 48}),
        (
            "hf_olmo of six heads",
            {"model_type": "hf_olmo", "d_model": 48, "n_heads": 6, "n_layers": 2, "alibi": True},
        ),
        ("bert", SIZES | {"model_type": "bert"}),
        ("roberta", SIZES | {"model_type": "roberta", "pad_token_id": 1}),
        ("opt", SIZES | {"model_type": "opt", "word_embed_proj_dim": 32}),
        ("t5", t5 | {"model_type": "t5", "relative_attention_max_distance": 32}),
        ("deberta", SIZES | {"model_type": "deberta-v2", "relative_attention": True}),
        ("marian", SIZES | {"model_type": "marian", "d_model": 64}),
        ("whisper", {"model_type": "whisper", "d_model": 64, "max_source_positions": 1500}),
    ]


def single_rules():
    """Configs by which one rule decides: a type of layers that is null, lists of all layers and of
    some, scores over the number of the layer."""
    scaled = four("molmo2_text", "yarn")
    types = {"full_attention": None, "sliding_attention": default(1e4)}
    return [
        (
            "a type of layers that is null",
            SIZES | {"model_type": "somebody", "rope_parameters": types} | ALTERNATE,
        ),
        ("layers by number", four("somebody", scale_attn_by_inverse_layer_idx=True)),
        ("scaling of all layers", scaled | {"rope_scaling_layers": [0, 1, 2, 3]}),
        ("scaling of some layers", scaled | {"rope_scaling_layers": [0, 1, 2]}),
    ]


def mistyped():
    """Keys about layers whose values are of another kind."""
    return [
        ("a fraction of layers", four("llama") | {"num_hidden_layers": 1.5}),
        ("a fraction of a window", four("mistral", sliding_window=6.5)),
        ("a fraction of a period", four("gemma3_text", sliding_window_pattern=1.5)),
        ("a fraction of a window both ways", four("modernbert", local_attention=6.5)),
        ("a fraction of a global period", four("modernbert", global_attn_every_n_layers=1.5)),
        ("types of layers in one text", four("gemma3_text", layer_types="full_attention")),
    ]


def configs():
    refused = [
        ("a factor of null", four("llama", "linear", {"factor": None})),
        ("biases of two tables", SIZES | {"position_embedding_type": "relative_key_query"}),
        ("sections of another width", four("qwen2_vl", rope={"mrope_section": [2, 3, 4]})),
        ("no such type", four("llama", rope={"rope_type": "no"})),
    ]
    return [
        *(post("refused models", label, "/v1/config", config) for label, config in refused),
        *(post("models", label, "/v1/config", config) for label, config in models()),
        *(post("models", label, "/v1/config", config) for label, config in other_models()),
        *(post("models", label, "/v1/config", config) for label, config in mistyped()),
        *(post("models", label, "/v1/config", config) for label, config in single_rules()),
        *(
            post(
                "models" if height == 128 else "refused models",
                f"a grid of {height} rows of CogView3Plus",
                "/v1/config",
                {"_class_name": "CogView3PlusTransformer2DModel", "pos_embed_max_size": 128},
                query_of={"height": height, "width": 128},
            )
            for height in (128, 129)
        ),
        *(
            post("models", f"{label} of {name}", "/v1/config", config, query_of=of)
            for label, config in models()
            if label in ("gemma3", "gemma3 of 5", "gemma3 of both", "modernbert", "olmo3")
            for name in TYPES
            for of in ({"layer_type": name},)
        ),
    ]


# ---- engines ------------------------------------------------------------------------------------


def lints():
    """By all engines at once."""
    llama, windows = four("llama"), four("mistral", sliding_window=256)
    others = [
        ("a context", four("llama", max_position_embeddings=8192)),
        ("no context", {key: llama[key] for key in llama if key != "max_position_embeddings"}),
        ("a head", four("llama", head_dim=32)),
        ("a layout", four("cohere")),
        ("a scaling", four("llama", "linear")),
        ("a window", windows),
        ("more layers", four("llama", num_hidden_layers=6)),
        ("types of layers", four("gemma3_text", **LOCAL)),
        ("layers that do not rotate", four("smollm3", no_rope_layer_interval=2)),
        ("a part", four("phi", partial_rotary_factor=0.5)),
        ("sections", four("qwen2_vl", rope=SECTIONS)),
        ("a bias", {"model_type": "bloom", "hidden_size": 64, "n_head": 4}),
    ]
    two = {"short_factor": 8 * [1], "long_factor": 8 * [4], "attention_factor": 1}
    by_length = four("llama", "longrope", two)
    needy = four("arcee", "yarn")
    del needy["rope_scaling"]["factor"]
    more = [
        ("arcee without a factor", needy),
        ("heads of no width", four("mixtral", head_dim=24)),
        (
            "types whose first is default",
            SIZES
            | {
                "model_type": "gemma3_text",
                "rope_parameters": {
                    "sliding_attention": default(1e4),
                    "full_attention": default(1e6) | {"rope_type": "linear", "factor": 8},
                },
            }
            | ALTERNATE,
        ),
        ("beyond the context", four("gpt_oss", "yarn", max_position_embeddings=65536)),
    ]
    both = [(label, config) for label, config in models() + more if label != "no model"]
    older = {"for": ["mlx-lm==0.31.3", "mlx-lm", "vllm"]}
    return [
        *(post("models", f"lint {label}", "/v1/lint", {"config": one}) for label, one in both),
        post("models", "lint of older", "/v1/lint", {"config": five("qwen3")} | older),
        *(
            post(
                "models" if label != "a bias" else "refused models",
                f"lint against {label} {way}",
                "/v1/lint",
                {"config": first, "against": second},
            )
            for label, other in others
            for way, first, second in (("there", llama, other), ("here", other, llama))
        ),
        *(
            post("models", f"lint of lengths {way}", "/v1/lint", {"config": a, "against": b})
            for way, a, b in (
                ("here", by_length, four("llama", "linear")),
                ("there", four("llama", "linear"), by_length),
            )
        ),
    ]


def extensions():
    def extend(label, config, **more):
        return post("models", f"extend {label}", "/v1/extend", {"config": config} | more)

    def no(label, config, **more):
        return post("refused models", f"extend {label}", "/v1/extend", {"config": config} | more)

    engines = {"to": 16384, "for": ["vllm", "mlx-lm", "transformers"]}
    llama = four("llama")
    inside = {"model_type": "llava", "text_config": llama}
    return [
        *(extend(f"{name}", llama, type=name, **engines) for name in ("linear", "dynamic", "yarn")),
        extend("of 5", five("llama"), **engines),
        extend("of types", by_type("gemma3_text", default(1e6), default(1e4)), **engines),
        extend("of a window", four("mistral", sliding_window=256), **engines),
        extend("of layers without", four("smollm3", no_rope_layer_interval=2), **engines),
        extend("of a part", four("phi", partial_rotary_factor=0.5), to=6000),
        extend("of a text inside", inside, to=8192),
        extend("of two contexts", inside | {"max_position_embeddings": 4096}, to=8192),
        extend("of sections", four("qwen2_vl", rope=SECTIONS), to=8192),
        extend(
            "of another key",
            {"model_type": "dbrx", "d_model": 64, "n_heads": 4, "max_seq_len": 2048},
            to=8192,
        ),
        no("of a scaled one", four("llama", "linear"), to=16384),
        no("of a scaled one of 5", five("llama", "yarn"), to=16384),
        no("to less", llama, to=2048),
        no("to nothing", llama),
        no("by search", llama, to=8192, type="longrope"),
        no("by no type", llama, to=8192, type="no"),
        no("of a bias", {"model_type": "bloom", "hidden_size": 64, "n_head": 4}, to=8192),
        no("of no context", {"model_type": "llama", "head_dim": 8}, to=8192),
    ]


# ---- functions that rotate ----------------------------------------------------------------------

DIM, PLACES = 4, (0, 1, 2, 3, 5, 8)


def angle(place, pair):
    return place * 100 ** (-2 * pair / DIM)


def halves(x, place, scale=1.0, sign=1):
    out = list(x)
    for pair in range(DIM // 2):
        c, s = math.cos(angle(place, pair)), sign * math.sin(angle(place, pair))
        a, b = x[pair], x[pair + DIM // 2]
        out[pair], out[pair + DIM // 2] = scale * (a * c - b * s), scale * (b * c + a * s)
    return out


def neighbours(x, place):
    first = halves([x[0], x[2], x[1], x[3]], place)
    return [first[0], first[2], first[1], first[3]]


FUNCTIONS = {
    "right": halves,
    "of neighbours": neighbours,
    "backwards": lambda x, place: halves(x, place, sign=-1),
    "one late": lambda x, place: halves(x, place + 1),
    "longer": lambda x, place: halves(x, place, scale=1.5),
    "unchanged": lambda x, place: list(x),
    "negative zeros": lambda x, place: [-v for v in halves(x, place)],
    "of squares": lambda x, place: [v * abs(v) for v in halves(x, place)],
    "plus a constant": lambda x, place: [v + 0.25 for v in halves(x, place)],
    "sheared": lambda x, place: [x[0] + 0.5 * x[2], *halves(x, place)[1:]],
    "of threes": lambda x, place: [x[0] + x[1] + x[2], *halves(x, place)[1:]],
    "without one pair": lambda x, place: [x[0], halves(x, place)[1], x[2], halves(x, place)[3]],
    "turned around": lambda x, place: halves(x, place)[::-1],
    "zeros": lambda x, place: [0.0] * DIM,
}


def calls(function):
    """Unit vectors and two others, each at all positions."""
    units = [[float(i == k) for k in range(DIM)] for i in range(DIM)]
    vectors = [*units, [0.5, -1.0, 2.0, 0.25], [3.0, 1.0, -2.0, 1.5]]
    x = [vector for vector in vectors for _ in PLACES]
    y = [function(vector, place) for vector in vectors for place in PLACES]
    shape = (len(vectors), len(PLACES), DIM)
    return {"x": numbers(sum(x, []), *shape), "y": numbers(sum(y, []), *shape)}


def probes():
    expected = {"encoding": {"name": "rope", "base": 100, "dim": DIM}, "layout": "half"}
    places = {"axes": "csd", "positions": list(PLACES)}

    def probe(label, function, parameters):
        label = f"a function {label}"
        return post("models", label, "/v1/diagnosis", places | parameters, calls(function))

    return [
        *(probe(label, function, expected) for label, function in FUNCTIONS.items()),
        *(
            probe(f"{label}, nothing expected", FUNCTIONS[label], {})
            for label in ("right", "one late", "backwards", "without one pair")
        ),
        probe("with other wide pairs", halves, expected | {"layout": "interleaved"}),
    ]


# ---- ids ----------------------------------------------------------------------------------------

# Each kind of rules for ids, and members that its models take.
IDS = {
    "text": None,
    "qwen2_5_vl": {},
    "qwen3_vl": {},
    "ernie4_5_vl_moe": {},
    "glm_image": {},
    "flux": {},
    "flux2": {},
    "qwen_image": {},
    "lumina2": {},
    "z_image": {},
    "hunyuan_video": {},
    "wan": {},
    "cogvideox": {},
    "cogvideox1_5": {},
    "mochi": {},
    "kandinsky5": {"scale_factor": [1, 2, 2]},
    "pixtral": {},
    "qwen2_vl_vision": {},
    "sam2": {},
    "ltx_video": {"frame_rate": 24},
}
MERGED = ("qwen2_5_vl", "qwen3_vl", "ernie4_5_vl_moe")
WITHOUT_TEXT = ("wan", "ltx_video", "kandinsky5", "pixtral", "qwen2_vl_vision")


def prompt(model, text, more):
    """Text, a grid of two by four, text; or two rows, the first behind padding."""
    if more is None:
        return {"attention_mask": [[0, 1, 1, 1], [1, 1, 1, 1]]}
    merge = 4 if model in MERGED else 1
    kinds = [0] * text + [1] * (8 // merge) + [0] * text
    return {"mm_token_type_ids": [kinds], "image_grid_thw": [[1, 2, 4]]} | more


def positions():
    made = [
        (model, prompt(model, 0 if model in WITHOUT_TEXT else 2, more))
        for model, more in IDS.items()
    ]
    video = {"mm_token_type_ids": [[0] + 8 * [2] + [0]], "video_grid_thw": [[2, 2, 2]]}
    made += [("hunyuan_video", video), ("mochi", video)]
    return [
        post(
            "models",
            f"ids of {model}, {'a video' if 'video_grid_thw' in parameters else 'an image'}",
            "/v1/positions",
            {"model_type": model} | parameters,
        )
        for model, parameters in made
    ]


def requests():
    return [*configs(), *lints(), *extensions(), *probes(), *positions()]
