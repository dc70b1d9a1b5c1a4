# SPDX-License-Identifier: MIT
"""The ways of HTTP: connections that are kept or gone, refusals to be asked again, progress."""
import asyncio
import contextlib
import socket
import threading

import numpy
import pytest

import posenc

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
BUSY = (b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Type: text/plain\r\n"
        b"Content-Length: 4\r\n\r\nbusy")
WHOLE = OK + b"\r\n{}"


@contextlib.contextmanager
def server(*connections):
    """Answers the requests of each connection in turn, and closes it; the heads that came."""
    listener, heads = socket.create_server(("127.0.0.1", 0)), []

    def serve():
        for answers in connections:
            client, _ = listener.accept()
            with client:
                for answer in answers:
                    head = b""
                    while b"\r\n\r\n" not in head:
                        piece = client.recv(65536)
                        if not piece:
                            return
                        head += piece
                    heads.append(head.decode())
                    client.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heads
    finally:
        listener.close()
        thread.join(10)


def test_a_server_without_room_is_asked_again():
    with server([BUSY, BUSY, WHOLE]) as (url, heads), posenc.connect(url) as remote:
        assert remote.encodings() == {}
    assert len(heads) == 3
    with server([BUSY, BUSY]) as (url, heads), posenc.connect(url, retries=1) as remote:
        with pytest.raises(posenc.Refused, match="busy") as refused:
            remote.encodings()
    assert refused.value.status == 503 and len(heads) == 2


def test_a_connection_is_kept_and_made_anew_where_the_server_closed_it():
    with server([WHOLE, WHOLE], [WHOLE]) as (url, heads), posenc.connect(url) as remote:
        assert [remote.encodings() for _ in range(3)] == [{}, {}, {}]
    assert len(heads) == 3


def test_a_new_connection_that_breaks_is_an_error():
    with server([OK + b"\r\n{"]) as (url, _), posenc.connect(url) as remote:
        with pytest.raises(Exception, match="IncompleteRead"):
            remote.encodings()


def test_a_path_in_front_and_a_token():
    with server([WHOLE]) as (url, heads):
        with posenc.connect(url + "/base/", token="a-secret") as remote:
            remote.encodings("rope")
    assert heads[0].startswith("GET /base/v1/encodings/rope ")
    assert "Authorization: Bearer a-secret\r\n" in heads[0]
    with pytest.raises(ValueError, match="http://host:port"):
        posenc.connect("127.0.0.1:8080")


def test_progress_is_told(url):
    told = []
    q = numpy.ones((1, 8, 1024, 128), "f4")
    with posenc.connect(url, progress=lambda *how: told.append(how)) as remote:
        remote.rotate("rope", q=q, axes="bhsd", layout="half", start=0)
    for what in ("send", "receive"):
        counts = [done for name, done, _ in told if name == what]
        assert counts == sorted(counts) and len(counts) >= 4
        assert counts[-1] == next(whole for name, _, whole in told if name == what) > q.nbytes


def test_asyncio_has_the_same_functions(url):
    async def ask():
        async with posenc.connect_async(url) as remote:
            q = numpy.ones((1, 8, 1024, 128), "f4")
            config = {"model_type": "llama", "head_dim": 8}
            found = await asyncio.gather(
                remote.rotate("rope", q=q, axes="bhsd", layout="half", start=0),
                remote.table(config=config, length=3),
                remote.config(config),
                remote.request("GET", "/v1/encodings/index/table?length=2&format=csv"))
            with pytest.raises(posenc.Refused, match="did you mean 'length'"):
                await remote.table("rope", dim=8, lenght=1)
            return q, *found

    q, rotated, table, report, csv = asyncio.run(ask())
    assert rotated.q.tobytes() == posenc.rotate("rope", q=q, axes="bhsd", layout="half",
                                                start=0).q.tobytes()
    assert table.names == ("cos", "sin") and report.encoding["name"] == "rope"
    assert csv.text.splitlines()[-1] == "1"


def test_asyncio_asks_again_too():
    async def ask(url):
        async with posenc.connect_async(url) as remote:
            return await remote.encodings()

    with server([BUSY, WHOLE]) as (url, heads):
        assert asyncio.run(ask(url)) == {}
    assert len(heads) == 2


def test_a_refusal_while_a_body_is_sent_is_read():
    """The server closes the connection: what it had said before counts."""
    with posenc.connect(start_narrow()) as remote:
        with pytest.raises(posenc.Refused) as refused:
            remote.rotate("rope", q=numpy.ones((1, 8, 4096, 128), "f4"), axes="bhsd",
                          layout="half", start=0)
    assert refused.value.status == 413 and "--body-max" in str(refused.value)


NARROW = []


def start_narrow():
    from conftest import servers
    NARROW.append(servers.start("--body-max", "4KiB"))
    return NARROW[-1].url


def teardown_module():
    from conftest import servers
    for running in NARROW:
        servers.finish(running)
