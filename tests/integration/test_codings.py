# SPDX-License-Identifier: MIT
"""Coded bodies and answers with the clients and libraries that people use."""

import gzip
import http.client
import io
import json
import os
import random
import subprocess
import zlib

import numpy
import pytest
import requests
import zstandard
from safetensors.numpy import save as safetensors_save

from service import SAFETENSORS, call, get

TABLE = "/v1/encodings/rope/table"
LARGE = {"dim": 128, "length": 4096}  # several MB of JSON, in blocks
ROTATION = {"encoding": "rope", "layout": "half", "axes": "bhsd", "start": 0}


def zstd(body):
    return zstandard.ZstdCompressor(level=3).compress(body)


def raw_deflate(body):
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    return coder.compress(body) + coder.flush()


CODERS = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("zstd", zstd),
]


def zstd_decode(body):
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(body), read_across_frames=True
    ) as reader:
        return reader.read()


def one_member(body, window_bits):
    """Strict: a decoder that stops at the first member must have everything."""
    decoder = zlib.decompressobj(window_bits)
    text = decoder.decompress(body)
    assert decoder.eof and decoder.unused_data == b""
    return text


DECODERS = {
    "gzip": lambda body: one_member(body, 31),
    "deflate": lambda body: one_member(body, 15),
    "zstd": zstd_decode,
}


# ---- requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("coding, coder", CODERS)
def test_tensors(server, coding, coder):
    q = numpy.random.default_rng(1).standard_normal((2, 3, 500, 64)).astype(numpy.float32)
    body = safetensors_save({"q": q})
    plain = call(server, "POST", "/v1/rotation", body, {"Content-Type": SAFETENSORS}, **ROTATION)
    answer = call(
        server,
        "POST",
        "/v1/rotation",
        coder(body),
        {"Content-Type": SAFETENSORS, "Content-Encoding": coding},
        **ROTATION,
    )
    assert answer.good().body == plain.good().body
    zeros = safetensors_save({"q": numpy.zeros_like(q)})  # few bytes become many
    answer = call(
        server,
        "POST",
        "/v1/rotation",
        coder(zeros),
        {"Content-Type": SAFETENSORS, "Content-Encoding": coding},
        **ROTATION,
    )
    assert not answer.tensors["q"].any() and answer.tensors["q"].shape == q.shape


@pytest.mark.parametrize("coding, coder", CODERS)
def test_chunked(server, coding, coder):
    body = coder(json.dumps({"dim": 8, "positions": list(range(5000))}).encode())
    pieces = (body[i : i + 100] for i in range(0, len(body), 100))
    answer = requests.post(
        server.url + TABLE,
        pieces,
        params={"format": "npy"},
        timeout=60,
        headers={"Content-Encoding": coding, "Content-Type": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    assert numpy.load(io.BytesIO(answer.content)).shape == (2, 5000, 4)


def test_raw_lengths_are_those_of_the_decoded(server):
    q = numpy.arange(2 * 4, dtype=numpy.float32)
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "gzip",
        "Tensor-Dtype": "f32",
        "Tensor-Shape": "1,1,2,4",
    }
    answer = call(server, "POST", "/v1/rotation", gzip.compress(q.tobytes()), headers, **ROTATION)
    assert len(answer.good().body) == q.nbytes


@pytest.mark.parametrize(
    "body, words",
    [
        (b"not coded at all", "Content-Encoding"),
        (gzip.compress(b'{"dim": 8}')[:-1], "ended"),
        (gzip.compress(b'{"dim": 8}') + b"?", "Content-Encoding"),
        (gzip.compress(b'{"dim": 8}')[:-8] + b"\0" * 8, "Content-Encoding"),
    ],
)
def test_corrupt(server, body, words):
    answer = call(
        server,
        "POST",
        TABLE,
        body,
        {"Content-Encoding": "gzip", "Content-Type": "application/json"},
    )
    assert answer.status == 400 and answer.json["code"] == "malformed"
    assert words in answer.body.decode()
    assert get(server, "/livez").status == 200


@pytest.mark.parametrize("coding", ["br", "compress", "gzip, gzip", "nonsense"])
def test_unknown(server, coding):
    answer = call(server, "POST", TABLE, b"x", {"Content-Encoding": coding})
    assert answer.status == 415 and answer.json["errors"][0]["header"] == "Content-Encoding"
    assert answer.headers["accept-encoding"] == "zstd, gzip, deflate, identity"
    assert "accept-post" not in answer.headers


def resident_peak(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


# Under a sanitizer, which sees the same lines for each, fewer.
MEBIBYTES = 128 if "POSENC_SANITIZED" in os.environ else 1024


def gzip_bomb():
    coder, zeros = zlib.compressobj(9, zlib.DEFLATED, 31), bytes(1 << 20)
    return b"".join(coder.compress(zeros) for _ in range(MEBIBYTES)) + coder.flush()


def zstd_bomb():
    coder, zeros = zstandard.ZstdCompressor(level=3).compressobj(), bytes(1 << 20)
    return b"".join(coder.compress(zeros) for _ in range(MEBIBYTES)) + coder.flush()


@pytest.mark.parametrize("coding, make", [("gzip", gzip_bomb), ("zstd", zstd_bomb)])
def test_bomb(start_server, coding, make):
    """1 GiB of zeros. Memory: the limit, half of it before the buffer grew, what is not decoded
    yet, and what any server takes."""
    limit, other = 32 << 20, 8 << 20
    server = start_server("--body-max", str(limit))
    assert get(server, TABLE, dim=8, length=8).status == 200
    before, bomb = resident_peak(server), make()
    for _ in range(5):
        answer = call(
            server,
            "POST",
            "/v1/rotation",
            bomb,
            {"Content-Type": SAFETENSORS, "Content-Encoding": coding},
            **ROTATION,
        )
        assert answer.status == 413 and "--body-max" in answer.body.decode()
    if "POSENC_SANITIZED" not in os.environ:  # its allocator keeps what was freed
        assert resident_peak(server) - before < limit * 3 // 2 + 4 * len(bomb) + other
    assert get(server, "/livez").status == 200


# ---- answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", DECODERS)
def test_several_megabytes(server, coding):
    plain = get(server, TABLE, **LARGE)
    coded = get(server, TABLE, {"Accept-Encoding": coding}, **LARGE)
    assert coded.headers["content-encoding"] == coding
    assert len(plain.body) > 5e6 and len(coded.body) < len(plain.body) / 2
    assert DECODERS[coding](coded.body) == plain.body


@pytest.mark.parametrize("coding", DECODERS)
def test_rotation_in_json(server, coding):
    """Blocks that are made once, of what was posted."""
    q = numpy.random.default_rng(2).standard_normal((1, 1, 4000, 64)).astype(numpy.float32)
    body, headers = safetensors_save({"q": q}), {"Content-Type": SAFETENSORS}
    plain = call(server, "POST", "/v1/rotation", body, headers, format="json", **ROTATION)
    coded = call(
        server,
        "POST",
        "/v1/rotation",
        body,
        headers | {"Accept-Encoding": coding},
        format="json",
        **ROTATION,
    )
    assert coded.headers["content-encoding"] == coding and len(plain.good().body) > 2e6
    assert DECODERS[coding](coded.body) == plain.body


@pytest.mark.parametrize("accept", ["gzip", "deflate", "zstd", None])
def test_curl_and_requests(server, accept):
    """Clients that decode by themselves; None: they ask for the codings they know."""
    plain = get(server, TABLE, **LARGE)
    fields = {} if accept is None else {"Accept-Encoding": accept}
    answer = requests.get(server.url + TABLE, params=LARGE, headers=fields, timeout=60)
    assert answer.headers["Content-Encoding"] == accept or accept is None
    assert answer.content == plain.body
    curl = ["curl", "-s", "--compressed", f"{server.url}{TABLE}?dim=128&length=4096"]
    if (
        accept != "zstd"
        or "zstd"
        in subprocess.run(["curl", "--version"], check=True, text=True, capture_output=True).stdout
    ):
        fields = [] if accept is None else ["-H", f"Accept-Encoding: {accept}"]
        assert subprocess.run(curl + fields, check=True, capture_output=True).stdout == plain.body


NAMES = {"zstd": ["zstd"], "gzip": ["gzip", "x-gzip"], "deflate": ["deflate"]}  # preferred first


def chosen(elements):
    """RFC 9110, 12.5.3, restated: the coding of an answer, "identity", or None: it is refused."""
    quality = {name: weight for name, weight in reversed(elements)}  # the first of a name counts

    def of(names):
        return next((weight for name, weight in elements if name in names), quality.get("*", 0))

    best = max(NAMES, key=lambda name: of(NAMES[name]))  # the first of the best
    if of(NAMES[best]) > 0 and of(NAMES[best]) >= quality.get("identity", -1):
        return best
    return "identity" if quality.get("identity", quality.get("*", 1)) > 0 else None


def test_what_accept_encoding_chooses(server):
    """Random lists: names and q in any case, blanks, other names of a coding, weights, and `*`."""
    rng, seen = random.Random(31), set()
    names = ["zstd", "gzip", "x-gzip", "deflate", "identity", "*", "br"]
    for _ in range(200):
        elements = [
            (name, rng.choice([0, 0.001, 0.5, 0.5, 1]))
            for name in rng.sample(names, rng.randint(1, 4))
        ]
        if {"gzip", "x-gzip"} <= {name for name, _ in elements}:
            continue  # two weights of one coding
        field = rng.choice([",", ", ", " ,\t"]).join(
            rng.choice([name, name.upper()])
            + (
                f"{rng.choice([';', ' ; '])}{rng.choice('qQ')}={weight}"
                if weight < 1 or rng.random() < 0.5
                else ""
            )
            for name, weight in elements
        )
        wanted = chosen(elements)
        answer = get(server, "/v1/encodings/rope", {"Accept-Encoding": field})
        assert answer.status == (200 if wanted else 406), field
        if wanted:
            assert answer.headers.get("content-encoding", "identity") == wanted, field
        seen.add(wanted)
    assert seen == {*NAMES, "identity", None}


@pytest.mark.parametrize("coding", DECODERS)
def test_texts_from_1024_bytes_on_are_coded(server, coding):
    """Texts that differ by one byte; shorter ones only where identity is excluded."""

    def report(name, accept):
        body = {"config": {"model_type": "llama"}, "for": ["vllm"], "file": name}
        fields = {"Content-Type": "application/json", "Accept-Encoding": accept}
        return call(server, "POST", "/v1/lint", json.dumps(body), fields).good()

    shortest = len(report("", coding).body)
    assert shortest < 1000
    for size in (1022, 1023, 1024, 1025):
        name = "a" * (size - shortest)
        text = report(name, "identity").body
        assert len(text) == size
        answer = report(name, coding)
        coded = answer.headers.get("content-encoding")
        assert coded == (coding if size >= 1024 else None)
        assert (DECODERS[coding](answer.body) if coded else answer.body) == text
        only = report(name, f"{coding}, identity;q=0")
        assert only.headers["content-encoding"] == coding
        assert DECODERS[coding](only.body) == text


@pytest.mark.parametrize("path", ["/metrics", "/openapi.yaml", "/openapi.json", "/v1/encodings"])
@pytest.mark.parametrize("coding", DECODERS)
def test_whole_ones_have_a_length(server, path, coding):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for method in ("GET", "HEAD", "GET"):  # all on one connection
        connection.request(method, path, headers={"Accept-Encoding": coding})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200 and answer.getheader("Content-Encoding") == coding
        assert "Accept-Encoding" in answer.getheader("Vary")
        if method == "GET":
            assert len(body) == int(answer.getheader("Content-Length"))
            assert len(DECODERS[coding](body)) > 1024
    connection.close()


def test_tags_and_refusals(server):
    tags = {}
    for coding in ("identity", *DECODERS):
        for parameters in ({"dim": 8, "length": 8}, LARGE):
            answer = get(server, TABLE, {"Accept-Encoding": coding}, **parameters)
            tag = answer.headers["etag"]
            again = get(
                server, TABLE, {"Accept-Encoding": coding, "If-None-Match": tag}, **parameters
            )
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
            tags[tag] = (coding, str(parameters))
    assert len(tags) == 8
    for form in ("npy", "safetensors", "raw"):
        answer = get(server, TABLE, {"Accept-Encoding": "gzip, zstd"}, format=form, **LARGE)
        assert "content-encoding" not in answer.headers
    refused = get(server, TABLE, {"Accept-Encoding": "identity;q=0"}, format="npy", **LARGE)
    assert refused.status == 406 and refused.json["errors"][0]["header"] == "Accept-Encoding"
    problem = get(server, TABLE, {"Accept-Encoding": "gzip"}, dim=8)
    assert problem.status == 422 and "content-encoding" not in problem.headers


def test_clients_that_leave(server):
    """In the middle of a coded answer; the next ones are answered."""
    for coding in DECODERS:
        for size in (1, 100_000):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            connection.request(
                "GET", TABLE + "?dim=256&length=8000", headers={"Accept-Encoding": coding}
            )
            connection.getresponse().read(size)
            connection.close()
    assert get(server, TABLE, dim=8, length=8).status == 200
