# SPDX-License-Identifier: MIT
"""Reports on a terminal: of published configs, right and wrong tables, comparisons, as kept in
docs/examples/reports at 80 and 120 columns, with and without colour. POSENC_UPDATE=1 writes
them."""

import json
import os
import re

import numpy as np
import pytest
from conftest import ROOT
from safetensors.numpy import save_file

KEPT = ROOT / "docs/examples/reports"
CONFIGS = ["llama-3.1", "gemma-3-1b", "deepseek-v3", "gpt-oss-120b", "phi-1.5-msft", "bloom-3b"]
LLAMA = {
    "model_type": "llama",
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "rope_theta": 500000.0,
    "max_position_embeddings": 131072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
PLAIN = {key: value for key, value in LLAMA.items() if key != "rope_scaling"}
ROWS, PAIRS = 300, 32
SHAPES = {"80": (80, "1"), "120": (120, "1"), "80-colour": (80, "")}


def bf16(values):
    """Rounded to nearest, ties to even."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32)).view(np.float32)


def rotary(base=500000.0, width=64, first=0, divisor=None, convert=lambda inv_freq: inv_freq):
    """(cos, sin) of float64 angles in float32."""
    inv_freq = convert(base ** -(np.arange(PAIRS) * 2 / (divisor or width)))
    angles = np.arange(first, first + ROWS)[:, None] * inv_freq.astype(np.float64)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def swapped():
    return rotary()[::-1]


def backwards():
    cos, sin = rotary()
    return cos, -sin


def noise():
    draw = np.random.default_rng(1)
    return tuple(draw.uniform(-1, 1, (ROWS, PAIRS)).astype(np.float32) for _ in range(2))


# name: (the config, cos and sin that somebody computed)
TABLES = {
    "right": (PLAIN, rotary),
    "scaling-ignored": (LLAMA, rotary),
    "base-ignored": (PLAIN, lambda: rotary(base=10000.0)),
    "config-ignored": (LLAMA, lambda: rotary(base=10000.0)),
    "off-by-one": (PLAIN, lambda: rotary(first=1)),
    "frequencies-in-bf16": (PLAIN, lambda: rotary(convert=bf16)),
    "half-minus-one": (PLAIN, lambda: rotary(divisor=62)),
    "wrong-width": (PLAIN, lambda: rotary(width=128)),
    "cos-and-sin-swapped": (PLAIN, swapped),
    "backwards": (PLAIN, backwards),
    "noise": (PLAIN, noise),
}


def same(name, shape, shown):
    path = KEPT / f"{name}.{shape}.txt"
    if os.environ.get("POSENC_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown)
    assert path.read_text() == shown


def show(posenc, monkeypatch, shape, *arguments):
    columns, no_colour = SHAPES[shape]
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    code, shown = posenc.on_terminal(*arguments)
    plain = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert no_colour == "" or plain == shown
    for line in plain.splitlines():
        words = line.split()
        assert len(line) <= columns or len(words) < 4, line
    return code, shown


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CONFIGS)
def test_configs(posenc, monkeypatch, name, shape):
    config = json.loads((ROOT / f"tests/data/configs/{name}.json").read_text())["config"]
    (posenc.folder / "config.json").write_text(json.dumps(config))
    code, shown = show(posenc, monkeypatch, shape, "config", "config.json")
    assert code == 0
    same(f"config-{name}", shape, shown)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TABLES)
def test_tables(posenc, monkeypatch, name, shape):
    config, make = TABLES[name]
    (posenc.folder / "config.json").write_text(json.dumps(config))
    np.save(posenc.folder / "table.npy", np.stack(make()))
    code, shown = show(
        posenc, monkeypatch, shape, "diagnose", "table.npy", "--config", "config.json"
    )
    assert code == (0 if name == "right" else 1), shown
    same(f"diagnose-{name}", shape, shown)


def probed(name):
    """Each element of a head alone in a call, and what a rotation in halves makes of it."""
    x = np.zeros((16, 12, 16), np.float32)
    x[range(16), :, range(16)] = 1
    angles = np.arange(12)[:, None] * 10000.0 ** (-np.arange(8) / 8)
    cos, sin, (first, second) = np.cos(angles), np.sin(angles), np.split(x, 2, axis=2)
    y = np.concatenate([first * cos - second * sin, second * cos + first * sin], 2)
    if name == "three":
        y[0, :, 3] = 0.5  # element 0 becomes parts of three
    return {"x": x, "y": y.astype(np.float32)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "name, layout, base, code",
    [
        ("right", "half", 10000, 0),
        ("swapped", "interleaved", 10000, 1),
        ("base", "half", 500000, 1),
        ("three", "half", 10000, 1),
    ],
)
def test_probes(posenc, monkeypatch, name, layout, base, code, shape):
    save_file(probed(name), posenc.folder / "probe.safetensors")
    expected = ["encoding=rope", "dim=16", f"base={base}", f"layout={layout}", "axes=csd"]
    found, shown = show(posenc, monkeypatch, shape, "diagnose", "probe.safetensors", *expected)
    same(f"probe-{name}", shape, shown)
    assert found == code


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name, base, code", [("equal", 10000, 0), ("different", 500000, 1)])
def test_comparisons(posenc, monkeypatch, name, base, code, shape):
    found, shown = show(
        posenc,
        monkeypatch,
        shape,
        "compare",
        "rope dim=64",
        f"rope dim=64 base={base}",
        "length=128",
    )
    assert found == code
    same(f"compare-{name}", shape, shown)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name, code", [("right", 0), ("swapped", 1)])
def test_checks(posenc, monkeypatch, name, code, shape):
    config = posenc.folder / "config.json"
    config.write_text(json.dumps(LLAMA))
    posenc("golden", "config.json", "-o", "golden.safetensors")
    layout = {"right": "half", "swapped": "interleaved"}[name]
    posenc("golden", "config.json", f"layout={layout}", "-o", "mine.safetensors")
    found, shown = show(
        posenc, monkeypatch, shape, "check", "mine.safetensors", "golden.safetensors"
    )
    assert found == code
    same(f"check-{name}", shape, shown)


def test_json_where_it_is_wanted(posenc):
    for arguments in ["--json"], ["format=json"]:
        code, shown = posenc.on_terminal(
            "compare", "rope dim=4", "rope dim=4", "length=2", *arguments
        )
        assert code == 0 and json.loads(shown)["unequal"] == 0


def test_the_exit_code_is_the_verdict_in_a_pipe(posenc):
    for base, code in (10000, 0), (500000, 1):
        done = posenc.run("compare", "rope dim=4", f"rope dim=4 base={base}", "length=2")
        assert done.returncode == code and json.loads(done.stdout)["elements"] == 8
