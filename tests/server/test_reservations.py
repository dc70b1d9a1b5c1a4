# SPDX-License-Identifier: MIT
"""The memory that requests hold while they are under way, as reported by /metrics."""

import gzip
import os
import socket

import pytest
import wire
import zstandard
from held import HOST, MIB, buffers_are_kept, held, metric, rotation

SIZE = 3 * MIB + 7  # no round number


@pytest.fixture(scope="module")
def budget(start_shared):
    return start_shared("--log-format", "off", "--memory-budget", "256MiB")


def upload(server, sent, media, *fields, size=SIZE, path=b"/v1/rotation"):
    """A connection that has sent a head and some of a body."""
    client = wire.connect(server.port, 30)
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: localhost", b"Content-Type: " + media, *fields]
    lines += [b"Content-Length: %d" % size] if size else [b"Transfer-Encoding: chunked"]
    client.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + sent)
    return client


def expect_held(server, least, most=None):
    """Within these bounds, and nothing after all have ended."""
    most = least if most is None else most
    assert wire.eventually(lambda: least <= held(server) <= most), (least, held(server), most)


@pytest.mark.parametrize(
    "media, times",
    [
        (b"application/octet-stream", 2),
        (b"application/x-npy", 2),
        (b"application/x-safetensors", 2),
        (b"text/csv", 2),
        (b"application/json", 4),
        (b"text/json", 4),
        (b"application/a+json", 4),
        (b"application/json; charset=utf-8", 4),
    ],
)
def test_half_an_upload(budget, media, times):
    """The body and as much again for the work; text takes three times as much."""
    for sent in (b"", b"x", b"x" * (SIZE // 2)):
        with upload(budget, sent, media):
            expect_held(budget, times * SIZE)
        expect_held(budget, 0)


def chunk(size):
    return b"%x\r\n" % size + b"x" * size + b"\r\n"


@pytest.mark.parametrize(
    "media, times", [(b"application/octet-stream", 2), (b"application/json", 4)]
)
def test_a_body_of_unknown_length(budget, media, times):
    """By its capacity, which doubles whenever it is full."""
    with upload(budget, chunk(1), media, size=None) as client:
        expect_held(budget, times * (64 << 10))
        client.sendall(chunk((64 << 10) - 1))
        expect_held(budget, times * (64 << 10))
        client.sendall(chunk(1))
        expect_held(budget, times * (128 << 10))
        client.sendall(chunk(MIB))
        expect_held(budget, times * 2 * MIB)
    expect_held(budget, 0)


def test_decoders(budget):
    """The memory of a decoder is counted too: zstd's window, zlib's tables."""
    parameters = zstandard.ZstdCompressionParameters(window_log=23, compression_level=3)
    body = zstandard.ZstdCompressor(compression_params=parameters).compress(
        os.urandom(1000) * (20 * MIB // 1000)
    )
    with upload(
        budget, body[:1500], b"application/octet-stream", b"Content-Encoding: zstd", size=len(body)
    ):
        expect_held(budget, 8 * MIB, 12 * MIB)
    body = gzip.compress(bytes(20 * MIB))
    rooms = 2 * (64 << 10)  # of what is made, and of what waits
    with upload(
        budget, body[:1000], b"application/octet-stream", b"Content-Encoding: gzip", size=len(body)
    ):
        expect_held(budget, rooms + (32 << 10), rooms + (64 << 10))
    expect_held(budget, 0)


def narrow(server):
    """A client that reads slowly."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(30)
    client.connect(("127.0.0.1", server.port))
    return client


def head_read(client):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    assert head.startswith(b"HTTP/1.1 200"), head


def test_half_an_answer(budget):
    """Twice the body until the answer begins; then the body, which is turned where it lies, and cos
    and sin; when it was read, nothing."""
    rows, size = 4096, 16 * MIB
    waves = rows * 128 * 4
    with narrow(budget) as client:
        client.sendall(rotation(rows, size) + bytes(size - 1))
        expect_held(budget, 2 * size)
        client.sendall(b"\0")
        head_read(client)
        expect_held(budget, size + waves, size + waves + MIB // 4)
        left = size
        while left:
            got = len(client.recv(min(left, MIB)))
            assert got
            left -= got
        expect_held(budget, 0)
    assert metric(budget, "posenc_memory_kept_bytes") >= (size if buffers_are_kept() else 0)


def test_half_a_stream(budget):
    """One block that the loop makes, or four of the pool, and a buffer of 256 KiB, however long the
    answer; a kept answer is the cache's."""
    for target, least, most in (
        (b"rope/table?dim=128&length=2000000", MIB // 2, 3 * MIB // 4),
        (b"rope/table?dim=128&length=2000000&arithmetic=hf", 9 * MIB // 4, 7 * MIB // 2),
    ):
        with narrow(budget) as client:
            client.sendall(
                b"GET /v1/encodings/" + target + b"&format=raw HTTP/1.1\r\n" + HOST + b"\r\n"
            )
            head_read(client)
            expect_held(budget, least, most)
        expect_held(budget, 0)


@pytest.mark.parametrize("coding, workspace", [(b"gzip", 256 << 10), (b"zstd", MIB)])
def test_half_a_coded_stream(budget, coding, workspace):
    """The memory of the encoder of each of four blocks is held with the block."""
    ask = (
        b"GET /v1/encodings/rope/table?dim=128&length=100000&format=json HTTP/1.1\r\n"
        + HOST
        + b"%s\r\n"
    )
    holds = []
    for field in (b"", b"Accept-Encoding: %s\r\n" % coding):
        with narrow(budget) as client:
            client.sendall(ask % field)
            head_read(client)
            assert wire.eventually(lambda: held(budget) > MIB)
            holds.append(held(budget))
        expect_held(budget, 0)
    assert holds[1] - holds[0] >= 4 * workspace


def test_text_that_becomes_numbers(budget):
    """When the answer begins, the unused reservation for the work is released."""
    count = 4 << 20
    body = (
        b'{"encoding":"rope","layout":"half","axes":"bhsd","start":0,"tensors":{"q":{"shape":'
        b'[1,1,8192,%d],"data":[%s]}}}' % (count // 8192, b",".join([b"0.25"] * count))
    )
    with narrow(budget) as client:
        client.sendall(
            b"POST /v1/rotation?format=raw HTTP/1.1\r\n"
            + HOST
            + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body
        )
        head_read(client)
        expect_held(budget, len(body) + count * 4, 3 * len(body))
    expect_held(budget, 0)


def test_buffers_are_used_again(budget):
    """A request as large as the last one allocates no more from the system."""
    size, most = 16 * MIB, float("inf")
    for _ in range(5):
        with wire.connect(budget.port, 30) as client:
            client.sendall(rotation(4096, size) + bytes(size))
            assert len(wire.read_answer(client.makefile("rb")).body) == size
        expect_held(budget, 0)
        kept = metric(budget, "posenc_memory_kept_bytes")
        assert (size if buffers_are_kept() else 0) <= kept <= most
        most = kept
