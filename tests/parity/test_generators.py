# SPDX-License-Identifier: MIT
"""The rows about models are those that their generators measure of the installed transformers."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import model_layers  # noqa: E402
import model_types  # noqa: E402

# With a row of each kind: periods, runs, switches, windows, norms, sinks, scales.
LAYERS = """
    cohere2 deepseek_v3 exaone_moe gemma3_text gpt_oss granite_swa kolibri1 llama4_text modernbert
    olmo3 phi3 qwen2 qwen3_next smollm3 starcoder2 step3p5 zamba2
""".split()


def test_model_types():
    assert model_types.main(["--check"]) == 0


def test_model_layers():
    assert model_layers.main(["--check", *LAYERS]) == 0
