# SPDX-License-Identifier: MIT
"""The rows about models are those that their generators measure of the installed transformers."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import model_types  # noqa: E402


def test_model_types():
    assert model_types.main(["--check"]) == 0
