# SPDX-License-Identifier: MIT
"""POST /v1/comparison, /v1/embedding and /v1/layout beside numpy."""

import io
import json

import numpy
import pytest
from safetensors.numpy import save

from service import SAFETENSORS, call, get, inv_freq, post_json, post_tensors, rotated, table

RNG = numpy.random.default_rng(7)


def compare(server, a, b, tensors=None, **parameters):
    body = {"a": a, "b": b, **parameters}
    if tensors:
        kinds = {"float32": "f32", "float64": "f64", "float16": "f16"}
        body["tensors"] = {
            name: {"dtype": kinds[str(x.dtype)], "data": x.tolist()} for name, x in tensors.items()
        }
    return post_json(server, "/v1/comparison", body).good().json


# ---- comparison ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_comparison_of_two_encodings(server, dtype, layout):
    """Every number of the report, from the two tables themselves."""
    one, two = (
        {"name": "sinusoidal", "dim": 6, "layout": layout, "base": base} for base in (10000, 9000)
    )
    a, b = (table(server, length=9, dtype=dtype, **scheme) for scheme in (one, two))
    report = compare(server, one, two, length=9, dtype=dtype, per_pair=True, per_position=True)
    apart = abs(a.astype(float) - b.astype(float))
    bits = {"f64": numpy.int64, "f32": numpy.int32, "f16": numpy.int16}[dtype]
    order = [
        numpy.where(x.view(bits) < 0, -(x.view(bits) & numpy.iinfo(bits).max), x.view(bits)).astype(
            float
        )
        for x in (a, b)
    ]
    ulps = abs(order[0] - order[1])
    pairs = numpy.arange(6) % 3 if layout == "concatenated" else numpy.arange(6) // 2
    assert report["elements"] == 54 and report["unequal"] == numpy.count_nonzero(apart)
    assert report["max_abs"] == apart.max() and report["max_ulp"] == pytest.approx(ulps.max())
    assert report["rms"] == pytest.approx(numpy.sqrt((apart**2).mean()))
    assert report["per_position"]["max_abs"] == apart.max(1).tolist()
    for pair in range(3):
        assert report["per_pair"]["max_abs"][pair] == apart[:, pairs == pair].max()
        assert report["per_pair"]["max_ulp"][pair] == pytest.approx(ulps[:, pairs == pair].max())
    row, column = numpy.argwhere(apart)[0]
    found = report["first_divergence"]
    assert (found["position"], found["row"], found["column"]) == (row, row, column)
    assert found["pair"] == pairs[column]
    assert (found["a"], found["b"]) == (a[row, column], b[row, column])


def test_comparison_with_what_was_given_out(server):
    """The service's own table, posted back, is its table; one number in it is found."""
    mine = table(server, "rope", dim=8, positions="5,-3,1000000", dtype="f32")
    report = compare(server, "tensor:mine", "rope", {"mine": mine}, positions=[5, -3, 1000000])
    assert (report["unequal"], report["first_divergence"]) == (0, None)
    mine[1, 2, 3] = numpy.nextafter(mine[1, 2, 3], numpy.float32(2))
    report = compare(server, "tensor:mine", "rope", {"mine": mine}, positions=[5, -3, 1000000])
    found = report["first_divergence"]
    assert (report["unequal"], report["max_ulp"]) == (1, 1)
    assert (found["position"], found["pair"], found["table"]) == (1000000, 3, "sin")


def test_comparison_finds_a_float32_angle(server):
    """Errors that float32 angles are known to make: 3e-3 at 131 071, 0.64 at 10 million."""
    w = 1 / numpy.float32(10000) ** (numpy.arange(0, 128, 2, dtype=numpy.float32) / 128)
    for position, error in ((131071, 3e-3), (10**7, 0.6)):
        angle = numpy.float32(position) * w.astype(numpy.float32)
        theirs = numpy.stack([numpy.cos(angle), numpy.sin(angle)])[:, None]
        report = compare(
            server,
            "rope",
            "tensor:hf",
            {"hf": theirs.astype(numpy.float32)},
            positions=[position],
            tolerance=1e-6,
        )
        assert report["max_abs"] > error


def test_comparison_as_safetensors(server):
    """cos with each column twice, as Hugging Face keeps it; the parameters in the query."""
    cos = table(server, "rope", dim=8, length=300, part="cos", duplicate=True, dtype="f16")
    answer = post_json_bytes(
        server, save({"cos": cos}), a="tensor:cos", b="rope", part="cos", duplicate=True, dim=None
    )
    assert answer["dtype"] == "f16" and answer["unequal"] == 0 and answer["elements"] == 2400
    assert answer["b"] == {
        "name": "rope",
        "dim": 8,
        "base": 10000,
        "rope_type": "default",
        "arithmetic": "exact",
    }


def post_json_bytes(server, body, **parameters):
    return (
        call(server, "POST", "/v1/comparison", body, {"Content-Type": SAFETENSORS}, **parameters)
        .good()
        .json
    )


# ---- embedding ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [numpy.float64, numpy.float32, numpy.float16])
@pytest.mark.parametrize("mode", ["add", "mul", "concat"])
def test_embedding(server, kind, mode):
    """Bit for bit: each operation rounded once, in f32 for f16."""
    x = RNG.standard_normal((2, 5, 6)).astype(kind)
    work = numpy.float64 if kind is numpy.float64 else numpy.float32
    name = "f64" if work is numpy.float64 else "f32"
    p = table(server, "sinusoidal", dim=6, length=5, start=3, dtype=name)
    scale = {"xscale": 6**0.5} if mode == "add" else {}
    got = post_tensors(
        server,
        "/v1/embedding",
        {"x": x},
        encoding="sinusoidal",
        start=3,
        dim=6,
        merge_mode=mode,
        **scale,
    )["x"]
    wide = x.astype(work)
    if mode == "add":
        expected = wide * work(6**0.5) + p
    elif mode == "mul":
        expected = wide * (p + work(1))
    else:
        expected = numpy.concatenate([wide, numpy.broadcast_to(p, x.shape)], -1)
    assert got.dtype == kind and numpy.array_equal(got, expected.astype(kind))


def test_embedding_positions_of_each_row(server):
    x = RNG.standard_normal((3, 400, 4)).astype(numpy.float32)
    positions = RNG.integers(-50, 50, (3, 400))
    got = post_tensors(
        server, "/v1/embedding", {"x": x, "positions": positions}, encoding="sinusoidal"
    )["x"]
    p = table(server, "sinusoidal", dim=4, start=-50, length=100)
    assert numpy.array_equal(got, x + p[positions + 50])


def test_embedding_of_a_long_batch(server):
    """Rows that go round the table several times, in many blocks."""
    x = RNG.standard_normal((7, 1000, 64)).astype(numpy.float32)
    got = post_tensors(server, "/v1/embedding", {"x": x}, encoding="sinusoidal", start=0)["x"]
    assert numpy.array_equal(got, x + table(server, "sinusoidal", dim=64, length=1000))


def test_embedding_of_tokens(server):
    """One word, one vector, whatever the place; another seed, another vector; within [-1, 1)."""

    def vectors(**changes):
        body = {
            "encoding": "sinusoidal",
            "dim": 512,
            "merge_mode": "concat",
            "tokens": ["我", "爱", "我"],
        } | changes
        answer = post_json(server, "/v1/embedding", body).good()
        return numpy.array(answer.json["tensors"]["x"]["data"])[0, :, :512]

    one, again, other = vectors(), vectors(), vectors(seed=1)
    assert numpy.array_equal(one, again) and numpy.array_equal(one[0], one[2])
    assert not numpy.array_equal(one, other) and not numpy.array_equal(one[0], one[1])
    assert one.min() >= -1 and one.max() < 1 and abs(one.mean()) < 0.1
    assert abs(one.std() - 3**-0.5) < 0.05


# ---- layout -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotary", [8, 4])
def test_layout_projection(server, rotary):
    """Meta's rows for Hugging Face: row 2i + p of a head goes to i + p D / 2, and what is rotated
    behind it is the same."""
    heads, width, inputs = 3, 8, 5
    w = RNG.standard_normal((heads * width, inputs)).astype(numpy.float32)
    settings = {"head_dim": width, "rotary_dim": rotary, "from_layout": "meta", "to_layout": "half"}
    got = post_tensors(server, "/v1/layout", {"w": w}, kind="projection_rows", **settings)["w"]
    expected = w.copy().reshape(heads, width, inputs)
    for i in range(rotary // 2):
        for p in range(2):
            expected[:, i + p * rotary // 2] = w.reshape(heads, width, inputs)[:, 2 * i + p]
    assert numpy.array_equal(got, expected.reshape(w.shape))
    order = get(server, "/v1/layout", heads=heads, format="npy", **settings).npy
    assert order.dtype == numpy.int64 and numpy.array_equal(w[order], got)
    back = dict(settings, from_layout="half", to_layout="meta")
    assert numpy.array_equal(
        post_tensors(server, "/v1/layout", {"w": got}, kind="projection_rows", **back)["w"], w
    )

    x = RNG.standard_normal(inputs)
    q, hf = ((m.astype(float) @ x).reshape(1, heads, 1, width) for m in (w, got))
    turned = rotated(q, [9], "interleaved", rotary)
    assert numpy.allclose(
        turned.reshape(-1)[order], rotated(hf, [9], "half", rotary).reshape(-1), atol=1e-12
    )


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "int32", "uint8", "bool"])
def test_layout_activations(server, dtype):
    x = RNG.integers(0, 2 if dtype == "bool" else 100, (2, 3, 4, 6)).astype(dtype)
    got = post_tensors(
        server,
        "/v1/layout",
        {"x": x},
        kind="activations",
        axes="bhsd",
        from_layout="half",
        to_layout="interleaved",
    )["x"]
    assert numpy.array_equal(got, x[..., [0, 3, 1, 4, 2, 5]])
    flat = post_tensors(
        server,
        "/v1/layout",
        {"x": x.reshape(2, 12, 6)},
        kind="activations",
        head_dim=6,
        from_layout="half",
        to_layout="gptj",
    )["x"]
    assert numpy.array_equal(flat, got.reshape(2, 12, 6))


def test_bytes_in_every_format(server):
    """u8 comes in and goes out as npy, safetensors, raw and JSON; nothing that rotates takes it."""
    x = numpy.array([[0, 1, 128, 255], [7, 100, 254, 3]], numpy.uint8)
    query = {
        "kind": "activations",
        "head_dim": 4,
        "from_layout": "half",
        "to_layout": "interleaved",
    }
    file = io.BytesIO()
    numpy.save(file, x)
    text = json.dumps({"tensors": {"x": {"dtype": "u8", "data": x.tolist()}}, **query})
    posted = {
        "application/x-npy": file.getvalue(),
        SAFETENSORS: save({"x": x}),
        "application/octet-stream": x.tobytes(),
        "application/json": text,
    }
    for kind, body in posted.items():
        headers = {"Content-Type": kind, "Tensor-Dtype": "uint8", "Tensor-Shape": "2,4"}
        for form in ("npy", "safetensors", "raw", "json"):
            answer = call(
                server,
                "POST",
                "/v1/layout",
                body,
                headers,
                format=form,
                **({} if "json" in kind else query),
            ).good()
            if form == "json":
                (tensor,) = answer.json["tensors"].values()
                assert tensor["dtype"] == "u8"
                got = numpy.array(tensor["data"])
            elif form == "raw":
                assert answer.headers["tensor-dtype"] == "u8"
                got = numpy.frombuffer(answer.body, numpy.uint8).reshape(2, 4)
            else:
                (got,) = [answer.npy] if form == "npy" else answer.tensors.values()
                assert got.dtype == numpy.uint8
            assert numpy.array_equal(got, x[:, [0, 2, 1, 3]]), (kind, form)
    refused = call(
        server,
        "POST",
        "/v1/rotation",
        save({"q": x}),
        {"Content-Type": SAFETENSORS},
        encoding="rope",
        layout="half",
        start=0,
    )
    assert refused.status == 422 and "q must be floating point; got u8" in refused.json["detail"]
    for value in (256, -1, 1.5, "NaN", True):
        data = {"tensors": {"x": {"dtype": "u8", "shape": [1, 2], "data": [[0, value]]}}, **query}
        assert post_json(server, "/v1/layout", data).status == 422, value


def test_layout_of_a_table(server):
    """Interleaved sines and cosines to concatenated ones."""
    given = table(server, "sinusoidal", dim=8, length=5, layout="interleaved")
    got = post_tensors(
        server,
        "/v1/layout",
        {"table": given},
        kind="table",
        from_layout="interleaved",
        to_layout="concatenated",
    )["table"]
    assert numpy.array_equal(
        got, table(server, "sinusoidal", dim=8, length=5, layout="concatenated")
    )
    assert numpy.allclose(
        got,
        numpy.hstack([f(numpy.arange(5)[:, None] * inv_freq(8)) for f in (numpy.sin, numpy.cos)]),
        atol=1e-6,
    )


def test_options_of_an_embedding_that_would_have_no_part(server):
    """A seed without tokens, a factor without a sum: refused, but for the defaults."""
    x = {"tensors": {"x": {"data": [[1.0, 2.0], [3.0, 4.0]]}}, "start": 0}
    words = {"tokens": ["a", "b"], "dim": 2}
    rows = [
        (x, "seed", 0, True),
        (x, "seed", 3, False),
        (words, "seed", 3, True),
        (x, "xscale", 2, True),
        (words, "xscale", 2, True),
    ]
    for mode in ("mul", "concat"):
        rows += [
            (x | {"merge_mode": mode}, "xscale", 2, False),
            (x | {"merge_mode": mode}, "xscale", 1, True),
        ]
    for body, name, value, fine in rows:
        asked = {"encoding": "sinusoidal"} | body | {name: value}
        if body.get("merge_mode") == "concat":
            asked["dim"] = 2
        answer = post_json(server, "/v1/embedding", asked)
        assert answer.status == (200 if fine else 422), (asked, answer.json)
        assert fine or answer.json["errors"][0]["parameter"] == name
