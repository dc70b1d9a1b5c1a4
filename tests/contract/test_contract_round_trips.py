# SPDX-License-Identifier: MIT
"""An encoding goes back as it came: what any view calls `encoding` is taken by every view of it and
by every function that knows it, with the layout that functions tell where it rotates."""

import urllib.parse

import document as contract
import pytest
from test_contract_catalogue import catalogue

NAMES = contract.schemas["EncodingName"]["enum"]
MORE = {
    "mrope": {"positions": "0,1"},
    "rope-2d": {"positions": [[0, 1], [0, 1]]},
    "rope-nd": {"positions": [[0, 1], [0, 1], [1, 0]]},
}
ROTARY = ("rope", "mrope", "rope-2d", "rope-nd", "xpos")


def told(server, name):
    """(entry, the answers' encodings without repeats) of an encoding."""
    entry = next(entry for entry in catalogue(server) if entry["name"] == name)
    found = []
    for view in entry["operations"]:
        encoding = server.get(view["example"]).json()["encoding"]
        if encoding not in found:
            found.append(encoding)
    if "rotation" in entry["functions"]:
        found += [
            encoding | {"layout": layout}
            for encoding in found
            for layout in ("half", "interleaved")
        ]
    return entry, found


def tensor(*shape):
    elements = 1
    for size in shape:
        elements *= size
    return {"dtype": "f32", "shape": list(shape), "data": [0.5] * elements}


def rotation(encoding):
    name, width = encoding["name"], encoding["dim"]
    layout = {} if "layout" in encoding else {"layout": "half"}
    return (
        {"encoding": encoding, "start": 0, "axes": "shd", "tensors": {"q": tensor(2, 1, width)}}
        | layout
        | without_start(MORE.get(name))
    )


def without_start(more):
    return more | {"start": 0} if more else {}


def attention(encoding):
    heads, width = encoding.get("heads", 1), encoding.get("dim", 4)
    tensors = {"q": tensor(1, heads, 2, width), "k": tensor(1, heads, 2, width)}
    if encoding["name"] == "t5":
        tensors["weights"] = tensor(encoding["num_buckets"], heads)
    if encoding["name"] == "shaw" and encoding.get("vectors") != "sinusoidal":
        tensors["rel_k"] = tensor(2 * encoding["max_relative_position"] + 1, width)
    if encoding["name"] == "deberta-log":
        tensors["pos_key"] = tensor(2 * encoding["position_buckets"], heads * width)
    rotary = "layout" not in encoding and encoding["name"] in ROTARY
    return (
        {"encoding": encoding, "outputs": "scores", "tensors": tensors}
        | ({"layout": "half"} if rotary else {})
        | (MORE[encoding["name"]] if encoding["name"] in ("rope-2d", "rope-nd") else {})
    )


def embedding(encoding):
    return {"encoding": encoding, "start": 0, "tensors": {"x": tensor(2, width_of(encoding))}}


def width_of(encoding):
    return encoding.get("dim", 4 if "table" in encoding else 1)


def comparison(encoding):
    grids = {
        "sinusoidal-2d": {},
        "normalized": {},
        "shaw": {},
        "sinusoidal-nd": {"shape": [2] * encoding.get("ndim", 2)},
        "fourier": {"shape": [2] * encoding.get("ndim", 1)},
        "rope-2d": {"width": 2, "height": 2},
        "rope-nd": {"shape": [2] * len(encoding.get("axes_dim", []))},
    }
    rows = grids.get(encoding["name"], {"length": 2})
    return {"a": encoding, "b": encoding} | rows


@pytest.mark.parametrize("name", NAMES)
def test_views_take_it(server, name):
    entry, encodings = told(server, name)
    for view in entry["operations"]:
        expected = server.get(view["example"]).json()
        own = set(view["parameters"]["properties"]) - set(entry["parameters"]["properties"])
        path, _, query = view["example"].partition("?")
        rest = {n: text for n, text in urllib.parse.parse_qsl(query) if n in own}
        item = contract.item_of(path)["post"]
        for encoding in encodings:
            body = {"encoding": encoding}
            schema = contract.media_of(item)["application/json"]["schema"]
            assert not contract.complaints(body, schema), body
            answer = server.post(path, params=rest, json=body)
            if view["name"] == "table" and "vectors" in unknown_rows(encoding):
                assert answer.json()["errors"][0]["parameter"] == "vectors"
                continue
            assert answer.status_code == 200, (encoding, answer.text)
            if encoding == expected["encoding"]:
                assert answer.json() == expected


def unknown_rows(encoding):
    """What a comparison lacks to make a table: numbers that were learned."""
    learned = encoding["name"] == "shaw" and encoding["vectors"] == "learned"
    return ("vectors",) if learned else ()


@pytest.mark.parametrize("grid", ["width", "shape"])
def test_a_grid_that_no_side_has_is_refused(server, grid):
    side = {"name": "rope", "dim": 4}
    value = [2] if grid == "shape" else 2
    answer = server.post("/v1/comparison", json={"a": side, "b": side, "length": 2, grid: value})
    assert answer.json()["errors"][0]["parameter"] == grid, answer.text


def test_a_config_takes_every_encoding(server):
    """Alone, with the same answer when it is told again; and beside the config of weights."""
    for name in NAMES:
        for encoding in told(server, name)[1]:
            answer = server.post("/v1/config", json={"encoding": encoding})
            assert answer.status_code == 200, (encoding, answer.text)
            assert answer.json()["encoding"] == encoding
    bert = {"model_type": "bert", "hidden_size": 8, "max_position_embeddings": 16}
    size = server.post("/v1/config", json=bert).json()["encoding"]
    for body in ({"encoding": size}, {"config": bert, "encoding": size}):
        assert server.post("/v1/config", json=body).json()["encoding"] == size
    other = server.post("/v1/config", json={"config": bert, "encoding": size | {"length": 17}})
    assert other.json()["code"] == "conflicting-parameters"


@pytest.mark.parametrize("name", NAMES)
def test_functions_take_it(server, name):
    """Each of them answers, and what it tells is taken again with the same answer."""
    entry, encodings = told(server, name)
    bodies = {
        "rotation": rotation,
        "attention": attention,
        "embedding": embedding,
        "comparison": comparison,
    }
    for function in entry["functions"]:
        for encoding in encodings:
            body = bodies[function](encoding)
            answer = server.post("/v1/" + function, json=body)
            if function == "comparison" and unknown_rows(encoding):
                assert answer.json()["errors"][0]["parameter"] in unknown_rows(encoding)
                continue
            assert answer.status_code == 200, (function, encoding, answer.text)
            again = answer.json().get("encoding")
            if again:
                body.pop("layout", None)
                assert (
                    server.post("/v1/" + function, json=body | {"encoding": again}).json()
                    == answer.json()
                )
            else:
                assert answer.json()["unequal"] == 0


def test_another_encoding_is_refused(server):
    answer = server.post(
        "/v1/encodings/rope/table?length=2", json={"encoding": {"name": "xpos", "dim": 4}}
    ).json()
    assert answer["code"] == "conflicting-parameters"
    assert answer["errors"][0]["pointer"] == "/encoding"


@pytest.mark.parametrize("name", ["sinusoidal", "timestep", "rope", "mrope", "rope-2d", "xpos"])
def test_diagnosis_takes_it(server, name):
    entry, encodings = told(server, name)
    view = next(view for view in entry["operations"] if view["name"] == "table")
    answer = server.get(view["example"]).json()
    for encoding in encodings:
        body = {"encoding": encoding, "tensors": answer["tensors"]}
        found = server.post("/v1/diagnosis", json=body)
        assert found.status_code == 200, found.text
        for candidate in found.json()["candidates"]:
            again = server.post("/v1/diagnosis", json=body | {"encoding": candidate["encoding"]})
            assert again.status_code == 200 or "/encoding" not in again.text, again.text


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "llama", "head_dim": 4},
        {"model_type": "bloom", "n_head": 2, "hidden_size": 8},
    ],
)
def test_what_a_config_tells_goes_back(server, config):
    """To /v1/config itself, beside the config, and to every view that it links."""
    answer = server.post("/v1/config", json=config).json()
    encoding = answer["encoding"]
    again = server.post("/v1/config", json={"config": config, "encoding": encoding})
    assert again.status_code == 200 and again.json()["encoding"] == encoding, again.text
    entry, _ = told(server, encoding["name"])
    for view in entry["operations"]:
        own = set(view["parameters"]["properties"]) - set(entry["parameters"]["properties"])
        path, _, query = view["example"].partition("?")
        rest = {n: text for n, text in urllib.parse.parse_qsl(query) if n in own}
        posted = server.post(path, params=rest, json={"encoding": encoding})
        assert posted.status_code == 200, posted.text
    if "comparison" in entry["functions"]:
        compared = server.post("/v1/comparison", json={"a": encoding, "b": encoding, "length": 2})
        assert compared.json()["unequal"] == 0
