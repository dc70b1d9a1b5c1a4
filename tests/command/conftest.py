# SPDX-License-Identifier: MIT
"""The command in a folder of its own, and files for it."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/integration"), str(ROOT / "tests/recorded")]

import bodies  # noqa: E402
import typed  # noqa: E402


@pytest.fixture
def posenc(tmp_path):
    return typed.Posenc(tmp_path)


@pytest.fixture
def tensors(tmp_path):
    """name -> bytes of files that are in the folder of the test."""
    q, k, v = (bodies.tensor(seed, 1, 2, 3, 8) for seed in (1, 2, 3))
    files = {
        "q.npy": bodies.npy_bytes(bodies.tensor(1, 2, 3, 8)),
        "qkv.safetensors": bodies.safetensors_bytes({"q": q, "k": k, "v": v}),
        "inv_freq.npy": bodies.npy_bytes(bodies.numbers([1, 0.03125, 0.0009765625, 3e-5])),
        "buckets.npy": bodies.npy_bytes(bodies.tensor(4, 4, 3)),
        "sines.npy": bodies.npy_bytes(bodies.numbers([0, 1, 0.75, 0.5], 2, 2)),
        "ids.json": b'{"lengths": [2, 3], "padding_side": "left"}',
        "config.json": b'{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8,'
        b' "rope_theta": 500000.0}',
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return files
