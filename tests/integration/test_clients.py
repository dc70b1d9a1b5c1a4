# SPDX-License-Identifier: MIT
"""200 clients at once, each with calls of its own; every body is checked."""

import concurrent.futures
import threading

import numpy

from service import (
    alibi_slopes,
    assert_close,
    attended,
    get,
    inv_freq,
    post_json,
    post_tensors,
    rotated,
)

CLIENTS, CALLS = 200, 4


def a_table(server, draw, i):
    dim, length, start = 2 * int(draw.integers(1, 40)), int(draw.integers(0, 300)), i * 31
    got = get(
        server,
        "/v1/encodings/rope/table",
        dim=dim,
        length=length,
        start=start,
        dtype="f64",
        format="npy",
    ).npy
    angle = (start + numpy.arange(length))[:, None] * inv_freq(dim)
    assert_close(got, numpy.stack([numpy.cos(angle), numpy.sin(angle)]), 1e-11)


def a_table_in_json(server, draw, i):
    dim, length = 2 * int(draw.integers(1, 20)), int(draw.integers(1, 60))
    told = get(
        server, "/v1/encodings/sinusoidal/table", dim=dim, length=length, base=50 + i, dtype="f64"
    ).json
    assert told["encoding"]["base"] == 50 + i
    angle = numpy.arange(length)[:, None] * inv_freq(dim, 50 + i)
    expected = numpy.stack([numpy.sin(angle), numpy.cos(angle)], -1).reshape(length, dim)
    assert_close(numpy.array(told["tensors"]["table"]["data"]), expected, 1e-12)


def a_bias(server, draw, i):
    heads, keys = int(draw.integers(1, 20)), 1 + i % 50
    told = get(
        server,
        "/v1/encodings/alibi/bias",
        heads=heads,
        query_length=3,
        key_length=keys,
        query_start=0,
        dtype="f64",
    ).json["tensors"]
    distance = numpy.abs(numpy.arange(3)[:, None] - numpy.arange(keys))
    expected = -alibi_slopes(heads)[:, None, None] * distance
    assert_close(numpy.array(told["bias"]["data"]), expected, 1e-15)


def a_rotation(server, draw, i):
    x = draw.standard_normal((1, int(draw.integers(1, 9)), int(draw.integers(1, 200)), 32))
    x = x.astype(numpy.float32)
    layout = ("half", "interleaved")[i % 2]
    got = post_tensors(
        server, "/v1/rotation", {"q": x}, encoding="rope", layout=layout, axes="bhsd", start=i
    )
    assert_close(got["q"], rotated(x, i + numpy.arange(x.shape[2]), layout), 1e-6)


def a_rotation_in_json(server, draw, i):
    x = draw.standard_normal((1, 2, 5, 8))
    answer = post_json(
        server,
        "/v1/rotation",
        {
            "encoding": "rope",
            "layout": "half",
            "axes": "bhsd",
            "positions": {"start": -i},
            "tensors": {f"t{i}": {"dtype": "f64", "shape": list(x.shape), "data": x.tolist()}},
        },
    )
    got = numpy.array(answer.json["tensors"][f"t{i}"]["data"])
    assert_close(got, rotated(x, -i + numpy.arange(5), "half"), 1e-12)


def an_attention(server, draw, i):
    scheme = ("none", "rope", "alibi")[i % 3]
    given = {name: draw.standard_normal((1, 4, 1 + i % 70, 16)) for name in "qkv"}
    layout = {"layout": "half"} if scheme == "rope" else {}
    got = post_tensors(server, "/v1/attention", given, encoding=scheme, causal=True, **layout)
    assert_close(got["output"], attended(**given, scheme=scheme, causal=True)[2], 1e-11)


def a_refusal(server, draw, i):
    answer = get(server, "/v1/encodings/rope/table", dim=8, lenght=i)
    assert answer.status == 422 and answer.json["errors"][0]["parameter"] == "lenght"
    assert answer.json["request_id"] == answer.headers["x-request-id"]


KINDS = [a_table, a_table_in_json, a_bias, a_rotation, a_rotation_in_json, an_attention, a_refusal]


def test_200_clients_of_mixed_calls(server):
    together = threading.Barrier(CLIENTS, timeout=60)
    checked = []

    def client(i):
        draw = numpy.random.default_rng(i)
        together.wait()
        for number in range(CALLS):
            kind = KINDS[(i + number) % len(KINDS)]
            kind(server, draw, i)
            checked.append(kind.__name__)

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as executor:
        for done in [executor.submit(client, i) for i in range(CLIENTS)]:
            done.result()
    print(f"{len(checked)} bodies checked: { ({name: checked.count(name) for name in checked}) }")
    assert len(checked) == CLIENTS * CALLS
    assert len(set(checked)) == len(KINDS)
    assert get(server, "/readyz").status == 200
