# SPDX-License-Identifier: MIT
"""In which order a stored table goes to the disk, and what is left when a call fails in the middle:
disk_calls.c stands between the server and the C library."""

import errno
import http.client
import os
import pathlib
import subprocess

import numpy
import pytest
from test_tables import npy, numbers

from service import call, get

SOURCE = pathlib.Path(__file__).with_name("disk_calls.c")
VALUES = [numbers(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    built = tmp_path_factory.mktemp("library") / "disk_calls.so"
    subprocess.run(
        [
            "cc",
            "-O1",
            "-Wall",
            "-Werror",
            "-D_GNU_SOURCE",
            "-shared",
            "-fPIC",
            "-o",
            built,
            SOURCE,
            "-ldl",
        ],
        check=True,
    )
    return built


@pytest.fixture
def disk(library, tmp_path, start_server):
    """A folder of tables (others by renew), servers on it whose calls are noted, and the calls."""

    class Disk:
        log, folders = tmp_path / "calls", 0

        def renew(self):
            self.folders += 1
            self.folder = tmp_path / f"tables{self.folders}"
            self.folder.mkdir()

        def start(self, fail=None, writes=True):
            sanitizers = os.environ.get("ASAN_OPTIONS", "")
            env = {
                "LD_PRELOAD": str(library),
                "DISK_LOG": str(self.log),
                "DISK_FOLDER": str(self.folder),
                "ASAN_OPTIONS": f"{sanitizers}:verify_asan_link_order=0".lstrip(":"),
            }
            if fail:
                env["DISK_FAIL"] = fail
            return start_server(
                "--tables",
                self.folder,
                "--anonymous-writes",
                str(writes).lower(),
                "--tables-poll",
                "0",
                env=env,
            )

        def calls(self):
            """Since they were asked for last."""
            lines = self.log.read_text().splitlines() if self.log.exists() else []
            self.log.unlink(missing_ok=True)
            return [tuple(line.split("\t")) for line in lines]

    one = Disk()
    one.renew()
    return one


def put(server, name, values):
    return call(server, "PUT", f"/v1/encodings/{name}", npy(values))


def stored(server, name):
    """The rows that are served, None: there is no such table."""
    answer = get(server, f"/v1/encodings/{name}/table", length=len(VALUES[0]), format="npy")
    assert answer.status in (200, 404), answer.body
    return answer.npy if answer.status == 200 else None


def parent(path):
    return path.rsplit("/", 1)[0]


def check_order(calls):
    """All that an acknowledged change made survives a power cut: files are flushed before a rename
    shows them, folders after whatever was made, renamed or removed in them."""
    unflushed, renames = set(), 0
    for name, path, other in calls:
        if name in ("create", "mkdir"):
            unflushed |= {parent(path)} | ({path} if name == "create" else set())
        elif name == "write":
            unflushed.add(path)
        elif name == "fsync":
            unflushed.discard(path)
        elif name == "rename":
            waiting = {p for p in unflushed if p.startswith(path + "/") or p == path}
            assert not waiting, f"{path} is shown before {waiting} is flushed"
            unflushed |= {parent(other), parent(path)}
            renames += 1
    assert not unflushed, f"answered before {unflushed} is flushed"
    return renames


def test_order(disk):
    """Of the first version of a name, of the next, and of a deletion."""
    server = disk.start()
    disk.calls()
    for change in range(3):
        assert put(server, "a", VALUES[change]).status == (200 if change else 201)
        calls = disk.calls()
        assert check_order(calls) == 1
        assert sum(name == "write" for name, _, _ in calls) >= 2
        assert sum(name == "fsync" for name, _, _ in calls) >= 4
    assert call(server, "DELETE", "/v1/encodings/a").status == 204
    assert check_order(disk.calls()) == 1
    assert put(server, "a", VALUES[0]).status == 201
    assert check_order(disk.calls()) == 1


def expect_nothing_changed(disk, server, name, values, versions):
    """As served by the one that failed, and by one that starts on what it left."""
    for one in (server, disk.start(writes=False)):
        got = stored(one, name)
        assert (got is None) if values is None else numpy.array_equal(got, values)
        entry = get(one, f"/v1/encodings/{name}")
        assert entry.status == (404 if values is None else 200)
        assert values is None or (
            entry.json["versions"] == versions and "damaged" not in entry.json
        )
        assert "damaged" not in one.log_text()


@pytest.mark.parametrize(
    "what, number",
    [
        ("fsync", errno.EIO),
        ("write", errno.ENOSPC),
        ("rename", errno.EIO),
        ("create", errno.EDQUOT),
        ("mkdir", errno.EIO),
    ],
)
def test_every_call_fails_once(disk, what, number):
    """The first, the second, and so on until a PUT no longer meets the failure. A refused table is
    not there, for the same server nor for the next; an older one stays; and the next PUT works."""
    for first in (True, False):
        for at in range(1, 20):
            disk.renew()
            before = None
            if not first:
                before = VALUES[0]
                older = disk.start()
                assert put(older, "a", before).status == 201
                assert older.stop() == 0
            server = disk.start(f"{what} {at} {number}")
            disk.calls()
            answer = put(server, "a", VALUES[1])
            if not any(name.startswith("failed") for name, _, _ in disk.calls()):
                assert answer.status in (200, 201)
                break
            assert answer.status == (500 if number == errno.EIO else 507), answer.body
            expect_nothing_changed(disk, server, "a", before, [1])
            assert put(server, "a", VALUES[2]).status == (201 if first else 200)
            assert numpy.array_equal(stored(server, "a"), VALUES[2])
        assert 1 < at < 19


def test_a_deletion_that_fails(disk):
    """At each call that it rests on: nothing is deleted, for this server and for the next."""
    for fail in ("rename 1", "fsync 1"):
        disk.renew()
        first = disk.start()
        assert put(first, "a", VALUES[0]).status == 201
        assert put(first, "a", VALUES[1]).status == 200
        assert first.stop() == 0
        server = disk.start(f"{fail} {errno.EIO}")
        assert call(server, "DELETE", "/v1/encodings/a").status == 500
        expect_nothing_changed(disk, server, "a", VALUES[1], [1, 2])
        assert call(server, "DELETE", "/v1/encodings/a").status == 204
        assert put(server, "a", VALUES[2]).json["version"] == 3


@pytest.mark.parametrize("what", ["create", "mkdir", "fsync"])
def test_short_of_descriptors(disk, what):
    """A shortage that passes is told as one."""
    server = disk.start(f"{what} 1 {errno.EMFILE}")
    refused = put(server, "a", VALUES[0])
    assert (refused.status, refused.json["code"]) == (503, "busy")
    assert int(refused.headers["retry-after"]) >= 1
    assert put(server, "a", VALUES[0]).status == 201


CHANGES = {
    "a first version": (0, "PUT"),
    "a second version": (1, "PUT"),
    "a deletion": (2, "DELETE"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_killed_at_every_call(disk, name):
    """A kill -9 before each call that a change makes leaves the old state or the new one, for a
    reader at once and for the next writer, which goes on with a number that was never used."""
    before, method = CHANGES[name]
    old = VALUES[before - 1] if before else None
    new = VALUES[before] if method == "PUT" else None
    shown = []
    for at in range(1, 40):
        disk.renew()
        first = disk.start()
        for version in range(before):
            assert put(first, "a", VALUES[version]).status in (200, 201)
        assert first.stop() == 0
        killed = disk.start(f"any {at} 0")
        try:
            answer = call(
                killed, method, "/v1/encodings/a", npy(VALUES[before]) if method == "PUT" else None
            )
            assert answer.status in (200, 201, 204)
            break
        except (OSError, http.client.HTTPException):
            assert killed.process.wait() == -9
        states = []
        for writes in (False, True):
            server = disk.start(writes=writes)
            states.append(stored(server, "a"))
            assert "damaged" not in server.log_text()
        assert all(
            any(state is one or numpy.array_equal(state, one) for one in (old, new))
            for state in states
        )
        assert (states[0] is None) == (states[1] is None)
        assert states[0] is None or (states[0] == states[1]).all()
        assert put(server, "a", VALUES[3]).json["version"] in (before + 1, before + 2)
        assert not list(disk.folder.rglob(".new*"))
        shown.append(states[1] is None if new is None else numpy.array_equal(states[1], new))
    print(f"{len(shown)} kills, {sum(shown)} of them after the change was shown")
    assert 3 <= at < 39 and shown == sorted(shown)
