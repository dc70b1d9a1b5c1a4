# SPDX-License-Identifier: MIT
"""How a row is measured: everybody answers in turns, round by round."""

import collections
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

import programs
import rows_http
import servers
from noise import Noise
from processes import Failure, Processes, cpu_seconds, output_of, peak_mib

BENCH = servers.BUILD / "bench"
READ_SECONDS = 280  # the longest that one read may take
SETTLE_SECONDS = 0.5  # until the other clients of the load "beside" are under way
BESIDE_CLIENTS, SMALL_CLIENTS = 4, 4
ELSEWHERE_MAX = 0.03  # of the processors' time, else a row is measured again
REPEAT_SECONDS_MAX = 240  # of all rows


def client_command(row, who, port, *options):
    command = [BENCH / "client", "--port", port, "--status", row.status, *options]
    for field in (*row.fields, *who.fields):
        command += ["--header", field]
    return command


def ask(row, who, port, *options):
    """Our client; what it counted."""
    if row.bytes is not None:
        options = ("--bytes", row.bytes, *options)
    if row.body_bytes:
        options = ("--body", body_file(row.body_bytes), *options)
    return json.loads(
        output_of([*client_command(row, who, port, *options), who.path], READ_SECONDS)
    )


def load_client(row, who, server, mode):
    return ask(row, who, server.port, "--connections", row.connections, "--seconds", mode.seconds)


def load_read(row, who, server, _):
    return ask(row, who, server.port, "--requests", 1)


def load_wrk(row, who, server, mode):
    said = output_of(
        [
            "wrk",
            "-t1",
            f"-c{row.connections}",
            f"-d{max(1, round(mode.seconds))}s",
            f"http://127.0.0.1:{server.port}{who.path}",
        ]
    )
    wrong = re.search(r"(Socket errors|Non-2xx).*", said)
    if wrong:
        raise Failure(f"wrk: {wrong[0]}")
    return {
        "requests": int(re.search(r"(\d+) requests in", said)[1]),
        "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
    }


def load_curl(row, who, server, _):
    said = output_of(
        [
            "curl",
            "-sS",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code} %{size_download} %{time_total} %{time_starttransfer}",
            f"http://127.0.0.1:{server.port}{who.path}",
        ],
        READ_SECONDS,
    )
    status, size, seconds, first = said.split()
    if int(status) != row.status or int(size) != row.bytes:
        raise Failure(f"curl: status {status}, {size} bytes")
    return {"requests": 1, "rate": 1 / float(seconds), "first_byte_ms": 1e3 * float(first)}


def slow_turns(server):
    """What turns of the loop over a millisecond of its processor time were spent on, until now:
    bench/workers/turns.c has written it down, for a server that it was loaded into."""
    turns = pathlib.Path(server.turns) if server.turns else None
    return [line.split()[0] for line in turns.read_text().splitlines()] if turns else []


def start_with_turns(processes, folder, who):
    """posencd, with what writes down its long turns."""
    turns = folder / "turns"
    turns.touch()
    started = servers.start_posencd(
        processes,
        *who.flags,
        env={**os.environ, "LD_PRELOAD": str((BENCH / "turns.so").resolve()), "TURNS": str(turns)},
    )
    return dataclasses.replace(started, turns=str(turns))


def start_ours(processes, folder, who):
    if who.beside:
        return start_with_turns(processes, folder, who)
    return servers.start_posencd(processes, *who.flags)


def load_beside(row, who, server, mode):
    """Small requests while other clients post large bodies."""
    before = len(slow_turns(server))
    with Processes() as processes:
        processes.start(
            [
                *client_command(row, who, server.port),
                "--connections",
                BESIDE_CLIENTS,
                "--body",
                body_file(row.body_bytes),
                "--seconds",
                READ_SECONDS,
                who.beside,
            ],
            stdout=subprocess.DEVNULL,
        )
        time.sleep(SETTLE_SECONDS + mode.seconds / 2)
        counted = json.loads(
            output_of(
                [
                    BENCH / "client",
                    "--port",
                    server.port,
                    "--bytes",
                    row.bytes,
                    "--connections",
                    SMALL_CLIENTS,
                    "--seconds",
                    2 * mode.seconds,
                    who.path,
                ]
            )
        )
    causes = slow_turns(server)[before:]
    return {**counted, "slow_turns": len(causes), "causes": dict(collections.Counter(causes))}


def load_worker(_row, who, server, mode):
    return server.ask(mode.work_seconds, who.path)


def load_growth(row, who, server, mode):
    """The cost per unit of work at each size, worst ÷ best."""
    times = []
    for path, units in row.sizes:
        if who.server == "library":
            counted = server.ask(mode.work_seconds, path)
        else:
            counted = json.loads(
                output_of(
                    [*client_command(row, who, server.port), "--seconds", mode.seconds / 2, path],
                    READ_SECONDS,
                )
            )
        times.append(1 / counted["rate"] / units)
    return {"rate": 1, "growth": max(times) / min(times), "ns_unit": [1e9 * each for each in times]}


def load_marginal(row, who, server, mode):
    """The same of what is added from size to size, by the median time of a request."""
    times = [
        json.loads(
            output_of(
                [*client_command(row, who, server.port), "--seconds", mode.seconds, path],
                READ_SECONDS,
            )
        )["p50_ms"]
        for path, _ in row.sizes
    ]
    units = [size for _, size in row.sizes]
    each = [1e6 * (times[i + 1] - times[i]) / (units[i + 1] - units[i]) for i in range(2)]
    return {"rate": 1, "growth": each[1] / max(each[0], 1e-3), "ns_unit": each}


LOADS = {
    "client": load_client,
    "read": load_read,
    "wrk": load_wrk,
    "curl": load_curl,
    "beside": load_beside,
    "worker": load_worker,
    "growth": load_growth,
    "marginal": load_marginal,
}
STARTERS = {
    "posencd": start_ours,
    "echo": lambda processes, folder, who: servers.start_bare(processes, "echo"),
    "send": lambda processes, folder, who: servers.start_bare(processes, "send"),
    "fastapi": lambda processes, folder, who: servers.start_fastapi(processes, folder),
    "nginx": lambda processes, folder, who: servers.start_nginx(
        processes, folder, rows_http.RETURN_SIZES
    ),
    **{
        name: lambda processes, folder, who: programs.start(processes, who.server)
        for name in programs.COMMANDS
    },
}


@functools.cache
def body_file(size):
    """A request's body, made once: N(0,1), never zeros."""
    path = BENCH / f"body-{size}"
    with path.open("wb") as file:
        subprocess.run([BENCH / "body", str(size)], stdout=file, check=True)
    return path


def make_file(row, who, folder, ours):
    """The file that nginx serves: the bytes of our answer, or 8 GiB with a mark in the middle."""
    path = folder / "files" / pathlib.Path(who.path).name
    path.parent.mkdir()
    with path.open("wb") as file:
        if who.file == "sparse":
            file.truncate(rows_http.RANGE_OF)
            file.seek(rows_http.RANGE_FIRST)
            file.write(body_file(rows_http.RANGE_BYTES).read_bytes())
            return
        url = f"http://127.0.0.1:{ours.port}{row.ours.path}"
        with urllib.request.urlopen(url, timeout=READ_SECONDS) as answer:
            shutil.copyfileobj(answer, file)


def ready(row, part, processes, folder, started):
    """Starts one, and asks it: whoever answers wrongly is not measured."""
    who = row.everyone[part]
    started[part] = STARTERS[who.server](processes, folder, who)
    if who.file:
        make_file(row, who, folder, started["ours"])
    if row.load in ("client", "wrk"):
        ask(row, who, started[part].port, "--requests", 2)
    if row.load == "worker":
        started[part].ask(0, who.path)


def prepare(row, processes, folder, failures):
    started = {}
    for part in row.everyone:
        try:
            ready(row, part, processes, folder, started)
        except (Failure, OSError) as failure:
            not_offered = row.status == 206 and "status 200" in str(failure)
            failures[part] = "ranges are not offered" if not_offered else str(failure)
    return {part: server for part, server in started.items() if part not in failures}


def sample(row, who, server, mode):
    """What was counted, in every unit that a figure may have."""
    pid = server.process.pid
    before = cpu_seconds(pid)
    counted = LOADS[row.load](row, who, server, mode)
    cpu, rate = cpu_seconds(pid) - before, counted["rate"]
    size = row.bytes or 0
    if "requests" in counted:
        counted["cpu_us"] = 1e6 * cpu / counted["requests"]
    return {
        **counted,
        "mb_s": rate * size / 1e6,
        "gb_s": rate * size / 1e9,
        "ms": 1e3 / rate,
        "ns_element": 1e9 / rate / (row.elements or 1),
        "gflop_s": rate * row.flops / 1e9,
        "peak_mib": peak_mib(pid),
    }


@functools.cache
def numbers_output(rounds):
    """The measurements of bench/numbers: (row, who) -> values by round."""
    program = BENCH / "numbers"
    if not program.exists():
        raise Failure(f"{program} was not built")
    found = {}
    for line in output_of([program, "--rounds", rounds]).splitlines():
        one = json.loads(line)
        found.setdefault((one["row"], one["who"]), []).append({"value": one["value"]})
    return found


def measure_numbers(row, mode):
    samples, failures = {}, {}
    for part, who in row.everyone.items():
        try:
            found = numbers_output(mode.rounds).get((row.name, who.server))
            if not found:
                raise Failure(f"bench/numbers has no {row.name} of {who.server}")
            samples[part] = found
        except Failure as failure:
            failures[part] = str(failure)
    return samples, failures


def measure_once(row, mode, say):
    """The samples of everyone by round, and why some have none."""
    if row.load == "numbers":
        return measure_numbers(row, mode)
    samples, failures = {}, {}
    figure = row.figures[0]
    with Processes() as processes, tempfile.TemporaryDirectory(prefix="posenc-bench-") as folder:
        started = prepare(row, processes, pathlib.Path(folder), failures)
        for number in range(min(mode.rounds, row.rounds_max)):
            for part in list(started):
                try:
                    one = sample(row, row.everyone[part], started[part], mode)
                    samples.setdefault(part, []).append(one)
                    say(
                        f"{row.name} {number + 1}: {row.everyone[part].title} "
                        f"{one[figure.key]:.6g} {figure.unit}"
                    )
                except (Failure, OSError) as failure:
                    failures[part] = str(failure)
                    del started[part]
                    samples.pop(part, None)
    return samples, failures


class Measuring:
    """Rows one by one. A row that lost more than ELSEWHERE_MAX of the processors' time to others is
    measured again, and the quieter time counts; all repetitions together are bounded."""

    def __init__(self, mode, say):
        self.mode, self.say, self.repeat_seconds = mode, say, REPEAT_SECONDS_MAX

    def once(self, row):
        noise, began = Noise(), time.monotonic()
        samples, failures = measure_once(row, self.mode, self.say)
        return noise.elsewhere(), time.monotonic() - began, samples, failures

    def measure(self, row):
        """(share of time that went elsewhere, seconds, samples, failures, repetitions)."""
        best, repeats = self.once(row), 0
        while (
            best[0] > ELSEWHERE_MAX
            and repeats < self.mode.repeats_max
            and self.repeat_seconds > best[1]
        ):
            repeats += 1
            self.say(f"{row.name}: {100 * best[0]:.0f} % went elsewhere; again")
            again = self.once(row)
            self.repeat_seconds -= again[1]
            best = min(best, again, key=lambda one: one[0])
        return (*best, repeats)
