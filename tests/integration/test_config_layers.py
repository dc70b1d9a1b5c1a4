# SPDX-License-Identifier: MIT
"""Configs as a whole: each kind of layer, what its attention does, and the towers. Values are those
of the models' code in huggingface/transformers, tag v5.23.0, src/transformers/models/MODEL;
tests/parity compares every model of it."""

import pytest
from test_config import FILES

from service import get, post_json

LLAMA4 = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "num_hidden_layers": 8,
        "head_dim": 128,
        "rope_theta": 500000,
        "attn_temperature_tuning": True,
        "floor_scale": 8192,
        "attn_scale": 0.1,
        "use_qk_norm": False,
        "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0],
        "attention_chunk_size": 8192,
    },
}
# Of each model: its config, and a line for each kind of layer.
MODELS = {
    "gemma2": (
        {
            "model_type": "gemma2",
            "num_hidden_layers": 6,
            "head_dim": 128,
            "query_pre_attn_scalar": 144,
            "sliding_window": 2048,
        },
        [
            "sliding_attention 0 2 4: rope 10000 scale=0.08333 softcap=50 window=2048",
            "full_attention 1 3 5: rope 10000 scale=0.08333 softcap=50",
        ],
    ),
    "gemma3": (
        {"model_type": "gemma3_text", "num_hidden_layers": 8, "head_dim": 256},
        [
            "sliding_attention 0 1 2 3 4 6 7: rope 10000 qk_norm window=4096",
            "full_attention 5: rope 1000000 qk_norm",
        ],
    ),
    "gemma3 with keys": (
        {
            "model_type": "gemma3_text",
            "num_hidden_layers": 4,
            "head_dim": 256,
            "sliding_window_pattern": 2,
            "rope_local_base_freq": 5000,
        },
        [
            "sliding_attention 0 2: rope 5000 qk_norm window=4096",
            "full_attention 1 3: rope 1000000 qk_norm",
        ],
    ),
    "gemma3n": (
        {
            "model_type": "gemma3n_text",
            "num_hidden_layers": 5,
            "head_dim": 256,
            "rope_parameters": {
                "full_attention": {"rope_theta": 1e6},
                "sliding_attention": {"rope_theta": 1e4},
            },
        },
        [
            "sliding_attention 0 1 2 3: rope 10000 qk_norm scale=1 window=512",
            "full_attention 4: rope 1000000 qk_norm scale=1",
        ],
    ),
    "gemma4": (
        {
            "model_type": "gemma4_text",
            "head_dim": 256,
            "global_head_dim": 512,
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 1024,
            "rope_parameters": {
                "full_attention": {
                    "rope_type": "proportional",
                    "rope_theta": 1e6,
                    "partial_rotary_factor": 0.25,
                },
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
        [
            "sliding_attention 0: rope 10000 qk_norm scale=1 window=1024",
            "full_attention 1: rope 1000000 qk_norm scale=1",
        ],
    ),
    "llama4": (
        LLAMA4,
        [
            "chunked_attention 0 1 2 4 5 6: rope 500000 chunk=8192",
            "full_attention 3 7: none temperature=0.1 temperature_length=8192 temperature_offset=1",
        ],
    ),
    "gpt_oss": (
        {"model_type": "gpt_oss", "num_hidden_layers": 4, "sliding_window": 128},
        [
            "sliding_attention 0 2: rope 150000 sinks window=128",
            "full_attention 1 3: rope 150000 sinks",
        ],
    ),
    "qwen2_vl": (
        {
            "model_type": "qwen2_vl",
            "head_dim": 128,
            "num_hidden_layers": 3,
            "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
        },
        ["full_attention 0 1 2: mrope 1000000"],
    ),
    "qwen3_next": (
        {"model_type": "qwen3_next", "num_hidden_layers": 8},
        ["linear_attention 0 1 2 4 5 6: none", "full_attention 3 7: rope 10000 qk_norm"],
    ),
    "qwen2 with windows": (
        {
            "model_type": "qwen2",
            "num_hidden_layers": 4,
            "head_dim": 64,
            "use_sliding_window": True,
            "max_window_layers": 3,
            "sliding_window": 64,
        },
        ["full_attention 0 1 2: rope 10000", "sliding_attention 3: rope 10000 window=64"],
    ),
    "cohere2": (
        {"model_type": "cohere2", "num_hidden_layers": 4, "head_dim": 128},
        ["sliding_attention 0 1 2: rope 10000 window=4096", "full_attention 3: none"],
    ),
    "smollm3": (
        {"model_type": "smollm3", "num_hidden_layers": 4, "head_dim": 128},
        ["full_attention 0 1 2: rope 2000000", "full_attention 3: none"],
    ),
    "exaone4": (
        {
            "model_type": "exaone4",
            "num_hidden_layers": 4,
            "head_dim": 128,
            "sliding_window_pattern": "LLLG",
        },
        [
            "sliding_attention 0 1 2: rope 10000 qk_norm window=4096",
            "full_attention 3: none qk_norm",
        ],
    ),
    "modernbert": (
        {"model_type": "modernbert", "num_hidden_layers": 4, "local_attention": 256},
        [
            "full_attention 0 3: rope 160000 both_ways",
            "sliding_attention 1 2: rope 10000 both_ways window=128",
        ],
    ),
    "granite": (
        {
            "model_type": "granite",
            "num_hidden_layers": 2,
            "head_dim": 128,
            "attention_multiplier": 0.0078125,
        },
        ["- 0 1: rope 10000 scale=0.007812"],
    ),
    "falcon": (
        {"model_type": "falcon", "num_hidden_layers": 1, "alibi": True, "num_attention_heads": 71},
        ["- 0: alibi scales_bias"],
    ),
    "mpt": (
        {
            "model_type": "mpt",
            "n_layers": 2,
            "n_heads": 32,
            "attn_config": {"alibi": True, "softmax_scale": 0.25},
        },
        ["- 0 1: alibi scale=0.25"],
    ),
    "gpt2": (
        {
            "model_type": "gpt2",
            "n_positions": 64,
            "n_embd": 32,
            "n_layer": 2,
            "scale_attn_by_inverse_layer_idx": True,
        },
        ["- 0 1: learned scale_over_layer"],
    ),
    "phi3": (
        {
            "model_type": "phi3",
            "num_hidden_layers": 1,
            "head_dim": 4,
            "sliding_window": 262144,
            "original_max_position_embeddings": 4096,
            "max_position_embeddings": 131072,
            "rope_scaling": {"type": "longrope", "short_factor": [1, 1], "long_factor": [2, 3]},
        },
        ["- 0: rope 10000 window=262144"],
    ),
    "ministral3": (
        {
            "model_type": "ministral3",
            "num_hidden_layers": 1,
            "rope_parameters": {
                "rope_type": "yarn",
                "factor": 16,
                "rope_theta": 1e6,
                "llama_4_scaling_beta": 0.1,
                "original_max_position_embeddings": 16384,
            },
        },
        ["- 0: rope 1000000 temperature=0.1 temperature_length=16384 temperature_offset=0"],
    ),
    "somebody's": (
        {
            "model_type": "somebody",
            "head_dim": 8,
            "rope_theta": 1e4,
            "num_hidden_layers": 2,
            "sliding_window": 4,
        },
        ["- 0 1: rope 10000 window=4"],
    ),
}


def usual_scale(answer, attention):
    dim = answer["encoding"].get("dim", 0)
    return dim and abs(attention.get("scale", 0) * dim**0.5 - 1) < 1e-12


def line(answer, row):
    """What a kind does beside what is usual, in one line."""
    encoding, attention = row["encoding"] or {}, dict(row.get("attention") or {})
    words = [encoding.get("name", "none")] + [f"{encoding['base']:g}" if "base" in encoding else ""]
    words = [word.replace("1e+06", "1000000").replace("2e+06", "2000000") for word in words if word]
    attention.pop("provenance", None)
    if attention.pop("causal", True) is False:
        attention["both_ways"] = True
    if usual_scale(row if encoding else answer, attention):
        del attention["scale"]
    words += sorted(
        key
        if value is True or key == "qk_norm"
        else f"{key}={value:.4g}"
        if isinstance(value, float)
        else f"{key}={value}"
        for key, value in attention.items()
    )
    numbers = " ".join(map(str, row.get("layers", ["?"])))
    return f"{row.get('layer_type', '-')} {numbers}: {' '.join(words)}"


@pytest.mark.parametrize("name", MODELS)
def test_kinds_of_layers(server, name):
    config, lines = MODELS[name]
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    assert [line(answer, row) for row in answer["layers"]] == lines
    for row in answer["layers"]:
        if row["encoding"]:
            assert all(get(server, link).status == 200 for link in row["links"].values())
    assert answer["attention"] in [row["attention"] for row in answer["layers"]]


def test_the_top_is_of_the_usual_kind(server):
    answer = post_json(server, "/v1/config", MODELS["gemma3"][0]).good().json
    (full,) = [row for row in answer["layers"] if row["layer_type"] == "full_attention"]
    assert [answer[key] for key in ("encoding", "links", "attention")] == [
        full[key] for key in ("encoding", "links", "attention")
    ]
    assert "full_attention" in answer["warnings"][0]
    given = post_json(server, "/v1/config", {"config": MODELS["gemma3"][0], "base": 7}).good().json
    assert {row["encoding"]["base"] for row in given["layers"]} == {7}


def test_layers_of_one_type(server):
    """A type may be named where positions do not differ, for attention does."""
    config = MODELS["gemma2"][0]
    answer = post_json(server, "/v1/config", config, layer_type="sliding_attention").good().json
    assert answer["attention"]["window"] == 2048 and "layers" not in answer
    refused = post_json(server, "/v1/config", LLAMA4, layer_type="full_attention")
    assert (refused.status, refused.json["code"]) == (422, "unsupported")
    assert "have no positions" in refused.json["detail"]


def test_scale_of_yarn(server):
    """DeepSeek's code multiplies by mscale squared; its heads have two parts, 128 and 64 wide."""
    answer = post_json(server, "/v1/config", FILES["deepseek-v3"]["config"]).good().json
    assert answer["attention"]["scale"] == pytest.approx(
        192**-0.5 * 1.3688879454113936**2, rel=1e-15
    )
    links = answer["layers"][0]["links"]
    told = get(server, links["frequencies"]).good().json["softmax_scale_multiplier"]
    assert answer["attention"]["scale"] == pytest.approx(192**-0.5 * told, rel=1e-15)


def test_towers(server):
    answer = (
        post_json(
            server,
            "/v1/config",
            {
                "model_type": "pixtral_like",
                "text_config": MODELS["granite"][0],
                "vision_config": {"model_type": "pixtral", "head_dim": 64, "rope_theta": 10000},
                "audio_config": {"model_type": "whisper", "d_model": 16},
                "other_config": {"model_type": "strange"},
                "image_config": {"depth": 2},
                "visual_config": {"model_type": "pixtral_like"},
            },
        )
        .good()
        .json
    )
    vision, audio, other, *nameless = answer["towers"]
    assert [(t["encoding"], "no model_type of its own" in t["reason"]) for t in nameless] == [
        (None, True)
    ] * 2
    assert (vision["part"], vision["encoding"]["name"]) == ("vision_config", "rope-2d")
    assert get(server, vision["links"]["table"]).status == 200
    assert (audio["encoding"]["name"], audio["encoding"]["dim"]) == ("sinusoidal", 16)
    assert other["encoding"] is None and "strange is not known" in other["reason"]
    assert answer["encoding"]["name"] == "rope"


@pytest.mark.parametrize("name", [{}, {"model_type": "qwen2_5_vl"}])
def test_a_tower_goes_by_its_whole(server, name):
    """transformers v5.23.0 makes vision_config by the class of the whole, whatever name it has:
    Qwen2.5-VL's file of 2025 names none, that of olmOCR 2 the whole's."""
    tower = name | {"depth": 32, "hidden_size": 1280, "num_heads": 16, "patch_size": 14}
    answer = (
        post_json(
            server,
            "/v1/config",
            {
                "model_type": "qwen2_5_vl",
                "head_dim": 128,
                "vision_config": tower,
                "audio_config": tower,
            },
        )
        .good()
        .json
    )
    told, sound = (row["encoding"] for row in answer["towers"])
    assert sound is None
    assert (told["name"], told["dim"], told["variant"]) == ("rope-2d", 80, "qwen2-vl")
    assert answer["encoding"]["name"] != "rope-2d"


def plain(encoding):
    """Its parameters, for a view."""
    left_out = ("name", "layout", "arithmetic")
    return {key: value for key, value in encoding.items() if key not in left_out}


def test_the_rotary_of_an_indexer(server):
    """Of the first elements of its heads, or of the last; with the frequencies of its layers."""
    yarn = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096}
    config = {"model_type": "deepseek_v32", "qk_rope_head_dim": 64, "index_head_dim": 96}
    answer = post_json(server, "/v1/config", config | {"rope_scaling": yarn}).good().json
    (other,) = answer["others"]
    assert answer["encoding"]["layout"] == "interleaved" and answer["unused"] == []
    assert (other["where"], other["head_dim"], other["rotated"]) == ("indexer", 96, "first")
    found = other["encoding"]
    assert (found["layout"], found["dim"], found["rotary_dim"]) == ("half", 96, 64)
    views = [
        get(server, "/v1/encodings/rope/frequencies", format="npy", **plain(row)).good().npy
        for row in (answer["encoding"], found)
    ]
    assert (views[0] == views[1]).all()

    rope = {"main": {"rope_theta": 5.0}, "compress": {"rope_theta": 7.0}}
    types = ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"]
    config = {"model_type": "deepseek_v4", "qk_rope_head_dim": 64, "rope_parameters": rope}
    more = {"layer_types": types, "num_hidden_layers": 3}
    answer = post_json(server, "/v1/config", config | more).good().json
    assert [row["encoding"]["base"] for row in answer["layers"]] == [5, 7, 7]
    (other,) = answer["others"]
    assert (other["layer_type"], other["rotated"], other["head_dim"]) == (types[1], "last", 128)
    assert (other["encoding"]["dim"], other["encoding"]["base"]) == (64, 7)
    assert "others" not in post_json(server, "/v1/config", MODELS["gemma2"][0]).good().json


@pytest.mark.parametrize("width", [2, 62, 64, 66, 128])
def test_an_indexer_has_heads_as_wide_as_what_rotates(server, width):
    """Narrower heads cannot have the rotary of the layers, and none is invented."""
    config = {"model_type": "deepseek_v32", "qk_rope_head_dim": 64, "index_head_dim": width}
    others = post_json(server, "/v1/config", config).good().json.get("others", [])
    assert [other["encoding"]["dim"] for other in others] == ([width] if width >= 64 else [])
    assert [other["encoding"].get("rotary_dim", width) for other in others] == (
        [64] if width >= 64 else []
    )


def test_parts_of_parts(server):
    """Every object that is a model of its own is named, at any depth: read, or with the reason."""
    part = {"model_type": "llama", "head_dim": 64}
    config = {
        "model_type": "qwen3_omni_moe",
        "thinker_config": {"text_config": part, "audio_config": {"model_type": "no_such"}},
        "talker_config": {
            "model_type": "talker",
            "text_config": part | {"head_dim": 32},
            "code_predictor_config": part | {"head_dim": 8},
        },
        "encoder": part | {"head_dim": 16},
    }
    rows = post_json(server, "/v1/config", config).good().json["towers"]
    found = {row["part"]: row["encoding"] and row["encoding"]["dim"] for row in rows}
    assert found == {
        "audio_config": None,
        "talker_config": 32,
        "talker_config.code_predictor_config": 8,
        "encoder": 16,
    }
    assert all(row["encoding"] or row["reason"] for row in rows)


def test_keys_that_engines_read_differently(server):
    def readers(**keys):
        config = {"model_type": "llama", "head_dim": 8, "max_position_embeddings": 128} | keys
        return post_json(server, "/v1/config", {"config": config}).good().json.get("readers")

    dynamic = {"type": "dynamic", "factor": 2, "original_max_position_embeddings": 64}
    told = readers(rope_scaling=dynamic)["rope_scaling.type"]
    assert list(told) == ["transformers", "vllm", "llama.cpp"]
    assert all(len(engine["source"].split(", ")) == 3 for engine in told.values())
    assert readers(rope_scaling={"rope_type": "dynamic", "alpha": 1000}) is None
    assert readers(sliding_window=4) is None  # Llama's code reads none
    told = readers(model_type="mistral", sliding_window=4)["sliding_window"]
    assert "all layers see all keys" in told["llama.cpp"]["reads"]
    told = readers(
        rope_parameters={
            "rope_type": "yarn",
            "factor": 2,
            "truncate": False,
            "original_max_position_embeddings": 64,
        }
    )
    assert list(told) == ["rope_parameters.truncate"]


def test_keys_that_are_read_are_not_unused(server):
    answer = post_json(server, "/v1/config", MODELS["gemma2"][0]).good().json
    assert answer["unused"] == []
    assert answer["attention"]["provenance"] == {
        "scale": "query_pre_attn_scalar",
        "softcap": "model_type",
    }


def test_odd_layers(server):
    """Lists and counts of any kind are answered or refused, never believed blindly."""
    base = {"model_type": "llama", "head_dim": 8}
    for keys in (
        {"num_hidden_layers": 10**9},
        {"num_hidden_layers": "2"},
        {"layer_types": []},
        {"layer_types": [3, 4]},
        {"layer_types": "full_attention"},
    ):
        answer = post_json(server, "/v1/config", {"config": base | keys}).good().json
        assert len(answer["layers"]) == 1, keys
    many = {"rope_theta": 5, "head_dim": 8, "layer_types": [f"kind{i}" for i in range(65)]}
    assert post_json(server, "/v1/config", {"config": many}).status == 413
    zero = {"model_type": "qwen3_next", "full_attention_interval": 0}
    assert post_json(server, "/v1/config", {"config": zero}).status in (200, 422)


def test_bases_of_layers(server):
    """A base of 0 is a layer without positions; others than the one that is read are warned of."""
    config = {
        "model_type": "granite_swa",
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "rope_theta": 500,
        "layer_rope_theta": [0, 500, 500, 0],
    }
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    assert [layer["layers"] for layer in answer["layers"] if not layer["encoding"]] == [[0], [3]]
    assert answer["warnings"][1:] == [] and "layer_rope_theta" not in answer["unused"]
    config["layer_rope_theta"][1] = 100
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    assert "layer_rope_theta: layers have bases of their own" in answer["warnings"][-1]


def bases(server, config):
    """The base of each layer by its number, None where it has no positions."""
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    return {
        number: row["encoding"] and row["encoding"]["base"]
        for row in answer["layers"]
        for number in row.get("layers", [row.get("layer_type")])
    }


@pytest.mark.parametrize("top", [None, 500.0, 10000.0, 321.0])
@pytest.mark.parametrize(
    "own", [[321, 321, 321, 321], [321, 0, 0, 0], [0, 0, 0, 321], [0, 321, 321, 0]]
)
def test_a_base_of_layers_is_no_other(server, top, own):
    """It is neither the one at the top nor the default, where they differ."""
    config = {
        "model_type": "granite_swa",
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "layer_rope_theta": own,
    }
    config |= {} if top is None else {"rope_theta": top}
    assert [bases(server, config)[layer] for layer in range(4)] == [base or None for base in own]


SLIDING = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 2,
    "head_dim": 8,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "layer_types": ["sliding_attention", "full_attention"],
}


@pytest.mark.parametrize(
    "keys, expected",
    [
        ({}, (10000, 1000000)),
        ({"rope_theta": 555.0}, (10000, 555)),
        ({"rope_local_base_freq": 777.0}, (777, 1000000)),
        ({"rope_theta": 555.0, "rope_local_base_freq": 777.0}, (777, 555)),
        ({"rope_theta": 777.0, "rope_local_base_freq": 555.0}, (555, 777)),
        (
            {
                "rope_parameters": {
                    "sliding_attention": {"rope_type": "default", "rope_theta": 321.0},
                    "full_attention": {"rope_type": "default", "rope_theta": 654.0},
                }
            },
            (321, 654),
        ),
    ],
)
def test_bases_by_kind_of_attention(server, keys, expected):
    assert tuple(bases(server, SLIDING | keys)[layer] for layer in (0, 1)) == expected


def test_a_scale_of_0_is_told(server):
    config = {"model_type": "gemma2", "query_pre_attn_scalar": 0}
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    assert any("query_pre_attn_scalar is not above 0" in warning for warning in answer["warnings"])
    assert "query_pre_attn_scalar" not in answer["unused"]


@pytest.mark.parametrize(
    "config, key, told",
    [
        ({"model_type": "glm4_moe", "head_dim": 8, "use_qk_norm": True}, "qk_norm", "rms"),
        ({"model_type": "glm4_moe", "head_dim": 8}, "qk_norm", None),
        ({"model_type": "cohere", "use_qk_norm": True}, "qk_norm", "layer"),
        ({"model_type": "stablelm", "qk_layernorm": True}, "qk_norm", "layer"),
        ({"model_type": "llama", "head_dim": 8, "is_causal": False}, "causal", False),
        ({"model_type": "llama", "head_dim": 8, "is_causal": True}, "causal", True),
        ({"model_type": "doge", "head_dim": 8, "sliding_window": 77}, "window", 77),
        (
            {
                "model_type": "gemma3_text",
                "num_hidden_layers": 1,
                "sliding_window": 512,
                "use_bidirectional_attention": True,
            },
            "window",
            256,
        ),
        (
            {
                "model_type": "qwen2_moe",
                "num_hidden_layers": 1,
                "sliding_window": 77,
                "use_sliding_window": True,
                "layer_types": ["sliding_attention"],
            },
            "window",
            77,
        ),
        (
            {
                "model_type": "qwen2_moe",
                "num_hidden_layers": 1,
                "sliding_window": 77,
                "layer_types": ["sliding_attention"],
            },
            "window",
            None,
        ),
        (
            {
                "model_type": "mellum",
                "num_hidden_layers": 1,
                "head_dim": 8,
                "sliding_window": 77,
                "layer_types": ["sliding_attention"],
                "rope_parameters": {"sliding_attention": {"rope_theta": 5.0}},
            },
            "window",
            77,
        ),
    ],
)
def test_switches_that_a_class_leaves_off(server, config, key, told):
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    found = answer["attention"].get(key)
    assert (found["kind"] if isinstance(found, dict) else found) == told
    assert not {"use_qk_norm", "qk_layernorm"} & set(answer["unused"])
