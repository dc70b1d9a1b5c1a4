# SPDX-License-Identifier: MIT
"""posenc.audit without torch: what is refused, and how findings are shown. Models of transformers
are audited in tests/probe."""

import sys
import types

import posenc
import pytest
from posenc._audit import Finding

pytest_plugins = ["posenc.pytest_plugin"]
RIGHT = Finding("m.inv_freq", None, True, "right", None)
WRONG = Finding("m.rotary", "full_attention", False, "base-ignored: pairs 1-31", None)
OTHER = Finding("m.cos", None, None, "finite; not compared", None)


def test_what_is_no_model(monkeypatch):
    with pytest.raises(TypeError, match="a model is a torch module, not a builtins.dict"):
        posenc.audit({})
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace())
    model = types.SimpleNamespace(named_modules=lambda: iter([]))
    with pytest.raises(TypeError, match="the model has no config"):
        posenc.audit(model)
    with pytest.raises(posenc.Refused):
        posenc.audit(model, {"model_type": "no such model"})
    found = posenc.audit(model, {"model_type": "llama", "head_dim": 64})
    assert found.right is None and found.verdict.startswith("nothing found")


def test_findings():
    assert posenc.Audit([OTHER]).right is None
    assert posenc.Audit([RIGHT, OTHER]).right is True
    assert posenc.Audit([RIGHT, OTHER]).verdict.startswith("right: 1 of 2 ")
    wrong = posenc.Audit([RIGHT, WRONG, WRONG])
    assert wrong.right is False
    assert wrong.verdict == "m.rotary: base-ignored: pairs 1-31 (and 1 more)"
    assert str(wrong).splitlines()[2] == "✗ m.rotary (full_attention): base-ignored: pairs 1-31"
    assert wrong._repr_html_().count("<tr>") == 4


def test_the_fixture(posenc_audit, monkeypatch):
    monkeypatch.setattr("posenc.pytest_plugin.audit", lambda model, config: posenc.Audit([model]))
    assert posenc_audit(RIGHT).right
    for finding in (WRONG, OTHER):
        with pytest.raises(AssertionError, match=finding.module):
            posenc_audit(finding)
