# SPDX-License-Identifier: MIT
"""Every format is read by the library that people read it with, and is accepted back."""

import base64
import io
import json
import re

import numpy
import pytest
from safetensors import safe_open
from safetensors.numpy import save as safetensors_save

from service import SAFETENSORS, call, get, inv_freq, post_json, post_tensors, rotated

DTYPES = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16}
TABLE = "/v1/encodings/rope/table"


def reference(length=5, dim=8):
    return numpy.arange(length)[:, None] * inv_freq(dim)


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy_and_safetensors_hold_the_same(server, dtype, tmp_path):
    answer = get(server, TABLE, dim=8, length=5, dtype=dtype, format="npy")
    assert answer.headers["content-type"] == "application/x-npy"
    assert answer.headers["content-length"] == str(len(answer.body))
    both = answer.npy
    assert both.dtype == DTYPES[dtype] and both.shape == (2, 5, 4)
    expected = numpy.stack([numpy.cos(reference()), numpy.sin(reference())])
    bound = {"f64": 1e-15, "f32": 6e-8, "f16": 5e-4}[dtype]
    assert numpy.allclose(both, expected, rtol=0, atol=bound)

    answer = get(server, TABLE, dim=8, length=5, dtype=dtype, format="safetensors")
    path = tmp_path / "table.safetensors"
    path.write_bytes(answer.body)
    with safe_open(path, "numpy") as file:
        assert set(file.keys()) == {"cos", "sin"}
        assert any(key.startswith("posenc.") for key in file.metadata())
        assert numpy.array_equal(file.get_tensor("cos"), both[0])
        assert numpy.array_equal(file.get_tensor("sin"), both[1])

    raw = get(server, TABLE, dim=8, length=5, dtype=dtype, format="raw")
    assert raw.body == both.tobytes()
    told = get(server, TABLE, dim=8, length=5, dtype=dtype, data_format="base64").json["tensors"]
    assert base64.b64decode(told["sin"]["base64"]) == both[1].tobytes()
    flat = get(server, TABLE, dim=8, length=5, dtype=dtype, flat=True).json["tensors"]["cos"]
    assert numpy.array_equal(numpy.array(flat["data"], both.dtype), both[0].ravel())
    assert flat["shape"] == [5, 4] and flat["dtype"] == dtype


@pytest.mark.parametrize(
    "shape", [(0, 4), (3, 0, 4), (700, 0, 4), (5000, 0, 4), (40, 40, 0, 4), (9, 1, 30, 0, 4)]
)
def test_tensors_without_elements(server, shape):
    """Their JSON has the arrays of every axis before the one of length 0."""
    tensors = {"q": {"dtype": "f32", "shape": shape, "data": []}}
    asked = {"from_layout": "half", "to_layout": "interleaved", "kind": "table"}
    told = (
        post_json(server, "/v1/layout", {"tensors": tensors}, **asked).good().json["tensors"]["q"]
    )
    assert told["shape"] == [*shape] and told["data"] == numpy.zeros(shape).tolist()


def test_complex_npy(server):
    got = get(server, TABLE, dim=8, length=5, part="complex", format="npy").npy
    assert got.dtype == numpy.complex64
    assert numpy.allclose(got, numpy.exp(1j * reference()), rtol=0, atol=1e-7)


def test_npy_of_several_tensors_is_the_first(server):
    """A bias goes without its slopes, and the answer says so; cos and sin are stacked instead."""
    asked = dict(heads=4, query_length=3)
    answer = get(server, "/v1/encodings/alibi/bias", format="npy", **asked)
    whole = get(server, "/v1/encodings/alibi/bias", format="safetensors", **asked).tensors
    assert numpy.array_equal(answer.npy, whole["bias"])
    assert "slopes" in answer.headers["encoding-warnings"] and "slopes" in whole
    assert get(server, TABLE, dim=8, length=5, format="npy").npy.shape == (2, 5, 4)


def test_bf16(server):
    """numpy has none: its bits are the upper half of a float32's."""
    assert get(server, TABLE, dim=8, length=5, dtype="bf16", format="npy").status == 406
    answer = get(server, TABLE, dim=8, length=5, dtype="bf16", format="raw", part="cos")
    bits = numpy.frombuffer(answer.body, "<u2").astype(numpy.uint32) << 16
    got = bits.view(numpy.float32).reshape(5, 4)
    assert numpy.allclose(got, numpy.cos(reference()), rtol=2**-8, atol=2**-9)


@pytest.mark.parametrize(
    "accept, expected",
    [
        ("application/x-npy", "application/x-npy"),
        ("application/json;q=0.5, application/x-safetensors", SAFETENSORS),
        ("*/*", "application/json"),
        ("application/octet-stream;q=0.2, */*;q=0.1", "application/octet-stream"),
    ],
)
def test_accept(server, accept, expected):
    answer = get(server, TABLE, {"Accept": accept}, dim=4, length=1)
    assert (answer.status, answer.headers["content-type"]) == (200, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_there_and_back(server, dtype, layout):
    """An answer of the service is accepted as it is: rotate, post the answer, inverse."""
    x = numpy.random.default_rng(7).standard_normal((2, 3, 5, 16)).astype(DTYPES[dtype])
    where = {"encoding": "rope", "layout": layout, "axes": "bhsd", "start": 11}
    bound = 4 * numpy.finfo(DTYPES[dtype]).eps * numpy.abs(x).max()
    expected = rotated(x, 11 + numpy.arange(5), layout)

    turned = post_tensors(server, "/v1/rotation", {"q": x}, **where)
    assert turned["q"].dtype == x.dtype
    assert numpy.abs(turned["q"] - expected).max() <= bound
    back = post_tensors(server, "/v1/rotation", turned, inverse=True, **where)["q"]
    assert numpy.abs(back.astype(float) - x).max() <= 2 * bound

    file = io.BytesIO()
    numpy.save(file, x)
    once = call(
        server,
        "POST",
        "/v1/rotation",
        file.getvalue(),
        {"Content-Type": "application/x-npy"},
        **where,
    )
    assert once.status == 200, once.body
    assert once.headers["content-type"] == "application/x-npy"
    assert numpy.array_equal(once.npy, turned["q"])
    again = call(
        server,
        "POST",
        "/v1/rotation",
        once.body,
        {"Content-Type": "application/x-npy"},
        inverse=True,
        **where,
    )
    assert numpy.array_equal(again.npy, back)

    raw = call(
        server,
        "POST",
        "/v1/rotation",
        x.tobytes(),
        {
            "Content-Type": "application/octet-stream",
            "Tensor-Dtype": dtype,
            "Tensor-Shape": "2,3,5,16",
        },
        **where,
    )
    assert raw.status == 200, raw.body
    assert raw.body == turned["q"].tobytes()


NESTED = [(12,), (3, 4), (4, 3), (1, 12), (12, 1), (1, 3, 4), (3, 4, 1), (2, 6), (2, 2, 3)]


@pytest.mark.parametrize("shape", NESTED)
def test_nested_data_has_the_shape_that_it_gives(server, shape):
    """With a shape data is nested so, or flat; nested in any other way it is refused."""
    numbers = numpy.arange(12.0, dtype="f4")
    asked = {"from_layout": "half", "to_layout": "half", "kind": "projection_rows", "head_dim": 2}
    for nested in NESTED:
        data = numbers.reshape(nested).tolist()
        posted = {"tensors": {"x": {"shape": list(shape), "data": data}}}
        answer = post_json(server, "/v1/layout", posted, **asked)
        if nested not in (shape, (12,)):
            assert answer.status == 422 and answer.json["code"] == "shape-mismatch", nested
        elif shape[0] % 2 == 0:
            assert answer.good().json["tensors"]["x"]["shape"] == list(shape)


@pytest.mark.parametrize("lists", range(4))
@pytest.mark.parametrize("kind", ["data", "base64", "positions"])
def test_the_byte_of_a_fault_behind_numbers(server, kind, lists):
    """Numbers are read aside; the fault is reported where it stands in the whole body."""
    numbers = {
        "data": '{"shape": [2, 2], "data": [[1, 2], [3, 40000]]}',
        "base64": '{"dtype": "u8", "shape": [6], "base64": "AAECAwQF"}',
        "positions": str(list(range(900))),
    }[kind]
    members = [f'"t{i}": {numbers}' for i in range(lists)]
    if kind == "positions":
        text = "".join(member + ", " for member in members)
        body = "{" + text + '"encoding": rope}'
    else:
        body = '{"tensors": {' + ", ".join(members) + '}, "encoding": rope}'
    answer = call(
        server, "POST", "/v1/rotation", body.encode(), {"Content-Type": "application/json"}
    )
    assert answer.status == 400
    (byte,) = re.findall(r"at byte (\d+)", answer.json["detail"])
    assert body.index("rope}") <= int(byte) <= body.index("rope}") + len("rope"), answer.json


def test_json_there_and_back(server):
    x = numpy.random.default_rng(8).standard_normal((1, 2, 3, 4))
    body = {
        "encoding": "rope",
        "layout": "half",
        "axes": "bhsd",
        "positions": {"start": -2},
        "tensors": {"q": {"dtype": "f64", "shape": list(x.shape), "data": x.tolist()}},
    }
    turned = post_json(server, "/v1/rotation", body)
    assert turned.status == 200, turned.body
    body["tensors"] = turned.json["tensors"]
    back = post_json(server, "/v1/rotation", body | {"inverse": True}).json["tensors"]["q"]["data"]
    assert numpy.abs(numpy.array(back) - x).max() < 1e-15 * 8
    with_base64 = {
        "q": {
            "dtype": "f64",
            "shape": list(x.shape),
            "base64": base64.b64encode(x.tobytes()).decode(),
        }
    }
    assert (
        post_json(server, "/v1/rotation", body | {"tensors": with_base64}).json["tensors"]
        == turned.json["tensors"]
    )


def test_sniffed_without_a_content_type(server):
    """curl's --data-binary says form-urlencoded: the first bytes tell."""
    x = numpy.ones((1, 1, 2, 4), numpy.float32)
    file = io.BytesIO()
    numpy.save(file, x)
    bodies = {
        "application/x-npy": file.getvalue(),
        SAFETENSORS: safetensors_save({"q": x}),
        "application/json": json.dumps(
            {"tensors": {"q": {"dtype": "f32", "shape": [1, 1, 2, 4], "data": x.tolist()}}}
        ).encode(),
    }
    for media_type, body in bodies.items():
        for sent in ("application/x-www-form-urlencoded", "application/octet-stream"):
            answer = call(
                server,
                "POST",
                "/v1/rotation",
                body,
                {"Content-Type": sent},
                encoding="rope",
                layout="half",
                axes="bhsd",
                start=0,
            )
            assert answer.status == 200, answer.body
            assert answer.headers["content-type"] == media_type


@pytest.mark.parametrize("first", [True, False])
def test_the_encoding_of_a_file_in_metadata_of_any_order(server, first):
    """A layout is not that of an encoding: what an earlier answer noted of one is left out."""
    noted = [("posenc.encoding", "rope"), ("posenc.dim", "4"), ("posenc.base", "500")]
    q = numpy.arange(8, dtype=numpy.float32)
    header = json.dumps(
        {
            "__metadata__": dict(noted if first else noted[::-1]),
            "q": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, q.nbytes]},
        }
    ).encode()
    body = len(header).to_bytes(8, "little") + header + q.tobytes()
    asked = {"from_layout": "half", "to_layout": "interleaved", "kind": "table"}
    answer = call(server, "POST", "/v1/layout", body, {"Content-Type": SAFETENSORS}, **asked)
    assert answer.good().tensors["q"].tolist() == [[0, 2, 1, 3], [4, 6, 5, 7]]


def test_metadata_holds_parameters(server):
    """The prefix posenc. is ours; other metadata comes back."""
    x = numpy.ones((1, 1, 2, 4), numpy.float32)
    body = safetensors_save(
        {"q": x},
        metadata={
            "posenc.encoding": "rope",
            "posenc.layout": "half",
            "posenc.axes": "bhsd",
            "posenc.start": "1",
            "note": "mine",
        },
    )
    answer = call(server, "POST", "/v1/rotation", body, {"Content-Type": SAFETENSORS})
    assert answer.status == 200, answer.body
    assert numpy.allclose(answer.tensors["q"], rotated(x, [1, 2], "half"), atol=1e-6)
    size = int.from_bytes(answer.body[:8], "little")
    assert json.loads(answer.body[8 : 8 + size])["__metadata__"]["note"] == "mine"


def test_only_a_whole_prefix_marks_a_parameter(server):
    """Metadata whose name only begins like the prefix is passed on."""
    kept = {
        "posenc": "a",
        "posencode": "b",
        "posenc_start": "c",
        "posenc-start": "d",
        "posen.": "e",
    }
    body = safetensors_save(
        {"q": numpy.ones((1, 1, 2, 4), numpy.float32)},
        metadata={
            "posenc.encoding": "rope",
            "posenc.layout": "half",
            "posenc.axes": "bhsd",
            **kept,
        },
    )
    answer = call(server, "POST", "/v1/rotation?start=0", body, {"Content-Type": SAFETENSORS})
    assert answer.status == 200, answer.body
    size = int.from_bytes(answer.body[:8], "little")
    assert kept.items() <= json.loads(answer.body[8 : 8 + size])["__metadata__"].items()


@pytest.mark.parametrize(
    "shape",
    ["(,)", "(,1)", "(1,,2)", "(1 2)", "(-1,)", "(+1,)", "(1.0,)", "(1", "1,)", "(0x1,)", "(1l,)"],
)
def test_npy_with_a_malformed_shape(server, shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    for values in (0, 1, 2):
        path = "/v1/diagnosis?encoding=rope&dim=2&tensor=cos"
        answer = call(
            server, "POST", path, head + bytes(4 * values), {"Content-Type": "application/x-npy"}
        )
        assert answer.status == 400, (values, answer.body)
        assert "the npy file has a shape" in answer.json["detail"], answer.body
