# SPDX-License-Identifier: MIT
"""A fixture of pytest that audits models: ``pytest_plugins = ["posenc.pytest_plugin"]`` in a
conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from . import Audit, audit


@pytest.fixture
def posenc_audit() -> Callable[..., Audit]:
    """Audits a model as posenc.audit does, and fails the test unless all that was compared is
    right and something was."""

    def check(model: Any, config: Any = None, **given: Any) -> Audit:
        found = audit(model, config, **given)
        assert found.right, str(found)
        return found

    return check
