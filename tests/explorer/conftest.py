# SPDX-License-Identifier: MIT
"""A browser, and the page through its two doors: posencd, and files without a server."""

import functools
import http.server
import shutil
import threading
import urllib.parse

import pytest
from browsing import ROOT, SETTLED, SHOTS, Browser, Files


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium-headless-shell")
    assert chromium, "tools/setup explorer brings chromium-headless-shell"
    SHOTS.mkdir(parents=True, exist_ok=True)
    running = Browser(chromium)
    yield running
    running.process.stdin.close()
    running.process.wait(60)


@pytest.fixture(scope="session")
def site():
    """The files of `make site`, in some folder of any server of files."""
    assert (ROOT / "build-site/posenc.wasm").is_file(), "run make site"
    handler = functools.partial(Files, directory=ROOT)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/build-site/"
        serving.shutdown()


@pytest.fixture(scope="module")
def doors(start_shared, site):
    """Base paths are part of what may go wrong."""
    return {"http": start_shared("--base-path", "/some/where").url + "/some/where/", "site": site}


@pytest.fixture(scope="module")
def views(browser, doors):
    """Names by what the page itself links to; "" is what it opens with."""
    found = {door: browser("views", url) for door, url in doors.items()}
    assert found["http"] == found["site"] and len(found["http"]) > 3
    return found["http"]


@pytest.fixture(scope="module")
def evaluated(browser, page):
    """The value of a script on a settled page, without an error on the console. The browser reports
    a refused request there, too."""

    def evaluate(search, script, refused=False, **more):
        found = browser(
            "evaluate",
            f"{page}/?{urllib.parse.urlencode(search)}",
            script=script,
            **{"wait": SETTLED, **more},
        )
        told = [one for one in found["told"] if not (refused and "status of 422" in one)]
        assert not told, told
        return found["value"]

    return evaluate
