# SPDX-License-Identifier: MIT
"""The module for pages answers as posencd does: status, fields and bytes of every recorded request
that needs no folder of tables and no content coding, neither of which a page has."""

import base64
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "recorded"))
import record  # noqa: E402
import replay  # noqa: E402

WASM = "build-wasm/posenc.wasm"


class Door:
    """posenc.wasm in node, one process for one service."""

    def __init__(self, settings):
        self.node = subprocess.Popen(
            ["node", "tests/ports/door.mjs", "clients/js/client.js", WASM],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        without = ("tables", "token-file")
        self.call({"settings": {name: value for name, value in settings if name not in without}})

    def call(self, asked):
        self.node.stdin.write(json.dumps(asked) + "\n")
        self.node.stdin.flush()
        return json.loads(self.node.stdout.readline())

    def ask(self, method, target, fields, body):
        told = self.call(
            {
                "method": method,
                "target": target,
                "fields": fields,
                "body": base64.b64encode(body or b"").decode(),
            }
        )
        return told["status"], told["fields"], base64.b64decode(told["body"])

    def close(self):
        self.node.stdin.close()
        self.node.wait(10)


# Paths of names that no encoding has, so that a stored table could have them.
NO_ENCODING = re.compile("/v1/encodings/(yarn|rotary|none|rop|ROPE|mine|rope%2Ftable)(/|\\?|$)")


def needs_tables(request):
    """Of a stored table, or of all that there are, or of a name that a store could have: an answer
    that depends on a store is not for pages of other origins."""
    told = request.target.encode() + (request.body or b"")
    return (
        request.group in ("tables", "tables narrow")
        or request.target.rstrip("/") == "/v1/encodings"
        or "no such" in request.name
        or re.search(rb"\b(sample|sampel|minilm)|/encodings\?family", told)
        or NO_ENCODING.match(request.target)
    )


def needs_codings(request):
    return any(
        name.lower() in ("accept-encoding", "content-encoding") for name, _ in request.headers
    )


# Tensors of over 2^27 numbers, which a module of 32 bits refuses.
BEYOND = re.compile("query_length=8192|length=200000000|of a large shape")


def is_about(request):
    """GET /v1 tells the limits and flags of the machine."""
    return request.target.rstrip("/") == "/v1"


def without(request):
    return (
        needs_tables(request)
        or needs_codings(request)
        or is_about(request)
        or BEYOND.search(request.name)
    )


@pytest.fixture(scope="module")
def opened():
    with replay.doors(Door) as doors:
        yield doors


def test_answers(opened):
    count, lines = replay.differences(opened, record.read(), without)
    print(count, "requests")
    assert count > 250
    assert not lines, "\n" + "\n".join(lines)


def test_memory_that_ends_inside_a_text_is_a_refusal():
    """From deep inside of calls, time and again."""
    body = b'{"x":' + b"[" * 60 + b"{}," * 100000
    door = Door([("memory-budget", "4MiB")])
    answers = [
        door.ask("POST", "/v1/config", [["Content-Type", "application/json"]], body)
        for _ in range(20)
    ]
    assert {json.loads(answer[2])["code"] for answer in answers} == {"out-of-memory"}
    assert door.ask("GET", "/v1/encodings/index/table?length=3", [], b"")[0] == 200
    door.close()


def test_the_client_reads_both_alike(server):
    command = ["node", "tests/integration/client.mjs", server.url]
    told = [
        json.loads(
            subprocess.run(
                command + more, cwd=ROOT, check=True, timeout=60, capture_output=True
            ).stdout
        )
        for more in ([], [WASM])
    ]
    assert told[0] == told[1]


USED = """import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "posenc";
const wasm = createRequire(import.meta.url).resolve("posenc/posenc.wasm");
const { table } = await (await connect(await readFile(wasm))).table("index", { length: 3 });
console.log(...table.data);"""


def test_the_package(tmp_path):
    """As somebody has it who installed it."""
    subprocess.run(
        ["npm", "pack", "--silent", ROOT / "build-wasm/package"], cwd=tmp_path, check=True
    )
    installed = tmp_path / "node_modules/posenc"
    with tarfile.open(next(tmp_path.glob("posenc-*.tgz"))) as package:
        names = {pathlib.PurePath(name).name for name in package.getnames()}
        package.extractall(tmp_path)
    assert names == {
        "client.js",
        "client.d.ts",
        "posenc.wasm",
        "package.json",
        "README.md",
        "LICENSE",
    }
    installed.parent.mkdir()
    (tmp_path / "package").rename(installed)
    (tmp_path / "used.mjs").write_text(USED)
    done = subprocess.run(["node", "used.mjs"], cwd=tmp_path, check=True, capture_output=True)
    assert done.stdout.split() == [b"0", b"1", b"2"]


def test_size():
    assert len(gzip.compress((ROOT / WASM).read_bytes())) <= 800_000
