# SPDX-License-Identifier: MIT
"""Large bodies and answers go other ways than small ones: by pieces where others are connected,
with pages made ahead, by blocks that the loop makes. The bytes are the same."""

import concurrent.futures
import json
import pathlib
import subprocess
import threading
import time

import pytest
import requests
import wire
from held import HOST, MIB, held

SIZE = 12 * MIB
ROWS = SIZE // 512
FIELDS = {
    "Content-Type": "application/octet-stream",
    "Tensor-Dtype": "f32",
    "Tensor-Shape": f"1,1,{ROWS},128",
}
VIEWS = [
    "rope/table?dim=128&length=5000",
    "rope/table?dim=96&length=5000&part=cos&dtype=f64",
    "alibi/bias?heads=4&query_length=700&key_length=900",
    "t5/bias?query_length=400",
    "kerple-log/bias?heads=4&p=1&a=1&query_length=1024",
    "sandwich/bias?heads=4&dim=64&query_length=1024",
]


def rotated(server, form):
    answer = requests.post(
        f"{server.url}/v1/rotation?encoding=rope&layout=half&axes=bhsd"
        f"&positions=0..{ROWS - 1}&format={form}",
        data=b"\x00\x00\x80\x3f" * (SIZE // 4),
        headers=FIELDS,
        timeout=60,
    )
    assert answer.status_code == 200
    return answer.content


@pytest.mark.parametrize("form", ["raw", "npy", "safetensors"])
def test_an_answer_in_pieces(start_server, form):
    """A client alone gets its answer from one buffer, beside another one in pieces."""
    server = start_server("--log-format", "off", "--loops", "1")
    alone = rotated(server, form)
    with wire.connect(server.port):
        beside = rotated(server, form)
    assert len(alone) >= SIZE and alone == beside


def test_large_bodies_at_once(start_server):
    """Each connection is suspended until its own pages are made."""
    server = start_server("--log-format", "off", "--loops", "1", "--threads", "2")
    expected, found = rotated(server, "raw"), []
    threads = [
        threading.Thread(target=lambda: found.append(rotated(server, "raw") == expected))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 6
    assert wire.eventually(lambda: held(server) == 0)


def test_clients_that_leave_while_pages_are_made(start_server):
    server = start_server("--log-format", "off", "--loops", "1", "--threads", "1")
    head = (
        b"POST /v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0 HTTP/1.1\r\n"
        + HOST
        + b"Content-Type: application/octet-stream\r\nTensor-Dtype: f32\r\n"
        b"Tensor-Shape: 1,64,1024,128\r\nContent-Length: %d\r\n\r\n" % (32 * MIB)
    )
    for size in range(0, 16 * MIB, MIB):
        with wire.connect(server.port) as left:
            left.sendall(head + bytes(size))
    assert wire.eventually(lambda: held(server) == 0)
    assert wire.is_alive(server.port)


def sent_at(server, rate):
    """A rotation of SIZE bytes that are sent at a rate, after a pause; the status."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in FIELDS.items()).encode()
    with wire.connect(server.port, 60) as client:
        client.sendall(
            b"POST /v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0 HTTP/1.1\r\n"
            + HOST
            + fields
            + b"Content-Length: %d\r\n\r\n" % SIZE
        )
        time.sleep(0.2)
        for _ in range(SIZE // (MIB // 8)):
            client.sendall(bytes(MIB // 8))
            time.sleep(MIB / 8 / rate)
        return wire.read_answer(client.makefile("rb")).status


@pytest.mark.plain
def test_who_waits_for_pages_is_not_slow(start_server, tmp_path):
    """The time in which the server reads nothing does not count as slow, neither in a window of
    its own nor at the begin of one in which the client sends fast enough."""
    library = tmp_path / "slow.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", pathlib.Path(__file__).parent / "slow_pages.c", "-o", library],
        check=True,
    )
    server = start_server(
        "--log-format",
        "off",
        "--loops",
        "1",
        "--threads",
        "2",
        "--header-timeout",
        "500ms",
        "--body-rate-min",
        "1MiB",
        env={"LD_PRELOAD": str(library)},
    )
    with concurrent.futures.ThreadPoolExecutor() as pool:
        paced = pool.submit(sent_at, server, 16 * MIB)
        assert len(rotated(server, "raw")) == SIZE
        assert paced.result() == 200


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("form", ["raw", "npy", "safetensors"])
def test_a_stream_is_what_is_made_whole(start_server, view, form):
    """Without a cache views are streamed, ranges of them too."""
    keeps = start_server("--log-format", "off", "--loops", "1")
    streams = start_server("--log-format", "off", "--loops", "1", "--cache-max", "0")
    path = f"/v1/encodings/{view}&format={form}"
    whole = requests.get(keeps.url + path, timeout=30).content
    assert requests.get(streams.url + path, timeout=30).content == whole
    for begin, end in ((0, 300000), (1000, 1001), (262143, 800000), (len(whole) - 7, len(whole))):
        part = requests.get(
            streams.url + path, headers={"Range": f"bytes={begin}-{end - 1}"}, timeout=30
        )
        assert part.status_code == 206 and part.content == whole[begin:end]


def test_a_text_ends_anywhere_in_a_buffer(start_server):
    """Sizes of every byte around the end of the library's buffer: a number that is repeated in the
    text, and has no effect, has more and more digits."""
    server = start_server("--log-format", "off", "--cache-max", "0", "--loops", "1")
    path = "/v1/encodings/rope/table?dim=2&length={}&max_position_embeddings={}"
    buffer, sizes = 256 << 10, set()
    before, near = (len(server.get(path.format(length, 1)).content) for length in (10000, 11000))
    fewest = 11000 + int((buffer - 40 - near) * 1000 / (near - before))
    for length in range(fewest, fewest + 3):
        first = server.get(path.format(length, 1)).content
        told = first.split(b'"max_position_embeddings":1,')
        assert len(told) == 2 and len(json.loads(first)["tensors"]["sin"]["data"]) == length
        for digits in range(1, 15):
            number = 10**digits + 1
            text = server.get(path.format(length, number)).content
            assert text == (b'"max_position_embeddings":%d,' % number).join(told)
            sizes.add(len(text))
    assert min(sizes) < buffer < max(sizes)
