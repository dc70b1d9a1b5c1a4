# SPDX-License-Identifier: MIT
"""Values that others published, through HTTP. tests/data/oracles names each source."""

import json
import math
import pathlib

import numpy
import pytest

from service import get, post_json, table

ORACLES = pathlib.Path(__file__).resolve().parents[1] / "data" / "oracles"
ROPE_TYPES = {"default", "linear", "llama3", "yarn", "dynamic"}


def cases(name, wanted):
    """The cases of a file that `wanted` takes; never none of them."""
    content = json.loads((ORACLES / f"{name}.json").read_text())
    found = [case for case in content.get("cases", content.get("relations")) if wanted(case)]
    assert found, f"{name}.json has no such case"
    return found


def source(case):
    return (case.get("source") or case["test"])[-60:].replace("/", ".")


def frequencies(server, dim, **parameters):
    answer = get(server, "/v1/encodings/rope/frequencies", dim=dim, dtype="f64", **parameters)
    assert answer.status == 200, answer.body
    return numpy.array(answer.json["tensors"]["inv_freq"]["data"]), answer.json["attention_factor"]


def test_published_matrix_to_8_digits(server):
    (case,) = cases("sinusoidal_other", lambda c: c.get("n") == 100)
    got = table(
        server,
        "sinusoidal",
        dim=case["d"],
        length=len(case["positions"]),
        base=case["n"],
        dtype="f64",
    )
    assert numpy.array_equal(numpy.round(got, 8), numpy.array(case["expected"]))


@pytest.mark.parametrize(
    "case", cases("keras_hub_sine_rotary", lambda c: "sinus" in c["kind"]), ids=source
)
def test_keras_sinusoidal(server, case):
    rows = case.get("expected") or {"0": case["expected_pos_0"], "1": case["expected_pos_1"]}
    got = table(
        server,
        "sinusoidal",
        dim=case["dim"],
        positions=list(rows),
        dtype="f64",
        base=case["max_wavelength"],
    )
    assert numpy.allclose(got, list(rows.values()), rtol=0, atol=case["atol"])


def test_fairseq_spacing_and_layout(server):
    (case,) = cases("sinusoidal_other", lambda c: "fsmt" in c["source"])
    got = table(
        server,
        "sinusoidal",
        dim=case["dim"],
        positions=case["positions"],
        dtype="f64",
        layout="concatenated",
        spacing="endpoint",
    )
    assert numpy.allclose(got, case["expected"], rtol=0, atol=case["tolerance"])


def test_concatenated_row_zero(server):
    (case,) = cases("sinusoidal_other", lambda c: c.get("hidden_size") == 8)
    got = table(server, "sinusoidal", dim=8, positions=case["positions"], layout="concatenated")
    assert numpy.array_equal(got, case["expected"])


@pytest.mark.parametrize("case", cases("timestep", lambda c: True), ids=lambda c: c["kind"])
def test_diffusers_timesteps(server, case):
    got = table(
        server,
        "timestep",
        dim=case["dim"],
        length=case["length"],
        dtype="f64",
        **case["parameters"],
    )
    got = got[numpy.ix_(case["rows"], case["columns"])]
    assert numpy.allclose(got, case["expected"], rtol=case["rtol"], atol=1e-5)


def test_tensor2tensor_two_axes(server):
    (case,) = cases("sinusoidal_other", lambda c: "GivenPositions" in c["source"])
    points = numpy.array([case["x_positions"], case["y_positions"]]).T
    got = table(
        server,
        "sinusoidal-nd",
        dim=8,
        layout="concatenated",
        spacing="endpoint",
        dtype="f64",
        coordinates=points.ravel().tolist(),
    )
    angles = points[:, :, None] * [1, 1e-4]
    expected = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=2)
    assert numpy.allclose(got, expected.reshape(4, 8), rtol=0, atol=1e-15)


def test_fairseq_relative(server):
    full, part = cases("sinusoidal_other", lambda c: "test_positional_encoding" in c["source"])
    for case, length in ((full, full["max_len"]), (part, 3)):
        got = table(server, "transformer-xl", dim=2, length=length, dtype="f64")
        assert numpy.allclose(got, case["expected"], rtol=0, atol=case["tolerance"])


@pytest.mark.parametrize("case", cases("alibi", lambda c: True), ids=source)
def test_alibi(server, case):
    answer = get(
        server,
        "/v1/encodings/alibi/bias",
        heads=case["num_heads"],
        alibi_bias_max=case["alibi_bias_max"],
        query_length=case["query_length"],
        key_length=case["key_length"],
    )
    got = numpy.array(answer.json["tensors"]["bias"]["data"], numpy.float32)
    assert numpy.array_equal(got, numpy.array(case["expected_bias"], numpy.float32))


@pytest.mark.parametrize(
    "case", cases("keras_hub_sine_rotary", lambda c: "rope" in c["kind"]), ids=source
)
def test_keras_rope(server, case):
    expected = case["expected"]
    if isinstance(expected, dict):
        positions, expected = [int(p) for p in expected], list(expected.values())
    else:
        positions = case["positions"]
    expected = numpy.array(expected)
    given = case["input"] if "input" in case else "all ones"
    x = numpy.ones(expected.shape) if given == "all ones" else numpy.array(given)
    encoding = {"name": "rope", "base": case.get("rope_theta") or case["max_wavelength"]}
    if "factor" in case:
        encoding |= {"rope_type": "linear", "factor": case["factor"]}
    answer = post_json(
        server,
        "/v1/rotation",
        {
            "encoding": encoding,
            "layout": "half",
            "axes": "shd",
            "positions": positions,
            "tensors": {
                "x": {
                    "dtype": "f64",
                    "shape": [len(x), 1, x.shape[-1]],
                    "data": x[:, None].tolist(),
                }
            },
        },
    )
    assert answer.status == 200, answer.body
    got = numpy.array(answer.json["tensors"]["x"]["data"])[:, 0]
    assert numpy.allclose(got, expected, rtol=0, atol=min(case.get("atol", 1e-4), 1e-3))


def test_fairseq_rope(server):
    (case,) = cases("sinusoidal_other", lambda c: "rotary" in c["source"])
    for part in ("cos", "sin"):
        got = table(server, "rope", dim=2, length=3, part=part, duplicate=True)
        assert numpy.allclose(got, case[f"expected_{part}"], rtol=0, atol=case["tolerance"])
    answer = post_json(
        server,
        "/v1/rotation",
        {
            "encoding": "rope",
            "layout": "half",
            "axes": "shd",
            "positions": case["positions"],
            "tensors": {
                "x": {"dtype": "f32", "shape": [3, 1, 2], "data": [[row] for row in case["input"]]}
            },
        },
    )
    got = numpy.array(answer.json["tensors"]["x"]["data"])[:, 0]
    assert numpy.allclose(got, case["expected_rotated"], rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "case",
    cases("hf_rope_inv_freq", lambda c: c["rope_parameters"]["rope_type"] in ROPE_TYPES),
    ids=source,
)
def test_transformers_inv_freq(server, case):
    given = dict(case["rope_parameters"])
    given["base"] = given.pop("rope_theta")
    if given["rope_type"] == "dynamic":
        given["max_position_embeddings"] = case["config"]["max_position_embeddings"]
        given["seq_len"] = case["seq_len"]
    got, factor = frequencies(server, case["config"]["head_dim"], **given)
    assert numpy.allclose(got, case["expected_inv_freq"], rtol=1e-4, atol=5e-5)
    expected = case["expected_attention_factor"]
    if expected == "0.1*ln(10)+1":
        expected = 0.1 * math.log(10) + 1
    assert factor == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("factor", [2.0, 10.0, 20.0])
def test_transformers_relations(server, factor):
    plain, _ = frequencies(server, 128)
    linear, one = frequencies(server, 128, rope_type="linear", factor=factor)
    assert numpy.allclose(linear, plain / factor, rtol=1e-15) and one == 1
    yarn, told = frequencies(
        server, 128, rope_type="yarn", factor=factor, max_position_embeddings=2048
    )
    assert told == pytest.approx(0.1 * math.log(factor) + 1, abs=1e-12)
    assert (yarn <= plain + 1e-8).all() and (yarn >= plain / factor - 1e-8).all()
    _, told = frequencies(
        server,
        128,
        rope_type="yarn",
        factor=factor,
        attention_factor=0.5,
        max_position_embeddings=2048,
    )
    assert told == 0.5


def test_transformers_yarn_beta_fast(server):
    plain, _ = frequencies(server, 128)
    yarn, _ = frequencies(
        server,
        128,
        rope_type="yarn",
        factor=10.0,
        beta_fast=1000,
        beta_slow=1,
        max_position_embeddings=2048,
    )
    assert yarn[0] == plain[0] and (yarn[1:] < plain[1:]).all()
    assert numpy.allclose(yarn[-20:], plain[-20:] / 10, rtol=1e-15)


def test_transformers_llama3_high_frequencies(server):
    plain, _ = frequencies(server, 128)
    got, _ = frequencies(
        server,
        128,
        rope_type="llama3",
        factor=10.0,
        low_freq_factor=1.0,
        high_freq_factor=1000,
        original_max_position_embeddings=2048,
    )
    assert (got < plain).all()


def test_yarn_correction_range(server):
    """The pairs before `low` are as they were, those after `high` are divided, one by one."""
    (case,) = cases("yarn_scalars", lambda c: "range" in c["kind"])
    plain, _ = frequencies(server, case["head_dim"], base=case["rope_theta"])
    got, _ = frequencies(
        server,
        case["head_dim"],
        base=case["rope_theta"],
        rope_type="yarn",
        factor=32,
        truncate=False,
        beta_fast=case["beta_fast"],
        beta_slow=case["beta_slow"],
        original_max_position_embeddings=case["original_max_position_embeddings"],
    )
    low, high = case["expected_low"], case["expected_high"]
    ramp = numpy.clip((numpy.arange(len(got)) - low) / (high - low), 0, 1)
    assert numpy.allclose(got, plain / 32 * ramp + plain * (1 - ramp), rtol=1e-12)


@pytest.mark.parametrize(
    "case",
    cases("yarn_scalars", lambda c: c["kind"].startswith("explicit") and "factor" in c),
    ids=source,
)
def test_yarn_attention_factor(server, case):
    _, told = frequencies(
        server,
        128,
        rope_type="yarn",
        factor=case["factor"],
        attention_factor=case.get("attention_factor"),
        original_max_position_embeddings=4096,
    )
    if "expected" in case:
        assert told == case["expected"]
    else:
        assert str(told).startswith(case["expected_prefix"])


def test_a_moved_key_keeps_its_norm(server):
    """Moving a key must not multiply by the attention factor again."""
    (case,) = cases("yarn_scalars", lambda c: "norm" in c["kind"])
    key = [1.0, 0.0, 0.0, 0.0]
    for expected in case["expected_correct_norms"]:
        answer = post_json(
            server,
            "/v1/rotation",
            {
                "encoding": {
                    "name": "rope",
                    "rope_type": "yarn",
                    "factor": 1 / case["freq_scale"],
                    "original_max_position_embeddings": 4096,
                },
                "layout": "half",
                "axes": "shd",
                "delta": 5,
                "tensors": {"k": {"dtype": "f64", "shape": [1, 1, 4], "data": [[key]]}},
            },
        )
        assert answer.status == 200, answer.body
        key = answer.json["tensors"]["k"]["data"][0][0]
        assert numpy.linalg.norm(key) == pytest.approx(expected, abs=case["tolerance"])


@pytest.mark.parametrize("case", cases("t5_relative_buckets", lambda c: True), ids=source)
def test_t5_buckets(server, case):
    """Each published row of distances is one query and keys in a row."""
    for distances, expected in zip(case["relative_position"], case["expected"]):
        answer = get(
            server,
            "/v1/encodings/t5/bias",
            num_buckets=case["num_buckets"],
            max_distance=case["max_distance"],
            bidirectional=case["bidirectional"],
            query_length=1,
            key_length=len(distances),
            query_start=-distances[0],
        )
        assert answer.json["tensors"]["buckets"]["data"] == [expected]


def test_t5_sizes_refused_elsewhere_are_refused(server):
    content = json.loads((ORACLES / "t5_relative_buckets.json").read_text())
    assert len(content["expected_errors"]) == 4
    for case in content["expected_errors"]:
        answer = get(server, "/v1/encodings/t5/bias", query_length=2, **case["args"])
        assert answer.status == 422 and b"max_distance" in answer.body
