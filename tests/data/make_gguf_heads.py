#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes gguf/NAME.gguf of each config of configs/ that llama.cpp has an architecture for: its
metadata, and the tensors of factors that divide frequencies, as a conversion writes them.

    pip install gguf==0.19.0
    python tests/data/make_gguf_heads.py

Which keys a conversion writes is restated from ggml-org/llama.cpp, conversion/ (base.py, and the
file of each model), 2bbcf7fc93a460f04d5709756a48b2408443eecb. `make test` uses the files that are
committed and does not run this."""

import json
import math
import pathlib

import gguf
import numpy

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURES = {
    "bloom-3b": "bloom",
    "chatglm2-6b": "chatglm",
    "command-r": "command-r",
    "deepseek-v3": "deepseek2",
    "devstral-small-2": "mistral3",
    "exaone-4.0": "exaone4",
    "gemma-3-27b": "gemma3",
    "glm-4.5": "glm4moe",
    "gpt-neox": "gptneox",
    "gpt-oss-120b": "gpt-oss",
    "gpt2": "gpt2",
    "kimi-k2": "deepseek2",
    "lfm2.5-vl": "lfm2",
    "llama-3.1": "llama",
    "minilm-l6": "bert",
    "mistral-7b-v0.3": "llama",
    "olmo-3.1": "olmo2",
    "phi-1": "phi2",
    "phi-3.5-vision": "phi3",
    "phi-4": "phi3",
    "phi-4-mini": "phi3",
    "qwen2.5-7b": "qwen2",
    "qwen2.5-vl": "qwen2vl",
    "qwen3-8b": "qwen3",
    "t5-small": "t5",
}
CLASS_DEFAULTS = {
    "gemma-3-27b": {"max_position_embeddings": 131072, "rope_theta": 1e6, "head_dim": 128}
}


def first(config, *names):
    return next((config[name] for name in names if config.get(name) is not None), None)


def scaling_write(writer, config, rope):
    kind = rope.get("rope_type", rope.get("type"))
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        for name, write in (
            ("attention_factor", writer.add_rope_scaling_yarn_attn_factor),
            ("beta_fast", writer.add_rope_scaling_yarn_beta_fast),
            ("beta_slow", writer.add_rope_scaling_yarn_beta_slow),
        ):
            if rope.get(name) is not None:
                write(rope[name])
    if kind in ("su", "longrope"):  # of Phi-3, whose conversion writes no type
        original = config["original_max_position_embeddings"]
        writer.add_rope_scaling_orig_ctx_len(original)
        scale = config["max_position_embeddings"] / original
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(scale) / math.log(original)))
        for name in ("long", "short"):
            writer.add_tensor(
                f"rope_factors_{name}.weight", numpy.array(rope[f"{name}_factor"], numpy.float32)
            )
    if kind == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(config, rope))
    if "mrope_section" in rope:
        writer.add_rope_dimension_sections((rope["mrope_section"] + [0])[:4])


def llama3_factors(config, rope):
    """LlamaModel.generate_extra_tensors."""
    dim = first(config, "head_dim") or config["hidden_size"] // config["num_attention_heads"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    original, factors = rope["original_max_position_embeddings"], []
    for k in range(0, dim, 2):
        wavelength = 2 * math.pi * config["rope_theta"] ** (k / dim)
        smooth = (original / wavelength - low) / (high - low)
        factors.append(
            1
            if wavelength < original / high
            else rope["factor"]
            if wavelength > original / low
            else 1 / ((1 - smooth) / rope["factor"] + smooth)
        )
    return numpy.array(factors, numpy.float32)


def turning_write(writer, architecture, config):
    """rope.dimension_count, by the class of each model."""
    head = first(config, "head_dim", "kv_channels")
    heads = first(config, "num_attention_heads", "n_head", "num_heads")
    head = head or first(config, "hidden_size", "n_embd", "d_model") // heads
    part = first(config, "partial_rotary_factor", "rotary_pct") or 1
    if architecture == "deepseek2":
        writer.add_key_length(config["kv_lora_rank"] + config["qk_rope_head_dim"])
        writer.add_rope_dimension_count(config["qk_rope_head_dim"])
    elif architecture == "chatglm":
        writer.add_rope_dimension_count(head // 2)
    elif architecture in ("llama", "mistral3", "phi2", "phi3", "glm4moe", "gptneox", "exaone4"):
        writer.add_rope_dimension_count(int(part * head))
    if first(config, "head_dim") and architecture != "deepseek2":
        writer.add_key_length(config["head_dim"])


def head_write(name, architecture, config):
    writer = gguf.GGUFWriter(HERE / "gguf" / f"{name}.gguf", architecture)
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = first(rope, "rope_theta") or first(config, "rope_theta", "rotary_emb_base")
    kind = rope.get("rope_type", rope.get("type"))
    for value, write in (
        (
            first(config, "max_position_embeddings", "n_positions", "seq_length"),
            writer.add_context_length,
        ),
        (first(config, "hidden_size", "n_embd", "d_model"), writer.add_embedding_length),
        (first(config, "num_attention_heads", "n_head", "num_heads"), writer.add_head_count),
        (theta, writer.add_rope_freq_base),
        (config.get("sliding_window"), writer.add_sliding_window),
        (config.get("relative_attention_num_buckets"), writer.add_relative_attn_buckets_count),
    ):
        if value is not None:
            write(value)
    turning_write(writer, architecture, config)
    if architecture in ("bert", "bloom", "gpt2", "t5", "gptneox"):
        rope = {}
    scaling_write(writer, config, rope)
    if kind == "yarn" and "mscale_all_dim" in rope:
        all_dim = rope["mscale_all_dim"]
        writer.add_rope_scaling_yarn_log_mul(
            0.1 * all_dim if architecture == "deepseek2" else all_dim
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if writer.tensors[0]:
        writer.write_tensors_to_file()
    else:
        writer.write_ti_data_to_file()
    writer.close()


def main():
    (HERE / "gguf").mkdir(exist_ok=True)
    for name, architecture in ARCHITECTURES.items():
        config = json.loads((HERE / "configs" / f"{name}.json").read_text())["config"]
        text = config | config.get("text_config", {}) | CLASS_DEFAULTS.get(name, {})
        head_write(name, architecture, text)


if __name__ == "__main__":
    main()
