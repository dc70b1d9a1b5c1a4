# SPDX-License-Identifier: MIT
"""posenc.audit without torch: what is refused, and how findings are shown. Models of transformers
are audited in tests/probe."""

import asyncio
import sys
import types

import numpy
import posenc
import pytest
from posenc import _audit, _steps
from posenc._audit import Finding

pytest_plugins = ["posenc.pytest_plugin"]
RIGHT = Finding("m.inv_freq", None, True, "right", None)
WRONG = Finding("m.rotary", "full_attention", False, "base-ignored: pairs 1-31", None)
RIGHT_REPORT = posenc.Report({"verdict": "match", "candidates": []})
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


class Buffer:
    """A tensor of torch, as much of it as an audit of buffers needs."""

    __module__ = "torch"
    device = types.SimpleNamespace(type="cpu")

    def __init__(self, array):
        self.array = array

    def float(self):
        return self

    def is_complex(self):
        return False

    def __dlpack__(self, **rest):
        return self.array.__dlpack__(**rest)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class RotaryEmbedding:
    """A rotary module whose frequencies are those of a base."""

    def __init__(self, base):
        self.inv_freq = base ** (-numpy.arange(32) / 32.0)

    def forward(self, x, position_ids): ...

    def named_buffers(self, recurse):
        return [("inv_freq", Buffer(self.inv_freq.astype("f4")))]

    def named_modules(self):
        return [("rotary", self)]


CONFIG = {"model_type": "llama", "head_dim": 64, "rope_theta": 500000}


@pytest.fixture
def torch(monkeypatch):
    """cos and sin of a module's forward, at ten positions."""
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace())

    def waves(module, at, more):
        angles = numpy.outer(at, module.inv_freq)[None]
        return Buffer(numpy.cos(angles)), Buffer(numpy.sin(angles))

    monkeypatch.setattr(_audit, "_waves", waves)


def told(found):
    return [finding[:4] for finding in found.findings]


@pytest.mark.parametrize("base, right", [(500000.0, True), (10000.0, False)])
def test_the_same_over_http(torch, remote, url, base, right):
    model = RotaryEmbedding(base)

    async def awaited():
        async with posenc.connect_async(url) as server:
            return await server.audit(model, CONFIG)

    here, there, found = posenc.audit(model, CONFIG), remote.audit(model, CONFIG), awaited()
    assert here.right is right and len(here.findings) == (2 if right else 1), here
    verdicts = ["right", "right: cos and sin"] if right else ["base-ignored"]
    assert [one.verdict for one in here.findings] == verdicts
    assert told(here) == told(there) == told(asyncio.run(found))


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("failure", [posenc.ConnectionFailed("http://a", "lost"), TimeoutError()])
def test_a_lost_server_is_no_finding(torch, lost, failure):
    """At the config, at the buffer, at the rotation: an error, and never a model that is right."""
    requests = []

    def report(request):
        requests.append(request)
        if len(requests) > lost:
            raise failure
        return posenc.config(CONFIG) if len(requests) == 1 else RIGHT_REPORT

    with pytest.raises(type(failure)):
        _steps.run(_audit.steps(RotaryEmbedding(500000.0), CONFIG, None), report)
    assert len(requests) == lost + 1


def test_findings():
    assert posenc.Audit([OTHER]).right is None
    assert posenc.Audit([RIGHT, OTHER]).right is True
    assert posenc.Audit([RIGHT, OTHER, RIGHT]).verdict.startswith("right: 2 of 3 ")
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
