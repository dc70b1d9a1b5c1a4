# SPDX-License-Identifier: MIT
"""The same views in every format and coding, HEAD, ranges, validators, pages, stored tables."""

import gzip
import zlib

from bodies import JSON, NPY, SAFETENSORS, json_bytes, npy_bytes, safetensors_bytes, tensor
from request import ask, gets, post_bytes, post_file

VIEWS = "/v1/encodings/"
ROPE = VIEWS + "rope/table?dim=4&length=3"
LARGE = VIEWS + "rope/table?dim=64&length=700"
RAW_VIEW = VIEWS + "rope/table?dim=8&length=4&format=raw"  # 128 bytes
STREAM = VIEWS + "rope/table?dim=128&length=20000&format=raw"  # ten megabytes, not kept whole
GIGABYTES = VIEWS + "alibi/bias?heads=32&query_length=8192&key_length=8192&format=raw"
TOKEN = {"Authorization": "Bearer a-secret"}

FORMATS = """
rope/table?dim=4&length=3&format=csv
rope/table?dim=4&length=3&flat=true
rope/table?dim=4&length=3&format=safetensors
xpos/frequencies?dim=4&t_center=0&dtype=f16&format=npy
xpos/frequencies?dim=4&t_center=0&dtype=f16&format=safetensors
xpos/frequencies?dim=4&t_center=0&dtype=f16&format=raw
xpos/frequencies?dim=4&t_center=0&dtype=f16&format=csv
alibi/bias?heads=2&query_length=3&format=safetensors
t5/bias?query_length=3&format=csv
rope/analysis/decay?dim=4&max_offset=3&format=npy
rope/analysis/decay?dim=4&max_offset=3&format=safetensors
rope/analysis/decay?dim=4&max_offset=3&format=raw
rope/analysis/decay?dim=4&max_offset=3&format=csv
"""


def formats():
    def accepting(accept):
        return ask("formats", ROPE, headers={"Accept": accept})

    return [
        *gets("formats", FORMATS),
        accepting(NPY),
        accepting("text/html, */*;q=0.1"),
        accepting(f"{JSON};q=0.5, {NPY}"),
        accepting("APPLICATION/X-NPY"),
        ask("refused formats", VIEWS + "alibi/bias?heads=2&query_length=3&format=csv"),
    ]


def codings():
    def coded(target, coding, method="GET"):
        return ask("codings", target, "", method, {"Accept-Encoding": coding})

    def sent(label, coding, body, target=VIEWS + "rope/table", media=JSON):
        coding = {"Content-Encoding": coding}
        return post_bytes("codings", label, target, media, body, headers=coding)

    json, file = (
        json_bytes({"dim": 4, "length": 3}),
        safetensors_bytes({"q": tensor(1, 1, 2, 3, 4)}),
    )
    rotate = ("/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0", SAFETENSORS)
    return [
        coded(ROPE, "zstd"),
        coded(LARGE, "deflate"),
        coded(LARGE, "gzip;q=0.5, zstd"),
        coded(LARGE, "*"),
        coded(LARGE + "&format=csv", "zstd"),
        coded(LARGE, "gzip", "HEAD"),
        coded(VIEWS + "rope", "gzip"),
        sent("json in gzip", "gzip", gzip_bytes(json)),
        sent("json in zstd", "zstd", zstd_bytes(json)),
        sent("json in deflate", "deflate", zlib.compress(json)),
        sent("safetensors in gzip", "gzip", gzip_bytes(file), *rotate),
        sent("safetensors in zstd", "zstd", zstd_bytes(file), *rotate),
        sent("safetensors in x-gzip", "x-gzip", gzip_bytes(file), *rotate),
        sent("safetensors in identity", "identity", file, *rotate),
    ]


def gzip_bytes(body):
    return gzip.compress(body, mtime=0)


def zstd_bytes(body):
    """One frame of one block that is not compressed (RFC 8878): for less than 256 bytes."""
    return (
        b"\x28\xb5\x2f\xfd\x20"
        + bytes([len(body)])
        + (len(body) << 3 | 1).to_bytes(3, "little")
        + body
    )


def ranges():
    def part(target, text, **more):
        return ask("ranges", target, headers={"Range": text} | more)

    return [
        part(RAW_VIEW, "bytes=-7"),
        part(RAW_VIEW, "bytes=5-999999"),
        part(RAW_VIEW, "bytes=0-1,3-4"),
        part(RAW_VIEW, "bytes=5-4"),
        part(STREAM, "bytes=5000001-5000040"),
        part(GIGABYTES, "bytes=4294967296-4294967327"),
        part(ROPE + "&format=npy", "bytes=100-"),
        part(RAW_VIEW, "bytes=0-9", **{"If-Range": "{etag}"}),
        part(RAW_VIEW, "bytes=0-9", **{"If-Range": "W/{etag}"}),
        part(RAW_VIEW, "bytes=0-9", **{"If-Range": "Sat, 21 Nov 2026 07:28:00 GMT"}),
    ]


def validators():
    def unless(target, tag, method="GET", **more):
        return ask("validators", target, "", method, {"If-None-Match": tag} | more)

    return [
        unless(ROPE, "{etag}"),
        unless(ROPE, "W/{etag}"),
        unless(RAW_VIEW, "{etag}", Range="bytes=0-9"),
        unless(RAW_VIEW, "{etag}", "HEAD"),
        unless(VIEWS + "sample", "{etag}"),
        unless(VIEWS + "sample", '"other"'),
        ask("validators", VIEWS + "sample/table?length=2&version=1"),
        ask("validators", VIEWS + "rope/table?dim=8&length=4&revision={revision}"),
        ask("validators", "/openapi.yaml", headers={"If-None-Match": "*"}, loose=True),
    ]


def heads():
    def head(target):
        return ask("head", target, method="HEAD")

    return [
        head("/"),
        head("/v1/encodings/rope"),
        head(RAW_VIEW),
        head(GIGABYTES),
        head(VIEWS + "rope/table?dim=1024&length=200000000&format=npy"),
        head(VIEWS + "rope/table?dim=7"),
        head(VIEWS + "rope/analysis/decay?dim=4&max_offset=3"),
        head("/v1/layout?from_layout=meta&to_layout=half&head_dim=4"),
        head("/nowhere"),
    ]


PAGES = """
/
/v1
/v1/encodings
/livez
/readyz
/v1/encodings?family=bias
/v1/encodings/rope
/v1/encodings/alibi
/problems
/problems/out-of-range
"""


def pages():
    """The catalogue has a digest of each entry, so that a difference says which."""
    page = {"Origin": "https://example.org"}
    preflight = page | {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "tensor-dtype",
    }
    return [
        *gets("pages", PAGES, ""),
        ask("pages", "/openapi.yaml", loose=True),
        ask("pages", "/openapi.json", loose=True),
        ask("pages", "/client.js", loose=True),
        ask("pages", "/metrics", loose=True),
        ask("pages", "/v1/attention", method="OPTIONS", headers=preflight),
        ask("pages", "/nowhere", method="OPTIONS", headers=preflight),
        ask("pages", ROPE, headers=page),
        ask("pages", VIEWS + "rope/table?dim=7", headers=page),
        ask("pages", "/livez", headers={"X-Request-Id": "mine-42"}),
        ask("pages", "/livez", headers={"X-Request-Id": "bad id\u00e9"}),
        ask("pages", "/livez", headers={"Host": "localhost:80"}),
        ask("pages", VIEWS + "ro%70e/table?d%69m=4&length=%31", "coded letters"),
        ask("pages", VIEWS + "rope/table?dim=4&length=1&start=+1.5", "a plus in the query"),
    ]


def narrow_pages():
    """Behind a base path, for two origins and one more host name."""

    def narrow(target, **headers):
        return ask("pages narrow", target, headers=headers, server="narrow")

    return [
        narrow("/p/v1/encodings/rope/table?dim=4&length=1"),
        narrow("/p/v1/encodings/rope?x"),
        narrow("/p/livez", Origin="https://c.example"),
        narrow("/p/livez", Host="posenc.example"),
        narrow("/livez"),
        narrow("/p/"),
    ]


ONE, OTHER = tensor(1, 4, 3), tensor(2, 4, 3, dtype="f16")
ROWS = "recorded/table?length=4"


def put(label, tensors, kind="npy", target="recorded", headers=None, **parameters):
    """To store tensors, with a token."""
    headers = TOKEN | (headers or {})
    path = VIEWS + target
    return post_file(
        "tables", label, path, parameters, tensors, kind, method="PUT", headers=headers
    )


def put_bytes(label, media, body, headers):
    return post_bytes("tables", label, VIEWS + "recorded", media, body, "PUT", headers)


def read(label, target, **rest):
    return ask("tables", VIEWS + target, label, **rest)


def delete(label, headers):
    return read(label, "recorded", method="DELETE", headers=headers)


def tables():
    """One after the other: versions, validators, what reads them, and that they are gone."""
    one, other = {"t": ONE}, {"t": OTHER}
    several = {"a": tensor(3, 2, 2), "b": tensor(4, 2, 2)}
    embedded = json_bytes({"encoding": "recorded", "start": 0}, {"x": tensor(6, 1, 2, 2)})
    buckets = {"encoding": {"name": "t5", "num_buckets": 4}}
    attended = json_bytes(buckets, {name: tensor(7, 1, 2, 2, 2) for name in "qkv"})
    return [
        read("not there yet", "recorded"),
        put("the first version", one),
        read("entry", "recorded"),
        read("rows", ROWS),
        put("not if it is there", other, headers={"If-None-Match": "*"}),
        put("not if it is another", other, headers={"If-Match": '"0"'}),
        put("if it is this", other, headers={"If-Match": "{etag}"}),
        read("rows of the second", ROWS),
        read("rows of the third", ROWS + "&version=3"),
        put("safetensors", {"t": tensor(5, 4, 3, dtype="bf16")}, "safetensors"),
        put("one of several", several, "safetensors", tensor="b"),
        put("which of several", several, "safetensors"),
        put("buckets of two heads", {"t": tensor(9, 4, 2)}),
        post_bytes("tables", "an embedding by it", "/v1/embedding", JSON, embedded),
        post_bytes(
            "tables",
            "as the weights of attention",
            "/v1/attention?tables=weights:recorded",
            JSON,
            attended,
        ),
        delete("delete without a token", {}),
        delete("delete another", TOKEN | {"If-Match": '"0"'}),
        delete("delete", TOKEN),
        delete("delete again", TOKEN),
        read("rows of nothing", ROWS),
        put("after it was deleted", one),
        delete("deleted at last", TOKEN | {"If-Match": "*"}),
    ]


def refused_tables():
    """Tables and names that cannot be stored, and servers that store nothing."""
    one, body = {"t": ONE}, npy_bytes(ONE)
    path, npy = VIEWS + "recorded", {"Content-Type": NPY}
    sample = VIEWS + "learned/table?table=sample&length=1"
    return [
        put("one axis", {"t": tensor(8, 4)}),
        put("an encoding's name", one, target="rope"),
        put("capitals", one, target="My-Bert"),
        put_bytes("cut", NPY, body[:-1], TOKEN),
        put_bytes("csv", "text/csv", "1,2", TOKEN),
        put_bytes("a wrong token", NPY, body, {"Authorization": "Bearer none"}),
        ask("tables bare", path, "PUT where nothing is stored", "PUT", npy, body, "bare"),
        ask("tables bare", sample, server="bare"),
        ask("tables narrow", "/p" + sample, server="narrow"),
        ask(
            "tables narrow",
            "/p" + path,
            "PUT where nobody may store",
            "PUT",
            npy | TOKEN,
            body,
            "narrow",
        ),
        ask(
            "tables narrow",
            "/p" + path,
            "DELETE where nobody may store",
            "DELETE",
            TOKEN,
            server="narrow",
        ),
    ]


def requests():
    return [
        *formats(),
        *codings(),
        *ranges(),
        *validators(),
        *heads(),
        *pages(),
        *narrow_pages(),
        *tables(),
        *refused_tables(),
    ]
