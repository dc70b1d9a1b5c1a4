# SPDX-License-Identifier: MIT
"""What the heads of 304, 206 and HEAD say, beside that of the 200 that they stand for; which answer
an Accept field gets; every field of an answer of each kind."""

import gzip
import http.client
import itertools
import json
import re

import numpy
import pytest

from service import call, get, post_json, query_text

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
    sizes = {
        a.headers["content-length"]
        for a in (head, unmade, by_head, kept)
        if a.headers.get("content-length", "0") != "0"
    }  # text is as long as it turns out
    text = form in ("json", "csv")
    assert sizes <= {str(len(full.body))} and (text or sizes)
    wanted = coding if text and coding in ("gzip", "zstd", "deflate") else None
    if text and coding == "gzip;q=0, zstd":
        wanted = "zstd"
    if not text or length > 2:  # what is short is not worth it
        assert full.headers.get("content-encoding") == wanted


def test_codings_have_tags_of_their_own(server):
    ask = {"dim": 32, "length": 100, "base": next(FRESH)}
    tags = [
        get(server, TABLE, {"Accept-Encoding": coding}, **ask).headers["etag"]
        for coding in ("identity", "gzip", "zstd", "deflate")
    ]
    assert len(set(tags)) == 4
    for i, j in itertools.product(range(4), range(4)):
        coding = ("identity", "gzip", "zstd", "deflate")[i]
        again = get(server, TABLE, {"Accept-Encoding": coding, "If-None-Match": tags[j]}, **ask)
        assert again.status == (304 if i == j else 200)


@pytest.mark.parametrize(
    "path",
    [
        "/docs",
        "/openapi.json",
        "/openapi.yaml",
        "/v1/encodings",
        "/v1/encodings/rope",
        "/v1/encodings/rope/table?dim=32&length=90",
        "/v1/encodings/rope/table?dim=32&length=90&format=svg",
        "/v1/encodings/rope/analysis/decay?dim=16&max_offset=200",
        "/v1/layout?from_layout=half&to_layout=interleaved&head_dim=512",
        "/v1/layout?from_layout=half&to_layout=interleaved&head_dim=512&format=csv",
    ],
)
def test_a_tag_stands_for_bytes(server, path):
    """Of every tagged resource: what has the same tag under two codings has the same bytes."""
    tagged = {}
    for coding in ("identity", "gzip", "zstd", "deflate"):
        answer = get(server, path, {"Accept-Encoding": coding}).good()
        said = answer.headers.get("content-encoding"), answer.body
        assert tagged.setdefault(answer.headers["etag"], said) == said, coding
    assert {coding for coding, _ in tagged.values()} == {None, "gzip", "zstd", "deflate"}


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


def test_tags_of_positions_in_rows(server):
    """The same numbers in rows of coordinates, and for mrope as one list too: equal tags have equal
    bytes."""
    tags = {}
    for name, asked, axes in (
        ("mrope", {"dim": 8, "mrope_section": "2,1,1"}, 3),
        ("rope-2d", {"dim": 8}, 2),
        ("rope-nd", {"axes_dim": "4,4"}, 2),
        ("rope-nd", {"axes_dim": "4,2,2"}, 3),
    ):
        for count in (axes, 2 * axes, 6 * axes):
            numbers = [str(3 * i % 7) for i in range(count)]
            for rows in {1, axes, count}:
                columns = count // rows
                text = ";".join(
                    ",".join(numbers[i : i + columns]) for i in range(0, count, columns)
                )
                view = f"/v1/encodings/{name}/table"
                answer = get(server, view, positions=text, format="raw", **asked)
                is_taken = rows == axes or (name == "mrope" and rows == 1)
                assert answer.status == (200 if is_taken else 422), answer.body
                if not is_taken:
                    continue
                said = answer.headers["tensor-shape"].encode() + answer.body
                assert tags.setdefault(answer.headers["etag"], said) == said, (name, text)
    assert len(tags) == 15


JSON, NPY, RAW = "application/json", "application/x-npy", "application/octet-stream"
CSV = "text/csv; charset=utf-8; header=present"


@pytest.mark.parametrize(
    "accept, expected",
    [
        (f"{NPY};q=5, {JSON};q=1", JSON),  # nothing is better than 1: the first of the route's list
        (f"{NPY};q=1.001, {JSON}", JSON),
        (f"{NPY};q=9.999, {JSON};q=1.000", JSON),
        (f"{NPY};q=2, {JSON};q=0.999", NPY),
        (f"{NPY};q=0.9, {JSON};q=0.8", NPY),
        (f"{NPY};q=0.001, {JSON};q=0", NPY),
        (f"{NPY};q=0.500, {JSON};q=0.499", NPY),
        (f"{NPY};q=0.5, {JSON};q=0.5", JSON),
        (f"{JSON};q=0.5, */*;q=0.5, {NPY}", NPY),
        (f"{NPY};q=0.1234, {JSON};q=0.123", JSON),
        (f"{NPY};q=0, */*", JSON),
        (
            f"*/*;q=1, {JSON};q=0.1, {NPY};q=0.2, {RAW};q=0.3, text/*;q=0.4, image/*;q=0.4, "
            "application/x-safetensors;q=0.5",
            "application/x-safetensors",
        ),
        (f"text/*, {JSON};q=0.9", CSV),
        ("*/*;q=0.8, text/csv;header=present", CSV),
        ("text/html, */*;q=0.8", JSON),
        (
            f"application/*;q=0.7, {JSON};q=0.6, {NPY};q=0.6, {RAW};q=0.6",
            "application/x-safetensors",
        ),
    ],
)
def test_accept(server, accept, expected):
    answer = get(server, TABLE, {"Accept": accept}, dim=8, length=3).good()
    assert answer.headers["content-type"] == expected


def test_answers_in_a_row_have_their_own_values(server):
    """Short answers of one connection, alike and unlike in turns, are what each is alone."""
    asks = [
        f"{TABLE}?dim=8&length=6&format=raw",
        "/livez",
        f"{TABLE}?dim=8&length=6&format=raw",
        f"{TABLE}?dim=8&length=6&format=raw&base=500000.5",
        "/v1/unknown",
        "/livez",
        f"{TABLE}?dim=6&length=8&format=raw",
    ]
    alone = [call(server, "GET", ask) for ask in asks]
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    ids = set()
    for ask, want in zip(asks, alone):
        connection.request("GET", ask)
        got = connection.getresponse()
        body, names = got.read(), [name.lower() for name, _ in got.getheaders()]
        assert got.status == want.status and len(set(names)) == len(names)
        assert want.status == 404 or body == want.body
        assert {
            name.lower(): value for name, value in got.getheaders() if name.lower() not in OWN
        } == told(want)
        ids.add(got.headers["X-Request-Id"])
    connection.close()
    assert len(ids) == len(asks)


# ---- lists ---------------------------------------------------------------------------------------


def swapped(value):
    return value.swapcase()


def padded(value):
    """Blanks, tabs and elements that are empty."""
    return " ,\t, " + ",".join(f"\t{part} , ,  " for part in value.split(",")) + ","


def quoted(value):
    """A parameter of each element whose text has what else would end the element."""
    return ",".join(
        re.sub(r"^([^;]*)", r'\1;a="b, */*;q=1, gzip, \\", c; q=0"', part)
        for part in value.split(",")
    )


def split(value):
    """As many fields as there are elements, and one without any."""
    return [*value.split(","), ""]


def lists(server, path, fields, body=None, **parameters):
    """With fields whose value may be a list: a field for each."""
    target = path + ("?" + query_text(parameters) if parameters else "")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("POST" if body else "GET", target, skip_accept_encoding=True)
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            connection.putheader(name, one)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.read()
    connection.close()
    words = ("content-type", "content-encoding", "etag")
    return answer.status, [answer.headers.get(word) for word in words], found


ACCEPTS = [
    f"{NPY};q=0.5,{JSON};q=0.4",
    f"{JSON};q=0.1,{NPY}",
    "image/*",
    "image/*;q=0.2,text/csv",
    "*/*;q=0.1,application/*;q=0.2,image/svg+xml;q=0.3",
    "text/html",
    f"{NPY};q=0,*/*;q=0.5",
    "text/nothing",
    f"{JSON};q=0",
]
ACCEPT_ENCODINGS = [
    "gzip",
    "zstd;q=0.5,gzip;q=0.6",
    "*;q=0.5,zstd;q=0",
    "identity;q=0,gzip",
    "x-gzip",
    "br,deflate",
    "identity,gzip;q=0.5",
    "*;q=0",
    "gzip;q=0,*",
]


@pytest.mark.parametrize("spelled", [swapped, padded, quoted, split])
@pytest.mark.parametrize(
    "name, value",
    [
        *(("Accept", value) for value in ACCEPTS),
        *(("Accept-Encoding", value) for value in ACCEPT_ENCODINGS),
    ],
)
def test_a_list_however_it_is_spelled(server, name, value, spelled):
    """The same answer, made anew and kept: in other letters, with blanks and nothing between
    commas, with quoted commas, in several fields."""
    for ask in ({"dim": 32, "length": 100}, {"dim": 32, "length": 100, "base": next(FRESH)}):
        want = lists(server, TABLE, {name: value}, **ask)
        for _ in range(2):
            found = lists(server, TABLE, {name: spelled(value)}, **ask)
            assert found[:2] == want[:2]
            assert found[0] >= 400 or found[2] == want[2]
    kinds = {"Content-Type": RAW, "Tensor-Dtype": "f32", "Tensor-Shape": "1,1,64,64"}
    ask = {"encoding": "rope", "layout": "half", "axes": "bhsd", "start": 0}
    body = numpy.ones((64, 64), "f4").tobytes()
    want = lists(server, "/v1/rotation", kinds | {name: value}, body, **ask)
    for _ in range(2):
        found = lists(server, "/v1/rotation", kinds | {name: spelled(value)}, body, **ask)
        assert found[:2] == want[:2] and (found[0] >= 400 or found[2] == want[2])


@pytest.mark.parametrize(
    "before, after",
    [
        ("", ""),
        ("", ', "other"'),
        ('"other", ', ""),
        (", ,\t", " ,"),
        ('"a,b", ', ', "*"'),
        ('"a,', ""),
        ('"a", W/"b", ', ""),
        ("W/", ""),
        ('"a\\", ', ', "b"'),
    ],
)
def test_a_list_of_tags(server, before, after):
    """A comma, a star and a backslash in a tag are part of it; in one field and in several."""
    ask = {"dim": 8, "length": 3}
    tag = get(server, TABLE, **ask).headers["etag"]
    given = before + tag + after
    found = before.count('"') % 2 == 0  # else the tag is the end of another one
    for fields in (given, [given], ["", given, '"other"'], ['"other"', given]):
        status = lists(server, TABLE, {"If-None-Match": fields}, **ask)[0]
        assert status == (304 if found else 200), fields


@pytest.mark.parametrize(
    "value, any_tag",
    [
        ("*", True),
        (" * ", True),
        ('"*"', False),
        ('"a,*"', False),
        ('"a, *"', False),
        ('W/"*"', False),
        ("*a", False),
        ('"a*', False),
        ('"', False),
        ("", False),
        (",", False),
    ],
)
def test_a_star_among_tags(server, value, any_tag):
    assert lists(server, TABLE, {"If-None-Match": value}, dim=8, length=3)[0] == (
        304 if any_tag else 200
    )


@pytest.mark.parametrize(
    "value, status",
    [
        ("gzip", 200),
        ("GZIP", 200),
        ("\tgzip ", 200),
        (",gzip,", 200),
        ("x-GZip", 200),
        (["gzip"], 200),
        ("gzip, gzip", 415),
        (["gzip", "gzip"], 415),
        ("gzip;a=b", 415),
        ("gzi", 415),
        ("gzipp", 415),
        ('"gzip"', 415),
        ("gzip,identity", 415),
    ],
)
def test_a_coding_however_it_is_spelled(server, value, status):
    side = {"name": "sinusoidal", "dim": 8}
    body = gzip.compress(json.dumps({"a": side, "b": side, "length": 3}).encode())
    fields = {"Content-Type": JSON, "Content-Encoding": value}
    assert lists(server, "/v1/comparison", fields, body)[0] == status


@pytest.mark.parametrize(
    "value, closes",
    [
        ("close", True),
        ("Close", True),
        ("CLOSE", True),
        ("keep-alive", False),
        ("Keep-Alive", False),
        ("TE, close", True),
        ("close, TE", True),
        ("x-close", False),
        ("closes", False),
        ("TE,\tCLOSE ,", True),
    ],
)
def test_connection_however_it_is_spelled(server, value, closes):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/livez", headers={"Connection": value, "TE": "Trailers, GZIP;q=0.5"})
    assert connection.getresponse().read()
    assert (connection.sock is None) == closes
    connection.close()


@pytest.mark.parametrize(
    "value, secure",
    [
        (None, False),
        ("https", True),
        ("HTTPS", True),
        ("Https, http", True),
        ("http, https", False),
        (" https ,http", True),
        ("httpsx", False),
        ("https;a=b", True),
        ("", False),
    ],
)
def test_the_scheme_in_front_of_the_proxies(server, value, secure):
    fields = {"Accept": "text/html"} | ({} if value is None else {"X-Forwarded-Proto": value})
    page = get(server, "/", fields, encoding="rope").good().body.decode()
    links = re.findall(r'content="(https?)://', page)
    assert links and set(links) == {"https" if secure else "http"}


# ---- every field of an answer --------------------------------------------------------------------

EXPOSED = (
    "ETag, Content-Disposition, Content-Range, Content-Location, Accept-Ranges, Retry-After, "
    "Server-Timing, X-Request-Id, Allow, Accept-Post, Tensor-Dtype, Tensor-Shape, "
    "Encoding-Parameters, Encoding-Warnings"
)
PROBE = {
    "x-content-type-options": "nosniff",
    "access-control-allow-origin": "*",
    "cache-control": "no-store",
    "content-type": JSON,
}
PUBLIC = PROBE | {
    "vary": "Accept, Accept-Encoding",
    "timing-allow-origin": "*",
    "access-control-expose-headers": EXPOSED,
}
REFUSED = PUBLIC | {"content-type": "application/problem+json"}
TAGGED, TIMED = {"etag": "tag"}, {"server-timing": "times"}
PAGE = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "frame-ancestors 'none'",
}


def kept(seconds):
    return {"cache-control": f"public, max-age={seconds}"}


FOREVER = {"cache-control": "public, max-age=31536000, immutable"}
HTML, POSTED = {"Accept": "text/html"}, {"Content-Type": JSON}
READERS = f"{JSON}, {NPY}, application/x-safetensors, {RAW}, application/x-gguf"
SIDE = {"name": "sinusoidal", "dim": 4}
COMPARED = json.dumps({"a": SIDE, "b": SIDE, "length": 3})
SMALL = TABLE + "?dim=4&length=2"
VECTORS = {"Content-Type": RAW, "Tensor-Dtype": "f32", "Tensor-Shape": "1,1,2,4"}
ROTATION = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0"
COMPUTED = PUBLIC | TAGGED | TIMED | kept(3600)
ROPE = '{"name":"rope","dim":4,"base":10000,"rope_type":"default","arithmetic":"exact"'


def saved(media, name, more=""):
    """What goes to a file: its name, and the parameters that have no place in it."""
    return {
        "content-type": media,
        "content-disposition": f'attachment; filename="{name}"',
        "encoding-parameters": ROPE + more + "}",
    }


RANGES = {"accept-ranges": "bytes"}
PICTURE = {
    "content-type": "image/svg+xml",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
}
PREFLIGHT = {
    "allow": "POST, OPTIONS",
    "access-control-allow-methods": "POST, OPTIONS",
    "access-control-allow-headers": "Content-Type, Authorization, Range, If-None-Match, If-Match, "
    "If-Range, Tensor-Dtype, Tensor-Shape, X-Request-Id, traceparent",
    "access-control-max-age": "7200",
    "accept-post": READERS,
}


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


FIELDS = {
    "GET /": (200, {}, None, PUBLIC | kept(60)),
    "GET /livez": (200, {}, None, PROBE),
    "GET /readyz": (200, {}, None, PROBE),
    "GET /metrics": (
        200,
        {},
        None,
        PUBLIC | {"content-type": "text/plain; version=0.0.4; charset=utf-8"},
    ),
    "GET /openapi.yaml": (
        200,
        {},
        None,
        PUBLIC | TAGGED | kept(60) | {"content-type": "application/yaml"},
    ),
    "GET /openapi.json": (200, {}, None, PUBLIC | TAGGED | kept(60)),
    "GET /client.js": (
        200,
        {},
        None,
        PUBLIC | TAGGED | kept(3600) | {"content-type": "text/javascript"},
    ),
    "GET /problems": (200, {}, None, PUBLIC | kept(60)),
    "GET /problems?": (200, HTML, None, PUBLIC | kept(60) | PAGE),
    "GET /problems/not-found": (200, {}, None, PUBLIC | kept(60)),
    "GET /problems/not-found?": (200, HTML, None, PUBLIC | kept(60) | PAGE),
    "GET /v1": (200, {}, None, PUBLIC | TAGGED | {"cache-control": "no-cache"}),
    "GET /v1/encodings": (200, {}, None, PUBLIC | TAGGED | kept(60)),
    "GET /v1/encodings/rope": (200, {}, None, PUBLIC | TAGGED | kept(60)),
    "GET /v1/engines": (200, {}, None, PUBLIC | TAGGED | kept(60)),
    f"GET {SMALL}": (200, {}, None, COMPUTED),
    f"GET {SMALL}&format=npy": (
        200,
        {},
        None,
        COMPUTED | RANGES | saved(NPY, "rope_d4_n2_f32.npy"),
    ),
    f"GET {SMALL}&format=csv&download=true": (
        200,
        {},
        None,
        COMPUTED | saved(CSV, "rope_d4_n2_f32.csv"),
    ),
    f"GET {SMALL}&format=raw&dtype=bf16": (
        200,
        {},
        None,
        COMPUTED
        | RANGES
        | saved(RAW, "rope_d4_n2_bf16.bin")
        | {"tensor-dtype": "bf16;bf16", "tensor-shape": "2,2;2,2"},
    ),
    f"GET {SMALL}&format=svg": (200, {}, None, COMPUTED | PICTURE),
    f"GET {SMALL}&revision=REVISION": (200, {}, None, COMPUTED | FOREVER),
    "GET /v1/encodings/rope/analysis/similarity?dim=4&length=2": (200, {}, None, COMPUTED),
    "GET /v1/layout?head_dim=4&from_layout=half&to_layout=interleaved": (200, {}, None, COMPUTED),
    "GET /v1/layout?head_dim=4&from_layout=half&to_layout=interleaved&revision=REVISION": (
        200,
        {},
        None,
        COMPUTED | FOREVER,
    ),
    f"POST {TABLE}": (
        200,
        POSTED,
        '{"dim": 4, "length": 2}',
        PUBLIC | TIMED | {"content-location": f"{SMALL}&format=json"},
    ),
    f"POST {ROTATION}": (
        200,
        VECTORS,
        bytes(32),
        without(PUBLIC, "cache-control")
        | TIMED
        | saved(RAW, "rotation.bin", ',"layout":"half"')
        | {"tensor-dtype": "f32", "tensor-shape": "1,1,2,4"},
    ),
    "POST /v1/comparison": (200, POSTED, COMPARED, PUBLIC | TIMED),
    "POST /v1/config": (200, POSTED, '{"model_type": "llama", "head_dim": 4}', PUBLIC | TIMED),
    "GET /v1/none": (404, {}, None, REFUSED),
    "POST /livez": (405, {}, b"", REFUSED | {"allow": "GET, HEAD, OPTIONS"}),
    f"GET {TABLE}": (422, {}, None, REFUSED),
    "POST /v1/rotation": (
        415,
        {"Content-Type": "text/xml"},
        b"<a/>",
        REFUSED | {"accept-post": READERS},
    ),
    "OPTIONS /v1/rotation": (
        204,
        {},
        None,
        without(PUBLIC, "cache-control", "content-type") | PREFLIGHT,
    ),
}


@pytest.fixture(scope="module")
def plain(start_shared):
    """A server with the usual settings."""
    return start_shared()


@pytest.mark.parametrize("ask", FIELDS)
def test_every_field_of_an_answer(plain, ask):
    """By value, one answer of each kind of route; of a tag and of times, that they are there."""
    status, fields, body, want = FIELDS[ask]
    method, target = ask.split(" ")
    if "REVISION" in target:
        revision = get(plain, "/v1").json["revision"]
        target = target.replace("REVISION", revision)
    answer = call(plain, method, target, body, fields)
    found = told(answer) | {
        name: word
        for name, word in (("etag", "tag"), ("server-timing", "times"))
        if name in answer.headers
    }
    if "etag" in found:
        assert re.fullmatch('"[0-9a-f]{16}([0-9a-f]{16})?"', answer.headers["etag"])
    assert (answer.status, found) == (status, want)
    assert int(answer.headers.get("content-length", 0)) == len(answer.body)


@pytest.mark.parametrize(
    "target, value",
    [
        ("/v1/encodings", "no-cache"),
        ("/v1/encodings/sample", "no-cache"),
        ("/v1/encodings/rope", "public, max-age=60"),
        ("/v1/encodings/sample/table?length=4", "no-cache"),
        ("/v1/encodings/sample/table?length=4&version=1", FOREVER["cache-control"]),
        (SMALL, "public, max-age=3600"),
    ],
)
def test_how_long_a_stored_table_is_kept(server, target, value):
    """A version never changes; what has a name alone may, at any time."""
    for method in ("GET", "HEAD"):
        answer = call(server, method, target)
        assert (answer.status, answer.headers["cache-control"]) == (200, value)


@pytest.mark.parametrize(
    "name, view, body",
    [
        ("rope", "table", {"dim": 8, "length": 4, "base": 1e30}),
        ("rope", "table", {"dim": 8, "length": 3, "base": 1.00001, "start": -0.25, "step": 1e14}),
        ("rope", "table", {"dim": 8, "positions": [0, 0.1, 1e15, -7], "duplicate": True}),
        ("rope", "table", {"dim": 8, "positions": "3..6,9", "dtype": "bf16"}),
        ("mrope", "table", {"mrope_section": [2, 1, 1], "positions": [[0, 1], [2, 3], [4, 5]]}),
        ("rope-nd", "table", {"axes_dim": [4, 2, 2], "positions": "1,2,3;4,5,6;7,8,9"}),
        ("alibi", "bias", {"heads": 2, "query_length": 2, "key_length": 3, "query_start": -1}),
        ("rope", "frequencies", {"dim": 8, "download": True, "data_format": "base64"}),
        ("rope", "table", {"dim": 8, "length": 9, "title": "a+b & c%=é #1/2?", "theme": "dark"}),
    ],
)
@pytest.mark.parametrize("form", ["json", "safetensors", "svg"])
def test_the_content_location_of_a_post_is_the_same_answer(server, name, view, body, form):
    path = f"/v1/encodings/{name}/{view}"
    posted = post_json(server, path, {"dim": 8} | body if name == "mrope" else body, format=form)
    twin = get(server, posted.good().headers["content-location"]).good()
    assert twin.body == posted.body
    assert twin.headers["content-type"] == posted.headers["content-type"]
    assert twin.headers.get("content-disposition") == posted.headers.get("content-disposition")


@pytest.mark.parametrize(
    "accept, expected",
    [
        ("APPLICATION/*", "application/json"),
        ("Application/X-Npy", "application/x-npy"),
        ("Text/*;Q=0.9, application/JSON;q=0.5", "text/csv"),
        ("IMAGE/*", "image/svg+xml"),
        ("application/x-NPY ; q=0.5 , Image/PNG;q=0.4", "application/x-npy"),
    ],
)
def test_media_ranges_in_any_case(server, accept, expected):
    answer = get(server, TABLE, {"Accept": accept}, dim=8, length=2).good()
    assert answer.headers["content-type"].split(";")[0] == expected
