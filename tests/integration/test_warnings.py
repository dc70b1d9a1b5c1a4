# SPDX-License-Identifier: MIT
"""Warnings that must not be there, and the edge at which each begins."""

import json
import pathlib

import numpy
import pytest
from safetensors.numpy import save as safetensors_save

from service import SAFETENSORS, call, get, post_json

TABLE = "/v1/encodings/rope/frequencies"
CONFIGS = pathlib.Path(__file__).resolve().parents[1] / "data" / "configs"
OSCILLATES = "oscillate"  # the note that decay has where it is a sum of cosines


def warnings(answer):
    """Of the body, or of the head of a binary answer."""
    answer.good()
    if answer.headers["content-type"] == "application/json":
        return answer.json["warnings"]
    return json.loads(answer.headers.get("encoding-warnings", "[]"))


def test_no_example_of_the_catalogue_warns(server):
    """Each view's own, in text and in a file; but for one note on decay."""
    count = 0
    for name in get(server, "/v1").json["encodings"]:
        for view in get(server, f"/v1/encodings/{name}").json["operations"]:
            for form in ("json", "safetensors", "raw"):
                told = warnings(get(server, f"{view['example']}&format={form}"))
                noted = view["example"].split("?")[0].endswith("analysis/decay")
                assert all(noted and OSCILLATES in text for text in told), (view["example"], told)
                count += 1
    assert count > 200


YARN = {"rope_type": "yarn", "original_max_position_embeddings": 4096}
LONG = {
    "rope_type": "longrope",
    "long_factor": "1,1",
    "short_factor": "1,1",
    "dim": 4,
    "original_max_position_embeddings": 100,
    "max_position_embeddings": 400,
}


@pytest.mark.parametrize(
    "silent, warned, word",
    [
        ({"rope_type": "linear", "factor": 1}, {"factor": 0.999}, "factor"),
        (
            {"rope_type": "dynamic", "factor": 1, "max_position_embeddings": 64},
            {"factor": 0.999},
            "factor",
        ),
        (YARN | {"factor": 1}, {"factor": 0.999}, "factor"),
        (YARN | {"factor": 2, "beta_fast": 3, "beta_slow": 3}, {"beta_fast": 2.999}, "beta_fast"),
        (LONG, {"factor": 5}, "factor"),
        (LONG | {"factor": 4}, {"factor": 4.001}, "factor"),
    ],
    ids=lambda value: str(value.get("rope_type")) if isinstance(value, dict) else "",
)
def test_edges(server, silent, warned, word):
    ask = {"dim": 64} | silent
    assert warnings(get(server, TABLE, **ask)) == []
    assert warnings(get(server, TABLE, format="safetensors", **ask)) == []
    told = warnings(get(server, TABLE, **ask | warned))
    assert len(told) == 1 and word in told[0]
    assert warnings(get(server, TABLE, format="safetensors", **ask | warned)) == told


WARNED = {
    "devstral-small-2",
    "exaone-4.0",
    "exaone-4.5-33b",
    "flot",
    "gemma-3-1b",
    "gemma-3-27b",
    "kimi-k2",
    "llama-3.2-90b-vision",
    "llava-1.5-7b",
    "olmo-3.1",
    "phi-1",
    "phi-1.5-msft",
    "phi-4",
    "qwen-1.8b",
    "qwen-7b-dynamic",
    "qwen3.5",
    "smollm2-135m",
    "t5-small",
}


def test_configs_without_warnings(server):
    """The published ones are read without a word, but for those whose words were read by eye."""
    told, count = {}, 0
    for path in sorted(CONFIGS.glob("*.json")):
        config = json.loads(path.read_text())["config"]
        answer = post_json(server, "/v1/config", config)
        if answer.status == 200:
            count += 1
            told |= {path.stem: answer.json["warnings"]} if answer.json["warnings"] else {}
    assert set(told) <= WARNED and count > 20, told


@pytest.mark.parametrize(
    "rope, warned",
    [
        ({"rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 9}}, True),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2}}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("model", ["gemma3_text", "olmo3"])
def test_a_flat_rope_object_of_a_class_that_reads_one_for_each_type(server, model, rope, warned):
    """transformers 5.23.0, configuration_gemma3.py and configuration_olmo3.py: the defaults of each
    type of layer stand beside the flat keys, which nothing reads."""
    told = warnings(post_json(server, "/v1/config", {"model_type": model, **rope}))
    assert any("no object for each type" in text for text in told) == warned


X = numpy.ones((1, 2, 4, 8), numpy.float32)


@pytest.mark.parametrize(
    "path, tensors, ask",
    [
        ("rotation", {"q": X}, {"encoding": "rope", "layout": "half", "axes": "bhsd", "start": 0}),
        (
            "rotation",
            {"q": X},
            {"encoding": "xpos", "layout": "half", "axes": "bhsd", "start": 0, "t_center": 2},
        ),
        ("attention", {"q": X, "k": X, "v": X}, {"encoding": "none"}),
        ("attention", {"q": X, "k": X, "v": X}, {"encoding": "alibi"}),
        ("attention", {"q": X, "k": X, "v": X}, {"encoding": "rope", "layout": "half"}),
        ("embedding", {"x": X[0, 0]}, {"encoding": "sinusoidal", "start": 0}),
        (
            "layout",
            {"x": X[0, 0]},
            {"from_layout": "half", "to_layout": "interleaved", "kind": "table"},
        ),
    ],
)
def test_functions_say_nothing(server, path, tensors, ask):
    body = safetensors_save({k: numpy.ascontiguousarray(v) for k, v in tensors.items()})
    for form in ("safetensors", "json"):
        answer = call(
            server, "POST", f"/v1/{path}", body, {"Content-Type": SAFETENSORS}, format=form, **ask
        ).good()
        told = json.loads(answer.headers.get("encoding-warnings", "[]"))
        assert told + (answer.json.get("warnings", []) if form == "json" else []) == []


def test_comparison_and_diagnosis_say_nothing(server):
    side = {"name": "rope", "dim": 8}
    told = post_json(server, "/v1/comparison", {"a": side, "b": side, "length": 4}).good().json
    assert told["warnings"] == []
    rows = get(server, "/v1/encodings/rope/table", dim=8, length=16, part="cos").good().json
    report = (
        post_json(
            server,
            "/v1/diagnosis",
            {"encoding": side, "start": 0, "tensors": {"cos": rows["tensors"]["cos"]}},
        )
        .good()
        .json
    )
    assert report["warnings"] == []


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64, numpy.float16, numpy.bool_])
@pytest.mark.parametrize(
    "values, flags",
    [
        ([0, 1], True),
        ([1, 1], True),
        ([0, 0], False),  # a bias that adds nothing
        ([0, -1e4], False),
        ([0, 0.5], False),
        ([2, 1], False),
        ([-1, 1], False),
        ([0] * 599 + [1], True),
        ([1] * 599 + [2], False),
    ],
)
def test_masks_of_flags(server, dtype, values, flags):
    """Numbers that are 0 and 1 alone were most likely meant as booleans."""
    keys = len(values)
    of_q = "f4" if dtype == numpy.bool_ else dtype
    q, k = numpy.zeros((1, 1, 1, 2), of_q), numpy.zeros((1, 1, keys, 2), of_q)
    mask = numpy.array(values).astype(dtype).reshape(1, 1, 1, keys)
    body = safetensors_save({"q": q, "k": k, "v": k, "mask": mask})
    answer = call(
        server, "POST", "/v1/attention", body, {"Content-Type": SAFETENSORS}, encoding="none"
    )
    assert ("mask has no numbers" in str(warnings(answer))) == (flags and dtype != numpy.bool_)
