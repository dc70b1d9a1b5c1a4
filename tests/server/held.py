# SPDX-License-Identifier: MIT
"""The memory that /metrics reports as held, and requests that hold memory."""

import os
import re

import requests

HOST = b"Host: localhost\r\n"
MIB = 1 << 20


def metric(server, name):
    text = requests.get(server.url + "/metrics", timeout=10).text
    return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))


def held(server):
    return metric(server, "posenc_memory_held_bytes")


def buffers_are_kept():
    """No buffer is cached with AddressSanitizer, which needs its own allocator."""
    return "ASan" not in os.environ.get("POSENC_SANITIZED", "")


def rotation(rows, size):
    """The head of a rotation of f32 in rows of 128."""
    return (
        b"POST /v1/rotation?encoding=rope&layout=half&axes=bhsd&positions=0..%d HTTP/1.1\r\n"
        % (rows - 1)
        + HOST
        + b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\n"
        b"Tensor-Shape: 1,%d,%d,128\r\nContent-Length: %d\r\n\r\n"
        % (size // (rows * 512), rows, size)
    )
