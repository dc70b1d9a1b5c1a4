# SPDX-License-Identifier: MIT
"""Tiny models of transformers, audited; prints {"classes": {model type: [right, report]},
"planted": {name: verdict}}. That an audit leaves a model as it was is asserted here."""

import json
import warnings

import posenc
import torch
import transformers
from transformers import AutoConfig, AutoModel, LlamaConfig, LlamaForCausalLM

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts")
TYPES = """apertus arcee aria_text bitnet cohere cohere2 cwm deepseek_v2 deepseek_v3 diffllama doge
    ernie4_5 ernie4_5_moe exaone4 falcon gemma gemma2 gemma3_text glm glm4 glm4_moe gpt_neox gpt_oss
    granite granitemoe helium jetmoe llama llama4_text mistral mixtral nemotron olmo olmo2 olmo3
    olmoe persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_moe seed_oss smollm3 stablelm
    starcoder2 vaultgemma""".split()


def state(model):
    """All that an audit could change."""
    modules = [
        (id(module), module.training, len(module._forward_hooks), len(module._forward_pre_hooks))
        for module in model.modules()
    ]
    tensors = [
        (name, id(tensor), tensor.dtype, str(tensor.device), tensor.requires_grad, bits(tensor))
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]
    ]
    return modules, tensors, torch.get_rng_state().tolist(), model.config.to_dict()


def bits(tensor):
    if tensor.device.type == "meta":
        return None
    return tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()


def audited(model, *config, **given):
    before = state(model)
    found = posenc.audit(model, *config, **given)
    assert state(model) == before
    return found


def tiny(model_type):
    config = AutoConfig.for_model(model_type, **SMALL)
    for key in ("moe_intermediate_size", *EXPERTS):
        if hasattr(config, key):
            setattr(config, key, 4 if key in EXPERTS else 32)
    return AutoModel.from_config(config)


classes = {}
for name in TYPES:
    found = audited(tiny(name))
    compared = [f for f in found.findings if f.right is not None and "inv_freq" not in f.module]
    classes[name] = [found.right is True and len(compared) > 0, str(found)]

planted = {}
config = LlamaConfig(**SMALL, rope_theta=500000.0)
with torch.device("meta"):
    model = LlamaForCausalLM(config)
planted["on the meta device"] = audited(model).verdict
model.to_empty(device="cpu")
for buffer in (model.model.rotary_emb.inv_freq, model.model.rotary_emb.original_inv_freq):
    buffer.copy_(torch.full_like(buffer, 1e-41))  # what such memory has is otherwise left to chance
planted["moved by to_empty"] = audited(model).verdict
model.model.rotary_emb.inv_freq.zero_()
planted["moved by to_empty, zeros"] = audited(model).verdict
model.model.rotary_emb.inv_freq[3] = float("nan")
planted["moved by to_empty, NaN"] = audited(model).verdict
planted["in bfloat16"] = audited(LlamaForCausalLM(config).bfloat16()).verdict
planted["another base"] = audited(
    LlamaForCausalLM(LlamaConfig(**SMALL, rope_theta=10000.0)), config
).verdict
model = LlamaForCausalLM(config).eval()
model.model.rotary_emb.attention_scaling = 1.5
planted["a factor"] = audited(model).verdict
print(json.dumps({"classes": classes, "planted": planted}))
