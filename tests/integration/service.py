# SPDX-License-Identifier: MIT
"""A small client of posencd, and what the tests compare its answers with: plain numpy in float64,
written from the formulas."""

import dataclasses
import http.client
import io
import json
import math
import urllib.parse

import numpy
from safetensors.numpy import load as safetensors_load
from safetensors.numpy import save as safetensors_save

SAFETENSORS = "application/x-safetensors"


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict  # names in lower case
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    def good(self):
        assert self.status == 200, (self.status, self.headers, self.body[:1000])
        return self

    @property
    def npy(self):
        self.good()
        return numpy.load(io.BytesIO(self.body), allow_pickle=False)

    @property
    def tensors(self):
        self.good()
        return safetensors_load(self.body)


def query_text(parameters):
    """Booleans and lists in the words of the service; None is left out."""
    words = {True: "true", False: "false"}
    pairs = [
        (
            key,
            words[value]
            if isinstance(value, bool)
            else ",".join(map(str, value))
            if isinstance(value, (list, tuple))
            else value,
        )
        for key, value in parameters.items()
        if value is not None
    ]
    return urllib.parse.urlencode(pairs)


def call(server, method, path, body=None, headers=None, **parameters):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        target = path + ("?" + query_text(parameters) if parameters else "")
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        return Answer(
            response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        )
    finally:
        connection.close()


def get(server, path, headers=None, **parameters):
    return call(server, "GET", path, None, headers, **parameters)


def table(server, name, view="table", **parameters):
    """A view as a float64 array of its one tensor."""
    answer = get(server, f"/v1/encodings/{name}/{view}", format="npy", **parameters)
    assert answer.status == 200, answer.body
    return answer.npy


def post_json(server, path, body, **parameters):
    return call(
        server, "POST", path, json.dumps(body), {"Content-Type": "application/json"}, **parameters
    )


def tensors_answer(server, path, tensors, **parameters):
    """Posts safetensors, parameters in the query."""
    body = safetensors_save({name: numpy.ascontiguousarray(t) for name, t in tensors.items()})
    return call(server, "POST", path, body, {"Content-Type": SAFETENSORS}, **parameters)


def post_tensors(server, path, tensors, **parameters):
    """The answer's tensors by name."""
    answer = tensors_answer(server, path, tensors, **parameters)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == SAFETENSORS
    return answer.tensors


def inv_freq(dim, base=10000.0):
    return float(base) ** (-numpy.arange(0, dim, 2, dtype=numpy.float64) / dim)


def rotated(x, positions, layout, rotary_dim=None, base=10000.0, frequencies=None, factor=1.0):
    """x [b, h, s, d] in float64; positions [s] or [b, s]."""
    dim = rotary_dim or x.shape[-1]
    frequencies = inv_freq(dim, base) if frequencies is None else frequencies
    angle = numpy.asarray(positions, numpy.float64)[..., None] * frequencies
    angle = angle[:, None] if angle.ndim == 3 else angle[None, None]
    turn = factor * numpy.exp(1j * angle)
    y = numpy.array(x, numpy.float64)
    if layout == "half":
        first, second = slice(0, dim // 2), slice(dim // 2, dim)
    else:
        first, second = slice(0, dim, 2), slice(1, dim, 2)
    pairs = (y[..., first] + 1j * y[..., second]) * turn
    y[..., first], y[..., second] = pairs.real, pairs.imag
    return y


def alibi_slopes(heads, largest=8.0):
    def of_power(count):
        return [2.0 ** (-largest * (i + 1) / count) for i in range(count)]

    below = 2 ** int(math.log2(heads))
    return numpy.array(of_power(below) + of_power(2 * below)[0::2][: heads - below])


def softmax(scores):
    """Rows that are masked whole give zeros."""
    top = scores.max(-1, keepdims=True)
    parts = numpy.exp(scores - numpy.where(numpy.isfinite(top), top, 0))
    total = parts.sum(-1, keepdims=True)
    return numpy.divide(parts, total, out=numpy.zeros_like(parts), where=total > 0)


def attended(
    q,
    k,
    v=None,
    scheme="none",
    causal=False,
    rel_k=None,
    rel_v=None,
    layout="half",
    query_start=None,
):
    """(scores, weights, output) from the definitions, one query and key at a time where it shows
    the definition best."""
    q, k = (numpy.asarray(t, numpy.float64) for t in (q, k))
    heads, queries, keys, dim = q.shape[1], q.shape[2], k.shape[2], q.shape[3]
    group = heads // k.shape[1]
    start = keys - queries if query_start is None else query_start
    i, j = start + numpy.arange(queries)[:, None], numpy.arange(keys)[None]
    if scheme == "rope":
        q, k = rotated(q, i[:, 0], layout), rotated(k, j[0], layout)
    k = numpy.repeat(k, group, axis=1)
    scores = q @ k.swapaxes(-1, -2)
    if scheme == "shaw":
        far = len(rel_k) // 2
        place = numpy.clip(j - i, -far, far) + far
        scores = scores + numpy.einsum("bhid,ijd->bhij", q, numpy.float64(rel_k)[place])
    scores = scores / math.sqrt(dim)
    if scheme == "alibi":
        scores = scores - alibi_slopes(heads)[:, None, None] * numpy.abs(i - j)
    if causal:
        scores = numpy.where(j > i, -numpy.inf, scores)
    weights = softmax(scores)
    if v is None:
        return scores, weights, None
    output = weights @ numpy.repeat(numpy.float64(v), group, axis=1)
    if scheme == "shaw" and rel_v is not None:
        output = output + numpy.einsum("bhij,ijd->bhid", weights, numpy.float64(rel_v)[place])
    return scores, weights, output


def assert_close(got, expected, tolerance):
    """Are infinities equal, and finite values within tolerance of the largest?"""
    assert got.shape == expected.shape
    assert numpy.array_equal(numpy.isneginf(got), numpy.isneginf(expected))
    finite = numpy.isfinite(expected)
    error = numpy.abs(got[finite].astype(numpy.float64) - expected[finite])
    assert error.size == 0 or error.max() <= tolerance * max(1.0, numpy.abs(expected[finite]).max())
