# SPDX-License-Identifier: MIT
"""Q, K and V of a trained model for a real sentence (tests/data/make_real_batch.py)."""

import pathlib

import numpy
import pytest
from safetensors import safe_open

from service import SAFETENSORS, assert_close, attended, call, post_tensors, rotated

FILE = pathlib.Path(__file__).resolve().parents[1] / "data" / "real_batch.safetensors"


@pytest.fixture(scope="module")
def batch():
    with safe_open(FILE, "numpy") as file:
        assert "lighthouse" in file.metadata()["sentence"]
        return {name: file.get_tensor(name) for name in file.keys()}


def test_it_is_real(batch):
    assert {t.shape for t in batch.values()} == {(1, 12, 35, 32)}
    assert all(0.1 < t.std() < 3 and len(numpy.unique(t)) > 13000 for t in batch.values())


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("start", [0, 131072])
def test_rotated(server, batch, layout, start):
    """The file as it is, as curl --data-binary would send it."""
    answer = call(
        server,
        "POST",
        "/v1/rotation",
        FILE.read_bytes(),
        {"Content-Type": SAFETENSORS},
        encoding="rope",
        layout=layout,
        axes="bhsd",
        start=start,
    )
    assert answer.status == 200, answer.body
    got = answer.tensors
    assert set(got) == {"q", "k", "v"}
    for name, x in batch.items():
        assert_close(got[name], rotated(x, start + numpy.arange(35), layout), 2e-7)


@pytest.mark.parametrize("scheme", ["none", "rope", "alibi"])
def test_attention(server, batch, scheme):
    layout = {"layout": "half"} if scheme == "rope" else {}
    for output, expected in zip(
        ("scores", "weights", "output"), attended(**batch, scheme=scheme, causal=True)
    ):
        got = post_tensors(
            server, "/v1/attention", batch, encoding=scheme, causal=True, outputs=output, **layout
        )[output]
        assert_close(got, expected, 2e-6)


def test_scores_of_rotated_tensors(server, batch):
    """Rotating over one route and attending blind over the other is attention with position."""
    turned = post_tensors(
        server,
        "/v1/rotation",
        {"q": batch["q"], "k": batch["k"]},
        encoding="rope",
        layout="half",
        axes="bhsd",
        start=0,
    )
    apart = post_tensors(server, "/v1/attention", turned, encoding="none", outputs="scores")
    once = post_tensors(
        server,
        "/v1/attention",
        {"q": batch["q"], "k": batch["k"]},
        encoding="rope",
        layout="half",
        outputs="scores",
    )
    assert_close(apart["scores"], once["scores"].astype(numpy.float64), 1e-6)
