# SPDX-License-Identifier: MIT
"""Heads of GGUF files, tests/data/gguf, made by gguf-py of the configs in tests/data/configs: what
each gives is what its config.json gives, but for layout, which the conversion may change."""

import json
import pathlib
import struct

import numpy
import pytest

from service import call, get, post_json

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
HEADS = {path.stem: path.read_bytes() for path in sorted((DATA / "gguf").glob("*.gguf"))}
LAYERS = {"gemma-3-27b", "olmo-3.1"}
# llama.cpp rounds the ends of yarn's ramp, and this model does not.
ENGINE = {"gpt-oss-120b": {"truncate": True}}
INTERLEAVED = {
    "chatglm2-6b",
    "command-r",
    "deepseek-v3",
    "devstral-small-2",
    "kimi-k2",
    "llama-3.1",
    "mistral-7b-v0.3",
}


def post(server, head, path="/v1/config", kind="application/x-gguf", **parameters):
    return call(server, "POST", path, head, {"Content-Type": kind}, **parameters)


def pairs_of(server, answer):
    """Frequencies and factors, as the answer's own link gives them."""
    told = get(server, answer["links"]["frequencies"] + "&dtype=f64").good().json
    return (
        numpy.array(told["tensors"]["inv_freq"]["data"]),
        [told.get(name, 1) for name in ("attention_factor", "softmax_scale_multiplier")],
    )


def compared(server, name, **parameters):
    config = json.loads((DATA / "configs" / f"{name}.json").read_text())["config"]
    by_config = post_json(server, "/v1/config", config, **parameters, **ENGINE.get(name, {}))
    by_head = post(server, HEADS[name], **parameters).good().json
    return by_config.good().json, by_head


@pytest.mark.parametrize("name", HEADS)
def test_as_its_config(server, name):
    for layer in ("full_attention", "sliding_attention") if name in LAYERS else (None,):
        config, head = compared(server, name, layer_type=layer)
        one, other = config["encoding"], head["encoding"]
        assert one["name"] == other["name"]
        if one["name"] not in ("rope", "mrope"):
            assert {**one, "heads": 0} == {**other, "heads": 0}
            assert one.get("heads") == other.get("heads")
            continue
        assert one["dim"] == other["dim"]
        assert one.get("mrope_section") == other.get("mrope_section")
        (w, factors), (head_w, head_factors) = pairs_of(server, config), pairs_of(server, head)
        assert numpy.allclose(head_w, w, rtol=2e-7)  # factors are float32 in the file
        assert numpy.allclose(head_factors, factors, rtol=2e-7)
        assert other["layout"] == ("interleaved" if name in INTERLEAVED else "half")


def test_sources(server):
    answer = post(server, HEADS["deepseek-v3"]).good().json
    sources = answer["provenance"]
    assert sources["base"] == "deepseek2.rope.freq_base"
    assert sources["dim"] == "deepseek2.rope.dimension_count"
    assert sources["factor"] == "deepseek2.rope.scaling.factor"
    assert sources["layout"] == "model_type"
    assert "deepseek2.attention.key_length" in answer["unused"]


def test_layers(server):
    """As many as the file has, whatever the class of a like name has; of attention its keys."""
    pairs = [("block_count", U32, 3), ("attention.sliding_window", U32, 9)]
    answer = rope_of(server, *pairs, architecture="gemma2")
    assert [kind.get("layers") for kind in answer["layers"]] == [[0, 1, 2]]
    assert answer["attention"]["window"] == 9 and "softcap" not in answer["attention"]
    assert "of attention only" in answer["warnings"][0]


def test_serves_views(server):
    """As a config.json does: recognised by its magic, parameters beside it, coded or not."""
    told = (
        post(
            server,
            HEADS["qwen3-8b"],
            "/v1/encodings/rope/table",
            "application/octet-stream",
            length=3,
            base=5000,
        )
        .good()
        .json
    )
    assert told["encoding"]["base"] == 5000 and told["encoding"]["dim"] == 128
    assert post(server, HEADS["gpt2"], "/v1/encodings/rope/table", length=3).status == 422


def kv(key, kind, value):
    packed = value if isinstance(value, bytes) else struct.pack("<" + kind[1], value)
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind[0]) + packed


U32, F32, BOOL, STRING, ARRAY = (4, "I"), (6, "f"), (7, "?"), (8, ""), (9, "")


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def head_of(*pairs, architecture="llama", tensors=0, version=3, infos=b""):
    keys = [
        kv("general.architecture", STRING, text(architecture)),
        *(kv(f"{architecture}.{key}", kind, value) for key, kind, value in pairs),
    ]
    return b"GGUF" + struct.pack("<IQQ", version, tensors, len(keys)) + b"".join(keys) + infos


SIZES = (("embedding_length", U32, 64), ("attention.head_count", U32, 8))


def rope_of(server, *pairs, **more):
    return post(server, head_of(*SIZES, *pairs, **more)).good().json


@pytest.mark.parametrize(
    "pairs,expected",
    [
        ([("rope.scaling.factor", F32, 4)], {"rope_type": "linear", "factor": 4}),
        ([("rope.scale_linear", F32, 2)], {"rope_type": "linear", "factor": 2}),
        (
            [("rope.scaling.type", STRING, text("none")), ("rope.scaling.factor", F32, 4)],
            {"rope_type": "default", "factor": None},
        ),
        ([("rope.scaling.type", STRING, text("linear"))], {"rope_type": "default"}),
        ([("rope.dimension_count", U32, 4)], {"rotary_dim": 4}),
        ([("rope.dimension_count", U32, 8)], {"rotary_dim": None}),
        ([("attention.key_length", U32, 16)], {"dim": 16}),
        ([], {"base": 10000, "layout": "interleaved"}),
    ],
)
def test_keys(server, pairs, expected):
    """As load_hparams reads them: a factor alone is linear, none is nothing."""
    encoding = rope_of(server, *pairs)["encoding"]
    assert {name: encoding.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    "architecture,sections,kind",
    [
        ("qwen2vl", [2, 1, 1], "chunked"),
        ("qwen3vl", [2, 1, 1, 0], "imrope"),
        ("qwen3vlmoe", [2, 1, 1, 0], "imrope"),
    ],
)
def test_sections(server, architecture, sections, kind):
    """Of three axes; those of Qwen3-VL take turns among the pairs."""
    four = struct.pack("<IQ4i", 5, 4, 2, 1, 1, 0)
    pairs = [("rope.dimension_sections", ARRAY, four)]
    encoding = rope_of(server, *pairs, architecture=architecture)["encoding"]
    assert (encoding["name"], encoding["mrope_section"]) == ("mrope", sections)
    assert encoding["mrope_type"] == kind


@pytest.mark.parametrize(
    "pairs,word",
    [
        ([("rope.scaling.attn_factor", F32, 2)], "not scaled"),
        ([("rope.scaling.finetuned", BOOL, True)], "may be about positions"),
        (
            [
                ("rope.scaling.type", STRING, text("yarn")),
                ("rope.scaling.factor", F32, 4),
                ("rope.scaling.yarn_attn_factor", F32, 2),
                ("rope.scaling.original_context_length", U32, 9),
            ],
            "complete attention factor",
        ),
    ],
)
def test_warnings(server, pairs, word):
    assert any(word in warning for warning in rope_of(server, *pairs)["warnings"])


def test_heads_of_each_layer(server):
    """One number where all layers have it; else nothing is taken for it."""
    counts = struct.pack("<IQ3I", 4, 3, 8, 8, 8)
    uneven = struct.pack("<IQ3I", 4, 3, 8, 0, 8)
    width = ("embedding_length", U32, 64)
    even = head_of(width, ("attention.head_count", ARRAY, counts))
    assert post(server, even).good().json["encoding"]["dim"] == 8
    many = struct.pack("<IQ", 0, 65537) + b"\x08" * 65537  # more than any model has
    for others in (uneven, many):
        head = head_of(width, ("attention.head_count", ARRAY, others))
        assert post(server, head).status == 422


def tensors_of(*tensors):
    """The end of a file: names, types and data, and how many there are."""
    infos = data = b""
    for name, kind, packed, count in tensors:
        infos += text(name) + struct.pack("<IQIQ", 1, count, kind, len(data))
        data += packed + bytes(-len(packed) % 32)
    return infos, data


def file_of(architecture, pairs, *tensors):
    infos, data = tensors_of(*tensors)
    head = head_of(*SIZES, *pairs, architecture=architecture, tensors=len(tensors), infos=infos)
    return head + bytes(-len(head) % 32) + data


LONG, SHORT = [1.5, 2.0, 3.0, 4.0], [1.0, 1.25, 1.5, 1.75]
LONGROPE = [
    ("rope_factors_long.weight", 0, struct.pack("<4f", *LONG), 4),
    ("rope_factors_short.weight", 0, struct.pack("<4f", *SHORT), 4),
]


@pytest.mark.parametrize("kind", [None, "none", "longrope"])
def test_longrope_by_its_tensors(server, kind):
    """Conversions of Phi-3 write no type of scaling: both tensors are longrope, and llama.cpp takes
    either by the length of the context, with the factor of the file."""
    pairs = [
        ("rope.scaling.original_context_length", U32, 32),
        ("context_length", U32, 128),
        ("rope.scaling.attn_factor", F32, 1.25),
    ]
    if kind:
        pairs.append(("rope.scaling.type", STRING, text(kind)))
    answer = post(server, file_of("phi3", pairs, *LONGROPE)).good().json
    told = answer["encoding"]
    assert told["rope_type"] == "longrope" and told["attention_factor"] == 1.25
    assert told["long_factor"] == LONG and told["short_factor"] == SHORT
    assert told["original_max_position_embeddings"] == 32
    assert not any("attn_factor" in warning for warning in answer["warnings"])


def test_one_tensor_of_longrope_is_not_two(server):
    answer = post(server, file_of("phi3", [], LONGROPE[0])).good().json
    assert answer["encoding"]["rope_type"] == "default"
    assert any("rope_factors_long.weight" in warning for warning in answer["warnings"])


@pytest.mark.parametrize("kind, dtype", [(0, "<f4"), (1, "<f2"), (28, "<f8"), (30, "bf16")])
def test_factors_of_every_float(server, kind, dtype):
    numbers = numpy.array(LONG, "<f4")
    packed = (
        numbers.view("<u2")[1::2].tobytes() if dtype == "bf16" else numbers.astype(dtype).tobytes()
    )
    answer = post(server, file_of("llama", [], ("rope_freqs.weight", kind, packed, 4))).good().json
    assert answer["encoding"]["rope_type"] == "custom"
    assert answer["encoding"]["freq_factors"] == LONG
    assert not any("rope_freqs" in warning for warning in answer["warnings"])


def test_factors_of_blocks_are_told(server):
    """Of a quantized type: the file has them whole, and they are not read."""
    quantized = file_of("llama", [], ("rope_freqs.weight", 8, bytes(34), 32))
    answer = post(server, quantized).good().json
    assert answer["encoding"]["rope_type"] == "default"
    assert any(
        "rope_freqs.weight" in warning and "no list of F32" in warning
        for warning in answer["warnings"]
    )


def test_factors_that_were_cut(server):
    whole = HEADS["llama-3.1"]
    assert post(server, whole).json["encoding"]["rope_type"] == "custom"
    for size, word in ((len(whole) - 4, "ends before its"), (len(whole) - 290, "is cut")):
        answer = post(server, whole[:size]).good().json
        assert answer["encoding"]["rope_type"] == "default"
        assert any(word in warning for warning in answer["warnings"])


def test_a_long_list_of_tensors(server):
    """It is not walked to its end."""
    head = head_of(*SIZES, tensors=300_000, infos=bytes(24 * 300_000))
    assert any("is cut" in warning for warning in post(server, head).good().json["warnings"])


def test_architectures(server):
    """One that is not known is read by its keys; one without positions is refused."""
    answer = rope_of(server, ("rope.freq_base", F32, 500), architecture="newer")
    assert answer["encoding"]["base"] == 500 and "layout" not in answer["encoding"]
    assert any("newer is not known" in warning for warning in answer["warnings"])
    for name, word in (("mamba", "no part"), ("kimi-linear", "no part"), ("talkie", "other way")):
        assert word in post(server, head_of(*SIZES, architecture=name)).json["detail"]


@pytest.mark.parametrize(
    "head,word",
    [
        (b"GGUF", "24 bytes"),
        (head_of(version=1), "version 1"),
        (head_of(*SIZES)[:-3], "key 3 of 3"),
        (head_of(("x", (13, "I"), 1)), "no type 13"),
        (head_of(("x", ARRAY, struct.pack("<IQ", 9, 1))), "array of type 9"),
        (head_of(("x", ARRAY, struct.pack("<IQ", 6, 2**62))), "key 2 of 2"),
        (head_of(("x\n", U32, 1)), "no plain text"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "of 1152921504606846976"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "general.architecture"),
    ],
)
def test_refused(server, head, word):
    answer = post(server, head)
    assert answer.status == 400 and word in answer.json["detail"]


def test_every_cut(server):
    """Refused up to the end of the metadata, taken from there on."""
    head = HEADS["llama-3.1"]
    got = [post(server, head[:size]).status for size in range(1, len(head))]
    assert set(got) == {400, 200} and got == sorted(got, reverse=True)
    assert 250 < got.count(400) < 290


def test_with_a_config_beside(server):
    answer = post(server, HEADS["gpt2"], config='{"model_type": "gpt2"}')
    assert answer.status == 422 and "twice" in answer.json["detail"]
