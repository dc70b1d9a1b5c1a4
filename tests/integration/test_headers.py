# SPDX-License-Identifier: MIT
"""What the heads of 304, 206 and HEAD say, beside that of the 200 that they stand for; and which
answer an Accept field gets."""
import http.client
import itertools

import pytest

from service import call, get

TABLE = "/v1/encodings/rope/table"
OWN = {"date", "x-request-id", "server-timing", "connection", "transfer-encoding", "content-length"}
FRESH = itertools.count(1000)  # a base that no other request has had: nothing is kept of it


def told(answer):
    return {name: value for name, value in answer.headers.items() if name not in OWN}


CODINGS = [None, "gzip", "zstd", "deflate", "br", "gzip;q=0, zstd"]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("form", ["json", "npy", "safetensors", "raw", "csv"])
@pytest.mark.parametrize("length", [2, 100, 6000])
def test_304_has_the_head_of_200(server, form, coding, length):
    """Where the answer was never made, where it is kept, and by HEAD."""
    ask = {"dim": 32, "length": length, "format": form, "base": next(FRESH)}
    fields = {"Accept-Encoding": coding} if coding else {}
    head = call(server, "HEAD", TABLE, None, fields, **ask)
    tag = {"If-None-Match": head.headers["etag"]}
    unmade = get(server, TABLE, fields | tag, **ask)
    by_head = call(server, "HEAD", TABLE, None, fields | tag, **ask)
    full = get(server, TABLE, fields, **ask).good()
    kept = get(server, TABLE, fields | tag, **ask)
    again = get(server, TABLE, fields, **ask).good()
    assert [a.status for a in (head, unmade, by_head, kept)] == [200, 304, 304, 304]
    assert not (head.body or unmade.body or by_head.body or kept.body)
    for answer in (head, unmade, by_head, kept, again):
        assert told(answer) == told(full)
    sizes = {a.headers["content-length"] for a in (head, unmade, by_head, kept)
             if a.headers.get("content-length", "0") != "0"}  # text is as long as it turns out
    text = form in ("json", "csv")
    assert sizes <= {str(len(full.body))} and (text or sizes)
    wanted = coding if text and coding in ("gzip", "zstd", "deflate") else None
    if text and coding == "gzip;q=0, zstd":
        wanted = "zstd"
    if not text or length > 2:  # what is short is not worth it
        assert full.headers.get("content-encoding") == wanted


def test_codings_have_tags_of_their_own(server):
    ask = {"dim": 32, "length": 100, "base": next(FRESH)}
    tags = [get(server, TABLE, {"Accept-Encoding": coding}, **ask).headers["etag"]
            for coding in ("identity", "gzip", "zstd", "deflate")]
    assert len(set(tags)) == 4
    for i, j in itertools.product(range(4), range(4)):
        coding = ("identity", "gzip", "zstd", "deflate")[i]
        again = get(server, TABLE, {"Accept-Encoding": coding, "If-None-Match": tags[j]}, **ask)
        assert again.status == (304 if i == j else 200)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("form", ["npy", "safetensors", "raw"])
def test_206_has_the_head_of_200(server, form, kept):
    ask = {"dim": 32, "length": 100, "format": form, "base": next(FRESH)}
    full = get(server, TABLE, **ask).good() if kept else None
    part = get(server, TABLE, {"Range": "bytes=10-29", "Accept-Encoding": "gzip"}, **ask)
    full = full or get(server, TABLE, **ask).good()
    assert part.status == 206 and part.body == full.body[10:30]
    assert part.headers["content-length"] == "20"
    assert part.headers["content-range"] == f"bytes 10-29/{len(full.body)}"
    assert told(part) == told(full) | {"content-range": part.headers["content-range"]}
    assert "content-encoding" not in part.headers and part.headers["etag"] == full.headers["etag"]
    gone = get(server, TABLE, {"Range": f"bytes={len(full.body)}-"}, **ask)
    assert gone.status == 416 and gone.headers["content-range"] == f"bytes */{len(full.body)}"


def test_tags_of_equal_bytes(server):
    """0 and -0 as a number are the same table; in a list they are not, sin tells them apart."""
    def asked(**parameters):
        answer = get(server, TABLE, dim=8, format="raw", **parameters).good()
        return answer.headers["etag"], answer.body
    assert asked(length=3, start="-0") == asked(length=3, start="0") == asked(length=3)
    assert asked(length=1, step="-0") == asked(length=1, step="0")
    plus, minus = asked(positions="0"), asked(positions="-0")
    assert plus[0] != minus[0] and plus[1] != minus[1]


JSON, NPY, RAW = "application/json", "application/x-npy", "application/octet-stream"
CSV = "text/csv; charset=utf-8; header=present"


@pytest.mark.parametrize("accept, expected", [
    (f"{NPY};q=5, {JSON};q=1", JSON),  # nothing is better than 1: the first of the route's list
    (f"{NPY};q=1.001, {JSON}", JSON), (f"{NPY};q=9.999, {JSON};q=1.000", JSON),
    (f"{NPY};q=2, {JSON};q=0.999", NPY), (f"{NPY};q=0.9, {JSON};q=0.8", NPY),
    (f"{NPY};q=0.001, {JSON};q=0", NPY), (f"{NPY};q=0.500, {JSON};q=0.499", NPY),
    (f"{NPY};q=0.5, {JSON};q=0.5", JSON), (f"{JSON};q=0.5, */*;q=0.5, {NPY}", NPY),
    (f"{NPY};q=0.1234, {JSON};q=0.123", JSON), (f"{NPY};q=0, */*", JSON),
    (f"*/*;q=1, {JSON};q=0.1, {NPY};q=0.2, {RAW};q=0.3, text/*;q=0.4, image/*;q=0.4, "
     "application/x-safetensors;q=0.5", "application/x-safetensors"),
    (f"text/*, {JSON};q=0.9", CSV), (f"*/*;q=0.8, text/csv;header=present", CSV),
    ("text/html, */*;q=0.8", JSON),
    (f"application/*;q=0.7, {JSON};q=0.6, {NPY};q=0.6, {RAW};q=0.6", "application/x-safetensors"),
])
def test_accept(server, accept, expected):
    answer = get(server, TABLE, {"Accept": accept}, dim=8, length=3).good()
    assert answer.headers["content-type"] == expected


def test_answers_in_a_row_have_their_own_values(server):
    """Short answers of one connection, alike and unlike in turns, are what each is alone."""
    asks = [f"{TABLE}?dim=8&length=6&format=raw", "/livez", f"{TABLE}?dim=8&length=6&format=raw",
            f"{TABLE}?dim=8&length=6&format=raw&base=500000.5", "/v1/unknown", "/livez",
            f"{TABLE}?dim=6&length=8&format=raw"]
    alone = [call(server, "GET", ask) for ask in asks]
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    ids = set()
    for ask, want in zip(asks, alone):
        connection.request("GET", ask)
        got = connection.getresponse()
        body, names = got.read(), [name.lower() for name, _ in got.getheaders()]
        assert got.status == want.status and len(set(names)) == len(names)
        assert want.status == 404 or body == want.body
        assert {name.lower(): value for name, value in got.getheaders()
                if name.lower() not in OWN} == told(want)
        ids.add(got.headers["X-Request-Id"])
    connection.close()
    assert len(ids) == len(asks)
