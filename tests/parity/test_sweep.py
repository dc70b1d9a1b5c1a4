# SPDX-License-Identifier: MIT
"""Every class of transformers that rotates text, its config posted in three forms; sweep.py."""
import collections

import sweep

# What is refused, and the part of the answer that says why.
ODD = "must be a whole multiple of"  # their class's own sizes give heads of a broken width
PARTS = "nothing in this config tells its positions"  # which of its parts is meant is not said
REASONS = {
    "clvp": PARTS, "clvp_encoder": PARTS, "dia": PARTS, "seamless_m4t": PARTS, "t5gemma": PARTS,
    "t5gemma2 (full_attention)": PARTS, "t5gemma2 (sliding_attention)": PARTS, "vjepa2": PARTS,
    "wav2vec2-bert": PARTS, "wav2vec2-conformer": PARTS,
    "efficientloftr": "partial_rotary_factor must be",
    "glm4_moe": ODD, "glm4v_moe": ODD, "glm4v_moe_text": ODD, "qwen3_omni_moe": ODD,
    "qwen3_omni_moe_text": ODD, "qwen3_omni_moe_thinker": ODD,
    "mlcd": "'axial' is not offered", "mlcd_vision_model": "'axial' is not offered",
    "nanochat": "the other way round",
}
# Of a config that has nothing but its model_type.
BARE = (PARTS, ODD, "the other way round", "does not tell how", "dim is required")


def test_no_config_is_read_wrongly(server):
    rows = list(sweep.sweep(server))
    counts = collections.Counter((form, verdict) for _, form, verdict, _ in rows)
    print(*(f"{form} {verdict}: {count}" for (form, verdict), count in sorted(counts.items())),
          sep="\n")
    for name, form, verdict, words in rows:
        assert verdict not in (sweep.WRONG, sweep.UNTOLD), (name, form, words)
        if verdict == sweep.REFUSED and form != "bare":
            assert REASONS.get(name, "-") in words, (name, form, words)
        elif verdict == sweep.REFUSED:
            assert any(reason in words for reason in BARE), (name, words)
    assert counts["whole", sweep.RIGHT] >= 300 and counts["raw", sweep.RIGHT] >= 300
    assert counts["bare", sweep.RIGHT] >= 165
