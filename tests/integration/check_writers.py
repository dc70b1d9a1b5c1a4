# SPDX-License-Identifier: MIT
"""Two servers store into one folder while whichever of them writes is killed and started again.

    python tests/integration/check_writers.py [--seconds 60] [--least 100]

Every acknowledged version has to read back as it was sent, no version number may be given twice,
and nothing that any server ever answers may be a mixture. The last line has the figures; the exit
code is 0 only if all of that held and each server acknowledged as many changes as asked for."""
import argparse
import collections
import http.client
import io
import itertools
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("a", "b", "c")
TAKEOVER_SECONDS_MAX = 2


def content(number):
    """A table that tells by each of its elements which one it is."""
    rows = 1 + number % 40
    return (number * 16 + numpy.arange(rows * 16) % 16).reshape(rows, 16).astype(numpy.float64)


def number_of(table):
    """Which one it is; a mixture of two is none."""
    number = int(table[0, 0]) // 16
    assert numpy.array_equal(table, content(number)), table
    return number


def npy(table):
    file = io.BytesIO()
    numpy.save(file, table)
    return file.getvalue()


class Contest:
    def __init__(self, start, call):
        self.start, self.call = start, call
        self.servers = [start(), start()]
        self.acknowledged = [{}, {}]  # by each: (name, version) -> the number of the content
        self.refusals = collections.Counter()
        self.numbers = itertools.count(1)
        self.deleted = collections.Counter()  # the last version that a deletion may have reached
        self.faults, self.takeovers, self.kills, self.reads = [], [], 0, 0
        self.ends = threading.Event()
        self.kill_time = self.dead = None

    def store(self, which):
        """Puts one table after the other, and deletes a name of its own now and then."""
        turn = 0
        while not self.ends.is_set():
            turn += 1
            number, own = next(self.numbers), f"own-{which}"
            name = own if turn % 10 == 0 else NAMES[number % len(NAMES)]
            try:
                answer = self.call(self.servers[which], "PUT", f"/v1/encodings/{name}",
                                   npy(content(number)))
                if answer.status in (200, 201):
                    self.note(which, name, answer.json["version"], number)
                    if turn % 30 == 0:
                        self.delete(which, own)
                else:
                    self.refusals[answer.json["code"]] += 1
                    assert (answer.status, answer.json["code"]) == (503, "not-the-writer"), answer
                    time.sleep(0.03)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)  # it was killed

    def delete(self, which, name):
        before = max((v for side in self.acknowledged for n, v in side if n == name), default=0)
        self.deleted[name] = max(self.deleted[name], before)
        assert self.call(self.servers[which], "DELETE", f"/v1/encodings/{name}").status in (
            204, 404, 503)

    def note(self, which, name, version, number):
        if self.kill_time and which != self.dead:
            self.takeovers.append(time.monotonic() - self.kill_time)
            self.kill_time = None
        assert all((name, version) not in side for side in self.acknowledged), (name, version)
        self.acknowledged[which][name, version] = number

    def read(self):
        """What either server says is the latest of a name, whole."""
        for turn in itertools.count():
            if self.ends.wait(0.02):
                return
            server, path = self.servers[turn % 2], f"/v1/encodings/{NAMES[turn % 3]}"
            try:
                entry = self.call(server, "GET", path)
                if entry.status == 404:
                    continue
                told = entry.good().json
                number_of(self.call(server, "GET", f"{path}/table", length=told["shape"][0],
                                    version=told["version"], dtype="f64", format="npy").npy)
                self.reads += 1
            except (OSError, http.client.HTTPException):
                pass

    def kill(self, seconds):
        """Kills the one that writes and starts it again, most often behind the other's first
        change."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.ends.is_set():
            time.sleep(0.5 + 0.1 * (self.kills % 7))
            which = next((i for i in (0, 1) if b"\nposenc_tables_writer 1\n" in self.call(
                self.servers[i], "GET", "/metrics").body), None)
            if which is None:
                continue
            self.dead = which
            self.servers[which].process.kill()
            self.servers[which].process.wait()
            self.kill_time = time.monotonic()
            self.kills += 1
            if self.kills % 4:  # else it may be the next writer itself
                self.successor_wait()
            self.servers[which], self.dead = self.start(), None
            self.successor_wait()

    def successor_wait(self):
        while self.kill_time and time.monotonic() < self.kill_time + 10:
            time.sleep(0.01)

    def guarded(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as fault:  # of any kind: it fails the run
            self.faults.append(repr(fault))
            self.ends.set()

    def run(self, seconds):
        others = [threading.Thread(target=self.guarded, args=(self.store, which))
                  for which in (0, 1)] + [threading.Thread(target=self.guarded, args=(self.read,))]
        for thread in others:
            thread.start()
        self.guarded(self.kill, seconds)
        self.ends.set()
        for thread in others:
            thread.join()
        for server in self.servers:
            server.stop()

    def check(self):
        """With a server that starts on what is left. How many versions it has read back."""
        server, count = self.start(), 0
        for name, version, number in ((name, version, number) for side in self.acknowledged
                                      for (name, version), number in side.items()):
            answer = self.call(server, "GET", f"/v1/encodings/{name}/table", version=version,
                               positions=f"0..{number % 40}", dtype="f64", format="npy")
            if answer.status == 404 and version <= self.deleted[name]:
                continue
            assert answer.status == 200 and number_of(answer.npy) == number, (name, version, answer)
            count += 1
        server.stop()
        return count

    def figures(self, count):
        return (f"{len(self.acknowledged[0])} and {len(self.acknowledged[1])} acknowledged, "
                f"{count} read back, {self.kills} kills, "
                f"{self.refusals['not-the-writer']} not-the-writer, {self.reads} reads, "
                f"takeover {statistics.median(self.takeovers or [0]):.2f} s, "
                f"at most {max(self.takeovers, default=0):.2f} s")


def contest(start, call, folder, seconds, least):
    """Runs one; the figures. `start` starts a server on the folder."""
    one = Contest(start, call)
    one.run(seconds)
    assert not one.faults, one.faults
    count = one.check()
    left = [str(path) for path in folder.rglob("*") if path.name.startswith(".new")]
    assert not left, left
    assert min(map(len, one.acknowledged)) >= least, one.figures(count)
    assert max(one.takeovers) <= TAKEOVER_SECONDS_MAX, one.figures(count)
    return one.figures(count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--least", type=int, default=100)
    arguments = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    import conftest
    import service
    with tempfile.TemporaryDirectory() as folder:
        print(contest(lambda: conftest.start("--tables", folder, "--anonymous-writes", "true"),
                      service.call, pathlib.Path(folder), arguments.seconds, arguments.least))


if __name__ == "__main__":
    main()
