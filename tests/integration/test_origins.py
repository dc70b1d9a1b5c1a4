# SPDX-License-Identifier: MIT
"""Pages of other origins may read what is computed, and no stored table unless --cors-origin was
set; what every answer says to browsers."""

import shutil

import conftest
import pytest
from safetensors.numpy import save as safetensors_save
from test_tables import DATA, TOKEN, npy, numbers

from service import call, get, query_text

PAGE = {"Origin": "https://example.org"}
FIELDS = ("access-control-allow-origin", "timing-allow-origin", "access-control-expose-headers")
ENCODINGS = "/v1/encodings"
JSON = {"Content-Type": "application/json"}
SAFETENSORS = {"Content-Type": "application/x-safetensors"}
RAW = {"Content-Type": "application/octet-stream", "Tensor-Dtype": "f32", "Tensor-Shape": "1,1,4,4"}

Q = numbers(9, 12, 4).reshape(1, 4, 3, 4)
ROWS = '{"encoding": "%s", "start": 0, "tensors": {"x": {"data": [[1, 2, 3, 4]]}}}'
COMPARED = '{"a": "%s", "b": {"name": "sinusoidal", "dim": 4}, "length": 4}'
TABLE = '{"encoding": {"name": "%s"}, "tensors": {"table": {"data": [[1, 2, 3, 4], [5, 6, 7, 8]]}}}'


def way(method, path, body=None, headers=None, **parameters):
    target = path + ("?" + query_text(parameters) if parameters else "")
    return method, target, body, headers or {}


# Every way on which a stored table, its name or its shape reaches an answer.
STORED = {
    "table": way("GET", f"{ENCODINGS}/sample/table", length=4),
    "table as npy": way("GET", f"{ENCODINGS}/sample/table", length=4, format="npy"),
    "table as csv": way("GET", f"{ENCODINGS}/sample/table", length=4, format="csv"),
    "table as a picture": way("GET", f"{ENCODINGS}/sample/table", length=4, format="svg"),
    "table in gzip": way(
        "GET", f"{ENCODINGS}/sample/table", None, {"Accept-Encoding": "gzip"}, length=4
    ),
    "a range": way(
        "GET", f"{ENCODINGS}/sample/table", None, {"Range": "bytes=0-9"}, length=4, format="npy"
    ),
    "no range": way(
        "GET",
        f"{ENCODINGS}/sample/table",
        None,
        {"Range": "bytes=9999999-"},
        length=4,
        format="npy",
    ),
    "a validator": way("GET", f"{ENCODINGS}/sample/table", None, {"If-None-Match": "*"}, length=4),
    "HEAD": way("HEAD", f"{ENCODINGS}/sample/table", length=4),
    "posted positions": way("POST", f"{ENCODINGS}/sample/table", '{"length": 4}', JSON),
    "a version": way("GET", f"{ENCODINGS}/sample/table", length=4, version=1),
    "by parameter": way("GET", f"{ENCODINGS}/learned/table", length=4, table="sample"),
    "by parameter of another": way(
        "GET", f"{ENCODINGS}/hierarchical/table", length=4, table="sample"
    ),
    "an analysis": way("GET", f"{ENCODINGS}/sample/analysis/similarity", length=4),
    "the catalogue": way("GET", ENCODINGS),
    "the head of the catalogue": way("HEAD", ENCODINGS),
    "an entry": way("GET", f"{ENCODINGS}/sample"),
    "embedding": way("POST", "/v1/embedding", ROWS % "sample", JSON),
    "comparison": way("POST", "/v1/comparison", COMPARED % "sample", JSON),
    "diagnosis": way("POST", "/v1/diagnosis", TABLE % "sample", JSON),
    "a lent tensor": way(
        "POST",
        "/v1/attention",
        safetensors_save({"q": Q, "k": Q}),
        SAFETENSORS,
        encoding="t5",
        num_buckets=4,
        outputs="scores",
        tables="weights:sample",
    ),
    "raw beside a lent tensor": way(
        "POST",
        "/v1/rotation",
        bytes(64),
        RAW,
        encoding="rope",
        layout="half",
        axes="bhsd",
        start=0,
        tables="k:sample",
    ),
    "an absent version": way("GET", f"{ENCODINGS}/sample/table", length=4, version=99),
    "too many rows": way("GET", f"{ENCODINGS}/sample/table", length=4000),
    "a mistake in a parameter": way("GET", f"{ENCODINGS}/sample/table", lenght=4),
    "no view": way("GET", f"{ENCODINGS}/sample/bias", length=4),
    "a name of almost that": way("GET", f"{ENCODINGS}/sampel/table", length=4),
    "an entry of almost that name": way("GET", f"{ENCODINGS}/sampel"),
    "a function of almost that name": way("POST", "/v1/embedding", ROWS % "sampel", JSON),
    "a lent tensor of almost that name": way(
        "POST",
        "/v1/rotation",
        safetensors_save({"q": Q}),
        SAFETENSORS,
        encoding="rope",
        layout="half",
        tables="k:sampel",
    ),
    "stored again": way("PUT", f"{ENCODINGS}/kept", npy(numbers(1)), TOKEN),
    "stored too late": way(
        "PUT", f"{ENCODINGS}/kept", npy(numbers(1)), TOKEN | {"If-None-Match": "*"}
    ),
    "deleted what is not there": way("DELETE", f"{ENCODINGS}/sampel", None, TOKEN),
}

# Answers of the same routes that no stored table is in.
COMPUTED = {
    "table": way("GET", f"{ENCODINGS}/sinusoidal/table", length=4, dim=4),
    "an entry": way("GET", f"{ENCODINGS}/rope"),
    "a mistake": way("GET", f"{ENCODINGS}/rope/table", lenght=4),
    "one family": way("GET", ENCODINGS, family="rotary"),
    "embedding": way("POST", "/v1/embedding", ROWS % "sinusoidal", JSON),
    "comparison": way("POST", "/v1/comparison", COMPARED % "sinusoidal", JSON),
    "raw": way(
        "POST", "/v1/rotation", bytes(64), RAW, encoding="rope", layout="half", axes="bhsd", start=0
    ),
    "a posted table": way(
        "POST",
        f"{ENCODINGS}/learned/table",
        '{"table": "tensor:t", "length": 2, "tensors": {"t": {"data": [[1, 2], [3, 4]]}}}',
        JSON,
    ),
    "about": way("GET", "/v1"),
    "the contract": way("GET", "/openapi.json"),
    "no path": way("GET", "/v2"),
}

# Those that succeed; and those of which the path and the query of a preflight say as much.
REACHED = [
    "table",
    "table as npy",
    "table as csv",
    "table as a picture",
    "table in gzip",
    "a version",
    "by parameter",
    "by parameter of another",
    "posted positions",
    "the catalogue",
    "an entry",
    "embedding",
    "comparison",
    "a lent tensor",
]
PREFLIGHTS = [
    name
    for name, (_, target, _, _) in STORED.items()
    if target.startswith(ENCODINGS) or "tables=" in target
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("origins")
    shutil.copytree(DATA, folder / "tables")
    (folder / "tokens").write_text(conftest.TOKEN + "\n")
    return folder


@pytest.fixture(scope="module")
def serve(folder, start_shared):
    """A server by the value of --cors-origin; None: the flag is not set."""
    started = {}

    def server(origins):
        if origins not in started:
            # One of them writes to the folder, the others read it.
            flags = (
                ("--token-file", folder / "tokens")
                if origins is None
                else ("--cors-origin", origins)
            )
            started[origins] = start_shared("--tables", folder / "tables", *flags)
        return started[origins]

    # Changes of the others are seen at once by the one that stores.
    call(server(None), "PUT", f"{ENCODINGS}/kept", npy(numbers(1)), TOKEN)
    return server


def shown(answer):
    return [answer.headers.get(field) for field in FIELDS]


def ask(server, request):
    method, target, body, headers = request
    return call(server, method, target, body, headers | PAGE)


@pytest.mark.parametrize("name", STORED)
def test_stored_tables_are_of_no_other_origin(serve, name):
    """Made anew, and what was kept of it."""
    for _ in range(2):
        answer = ask(serve(None), STORED[name])
        assert answer.status not in (401, 403, 405, 500), answer.body
        assert shown(answer) == [None] * 3, answer.headers
        assert answer.status == 200 or name not in REACHED, answer.body


@pytest.mark.parametrize(
    "origins, origin", [("*", "*"), (f"https://a.example,{PAGE['Origin']}", PAGE["Origin"])]
)
@pytest.mark.parametrize(
    "name", [name for name in STORED if STORED[name][0] not in ("PUT", "DELETE")]
)
def test_stored_tables_are_of_the_origins_that_were_set(serve, name, origins, origin):
    for _ in range(2):
        answer = ask(serve(origins), STORED[name])
        assert shown(answer)[:2] == [origin] * 2, (answer.status, answer.headers)


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_is_of_every_origin(serve, name):
    for _ in range(2):
        answer = ask(serve(None), COMPUTED[name])
        assert shown(answer)[:2] == ["*"] * 2, (answer.status, answer.headers)


@pytest.mark.parametrize("name", PREFLIGHTS)
def test_preflights_of_stored_tables(serve, name):
    _, target, _, _ = STORED[name]
    asked = PAGE | {"Access-Control-Request-Method": "GET"}
    assert shown(call(serve(None), "OPTIONS", target, None, asked)) == [None] * 3
    assert shown(call(serve("*"), "OPTIONS", target, None, asked))[0] == "*"


@pytest.mark.parametrize(
    "name", sorted(COMPUTED.keys() - {"one family", "a posted table", "no path"})
)
def test_preflights_of_what_is_computed(serve, name):
    _, target, _, _ = COMPUTED[name]
    answer = call(serve(None), "OPTIONS", target, None, PAGE)
    assert answer.status == 204 and shown(answer)[0] == "*"


def test_without_a_folder_nothing_is_stored(start_server):
    """The catalogue and names that nobody knows are then of every origin."""
    server = start_server()
    for name in ("the catalogue", "a name of almost that", "an entry of almost that name"):
        assert shown(ask(server, STORED[name]))[:2] == ["*"] * 2, name


# ---- what every answer says ----------------------------------------------------------------------

PAGES = ["/", "/problems", "/problems/out-of-range", "/docs"]
PROBES = ["/livez", "/readyz", "/metrics"]
FILES = ["/openapi.yaml", "/openapi.json", "/client.js", "/explorer.js", "/explorer.css"]


@pytest.mark.parametrize(
    "name",
    [
        *STORED,
        *(f"computed: {name}" for name in COMPUTED),
        *PAGES,
        *PROBES,
        *FILES,
        "/nowhere",
        "/v1/rotation",
        "/%zz",
    ],
)
def test_every_answer_is_of_the_type_it_says(serve, name):
    request = (STORED | {f"computed: {name}": one for name, one in COMPUTED.items()}).get(name)
    answers = [
        ask(serve(None), request or way("GET", name, None, {"Accept": accept}))
        for accept in ("text/html", "*/*", "image/nothing")
    ]
    answers.append(call(serve(None), "OPTIONS", request[1] if request else name))
    for answer in answers:
        assert answer.headers.get("x-content-type-options") == "nosniff", answer.headers
        assert "," not in answer.headers["x-content-type-options"]  # said once


@pytest.mark.parametrize("path", PAGES)
def test_pages_stand_in_no_frame(serve, path):
    """HEAD and 304 say so too."""
    html = {"Accept": "text/html"}
    answer = get(serve(None), path, html)
    again = (
        get(serve(None), path, html | {"If-None-Match": answer.headers["etag"]})
        if "etag" in answer.headers
        else answer
    )
    for one in (answer, again, call(serve(None), "HEAD", path, None, html)):
        assert "frame-ancestors 'none'" in one.headers["content-security-policy"], one.headers
    assert answer.headers["content-type"].startswith("text/html")
