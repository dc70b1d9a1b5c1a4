# SPDX-License-Identifier: MIT
"""Generators and linters that need Node, run on the contract: none has an error or a warning."""

import json
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = {"openapi-typescript": "7.13.0", "typescript": "5.9.3",
            "@hey-api/openapi-ts": "0.95.0", "@redocly/cli": "2.77.0",
            "@stoplight/spectral-cli": "6.16.3"}
STRICT = {"compilerOptions": {"strict": True, "noEmit": True, "target": "es2020", "lib": [
    "es2022", "dom", "dom.iterable"], "module": "esnext", "moduleResolution": "bundler"},
    "include": ["made"]}

pytestmark = pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generators")
    (folder / "package.json").write_text(json.dumps({"dependencies": PACKAGES}))
    (folder / "tsconfig.json").write_text(json.dumps(STRICT))
    (folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    for name in ("openapi.yaml", "openapi.json"):
        shutil.copy(ROOT / name, folder)

    def call(*command):
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=600)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout + done.stderr

    call("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    return call


def test_openapi_typescript(run):
    run("npx", "openapi-typescript", "openapi.yaml", "-o", "made/types.ts")
    run("npx", "tsc", "-p", ".")


def test_hey_api(run):
    run("npx", "openapi-ts", "-i", "openapi.json", "-o", "made/hey")
    run("npx", "tsc", "-p", ".")


def test_redocly(run):
    assert "warning" not in run("npx", "redocly", "lint", "openapi.yaml").lower().replace(
        "deprecation warning", "")


def test_spectral(run):
    assert "No results" in run("npx", "spectral", "lint", "--fail-severity", "hint",
                               "openapi.yaml")
