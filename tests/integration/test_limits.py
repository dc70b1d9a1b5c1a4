# SPDX-License-Identifier: MIT
"""Each limit at its edge: as much as it says is taken, one more is refused, by name."""

import gzip
import http.client
import io
import json

import numpy
import pytest
from safetensors.numpy import save as safetensors_save

from service import SAFETENSORS, call, get, post_json

TABLE, RAW = "/v1/encodings/sinusoidal/table", "application/octet-stream"
ROTATION = {"encoding": "rope", "layout": "half", "axes": "bhsd", "delta": 0}
LIMITS = {
    "body-max": 4096,
    "json-body-max": 1024,
    "output-max": 8192,
    "json-elements-max": 100,
    "dim-max": 64,
    "tensors-max": 4,
    "work-max": 10**7,
}


@pytest.fixture(scope="module")
def narrow(start_shared):
    """A server with every limit low."""
    return start_shared(*(f"--{name}={most}" for name, most in LIMITS.items()))


def expect(answer, flag=None, status=413):
    """200, or a refusal that names the flag."""
    if not flag:
        assert answer.status == 200, answer.body
    else:
        assert answer.status == status, (answer.status, answer.body[:300])
        assert flag in answer.json["detail"] + json.dumps(answer.json.get("errors", ""))


def rotated(server, size, fields=None, body=None):
    """Bytes in rows of 64 f32."""
    shape = f"1,1,{size // 256},64"
    return call(
        server,
        "POST",
        "/v1/rotation",
        bytes(size) if body is None else body,
        {"Content-Type": RAW, "Tensor-Dtype": "f32", "Tensor-Shape": shape, **(fields or {})},
        **ROTATION,
    )


def pieces(size, piece=1000):
    """A body of unknown length is sent in chunks."""
    return (bytes(min(piece, size - at)) for at in range(0, size, piece))


def test_body(narrow):
    expect(rotated(narrow, 4096))
    expect(rotated(narrow, 4097), "--body-max")
    expect(rotated(narrow, 4096, body=pieces(4096)))
    expect(rotated(narrow, 4097, body=pieces(4097)), "--body-max")


def test_decoded_body(narrow):
    """Neither half may be longer: the coded one, and what it becomes."""
    coded = {"Content-Encoding": "gzip"}
    expect(rotated(narrow, 4096, coded, gzip.compress(bytes(4096))))
    expect(rotated(narrow, 4096, coded, gzip.compress(bytes(4097))), "--body-max")
    noise = numpy.random.default_rng(1).bytes(4096)
    assert len(gzip.compress(noise)) > 4096
    expect(rotated(narrow, 4096, coded, gzip.compress(noise)), "--body-max")


@pytest.mark.parametrize("media", ["application/json", "", "application/vnd.x+json"])
def test_json_body(narrow, media):
    """By its type, or by what it is."""
    body = json.dumps({"dim": 4, "length": 3}).encode()
    for size, flag in ((1024, None), (1025, "--json-body-max")):
        expect(call(narrow, "POST", TABLE, body.ljust(size), {"Content-Type": media}), flag)


@pytest.mark.parametrize("form", ["raw", "npy", "safetensors"])
def test_output(narrow, form):
    expect(get(narrow, TABLE, dim=64, length=32, format=form))
    expect(get(narrow, TABLE, dim=64, length=33, format=form), "--output-max")
    expect(get(narrow, TABLE, dim=64, length=16, format=form, dtype="f64"))
    expect(get(narrow, TABLE, dim=1, length=1025, format=form, dtype="f64"), "--output-max")


def test_json_elements(narrow):
    for dim, length in ((1, 100), (10, 10), (4, 25)):
        expect(get(narrow, TABLE, dim=dim, length=length))
    for dim, length in ((1, 101), (10, 11), (51, 2)):
        expect(get(narrow, TABLE, dim=dim, length=length), "--json-elements-max")
    expect(get(narrow, TABLE, dim=1, length=101, format="raw"))


def test_dim(narrow):
    expect(get(narrow, TABLE, dim=64, length=1))
    expect(get(narrow, TABLE, dim=65, length=1), "--dim-max")
    for width, flag in ((64, None), (65, "--dim-max")):
        expect(
            post_json(
                narrow,
                "/v1/embedding",
                {"encoding": {"name": "sinusoidal", "dim": width}, "tokens": ["a"], "start": 0},
            ),
            flag,
        )
        side = {"name": "sinusoidal", "dim": width}
        expect(post_json(narrow, "/v1/comparison", {"a": side, "b": side, "length": 1}), flag)


def test_tensors(narrow):
    for count, flag in ((4, None), (5, "--tensors-max")):
        tensors = {f"q{i}": numpy.ones((1, 1, 1, 4), numpy.float32) for i in range(count)}
        expect(
            call(
                narrow,
                "POST",
                "/v1/rotation",
                safetensors_save(tensors),
                {"Content-Type": SAFETENSORS},
                **ROTATION,
            ),
            flag,
        )
        expect(
            post_json(
                narrow,
                "/v1/rotation",
                ROTATION | {"tensors": {name: {"data": t.tolist()} for name, t in tensors.items()}},
            ),
            flag,
        )


def attended(server, queries, keys, dim=10, **asked):
    q, k = (numpy.ones((1, 1, n, dim), numpy.float32) for n in (queries, keys))
    return call(
        server,
        "POST",
        "/v1/attention",
        safetensors_save({"q": q, "k": k, "v": k}),
        {"Content-Type": SAFETENSORS},
        encoding="none",
        outputs="output",
        **asked,
    )


def test_work(start_server):
    """In ns of one core, foretold: every query meets every key in d products, and as many for the
    values; the refusal says both numbers and what to ask for. A range is judged by its share, HEAD
    makes nothing."""
    narrow = start_server("--work-max", "1000000")
    long = {"dim": 10, "length": 1000000, "format": "raw"}
    expect(attended(narrow, 18, 25))
    expect(attended(narrow, 2000, 1500), "--work-max")
    logarithms = {"temperature_strength": 1, "temperature_length": 1, "query_start": 0}
    expect(attended(narrow, 3000, 1, dim=2))
    expect(attended(narrow, 3000, 1, dim=2, **logarithms), "--work-max")
    expect(get(narrow, TABLE, dim=10, length=100, format="raw"))
    answer = get(narrow, TABLE, **long)
    expect(answer, "--work-max")
    assert "more than the 0.001 s" in answer.body.decode() and "fewer rows" in answer.body.decode()
    part = call(narrow, "GET", TABLE, headers={"Range": "bytes=4000-4999"}, **long)
    assert (part.status, len(part.body)) == (206, 1000)
    assert call(narrow, "HEAD", TABLE, **long).status == 200
    rows = safetensors_save({"table": numpy.ones((64, 64), numpy.float32)})
    expect(call(narrow, "POST", "/v1/diagnosis", rows, {"Content-Type": SAFETENSORS}), "--work-max")


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["raw", "npy", "safetensors", "json"])
def test_rank(server, kind):
    for rank, status in ((8, 200), (9, 422)):
        x = numpy.arange(4, dtype=numpy.float32).reshape((1,) * (rank - 1) + (4,))
        body, fields = {
            "raw": (
                x.tobytes(),
                {
                    "Content-Type": RAW,
                    "Tensor-Dtype": "f32",
                    "Tensor-Shape": ",".join(map(str, x.shape)),
                },
            ),
            "npy": (npy(x), {"Content-Type": "application/x-npy"}),
            "safetensors": (safetensors_save({"x": x}), {"Content-Type": SAFETENSORS}),
            "json": (
                json.dumps({"tensors": {"x": {"data": x.tolist()}}}),
                {"Content-Type": "application/json"},
            ),
        }[kind]
        answer = call(
            server,
            "POST",
            "/v1/layout",
            body,
            fields,
            from_layout="half",
            to_layout="interleaved",
            kind="table",
        )
        assert (200 if answer.status == 200 else 422) == status, answer.body
        assert answer.status < 500


def layout_of_raw(server, shape):
    """The answer to 16 raw bytes of this shape."""
    return call(
        server,
        "POST",
        "/v1/layout",
        bytes(16),
        {"Content-Type": RAW, "Tensor-Dtype": "f32", "Tensor-Shape": shape},
        from_layout="half",
        to_layout="interleaved",
        kind="table",
    )


@pytest.mark.parametrize(
    "shape",
    [
        "18446744073709551616",
        "18446744073709551617,4",
        "99999999999999999999",
        "4,",
        ",4",
        "1,,4",
        "",
        "-4",
        "+4",
        "0x4",
        "4.0",
        "1,1,1,1,1,1,1,1,4",
        "4;1",
        "1 4",
    ],
)
def test_shapes_of_raw_bytes(server, shape):
    answer = layout_of_raw(server, shape)
    assert answer.status == 422 and answer.json["errors"][0]["header"] == "Tensor-Shape"
    assert "1 to 8 lengths" in answer.json["detail"]


@pytest.mark.parametrize("shape", ["4", " 4", "1 , 4", "01,4", "2,2", "1,1,1,1,1,1,1,4"])
def test_shapes_that_are_good(server, shape):
    assert layout_of_raw(server, shape).status == 200


def test_nesting_of_json(server):
    """A body is nested 64 deep at most."""

    def nested(depth):
        return post_json(
            server,
            "/v1/config",
            {
                "model_type": "llama",
                "hidden_size": 64,
                "num_attention_heads": 1,
                "x": json.loads("[" * (depth - 1) + "]" * (depth - 1)),
            },
        )

    assert nested(64).status == 200
    assert nested(65).status == 400


def test_header_fields(server):
    """128 of them, Host among them."""
    for count, status in ((128, 200), (129, 431)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.putrequest("GET", "/livez", skip_accept_encoding=True)
        for i in range(count - 1):
            connection.putheader(f"X-{i}", "1")
        connection.endheaders()
        assert connection.getresponse().status == status
        connection.close()


def test_bodies_that_nobody_asked_for(server):
    for size, status in ((65536, 200), (65537, 413)):
        assert call(server, "GET", "/livez", bytes(size)).status == status
        assert call(server, "GET", "/livez", pieces(size)).status == status


def test_names_of_tables(server):
    token = {"Authorization": "Bearer a-secret"}
    for length, status in ((64, 201), (65, 422)):
        answer = call(
            server,
            "PUT",
            "/v1/encodings/" + "n" * length,
            npy(numpy.ones((2, 2), numpy.float32)),
            token,
        )
        assert answer.status == status, answer.body
    assert call(server, "DELETE", "/v1/encodings/" + "n" * 64, None, token).status == 204


def test_positions(server):
    """2^53 - 1 either way: in a list, at the start, at the end, after a step."""
    most = 2**53 - 1
    for good in (
        {"positions": most},
        {"positions": -most},
        {"start": most, "length": 1},
        {"start": most - 2, "length": 3},
        {"start": -most, "length": 2, "step": most},
        {"start": 2 - most, "length": 3, "step": -1},
    ):
        assert get(server, TABLE, dim=2, **good).status == 200, good
    for bad in (
        {"positions": most + 1},
        {"positions": -most - 1},
        {"start": most + 1, "length": 1},
        {"start": most - 1, "length": 3},
        {"start": -most - 1, "length": 2},
        {"start": 1 - most, "length": 3, "step": -1},
    ):
        assert get(server, TABLE, dim=2, **bad).status == 422, bad


def test_elements_of_a_row_in_json(server):
    """A row of 2^20 is printed; of a wider one other formats have to be asked for."""
    for count in (2**20 - 1, 2**20, 2**20 + 1):
        sizes = {"heads": 1, "query_length": 1, "key_length": count}
        for form in ("json", "npy", "raw", "safetensors"):
            answer = call(server, "HEAD", "/v1/encodings/alibi/bias", format=form, **sizes)
            assert answer.status == (413 if form == "json" and count > 2**20 else 200), form


@pytest.mark.parametrize(
    "path, asked, most, status",
    [
        ("/v1/layout", {"head_dim": 16}, ("heads", 1 << 16), 422),
        ("/v1/layout", {"heads": 4}, ("head_dim", 1 << 18), 422),
        (
            "/v1/encodings/rope/analysis/decay",
            {"dim": 8, "plot": "points", "format": "svg"},
            ("max_offset", 4095),
            406,
        ),
        (
            "/v1/encodings/rope/table",
            {"dim": 8, "plot": "circle", "format": "svg"},
            ("length", 512),
            406,
        ),
        ("/v1/encodings/rope/table", {"dim": 8, "length": 2, "format": "png"}, ("title", 200), 422),
    ],
)
def test_sizes_at_their_edge(server, path, asked, most, status):
    name, number = most
    step = 2 if name == "head_dim" else 1
    layouts = {"from_layout": "half", "to_layout": "interleaved"} if "layout" in path else {}
    for more in (-step, 0, step):
        value = "a" * (number + more) if name == "title" else number + more
        answer = call(server, "HEAD", path, None, None, **asked, **layouts, **{name: value})
        assert answer.status == (status if more > 0 else 200), value
