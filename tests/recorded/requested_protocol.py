# SPDX-License-Identifier: MIT
"""The same views in every format and coding, HEAD, ranges, validators, pages, stored tables."""

import gzip
import json
import zlib

from bodies import JSON, NPY, RAW, SAFETENSORS, json_bytes, npy_bytes, safetensors_bytes, tensor
from request import ask, gets, post_bytes, post_file

VIEWS = "/v1/encodings/"
SAMPLES = [
    "rope/table?dim=4&length=3",
    "sinusoidal/table?dim=4&length=3&dtype=f64",
    "xpos/frequencies?dim=4&t_center=0&dtype=f16",
    "alibi/bias?heads=2&query_length=3",
    "t5/bias?query_length=3",
    "rope/analysis/decay?dim=4&max_offset=3",
    "rope/table?dim=4&length=3&part=complex",
    "rope/table?dim=4&length=3&dtype=f16&part=cos",
]
ACCEPTS = [
    NPY,
    SAFETENSORS,
    RAW,
    "*/*",
    "application/*",
    "text/html, */*;q=0.1",
    f"{JSON};q=0.5, {NPY}",
    f"{NPY};q=0, */*",
    "APPLICATION/X-NPY",
]
PROBLEMS = """
malformed missing-parameter unknown-parameter invalid-parameter out-of-range conflicting-parameters
shape-mismatch unsupported not-found method-not-allowed not-acceptable unsupported-media-type
too-large uri-too-long too-many-fields revision-unavailable range-not-satisfiable
expectation-failed unauthorized writes-disabled name-taken precondition-failed storage-full
host-not-allowed timeout not-implemented busy out-of-memory internal
""".split()
ENCODINGS = """
sinusoidal all-sin timestep transformer-xl sinusoidal-2d sinusoidal-nd index normalized binary
periodic learned hierarchical rope mrope rope-2d xpos alibi t5 kerple-log kerple-power sandwich
deberta-log shaw
""".split()
RAW_VIEW = VIEWS + "rope/table?dim=8&length=4&format=raw"  # 128 bytes
STREAM = VIEWS + "rope/table?dim=128&length=20000&format=raw"  # ten megabytes, not kept whole
RANGES = ["0-0", "0-15", "120-", "-7", "5-999999", "-999999", "0-1,3-4", "5-4", "", "a-b"]
TOKEN = {"Authorization": "Bearer a-secret"}


def formats():
    found = [
        ask("formats", f"{VIEWS}{view}&format={form}")
        for view in SAMPLES
        for form in ("npy", "safetensors", "raw", "json", "csv")
        if form != "csv" or "alibi" not in view
    ]
    found += [
        ask("refused formats", f"{VIEWS}{view}&format=csv") for view in SAMPLES if "alibi" in view
    ]  # three dimensions
    found += [ask("formats", VIEWS + SAMPLES[0], headers={"Accept": accept}) for accept in ACCEPTS]
    found += gets(
        "formats",
        "\n".join(
            f"{SAMPLES[0]}&{more}"
            for more in (
                "data_format=base64",
                "flat=true",
                "format=npy&download=false",
                "download=true",
                "dtype=bf16&format=safetensors",
                "dtype=bf16&format=raw",
                "dtype=float16&format=npy",
                "format=raw&dtype=double",
            )
        ),
    )
    return found


def codings():
    """Small and large answers coded, coded bodies of each kind."""
    small, large = VIEWS + SAMPLES[0], VIEWS + "rope/table?dim=64&length=700"
    found = [
        ask("codings", target, headers={"Accept-Encoding": coding})
        for target in (small, large)
        for coding in (
            "gzip",
            "zstd",
            "deflate",
            "gzip;q=0.5, zstd",
            "identity",
            "*",
            "br, gzip;q=0",
        )
    ]
    found += [
        ask("codings", large + "&format=csv", headers={"Accept-Encoding": coding})
        for coding in ("gzip", "zstd")
    ]
    found += [
        ask("codings", large + "&format=npy", headers={"Accept-Encoding": "gzip"}),
        ask("codings", large, method="HEAD", headers={"Accept-Encoding": "gzip"}),
        ask("codings", "/v1/encodings/rope", headers={"Accept-Encoding": "gzip"}),
    ]
    body, path = json_bytes({"dim": 4, "length": 3}), VIEWS + "rope/table"
    file = safetensors_bytes({"q": tensor(1, 1, 2, 3, 4)})
    rotate = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0"
    for coding, coder in (
        ("gzip", gzip_bytes),
        ("deflate", zlib.compress),
        ("x-gzip", gzip_bytes),
        ("identity", bytes),
        ("zstd", zstd_bytes),
    ):
        coded = {"Content-Encoding": coding}
        found += [
            post_bytes("codings", f"json in {coding}", path, JSON, coder(body), headers=coded),
            post_bytes(
                "codings",
                f"safetensors in {coding}",
                rotate,
                SAFETENSORS,
                coder(file),
                headers=coded,
            ),
        ]
    return found


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
    found = [ask("ranges", RAW_VIEW, headers={"Range": "bytes=" + part}) for part in RANGES]
    found += [ask("ranges", RAW_VIEW, headers={"Range": text}) for text in ("rows=0-1", "x")]
    found += [
        ask("ranges", STREAM, headers={"Range": f"bytes={part}"})
        for part in ("5000001-5000040", "-64", "0-31", "524280-524300")
    ]
    eight = VIEWS + "alibi/bias?heads=32&query_length=8192&key_length=8192&format=raw"
    found += [
        ask("ranges", eight, headers={"Range": "bytes=4294967296-4294967327"}),
        ask("ranges", eight, method="HEAD"),
        ask("ranges", VIEWS + SAMPLES[0], headers={"Range": "bytes=0-9"}),
        ask("ranges", VIEWS + SAMPLES[0] + "&format=npy", headers={"Range": "bytes=100-"}),
        ask("ranges", VIEWS + SAMPLES[0] + "&format=safetensors", headers={"Range": "bytes=0-63"}),
    ]
    for tag in ("{etag}", '"other"', "W/{etag}", "Sat, 21 Nov 2026 07:28:00 GMT"):
        found.append(ask("ranges", RAW_VIEW, headers={"Range": "bytes=0-9", "If-Range": tag}))
    return found


def validators():
    found = [
        ask("validators", target, headers={"If-None-Match": tag})
        for target in (RAW_VIEW, VIEWS + SAMPLES[0], "/v1/encodings/sample")
        for tag in ("{etag}", '"other", {etag}', "W/{etag}", "*", '"other"')
    ]
    return found + [
        ask("validators", RAW_VIEW, headers={"If-None-Match": "{etag}", "Range": "bytes=0-9"}),
        ask("validators", RAW_VIEW, method="HEAD", headers={"If-None-Match": "{etag}"}),
        ask("validators", VIEWS + "rope/table?dim=8&length=4&revision={revision}"),
        ask("validators", VIEWS + "sample/table?length=2", headers={"If-None-Match": "{etag}"}),
        ask("validators", VIEWS + "sample/table?length=2&version=1"),
        ask("validators", "/openapi.yaml", headers={"If-None-Match": "*"}, loose=True),
    ]


def heads():
    return [
        ask("head", target, method="HEAD")
        for target in (
            "/",
            "/v1",
            "/v1/encodings",
            "/livez",
            "/readyz",
            "/v1/encodings/rope",
            "/problems",
            "/problems/busy",
            RAW_VIEW,
            STREAM,
            VIEWS + SAMPLES[0],
            VIEWS + SAMPLES[1] + "&format=npy",
            VIEWS + "rope/table?dim=1024&length=200000000&format=npy",
            VIEWS + "rope/table?dim=7",
            "/nowhere",
            "/v1/layout?from_layout=meta&to_layout=half&head_dim=4",
            VIEWS + "rope/analysis/decay?dim=4&max_offset=3",
        )
    ]


def pages():
    """The catalogue entry by entry, so that a difference says which."""
    page = {"Origin": "https://example.org"}
    asked = page | {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "tensor-dtype",
    }
    found = [
        ask("pages", target)
        for target in (
            "/",
            "/v1",
            "/v1/",
            "/livez",
            "/livez?x=1",
            "/readyz",
            "/v1/encodings",
            "/v1/encodings?family=bias",
            "/v1/encodings?family=rotary",
            "/v1/encodings/sample",
            "/v1/encodings/minilm-l6-v2",
        )
    ]
    found += [ask("pages", f"/v1/encodings/{name}") for name in ENCODINGS]
    found.append(ask("pages", "/problems"))
    found += [ask("pages", f"/problems/{name}") for name in PROBLEMS]
    found += [
        ask("pages", path, loose=True)
        for path in ("/openapi.yaml", "/openapi.json", "/client.js", "/metrics")
    ]
    found += [
        ask("pages", path, method="OPTIONS", headers=asked)
        for path in ("/v1/attention", "/v1/encodings/rope/table", "/livez", "/nowhere")
    ]
    found += [
        ask("pages", VIEWS + SAMPLES[0], headers=page),
        ask("pages", VIEWS + "Rope/table?dim=8&length=2"),
        ask("pages", VIEWS + "rope/table?dim=7", headers=page),
        ask("pages", "/livez", headers={"X-Request-Id": "mine-42"}),
        ask("pages", "/livez", headers={"X-Request-Id": "bad id\u00e9"}),
        ask("pages", "/livez", headers={"Host": "localhost:80"}),
        ask("pages", "/v1/encodings/rope/", "a slash at the end of a name"),
        ask("pages", "/%76%31/encodings/rope%2Ftable?dim=4&length=1", "a coded slash"),
        ask("pages", VIEWS + "ro%70e/table?d%69m=4&length=%31", "coded letters"),
        ask("pages", VIEWS + "rope/table?dim=4&length=1&start=+1.5", "a plus in the query"),
    ]
    found += [
        ask("pages narrow", target, headers=headers, server="narrow")
        for target, headers in (
            ("/p/v1/encodings/rope/table?dim=4&length=1", {}),
            ("/p/livez", {"Origin": "https://a.example"}),
            ("/p/livez", {"Origin": "https://c.example"}),
            ("/p/livez", {"Host": "posenc.example"}),
            ("/livez", {}),
            ("/p/v1/encodings/rope?x", {}),
            ("/p", {}),
            ("/p/", {}),
        )
    ]
    return found


def tables():
    """One after the other: versions, validators, what reads them, and that they are gone."""
    one, two = {"t": tensor(1, 4, 3)}, {"t": tensor(2, 4, 3, dtype="f16")}
    path, body = VIEWS + "recorded", npy_bytes(one["t"])
    several = {"a": tensor(3, 2, 2), "b": tensor(4, 2, 2)}

    def put(label, tensors, kind="npy", target="recorded", headers=None, **parameters):
        return post_file(
            "tables",
            label,
            VIEWS + target,
            parameters,
            tensors,
            kind,
            method="PUT",
            headers=TOKEN | (headers or {}),
        )

    def read(label, target, **rest):
        return ask("tables", VIEWS + target, label, **rest)

    rows = "recorded/table?length=4"
    text = json.dumps({"tensors": {"t": {"data": [[1, 2], [3, 4]]}}})
    return [
        read("not there yet", "recorded"),
        put("the first version", one),
        read("entry", "recorded"),
        read("rows", rows),
        read("rows as npy", rows + "&format=npy"),
        put("the same again", one),
        put("not if it is there", two, headers={"If-None-Match": "*"}),
        put("not if it is another", two, headers={"If-Match": '"0"'}),
        put("if it is this", two, headers={"If-Match": "{etag}"}),
        read("rows of the second", rows),
        read("rows of the first", rows + "&version=1"),
        read("rows of the third", rows + "&version=3"),
        read("all entries", "recorded"),
        put("raw", one, "raw"),
        put("safetensors", {"t": tensor(5, 4, 3, dtype="bf16")}, "safetensors"),
        put("one of several", several, "safetensors", tensor="b"),
        put("which of several", several, "safetensors"),
        post_bytes("tables", "json", path, JSON, text, "PUT", TOKEN),
        read("entry of many versions", "recorded"),
        put("buckets of two heads", {"t": tensor(9, 4, 2)}),
        post_bytes(
            "tables",
            "an embedding by it",
            "/v1/embedding",
            JSON,
            json_bytes({"encoding": "recorded", "start": 0}, {"x": tensor(6, 1, 2, 2)}),
        ),
        post_bytes(
            "tables",
            "lent as another tensor",
            "/v1/attention?tables=weights:recorded",
            JSON,
            json_bytes(
                {"encoding": {"name": "t5", "num_buckets": 4}},
                {name: tensor(7, 1, 2, 2, 2) for name in "qkv"},
            ),
        ),
        put("one axis", {"t": tensor(8, 4)}),
        put("no row", {"t": tensor(8, 0, 4)}),
        put("three axes", {"t": tensor(8, 2, 2, 2)}),
        put("integers", {"t": {"dtype": "i64", "shape": [1, 2], "values": [1, 2]}}),
        put("an encoding's name", one, target="rope"),
        put("capitals", one, target="My-Bert"),
        put("dots", one, target="a..b"),
        put("an unknown parameter", one, tensr="t"),
        post_bytes("tables", "cut", path, NPY, body[:-1], "PUT", TOKEN),
        post_bytes("tables", "csv", path, "text/csv", "1,2", "PUT", TOKEN),
        post_bytes("tables", "no token", path, NPY, body, "PUT"),
        post_bytes(
            "tables", "a wrong token", path, NPY, body, "PUT", {"Authorization": "Bearer none"}
        ),
        post_bytes(
            "tables", "another scheme", path, NPY, body, "PUT", {"Authorization": "Basic YTpi"}
        ),
        read("delete without a token", "recorded", method="DELETE"),
        read("delete another", "recorded", method="DELETE", headers=TOKEN | {"If-Match": '"0"'}),
        read("delete", "recorded", method="DELETE", headers=TOKEN),
        read("delete again", "recorded", method="DELETE", headers=TOKEN),
        read("rows of nothing", rows),
        read("entry of nothing", "recorded"),
        put("after it was deleted", one),
        read("deleted at last", "recorded", method="DELETE", headers=TOKEN | {"If-Match": "*"}),
        *(
            ask(
                "tables bare",
                VIEWS + "recorded",
                f"{method} where nothing is stored",
                method,
                {"Content-Type": NPY},
                body if method == "PUT" else None,
                "bare",
            )
            for method in ("PUT", "DELETE")
        ),
        ask("tables bare", VIEWS + "learned/table?table=sample&length=1", server="bare"),
        ask("tables narrow", "/p" + VIEWS + "learned/table?table=sample&length=1", server="narrow"),
        *(
            ask(
                "tables narrow",
                "/p" + VIEWS + "recorded",
                f"{method} where nobody may store",
                method,
                {"Content-Type": NPY} | TOKEN,
                body if method == "PUT" else None,
                "narrow",
            )
            for method in ("PUT", "DELETE")
        ),
    ]


def requests():
    return [*formats(), *codings(), *ranges(), *validators(), *heads(), *pages(), *tables()]
