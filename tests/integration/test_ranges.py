# SPDX-License-Identifier: MIT
"""Range, If-Range and kept answers: any part of a table is the same bytes as in the whole."""

import random
import subprocess
import time

import numpy
import pytest

from service import call

TABLE = "/v1/encodings/rope/table"
# Kept whole, streamed, streamed with two outputs in one file.
SHAPES = [
    ("npy", {"dim": 64, "length": 300}),
    ("raw", {"dim": 128, "length": 20000}),
    ("safetensors", {"dim": 96, "length": 25000}),
    ("npy", {"dim": 64, "length": 40000}),
]


def part(server, value, headers=None, path=TABLE, **parameters):
    return call(server, "GET", path, headers={"Range": value, **(headers or {})}, **parameters)


@pytest.mark.parametrize("form, shape", SHAPES)
def test_every_part_is_the_whole_s(server, form, shape):
    whole = call(server, "GET", TABLE, format=form, **shape).good()
    size, rng = len(whole.body), random.Random(7)
    assert whole.headers["accept-ranges"] == "bytes"
    edges = [0, 1, 63, 64, 127, 128, 129, 191, 192, 524287, 524288, 524416, size - 2, size - 1]
    pairs = [sorted(rng.sample(range(size), 2)) for _ in range(30)]
    pairs += [(a, a + n) for a in edges for n in (0, 1, 1000) if a + n < size]
    for first, last in pairs:
        answer = part(server, f"bytes={first}-{last}", format=form, **shape)
        assert answer.status == 206
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert answer.headers["etag"] == whole.headers["etag"]
        assert answer.body == whole.body[first : last + 1]
    for text, expected in (
        (f"bytes={size - 10}-", whole.body[-10:]),
        ("bytes=-7", whole.body[-7:]),
        (f"bytes=5-{size * 9}", whole.body[5:]),
        ("bytes=-9999999999", whole.body),
    ):
        answer = part(server, text, format=form, **shape)
        assert (answer.status, answer.body) == (206, expected), text
    print(f"{len(pairs) + 4} ranges of {size} bytes")


@pytest.mark.parametrize("shape", [{"dim": 8, "length": 4}, {"dim": 128, "length": 40000}])
def test_what_is_not_a_range_is_ignored(server, shape):
    whole = call(server, "GET", TABLE, format="raw", **shape).good()
    for text in (
        "bytes=0-1,3-4",
        "bytes=5-4",
        "bytes=",
        "bytes=a-b",
        "rows=0-1",
        "bytes=1",
        "x",
        "bytes=+1-2",
        "bytes=--1",
    ):
        answer = part(server, text, format="raw", **shape)
        assert (answer.status, answer.body) == (200, whole.body), text
    assert part(server, "bytes=0-1", format="json", dim=8, length=4).status == 200
    post = call(
        server,
        "POST",
        TABLE,
        b'{"dim": 8, "length": 4}',
        {"Content-Type": "application/json", "Range": "bytes=0-1"},
        format="raw",
    )
    assert post.status == 200 and "accept-ranges" not in post.headers


def test_not_satisfiable(server):
    for text in ("bytes=128-", "bytes=128-200", "bytes=-0", "bytes=99999999999999999999-"):
        answer = part(server, text, format="raw", dim=8, length=4)
        assert answer.status == 416, text
        assert answer.headers["content-range"] == "bytes */128"
        assert answer.json["code"] == "range-not-satisfiable"
    assert part(server, "bytes=0-", format="raw", dim=8, length=0).status == 416


@pytest.mark.parametrize("length", [16, 40000])
def test_if_range(server, length):
    ask = {"format": "raw", "dim": 64, "length": length}
    tag = call(server, "HEAD", TABLE, **ask).headers["etag"]
    assert part(server, "bytes=0-9", {"If-Range": tag}, **ask).status == 206
    for other in ('"x"', "W/" + tag, "Sat, 21 Nov 2026 07:28:00 GMT", tag[:-1]):
        assert part(server, "bytes=0-9", {"If-Range": other}, **ask).status == 200
    fresh = part(server, "bytes=0-9", {"If-None-Match": tag}, **ask)
    assert (fresh.status, fresh.body) == (304, b"")


def test_the_middle_of_eight_gibibytes_at_once(server):
    """Only the rows of the range are made, and they are the right ones."""
    ask = {"heads": 32, "query_length": 8192, "key_length": 8192, "format": "raw"}
    row = 4 * 8192
    began = time.monotonic()
    answer = part(
        server, f"bytes={4 << 30}-{(4 << 30) + row - 1}", path="/v1/encodings/alibi/bias", **ask
    )
    assert time.monotonic() - began < 2
    assert answer.headers["content-range"].endswith(f"/{(8 << 30) + 32 * 4}")
    # Half of it: the first query of head 16, whose slope is 2^(-8/32 * 17).
    keys = numpy.arange(8192, dtype=numpy.float64)
    expected = (-(2.0 ** (-8 / 32 * 17)) * keys).astype(numpy.float32)
    numpy.testing.assert_array_equal(numpy.frombuffer(answer.body, "<f4"), expected)


def test_curl_resumes_a_download(server, tmp_path):
    url = f"{server.url}{TABLE}?dim=128&length=30000&format=npy"
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    subprocess.run(["curl", "-sf", "-o", whole, url], check=True, timeout=60)
    resumed.write_bytes(whole.read_bytes()[:5_000_001])
    subprocess.run(["curl", "-sf", "-C", "-", "-o", resumed, url], check=True, timeout=60)
    assert resumed.read_bytes() == whole.read_bytes()


def test_a_kept_answer_is_the_same_answer(server):
    """But for its id, its date and the time that it took."""
    own = ("x-request-id", "date", "server-timing")
    for form in ("json", "npy", "safetensors", "raw"):
        ask = {"dim": 32, "length": 77, "base": 12345, "format": form}
        first, again = (call(server, "GET", TABLE, **ask).good() for _ in range(2))
        assert again.headers["server-timing"].startswith("cache")
        assert first.body == again.body
        for name in set(first.headers) | set(again.headers):
            assert name in own or first.headers.get(name) == again.headers.get(name), name
        other = call(
            server, "GET", TABLE, headers={"Accept": "application/x-npy"}, **{**ask, "format": None}
        )
        assert other.headers["content-type"] == "application/x-npy"
        assert call(server, "GET", TABLE, headers={"Host": "evil.example"}, **ask).status == 403
        assert call(server, "HEAD", TABLE, **ask).status == 200
