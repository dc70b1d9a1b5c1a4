# SPDX-License-Identifier: MIT
"""What a request costs at each station, a queueing model of one replica beside what is measured,
and what the model gives for many replicas (docs/scaling.md). Prints Markdown.

    bench/scaling.py [--seconds 4] [--replicas 1 10 100 1000]

On a quiet machine of at least two cores, after `make build/posencd build/bench/client` and
`tools/setup bench`: posencd has one of them, the client another. The last line is the largest error
of the model; the exit code is 1 if that is over LIMIT.

The model is a closed network of queues: posencd's core and the client's serve one request at a time
each, and N connections have a request each, always. Its only inputs are the processor seconds of a
request on either core, measured for each N (a loop that finds many requests at once sleeps less,
and many large bodies leave the caches), and the rest of the time of a request that is alone: a
thread sleeps and is woken, which delays only that request; it is negative where client and server
work on one body at the same time. Mean value analysis with the D of N, for requests that all take
as long (half of one's time is left on average when the next arrives; M. Reiser, A Queueing Network
Analysis of Computer Communication Networks with Window Flow Control, 1979), gives the rate:
R_i(n) = D_i (1 + Q_i(n - 1) - X(n - 1) D_i / 2), X(n) = n / (Z + sum R_i), at most 1 / max D_i, and
Q_i(n) = X(n) R_i(n), for n from 1 to N. For one request at a time the rate is an
input, so the error is counted from two on."""

import argparse
import dataclasses
import getpass
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from processes import Failure, Processes, cpu_seconds
from servers import BUILD, free_port, start_posencd, wait_for

CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
LIMIT = 0.2
UTILISATION = 0.6  # of the busiest station, at which queues are short
ROTATION = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0&format=raw"
TABLE = "/v1/encodings/rope/table?dim=128"


@dataclasses.dataclass
class Kind:
    """A request; "{}" in its path is a number that never came before."""

    name: str
    path: str
    fields: tuple = ()
    body: int = 0


def rotated(size):
    shape = f"1,1,{size // 512},128"
    fields = ("Content-Type: application/octet-stream", "Tensor-Dtype: f32")
    return Kind(
        f"rotation of {size >> 10} KiB", ROTATION, (*fields, f"Tensor-Shape: {shape}"), size
    )


KINDS = (
    Kind("table of 4 KiB, cached", f"{TABLE}&length=8&format=raw"),
    Kind("table of 4 KiB, new", f"{TABLE}&length=8&format=raw&base={{}}"),
    Kind("table of 128 KiB as JSON, new", f"{TABLE}&length=100&base={{}}"),
    rotated(1 << 10),
    rotated(256 << 10),
)


# ---- measuring --------------------------------------------------------------------------------


def seconds_of_threads(pid):
    """Processor seconds of a thread, by its id."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found[int(task.name)] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def loop_of(server, folder):
    """The thread that answers /livez. All threads get the first core."""
    before = seconds_of_threads(server.process.pid)
    run_client(server.port, Kind("livez", "/livez"), 4, 0.5, folder)
    after = seconds_of_threads(server.process.pid)
    for thread in after:
        os.sched_setaffinity(thread, {0})
    return max(after, key=lambda thread: after[thread] - before.get(thread, 0))


def run_client(port, kind, connections, seconds, folder):
    command = [
        "taskset",
        "-c",
        "1",
        BUILD / "bench/client",
        "--port",
        port,
        "--connections",
        connections,
    ]
    command += ["--seconds", seconds]
    for field in kind.fields:
        command += ["--header", field]
    if kind.body:
        body = pathlib.Path(folder, f"body-{kind.body}")
        if not body.exists():
            body.write_bytes(b"\0\0\x80\x3f" * (kind.body // 4))
        command += ["--body", body]
    before = os.times()
    done = subprocess.run(
        list(map(str, [*command, kind.path])), capture_output=True, text=True, check=False
    )
    after = os.times()
    if done.returncode:
        raise Failure(f"{kind.name}: {done.stderr}")
    answer = json.loads(done.stdout)
    client = after.children_user + after.children_system
    client -= before.children_user + before.children_system
    return answer, client / answer["requests"]


def measured(server, loop, kind, connections, seconds, folder):
    """The rate, and the processor seconds of a request at each station."""
    before = seconds_of_threads(server.process.pid)
    answer, client = run_client(server.port, kind, connections, seconds, folder)
    after = seconds_of_threads(server.process.pid)
    used = {thread: after[thread] - before.get(thread, 0) for thread in after}
    own = used.pop(loop) / answer["requests"]
    pool = sum(used.values()) / answer["requests"]
    return answer["rate"], {"loop": own, "pool": pool, "client": client}


# ---- the model --------------------------------------------------------------------------------


def rate_of(demands, delay, most):
    """The rate for `most` requests at once, by mean value analysis."""
    queues, rate = dict.fromkeys(demands, 0.0), 0.0
    for count in range(1, most + 1):
        waits = {
            name: demand * (1 + queues[name] - rate * demand / 2)
            for name, demand in demands.items()
        }
        rate = min(count / (delay + sum(waits.values())), 1 / max(demands.values()))
        queues = {name: rate * wait for name, wait in waits.items()}
    return rate


def check(server, loop, kind, seconds, folder):
    """Prints the curve; returns the demands under load and the largest error."""
    run_client(server.port, kind, 4, 1, folder)
    seen = {n: measured(server, loop, kind, n, seconds, folder) for n in CONNECTIONS}
    alone_rate, alone = seen[1]
    delay = 1 / alone_rate - sum(alone.values())
    print(f"\n{kind.name}\n\n| requests at once | measured, 1/s | model, 1/s | error |")
    print("|--:|--:|--:|--:|")
    worst = 0
    for count, (rate, demands) in seen.items():
        cores = {"posencd": demands["loop"] + demands["pool"], "client": demands["client"]}
        modelled = rate_of(cores, delay, count)
        error = modelled / rate - 1
        worst = max(worst, abs(error)) if count > 1 else worst
        print(f"| {count} | {rate:.0f} | {modelled:.0f} | {error:+.0%} |")
    return seen[CONNECTIONS[-1]][1], worst


# ---- a balancer and its cache -----------------------------------------------------------------

NGINX = """
daemon off;
user {user};
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    client_max_body_size 64m;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    proxy_cache_path {folder}/cache keys_zone=tables:8m;
    upstream replicas {{
        server 127.0.0.1:{server};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://replicas;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host localhost;
            {cache}
        }}
    }}
}}
"""


def start_edge(processes, server, folder, *, cache):
    port = free_port()
    config = pathlib.Path(folder, f"nginx-{port}.conf")
    config.write_text(
        NGINX.format(
            user=getpass.getuser(),
            folder=folder,
            port=port,
            server=server.port,
            cache="proxy_cache tables;" if cache else "",
        )
    )
    process = processes.start(["nginx", "-e", f"{folder}/error.log", "-c", config])
    wait_for(port, process)
    return port, process


def edge(processes, server, kind, seconds, folder, *, cache):
    """Processor seconds of a request at the balancer, and at posencd behind it."""
    port, process = start_edge(processes, server, folder, cache=cache)
    run_client(port, kind, 16, 1, folder)
    before = cpu_seconds(process.pid), cpu_seconds(server.process.pid)
    answer, _ = run_client(port, kind, 16, seconds, folder)
    after = cpu_seconds(process.pid), cpu_seconds(server.process.pid)
    processes.stop(process)
    return [(late - early) / answer["requests"] for early, late in zip(before, after, strict=True)]


# ---- many replicas ----------------------------------------------------------------------------


def extrapolate(replicas, demands, balancer, size):
    """Replicas with a core for the loop and one for the pool."""
    print(
        f"\n| replicas | requests/s at {UTILISATION:.0%} | mean wait in queues, µs | "
        f"balancer cores at {UTILISATION:.0%} | Gbit/s of answers |\n|--:|--:|--:|--:|--:|"
    )
    stations = {name: demands[name] for name in ("loop", "pool")}
    busiest = max(stations.values())
    for count in replicas:
        each = UTILISATION / busiest
        waits = sum(demand * each * demand / (1 - each * demand) for demand in stations.values())
        rate = count * each
        print(
            f"| {count} | {rate:.0f} | {waits * 1e6:.0f} | {rate * balancer / UTILISATION:.1f} | "
            f"{rate * size * 8 / 1e9:.2f} |"
        )


def body_size(kind):
    return kind.body or (100 * 128 * 10 if "JSON" in kind.name else 4096)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 10, 100, 1000])
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"Load of the machine before: {load:.2f}, {os.cpu_count()} cores.")
    worst, table = 0, []
    with Processes() as processes, tempfile.TemporaryDirectory() as folder:
        server = start_posencd(processes, "--threads", "1")
        loop = loop_of(server, folder)
        for kind in KINDS:
            demands, error = check(server, loop, kind, asked.seconds, folder)
            balancer, _ = edge(processes, server, kind, asked.seconds, folder, cache=False)
            table.append((kind, demands, balancer))
            worst = max(worst, error)
        print("\n## Processor time of a request\n\n| request | loop, µs | pool, µs | nginx, µs |")
        print("|---|--:|--:|--:|")
        for kind, demands, balancer in table:
            times = (demands["loop"], demands["pool"], balancer)
            print(f"| {kind.name} | {' | '.join(f'{one * 1e6:.1f}' for one in times)} |")
        immutable = KINDS[0]
        cached = edge(processes, server, immutable, asked.seconds, folder, cache=True)
        plain = edge(processes, server, immutable, asked.seconds, folder, cache=False)
        print("\n## A cache at the edge\n\n| | nginx, µs | posencd, µs |\n|---|--:|--:|")
        for name, times in (("without", plain), ("with", cached)):
            print(f"| {name} | {' | '.join(f'{one * 1e6:.1f}' for one in times)} |")
        print("\n## Extrapolation: nothing below was measured")
        for kind, demands, balancer in table:
            print(f"\n{kind.name}")
            extrapolate(asked.replicas, demands, balancer, body_size(kind))
    print(f"\nThe largest error of the model: {worst:.0%}")
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
