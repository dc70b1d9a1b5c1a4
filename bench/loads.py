# SPDX-License-Identifier: MIT
"""How a row is measured: everybody answers in turns, round by round."""
import functools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.request

import rows
import servers
from processes import Failure, Processes, cpu_seconds, output_of, peak_mib

BENCH = servers.BUILD / "bench"
READ_SECONDS = 280  # the longest that one read may take


def ask(row, port, path, *options):
    """Our client; what it counted."""
    command = [BENCH / "client", "--port", port, "--bytes", row.bytes, "--status", row.status]
    for field in row.fields:
        command += ["--header", field]
    if row.body_bytes:
        command += ["--body", body_file(row.body_bytes)]
    return json.loads(output_of([*command, *options, path], READ_SECONDS))


def load_client(row, port, path, seconds):
    return ask(row, port, path, "--connections", row.connections, "--seconds", seconds)


def load_read(row, port, path, _):
    return ask(row, port, path, "--requests", 1)


def load_wrk(row, port, path, seconds):
    said = output_of(["wrk", "-t1", f"-c{row.connections}", f"-d{max(1, round(seconds))}s",
                      f"http://127.0.0.1:{port}{path}"])
    wrong = re.search(r"(Socket errors|Non-2xx).*", said)
    if wrong:
        raise Failure(f"wrk: {wrong[0]}")
    return {"requests": int(re.search(r"(\d+) requests in", said)[1]),
            "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])}


def load_curl(row, port, path, _):
    said = output_of(["curl", "-sS", "-o", "/dev/null", "-w",
                      "%{http_code} %{size_download} %{time_total} %{time_starttransfer}",
                      f"http://127.0.0.1:{port}{path}"], READ_SECONDS)
    status, size, seconds, first = said.split()
    if int(status) != row.status or int(size) != row.bytes:
        raise Failure(f"curl: status {status}, {size} bytes")
    return {"requests": 1, "rate": 1 / float(seconds), "first_byte_ms": 1e3 * float(first)}


LOADS = {"client": load_client, "read": load_read, "wrk": load_wrk, "curl": load_curl}
STARTERS = {
    "posencd": lambda processes, folder, who: servers.start_posencd(processes, *who.flags),
    "echo": lambda processes, folder, who: servers.start_bare(processes, "echo"),
    "send": lambda processes, folder, who: servers.start_bare(processes, "send"),
    "nginx": lambda processes, folder, who: servers.start_nginx(processes, folder,
                                                                rows.RETURN_SIZES),
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
            file.truncate(rows.RANGE_OF)
            file.seek(rows.RANGE_FIRST)
            file.write(body_file(rows.RANGE_BYTES).read_bytes())
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
        ask(row, started[part].port, who.path, "--requests", 2)


def prepare(row, processes, folder, failures):
    started = {}
    for part in row.everyone:
        try:
            ready(row, part, processes, folder, started)
        except (Failure, OSError) as failure:
            not_offered = row.status == 206 and "status 200" in str(failure)
            failures[part] = "ranges are not offered" if not_offered else str(failure)
    return {part: server for part, server in started.items() if part not in failures}


def sample(row, who, server, seconds):
    pid = server.process.pid
    before = cpu_seconds(pid)
    counted = LOADS[row.load](row, server.port, who.path, seconds)
    cpu = cpu_seconds(pid) - before
    return {**counted, "mb_s": counted["rate"] * row.bytes / 1e6, "ms": 1e3 / counted["rate"],
            "cpu_us": 1e6 * cpu / counted["requests"], "peak_mib": peak_mib(pid)}


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


def measure(row, mode, say):
    """The samples of everyone by round, and why some have none."""
    if row.load == "numbers":
        return measure_numbers(row, mode)
    samples, failures = {}, {}
    with Processes() as processes, tempfile.TemporaryDirectory(prefix="posenc-bench-") as folder:
        started = prepare(row, processes, pathlib.Path(folder), failures)
        for number in range(min(mode.rounds, row.rounds_max)):
            for part in list(started):
                try:
                    one = sample(row, row.everyone[part], started[part], mode.seconds)
                    samples.setdefault(part, []).append(one)
                    say(f"{row.name} {number + 1}: {row.everyone[part].title} "
                        f"{one[row.figures[0].key]:.6g} {row.figures[0].unit}")
                except (Failure, OSError) as failure:
                    failures[part] = str(failure)
                    del started[part]
                    samples.pop(part, None)
    return samples, failures
