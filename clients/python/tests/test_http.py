# SPDX-License-Identifier: MIT
"""The ways of HTTP, with and without asyncio: every option of connect and connect_async,
connections that are kept or gone, refusals after which a request is sent again, progress."""

import asyncio
import gzip
import inspect
import io
import sys
import time
import types

import numpy
import posenc
import pytest
from posenc import _http
from scripted import NEVER, OK, WHOLE, closed_port, refusal, server

BUSY = refusal()
Q = numpy.ones((1, 1, 2, 4), "f4")
ROTATION = {"axes": "bhsd", "layout": "half", "start": 0}


def _by_connect(url, *calls, **options):
    with posenc.connect(url, **options) as remote:
        return [call(remote) for call in calls]


def _by_connect_async(url, *calls, **options):
    async def run():
        async with posenc.connect_async(url, **options) as remote:
            return [await call(remote) for call in calls]

    return asyncio.run(run())


WAYS = {"connect": _by_connect, "connect_async": _by_connect_async}


def catalogue(remote):
    return remote.encodings("rope")


@pytest.fixture(params=WAYS)
def way(request):
    """way(url, calls, options of connect): what the calls give."""
    return WAYS[request.param]


@pytest.fixture
def slept(monkeypatch):
    """The seconds that were waited for between requests, without the wait."""
    found = []

    async def sleep(seconds):
        found.append(seconds)

    monkeypatch.setattr("posenc._http.time.sleep", found.append)
    monkeypatch.setattr("posenc._aio.asyncio.sleep", sleep)
    return found


# ---- addresses, tokens, fields -------------------------------------------------------------------


@pytest.mark.parametrize(
    "path,expected",
    [("", ""), ("/", ""), ("/base", "/base"), ("/base/", "/base"), ("/a/b//", "/a/b")],
)
def test_a_path_in_front(way, path, expected):
    with server([WHOLE]) as found:
        assert way(found.url + path, catalogue) == [{}]
    assert found.lines == [f"GET {expected}/v1/encodings/rope HTTP/1.1"]


def test_fields_of_a_request(way):
    with server([WHOLE, refusal(404)]) as found:
        way(
            found.url,
            lambda remote: remote.compare("rope", "alibi", note="x" * 99),
            lambda remote: remote.request("PUT", "/v1/x", b"body", {"X-More": "kept"}),
        )
    posted, put = found.requests
    assert posted.line == "POST /v1/comparison HTTP/1.1"
    assert posted.fields["content-type"] == posted.fields["accept"] == "application/json"
    assert int(posted.fields["content-length"]) == len(posted.body) > 99
    assert b'"note":"xxx' in posted.body
    assert (put.line, put.body, put.fields["x-more"]) == ("PUT /v1/x HTTP/1.1", b"body", "kept")
    for one in found.requests:
        assert one.fields["accept-encoding"] == "identity"
        assert one.fields["host"] == f"127.0.0.1:{found.port}"


def test_a_body_of_tensors_arrives(way):
    answer = (
        OK.replace(b"json", b"x-safetensors").replace(b": 2", b": 10")
        + b"\r\n"
        + (2).to_bytes(8, "little")
        + b"{}"
    )
    with server([answer]) as found:
        way(found.url, lambda remote: remote.rotate("rope", q=Q, **ROTATION))
    assert found.requests[0].body.endswith(Q.tobytes())
    assert int(found.requests[0].fields["content-length"]) == len(found.requests[0].body)


def test_a_token(way):
    with server([WHOLE], [WHOLE]) as found:
        way(found.url, catalogue, token="a-secret")
        way(found.url, catalogue)
    first, second = found.requests
    assert first.fields["authorization"] == "Bearer a-secret"
    assert "authorization" not in second.fields


CASES = [str, str.lower, str.upper]


@pytest.mark.parametrize("case", CASES)
def test_fields_that_are_given_take_the_place_of_the_clients_own(way, case):
    """Whatever the case of their names, and once; but the length is that of the body."""
    given = {
        "Accept-Encoding": "gzip",
        "Authorization": "Basic eA==",
        "Content-Type": "a/b",
        "Accept": "text/csv",
        "User-Agent": "mine",
        "Content-Length": "99",
        "X-More": "kept",
    }
    for body in (b"", b"body"):
        with server([refusal(404)]) as found:
            fields = {case(name): value for name, value in given.items()}
            way(
                found.url,
                lambda remote, fields=fields, body=body: remote.request("PUT", "/", body, fields),
                token="a-secret",
            )
        (arrived,) = found.requests
        own = {"Content-Length": str(len(body))} if body else {}
        told = {name.lower(): value for name, value in (given | own).items()}
        if not body:
            told.pop("content-length")
            assert arrived.fields.pop("content-length", "0") == "0"
        assert {name: arrived.fields.get(name) for name in told} == told


def test_an_answer_with_a_coding_comes_as_it_is(way):
    content = gzip.compress(b"a,b")
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Encoding: gzip\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(content), content)
    )
    with server([answer, WHOLE]) as found:
        reply, report = way(
            found.url,
            lambda remote: remote.request("GET", "/x", fields={"Accept-Encoding": "gzip"}),
            catalogue,
        )
    assert reply.content == content and reply.fields.get("Content-Encoding") == "gzip"
    assert report == {} and reply.parts[0].flags.writeable


def test_proxies_of_the_environment_are_not_used(way, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    with server([WHOLE]) as found:
        assert way(found.url, catalogue) == [{}]


def test_https_is_spoken(way):
    with server([WHOLE]) as found:
        url = found.url.replace("http:", "https:")
        with pytest.raises(posenc.ConnectionFailed, match=f"cannot connect to {url}: ") as failed:
            way(url, catalogue)
    assert found.raw[:1] == b"\x16" and not found.requests and failed.value.url == url


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://", "file:///x", ""])
def test_what_is_no_address(url):
    for connect in (posenc.connect, posenc.connect_async):
        with pytest.raises(ValueError, match="http://host:port"):
            connect(url)


# ---- requests that are sent again ----------------------------------------------------------------


@pytest.mark.parametrize("retries", [0, 1, 3, None])
def test_retries(way, retries, slept):
    """As often as `retries` says, which is 4 where it is not given."""
    times = 4 if retries is None else retries
    options = {} if retries is None else {"retries": retries}
    with server([BUSY] * (times + 1)) as found:
        with pytest.raises(posenc.Refused, match="busy") as refused:
            way(found.url, catalogue, **options)
    assert len(found.requests) == times + 1 and refused.value.status == 503
    with server([BUSY] * times + [WHOLE]) as found:
        assert way(found.url, catalogue, **options) == [{}]
    assert slept == [0] * 2 * times


@pytest.mark.parametrize(
    "after,seconds", [("0", 0), ("3", 3), ("30", 30), ("31", 30), ("86400", 30), ("9" * 400, 30)]
)
def test_the_seconds_of_retry_after_have_a_bound(way, after, seconds, slept):
    with server([refusal(retry_after=after), WHOLE]) as found:
        assert way(found.url, catalogue) == [{}]
    assert slept == [seconds]


@pytest.mark.parametrize(
    "answer",
    [
        refusal(retry_after=None),
        refusal(retry_after="-1"),
        refusal(retry_after="soon"),
        refusal(retry_after=""),
        refusal(retry_after="1.5"),
        refusal(retry_after="+3"),
        refusal(retry_after="3, 5"),
        refusal(retry_after="Wed, 21 Oct 2026 07:28:00 GMT"),
        refusal(retry_after="\u00b2").decode().encode("latin-1"),  # a superscript
        refusal(429),
        refusal(500),
        refusal(504),
        refusal(413),
        refusal(200),
    ],
)
def test_what_is_not_sent_again(way, answer, slept):
    with server([answer]) as found:
        (reply,) = way(found.url, lambda remote: remote.request("GET", "/v1"))
    assert len(found.requests) == 1 and not slept
    assert reply.status == int(answer[9:12]) and reply.text == "busy"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_followed(way, status):
    """A token goes nowhere else; request() has the reply, and a function names the place."""
    with server([WHOLE]) as other:
        place = f"{other.url}/v1/encodings"
        answer = (
            f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
        ).encode()
        with server([answer, answer]) as found:
            (reply,) = way(found.url, lambda remote: remote.request("GET", "/v1"), token="secret")
        assert (reply.status, reply.fields.get("location")) == (status, place)
        with server([answer]) as found:
            with pytest.raises(ValueError, match=f"status {status}.* at {place}"):
                way(found.url, catalogue, token="secret")
        assert not other.requests


def test_it_is_really_waited(way):
    with server([refusal(retry_after="1"), WHOLE]) as found:
        began = time.monotonic()
        way(found.url, catalogue)
        assert 0.9 < time.monotonic() - began < 10


# ---- failures ------------------------------------------------------------------------------------


def test_a_port_without_a_server_is_named(way):
    url = f"http://127.0.0.1:{closed_port()}/base"
    with pytest.raises(posenc.ConnectionFailed, match=f"cannot connect to {url}: ") as failed:
        way(url, catalogue)
    assert failed.value.url == url and isinstance(failed.value, ConnectionError)


def test_a_name_without_a_machine_is_named(way):
    with pytest.raises(posenc.ConnectionFailed, match="cannot connect to http://no-host.invalid: "):
        way("http://no-host.invalid", catalogue)


def test_a_password_is_not_shown(way):
    port = closed_port()
    with pytest.raises(posenc.ConnectionFailed) as failed:
        way(f"http://me:a-secret@127.0.0.1:{port}/x", catalogue)
    assert "a-secret" not in str(failed.value) and f"http://127.0.0.1:{port}/x" in str(failed.value)


@pytest.mark.parametrize("answer", [OK + b"\r\n{", b"", b"HTTP/1.1 2", b"no HTTP\r\n\r\n"])
def test_an_answer_that_breaks_off_is_a_failure(way, answer):
    with server([answer]) as found:
        with pytest.raises(posenc.ConnectionFailed, match=f"connection to {found.url} broke: .+"):
            way(found.url, catalogue)
    assert len(found.requests) == 1


def test_timeouts(way):
    for answer in (NEVER, OK + b"\r\n{"):
        with server([answer, NEVER]) as found:
            began = time.monotonic()
            with pytest.raises(TimeoutError, match=f"{found.url} did not answer within 0.3 s"):
                way(found.url, catalogue, timeout=0.3)
            assert 0.2 < time.monotonic() - began < 10


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
# What a server answers, the timeout, and the failure.
FAILURES = {
    "a timeout": (NEVER, 0.1, TimeoutError),
    "a timeout within the answer": (OK + b"\r\n{", 0.1, TimeoutError),
    "no answer": (b"", 10, ConnectionError),
    "half of a head": (b"HTTP/1.1 2", 10, ConnectionError),
    "no HTTP": (b"no HTTP\r\n\r\n", 10, ConnectionError),
    "half of a body": (OK + b"\r\n{", 10, ConnectionError),
    "a chunk without a length": (CHUNKED + b"no\r\n", 10, ConnectionError),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("kept", [False, True])
def test_no_connection_is_open_after_a_failure(name, kept, monkeypatch):
    """Though the exception, which has its frames, is still there."""
    answer, timeout, failure = FAILURES[name]
    made, connect = [], _http.http.client.HTTPConnection

    def connection(*arguments, **options):
        made.append(connect(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(_http.http.client, "HTTPConnection", connection)
    connections = [[WHOLE, answer], [answer]] if kept else [[answer]]
    with server(*connections) as found, posenc.connect(found.url, timeout=timeout) as remote:
        if kept:
            assert remote.encodings() == {}
        with pytest.raises(failure) as raised:
            remote.encodings()
        assert raised.value and made and [one.sock for one in made] == [None] * len(made)
        assert not remote._connections._idle


def test_a_failure_travels_between_processes():
    failed = posenc.ConnectionFailed("http://x", "cannot connect")
    kind, arguments = failed.__reduce__()
    assert (kind(*arguments).url, str(kind(*arguments))) == ("http://x", "cannot connect")


# ---- connections ---------------------------------------------------------------------------------


def test_a_connection_is_kept_and_closed_at_the_end(way):
    with server([WHOLE, WHOLE, WHOLE, NEVER]) as found:
        assert way(found.url, *[catalogue] * 3) == [{}, {}, {}]
        deadline = time.monotonic() + 10
        while not found.closed and time.monotonic() < deadline:
            time.sleep(0.01)
    assert [one.connection for one in found.requests] == [0, 0, 0] and found.closed == [0]


def test_connections_are_closed_by_close():
    async def ask(url):
        remote = posenc.connect_async(url)
        await remote.encodings()
        await remote.close()
        await wait()

    async def wait():
        deadline = time.monotonic() + 10
        while not found.closed and time.monotonic() < deadline:
            await asyncio.sleep(0.01)

    with server([WHOLE, NEVER]) as found:
        remote = posenc.connect(found.url)
        remote.encodings()
        assert not found.closed
        idle = list(remote._connections._idle)  # so that no garbage collection closes them
        remote.close()
        assert len(idle) == 1 and idle[0].sock is None
        asyncio.run(wait())
        assert found.closed == [0]
    with server([WHOLE, NEVER]) as found:
        asyncio.run(ask(found.url))
        assert found.closed == [0]


def test_a_with_block_closes_its_connections():
    """Themselves, whether or not garbage collection would."""

    async def ask(url):
        async with posenc.connect_async(url) as remote:
            await remote.encodings()
            assert not remote._connections._client.is_closed
        return remote

    with server([WHOLE, NEVER]) as found:
        with posenc.connect(found.url) as remote:
            remote.encodings()
            (idle,) = remote._connections._idle
            assert idle.sock is not None
        assert idle.sock is None and not remote._connections._idle
    with server([WHOLE, NEVER]) as found:
        assert asyncio.run(ask(found.url))._connections._client.is_closed


def test_a_connection_that_the_server_ends_is_not_used_again(way):
    closing = WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with server([closing], [WHOLE, WHOLE], [WHOLE]) as found:
        assert way(found.url, *[catalogue] * 3) == [{}, {}, {}]
    assert [one.connection for one in found.requests] == [0, 1, 1]


def test_a_connection_is_made_anew_where_the_server_closed_it():
    with server([WHOLE, WHOLE], [WHOLE]) as found, posenc.connect(found.url) as remote:
        assert remote.encodings() == remote.encodings() == {}
        time.sleep(0.3)  # the server closes it after 0.2 s
        assert remote.encodings() == {}
    assert [one.connection for one in found.requests] == [0, 0, 1]


def test_answers_without_a_length_and_without_a_body(way):
    chunked = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    empty = b"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n"
    with server([chunked, empty, WHOLE]) as found:
        first, second, _ = way(found.url, *[lambda remote: remote.request("GET", "/v1")] * 3)
    assert (first.status, first.text, second.status, second.content) == (200, "abcde", 204, b"")
    assert first.fields.get("content-TYPE") == "text/plain" and first.parts[0].flags.writeable


# ---- progress ------------------------------------------------------------------------------------


class Bar:
    """In place of tqdm."""

    def __init__(self, desc, total, unit, unit_scale):
        self.desc, self.total, self.n, self.closed = desc, total, 0, False
        BARS.append(self)

    def update(self, count):
        self.n += count

    def close(self):
        self.closed = True


BARS = []


@pytest.fixture
def bars(monkeypatch):
    BARS.clear()
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(_http, "PIECE", 100)
    return BARS


def large(size):
    return OK.replace(b": 2\r", b": %d\r" % size) + b"\r\n" + b'"' + b"x" * (size - 2) + b'"'


def transferred(progress, size=1000, sent=500):
    with server([large(size)]) as found, posenc.connect(found.url, progress=progress) as remote:
        remote.request("POST", "/v1/config", b"y" * sent)


def test_a_function_is_told_of_each_piece(bars):
    for sent in (500, 0):  # small transfers too
        told = []
        transferred(lambda *how: told.append(how), sent=sent)
        assert told == [("send", done, 500) for done in range(100, 600, 100) if sent] + [
            ("receive", done, 1000) for done in range(100, 1100, 100)
        ]
    assert not bars


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "progress,terminal,from_size,shown",
    [
        (True, False, 0, True),
        (True, True, 0, True),
        (None, True, 0, True),
        (None, False, 0, False),
        (False, True, 0, False),
        (None, True, 2000, False),
        (True, False, 2000, False),
    ],
)
def test_bars(bars, monkeypatch, progress, terminal, from_size, shown):
    """Of tqdm, where transfers are large: with True, or where stderr is a terminal."""
    monkeypatch.setattr(_http, "SHOWN_FROM", from_size)
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    transferred(progress)
    assert [(bar.desc, bar.total, bar.n, bar.closed) for bar in bars] == (
        [("send", 500, 500, True), ("receive", 1000, 1000, True)] if shown else []
    )
    assert _http.SHOWN_FROM == from_size


def test_bars_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(_http, "SHOWN_FROM", 0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    transferred(None)
    with pytest.raises(ImportError):
        _http.watcher(True, None)


def test_bars_begin_at_16_mib():
    assert _http.SHOWN_FROM == 16 << 20 and _http.WAIT_MAX == 30


# ---- both ways, against the real server ----------------------------------------------------------


def test_both_ways_have_the_same_options():
    by_thread, by_task = (
        inspect.signature(one).parameters for one in (posenc.connect, posenc.connect_async)
    )
    assert [*by_thread] == [*by_task, "progress"]
    assert all(one.default == by_thread[name].default for name, one in by_task.items())


def test_what_a_client_is_shows_its_address():
    url = "http://me:pass@[::1]:80/base/"
    for connect, name in ((posenc.connect, "Remote"), (posenc.connect_async, "AsyncRemote")):
        shown = repr(connect(url, token="a-secret"))
        assert shown == f"{name}('http://[::1]:80/base')"


def test_progress_is_told(url):
    told = []
    q = numpy.ones((1, 8, 1024, 128), "f4")
    with posenc.connect(url, progress=lambda *how: told.append(how)) as remote:
        remote.rotate("rope", q=q, axes="bhsd", layout="half", start=0)
    for what in ("send", "receive"):
        counts = [done for name, done, _ in told if name == what]
        assert counts == sorted(counts) and len(counts) >= 4
        assert counts[-1] == next(whole for name, _, whole in told if name == what) > q.nbytes


def test_asyncio_has_the_names_and_parameters_of_both():
    """What a server answers by one way it answers by the other."""

    def public(kind):
        return {
            name: inspect.signature(value)
            for name, value in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    by_thread, by_task = public(posenc.Remote), public(posenc.AsyncRemote)
    assert {"audit", "check", "golden", "probe"} < by_thread.keys() == by_task.keys()
    for name, one in by_thread.items():
        assert one.parameters == by_task[name].parameters, name
    assert {*posenc.__all__} & {*public(posenc.Local)} == by_thread.keys() - {"close"} | {
        "rotate_in_place"
    }


def test_asyncio_has_the_same_functions(url):
    async def ask():
        async with posenc.connect_async(url) as remote:
            q = numpy.ones((1, 8, 1024, 128), "f4")
            config = {"model_type": "llama", "head_dim": 8}
            found = await asyncio.gather(
                remote.rotate("rope", q=q, axes="bhsd", layout="half", start=0),
                remote.table(config=config, length=3),
                remote.config(config),
                remote.request("GET", "/v1/encodings/index/table?length=2&format=csv"),
            )
            with pytest.raises(posenc.Refused, match="did you mean 'length'"):
                await remote.table("rope", dim=8, lenght=1)
            return q, *found

    q, rotated, table, report, csv = asyncio.run(ask())
    assert (
        rotated.q.tobytes()
        == posenc.rotate("rope", q=q, axes="bhsd", layout="half", start=0).q.tobytes()
    )
    assert table.names == ("cos", "sin") and report.encoding["name"] == "rope"
    assert csv.text.splitlines()[-1] == "1"


def test_a_refusal_while_a_body_is_sent_is_read():
    """The server closes the connection: what it had said before counts."""
    with posenc.connect(start_narrow()) as remote:
        with pytest.raises(posenc.Refused) as refused:
            remote.rotate(
                "rope", q=numpy.ones((1, 8, 4096, 128), "f4"), axes="bhsd", layout="half", start=0
            )
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
