# SPDX-License-Identifier: MIT
"""A client that openapi-python-client makes of the contract: whole, and every kind of operation is
called with it."""

import importlib
import os
import subprocess
import sys

import document as contract
import pytest

TURNED = {"dtype": "f64", "shape": [1, 2], "data": [[1, 0]]}
HEADS = {"dtype": "f64", "shape": [1, 1, 2, 2], "data": [[[[1, 0], [0, 1]]]]}


@pytest.fixture(scope="module")
def client(server, tmp_path_factory):
    """call(module of the client, model of the body, body, **query) -> the answer, parsed."""
    folder = tmp_path_factory.mktemp("client")
    tool = os.path.join(os.path.dirname(sys.executable), "openapi-python-client")
    made = subprocess.run(
        [
            tool,
            "generate",
            "--path",
            contract.ROOT / "openapi.json",
            "--config",
            contract.ROOT / "tests/contract/clients.yaml",
            "--output-path",
            folder / "posenc_client",
            "--meta",
            "none",
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0 and "WARNING" not in made.stdout, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    connection = importlib.import_module("posenc_client").Client(base_url=server.url)

    def call(module, *path, body=None, model=None, **query):
        operation = importlib.import_module("posenc_client.api." + module)
        if body is not None:
            models = importlib.import_module("posenc_client.models")
            query["body"] = getattr(models, model).from_dict(body)
        answer = operation.sync_detailed(*path, client=connection, **query)
        assert answer.status_code == 200, answer.content
        return answer.parsed.to_dict()

    call.modules = {path.stem for path in (folder / "posenc_client/api").glob("*/*.py")}
    yield call
    sys.path.remove(str(folder))


def test_every_operation_is_there(client):
    operations = [operation for _, _, operation in contract.operations()]
    assert len(client.modules - {"__init__"}) == len(operations)


def test_views_are_called(client, server):
    for name, query in (("rope", {"dim": 4, "length": 2}), ("sample", {"length": 2})):
        expected = server.get(f"/v1/encodings/{name}/table", params=query).json()
        assert client("views.get_table", name, **query) == expected
        answer = client("views.post_table", name, model="ViewRequest", body=query)
        assert answer == expected


@pytest.mark.parametrize(
    "module,model,body",
    [
        (
            "rotate",
            "RotationRequest",
            {"encoding": "rope", "dim": 2, "layout": "half", "start": 1, "tensors": {"q": TURNED}},
        ),
        (
            "attend",
            "AttentionRequest",
            {
                "encoding": {"name": "alibi", "heads": 1},
                "outputs": "scores",
                "tensors": {"q": HEADS, "k": HEADS},
            },
        ),
        ("read_config", "ConfigFile", {"model_type": "llama", "head_dim": 4}),
        (
            "embed",
            "EmbeddingRequest",
            {"encoding": {"name": "sinusoidal", "dim": 2}, "start": 1, "tensors": {"x": TURNED}},
        ),
        (
            "compare",
            "ComparisonRequest",
            {
                "a": {"name": "rope", "dim": 4},
                "b": {"name": "rope", "dim": 4, "base": 100},
                "length": 2,
            },
        ),
        (
            "convert_layout",
            "LayoutRequest",
            {
                "from_layout": "half",
                "to_layout": "interleaved",
                "kind": "table",
                "tensors": {"q": TURNED},
            },
        ),
        (
            "diagnose",
            "DiagnosisRequest",
            {
                "encoding": {"name": "rope", "base": 500000},
                "tensors": {"inv_freq": {"dtype": "f64", "shape": [2], "data": [1, 0.01]}},
            },
        ),
    ],
)
def test_functions_are_called(client, server, module, model, body):
    """With a body of the client's own types, answered like the same JSON, and read whole."""
    path = next(
        path
        for path, _, operation in contract.operations()
        if operation["operationId"].lower() == module.replace("_", "")
    )
    expected = server.post(path, json=body)
    assert expected.status_code == 200, expected.text
    assert client("functions." + module, model=model, body=body) == expected.json()
