# SPDX-License-Identifier: MIT
"""Attention of models of the installed transformers, by their own code: a small model runs once in
float64, and of each layer is kept what its projections gave (q, k, v before norms and rotation),
and what its softmax made of them. Projections and weights are rounded to a grid that float16 holds.

    python tests/parity/attention_models.py >tests/data/oracles/attention_models.json

writes what the tests without torch compare with."""

import base64
import dataclasses
import json

import numpy
import torch
import transformers

LENGTH, VOCABULARY, HEAD_DIM, GRID = 11, 50, 8, 32
SMALL = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": VOCABULARY,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
GROUPED = SMALL | {"num_key_value_heads": 2, "head_dim": 8}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}


@dataclasses.dataclass
class Layer:
    """One layer: what is posted (config and parameters, tensors), and its output [b, h, s, d]."""

    name: str
    config: dict
    parameters: dict
    tensors: dict
    output: numpy.ndarray


# name: (model class, config class, its values, names of q, k, v (or of all in one) and output)
SEPARATE = ("q_proj", "k_proj", "v_proj", "o_proj")
MODELS = {
    "granite": (
        "GraniteModel",
        "GraniteConfig",
        GROUPED | {"attention_multiplier": 0.0625},
        SEPARATE,
    ),
    "gemma2": (
        "Gemma2Model",
        "Gemma2Config",
        GROUPED
        | {
            "query_pre_attn_scalar": 12,
            "attn_logit_softcapping": 1.5,
            "sliding_window": 5,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        SEPARATE,
    ),
    "gemma3": (
        "Gemma3TextModel",
        "Gemma3TextConfig",
        GROUPED
        | {
            "query_pre_attn_scalar": 12,
            "sliding_window": 5,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        SEPARATE,
    ),
    "gpt_oss": (
        "GptOssModel",
        "GptOssConfig",
        GROUPED
        | EXPERTS
        | {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
        SEPARATE,
    ),
    "llama4": (
        "Llama4TextModel",
        "Llama4TextConfig",
        GROUPED
        | EXPERTS
        | {
            "intermediate_size_mlp": 16,
            "attention_chunk_size": 4,
            "floor_scale": 4,
            "no_rope_layers": [1, 0],
            "layer_types": ["chunked_attention", "full_attention"],
        },
        SEPARATE,
    ),
    "qwen3": ("Qwen3Model", "Qwen3Config", GROUPED, SEPARATE),
    "mistral": ("MistralModel", "MistralConfig", GROUPED | {"sliding_window": 6}, SEPARATE),
    "falcon": (
        "FalconModel",
        "FalconConfig",
        SMALL
        | {"alibi": True, "new_decoder_architecture": False, "multi_query": True, "bias": True},
        ("query_key_value", "dense"),
    ),
    "bloom": (
        "BloomModel",
        "BloomConfig",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4},
        ("query_key_value", "dense"),
    ),
    "mpt": (
        "MptModel",
        "MptConfig",
        {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
        ("Wqkv", "out_proj"),
    ),
    "t5": (
        "T5EncoderModel",
        "T5Config",
        {
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "d_kv": 8,
            "num_heads": 4,
            "num_layers": 2,
            "d_ff": 16,
        },
        ("q", "k", "v", "o"),
    ),
    "deberta_v2": (
        "DebertaV2Model",
        "DebertaV2Config",
        SMALL
        | {
            "relative_attention": True,
            "position_buckets": 4,
            "max_relative_positions": 12,
            "pos_att_type": ["c2p", "p2c"],
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
        },
        ("query_proj", "key_proj", "value_proj", None),
    ),
}


def on_grid(x):
    return (x * GRID).round() / GRID


def model_of(name, dtype):
    """The model with drawn weights, large enough that scores differ; and its config."""
    model_class, config_class, values, _ = MODELS[name]
    config = getattr(transformers, config_class)(**values)
    # Eager code of Falcon in transformers 5.23 adds its bias twice, once with the mask.
    config._attn_implementation = "sdpa" if name == "falcon" else "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(3)
    model = getattr(transformers, model_class)(config).eval().to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(on_grid(torch.randn(parameter.shape) * 0.25))
    return model, config


def recorded(model, names):
    """(modules of attention, {(layer, name): what went in or came out}) of one run."""
    modules = [
        module for module in model.modules() if all(hasattr(module, name) for name in names if name)
    ]
    seen = {}

    def rounded(key):
        def hook(module, given, got):
            got = on_grid(got)
            seen.setdefault(key, got)  # DeBERTa's project its rows of distances afterwards
            return got

        return hook

    def kept(key, of):
        def hook(*about):
            seen[key] = of(*about)

        return hook

    for index, module in enumerate(modules):
        for name in names[:-1]:
            getattr(module, name).register_forward_hook(rounded((index, name)))
        if names[-1]:
            getattr(module, names[-1]).register_forward_pre_hook(
                kept((index, "out"), lambda _, given: given[0])
            )
        else:
            module.register_forward_hook(kept((index, "out"), lambda _, given, got: got[0]))
    with torch.no_grad():
        model(
            input_ids=torch.randint(
                1, VOCABULARY, (1, LENGTH), generator=torch.Generator().manual_seed(4)
            )
        )
    return modules, seen


def heads_of(x, width):
    """[b, s, h * d] to [b, h, s, d]"""
    return x.reshape(*x.shape[:2], -1, width).transpose(1, 2).contiguous()


def split(name, module, seen, index, width):
    """q, k and v as the model's code divides them."""
    names = MODELS[name][3]
    if len(names) == 4:
        return [heads_of(seen[index, part], width) for part in names[:3]]
    fused = seen[index, names[0]]
    if name == "falcon":
        return [x.transpose(1, 2).contiguous() for x in module._split_heads(fused)]
    if name == "bloom":
        return [x.contiguous() for x in module._reshape(fused)]
    return [heads_of(x, width) for x in fused.chunk(3, dim=2)]


def special(name, model, module):
    """(parameters, tensors) that a config does not tell of a layer."""
    layer_type = {"layer_type": getattr(module, "layer_type", None)}
    if name in ("gemma2", "gemma3", "gpt_oss"):
        return layer_type, {
            "gemma2": lambda: {},
            "gpt_oss": lambda: {"sinks": module.sinks},
            "gemma3": lambda: {"q_norm": module.q_norm.weight, "k_norm": module.k_norm.weight},
        }[name]()
    if name == "qwen3":
        return {}, {"q_norm": module.q_norm.weight, "k_norm": module.k_norm.weight}
    if name == "llama4":
        return (
            {"layer_type": "chunked_attention"} if module.use_rope else {"encoding": "none"}
        ), {}
    if name == "t5":
        bias = model.encoder.block[0].layer[0].SelfAttention.relative_attention_bias
        return {"bidirectional": True}, {"weights": bias.weight}
    if name == "deberta_v2":
        table = model.encoder.get_rel_embedding()[:8]
        return {"encoding": "deberta-log", "position_buckets": 4, "max_relative_positions": 12}, {
            "pos_key": module.key_proj(table),
            "pos_query": module.query_proj(table),
        }
    return {}, {}


def layers(name, dtype=torch.float64):
    """Both layers of a model whose layers differ, else the first."""
    model, config = model_of(name, dtype)
    modules, seen = recorded(model, MODELS[name][3])
    told = json.loads(config.to_json_string(use_diff=False))
    differ = len(set(getattr(config, "layer_types", None) or [])) > 1
    for index, module in enumerate(modules[: 2 if differ else 1]):
        with torch.no_grad():
            q, k, v = split(name, module, seen, index, HEAD_DIM)
            parameters, tensors = special(name, model, module)
        given = {"q": q, "k": k, "v": v} | tensors
        yield Layer(
            f"{name} {index}",
            None if name == "deberta_v2" else told,
            {"causal": name not in ("t5", "deberta_v2")} | parameters,
            {key: value.detach().numpy() for key, value in given.items()},
            heads_of(seen[index, "out"], HEAD_DIM).numpy(),
        )


def posted(x, dtype):
    """A tensor as the service takes it."""
    return {
        "dtype": {"float16": "f16", "float32": "f32", "float64": "f64"}[dtype],
        "shape": list(x.shape),
        "base64": base64.b64encode(numpy.ascontiguousarray(x.astype(dtype))).decode(),
    }


def written(layer):
    assert all((x.astype("float16") == x).all() for x in layer.tensors.values()), layer.name
    return {
        "name": layer.name,
        "config": layer.config,
        "parameters": layer.parameters,
        "tensors": {key: posted(x, "float16") for key, x in layer.tensors.items()},
        "output": posted(layer.output, "float32"),
    }


def main():
    lines = [
        json.dumps(written(layer), separators=(",", ":"))
        for name in MODELS
        for layer in layers(name)
    ]
    print(
        f'{{"from": "transformers {transformers.__version__}, '
        f'torch {torch.__version__.split("+")[0]}", "layers": [\n' + ",\n".join(lines) + "\n]}"
    )


if __name__ == "__main__":
    main()
