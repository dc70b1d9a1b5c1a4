# SPDX-License-Identifier: MIT
"""Values that others print in their tests, at the tolerance that they state there. Each case of
tests/data/oracles names its repository, commit, path and licence."""

import json
import pathlib

import numpy
import pytest

from service import get, post_json, table

ORACLES = pathlib.Path(__file__).resolve().parents[1] / "data" / "oracles"


def cases(name, wanted=lambda case: True):
    found = [
        case for case in json.loads((ORACLES / f"{name}.json").read_text())["cases"] if wanted(case)
    ]
    assert found, f"{name}.json has no such case"
    return found


def source(case):
    return case["source"].split("@")[0].split("/")[1] + "." + case["source"][-45:].split("/")[-1]


@pytest.mark.parametrize("case", cases("sinusoidal_tables"), ids=source)
def test_tables(server, case):
    got = table(
        server, case["encoding"], dtype="f64", positions=case.get("positions"), **case["parameters"]
    )
    expected = numpy.array(case["expected"])
    got = got.reshape(-1, got.shape[-1])[:, : expected.shape[1]]
    assert got.shape == expected.shape
    assert numpy.allclose(got, expected, rtol=case.get("rtol", 0), atol=case["atol"])


@pytest.mark.parametrize("part", ["cos", "sin"])
@pytest.mark.parametrize("case", cases("rotations", lambda c: "cos" in c), ids=source)
def test_rotary_tables(server, case, part):
    parameters = {key: value for key, value in case["encoding"].items() if key != "name"}
    got = table(
        server,
        case["encoding"]["name"],
        length=len(case[part]),
        part=part,
        dtype="f64",
        **parameters,
    )
    assert numpy.allclose(got, case[part], rtol=0, atol=min(case["atol"], 1e-4))


@pytest.mark.parametrize("case", cases("rotations", lambda c: "shape" in c), ids=source)
def test_rotations(server, case):
    if "input" in case:
        x = numpy.array(case["input"]).reshape(case["shape"])
    else:
        x = (numpy.arange(numpy.prod(case["shape"])) * case["arange_step"]).reshape(case["shape"])
    body = {
        "axes": case["axes"],
        "layout": case["layout"],
        "positions": case["positions"],
        "tensors": {"x": {"dtype": "f64", "shape": case["shape"], "data": x.tolist()}},
    }
    body["encoding"] = case.get("encoding", {"name": "rope", "dim": case["shape"][-1]})
    for name in ("cos", "sin"):
        if f"posted_{name}" in case:
            body["tensors"][name] = {"dtype": "f64", "data": case[f"posted_{name}"]}
    got = numpy.array(post_json(server, "/v1/rotation", body).good().json["tensors"]["x"]["data"])
    if "expected" in case:
        expected = numpy.array(case["expected"]).reshape(case["shape"])
    else:
        expected = numpy.array(case["expected_corner"])
        got = got[0, 0, : expected.shape[0], : expected.shape[1]]
    assert numpy.allclose(got, expected, rtol=0, atol=case["atol"])


@pytest.mark.parametrize("case", cases("alibi_rows"), ids=source)
def test_alibi_rows(server, case):
    answer = get(
        server,
        "/v1/encodings/alibi/bias",
        heads=case["heads"],
        query_length=case["length"],
        dtype="f64",
    ).good()
    bias = numpy.array(answer.json["tensors"]["bias"]["data"])
    for head, row in case["rows"].items():
        assert numpy.allclose(bias[int(head), -1], row, rtol=0, atol=case["atol"])


@pytest.mark.parametrize(
    "case", cases("deberta_buckets"), ids=lambda case: f"{case['queries']}x{case['keys']}"
)
def test_deberta_buckets(server, case):
    """The publisher counts them from 0, transformers and this service from -position_buckets; and
    beyond the last row of the embeddings this service says that row, as the model reads it."""
    size = case["position_buckets"]
    answer = get(
        server,
        "/v1/encodings/deberta-log/bias",
        position_buckets=size,
        max_relative_positions=case["max_relative_positions"],
        query_start=0,
        query_length=case["queries"],
        key_length=case["keys"],
    ).good()
    got = numpy.array(answer.json["tensors"]["buckets"]["data"])
    assert numpy.array_equal(got + size, numpy.minimum(case["expected"], 2 * size - 1))
