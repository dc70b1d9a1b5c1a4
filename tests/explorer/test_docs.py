# SPDX-License-Identifier: MIT
"""/docs in a browser, from posencd and as static files; and docs/examples/page.html, which asks a
posencd from another origin."""

import functools
import http.server
import json
import re
import threading
import urllib.parse

import numpy
import pytest
from browsing import ROOT, SHOTS, Files

DOCUMENT = json.loads((ROOT / "openapi.json").read_text())
OPERATIONS = [
    (path, method, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if "operationId" in operation
]
# A guide with tables and code, views and functions with forms, a list.
ARTICLES = ("", "examples", "path-table", "path-rotation", "encoding-rope")
FORM = "article:not([hidden]) .try form"
ANSWERED = "document.querySelector('article:not([hidden]) .status')"


@pytest.fixture(scope="module")
def docs(doors):
    return {"http": doors["http"] + "docs", "site": doors["site"] + "docs.html"}


def test_all_is_in_the_page(docs, browser):
    """Every operation, parameter, encoding and guide, by links that lead somewhere."""
    found = browser(
        "evaluate",
        docs["http"],
        script="""({
        ids: [...document.querySelectorAll("[id]")].map((one) => one.id),
        links: [...document.querySelectorAll("a[href^='#']")].map((one) => one.hash.slice(1)),
        names: [...document.querySelectorAll("dl.entries dt code")].map((one) => one.textContent),
        tries: document.querySelectorAll("[data-try]").length })""",
    )
    ids, page = found["value"]["ids"], found["value"]
    wanted = {operation["operationId"] for _, _, operation in OPERATIONS}
    components = DOCUMENT["components"]
    wanted |= {f"encoding-{name}" for name in components["schemas"]["EncodingName"]["enum"]}
    wanted |= {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert len(set(ids)) == len(ids) and wanted <= set(ids) and set(page["links"]) <= set(ids)
    assert {one["name"] for one in components["parameters"].values()} <= set(page["names"])
    assert page["tries"] == sum(method in ("get", "post") for _, method, _ in OPERATIONS)
    assert found["told"] == []


# Seconds for each article: axe looks at all that is hidden.
@pytest.mark.parametrize(
    "door,width,theme", [("http", 1440, "light"), ("http", 390, "dark"), ("site", 768, "dark")]
)
def test_articles(browser, docs, door, width, theme):
    wrong = {}
    for article in ARTICLES:
        found = browser(
            "visit",
            f"{docs[door]}#{article}",
            width=width,
            theme=theme,
            shot=str(SHOTS / f"docs-{article}-{door}-{width}-{theme}.png"),
        )
        found.pop("drawn")
        found["wide"] = max(found["wide"], 0)
        if any(found.values()):
            wrong[article] = found
    assert not wrong, json.dumps(wrong, indent=1)


@pytest.mark.parametrize("width", (1440, 390))
def test_all_is_reached_by_keys(browser, docs, width):
    assert browser("tabs", docs["http"] + "#path-table", width=width)["missed"] == []


@pytest.mark.parametrize(
    "path,method,operation",
    [one for one in OPERATIONS if one[1] in ("get", "post")],
    ids=lambda one: one if isinstance(one, str) else one["operationId"],
)
def test_what_a_form_begins_with_is_answered(browser, docs, path, method, operation):
    form = f'.try[data-try*=\'"{method.upper()}","path":"{path}"\']'
    found = browser(
        "evaluate",
        f"{docs['http']}#{operation['operationId']}",
        steps=[(f"{form} .send", "click")],
        wait=f"document.querySelector(`{form} .status strong`)",
        script=f"document.querySelector(`{form} .status strong`).textContent",
    )
    assert found == {"told": [], "value": "200"}


def test_a_form_is_changed_and_sent_without_a_server(browser, docs):
    """The curl line is what is sent; a refusal is shown as it came."""
    steps = [(f"{FORM} input[name=dim]", "fill", "7"), (f"{FORM} .send", "click")]
    found = browser(
        "evaluate",
        docs["site"] + "#getTable",
        steps=steps,
        wait=ANSWERED,
        script=f"""
        [document.querySelector("{FORM} .command code").textContent,
         document.querySelector("{FORM} .answer").textContent]""",
    )
    command, answer = found["value"]
    assert command.endswith("/v1/encodings/rope/table?dim=7&length=3'")
    assert answer.startswith("422 application/problem+json") and "must be even" in answer


@pytest.fixture(scope="module")
def elsewhere():
    handler = functools.partial(Files, directory=ROOT / "docs/examples")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/page.html"
        serving.shutdown()


def test_a_page_of_another_origin(browser, start_shared, elsewhere):
    """Every pixel is a number of posencd's, and the pair is turned as posencd turns it."""
    running = start_shared()
    found = browser(
        "evaluate",
        f"{elsewhere}?{urllib.parse.urlencode({'server': running.url})}",
        steps=[("#dim", "fill", "32"), ("#position", "fill", "9")],
        wait="""told.textContent.includes("position 9") &&
                            document.querySelector("canvas").width === 32""",
        script="""[told.textContent, [...document.querySelector("canvas")
                        .getContext("2d").getImageData(0, 0, 32, 64).data]]""",
    )
    text, pixels = found["value"]
    answer = running.get("/v1/encodings/sinusoidal/table?dim=32&length=64&format=raw")
    table = numpy.frombuffer(answer.content, "<f4").astype(float)
    rest = numpy.rint(255 * (1 - abs(table)))
    expected = numpy.stack(
        [
            numpy.where(table < 0, rest, 255),
            rest,
            numpy.where(table < 0, 255, rest),
            0 * rest + 255,
        ],
        1,
    )
    assert (numpy.array(pixels).reshape(-1, 4) == expected).all() and found["told"] == []
    turned = [float(one) for one in re.search(r": \((.*)\)", text)[1].split(", ")]
    assert turned == [numpy.float32(numpy.cos(9.0)), numpy.float32(numpy.sin(9.0))]
