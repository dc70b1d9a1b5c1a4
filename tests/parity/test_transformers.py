# SPDX-License-Identifier: MIT
"""arithmetic=hf against Hugging Face transformers itself, on the CPU.

With the three functions that torch does not define to the last bit correctly rounded (conftest.py)
everything is bit for bit: frequencies of every rope type, cos and sin in every dtype, rotated
queries. With torch's own, what a neighbouring float here and there moves is bounded."""

import base64

import numpy
import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from service import get, post_json, post_tensors, table

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16}
POSITIONS = [0, 1, 2, 3, 5, 17, 255, 4095, 4096, 8191, 131071, 16777215, 16777217, 10_000_000]
BASES = [1e4, 150000.0, 5e5, 1e6, 1e7]
DIMS = [64, 80, 96, 128, 256]
ORIGINAL = {"original_max_position_embeddings": 4096}
LLAMA3 = {
    "rope_type": "llama3",
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
TYPES = {
    "default": {},
    "linear-4": {"rope_type": "linear", "factor": 4.0},
    "linear-3": {"rope_type": "linear", "factor": 3.0},
    "dynamic": {
        "rope_type": "dynamic",
        "factor": 2.5,
        "max_position_embeddings": 4096,
        "seq_len": 9001,
    },
    "llama3-8": {**LLAMA3, "factor": 8.0},
    "llama3-32": {**LLAMA3, "factor": 32.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, **ORIGINAL},
    "yarn-mscale": {
        "rope_type": "yarn",
        "factor": 40.0,
        "mscale": 1.0,
        "mscale_all_dim": 0.707,
        **ORIGINAL,
    },
    "yarn-not-truncated": {"rope_type": "yarn", "factor": 32.0, "truncate": False, **ORIGINAL},
    "yarn-betas": {
        "rope_type": "yarn",
        "factor": 16.0,
        "beta_fast": 16.0,
        "beta_slow": 2.0,
        "attention_factor": 1.25,
        **ORIGINAL,
    },
    "longrope-short": {"rope_type": "longrope", "factor": 32.0, "seq_len": 4096, **ORIGINAL},
    "longrope-long": {"rope_type": "longrope", "factor": 32.0, "seq_len": 4097, **ORIGINAL},
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
    "proportional-8": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "factor": 8.0},
}
ABOUT_THE_MODEL = ("max_position_embeddings", "seq_len")


def scheme(name, dim, base):
    given = {"dim": dim, "base": base, **TYPES[name]}
    if "longrope" in name:
        given["short_factor"] = [1 + 0.013 * i for i in range(dim // 2)]
        given["long_factor"] = [1 + 0.41 * i for i in range(dim // 2)]
    return given


def config_of(given):
    rope = {
        key: value for key, value in given.items() if key not in (*ABOUT_THE_MODEL, "dim", "base")
    }
    rope |= {"rope_theta": given["base"], "rope_type": given.get("rope_type", "default")}
    return LlamaConfig(
        hidden_size=2 * given["dim"],
        num_attention_heads=2,
        head_dim=given["dim"],
        max_position_embeddings=given.get("max_position_embeddings", 131072),
        rope_parameters=rope,
    )


def reference(given):
    """transformers' frequencies and attention factor."""
    config, name = config_of(given), given.get("rope_type", "default")
    if name == "default":
        return LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    return ROPE_INIT_FUNCTIONS[name](config, torch.device("cpu"), seq_len=given.get("seq_len"))


def waves(given, positions, dtype):
    """cos and sin of transformers' own forward pass, one of each pair."""
    module = LlamaRotaryEmbedding(config_of({"dim": given["dim"], "base": given["base"]}))
    module.inv_freq, module.attention_scaling = reference(given)
    x = torch.zeros(1, dtype=dtype)
    both = module.forward(x, torch.tensor([positions]))
    return [wave[0, :, : given["dim"] // 2] for wave in both]


def service_waves(server, given, positions, dtype):
    return [
        table(server, "rope", arithmetic="hf", part=part, dtype=dtype, positions=positions, **given)
        for part in ("cos", "sin")
    ]


def bits(array):
    return numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def ulps(a, b):
    """Floats between two of the same sign."""
    return numpy.abs(bits(a).astype(numpy.int64) - bits(b).astype(numpy.int64))


def service_frequencies(server, given):
    return table(server, "rope", "frequencies", dtype="f32", arithmetic="hf", **given)


@pytest.mark.parametrize("name", TYPES)
def test_frequencies(server, name, rounded_functions):
    for dim in DIMS:
        for base in BASES:
            given = scheme(name, dim, base)
            expected, factor = reference(given)
            assert numpy.array_equal(
                bits(service_frequencies(server, given)), bits(expected.numpy())
            ), (dim, base)
            told = get(server, "/v1/encodings/rope/frequencies", arithmetic="hf", **given).json[
                "attention_factor"
            ]
            assert told == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tables(server, name, dtype, rounded_functions):
    given = scheme(name, 128, 5e5)
    for got, expected in zip(
        service_waves(server, given, POSITIONS, dtype), waves(given, POSITIONS, DTYPES[dtype])
    ):
        assert numpy.array_equal(bits(got), bits(expected.numpy()))


def test_tables_in_bf16(server, rounded_functions):
    given = scheme("yarn", 64, 1e6)
    answer = get(
        server,
        "/v1/encodings/rope/table",
        arithmetic="hf",
        dtype="bf16",
        positions=POSITIONS,
        **given,
    ).good()
    for part, expected in zip(("cos", "sin"), waves(given, POSITIONS, torch.bfloat16)):
        got = numpy.array(answer.json["tensors"][part]["data"], numpy.float32)
        assert numpy.array_equal(bits(got), bits(expected.float().numpy()))


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_rotated_queries(server, dtype, rounded_functions):
    given = scheme("llama3-8", 128, 5e5)
    x = torch.randn(2, 4, 32, 128, generator=torch.Generator().manual_seed(3)).to(DTYPES[dtype])
    cos, sin = (
        torch.cat([wave, wave], -1)[None] for wave in waves(given, range(4000, 4032), DTYPES[dtype])
    )
    expected, _ = apply_rotary_pos_emb(x, x, cos, sin)
    got = post_tensors(
        server,
        "/v1/rotation",
        {"q": x.numpy()},
        encoding="rope",
        axes="bhsd",
        layout="half",
        start=4000,
        arithmetic="hf",
        **given,
    )["q"]
    assert numpy.array_equal(bits(got), bits(expected.numpy()))


@pytest.mark.parametrize("name", TYPES)
def test_torch_as_it_is(server, name):
    """Its power is within an ulp, and no type multiplies that by more than three; an angle then
    differs in its last bits, and cos and sin by as much, besides an ulp of their own."""
    unequal = total = 0
    for dim in DIMS:
        for base in BASES:
            given = scheme(name, dim, base)
            apart = ulps(service_frequencies(server, given), reference(given)[0].numpy())
            assert apart.max() <= 3, (dim, base)
            unequal, total = unequal + (apart > 0).sum(), total + apart.size
    assert unequal <= total / 10
    given = scheme(name, 128, 1e4)
    angles = numpy.abs(numpy.outer(POSITIONS, service_frequencies(server, given)))
    tolerance = 2.0**-22 + 4 * numpy.spacing(angles.astype(numpy.float32))
    for got, expected in zip(
        service_waves(server, given, POSITIONS, "f32"), waves(given, POSITIONS, torch.float32)
    ):
        assert (numpy.abs(got - expected.numpy()) <= 1.5 * tolerance).all()


@pytest.mark.parametrize("name", TYPES)
def test_torch_lies_within_tolerances(server, name):
    """cos and sin of the model's own class in three dtypes, by what each may be off."""
    positions = [t for t in POSITIONS if t < 2**24] + list(range(99000, 99100))
    for way, dtype in (("f32-angle", "f32"), ("bf16-cache", "bf16"), ("f16-q", "f16")):
        given = scheme(name, 128, 5e5)
        values = torch.stack(waves(given, positions, {**DTYPES, "bf16": torch.bfloat16}[dtype]))
        raw = base64.b64encode(values.contiguous().view(torch.uint8).numpy()).decode()
        report = (
            post_json(
                server,
                "/v1/comparison",
                {
                    "a": {"name": "rope", **given},
                    "b": "tensor:t",
                    "positions": positions,
                    "tensors": {"t": {"dtype": dtype, "shape": list(values.shape), "base64": raw}},
                    "tolerance_of": way,
                },
            )
            .good()
            .json["tolerance"]
        )
        assert (report["outside"], report["first_outside"]) == (0, None)
        assert report["used"] < 0.75 or name.startswith("proportional")
