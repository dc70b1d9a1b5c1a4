# SPDX-License-Identifier: MIT
"""Entity tags, HEAD, CORS, probes and what a head of an answer says."""

import pytest

from service import call, get, post_json

TABLE = "/v1/encodings/rope/table"
VIEW = {"dim": 8, "length": 16}


@pytest.mark.parametrize("form", ["json", "npy", "safetensors", "raw"])
def test_not_modified(server, form):
    first = get(server, TABLE, format=form, **VIEW)
    tag = first.headers["etag"]
    assert tag.startswith('"') and first.headers["cache-control"] == "public, max-age=3600"
    for sent in (tag, f'"other", {tag}', "*", f"W/{tag}"):
        again = get(server, TABLE, {"If-None-Match": sent}, format=form, **VIEW)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    other = get(server, TABLE, {"If-None-Match": '"other"'}, format=form, **VIEW)
    assert other.status == 200 and other.body == first.body


def test_tags_tell_answers_apart(server):
    tags = [
        get(server, TABLE, **(VIEW | change)).headers["etag"]
        for change in (
            {},
            {"format": "npy"},
            {"format": "raw"},
            {"dim": 10},
            {"length": 17},
            {"base": 10001},
            {"start": 1},
            {"dtype": "f64"},
            {"part": "cos"},
            {"flat": True},
        )
    ]
    assert len(set(tags)) == len(tags)
    same = get(server, TABLE, **(VIEW | {"rope_theta": 10000, "dtype": "float32"}))
    assert same.headers["etag"] == tags[0]


def test_tag_before_work(server):
    """A terabyte of table is not computed to be compared."""
    huge = {"dim": 1024, "length": 200_000_000, "format": "npy"}
    head = call(server, "HEAD", TABLE, **huge)
    assert head.status == 200
    assert int(head.headers["content-length"]) == 200_000_000 * 1024 * 4 + 128
    again = get(server, TABLE, {"If-None-Match": head.headers["etag"]}, **huge)
    assert again.status == 304


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/encodings",
        "/livez",
        "/openapi.yaml",
        TABLE + "?dim=8&length=4&format=raw",
        "/v1/encodings/rope",
    ],
)
def test_head_is_get_without_the_body(server, path):
    head, full = call(server, "HEAD", path), get(server, path)
    assert (head.status, head.body) == (200, b"")
    varying = {"date", "x-request-id", "server-timing"}
    assert {k: v for k, v in head.headers.items() if k not in varying} == {
        k: v for k, v in full.headers.items() if k not in varying
    }


def test_revision_can_be_kept_for_ever(server):
    revision = get(server, "/v1").json["revision"]
    answer = get(server, TABLE, revision=revision, **VIEW)
    assert "immutable" in answer.headers["cache-control"]
    assert get(server, TABLE, revision="another", **VIEW).status == 409


def test_cors(server):
    page = {"Origin": "https://example.org"}
    for answer in (
        get(server, TABLE, page, **VIEW),
        get(server, TABLE, page, dim=7),
        post_json(server, "/v1/rotation", {}),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "ETag" in answer.headers["access-control-expose-headers"]
    asked = call(
        server,
        "OPTIONS",
        "/v1/attention",
        None,
        page
        | {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "tensor-dtype",
        },
    )
    assert (asked.status, asked.body) == (204, b"")
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "Tensor-Dtype" in asked.headers["access-control-allow-headers"]
    assert asked.headers["access-control-max-age"] == "7200"


def test_cors_origin_narrows(start_server):
    server = start_server("--cors-origin", "https://a.example,https://b.example")
    for origin, expected in (
        ("https://b.example", "https://b.example"),
        ("https://c.example", None),
    ):
        answer = get(server, TABLE, {"Origin": origin}, **VIEW)
        assert answer.headers.get("access-control-allow-origin") == expected
        assert "Origin" in answer.headers["vary"]


def test_request_id_comes_back(server):
    answer = get(server, "/v1", {"X-Request-Id": "mine-42"})
    assert answer.headers["x-request-id"] == "mine-42"
    minted = {get(server, "/v1").headers["x-request-id"] for _ in range(5)}
    assert len(minted) == 5


def test_names_of_files(server):
    answer = get(server, TABLE, dim=128, length=4096, dtype="f16", format="npy")
    assert answer.headers["content-disposition"] == 'attachment; filename="rope_d128_n4096_f16.npy"'
    assert '"dim":128' in answer.headers["encoding-parameters"]
    assert "content-disposition" not in get(server, TABLE, **VIEW).headers


def test_only_loopback_names(server):
    assert get(server, "/v1", {"Host": "localhost:80"}).status == 200
    answer = get(server, "/v1", {"Host": "rebound.example"})
    assert answer.status == 403 and answer.json["code"] == "host-not-allowed"


def test_index_and_links(server):
    about = get(server, "/v1").json
    assert about["version"] == "0.1.0" and about["limits"]["dim_max"] == 65536
    for link in about["links"].values():
        assert get(server, link).status in (200, 405, 422), link
    for name in about["encodings"]:
        for view in get(server, f"/v1/encodings/{name}").json["operations"]:
            assert get(server, view["example"]).status == 200, view["example"]


def test_probes_and_metrics(server):
    assert get(server, "/livez").status == get(server, "/readyz").status == 200
    text = get(server, "/metrics").body.decode()
    assert "posenc_http_requests_total{" in text and "process_resident_memory_bytes" in text
