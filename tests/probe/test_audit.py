# SPDX-License-Identifier: MIT
"""posenc.audit of tiny models of transformers: right ones, and mistakes that were planted. That a
model is as it was afterwards is asserted in the script."""


def found(verdicts):
    return verdicts("of_models.py", "transformers")


def test_models_as_they_are(verdicts):
    classes = found(verdicts)["classes"]
    assert len(classes) >= 30
    for name, (right, report) in classes.items():
        assert right, (name, report)


def test_planted_mistakes(verdicts):
    planted, buffer = found(verdicts)["planted"], "model.rotary_emb.inv_freq: "
    assert planted.pop("on the meta device").startswith(f"{buffer}on the meta device")
    for name in [name for name in planted if name.startswith("moved by to_empty")]:
        assert planted.pop(name).startswith(f"{buffer}uninitialized: "), name
    assert planted.pop("in bfloat16") == f"{buffer}inv-freq-bf16"
    assert planted.pop("another base").startswith(f"{buffer}base-ignored")
    assert planted.pop("a factor") == "model.rotary_emb: unknown: scale 1.5, not 1"
    assert not planted
