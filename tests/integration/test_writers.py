# SPDX-License-Identifier: MIT
"""Several servers with one folder of tables: one writes, the others read what it stores."""

import time

import conftest
import pytest
from check_writers import kills
from test_tables import npy, numbers

from service import call, get


@pytest.fixture
def writer(tmp_path, start_server):
    """Starts a server that writes to the folder."""

    def starter(*arguments):
        return start_server("--tables", tmp_path, "--anonymous-writes", "true", *arguments)

    return starter


@pytest.fixture
def reader(tmp_path, start_server):
    """Starts a server that reads the folder."""

    def starter(*arguments):
        return start_server("--tables", tmp_path, *arguments)

    return starter


def put(server, name, seed):
    return call(server, "PUT", f"/v1/encodings/{name}", npy(numbers(seed)))


def until(done, seconds):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("flags", [("--anonymous-writes", "true"), ("--token-file", "{tokens}")])
def test_a_second_writer_is_refused_at_the_start(tmp_path, tmp_path_factory, writer, flags):
    """With one sentence, while the first one goes on."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text("a-secret\n")
    tokens.chmod(0o600)
    first = writer()
    with pytest.raises(RuntimeError) as refused:
        conftest.start("--tables", str(tmp_path), *(flag.format(tokens=tokens) for flag in flags))
    text = str(refused.value)
    assert (
        f"--tables: another process writes to {tmp_path}; to only read, start without "
        "--token-file and --anonymous-writes" in text
    )
    assert text.count("posencd: ") == 1
    assert put(first, "a", 1).status == 201


def test_a_reader(writer, reader):
    """It refuses changes, and finds what the writer stores and deletes within its poll."""
    second = reader("--tables-poll", "100ms")
    first = writer()
    for method, body in (("PUT", npy(numbers(2))), ("DELETE", None)):
        refused = call(second, method, "/v1/encodings/a", body)
        assert (refused.status, refused.json["code"]) == (403, "writes-disabled")

    def versions():
        return get(second, "/v1/encodings/a").json.get("versions")

    for version in (1, 2, 3):
        assert put(first, "a", version).json["version"] == version
        until(lambda: versions() == list(range(1, version + 1)), 2)
        rows = get(second, "/v1/encodings/a/table", length=5, format="npy").npy
        assert (rows == numbers(version)).all()
    assert call(first, "DELETE", "/v1/encodings/a").status == 204
    until(lambda: versions() is None, 2)


def test_a_successor(writer, reader):
    """After a kill -9 and after the ordinary end, the next writer goes on from what is stored."""
    second = reader("--tables-poll", "100ms")
    for version, end in enumerate(("kill", "terminate", "kill"), 1):
        first = writer()
        assert put(first, "a", version).json["versions"] == list(range(1, version + 1))
        getattr(first.process, end)()
        first.process.wait()
    until(lambda: get(second, "/v1/encodings/a").json.get("version") == 3, 2)
    for version in (1, 2, 3):
        rows = get(second, "/v1/encodings/a/table", version=version, length=5, format="npy").npy
        assert (rows == numbers(version)).all()


def test_writers_that_are_killed(tmp_path, writer, reader):
    """`tests/run writers` does this for longer."""
    print(kills(writer, reader, call, tmp_path, seconds=3, least=1))
