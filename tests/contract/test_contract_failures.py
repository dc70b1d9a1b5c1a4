# SPDX-License-Identifier: MIT
"""Every documented failure that a client can provoke is provoked, and is what the document says."""

import http.client
import json
import struct
import urllib.parse

import document as contract
import pytest
from test_contract_examples import answer_check

TABLE = "/v1/encodings/sinusoidal/table"
STORED = "/v1/encodings/my-bert"
BEARER = {"Authorization": "Bearer a-secret"}
ROTATION, ATTENTION = "/v1/rotation", "/v1/attention"
Q = {"q": {"dtype": "f64", "shape": [1, 2], "data": [[1, 0]]}}


def rotation(**changes):
    body = {"encoding": "rope", "axes": "sd", "dim": 2, "layout": "half", "positions": {"start": 0}}
    body["tensors"] = Q
    return {key: value for key, value in (body | changes).items() if value is not None}


def row(name, status, code, path, body=None, data=None, headers=None, method=None, where=None):
    return pytest.param(status, code, path, body, data, headers, method, where, id=name)


FAILURES = [
    row("percent zero", 400, "malformed", TABLE + "?dim=%00"),
    row(
        "json cut short",
        400,
        "malformed",
        TABLE,
        data=b'{"dim": 4,',
        headers={"Content-Type": "application/json"},
    ),
    row(
        "json twice the same key",
        400,
        "malformed",
        TABLE,
        data=b'{"dim": 4, "dim": 4}',
        headers={"Content-Type": "application/json"},
    ),
    row(
        "json that is no object",
        400,
        "malformed",
        TABLE,
        data=b"[4]",
        headers={"Content-Type": "application/json"},
    ),
    row(
        "safetensors cut short",
        400,
        "malformed",
        ROTATION,
        data=struct.pack("<Q", 1 << 40) + b"{}",
        headers={"Content-Type": "application/x-safetensors"},
    ),
    row(
        "npy without its dict",
        400,
        "malformed",
        ROTATION,
        data=b"\x93NUMPY\x01\x00\x02\x00()",
        headers={"Content-Type": "application/x-npy"},
    ),
    row("unknown path", 404, "not-found", "/v1/encoding"),
    row("unknown encoding", 404, "not-found", "/v1/encodings/rop"),
    row("unknown view", 404, "not-found", "/v1/encodings/alibi/table?heads=2"),
    row("unknown problem", 404, "not-found", "/problems/none"),
    row("wrong method", 405, "method-not-allowed", TABLE, method="PUT"),
    row("get of a function", 405, "method-not-allowed", ROTATION),
    row(
        "accept",
        406,
        "not-acceptable",
        TABLE + "?dim=4&length=4",
        headers={"Accept": "text/html"},
        where=("header", "Accept"),
    ),
    row(
        "format",
        406,
        "not-acceptable",
        TABLE + "?dim=4&length=4&format=xml",
        where=("parameter", "format"),
    ),
    row("npy of bf16", 406, "not-acceptable", TABLE + "?dim=4&length=4&dtype=bf16&format=npy"),
    row(
        "revision",
        409,
        "revision-unavailable",
        TABLE + "?dim=4&length=4&revision=none",
        where=("parameter", "revision"),
    ),
    row(
        "range behind the end",
        416,
        "range-not-satisfiable",
        TABLE + "?dim=4&length=4&format=raw",
        headers={"Range": "bytes=64-"},
        where=("header", "Range"),
    ),
    row(
        "answer too large",
        413,
        "too-large",
        TABLE + "?dim=65536&length=9007199254740000&format=npy",
    ),
    row("json too large", 413, "too-large", TABLE + "?dim=65536&length=65536"),
    row(
        "dim over the limit",
        413,
        "too-large",
        TABLE + "?dim=1048576&length=1",
        where=("parameter", "dim"),
    ),
    row(
        "media type",
        415,
        "unsupported-media-type",
        ROTATION,
        data=b"<q/>",
        headers={"Content-Type": "text/xml"},
    ),
    row(
        "coding",
        415,
        "unsupported-media-type",
        ROTATION,
        data=b"x",
        headers={"Content-Type": "application/json", "Content-Encoding": "compress"},
    ),
    row(
        "expectation", 417, "expectation-failed", TABLE, body={"dim": 4}, headers={"Expect": "tea"}
    ),
    row(
        "too many fields",
        431,
        "too-many-fields",
        "/livez",
        headers={f"X-{i}": "1" for i in range(400)},
    ),
    row("long URI", 414, "uri-too-long", "/v1?" + "a" * 50000),
    row("host", 403, "host-not-allowed", "/v1", headers={"Host": "example.org"}),
    row(
        "missing length", 422, "missing-parameter", TABLE + "?dim=4", where=("parameter", "length")
    ),
    row(
        "unknown parameter",
        422,
        "unknown-parameter",
        TABLE + "?dim=4&lenght=4",
        where=("parameter", "lenght"),
    ),
    row(
        "unknown key",
        422,
        "unknown-parameter",
        TABLE,
        body={"dim": 4, "lenght": 4},
        where=("pointer", "/lenght"),
    ),
    row(
        "no number",
        422,
        "invalid-parameter",
        TABLE + "?dim=four&length=4",
        where=("parameter", "dim"),
    ),
    row(
        "number as text",
        422,
        "invalid-parameter",
        TABLE,
        body={"dim": "4", "length": 4},
        where=("pointer", "/dim"),
    ),
    row(
        "truth as number",
        422,
        "invalid-parameter",
        TABLE,
        body={"dim": True, "length": 4},
        where=("pointer", "/dim"),
    ),
    row(
        "dtype",
        422,
        "invalid-parameter",
        TABLE + "?dim=4&length=4&dtype=f8",
        where=("parameter", "dtype"),
    ),
    row(
        "base 1", 422, "out-of-range", TABLE + "?dim=4&length=4&base=1", where=("parameter", "base")
    ),
    row(
        "given twice",
        422,
        "conflicting-parameters",
        TABLE + "?dim=4&dim=5&length=4",
        where=("parameter", "dim"),
    ),
    row(
        "query against body",
        422,
        "conflicting-parameters",
        TABLE + "?dim=5",
        body={"dim": 4, "length": 4},
    ),
    row("odd rope", 422, "out-of-range", "/v1/encodings/rope/table?dim=3&length=4"),
    row(
        "yarn's own parameter",
        422,
        "conflicting-parameters",
        "/v1/encodings/rope/table?dim=4&length=4&mscale=1",
        where=("parameter", "mscale"),
    ),
    row(
        "llama3 incomplete",
        422,
        "missing-parameter",
        "/v1/encodings/rope/table?dim=4&length=4&rope_type=llama3&factor=8",
    ),
    row(
        "slopes too few",
        422,
        "shape-mismatch",
        "/v1/encodings/alibi/bias?heads=2&slopes=1&query_length=2",
        where=("parameter", "slopes"),
    ),
    row(
        "family",
        422,
        "invalid-parameter",
        "/v1/encodings?family=noble",
        where=("parameter", "family"),
    ),
    row(
        "no token",
        401,
        "unauthorized",
        STORED,
        data=b"",
        method="PUT",
        where=("header", "Authorization"),
    ),
    row(
        "name of an encoding",
        409,
        "name-taken",
        "/v1/encodings/rope",
        headers=BEARER,
        method="DELETE",
        where=("parameter", "name"),
    ),
    row(
        "another version",
        412,
        "precondition-failed",
        "/v1/encodings/sample",
        headers=BEARER | {"If-Match": '"0"'},
        method="DELETE",
        where=("header", "If-Match"),
    ),
    row(
        "name with capitals",
        422,
        "invalid-parameter",
        "/v1/encodings/My-Bert",
        headers=BEARER,
        data=b"",
        method="PUT",
        where=("parameter", "name"),
    ),
    row(
        "a table in JSON",
        415,
        "unsupported-media-type",
        STORED,
        headers=BEARER,
        body={"a": 1},
        method="PUT",
        where=("header", "Content-Type"),
    ),
    row(
        "no stored table",
        404,
        "not-found",
        "/v1/encodings/learned/table?table=none&length=1",
        where=("parameter", "table"),
    ),
    row("query of the index", 422, "unknown-parameter", "/?verbose=1"),
    row("layout missing", 422, "missing-parameter", ROTATION, body=rotation(layout=None)),
    row("positions missing", 422, "missing-parameter", ROTATION, body=rotation(positions=None)),
    row("encoding missing", 422, "missing-parameter", ROTATION, body=rotation(encoding=None)),
    row("tensors missing", 422, "missing-parameter", ROTATION, body=rotation(tensors=None)),
    row("positions and delta", 422, "conflicting-parameters", ROTATION, body=rotation(delta=1)),
    row("positions too many", 422, "shape-mismatch", ROTATION, body=rotation(positions=[0, 1])),
    row(
        "rotation by alibi", 422, "unsupported", ROTATION, body=rotation(encoding="alibi", dim=None)
    ),
    row("rotation by nothing known", 404, "not-found", ROTATION, body=rotation(encoding="rop")),
    row(
        "ragged data",
        422,
        "shape-mismatch",
        ROTATION,
        body=rotation(tensors={"q": {"data": [[1, 2], [3]]}}),
    ),
    row(
        "raw without its shape",
        422,
        "missing-parameter",
        ROTATION + "?encoding=rope&layout=half&start=0",
        data=bytes(16),
        headers={"Content-Type": "application/octet-stream", "Tensor-Dtype": "f64"},
        where=("header", "Tensor-Shape"),
    ),
    row("k missing", 422, "missing-parameter", ATTENTION, body={"encoding": "none", "tensors": Q}),
    row(
        "a tensor too many",
        422,
        "unknown-parameter",
        ATTENTION,
        body={"encoding": "none", "tensors": Q | {"z": Q["q"]}},
        where=("tensor", "z"),
    ),
]


@pytest.mark.parametrize("status,code,path,body,data,headers,method,where", FAILURES)
def test_failure(server, status, code, path, body, data, headers, method, where):
    method = method or ("GET" if body is None and data is None else "POST")
    response = server.request(method, path, json=body, data=data, headers=headers)
    paths = contract.document["paths"]
    named = "/v1/encodings/{name}" if method in ("PUT", "DELETE") else "/v1"
    item = contract.item_of(path) or paths[named]
    others = [item[other] for other in contract.METHODS if other in item]
    answer_check(item.get(method.lower(), others[0]), response)
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), problem
    assert problem["status"] == status
    assert problem["type"] == f"/problems/{code}"
    page = server.get(problem["type"]).json()
    assert (page["status"], page["title"]) == (status, problem["title"])
    assert response.headers["X-Request-Id"] == problem["request_id"]
    assert response.headers["Cache-Control"] == "no-store"
    if where:
        assert problem["errors"][0].get(where[0]) == where[1], problem


def test_bad_percent_encoding(server):
    """By hand: a client library would mend it."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=10)
    connection.request("GET", TABLE + "?dim=%zz")
    response = connection.getresponse()
    problem = json.loads(response.read())
    assert (response.status, problem["code"]) == (400, "malformed"), problem
    connection.close()


def test_each_status_is_provoked():
    """What takes more than a request is named here: 408 time, 500 a fault, 501 framing that no
    client library sends, 503 load or the end, 507 a full disk, and a server that
    stores nothing. tests/server and tests/integration have them."""
    provoked = {parameters.values[0] for parameters in FAILURES}
    documented = set()
    for _, _, operation in contract.operations():
        documented |= contract.documented_statuses(operation)
    print(f"{len(FAILURES)} failures, {len(provoked)} statuses")
    assert documented - provoked - {200, 201, 204, 206, 304} == {408, 500, 501, 503, 507}
    codes = {parameters.values[1] for parameters in FAILURES}
    assert set(contract.schemas["ProblemCode"]["enum"]) - codes == {
        "writes-disabled",
        "storage-full",
        "timeout",
        "not-implemented",
        "busy",
        "out-of-memory",
        "internal",
    }


BODIES = {
    "/v1/comparison": [{"a": "tensor:q", "b": "tensor:q"}],
    "/v1/layout": [{}],
    "/v1/diagnosis": [{}],
    "/v1/positions": [{"length": 3, "tensors": {}}],
    "/v1/check": [
        {
            "golden": {
                "format": 1,
                "kinds": [
                    {
                        "prefix": "",
                        "encoding": {"name": "rope", "dim": 4},
                        "layout": "half",
                        "positions": [0],
                    }
                ],
            }
        }
    ],
}


def is_known(server, path, method, name):
    """Does the service know a query parameter, for one encoding at least?"""
    if method == "get":
        bodies = [None]
    elif path in ("/v1/config", "/v1/extend", "/v1/golden", "/v1/lint"):
        bodies = [{"model_type": "llama", "head_dim": 4}]
    else:
        function = path.rsplit("/", 1)[1].capitalize() + "Encoding"
        bodies = [
            {"tensors": Q} | body
            for body in BODIES.get(path)
            or [
                {"encoding": encoding}
                for encoding in contract.schemas[function]["anyOf"][0]["enum"]
            ]
        ]
    answers = (server.request(method, path, params={name: "1"}, json=body) for body in bodies)
    return any("unknown-parameter" not in answer.text for answer in answers)


def test_documented_parameters_are_known_and_others_are_not(server):
    checked = 0
    for path, method, operation in contract.operations():
        parameters = [
            p for p in map(contract.resolve, operation.get("parameters", [])) if p["in"] == "query"
        ]
        for parameter in parameters if "{" not in path else ():
            if method == "post" and path.startswith("/v1/encodings"):
                continue
            name = parameter["name"]
            assert is_known(server, path, method, name), (path, name)
            if name not in ("encoding", "a", "b"):
                assert not is_known(server, path, method, name + "x"), (path, name)
            checked += 1
    print(f"{checked} names")
    assert checked > 80
