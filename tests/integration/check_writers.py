# SPDX-License-Identifier: MIT
"""A server stores into a folder and is killed and started again, while another one reads it.

    python tests/integration/check_writers.py [--seconds 60] [--least 100]

Every acknowledged version has to read back as it was sent, no version number may be given twice,
no answer may be a mixture of two versions, and a killed server has a successor at once. The last
line has the figures; the exit code is 0 only if all of that held and as many changes as required
were acknowledged."""

import argparse
import collections
import http.client
import io
import itertools
import pathlib
import sys
import tempfile
import threading
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("a", "b", "c")
OWN = "deleted"  # this name is deleted now and then


def content(number):
    """A table each of whose elements identifies it."""
    rows = 1 + number % 40
    return (number * 16 + numpy.arange(rows * 16) % 16).reshape(rows, 16).astype(numpy.float64)


def number_of(table):
    """The number of a table; a mixture of two has none."""
    number = int(table[0, 0]) // 16
    assert numpy.array_equal(table, content(number)), table
    return number


def npy(table):
    file = io.BytesIO()
    numpy.save(file, table)
    return file.getvalue()


class Kills:
    def __init__(self, start_writer, start_reader, call):
        self.start, self.call = start_writer, call
        self.writer, self.reader = start_writer(), start_reader("--tables-poll", "50ms")
        self.acknowledged = {}  # (name, version) -> the number of the content
        self.deleted = 0  # the last version of OWN that a deletion may have reached
        self.counts = collections.Counter()
        self.faults, self.ends = [], threading.Event()

    def store(self):
        """Puts one table after the other, and deletes one name now and then."""
        for number in itertools.count(1):
            if self.ends.is_set():
                return
            name = OWN if number % 10 == 0 else NAMES[number % len(NAMES)]
            try:
                answer = self.call(
                    self.writer, "PUT", f"/v1/encodings/{name}", npy(content(number))
                )
                assert answer.status in (200, 201), answer
                key = name, answer.json["version"]
                assert key not in self.acknowledged, key
                self.acknowledged[key] = number
                if number % 30 == 0:
                    self.deleted = key[1]
                    assert self.call(self.writer, "DELETE", f"/v1/encodings/{name}").status == 204
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)  # it was killed

    def read(self):
        """The latest version of a name, complete, by the writer and by the reader."""
        for turn in itertools.count():
            if self.ends.wait(0.02):
                return
            server = (self.writer, self.reader)[turn % 2]
            path = f"/v1/encodings/{NAMES[turn % 3]}"
            try:
                entry = self.call(server, "GET", path)
                if entry.status == 404:
                    continue
                shown = entry.good().json
                number_of(
                    self.call(
                        server,
                        "GET",
                        f"{path}/table",
                        length=shown["shape"][0],
                        version=shown["version"],
                        dtype="f64",
                        format="npy",
                    ).npy
                )
                self.counts["reads"] += 1
            except (OSError, http.client.HTTPException):
                assert server is not self.reader

    def kill(self, seconds):
        """Kills the writer and starts the next one, which has the lock at once."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.ends.is_set():
            time.sleep(0.3 + 0.1 * (self.counts["kills"] % 7))
            self.writer.process.kill()
            if self.counts["kills"] % 2:  # else the successor waits for the lock itself
                self.writer.process.wait()
            self.writer = self.start()
            self.counts["kills"] += 1

    def guarded(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as fault:  # of any kind: it fails the run
            self.faults.append(repr(fault))
            self.ends.set()

    def run(self, seconds):
        others = [
            threading.Thread(target=self.guarded, args=(work,)) for work in (self.store, self.read)
        ]
        for thread in others:
            thread.start()
        self.guarded(self.kill, seconds)
        self.ends.set()
        for thread in others:
            thread.join()
        for server in (self.writer, self.reader):
            server.stop()

    def check(self):
        """With a server that starts on what is left. How many versions it has read back."""
        server, count = self.start(), 0
        for (name, version), number in self.acknowledged.items():
            answer = self.call(
                server,
                "GET",
                f"/v1/encodings/{name}/table",
                version=version,
                positions=f"0..{number % 40}",
                dtype="f64",
                format="npy",
            )
            if answer.status == 404 and name == OWN and version <= self.deleted:
                continue
            assert answer.status == 200 and number_of(answer.npy) == number, (name, version, answer)
            count += 1
        server.stop()
        return count


def kills(start_writer, start_reader, call, folder, seconds, least):
    """Runs it; the figures. Both starters start a server on the folder."""
    one = Kills(start_writer, start_reader, call)
    one.run(seconds)
    assert not one.faults, one.faults
    count = one.check()
    left = [str(path) for path in folder.rglob("*") if path.name.startswith(".new")]
    assert not left, left
    figures = (
        f"{len(one.acknowledged)} acknowledged, {count} read back, "
        f"{one.counts['kills']} kills, {one.counts['reads']} reads"
    )
    assert len(one.acknowledged) >= least, figures
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--least", type=int, default=100)
    arguments = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    import conftest

    import service

    with tempfile.TemporaryDirectory() as folder:
        print(
            kills(
                lambda: conftest.start("--tables", folder, "--anonymous-writes", "true"),
                lambda *flags: conftest.start("--tables", folder, *flags),
                service.call,
                pathlib.Path(folder),
                arguments.seconds,
                arguments.least,
            )
        )


if __name__ == "__main__":
    main()
