# SPDX-License-Identifier: MIT
"""The library answers as posencd does: status, fields and bytes of every recorded request."""
import pytest

import in_process
import record
import replay


@pytest.mark.parametrize("threads", ["1", "3"])
def test_answers(threads):
    with replay.doors(lambda told: in_process.Door([*told, ("threads", threads)])) as opened:
        count, lines = replay.differences(opened, record.read())
    assert count > 1200
    assert not lines, f"{len(lines)} lines:\n" + "\n".join(lines[:40])
