# SPDX-License-Identifier: MIT
"""Configs of models as others published them; tests/data/configs names where. Each answer, line by
line, and against numpy what its links lead to."""

import itertools
import json
import pathlib

import numpy
import pytest

from service import get, inv_freq, post_json, post_tensors, rotated

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "configs"
FILES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
HALF, INTERLEAVED = {"layout": "half"}, {"layout": "interleaved"}


def rope(dim, base, layout=None, **rest):
    plain = {
        "name": "rope",
        "dim": dim,
        "base": base,
        "rope_type": "default",
        "arithmetic": "exact",
    }
    return plain | (layout or {}) | rest


YARN = {"rope_type": "yarn", "truncate": True}
LONG = "max_position_embeddings"
ORIGINAL = "original_max_position_embeddings"

# The encoding of each file, read by eye; None: this version does not have the one described.
EXPECTED = {
    "bloom-3b": {"name": "alibi", "heads": 32, "alibi_bias_max": 8},
    "chatglm2-6b": rope(128, 10000, INTERLEAVED, partial_rotary_factor=0.5, **{LONG: 32768}),
    "command-r": rope(128, 8000000, INTERLEAVED, **{LONG: 8192}),
    "deepseek-v3": rope(
        64,
        10000,
        INTERLEAVED,
        **YARN,
        factor=40,
        beta_fast=32,
        beta_slow=1,
        mscale=1,
        mscale_all_dim=1,
        **{LONG: 163840, ORIGINAL: 4096},
    ),
    "devstral-small-2": rope(
        128,
        100000000,
        HALF,
        **YARN,
        factor=48,
        beta_fast=32,
        beta_slow=1,
        mscale=1,
        mscale_all_dim=1,
        **{LONG: 393216, ORIGINAL: 8192},
    ),
    "exaone-4.0": rope(
        128,
        1000000,
        HALF,
        rope_type="llama3",
        factor=16,
        low_freq_factor=1,
        high_freq_factor=4,
        **{LONG: 131072, ORIGINAL: 8192},
    ),
    "glm-4.5": rope(128, 1000000, HALF, partial_rotary_factor=0.5, **{LONG: 131072}),
    "gpt-j-6b": rope(256, 10000, rotary_dim=64, **{LONG: 2048}),
    "gpt-oss-120b": rope(
        64,
        150000,
        HALF,
        **YARN | {"truncate": False},
        factor=32,
        beta_fast=32,
        beta_slow=1,
        **{LONG: 131072, ORIGINAL: 4096},
    ),
    "gpt2": {"name": "learned", "length": 1024, "dim": 768},
    "kimi-k2": rope(
        64,
        50000,
        **YARN,
        factor=32,
        beta_fast=1,
        beta_slow=1,
        mscale=1,
        mscale_all_dim=1,
        **{LONG: 131072, ORIGINAL: 4096},
    ),
    "lfm2.5-vl": rope(64, 1000000, HALF, **{LONG: 128000}),
    "llama-3.1": rope(
        128,
        500000,
        HALF,
        rope_type="llama3",
        factor=8,
        low_freq_factor=1,
        high_freq_factor=4,
        **{LONG: 131072, ORIGINAL: 8192},
    ),
    "minilm-l6": {"name": "learned", "length": 512, "dim": 384},
    "mistral-7b-v0.3": rope(128, 1000000, HALF, **{LONG: 32768}),
    "phi-1": rope(64, 10000, HALF, partial_rotary_factor=0.5, **{LONG: 2048}),
    "phi-4": rope(128, 250000, HALF, **{LONG: 16384}),
    "qwen2.5-7b": rope(128, 1000000, HALF, **{LONG: 32768}),
    "qwen3-8b": rope(128, 1000000, HALF, **{LONG: 40960}),
}
EXPECTED |= {  # old names of keys, odd sizes, scaling in use
    "aya-23": rope(128, 10000, INTERLEAVED, **{LONG: 8192}),
    "chatglm3-6b": rope(128, 10000, INTERLEAVED, partial_rotary_factor=0.5, **{LONG: 8192}),
    "codellama-7b": rope(128, 1000000, HALF, **{LONG: 16384}),
    "deepseek-v2-lite": rope(
        64,
        10000,
        INTERLEAVED,
        **YARN,
        factor=40,
        beta_fast=32,
        beta_slow=1,
        mscale=0.707,
        mscale_all_dim=0.707,
        **{LONG: 163840, ORIGINAL: 4096},
    ),
    "devstral-2-123b": rope(
        128,
        1000000,
        HALF,
        **YARN,
        factor=64,
        beta_fast=4,
        beta_slow=1,
        mscale=1,
        mscale_all_dim=0,
        **{LONG: 262144, ORIGINAL: 4096},
    ),
    "exaone-4.5-33b": rope(
        128,
        1000000,
        HALF,
        rope_type="llama3",
        factor=16,
        low_freq_factor=1,
        high_freq_factor=4,
        **{LONG: 262144, ORIGINAL: 8192},
    ),
    "flot": rope(64, 10000, INTERLEAVED, **{LONG: 32768}),
    "internlm-7b": rope(128, 10000, HALF, **{LONG: 2048}),
    "internlm2.5-7b": rope(128, 1000000, HALF, rope_type="dynamic", factor=2, **{LONG: 32768}),
    "llama-3.2-1b": rope(
        64,
        500000,
        HALF,
        rope_type="llama3",
        factor=32,
        low_freq_factor=1,
        high_freq_factor=4,
        **{LONG: 131072, ORIGINAL: 8192},
    ),
    "llama-3.2-90b-vision": rope(
        128,
        500000,
        HALF,
        rope_type="llama3",
        factor=8,
        low_freq_factor=1,
        high_freq_factor=4,
        **{LONG: 131072, ORIGINAL: 8192},
    ),
    "llava-1.5-7b": rope(128, 10000, HALF, **{LONG: 4096}),
    "minicpm-2b-128k": rope(64, 1000000, HALF, rope_type="dynamic", factor=4, **{LONG: 65536}),
    "ministral-3-3b": rope(
        128,
        1000000,
        HALF,
        **YARN,
        factor=16,
        beta_fast=32,
        beta_slow=1,
        mscale=1,
        mscale_all_dim=1,
        **{LONG: 262144, ORIGINAL: 16384},
    ),
    "olmo-2-32b": rope(128, 500000, HALF, **{LONG: 4096}),
    "olmocr-2-7b-tower": {
        "name": "rope-2d",
        "dim": 80,
        "base": 10000,
        "variant": "qwen2-vl",
        "layout": "half",
    },
    "orion-14b": rope(128, 10000, HALF, **{LONG: 4096}),
    "phi-1.5-msft": rope(64, 10000, HALF, rotary_dim=32, **{LONG: 2048}),
    "qwen-1.8b": rope(128, 10000, HALF, partial_rotary_factor=1, **{LONG: 8192}),
    "qwen-7b-dynamic": rope(128, 10000, partial_rotary_factor=1, **{LONG: 6144}),
    "qwen2-0.5b": rope(64, 1000000, HALF, **{LONG: 32768}),
    "redpajama-3b": rope(80, 10000, HALF, partial_rotary_factor=1, **{LONG: 2048}),
    "smollm-360m": rope(64, 10000, HALF, **{LONG: 2048}),
    "smollm2-135m": rope(64, 100000, HALF, **{LONG: 8192}),
    "stablelm-3b": rope(80, 10000, HALF, partial_rotary_factor=0.25, **{LONG: 4096}),
    "starcoder2-7b": rope(128, 1000000, HALF, **{LONG: 16384}),
    "voxtral-mini-3b": rope(128, 100000000, HALF, **{LONG: 131072}),
}
LAYERS = {
    ("gemma-3-1b", "full_attention"): rope(256, 1000000, HALF, **{LONG: 32768}),
    ("gemma-3-1b", "sliding_attention"): rope(256, 10000, HALF, **{LONG: 32768}),
    ("gemma-3-27b", "full_attention"): rope(128, 1000000, HALF, rope_type="linear", factor=8),
    ("gemma-3-27b", "sliding_attention"): rope(128, 10000, HALF),
    ("olmo-3.1", "full_attention"): rope(
        128,
        500000,
        HALF,
        **YARN,
        factor=8,
        beta_fast=32,
        beta_slow=1,
        attention_factor=1.2079441541679836,
        **{LONG: 65536, ORIGINAL: 8192},
    ),
    ("olmo-3.1", "sliding_attention"): rope(128, 500000, HALF, **{LONG: 65536}),
}
# The encoding a file asks for; offered or refused by that name, as the version has it.
BEYOND = {
    "gpt-neox": ("rope", "dynamic", {"dim": 128, "factor": 2, "base": 10000}),
    "phi-3.5-vision": ("rope", "longrope", {"dim": 96, "base": 10000, ORIGINAL: 4096}),
    "phi-4-mini": ("rope", "longrope", {"dim": 128, "partial_rotary_factor": 0.75, ORIGINAL: 4096}),
    "olmocr-2-7b": ("mrope", None, {"dim": 128, "base": 1000000, "mrope_section": [16, 24, 24]}),
    "phi-3.5-mini": ("rope", "longrope", {"dim": 96, "base": 10000, ORIGINAL: 4096}),
    "qwen3.5-397b": ("mrope", None, {"dim": 256, "base": 10000000, "mrope_section": [11, 11, 10]}),
    "qwen2.5-vl": ("mrope", None, {"dim": 128, "base": 1000000, "mrope_section": [16, 24, 24]}),
    "qwen3.5": ("mrope", None, {"dim": 256, "base": 10000000, "mrope_section": [11, 11, 10]}),
    "t5-small": ("t5", None, {"num_buckets": 32, "max_distance": 128}),
}


def read(server, name, **parameters):
    return post_json(server, "/v1/config", FILES[name]["config"], **parameters)


def test_every_file_is_here_and_has_a_source():
    several = {name for name, _ in LAYERS}
    assert set(FILES) == set(EXPECTED) | several | set(BEYOND) | {"bert-large-2018"}
    families = {f["config"].get("model_type") for f in FILES.values()}
    assert len(families) >= 20
    for name, file in FILES.items():
        assert file["repository"] and file["path"] and file["commit"], name


@pytest.mark.parametrize("name", EXPECTED)
def test_known_models(server, name):
    answer = read(server, name).good().json
    assert answer["encoding"] == EXPECTED[name]
    assert set(answer["provenance"]) == set(answer["encoding"]) - {"name"}
    for link in answer["links"].values():
        assert get(server, link).status == 200, link
    assert bool(answer["links"]) == (answer["encoding"]["name"] != "learned")


@pytest.mark.parametrize("name, layer", LAYERS)
def test_layers_that_differ(server, name, layer):
    assert read(server, name, layer_type=layer).good().json["encoding"] == LAYERS[name, layer]
    refused = read(server, name, layer_type="other")
    assert refused.status == 422
    assert refused.json["errors"][0]["parameter"] == "layer_type"
    assert all(f"{other}" in refused.json["detail"] for n, other in LAYERS if n == name)
    rows = read(server, name).good().json["layers"]
    (row,) = [row for row in rows if row["layer_type"] == layer]
    assert row["encoding"] == LAYERS[name, layer]


@pytest.mark.parametrize("name", BEYOND)
def test_what_a_version_may_lack(server, name):
    encoding, rope_type, values = BEYOND[name]
    answer = read(server, name)
    if answer.status == 422:
        assert answer.json["code"] == "unsupported"
        assert (rope_type or encoding) in answer.json["detail"]
        return
    told = answer.good().json["encoding"]
    assert told["name"] == encoding
    assert rope_type is None or told["rope_type"] == rope_type
    assert {key: told[key] for key in values} == values


# Keys as these models' own code reads them; the model, what its config says, what comes of it.
READ = [
    (
        "chatglm",
        {"rope_ratio": 500, "kv_channels": 128, "original_rope": True},
        rope(128, 5000000, INTERLEAVED, partial_rotary_factor=0.5),
    ),
    (
        "chatglm",
        {"kv_channels": 128, "original_rope": False},
        rope(128, 10000, HALF, partial_rotary_factor=0.5),
    ),
    (
        "nomic_bert",
        {
            "n_embd": 768,
            "n_head": 12,
            "rotary_emb_fraction": 0.5,
            "rotary_emb_base": 1000,
            "rotary_emb_interleaved": False,
        },
        rope(64, 1000, HALF, partial_rotary_factor=0.5),
    ),
    (
        "sam2_video",
        {
            "memory_attention_hidden_size": 64,
            "memory_attention_downsample_rate": 2,
            "memory_attention_num_attention_heads": 4,
        },
        {"name": "rope-2d", "dim": 8, "base": 10000, "variant": "axial", "layout": "interleaved"},
    ),
    (
        "dbrx",
        {"d_model": 6144, "n_heads": 48, "attn_config": {"rope_theta": 500000}},
        rope(128, 500000, HALF),
    ),
    (
        "marian",
        {"d_model": 512},
        {
            "name": "sinusoidal",
            "dim": 512,
            "base": 10000,
            "layout": "concatenated",
            "spacing": "paper",
        },
    ),
    (
        "m2m_100",
        {"d_model": 1024},
        {
            "name": "sinusoidal",
            "dim": 1024,
            "base": 10000,
            "layout": "concatenated",
            "spacing": "endpoint",
        },
    ),
    (
        "deberta-v2",
        {"position_buckets": 256, "max_relative_positions": -1, "max_position_embeddings": 512},
        {
            "name": "deberta-log",
            "position_buckets": 256,
            "max_relative_positions": 512,
            "direction": "i-j",
        },
    ),
    (
        "albert",
        {"embedding_size": 128, "hidden_size": 768, "max_position_embeddings": 512},
        {"name": "learned", "length": 512, "dim": 128},
    ),
    (
        "esm",
        {"position_embedding_type": "rotary", "hidden_size": 320, "num_attention_heads": 20},
        rope(16, 10000, HALF),
    ),
    (
        "esm",
        {
            "position_embedding_type": "absolute",
            "hidden_size": 320,
            "max_position_embeddings": 1026,
        },
        {"name": "learned", "length": 1026, "dim": 320},
    ),
]


@pytest.mark.parametrize("model, keys, wanted", READ)
def test_keys_of_models(server, model, keys, wanted):
    answer = post_json(server, "/v1/config", {"config": {"model_type": model} | keys}).good().json
    assert answer["encoding"] == wanted
    assert not set(keys) & set(answer["unused"]) - {"max_relative_positions", "hidden_size"}


def test_a_key_that_may_be_about_positions_is_told(server):
    config = {"model_type": "llama", "head_dim": 8, "rope_twist": 3, "rotary_flavour": None}
    answer = post_json(server, "/v1/config", {"config": config}).good().json
    assert answer["warnings"] == ["rope_twist is not read, and may be about positions"]


def test_nothing_about_positions(server):
    answer = read(server, "bert-large-2018")
    assert (answer.status, answer.json["code"]) == (422, "unsupported")


# What tells which layers there are, and switches and numbers of what attention does not do there.
READ_OF_LAYERS = (
    "num_hidden_layers n_layer n_layers layer_types sliding_window_pattern use_sliding_window "
    "max_window_layers scale_attn_weights scale_attn_by_inverse_layer_idx rms_norm_eps norm_eps "
    "layer_norm_eps use_qk_norm qk_layernorm qk_nope_head_dim no_rope_layers softmax_scale",
)


def test_each_key_is_read_or_told(server):
    """Every key of the text part and of the top is unused, or a value came from it, or it is null,
    or the model's name: nothing is dropped without a word."""
    for name in EXPECTED:
        config, answer = FILES[name]["config"], read(server, name).good().json
        text = config.get("text_config", config)
        words = " ".join(
            [
                *answer["provenance"].values(),
                *answer["warnings"],
                *READ_OF_LAYERS,
                *(
                    word
                    for row in answer["layers"]
                    if row["attention"]
                    for word in row["attention"].get("provenance", {}).values()
                ),
            ]
        )
        unused = {path.split(".")[-1] for path in answer["unused"]}
        for key, value in (*config.items(), *text.items()):
            assert (
                key in unused
                or key in words
                or value is None
                or key in ("model_type", "text_config", "rotary", "position_embedding_type")
            ), key


def test_provenance(server):
    told = read(server, "llama-3.1").json["provenance"]
    assert told["base"] == "rope_theta" and told["factor"] == "rope_scaling.factor"
    assert told["dim"] == "hidden_size / num_attention_heads" and told["layout"] == "model_type"
    told = read(server, "lfm2.5-vl").json["provenance"]
    assert told["base"] == "text_config.rope_parameters.rope_theta"
    body = {"config": FILES["llama-3.1"]["config"], "rope_type": "linear", "factor": 2}
    answer = post_json(server, "/v1/config", body).good().json
    assert answer["encoding"] == rope(
        128, 500000, HALF, rope_type="linear", factor=2, **{LONG: 131072}
    )
    assert answer["provenance"]["factor"] == answer["provenance"]["rope_type"] == "request"
    assert len(answer["warnings"]) == 3  # llama3's own three mean nothing to linear


def test_views_take_a_config(server):
    config = json.dumps(FILES["mistral-7b-v0.3"]["config"])
    answer = get(server, "/v1/encodings/rope/frequencies", config=config, dtype="f64").good().json
    assert numpy.allclose(answer["tensors"]["inv_freq"]["data"], inv_freq(128, 1e6), rtol=1e-14)
    whole = (
        post_json(
            server,
            "/v1/encodings/rope/frequencies",
            FILES["mistral-7b-v0.3"]["config"],
            dtype="f64",
        )
        .good()
        .json
    )
    inside = (
        post_json(
            server,
            "/v1/encodings/rope/frequencies",
            {"config": FILES["mistral-7b-v0.3"]["config"], "dtype": "f64"},
        )
        .good()
        .json
    )
    assert whole == inside == answer
    other = get(server, "/v1/encodings/rope/frequencies", config=config, base=7).good().json
    assert other["encoding"]["base"] == 7
    refused = get(server, "/v1/encodings/alibi/bias", config=config, query_length=1, key_length=1)
    assert refused.status == 422 and "rope" in refused.json["detail"]


@pytest.mark.parametrize("name", ["mistral-7b-v0.3", "command-r", "glm-4.5"])
def test_rotation_takes_a_config(server, name):
    """The encoding, its width, its part and its layout, all from the file; both ways to send it."""
    expected, config = EXPECTED[name], FILES[name]["config"]
    x = numpy.random.default_rng(1).standard_normal((1, 2, 5, 128)).astype(numpy.float32)
    turned = post_tensors(
        server, "/v1/rotation", {"q": x}, axes="bhsd", start=3, config=json.dumps(config)
    )["q"]
    part = int(128 * expected.get("partial_rotary_factor", 1))
    by_hand = rotated(x, numpy.arange(3, 8), expected["layout"], part, expected["base"])
    assert numpy.abs(turned - by_hand).max() < 1e-5
    body = {
        "config": config,
        "axes": "bhsd",
        "positions": {"start": 3},
        "tensors": {"q": {"data": x.tolist()}},
    }
    answer = post_json(server, "/v1/rotation", body).good().json
    assert numpy.array_equal(numpy.float32(answer["tensors"]["q"]["data"]), turned)
    assert answer["encoding"]["layout"] == expected["layout"]
    narrow = {"q": {"data": x[..., :64].tolist()}}
    assert post_json(server, "/v1/rotation", body | {"tensors": narrow}).status == 422


def test_a_layout_that_is_not_known_is_asked_for(server):
    body = {
        "config": FILES["kimi-k2"]["config"],
        "axes": "sd",
        "positions": [0],
        "tensors": {"q": {"data": [[0.0] * 64]}},
    }
    refused = post_json(server, "/v1/rotation", body)
    assert refused.status == 422 and refused.json["errors"][0]["parameter"] == "layout"
    assert post_json(server, "/v1/rotation", body | {"layout": "half"}).status == 200


LLAMA = FILES["llama-3.1"]["config"]
WRONG = [
    ({}, {}, "missing-parameter", "config"),
    ({"config": 1}, {}, "invalid-parameter", "/config"),
    ({"config": "{"}, {}, "malformed", "config"),
    ({"config": "[1]"}, {}, "invalid-parameter", "config"),
    ({"config": LLAMA}, {"config": "{}"}, "conflicting-parameters", "config"),
    (LLAMA, {"layer_type": "full_attention"}, "conflicting-parameters", "layer_type"),
    (LLAMA, {"strict": "maybe"}, "invalid-parameter", "strict"),
    (LLAMA, {"bse": 2}, "unknown-parameter", "bse"),
    (LLAMA, {"base": 1}, "out-of-range", "base"),
    (LLAMA | {"rope_theta": "1e4"}, {}, "invalid-parameter", "/rope_theta"),
    (LLAMA | {"rope_theta": True}, {}, "invalid-parameter", "/rope_theta"),
    (LLAMA | {"rope_theta": [1]}, {}, "invalid-parameter", "/rope_theta"),
    (LLAMA | {"rope_theta": 1}, {}, "out-of-range", "/rope_theta"),
    (LLAMA | {"rope_theta": 1e31}, {}, "out-of-range", "/rope_theta"),
    (LLAMA | {"head_dim": 7}, {}, "out-of-range", "dim"),
    (LLAMA | {"head_dim": 7.5}, {}, "invalid-parameter", "/head_dim"),
    (LLAMA | {"head_dim": -128}, {}, "out-of-range", "/head_dim"),
    (LLAMA | {"num_attention_heads": 0}, {}, "invalid-parameter", "/hidden_size"),
    (LLAMA | {"num_attention_heads": 33}, {}, "invalid-parameter", "/hidden_size"),
    (LLAMA | {"num_attention_heads": None, "model_type": "x"}, {}, "missing-parameter", "dim"),
    (LLAMA | {"rope_scaling": "linear"}, {}, "invalid-parameter", "/rope_scaling"),
    (LLAMA | {"rope_scaling": {"type": "x"}}, {}, "unsupported", "/rope_scaling/type"),
    (LLAMA | {"rope_scaling": {"type": 3}}, {}, "invalid-parameter", "/rope_scaling/type"),
    (LLAMA | {"rope_scaling": {"type": "linear"}}, {}, "missing-parameter", "factor"),
    (
        LLAMA | {"model_type": "x", "rotary_dim": 64, "partial_rotary_factor": 0.25},
        {},
        "conflicting-parameters",
        "partial_rotary_factor",
    ),
    (
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 2, "llama_5": 1}},
        {"strict": True},
        "unknown-parameter",
        "/rope_scaling/llama_5",
    ),
    (
        {"model_type": "bert", "position_embedding_type": "relative_key"},
        {},
        "unsupported",
        "/position_embedding_type",
    ),
    (
        {"model_type": "gpt2", "n_positions": -1, "n_embd": 2},
        {},
        "invalid-parameter",
        "/n_positions",
    ),
    ({"model_type": "gpt2", "n_embd": 2}, {}, "missing-parameter", "config"),
    ({"model_type": "bloom", "n_head": 1.5}, {}, "invalid-parameter", "/n_head"),
]


# The same config in each place of a request: a body, and a query.
PLACES = {
    "body": (LLAMA, {}),
    "member": ({"config": LLAMA}, {}),
    "text": ({"config": json.dumps(LLAMA)}, {}),
    "query": ({}, {"config": json.dumps(LLAMA, indent=1)}),
}


@pytest.mark.parametrize("route", ["config", "lint", "extend"])
def test_a_config_in_two_places_is_refused(server, route):
    to = {"to": 2**20} if route == "extend" else {}

    def posted(*places):
        body, query = {}, {}
        for place in places:
            body, query = body | PLACES[place][0], query | PLACES[place][1]
        return post_json(server, f"/v1/{route}", body, **query, **to)

    for place in PLACES:
        assert posted(place).status in (200, 422)
        assert posted(place).json.get("code") == posted("member").json.get("code")
    for pair in itertools.combinations(PLACES, 2):
        if pair == ("member", "text"):
            continue  # one place
        answer = posted(*pair)
        assert answer.status == 422, (pair, answer.json)
        assert answer.json["code"] == "conflicting-parameters", (pair, answer.json)


@pytest.mark.parametrize("body, query, code, where", WRONG, ids=range(len(WRONG)))
def test_wrong(server, body, query, code, where):
    answer = post_json(server, "/v1/config", body, **query)
    assert answer.json["code"] == code, answer.json
    assert where in answer.json["errors"][0].values(), answer.json


@pytest.mark.parametrize("kind", ["sliding_attention", "full_attention"])
def test_strict_is_for_every_kind_of_layers(server, kind):
    """A key that the layers of one kind do not read is refused for these layers, and is a warning
    where strict is not asked for."""
    config = {
        "model_type": "gemma3_text",
        "head_dim": 16,
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "linear", "factor": 2, "rope_theta": 1e4},
            "full_attention": {"rope_type": "linear", "factor": 2, "rope_theta": 1e6},
        },
    }
    config["rope_parameters"][kind]["llama_5"] = 1
    unread = f"rope_parameters.{kind}.llama_5 is no parameter of rope"
    answer = post_json(server, "/v1/config", config).good().json
    rows = {row["layer_type"]: row for row in answer["layers"]}
    assert f"{unread} and is not read" in answer["warnings"] + rows[kind].get("warnings", [])
    answer = post_json(server, "/v1/config", config, strict=True).json
    if kind == "full_attention":  # those of the answer itself
        assert (answer["code"], answer["detail"]) == ("unknown-parameter", unread)
    else:
        rows = {row["layer_type"]: row for row in answer["layers"]}
        assert (rows[kind]["encoding"], rows[kind]["reason"]) == (None, unread)
        assert rows["full_attention"]["encoding"]["factor"] == 2


@pytest.mark.parametrize("wrong", ["4", 4.5, None, [4], True])
@pytest.mark.parametrize("member", ["length", "dim"])
def test_sizes_of_a_table_of_weights_are_whole_numbers(server, member, wrong):
    """An encoding of an answer is taken back as it was; another one is refused."""
    table = {"name": "learned", "length": 4, "dim": 8}
    answer = post_json(server, "/v1/config", {"encoding": table})
    assert answer.good().json["encoding"] == table
    answer = post_json(server, "/v1/config", {"encoding": table | {member: wrong}})
    assert answer.status == 422, answer.json


def test_a_large_config_is_read_in_no_time(server):
    rope_object = {"type": "linear", "factor": 2} | {f"key{i}": i for i in range(30000)}
    answer = (
        post_json(
            server,
            "/v1/config",
            LLAMA | {"rope_scaling": rope_object} | {f"other{i}": i for i in range(30000)},
        )
        .good()
        .json
    )
    assert len(answer["warnings"]) == 65 and len(answer["unused"]) > 30000
    assert "the others are left out" in answer["warnings"][-1]


def test_empty_parts_are_not_there(server):
    """A part about text that is empty, null or no object leaves the rest to speak."""
    llama = {
        "model_type": "llama",
        "hidden_size": 512,
        "num_attention_heads": 8,
        "rope_theta": 5000,
    }
    plain = post_json(server, "/v1/config", llama).good().json
    for part in ("text_config", "llm_config", "language_config"):
        for empty in ({}, None, []):
            told = post_json(server, "/v1/config", llama | {part: empty}).good().json
            assert told["encoding"] == plain["encoding"] == rope(64, 5000, HALF)
            assert told["provenance"] == plain["provenance"] and told["warnings"] == []
        within = {"model_type": "x", "text_config": {}, part: llama}
        assert post_json(server, "/v1/config", within).good().json["encoding"] == plain["encoding"]


@pytest.mark.parametrize(
    "given, expected",
    [
        ({}, {}),
        ({"rotary_dim": 16}, {"rotary_dim": 16}),
        ({"rotary_dim": 32}, {"rotary_dim": 32}),
        ({"partial_rotary_factor": 0.25}, {"partial_rotary_factor": 0.25}),
        (
            {"partial_rotary_factor": 0.25, "rotary_dim": 16},
            {"partial_rotary_factor": 0.25, "rotary_dim": 16},
        ),
    ],
)
def test_a_width_that_is_given_outranks_the_class(server, given, expected):
    """MiniMax-M2 rotates whole heads, unless its config says how much."""
    minimax = {"model_type": "minimax_m2", "head_dim": 64, "rope_theta": 10000}
    told = post_json(server, "/v1/config", minimax | given).good().json
    assert told["encoding"] == rope(64, 10000, HALF, **expected) and told["warnings"] == []
    for name in ("rotary_dim", "partial_rotary_factor"):
        source = given.get(name) and name or expected.get(name) and "model_type"
        assert told["provenance"].get(name, "").endswith(source or "")


@pytest.mark.parametrize("seq_len, factor", [(None, 1.2), (16, 1.2), (17, 1.4)])
def test_two_scales_by_the_length_of_a_sequence(server, seq_len, factor):
    """vllm-project/vllm 17d618b, phi3_long_rope_scaled_rope.py; transformers 5.23 keeps
    short_factor."""
    scaling = {
        "type": "longrope",
        "short_factor": [1, 2],
        "long_factor": [3, 4],
        "short_mscale": 1.2,
        "long_mscale": 1.4,
        "original_max_position_embeddings": 16,
    }
    config = {
        "model_type": "phimoe",
        "head_dim": 4,
        "max_position_embeddings": 64,
        "rope_scaling": scaling,
    }
    body = {"config": config} | ({"seq_len": seq_len} if seq_len else {})
    answer = post_json(server, "/v1/config", body).good().json
    assert answer["encoding"]["attention_factor"] == factor
    assert any("keeps short_factor" in told for told in answer["warnings"]) == (seq_len == 17)


@pytest.mark.parametrize(
    "config",
    [
        {"_class_name": "HunyuanImageTransformer2DModel"},
        {"_class_name": "FluxTransformer2DModel"},
        {"_class_name": "Flux2Transformer2DModel"},
        {"architecture": "eva02_tiny_patch14_224", "pretrained_cfg": {}},
        {"architecture": "qwen3_vit_88m", "pretrained_cfg": {}},
    ],
)
def test_links_of_any_number_of_axes(server, config):
    """The file itself is the body."""
    answer = post_json(server, "/v1/config", config).good().json
    assert len(answer["encoding"]["axes_dim"]) in (2, 3, 4)
    assert {"table", "frequencies"} <= set(answer["links"])
    for link in answer["links"].values():
        get(server, link).good()
