# SPDX-License-Identifier: MIT
"""A report on a terminal has every value of the JSON that it stands for."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT
from safetensors.numpy import save_file

INDEXED = {
    "hidden_size": 64,
    "num_attention_heads": 2,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "kv_lora_rank": 8,
    "num_hidden_layers": 2,
    "index_head_dim": 32,
}


@pytest.fixture
def shown(posenc, monkeypatch):
    """(exit code, the report, the JSON of the same command)"""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    def show(*arguments):
        code, text = posenc.on_terminal(*arguments)
        done = posenc.run(*arguments)
        assert done.returncode == code
        return code, text, json.loads(done.stdout)

    return show


def engine_words(engine):
    versions = engine["versions"]
    said = f"{engine['name']} {engine['version']}"
    if len(versions) > 1:
        said += " measured versions: " + ", ".join(versions)
    for form, counts in engine["cells"].items():
        some = [f"{count} {verdict}" for verdict, count in counts.items() if count]
        said += f" form of transformers {form}: " + ", ".join(some)
    return said


def cell_words(cell):
    """What is said of one engine and config, up to numbers."""
    said = f"{cell['config']} {cell['engine']}, form of {cell['form']}: {cell['verdict']}"
    said += f" ({', '.join(cell['keys'])})" if cell.get("keys") else ""
    said += "".join(f": {cell[key]}" for key in ("code", "message") if key in cell)
    return said + (f", {cell['reads']}" if "reads" in cell else "")


def test_engines(shown):
    code, text, told = shown("engines", "model_type=gpt_oss")
    words = " ".join(text.split())
    assert code == 0 and len(told["engines"]) > 3 and len(told["cells"]) > 20
    assert words.startswith(" ".join(map(engine_words, told["engines"])))
    at = 0
    for cell in told["cells"]:
        assert cell_words(cell) in words[at:], words[at : at + 400]
        at = words.index(cell_words(cell), at)
        if "pairs" in cell:
            assert f"{cell['pairs']} of {cell['of']} pairs" in words[at:]


@pytest.mark.parametrize("name", ["qwen2.5-vl", "exaone-4.5-33b", "voxtral-mini-3b", "bloom-3b"])
def test_parts_of_published_configs(posenc, shown, name):
    config = json.loads((ROOT / f"tests/data/configs/{name}.json").read_text())["config"]
    (posenc.folder / "config.json").write_text(json.dumps(config))
    code, text, told = shown("config", "config.json")
    words = " ".join(text.split())
    assert code == 0
    for part in told.get("towers", []):
        encoding = part["encoding"]
        said = f"{encoding['name']} dim={encoding['dim']}" if encoding else part["reason"]
        assert f" {part['part']} {said}" in words, words


@pytest.mark.parametrize("model", ["deepseek_v32", "glm_moe_dsa"])
def test_other_rotaries(posenc, shown, model):
    (posenc.folder / "config.json").write_text(json.dumps({"model_type": model} | INDEXED))
    code, text, told = shown("config", "config.json")
    (other,) = told["others"]
    encoding = other["encoding"]
    assert other["head_dim"] == 32 and encoding["rotary_dim"] == 16 and encoding["dim"] == 32
    words = f"rope dim=32 base=10000 layout={encoding['layout']} rotary_dim=16"
    assert code == 0 and re.search(rf"\n  indexer\n    {words}\n", text), text


def test_tolerance(posenc, shown):
    rows = np.arange(12).reshape(3, 4)
    angles = rows[:, :1] // 4 * 10000.0 ** (-np.array([0, 0, 0.5, 0.5]))
    right = np.where(rows % 2, np.cos(angles), np.sin(angles)).astype(np.float32)
    for wrong in 0, 2:
        table = right.copy()
        table.flat[:wrong] += 2
        np.save(posenc.folder / "t.npy", table)
        code, text, told = shown("compare", "sinusoidal", "t.npy", "tolerance_of=f32-angle")
        assert told["tolerance"]["outside"] == wrong
        assert re.search(rf"\n  tolerance +{wrong} outside of f32-angle\n", text), text
        assert code == (1 if wrong else 0)


def test_heads(posenc, shown):
    """Each head has the sign of its verdict: right, wrong, or undecided."""
    draw = np.random.default_rng(2)
    q = draw.standard_normal((3, 4, 12, 8)).astype(np.float32)
    angles = np.arange(12)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    first, second = np.split(q, 2, axis=3)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = np.concatenate([first * cos - second * sin, second * cos + first * sin], 3)
    turned[1, 2], turned[2, 0] = q[0, 0], q[2, 0]
    even, odd = q[0, 3, :, 0::2], q[0, 3, :, 1::2]
    turned[0, 3] = np.stack([even * cos - odd * sin, odd * cos + even * sin], -1).reshape(12, 8)
    files = {"q": q, "q_rotated": turned.astype(np.float32)}
    save_file(files, posenc.folder / "heads.safetensors")
    for expected, right, sign, swapped in (
        (["encoding=rope", "layout=half"], "match", "·", ("known-bug", "✗")),
        ([], "consistent", "?", ("consistent", "?")),  # each layout is one of rope
    ):
        flags = [*expected, "axes=lhsd", "per_head=true"]
        code, text, told = shown("diagnose", "heads.safetensors", *flags)
        verdicts = [right] * 12
        verdicts[3], verdicts[6], verdicts[8] = swapped[0], "unknown", "known-bug"
        assert code == 1 and told["per_head"]["verdict"] == verdicts
        heads = re.search(r"[·✗?\s]*[·✗?]", text[text.index("  heads") + 7 :])[0].split()
        assert heads == [sign * 3 + swapped[1], f"{sign * 2}?{sign}", f"✗{sign * 3}"], text


@pytest.mark.parametrize(
    "typed, says",
    [
        ("table rope --for vllm", "--for, --against and --format are flags of lint and extend"),
        ("rotate q.npy --format json", "a parameter is written format=VALUE"),
        ("config config.json --against config.json", "are flags of lint and extend"),
        ("lint config.json --to 8192", "--to and --type are flags of extend"),
        ("table rope --type yarn", "a parameter is written to=VALUE"),
    ],
)
def test_flags_of_other_words(posenc, typed, says):
    (posenc.folder / "config.json").write_text('{"model_type": "llama", "head_dim": 64}')
    code, said = posenc.refused(*typed.split())
    assert code == 2 and says in said, said
