# SPDX-License-Identifier: MIT
"""POST /v1/comparison with tolerance_of: values made as models make them lie within, damaged ones
do not."""

import base64

import numpy
import pytest
from confusion import SCHEMES, frequencies
from samples import F16, F32, KINDS, bf16, cos_sin, float32_cos_sin

from service import inv_freq, post_json, post_tensors, table

STARTS = [0, 5000, 100000, 2000000]


def judged(server, encoding, values, way, **more):
    """The whole answer about values that should be those of an encoding."""
    posted = {
        "dtype": KINDS[str(values.dtype)],
        "shape": list(values.shape),
        "base64": base64.b64encode(numpy.ascontiguousarray(values).tobytes()).decode(),
    }
    return (
        post_json(
            server,
            "/v1/comparison",
            {"a": encoding, "b": "tensor:t", "tensors": {"t": posted}, "tolerance_of": way, **more},
        )
        .good()
        .json
    )


def outside(server, encoding, values, way, **more):
    return judged(server, encoding, values, way, **more)["tolerance"]["outside"]


def stacked(tensors):
    return numpy.stack([tensors["cos"], tensors["sin"]])


@pytest.mark.numbers(2)
@pytest.mark.parametrize("name", SCHEMES)
def test_honest_tables_and_others(server, name):
    scheme = SCHEMES[name]
    w, factor = frequencies(server, scheme)
    for start in STARTS:
        t = start + numpy.arange(200)
        right = stacked(float32_cos_sin(t, w, factor))
        report = judged(server, scheme, right, "f32-angle", start=start)["tolerance"]
        assert (report["outside"], report["first_outside"], report["judged"]) == (0, None, "b")
        assert 0.1 < report["used"] <= 1
        for values, way in (
            (bf16(right), "bf16-cache"),
            (right.astype(F16), "f16-q"),
            (right.astype(F16).astype(F32), "f16-q"),
        ):
            report = judged(server, scheme, values, way, start=start)["tolerance"]
            assert report["outside"] == 0 and report["used"] <= 1
        late = stacked(float32_cos_sin(t + 1, w, factor))
        rough = stacked(float32_cos_sin(t, bf16(w), factor))
        for way, rounded in (("f32-angle", F32), ("bf16-cache", bf16), ("f16-q", F16)):
            assert outside(server, scheme, rounded(late), way, start=start) > 0
            assert outside(server, scheme, rounded(rough), way, start=start) > right.size / 10
    right[1, 77, 3] += 0.25 if start < 1e5 else 2
    first = judged(server, scheme, right, "f32-angle", start=start)["tolerance"]["first_outside"]
    assert (first["table"], first["row"], first["column"]) == ("sin", 77, 3)
    assert first["position"] == start + 77 and first["value"] > first["high"] > first["low"]


def test_the_service_itself_and_numpy(server):
    """Both arithmetics, tables to be added, either side, one part, columns twice."""
    scheme = {"name": "rope", "dim": 64}
    for start in STARTS:
        for values in (scheme | {"arithmetic": "hf"}, scheme):
            body = {
                "a": scheme,
                "b": values,
                "length": 100,
                "start": start,
                "tolerance_of": "f32-angle",
                "duplicate": True,
            }
            report = post_json(server, "/v1/comparison", body).good().json
            assert report["tolerance"]["outside"] == 0
    for layout in ("interleaved", "concatenated"):
        rows = table(server, "sinusoidal", dim=33, length=300, layout=layout, dtype="f64")
        added = {"name": "sinusoidal", "layout": layout}
        assert outside(server, added, rows.astype(F32), "f32-angle") == 0
        assert outside(server, added, rows[:, ::-1].astype(F32), "f32-angle") > 0
    cos = cos_sin(numpy.arange(50)[:, None] * inv_freq(64))["cos"].astype(F32)
    body = {
        "b": scheme,
        "a": "tensor:t",
        "tensors": {"t": {"data": cos.tolist()}},
        "part": "cos",
        "tolerance_of": "f32-angle",
    }
    report = post_json(server, "/v1/comparison", body).good().json["tolerance"]
    assert (report["judged"], report["outside"]) == ("a", 0)


def test_intervals_of_elements(server):
    scheme = {"name": "rope", "dim": 8}
    right = stacked(float32_cos_sin(numpy.arange(40), inv_freq(8)))
    told = judged(server, scheme, right, "f32-angle", per_element=True)["intervals"]
    for i, part in enumerate(("cos", "sin")):
        low, high = (numpy.array(told[part][end]) for end in ("low", "high"))
        assert low.shape == (40, 4) and (low <= right[i]).all() and (right[i] <= high).all()
        assert (high - low).max() < 1e-4 and (high - low)[1:].min() > 0


def turned(x, cos, sin, layout, rounded):
    """As a model's code in one dtype does it: each product and each sum is rounded."""
    pairs = cos.shape[-1]
    first = slice(0, pairs) if layout == "half" else slice(0, None, 2)
    second = slice(pairs, None) if layout == "half" else slice(1, None, 2)
    out = numpy.empty_like(x)
    a, b = x[..., first], x[..., second]
    out[..., first] = rounded(rounded(a * cos) - rounded(b * sin))
    out[..., second] = rounded(rounded(b * cos) + rounded(a * sin))
    return out


def rotation_judged(server, q, made, way, layout="half", **more):
    tensors = {
        name: {"shape": list(values.shape), "data": values.tolist()}
        for name, values in (("q", q), ("q_rotated", made))
    }
    return post_json(
        server,
        "/v1/comparison",
        {
            "a": {"name": "rope", "layout": layout, "base": 10000},
            "b": "tensor:q_rotated",
            "tensors": tensors,
            "tolerance_of": way,
            "start": 4000,
            **more,
        },
    )


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("way,rounded", [("f32-angle", F32), ("bf16-cache", bf16), ("f16-q", F16)])
def test_rotated_queries(server, layout, way, rounded):
    q = numpy.asarray(rounded(numpy.random.default_rng(5).standard_normal((1, 2, 20, 8))), F32)

    def made(start):
        at = float32_cos_sin(start + numpy.arange(20), inv_freq(8))
        cos, sin = (numpy.asarray(rounded(at[part]), F32) for part in ("cos", "sin"))
        return turned(q, cos, sin, layout, lambda x: numpy.asarray(rounded(x), F32))

    report = rotation_judged(server, q, made(4000), way, layout, per_element=True).good().json
    assert report["tolerance"]["outside"] == 0 and 0.01 < report["tolerance"]["used"] <= 1
    assert report["per_head"]["shape"] == [2] and report["a"]["name"] == "rope"
    low, high = (numpy.array(report["intervals"]["table"][end]) for end in ("low", "high"))
    assert low.shape == (40, 8) and (low <= made(4000).reshape(40, 8)).all() and (low < high).any()
    wrong = made(4001)
    assert rotation_judged(server, q, wrong, way, layout).json["tolerance"]["outside"] > 100
    other = {"half": "interleaved", "interleaved": "half"}[layout]
    assert rotation_judged(server, q, made(4000), way, other).json["tolerance"]["outside"] > 100
    damaged = made(4000)
    damaged[0, 1, 7, 3] += 0.5
    told = rotation_judged(server, q, damaged, way, layout).json["tolerance"]
    assert told["outside"] == 1 and told["first_outside"]["row"] == 27
    assert told["first_outside"]["position"] == 4007 and told["first_outside"]["column"] == 3


def test_rotations_that_do_not_fit(server):
    q = numpy.ones((1, 1, 3, 4), F32)
    for what, says, made, more in (
        ("tensor:q", "one shape", numpy.ones((1, 1, 3, 6)), {}),
        ("parameter:positions", "has 3", q, {"positions": [1, 2], "start": 0}),
        ("parameter:positions", "is [2, 3]", q, {"positions": [[1, 2, 3]] * 2, "start": 0}),
        ("parameter:axes", "have an s", q, {"axes": "lbhd"}),
        ("parameter:layout", "layout is required", q, {"a": {"name": "rope"}}),
    ):
        answer = rotation_judged(server, q, made, "f32-angle", **more)
        error = answer.json["errors"][0]
        assert answer.status == 422 and says in error["detail"], error
        assert what.split(":")[1] in (
            error.get("parameter"),
            error.get("tensor"),
            error.get("pointer", "").strip("/"),
        ), error


BATCHES = [[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]
ROTATIONS = {  # encoding, shape and axes, positions
    "a row a token": ({"name": "rope", "dim": 16}, (5, 16), "sd", [7, 8, 9, 10, 11]),
    "heads side by side": ({"name": "rope", "dim": 8}, (2, 5, 24), "bsd", BATCHES),
    "packed": ({"name": "rope", "rotary_dim": 4}, (5, 3, 8), "thd", [0, 1, 0, 1, 2]),
    "two heads": ({"name": "rope"}, (2, 5, 8), "hsd", BATCHES[0]),
    "batch rows": ({"name": "rope"}, (2, 3, 5, 8), "bhsd", BATCHES),
    "tokens first": ({"name": "rope"}, (2, 5, 3, 8), "bshd", BATCHES),
    "coordinates": (
        {"name": "mrope", "mrope_section": [2, 1, 1]},
        (2, 3, 5, 8),
        "bhsd",
        [BATCHES, BATCHES[::-1], [[0] * 5] * 2],
    ),
    "a grid": ({"name": "rope-2d"}, (5, 3, 8), "shd", BATCHES),
}


@pytest.mark.parametrize("name", ROTATIONS)
def test_whatever_rotates(server, name):
    """As POST /v1/rotation does it, bit for bit; one element beside it is found."""
    encoding, shape, axes, positions = ROTATIONS[name]
    encoding = encoding | {"layout": "interleaved"}
    q = numpy.random.default_rng(4).standard_normal(shape).astype(F32)
    settings = {"axes": axes, "positions": positions}

    def ask(made, **more):
        return post_json(
            server,
            "/v1/comparison",
            {
                "a": encoding,
                "b": "tensor:k_rotated",
                **settings,
                **more,
                "tensors": {"k": {"data": q.tolist()}, "k_rotated": {"data": made.tolist()}},
            },
        )

    posted = {"tensors": {"k": {"data": q.tolist()}}, "encoding": encoding, **settings}
    answer = post_json(server, "/v1/rotation", posted).good().json
    made = numpy.array(answer["tensors"]["k"]["data"], F32)
    assert ask(made).good().json["unequal"] == 0
    made[(-1,) * len(shape)] += 1
    report = ask(made).good().json
    last = numpy.array(positions, float).reshape(-1, 5)
    row = (
        last[1]
        if name in ("batch rows", "tokens first", "heads side by side", "coordinates")
        else last[0]
    )
    assert (report["unequal"], report["first_divergence"]["position"]) == (1, row[-1])
    assert ("per_head" in report) == (len(shape) == 4)
    if encoding["name"] == "rope":
        assert ask(made, tolerance_of="f32-angle").good().json["tolerance"]["outside"] == 1


def test_layers_with_positions_of_batch_rows(server):
    """Those of a layer are not those of the batch row that lies where it does."""
    layers = numpy.random.default_rng(4).standard_normal((3, 2, 1, 5, 4)).astype(F32)
    ids = numpy.array(BATCHES)
    made = numpy.stack(
        [
            post_tensors(
                server,
                "/v1/rotation",
                {"q": layer, "ids": ids},
                axes="bhsd",
                encoding="rope",
                layout="half",
                positions="tensor:ids",
            )["q"]
            for layer in layers
        ]
    )
    report = rotation_judged(server, layers, made, "none", start=0, positions=BATCHES).good().json
    assert report["unequal"] == 0 and report["per_head"]["shape"] == [3, 1]
    report = rotation_judged(server, layers, made, "none", start=0, positions=BATCHES[0]).json
    assert report["first_divergence"]["place"] == {"l": 0, "b": 1, "h": 0, "s": 0}


@pytest.mark.parametrize("name", ["q", "k"])
def test_queries_and_keys_apart(server, name):
    x = numpy.random.default_rng(4).standard_normal((5, 2, 8)).astype(F32)
    made = post_tensors(
        server,
        "/v1/rotation",
        {name: x},
        encoding="xpos",
        axes="shd",
        start=9,
        layout="half",
        t_center=4,
    )[name]
    for other in ("q", "k", "x"):
        answer = post_json(
            server,
            "/v1/comparison",
            {
                "a": {"name": "xpos", "layout": "half", "t_center": 4},
                "axes": "shd",
                "start": 9,
                "b": f"tensor:{other}_rotated",
                "tensors": {
                    other: {"data": x.tolist()},
                    f"{other}_rotated": {"data": made.tolist()},
                },
            },
        )
        if other == "x":
            assert answer.status == 422 and "call the tensor q or k" in answer.json["detail"]
        else:
            assert (answer.good().json["unequal"] == 0) == (other == name)
