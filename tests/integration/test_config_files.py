# SPDX-License-Identifier: MIT
"""Files that hold a config in another way than config.json, by every way in which a file can be
posted; and keys whose meaning is positions that no encoding here describes."""

import json
from decimal import Decimal

import numpy
import pytest

from service import call, get, post_json

MISTRAL = {  # mistralai/Ministral-3-3B-Instruct-2512, params.json
    "dim": 3072,
    "n_layers": 26,
    "head_dim": 128,
    "hidden_dim": 9216,
    "n_heads": 32,
    "n_kv_heads": 8,
    "rope_theta": 1000000.0,
    "norm_eps": 1e-05,
    "vocab_size": 131072,
    "tied_embeddings": True,
    "max_position_embeddings": 262144,
    "llama_4_scaling": {"original_max_position_embeddings": 16384, "beta": 0.1},
    "q_lora_rank": None,
    "qk_rope_head_dim": None,
    "model_parallel": 1,
    "yarn": {
        "original_max_position_embeddings": 16384,
        "factor": 16,
        "apply_scale": False,
        "beta": 32,
        "alpha": 1,
    },
    "vision_encoder": {"hidden_size": 1024, "rope_theta": 10000.0, "patch_size": 14},
}
MLC = {  # mlc-ai/Llama-3.2-1B-Instruct-q4f16_1-MLC, mlc-chat-config.json
    "model_type": "llama",
    "quantization": "q4f16_1",
    "context_window_size": 131072,
    "sliding_window_size": -1,
    "prefill_chunk_size": 8192,
    "vocab_size": 128256,
    "model_config": {
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "num_hidden_layers": 16,
        "position_embedding_base": 500000.0,
        "head_dim": 64,
        "rope_scaling": {
            "factor": 32.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "rope_type": "llama3",
            "original_max_position_embeddings": 8192,
        },
    },
}
OLMO = {
    "model_type": "hf_olmo",
    "alibi": True,
    "rope": False,
    "alibi_bias_max": 4.0,
    "d_model": 4096,
    "n_heads": 32,
    "n_layers": 32,
}
JAIS = {
    "model_type": "jais",
    "position_embedding_type": "alibi",
    "n_embd": 5120,
    "n_head": 40,
    "n_layer": 40,
    "scale_qk_dot_by_d": True,
    "alibi_scaling": None,
    "n_positions": 2048,
}
BARE = {"rope_theta": 50000.0, "n_heads": 4, "d_model": 64}  # no key tells whose it is
CHATGLM = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "inner_hidden_size": 16384,
    "num_layers": 28,
    "position_encoding_2d": True,
}
FILES = {
    "mistral": MISTRAL,
    "mlc": MLC,
    "olmo": OLMO,
    "jais": JAIS,
    "bare": BARE,
    "chatglm": CHATGLM,
    "diffusers": {
        "_class_name": "FluxTransformer2DModel",
        "attention_head_dim": 128,
        "rope_theta": 10000,
    },
}


def read(server, name):
    return post_json(server, "/v1/config", {"config": FILES[name]}).good().json


@pytest.mark.parametrize("name", FILES)
def test_one_answer_by_every_way(server, name):
    """As the body itself, which is how the command and curl post a file, within an object as
    Python does, and as text in the query."""
    text = json.dumps(FILES[name])
    within = post_json(server, "/v1/config", {"config": FILES[name]})
    bare = call(server, "POST", "/v1/config", text, {"Content-Type": "application/json"})
    query = call(server, "POST", "/v1/config", config=text)
    assert within.status == bare.status == query.status
    for key in ("encoding", "provenance", "warnings", "unused", "layers", "detail"):
        assert within.json.get(key) == bare.json.get(key) == query.json.get(key), key


def test_params_of_mistral(server):
    """As config.json has the same model: only the width of a scale that is 1 is told otherwise."""
    answer = read(server, "mistral")
    told = answer["encoding"]
    assert {
        key: told[key]
        for key in (
            "dim",
            "base",
            "rope_type",
            "factor",
            "beta_fast",
            "beta_slow",
            "attention_factor",
            "original_max_position_embeddings",
        )
    } == {
        "dim": 128,
        "base": 1000000,
        "rope_type": "yarn",
        "factor": 16,
        "beta_fast": 32,
        "beta_slow": 1,
        "attention_factor": 1,
        "original_max_position_embeddings": 16384,
    }
    assert answer["attention"]["temperature"] == 0.1
    assert answer["attention"]["temperature_length"] == 16384
    rope = {
        "rope_type": "yarn",
        "rope_theta": 1000000.0,
        "factor": 16.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 16384,
    }
    other = (
        post_json(
            server,
            "/v1/config",
            {"model_type": "ministral3", "head_dim": 128, "rope_parameters": rope},
        )
        .good()
        .json
    )
    frequencies = [
        get(server, one["links"]["frequencies"] + "&dtype=f64").good().json
        for one in (answer, other)
    ]
    a, b = (numpy.array(one["tensors"]["inv_freq"]["data"]) for one in frequencies)
    assert numpy.array_equal(a, b)
    assert frequencies[0]["attention_factor"] == frequencies[1]["attention_factor"] == 1


def test_config_of_mlc(server):
    answer = read(server, "mlc")
    assert answer["encoding"]["base"] == 500000 and answer["encoding"]["dim"] == 64
    assert answer["encoding"]["rope_type"] == "llama3" and answer["encoding"]["factor"] == 32
    assert answer["provenance"]["base"] == "model_config.position_embedding_base"
    assert answer["warnings"] == [] and len(answer["layers"][0]["layers"]) == 16


def test_slopes_of_olmo(server):
    """By its formula, for every number of heads; the encoding is taken as it is answered."""
    for heads in range(1, 41):
        for most in (None, 4.0, 12.5):
            config = {key: at for key, at in OLMO.items() if key != "alibi_bias_max"}
            config |= {"n_heads": heads, "d_model": 64 * heads}
            config |= {"alibi_bias_max": most} if most else {}
            answer = post_json(server, "/v1/config", {"config": config}).good().json
            encoding, posted = answer["encoding"], answer["encoding"] | {"name": "alibi"}
            power = heads & (heads - 1) == 0
            slopes = [
                float(Decimal(2) ** (-Decimal(most or 8) * i / heads)) for i in range(1, heads + 1)
            ]
            assert encoding.get("slopes") == (None if power else slopes), (heads, most)
            assert answer["warnings"] == [], (heads, most)
            name, given = posted.pop("name"), {"query_length": 1, "key_length": 2, "dtype": "f64"}
            bias = get(server, f"/v1/encodings/{name}/bias", format="npy", **given, **posted).good()
            assert numpy.allclose(bias.npy[:, 0, 0], [-slope for slope in slopes], rtol=1e-15)


def test_slopes_of_more_heads_than_any_model_has_are_refused(server):
    for heads, status in ((1023, 200), (1025, 413), (2048, 200)):
        answer = server.post("/v1/config", json=OLMO | {"n_heads": heads, "d_model": 64 * heads})
        assert answer.status_code == status, (heads, answer.text)
        assert status == 200 or answer.json()["errors"][0]["pointer"] == "/n_heads"


def test_biases_of_olmo_and_jais(server):
    olmo, jais = read(server, "olmo"), read(server, "jais")
    assert olmo["encoding"] == {"name": "alibi", "heads": 32, "alibi_bias_max": 4}
    assert jais["encoding"] == {"name": "alibi", "heads": 40, "alibi_bias_max": 8}
    assert jais["attention"]["scale"] == 1 / 128 and jais["warnings"] == []
    scaled = {**JAIS, "alibi_scaling": {"type": "linear", "factor": 4.0}}
    refused = post_json(server, "/v1/config", {"config": scaled})
    assert refused.status == 422
    assert refused.json["errors"][0]["pointer"] == "/config/alibi_scaling"


@pytest.mark.parametrize(
    "config, key",
    [
        (CHATGLM, "position_encoding_2d"),
        (
            {"model_type": "kimi_linear", "qk_rope_head_dim": 64, "mla_use_nope": True},
            "mla_use_nope",
        ),
        (
            {"model_type": "newer", "rope_theta": 5, "head_dim": 8, "mla_use_nope": True},
            "mla_use_nope",
        ),
        (
            {
                "model_type": "git",
                "architectures": ["Grok1ForCausalLM"],
                "rope_type": "original",
                "scaling_factor": 16.0,
                "rope_theta": 208533496,
                "head_dim": 128,
            },
            "rope_type",
        ),
    ],
)
def test_positions_of_another_kind(server, config, key):
    refused = post_json(server, "/v1/config", {"config": config})
    assert (refused.status, refused.json["code"]) == (422, "unsupported")
    assert refused.json["errors"][0]["pointer"] == f"/config/{key}"


@pytest.mark.parametrize("model", ["kimi_linear", "nemotron_h", "jamba", "talkie"])
def test_models_of_another_kind(server, model):
    config = {"model_type": model, "rope_theta": 10000, "head_dim": 64}
    refused = post_json(server, "/v1/config", {"config": config})
    assert (refused.status, refused.json["code"]) == (422, "unsupported")
    assert refused.json["detail"].startswith(f"{model}: ")


def test_positions_name_the_keys_that_they_take(server):
    """Ids are counted by single keys of a config, and a config is no tensor."""
    body = {"config": {"model_type": "qwen2_vl", "hidden_size": 64}, "length": 3}
    detail = post_json(server, "/v1/positions", body).json["detail"]
    assert "spatial_merge_size" in detail and "tensors" not in detail
