# SPDX-License-Identifier: MIT
"""Wrong input: the status, a problem document, and words that say what to do."""

import io
import json
import pathlib
import re

import numpy
import pytest
from safetensors.numpy import save as safetensors_save

from service import SAFETENSORS, call, get

JSON, NPY, RAW = "application/json", "application/x-npy", "application/octet-stream"
TABLE = "/v1/encodings/rope/table"
SINUSOIDAL = "/v1/encodings/sinusoidal/table"
Q = {"q": {"dtype": "f64", "shape": [1, 1, 2, 4], "data": [[[[1, 2, 3, 4], [5, 6, 7, 8]]]]}}
GOOD = {
    "encoding": "rope",
    "layout": "half",
    "axes": "bhsd",
    "positions": {"start": 0},
    "tensors": Q,
}

# (request, status, what the detail must mention)
VIEWS = [
    ("/nowhere", 404, "nowhere"),
    ("/v1?colour=red", 422, "takes none"),
    ("/v1/encodings/rop/table?dim=8&length=2", 404, "rope"),
    ("/v1/encodings/rope/tabel?dim=8&length=2", 404, "table"),
    ("/v1/encodings/alibi/table?heads=8&query_length=2", 404, "bias"),
    (f"{TABLE}?dim=8&length=2&format=xml", 406, "npy"),
    (f"{TABLE}?dim=8&length=2&dtype=bf16&format=npy", 406, "safetensors"),
    (f"{TABLE}?dim=8&length=100000000", 413, "--json-elements-max"),
    (f"{TABLE}?dim=8&length=900719925474099&format=raw", 413, "--output-max"),
    (f"{TABLE}?dim=131072&length=2", 413, "--dim-max"),
    (
        "/v1/encodings/sandwich/bias?heads=1&dim=65536&query_length=65536&format=raw",
        413,
        "--work-max",
    ),
    (f"{TABLE}?dim=8", 422, "length"),
    (f"{TABLE}?length=8", 422, "dim"),
    (f"{TABLE}?dim=8&lenght=8", 422, "length"),
    (f"{TABLE}?dim=7&length=2", 422, "even"),
    (f"{TABLE}?dim=0&length=2", 422, "dim"),
    (f"{TABLE}?dim=-8&length=2", 422, "dim"),
    (f"{TABLE}?dim=8.5&length=2", 422, "dim"),
    (f"{TABLE}?dim=eight&length=2", 422, "eight"),
    (f"{TABLE}?dim=8&length=2&dim=16", 422, "dim"),
    (f"{TABLE}?dim=8&length=2&base=1", 422, "base"),
    (f"{TABLE}?dim=8&length=2&base=-3", 422, "base"),
    (f"{TABLE}?dim=8&length=2&base=1e31", 422, "base"),
    (f"{TABLE}?dim=8&length=2&base=nan", 422, "base"),
    (f"{TABLE}?dim=8&length=2&dtype=f8", 422, "bf16 or u8"),
    (f"{TABLE}?dim=8&length=2&rope_type=ntkk", 422, "yarn"),
    (f"{TABLE}?dim=8&length=2&rope_type=linear", 422, "factor"),
    (f"{TABLE}?dim=8&length=2&rope_type=linear&factor=0", 422, "factor"),
    (f"{TABLE}?dim=8&length=2&rotary_dim=10", 422, "10"),
    (f"{TABLE}?dim=8&positions=1,x", 422, "positions"),
    (f"{TABLE}?dim=8&positions=1e300", 422, "positions"),
    (f"{TABLE}?dim=8&length=2&positions=1,2", 422, "positions"),
    (f"{TABLE}?dim=8&length=2&start=9007199254740991", 422, "positions"),
    (f"{SINUSOIDAL}?dim=8&length=2&layout=half", 422, "concatenated"),
    ("/v1/encodings/alibi/bias?heads=0&query_length=2", 422, "heads"),
    ("/v1/encodings/alibi/bias?heads=2147483648&query_length=2", 422, "heads"),
    ("/v1/encodings/shaw/bias?max_relative_position=0&query_length=2", 422, "max_relative"),
]


def problem(answer, status):
    """Every refusal has this form, and no insides in it."""
    assert answer.status == status, (answer.status, answer.body[:400])
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json
    assert told["status"] == status and told["type"] == "/problems/" + told["code"]
    assert told["title"] and told["detail"] and told["request_id"] == answer.headers["x-request-id"]
    for word in ("core/", "api/", ".c:", "(null)"):
        assert word not in told["detail"]
    return told


@pytest.mark.parametrize("target, status, word", VIEWS, ids=[v[0] for v in VIEWS])
def test_views(server, target, status, word):
    told = problem(get(server, target), status)
    assert word in told["detail"]
    if status == 422:
        assert told["errors"][0]["parameter"]


def test_every_problem_has_a_page(server):
    told = problem(get(server, f"{TABLE}?dim=8"), 422)
    page = get(server, told["type"])
    assert page.status == 200 and told["title"] in page.body.decode()


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", "/v1"),
        ("PUT", TABLE),
        ("DELETE", "/v1/encodings"),
        ("GET", "/v1/rotation"),
        ("PATCH", "/v1/attention"),
        ("TRACE", "/livez"),
    ],
)
def test_wrong_method(server, method, path):
    answer = call(server, method, path)
    problem(answer, 405)
    allowed = answer.headers["allow"].split(", ")
    assert method not in allowed and "OPTIONS" in allowed


def changed(**changes):
    """The good request with some keys replaced; None: left out."""
    return {k: v for k, v in (GOOD | changes).items() if v is not None}


def tensor(**changes):
    return changed(tensors={"q": Q["q"] | changes})


BODIES = [
    ("empty", "", 400, ""),
    ("truncated", json.dumps(GOOD)[:-5], 400, "byte"),
    ("trailing", json.dumps(GOOD) + "x", 400, ""),
    ("bom", b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), 400, ""),
    ("bad utf-8", json.dumps(GOOD).encode().replace(b"rope", b"r\xffpe"), 400, ""),
    ("key twice", json.dumps(GOOD)[:-1] + ', "axes": "bshd"}', 400, "axes"),
    ("nan literal", json.dumps(GOOD).replace("[1, 2", "[NaN, 2"), 400, ""),
    ("deep", "[" * 100_000, 400, ""),
    ("a list", "[1]", 400, ""),
    ("unknown key", changed(lay_out="half"), 422, "layout"),
    ("no layout", changed(layout=None), 422, "half"),
    ("layout", changed(layout="neo"), 422, "interleaved"),
    ("no axes", changed(axes=None), 422, "axes"),
    ("axes", changed(axes="bhds"), 422, "bhsd"),
    ("rank", changed(axes="shd"), 422, "4"),
    ("no positions", changed(positions=None), 422, "positions"),
    ("positions short", changed(positions=[1]), 422, "axis s of tensor q has 2"),
    ("positions of three axes", changed(positions=[[[0, 1]]]), 422, "is one number here"),
    ("positions and delta", changed(delta=1), 422, "delta"),
    ("position too far", changed(positions=[0, 2**53]), 422, "position"),
    ("number as text", changed(positions={"start": "1"}), 422, "start"),
    ("true as number", changed(encoding={"name": "rope", "dim": True}), 422, "dim"),
    ("no such encoding", changed(encoding="ropee"), 404, "rope"),
    ("not rotary", changed(encoding={"name": "alibi", "heads": 1}), 422, "rope"),
    ("dim against d", changed(encoding={"name": "rope", "dim": 8}), 422, "4"),
    ("no tensors", changed(tensors=None), 422, "tensors"),
    ("negative shape", tensor(shape=[1, 1, -2, 4]), 422, "shape"),
    ("shape too large", tensor(shape=[2**40, 2**40, 2, 4]), 422, ""),
    ("shape against data", tensor(shape=[1, 1, 2, 5]), 422, ""),
    ("dtype", tensor(dtype="f128"), 422, "f32"),
    ("integers", tensor(dtype="i64"), 422, "i64"),
    (
        "base64",
        {
            "encoding": "rope",
            "layout": "half",
            "axes": "sd",
            "dim": 2,
            "positions": [0],
            "tensors": {"q": {"dtype": "f32", "shape": [1, 2], "base64": "AAAAAAAAAA!="}},
        },
        422,
        "base64",
    ),
    ("config", changed(config={}), 422, "config"),
]


@pytest.mark.parametrize("body, status, word", [b[1:] for b in BODIES], ids=[b[0] for b in BODIES])
def test_rotation_in_json(server, body, status, word):
    assert (
        call(server, "POST", "/v1/rotation", json.dumps(GOOD), {"Content-Type": JSON}).status == 200
    )
    sent = json.dumps(body) if isinstance(body, dict) else body
    told = problem(call(server, "POST", "/v1/rotation", sent, {"Content-Type": JSON}), status)
    assert word in told["detail"]


def npy(x, **replace):
    file = io.BytesIO()
    numpy.save(file, x)
    data = file.getvalue()
    for old, new in replace.get("bytes", []):
        assert old in data
        data = data.replace(old, new)
    return data


X = numpy.ones((1, 1, 2, 4), numpy.float32)
FILES = [
    ("npy cut", NPY, npy(X)[:-1], 400, "bytes"),
    ("npy long", NPY, npy(X) + b"\0", 400, "bytes"),
    ("npy magic", NPY, b"\x93NUMPX" + npy(X)[6:], 400, ""),
    ("npy version", NPY, npy(X)[:6] + b"\x09" + npy(X)[7:], 400, "version"),
    ("npy object", NPY, npy(X, bytes=[(b"<f4", b"|O8")]), 400, ""),
    ("npy shape", NPY, npy(X, bytes=[(b"(1, 1, 2, 4)", b"(1, 1,-2, 4)")]), 400, "shape"),
    ("npy code", NPY, npy(X, bytes=[(b"(1, 1, 2, 4)", b"(1, 1, 1+1,)")]), 400, ""),
    ("safetensors short", SAFETENSORS, b"\1\0", 400, ""),
    ("safetensors length", SAFETENSORS, b"\xff" * 8 + b"{}", 400, ""),
    ("safetensors cut", SAFETENSORS, safetensors_save({"q": X})[:-1], 400, ""),
    ("safetensors long", SAFETENSORS, safetensors_save({"q": X}) + b"\0", 400, ""),
    ("raw without shape", RAW, X.tobytes(), 422, "Tensor-Shape"),
    ("csv", "text/csv", b"1,2\n", 415, "safetensors"),
    ("xml", "application/xml", b"<q/>", 415, "--data-binary"),
]


@pytest.mark.parametrize(
    "media, body, status, word", [f[1:] for f in FILES], ids=[f[0] for f in FILES]
)
def test_files(server, media, body, status, word):
    answer = call(
        server,
        "POST",
        "/v1/rotation",
        body,
        {"Content-Type": media},
        encoding="rope",
        layout="half",
        axes="bhsd",
        start=0,
    )
    told = problem(answer, status)
    assert word in told["detail"]
    assert status != 415 or SAFETENSORS in answer.headers["accept-post"]


ATTENTIONS = [
    ("no k", {"q": X}, {}, 422, "k"),
    ("no v", {"q": X, "k": X}, {}, 422, "v"),
    ("rank", {"q": X[0], "k": X[0]}, {"outputs": "scores"}, 422, "q"),
    ("d", {"q": X, "k": X[..., :2]}, {"outputs": "scores"}, 422, ""),
    (
        "heads",
        {"q": numpy.ones((1, 3, 2, 4), "f4"), "k": numpy.ones((1, 2, 2, 4), "f4")},
        {"outputs": "scores"},
        422,
        "heads",
    ),
    ("outputs", {"q": X, "k": X}, {"outputs": "score"}, 422, "scores"),
    ("layout", {"q": X, "k": X}, {"encoding": "rope", "outputs": "scores"}, 422, "half"),
    ("rel_k", {"q": X, "k": X}, {"encoding": "shaw", "outputs": "scores"}, 422, ""),
    (
        "rows of rel_k",
        {"q": X, "k": X, "rel_k": numpy.ones((4, 4), "f4")},
        {"encoding": "shaw", "max_relative_position": 2, "outputs": "scores"},
        422,
        "5",
    ),
    ("mask", {"q": X, "k": X, "mask": X}, {"outputs": "scores"}, 422, "mask"),
    ("scale", {"q": X, "k": X}, {"outputs": "scores", "scale": 0}, 422, "scale"),
]


@pytest.mark.parametrize(
    "tensors, query, status, word", [a[1:] for a in ATTENTIONS], ids=[a[0] for a in ATTENTIONS]
)
def test_attention(server, tensors, query, status, word):
    body = safetensors_save({k: numpy.ascontiguousarray(v) for k, v in tensors.items()})
    answer = call(
        server,
        "POST",
        "/v1/attention",
        body,
        {"Content-Type": SAFETENSORS},
        **({"encoding": "none"} | query),
    )
    assert word in problem(answer, status)["detail"]


def test_too_large_before_the_upload(server):
    """Only the head is sent: the answer comes without a byte of the body."""
    for size in (2**40, 2**64, -1):
        answer = call(
            server,
            "POST",
            "/v1/rotation",
            iter(()),
            {"Content-Type": SAFETENSORS, "Content-Length": str(size)},
        )
        if size == 2**40:
            told = problem(answer, 413)
            assert "--body-max" in told["detail"]
        else:
            assert answer.status in (400, 413)


def test_the_server_is_well_after_all_that(server):
    assert get(server, TABLE, dim=8, length=2).status == 200


@pytest.mark.parametrize(
    "path, hint",
    [
        ("/livez", "'/x/livez'"),
        ("/x/livezz", "'/x/livez'"),
        ("/x/v1/encoding", "'/x/v1/encodings'"),
        ("/elsewhere", "nothing at /elsewhere; GET /x/v1"),
    ],
)
def test_hints_below_a_base_path(start_server, path, hint):
    answer = get(start_server("--base-path", "/x"), path)
    assert answer.status == 404 and hint in answer.json["detail"]


@pytest.mark.parametrize(
    "shape, data, status",
    [
        ([1, 2, 0, 4], [[[], []]], 200),
        ([1, 2, 0, 4], [], 200),
        ([1, 0, 2, 4], [[]], 200),
        ([1, 2, 0, 4], [[[]]], 422),
        ([1, 0, 2, 4], [[[], []]], 422),
        ([1, 2, 1, 4], [[[], []]], 422),
    ],
)
def test_an_empty_tensor_is_nested_as_far_as_it_can_be(server, shape, data, status):
    body = dict(GOOD, tensors={"q": {"dtype": "f64", "shape": shape, "data": data}})
    answer = call(server, "POST", "/v1/rotation", json.dumps(body), {"Content-Type": JSON})
    assert answer.status == status, answer.body
    assert status != 200 or answer.json["tensors"]["q"]["shape"] == shape


ATTENTION = {
    "encoding": "rope",
    "layout": "half",
    "tensors": {
        name: {"dtype": "f32", "shape": [1, 1, 2, 4], "data": list(range(8))} for name in "qk"
    },
}
SCHEMAS = json.loads((pathlib.Path(__file__).parents[2] / "openapi.json").read_text())[
    "components"
]["schemas"]


def detail_of(server, path, body):
    answer = call(server, "POST", path, json.dumps(body), {"Content-Type": JSON})
    assert answer.status == 422, answer.body
    return answer.json["detail"]


def kinds_of(schema):
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return {schema["type"]} if isinstance(schema.get("type"), str) else set(schema.get("type", []))


def test_a_list_where_one_value_belongs_is_called_a_list(server):
    """Of every parameter of attention that has one value, by the contract; no element of the list
    is blamed."""
    properties = SCHEMAS["AttentionRequest"]["properties"]
    single = [
        name
        for name, schema in properties.items()
        if name not in ("encoding", "layer_type", "config", "tensor", "format")
        and kinds_of(schema)
        and kinds_of(schema) <= {"string", "number", "integer", "boolean"}
    ]
    assert len(single) > 10
    for name in single:
        for value in (["weights"], [1], [1] * 400):
            detail = detail_of(server, "/v1/attention", ATTENTION | {name: value})
            assert name in detail and "not a list" in detail, (name, detail)


@pytest.mark.parametrize(
    "name,hint",
    (
        ("positions", "query_start"),
        ("key_positions", "keys"),
        ("cu_seqlens", "list"),
        ("cu_seqlens_k", "list"),
    ),
)
def test_positions_of_attention_are_listed(server, name, hint):
    """A hint is about the parameter that it stands behind."""
    detail = detail_of(server, "/v1/attention", ATTENTION | {name: {"start": 0}})
    assert f"{name} of attention must be a list" in detail and hint in detail
    assert name == "positions" or "query_start" not in detail


def test_axes_of_attention_are_always_the_same(server):
    detail = detail_of(server, "/v1/attention", ATTENTION | {"axes": "bhsd"})
    assert "transpose" in detail and "known:" not in detail


@pytest.mark.parametrize("position", [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**60 + 1])
def test_no_other_number_is_echoed(server, position):
    """Doubles do not hold these, so that the refusal has their first digits alone."""
    text, rotated = str(position), GOOD | {"positions": [position, 0]}
    details = [
        call(server, "GET", f"{TABLE}?dim=8&positions={text}").json["detail"],
        call(server, "GET", f"{TABLE}?dim=8&length=1&start={text}").json["detail"],
        detail_of(server, "/v1/rotation", rotated),
        detail_of(server, "/v1/attention", ATTENTION | {"positions": [position, 0]}),
    ]
    for detail in details:
        got = re.search(r"got (\S+)", detail)[1]
        assert (
            got == text
            or re.fullmatch(r"-?\d(\.\d{1,3})?e\+\d+", got)
            and abs(float(got) / position - 1) < 1e-3
        ), detail
