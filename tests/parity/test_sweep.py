# SPDX-License-Identifier: MIT
"""Every class of transformers that has a rotary embedding, its config posted in three forms;
sweep.py."""
import collections
import pathlib

import sweep

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"

# What is refused, and the part of the answer that says why.
ODD = "must be a whole multiple of"  # its class's own sizes give heads of a broken width
REASONS = {
    "glm4_moe": ODD, "nanochat": "the other way round", "gemma4_vision": "each half of a head",
    "minimax_m3_vl_vision": "a third of its pairs", "hunyuan_vl": "angles of two coordinates",
    "hunyuan_vl_text": "angles of two coordinates",
}
# Of a config that has nothing but its model_type.
BARE = (ODD, "does not tell how", "dim is required", *REASONS.values())
# Why the code of a class was not asked.
OUTSIDE = ("needs torchaudio", "transformers has no code of it", "its parts have rows of their own",
           "which turns nothing", "a part without model_type", "Unrecognized model type")


def test_no_config_is_read_wrongly(server):
    rows = list(sweep.sweep(server))
    counts = collections.Counter((form, verdict) for _, form, verdict, _ in rows)
    print(*(f"{form} {verdict}: {count}" for (form, verdict), count in sorted(counts.items())),
          sep="\n")
    for name, form, verdict, words in rows:
        assert verdict not in (sweep.WRONG, sweep.UNTOLD), (name, form, words)
        if verdict == sweep.REFUSED:
            reasons = BARE if form == "bare" else (REASONS.get(name, "-"),)
            assert any(reason in words for reason in reasons), (name, form, words)
        if verdict == sweep.OUTSIDE:
            assert any(reason in words for reason in OUTSIDE), (name, words)
    assert len({REASONS[name] for name in REASONS}) <= 5
    assert counts["whole", sweep.RIGHT] >= 365 and counts["raw", sweep.RIGHT] >= 365
    assert counts["bare", sweep.RIGHT] >= 215
    assert sweep.badge(counts) in README.read_text()
