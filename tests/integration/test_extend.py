# SPDX-License-Identifier: MIT
"""POST /v1/extend over every model type that was measured: each patch is applied here, and read
back by POST /v1/config and POST /v1/lint as a stranger would."""

import copy
import itertools
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

import expected  # noqa: E402
import matrix  # noqa: E402

ROWS = matrix.configs()
POSENC = ROOT / "build/posenc"
PUBLISHED = {
    path.stem: json.loads(path.read_text())["config"]
    for path in sorted((ROOT / "tests/data/configs").glob("*.json"))
}
CONTEXTS = ("max_position_embeddings", "model_max_length", "n_positions", "seq_length")

pytestmark = pytest.mark.plain  # the library in this process is that of the plain build


def plain(report):
    return json.loads(json.dumps(report, default=str))


def extend(config, to, **more):
    return plain(expected.posenc.extend(config, to, **more))


def merged(config, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(config) if isinstance(config, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def context_of(config):
    """The context by which a target is chosen, at any depth; None: there is none."""
    found = [config[key] for key in CONTEXTS if isinstance(config.get(key), int)]
    inner = [context_of(value) for value in config.values() if isinstance(value, dict)]
    return max(found + [value for value in inner if value], default=None)


# `make test` reads a part of them for each kind of scaling, another part for each.
CONFIGS_STEP = 1 if os.environ.get("POSENC_WHOLE") else 4


def configs():
    """Every measured config in both forms, and the published ones."""
    for name, forms in ROWS.items():
        for form, config in forms.items():
            if config:
                yield f"{name} {form}", config
    yield from PUBLISHED.items()


def schemes(report):
    """The encodings of a reading of all layers that rotate."""
    rows = [row["encoding"] for row in report.get("layers", []) if row.get("encoding")]
    return sorted(json.dumps(row, sort_keys=True) for row in rows or [report["encoding"]])


def without_layout(texts):
    rows = map(json.loads, texts)
    return sorted(
        {
            json.dumps({k: v for k, v in row.items() if k != "layout"}, sort_keys=True)
            for row in rows
        }
    )


KINDS = ["yarn", "linear", "dynamic", "ntk"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_patch_is_read_back(kind):
    """In both forms: the config with the patch has the scaling, nothing else changes, and engines
    judge it as the answer says."""
    written = {"4": 0, "5": 0}
    refused = 0
    read = "ntk_fixed" if kind == "ntk" else kind
    for name, config in itertools.islice(configs(), KINDS.index(kind), None, CONFIGS_STEP):
        context = context_of(config)
        try:
            report = extend(config, 4 * (context or 1000), type=kind, engines="mlx-lm")
        except expected.posenc.Refused as error:
            assert str(error), name
            refused += 1
            continue
        for form, row in report["forms"].items():
            if row["patch"] is None:
                assert row["reason"], name
                continue
            patched = merged(copy.deepcopy(config), row["patch"])
            reading = plain(expected.posenc.config(patched))
            mine = schemes(reading)
            assert without_layout(mine) == without_layout(
                json.dumps(of["encoding"]) for of in row["reading"]
            ), name
            scaled = [one for one in map(json.loads, mine) if one["rope_type"] == read]
            assert scaled, (name, form)
            assert all(one["factor"] == report["factor"] for one in scaled)
            if kind == "yarn":
                originals = {one["original_max_position_embeddings"] for one in scaled}
                assert originals == {report["from"]}, name
            judged = plain(expected.posenc.lint(patched, engines="mlx-lm"))["engines"][0]
            said = report["engines"][0]["forms"][form]
            assert judged["verdict"] == said["verdict"], name
            found = [(f["code"], f.get("pairs")) for f in judged["findings"]]
            assert found == [(f["code"], f.get("pairs")) for f in said["findings"]], name
            written[form] += 1
    assert min(written.values()) > 500 // CONFIGS_STEP, written
    assert refused > 50 // CONFIGS_STEP


def test_layers_are_those_of_the_two_encodings():
    """The pairs that change, by the frequencies of both encodings."""
    config = PUBLISHED["qwen2.5-7b"]
    report = extend(config, 131072, engines="transformers")
    (layers,) = report["layers"]
    patched = merged(copy.deepcopy(config), report["forms"]["4"]["patch"])
    old, new = (
        expected.posenc.frequencies(config=one, dtype="f64").inv_freq.tolist()
        for one in (config, patched)
    )
    changed = [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert layers["pairs"] == len(changed) == 40
    assert (layers["first"], layers["last"]) == (changed[0], changed[-1])
    worst = max(abs(a - b) for a, b in zip(old, new, strict=True)) * 131071
    assert layers["radians"] == pytest.approx(worst, rel=1e-12)
    assert layers["cache"] == "void"
    assert report["engines"][0]["forms"]["4"]["verdict"] == "same"


def test_flags_of_vllm_are_the_patch():
    """What --hf-overrides sets is the rope object of the patch, complete, and the context; factors
    have a point, without which vLLM's linear scaling fails."""
    report = extend(PUBLISHED["qwen2.5-7b"], 131072, engines="vllm")
    flags = {flag["name"]: flag["value"] for flag in report["engines"][0]["flags"]}
    rope = report["forms"]["5"]["patch"]["rope_parameters"]
    overrides = flags["--hf-overrides"]
    assert json.loads(overrides) == {"rope_parameters": rope, "max_position_embeddings": 131072}
    assert '"factor":4.0' in overrides
    assert rope["rope_theta"] == 1000000 and flags["--max-model-len"] == "131072"


# ---- the command --------------------------------------------------------------------------------


def command(folder, config, *arguments):
    folder.joinpath("config.json").write_text(json.dumps(config))
    return subprocess.run(
        [POSENC, "extend", "config.json", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_the_report_of_the_command(tmp_path):
    done = command(tmp_path, PUBLISHED["qwen2.5-7b"], "--to", "131072", "--for", "llama.cpp")
    assert done.returncode == 0, done.stderr
    assert "yarn, factor 4: from 32768 to 131072 positions" in done.stdout
    assert "40 of 64 pairs change (24 to 63)" in done.stdout
    assert "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768 --ctx-size 131072" in (
        done.stdout
    )
    assert done.stdout.count('"max_position_embeddings": 131072') == 2


def test_the_command_writes_json(tmp_path):
    done = command(
        tmp_path, PUBLISHED["smollm-360m"], "--to", "4096", "--type", "linear", "-o", "patch.json"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(tmp_path.joinpath("patch.json").read_text())
    assert report["forms"]["4"]["patch"]["rope_scaling"] == {"rope_type": "linear", "factor": 2}


def test_an_engine_that_reads_no_form_is_exit_code_1(tmp_path):
    done = command(tmp_path, PUBLISHED["phi-4"], "--to", "32768", "--for", "transformers")
    assert done.returncode == 1 and "raises" in done.stdout


@pytest.mark.parametrize(
    "arguments,code",
    [
        (["--to", "10"], 3),
        ([], 3),
        (["--to", "131072", "--for", "tgi"], 4),
        (["--to", "131072", "--type", "longrope"], 3),
        (["--to", "131072", "--format", "sarif"], 2),
        (["--to", "131072", "--against", "a.json"], 2),
        (["--to", "131072", "--format", "text", "-o", "a.json"], 2),
    ],
)
def test_refusals_of_the_command(tmp_path, arguments, code):
    done = command(tmp_path, PUBLISHED["qwen2.5-7b"], *arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr and not done.stdout


def test_flags_of_extend_are_of_no_other_command(tmp_path):
    done = subprocess.run(
        [POSENC, "lint", "a.json", "--to", "5"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2 and "--to" in done.stderr
