# SPDX-License-Identifier: MIT
"""Two servers with one folder of tables: one writes, the other takes over where it ends."""
import contextlib
import http.client
import signal
import time

import pytest

from check_writers import contest
from service import call, get
from test_tables import npy, numbers


@pytest.fixture
def shared(tmp_path, start_server):
    """Starts servers on one folder, in which everybody may store."""
    def starter(*arguments):
        return start_server("--tables", tmp_path, "--anonymous-writes", "true", *arguments)
    return starter


def put(server, name, seed):
    return call(server, "PUT", f"/v1/encodings/{name}", npy(numbers(seed)))


def writes(server):
    return b"\nposenc_tables_writer 1\n" in get(server, "/metrics").body


def until(done, seconds):
    """How long it took."""
    start = time.monotonic()
    while not done():
        assert time.monotonic() < start + seconds
        time.sleep(0.02)
    return time.monotonic() - start


def test_takeover(shared):
    first, second = shared(), shared("--tables-poll", "100ms")
    assert writes(first) and not writes(second)
    assert "another process writes" in second.log_text()
    assert put(first, "a", 1).status == 201
    for refused in (put(second, "a", 2), call(second, "DELETE", "/v1/encodings/a")):
        assert (refused.status, refused.json["code"]) == (503, "not-the-writer")
        assert refused.headers["retry-after"] == "1"
    until(lambda: get(second, "/v1/encodings/a/table", length=5).status == 200, 2)
    assert put(first, "a", 3).json["version"] == 2
    first.process.kill()
    first.process.wait()
    answers = []
    until(lambda: answers.append(put(second, "a", 4)) or answers[-1].status != 503, 2)
    assert answers[-1].json["versions"] == [1, 2, 3]
    assert "this process writes" in second.log_text()
    for version, seed in ((1, 1), (2, 3), (3, 4)):
        rows = get(second, "/v1/encodings/a/table", version=version, length=5, format="npy").npy
        assert (rows == numbers(seed)).all()


def test_takeover_from_one_that_drains(shared):
    """As soon as the change that had begun is done: long before the first server ends."""
    first, second = shared("--drain-delay", "20s"), shared()
    body = npy(numbers(1))
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", first.port)) as client:
        client.putrequest("PUT", "/v1/encodings/a")
        client.putheader("Content-Length", str(len(body)))
        client.endheaders(body[:100])
        until(lambda: b"requests_in_flight 2" in get(first, "/metrics").body, 2)
        first.process.terminate()
        until(lambda: get(first, "/readyz").status == 503, 2)
        time.sleep(0.6)  # the second one looks twice a second
        assert [put(server, "b", 2).json["code"] for server in (first, second)] == [
            "not-the-writer"] * 2
        client.send(body[100:])
        assert client.getresponse().status == 201
    until(lambda: put(second, "a", 3).status == 200, 2)
    assert get(second, "/v1/encodings/a").json["versions"] == [1, 2]
    assert get(first, "/v1/encodings/a/table", length=5, format="npy").status == 200
    assert first.process.poll() is None


def test_stopped_and_not_gone(shared):
    """A writer that sleeps is the writer still: it may wake in the middle of a change."""
    first, second = shared(), shared()
    first.process.send_signal(signal.SIGSTOP)
    time.sleep(1.2)
    assert put(second, "a", 1).status == 503
    first.process.send_signal(signal.SIGCONT)
    assert put(first, "a", 1).status == 201


def test_a_contest(tmp_path, shared):
    """`tests/run writers` has a longer one."""
    print(contest(shared, call, tmp_path, seconds=3, least=1))
