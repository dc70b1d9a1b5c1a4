# SPDX-License-Identifier: MIT
"""Every documented request, sent to the real service; every documented answer, compared with it."""

import base64
import io

import document as contract
import numpy
import pytest

SAMPLES = {
    method: [
        (path, name)
        for path, of, operation in contract.operations()
        if of == method
        for name in contract.samples(operation)
    ]
    for method in contract.METHODS
}
BODIES = [
    (path, kind, name)
    for path, method, operation in contract.operations()
    if method == "post"
    for kind, media in contract.media_of(operation).items()
    for name in contract.request_examples(path, media)
]


def answer_check(operation, response):
    """Status, media type and body are as documented; returns the documented media type object."""
    documented = contract.documented_statuses(operation)
    assert response.status_code in documented, (response.status_code, documented, response.text)
    answer = contract.answer_of(operation, response.status_code)
    if response.status_code >= 400:
        kind = response.headers["Content-Type"]
        assert kind == "application/problem+json", (kind, response.text)
    if response.status_code in (204, 304):
        assert not response.content
        return {}
    kind = response.headers["Content-Type"].split(";")[0]
    assert kind in answer["content"], (kind, list(answer["content"]))
    media = answer["content"][kind]
    if kind.endswith("json"):
        faults = contract.complaints(response.json(), media["schema"])
        assert not faults, "\n".join(faults) + "\n" + response.text[:2000]
    for header, value in response.headers.items():
        description = {k.lower(): v for k, v in answer.get("headers", {}).items()}.get(
            header.lower()
        )
        if description:
            schema = contract.resolve(description)["schema"]
            typed = int(value) if schema.get("type") == "integer" else value
            assert not contract.complaints(typed, schema), (header, value)
    return media


def contains(whole, part):
    """Is `part` the answer `whole` with some members and elements left out?"""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list):
        rest = iter(whole)
        return all(any(contains(other, value) for other in rest) for value in part)
    return whole == part


def play(server, method, path, name, file=None):
    """The answer to a sample, which is the documented one."""
    operation = contract.document["paths"][path][method]
    sample = contract.samples(operation)[name]
    assert contract.is_of(sample.target, path) and sample.method == method.upper()
    response = server.request(
        sample.method, sample.target, headers=sample.headers, json=sample.json, data=file
    )
    assert response.status_code < 300, response.text
    media = answer_check(operation, response)
    if name not in contract.examples(media):
        assert not response.content, "the answer has no example"
        return response
    example = contract.examples(media)[name]
    if name not in contract.shortened(media):
        assert response.json() == example
    elif isinstance(example, str):
        assert example.strip() in response.text
    else:
        whole = response.json()
        if path == "/v1":
            whole["isa"] = example["isa"]  # of the machine
        assert contains(whole, example)
    return response


@pytest.mark.parametrize("path,name", SAMPLES["get"] + SAMPLES["post"])
def test_samples(server, path, name):
    methods = [method for method in ("get", "post") if (path, name) in SAMPLES[method]]
    for method in methods:
        play(server, method, path, name)


def test_samples_of_a_stored_table(server):
    """The table of the sample is stored, shown and deleted."""
    assert (len(SAMPLES["put"]), len(SAMPLES["delete"])) == (1, 1)
    file = io.BytesIO()
    numpy.save(file, numpy.arange(8, dtype="f4").reshape(2, 4))
    stored = play(server, "put", *SAMPLES["put"][0], file.getvalue())
    assert stored.status_code == 201
    assert play(server, "delete", *SAMPLES["delete"][0]).status_code == 204


def test_every_operation_has_an_example():
    """A sample of its own, or bodies of its own that are examples."""
    for path, method, operation in contract.operations():
        own = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        assert contract.samples(operation) or contract.examples(own), f"{method} {path}"


@pytest.mark.parametrize("path,kind,name", BODIES)
def test_bodies(server, path, kind, name):
    operation = contract.document["paths"][path]["post"]
    value = contract.examples(contract.media_of(operation)[kind])[name]
    response = server.post(contract.shown(path), json=value)
    media = answer_check(operation, response)
    assert response.status_code == 200, response.text
    answer, example = response.json(), contract.examples(media)[name]
    if "candidates" in answer:  # the example has the best one
        del answer["candidates"][1:]
    assert answer == example


def tells_encoding(path, name):
    """Does the answer name the encoding that it was made with, so that it can be asked again? A
    config's is not asked of the path that told it."""
    answer = contract.responses(contract.document["paths"][path]["post"])["200"]["content"]
    example = contract.examples(answer["application/json"])[name]
    return path != "/v1/config" and "encoding" in example


TOLD = [(path, name) for path, kind, name in BODIES if tells_encoding(path, name)]


@pytest.mark.parametrize("path,name", TOLD)
def test_what_is_told_can_be_given(server, path, name):
    """The encoding of an answer, posted again, gives the same answer; and base64 its bytes."""
    operation = contract.document["paths"][path]["post"]
    body = contract.examples(contract.media_of(operation)["application/json"])[name]
    path = contract.shown(path)
    answer = server.post(path, json=body).json()
    told = dict(answer["encoding"])
    if "encoding" in body:
        # The functions have the layout beside the encoding.
        told.pop("layout", None)
        again = body | {"encoding": told if told != {"name": "none"} else "none"}
    else:
        told.pop("name")
        again = body | told
    response = server.post(path, json=again)
    assert response.status_code == 200, response.text
    assert response.json() == answer

    response = server.post(path, json=again | {"data_format": "base64"})
    packed = answer_check(operation, response) and response.json()["tensors"]
    for tensor, value in answer["tensors"].items():
        kinds = {"f64": "<f8", "f32": "<f4", "i64": "<i8"}
        elements = numpy.frombuffer(
            base64.b64decode(packed[tensor]["base64"]), kinds[value["dtype"]]
        )
        plain = numpy.array([float(x) for x in flat(value["data"])], kinds[value["dtype"]])
        assert (elements == plain).all(), tensor


def flat(nested):
    return [x for item in nested for x in flat(item)] if isinstance(nested, list) else [nested]


def test_every_answer_example_has_its_request():
    """No example of an answer stands alone: each one is checked above. Operations share answers,
    and examples are named after requests."""
    named = {name for samples in SAMPLES.values() for _, name in samples}
    named |= {name for _, _, name in BODIES}
    answers = set()
    for _, _, operation in contract.operations():
        for media in contract.responses(operation).get("200", {}).get("content", {}).values():
            answers |= set(contract.examples(media))
    print(f"{len(answers)} answers")
    assert len(answers) > 20 and answers <= named, answers - named


@pytest.mark.parametrize(
    "path", [path for path, method, _ in contract.operations() if method == "post"]
)
def test_preflights(server, path):
    headers = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    response = server.options(contract.shown(path), headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert "POST" in response.headers["Allow"]
    names = {"Origin", "Methods", "Headers"}
    assert {f"Access-Control-Allow-{name}" for name in names} <= set(response.headers)
    assert response.headers["Access-Control-Max-Age"] == "7200"


@pytest.mark.parametrize("format", ["json", "npy", "safetensors", "raw"])
def test_formats(server, format):
    """One tensor in every format, each with the headers that are documented for it."""
    path = "/v1/encodings/sinusoidal/table"
    response = server.get(path + f"?dim=4&length=3&format={format}")
    answer_check(contract.item_of(path)["get"], response)
    names = {"X-Request-Id", "Vary", "ETag", "Cache-Control"}
    if format != "json":
        names |= {"Content-Disposition", "Encoding-Parameters"}
    if format == "raw":
        names |= {"Tensor-Dtype", "Tensor-Shape"}
    assert names <= set(response.headers), names - set(response.headers)
    again = server.get(
        path + f"?dim=4&length=3&format={format}",
        headers={"If-None-Match": response.headers["ETag"]},
    )
    answer_check(contract.item_of(path)["get"], again)
    assert again.status_code == 304


def test_the_service_serves_this_document(server):
    assert server.get("/openapi.yaml").content == contract.FILE.read_bytes()
    served = server.get("/openapi.json").json()
    assert served == contract.document


def test_head_and_other_methods(server):
    """HEAD has the status and headers of GET; what is not listed gets 405 with Allow."""
    checked = 0
    for path, item in contract.document["paths"].items():
        if "{" in path:
            continue
        allowed = {"get": "GET, HEAD, ", "post": "POST, "}
        expected = "".join(text for method, text in allowed.items() if method in item) + "OPTIONS"
        response = server.delete(path)
        answer_check(item.get("get", item.get("post")), response)
        assert (response.status_code, response.headers["Allow"]) == (405, expected)
        assert server.options(path).status_code == 204
        if "get" in item:
            get, head = server.get(path), server.head(path)
            assert (head.status_code, head.content) == (get.status_code, b"")
            assert head.headers.get("Content-Type") == get.headers.get("Content-Type")
        checked += 1
    print(f"{checked} paths")
    assert checked > 10
