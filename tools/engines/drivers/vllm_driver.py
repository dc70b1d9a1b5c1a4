# SPDX-License-Identifier: MIT
"""vLLM: its own reading of the config, then the class of the model on torch's device `meta`, where
weights take no memory. Its rotary modules, whose tables are made on the CPU, rotate unit vectors by
forward_native."""

import json
import os
import pathlib
import re
import tempfile

os.environ["VLLM_TARGET_DEVICE"] = "cpu"
os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"

import rotation
import torch
import torch.distributed
from serving import Absent, Unmeasured, serve
from vllm.config import (
    CompilationConfig,
    DeviceConfig,
    LoadConfig,
    ModelConfig,
    VllmConfig,
    set_current_vllm_config,
)
from vllm.distributed import init_distributed_environment, initialize_model_parallel, parallel_state
from vllm.model_executor.layers import rotary_embedding
from vllm.model_executor.layers.rotary_embedding.base import RotaryEmbeddingBase
from vllm.model_executor.layers.rotary_embedding.phi3_long_rope_scaled_rope import (
    Phi3LongRoPEScaledRotaryEmbedding,
)
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.model_executor.models import registry

ROTARY = (RotaryEmbeddingBase, Phi3LongRoPEScaledRotaryEmbedding)
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="engines-vllm-"))
OTHER = re.compile("index|vision|visual|audio")
LAYER = re.compile(r"\blayers\.(\d+)\.")


def on_the_cpu(cls):
    """Tables of cos and sin are made on the CPU though the model is on meta."""
    make = cls.__init__

    def instead(self, *given, **more):
        with torch.device("cpu"):
            make(self, *given, **more)

    cls.__init__ = instead


def classes(cls):
    yield cls
    for derived in cls.__subclasses__():
        yield from classes(derived)


def read(config, longest):
    """The VllmConfig of a config without its quantization_config, which does not change the
    rotation and may not run on a CPU."""
    plain = {key: value for key, value in config.items() if key != "quantization_config"}
    (FOLDER / "config.json").write_text(json.dumps(plain))
    found = ModelConfig(
        model=str(FOLDER),
        tokenizer=str(FOLDER),
        skip_tokenizer_init=True,
        dtype="float32",
        enforce_eager=True,
        trust_remote_code=False,
        max_model_len=longest,
    )
    return VllmConfig(
        model_config=found,
        device_config=DeviceConfig(device="cpu"),
        load_config=LoadConfig(load_format="dummy"),
        compilation_config=CompilationConfig(mode=0, custom_ops=["none"]),
    )


def model_of(config, longest):
    rotary_embedding._ROPE_DICT.clear()
    try:
        made = read(config, longest)
    except ValueError as error:
        if "not supported for now" in str(error) or "does not recognize this" in str(error):
            names = config.get("architectures") or [config.get("model_type")]
            raise Absent(f"{names[0]} is not supported") from error
        raise
    with set_current_vllm_config(made):
        start()
        with torch.device("meta"):
            return initialize_model(made), made


def start():
    """One process is the whole group."""
    if torch.distributed.is_initialized():
        return
    address = f"file://{FOLDER}/group"
    init_distributed_environment(1, 0, address, 0, "gloo")
    initialize_model_parallel(1, 1)
    # vLLM makes these groups only if the first model has experts; a later one here may have them.
    for name in ("_EP", "_EPLB"):
        if getattr(parallel_state, name, parallel_state._TP) is None:
            setattr(parallel_state, name, parallel_state._TP)


def matrices(rotary, at):
    """Unit vectors as heads of one query each."""
    width = rotary.head_size
    query = torch.eye(width).repeat(len(at), 1)  # [n × d, d]
    query = query if isinstance(rotary, Phi3LongRoPEScaledRotaryEmbedding) else query[:, None]
    positions = torch.tensor(at).repeat_interleave(width)
    with torch.no_grad():
        rotate = getattr(rotary, "forward_native", rotary.forward)
        turned, _ = rotate(positions, query, query.clone())
    return turned.view(len(at), width, width).permute(0, 2, 1).double().numpy()


def described(rotary, length, longest):
    """At positions up to `longest`, which is vLLM's own limit of a sequence."""
    at = rotation.positions(min(length, longest))
    if at[-1] >= len(getattr(rotary, "cos_sin_cache", range(at[-1] + 1))):
        raise Unmeasured(f"its table of cos and sin ends before position {at[-1]}")
    return rotation.read(matrices(rotary, at), at)


def rotations(config, length, longest):
    """The rotation of each layer, by its number. longest: max_model_len of the engine; None: from
    the config."""
    model, made = model_of(config, longest)
    found, of_layer = {}, {}
    for name, module in model.named_modules(remove_duplicate=False):
        layer = LAYER.search(name)
        if not isinstance(module, ROTARY) or not layer or OTHER.search(name):
            continue
        if id(module) not in found:
            with set_current_vllm_config(made):
                found[id(module)] = described(module, length, made.model_config.max_model_len)
        of_layer[int(layer[1])] = found[id(module)]
    # The class of Llama 4 permutes the weights of q and k when it loads them.
    permuted = any(hasattr(part, "permute_qk_weight_for_rotary") for part in model.modules())
    if not of_layer and "transformers" in type(model).__module__:
        raise Unmeasured("it runs the code of transformers")
    if not of_layer:
        raise Unmeasured("no rotary module in its layers")
    return {layer: (rotated, permuted) for layer, rotated in of_layer.items()}


def measure(config, lengths):
    several = len(lengths) > 1  # an engine started for longer sequences may rotate otherwise
    try:
        found = {n: rotations(config, n, n if several else None) for n in lengths}
    except OSError as error:
        raise Unmeasured("it needs more files than config.json") from error
    except AttributeError as error:
        if "_OpNamespace" in str(error):
            raise Unmeasured("its native library is missing") from error
        raise
    kinds = {}
    permuted = any(moved for _, moved in found[lengths[0]].values())
    for layer in sorted(found[lengths[0]]):
        of_lengths = {str(n): found[n][layer][0] for n in lengths}
        new = {"layers": [], "rotation": of_lengths, "of_modules": True, "permuted": permuted}
        kind = kinds.setdefault(json.dumps(of_lengths), new)
        kind["layers"].append(layer)
    return list(kinds.values())


def prepare():
    """Before the first config."""
    registry._run_in_subprocess = lambda call: call()  # each would import vLLM again
    for cls in [Phi3LongRoPEScaledRotaryEmbedding, *classes(RotaryEmbeddingBase)]:
        if "__init__" in vars(cls):
            on_the_cpu(cls)


if __name__ == "__main__":
    prepare()
    serve(measure)
