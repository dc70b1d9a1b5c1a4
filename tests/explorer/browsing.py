# SPDX-License-Identifier: MIT
"""A browser that takes orders, and where what it saw is kept."""

import http.server
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOTS = ROOT / os.environ.get("BUILD", "build") / "explorer-shots"
SETTLED = (
    "!('busy' in document.documentElement.dataset) && performance.getEntriesByName('drawn').length"
)


class Browser:
    """tests/explorer/drive.mjs: an order and its answer are a line of JSON each."""

    def __init__(self, chromium):
        self.process = subprocess.Popen(
            ["node", "tests/explorer/drive.mjs", chromium],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __call__(self, order, url, **how):
        self.process.stdin.write(json.dumps({"do": order, "url": url, **how}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer if isinstance(answer, dict) else True, answer["error"]
        return answer


class Files(http.server.SimpleHTTPRequestHandler):
    def log_request(self, *_):
        pass


def texts(selector):
    return f"[...document.querySelectorAll('main {selector}')].map((one) => one.textContent)"
