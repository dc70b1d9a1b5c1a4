# SPDX-License-Identifier: MIT
"""Positional encodings for Transformers, computed exactly.

    import posenc
    cos, sin = posenc.table("rope", dim=128, length=4096)
    table = posenc.table("sinusoidal", dim=128, length=4096)

The functions of this module work inside of the process. ``posenc.connect(url)`` has the same
against a server, ``posenc.connect_async(url)`` for asyncio, and ``posenc.Local(threads=1)`` a
service of its own settings. docs/python.md has more."""

from __future__ import annotations

from ._answers import Report, Tensor, Tensors
from ._arrays import BF16
from ._audit import Audit
from ._clients import AsyncRemote, Local, Remote, connect, connect_async
from ._messages import ConnectionFailed, EncodingWarning, Refused, Reply
from ._probe import Probe

__version__ = "0.1.0"
__all__ = [
    "BF16",
    "AsyncRemote",
    "Audit",
    "ConnectionFailed",
    "EncodingWarning",
    "Local",
    "Probe",
    "Refused",
    "Remote",
    "Reply",
    "Report",
    "Tensor",
    "Tensors",
    "attention",
    "audit",
    "bias",
    "check",
    "compare",
    "config",
    "connect",
    "connect_async",
    "diagnose",
    "diagnose_positions",
    "embedding",
    "encodings",
    "engines",
    "extend",
    "frequencies",
    "golden",
    "layout",
    "lint",
    "positions",
    "probe",
    "request",
    "rotate",
    "rotate_in_place",
    "table",
    "view",
]

for _public in (
    BF16,
    AsyncRemote,
    Audit,
    ConnectionFailed,
    EncodingWarning,
    Local,
    Probe,
    Refused,
    Remote,
    Reply,
    Report,
    Tensor,
    Tensors,
):
    _public.__module__ = __name__  # where people look for them

_local = Local()
attention = _local.attention
audit = _local.audit
bias = _local.bias
check = _local.check
compare = _local.compare
config = _local.config
diagnose = _local.diagnose
diagnose_positions = _local.diagnose_positions
embedding = _local.embedding
encodings = _local.encodings
engines = _local.engines
extend = _local.extend
frequencies = _local.frequencies
golden = _local.golden
layout = _local.layout
lint = _local.lint
positions = _local.positions
probe = _local.probe
request = _local.request
rotate = _local.rotate
rotate_in_place = _local.rotate_in_place
table = _local.table
view = _local.view
