# SPDX-License-Identifier: MIT
"""torch's functions correctly rounded; the server is that of tests/conftest.py."""

import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))


def rounded(function):
    """Of float32 in float64, then rounded: correct but for one value in 2^28."""

    def call(x, *others):
        if x.dtype != torch.float32:
            return function(x, *others)
        others = [torch.tensor(o, dtype=torch.float32).double() for o in others]
        return function(x.double(), *others).float()

    return call


@pytest.fixture
def rounded_functions(monkeypatch):
    """torch's own power, cos and sin are good to an ulp, and which of two neighbours they give
    depends on the instruction set and on where in a vector a value stands."""
    for name in ("__rpow__", "cos", "sin"):
        monkeypatch.setattr(torch.Tensor, name, rounded(getattr(torch.Tensor, name)))
