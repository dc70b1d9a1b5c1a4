# SPDX-License-Identifier: MIT
"""Pages that explain: the index, and of every problem an example that is sent, and mended."""

import html
import http.client
import json
import re
import shutil
import urllib.parse

import document as contract
import pytest

CODES = contract.schemas["ProblemCode"]["enum"]
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.fixture(scope="module")
def writable(tmp_path_factory, start_shared):
    """A server whose token is the one of the examples, with the table that they name."""
    folder = tmp_path_factory.mktemp("writable")
    shutil.copytree(contract.ROOT / "tests/data/tables/sample", folder / "tables/my-table")
    (folder / "tokens").write_text("TOKEN\n")
    return start_shared("--tables", folder / "tables", "--token-file", folder / "tokens")


@pytest.fixture(scope="module")
def readable(start_shared):
    return start_shared()


def send(server, text):
    """(status, answer) of a request that is written as it is sent."""
    head, _, body = text.partition("\n\n")
    first, *fields = head.split("\n")
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=20)
    method, path = first.split(" ")
    connection.putrequest(method, path, skip_host="\nHost: " in head, skip_accept_encoding=True)
    for field in fields:
        connection.putheader(*field.split(": ", 1))
    if body or method == "POST":
        connection.putheader("Content-Length", len(body))
    connection.endheaders(body.encode())
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


@pytest.mark.parametrize("code", CODES)
def test_problem(writable, readable, code):
    page = readable.get(f"/problems/{code}").json()
    shown = readable.get(f"/problems/{code}", headers=BROWSER)
    assert shown.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    for text in (page["title"], page["description"], *page.get("example", {}).values()):
        assert html.escape(text, quote=False).replace('"', "&quot;") in shown.text
    example = page.get("example", {})
    if not example:
        assert code in UNSHOWN
        return
    server = readable if code == "writes-disabled" else writable
    status, answer = send(server, example["mistake"])
    assert (status, json.loads(answer)["code"]) == (page["status"], code), answer
    if "mended" in example and not example["mended"].startswith("DELETE"):
        status, answer = send(server, example["mended"])
        assert status < 300, answer


# One request of a few lines does not show these.
UNSHOWN = {
    "uri-too-long",
    "too-many-fields",
    "storage-full",
    "timeout",
    "not-implemented",
    "busy",
    "out-of-memory",
    "internal",
}


def test_mended_writes(writable):
    """The requests of four pages, which delete the same table, are answered once."""
    mended = {
        writable.get(f"/problems/{code}").json()["example"]["mended"]
        for code in ("unauthorized", "name-taken", "precondition-failed")
    }
    assert [send(writable, text)[0] for text in mended] == [204]


def test_index(readable):
    """All functions of the contract are named, and all paths that can be got without a name."""
    paths = {path for path in contract.document["paths"] if "{" not in path and path != "/"}
    links = readable.get("/").json()["links"]
    assert set(links.values()) == paths == set(readable.get("/v1").json()["links"].values())
    page = readable.get("/", headers=BROWSER).text
    assert all(path in page for path in paths)
    names = contract.schemas["EncodingName"]["enum"]
    assert all(f'/v1/encodings/{name}"' in page for name in names)


def page_of(server, path="/", **more):
    """The page for people."""
    answer = server.get(path, headers=BROWSER | more)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "explorer.js" in answer.text, "posencd was built without node, and has no page"
    return answer


TYPES = {
    "": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@pytest.mark.parametrize(
    "base,path",
    [("/", "/?view=table&dim=8"), ("/p/q", "/p/q"), ("/p/q", "/p/q/?view=table&unknown=1")],
)
def test_the_page_and_its_files(start_server, base, path):
    """Each has a tag of its bytes, is gzip where that is taken, and asks for nothing elsewhere."""
    running = start_server("--base-path", base)
    page = page_of(running, path)
    below = base.rstrip("/")
    named = re.findall(r'(?:href|src)="([^"]+)"', page.text.split("</head>")[0])
    assert sorted(named) == [
        f"{below}/{name}" for name in ("explorer.css", "explorer.js", "icon.svg", "shared.js")
    ]
    for url in (path, *named):
        plain, packed = (
            running.get(url, headers=BROWSER | {"Accept-Encoding": coding})
            for coding in ("identity", "br;q=1, zstd, gzip;q=0.1")
        )
        assert plain.content == packed.content and "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == ("zstd" if url == path else "gzip")
        assert plain.headers["ETag"] != packed.headers["ETag"]
        assert plain.headers["X-Content-Type-Options"] == "nosniff"
        for answer in (plain, packed):
            assert answer.headers["Content-Security-Policy"] == (
                "default-src 'self'; base-uri 'none'; frame-ancestors 'none'"
            )
            assert answer.headers["Cache-Control"] == "no-cache"
            assert (
                answer.headers["Content-Type"] == TYPES[url.rsplit(".")[-1] if url != path else ""]
            )
            assert answer.headers["Vary"] == "Accept, Accept-Encoding"
            assert "Content-Disposition" not in answer.headers
        tag = {"If-None-Match": packed.headers["ETag"], "Accept-Encoding": "gzip, zstd"}
        assert running.get(url, headers=BROWSER | tag).status_code == 304
    assert running.post(named[0]).status_code == 405
    assert running.get(path.split("?")[0]).json()["name"] == "posenc"


def test_a_link_is_previewed_by_a_plot(start_server):
    """Its absolute URL is answered with a picture of what the link shows, whatever that says."""
    running = start_server("--base-path", "/p", "--allowed-host", "posenc.example")
    queries = [
        "",
        "view=extension&model=x&context=4097",
        "view=story&step=3",
        "view=attention&text=%22%3E",
        "view=rotation&q=4",
        "view=diagnosis",
        "view=nothing",
        "view=precision&base=1e6",
        "view=distance&base=1e6&lang=zh-CN&theme=dark",
        "view=table&encoding=alibi",
        "view=table&encoding=rope&dim=64&length=77&%C3%A9=%22",
    ]
    previews = [
        html.unescape(
            re.search(r'og:image" content="([^"]*)"', page_of(running, f"/p/?{query}").text).group(
                1
            )
        )
        for query in queries
    ]
    for preview in previews:
        assert preview.startswith(f"{running.url}/p/v1/encodings/")
        answer = running.session.get(preview)
        assert answer.headers["Content-Type"].startswith("image/"), answer.text
    assert "/rope/analysis/wavelengths?context=4097&" in previews[1] and "llama3" in previews[0]
    assert "/rope/table?dim=64&length=77&" in previews[-1] and "base=1e6" in previews[-3]
    behind = page_of(running, "/p/", Host="posenc.example:8", **{"X-Forwarded-Proto": "https"})
    assert 'content="https://posenc.example:8/p/v1/' in behind.text


@pytest.mark.parametrize(
    "path", ["/openapi.yaml", "/openapi.json", "/v1", "/v1/encodings", "/v1/encodings/rope"]
)
def test_what_is_at_hand_is_not_sent_again(readable, path):
    """Each coding has a tag of its own, with which the answer is 304 and nothing else is."""
    tags = set()
    for coding in ("identity", "gzip", "zstd"):
        headers = {"Accept-Encoding": coding}
        first = readable.get(path, headers=headers)
        tags.add(first.headers["ETag"])
        assert readable.head(path, headers=headers).headers["ETag"] == first.headers["ETag"]
        again = readable.get(path, headers=headers | {"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
        other = readable.get(path, headers=headers | {"If-None-Match": '"another"'})
        assert other.status_code == 200 and other.text == first.text
    assert len(tags) == 3


@pytest.mark.parametrize(
    "query,body,told",
    [
        (
            "?format=npy",
            {"encoding": {"name": "alibi", "heads": 2, "slopes": [1e30, -0.5]}, "query_length": 2},
            True,
        ),
        ("?dtype=f64", {"heads": 2, "query_length": 2, "causal": True, "flat": True}, True),
        ("", {"heads": 2, "query_length": 2, "slopes": [0.123456789] * 2 + [1] * 998}, False),
        (
            "",
            {"heads": 2, "query_length": 2, "config": {"model_type": "bloom", "n_head": 2}},
            False,
        ),
    ],
)
def test_what_is_posted_has_a_url(readable, query, body, told):
    """Where it fits one: its GET has the same bytes."""
    if len(body.get("slopes", [])) > 2:
        body["heads"] = len(body["slopes"])
    answer = readable.post("/v1/encodings/alibi/bias" + query, json=body)
    url = answer.headers.get("Content-Location")
    assert answer.status_code == 200 and (url is not None) == told, answer.text
    assert not told or readable.get(url).content == answer.content


def test_timing_is_for_whom_the_answer_is_for(start_server):
    running = start_server("--cors-origin", "https://a.example")
    for origin, expected in (
        ("https://a.example", "https://a.example"),
        ("https://b.example", None),
    ):
        headers = running.get("/v1", headers={"Origin": origin}).headers
        assert headers.get("Timing-Allow-Origin") == expected
        assert headers.get("Access-Control-Allow-Origin") == expected


@pytest.mark.parametrize("path", ["/v1/rotation", "/v1/encodings/rope/table", "/v1"])
def test_what_can_be_posted_is_told(readable, path):
    """By OPTIONS before, and by 415 behind: the readers of the service."""
    told = readable.options(path).headers.get("Accept-Post")
    if path == "/v1":
        assert told is None
        return
    refused = readable.post(path, data=b"<q/>", headers={"Content-Type": "text/xml"})
    assert refused.status_code == 415 and refused.headers["Accept-Post"] == told
    assert set(told.split(", ")) == contract.readers()
