# SPDX-License-Identifier: MIT
"""Rotations of published libraries, called as black boxes: each is right, or what was planted or
is known of it is named."""

import pytest

# (script, environment): what each rotation is, but for those that are right.
WRONG = {
    ("of_torch.py", "torch"): {
        "rotary-embedding-torch as halves": "layout-swapped; pair 0 is elements 0 and 1",
        "x-transformers as halves": "layout-swapped; pair 0 is elements 0 and 1",
        "torchtune, another base": "base-ignored: pairs 1-31, ",
        "torch with positions in bfloat16": "positions-bf16: ",
    },
    ("of_onnx.py", "transformers"): {
        "onnxruntime as neighbours": "layout-swapped; pair 0 is elements 0 and 32"
    },
    ("of_keras.py", "keras-hub"): {
        "keras-hub, another base": "base-ignored: pairs 1-31, ",
        "keras-hub as neighbours": "layout-swapped; pair 0 is elements 0 and 32",
    },
    ("of_mlx.py", "mlx-lm"): {"mlx as neighbours": "layout-swapped; pair 0 is elements 0 and 32"},
    # Before the pull request cosines were in halves and pairs were neighbours; since it was merged
    # neighbours are read and halves are written.
    ("of_transformers.py", "before-47403"): {"the DiT of Qwen2.5-Omni": "mixed-layouts: "},
    ("of_transformers.py", "transformers"): {
        "the DiT of Qwen2.5-Omni": "outputs-reordered; elements 0 and 1 become 0 and 32"
    },
}
COUNTS = {"of_torch.py": 14, "of_onnx.py": 13, "of_keras.py": 4, "of_mlx.py": 3}


@pytest.mark.parametrize("script, where", WRONG)
def test_each_rotation_is_right_or_named(script, where, verdicts):
    found = verdicts(script, where)
    wrong = WRONG[script, where]
    assert len(found) == COUNTS.get(script, 1) and wrong.keys() <= found.keys()
    for name, verdict in found.items():
        assert verdict.startswith(wrong.get(name, "right: ")), (name, verdict)
