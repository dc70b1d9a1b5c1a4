# SPDX-License-Identifier: MIT
"""The servers that are measured, each started by a function that gives its port and its process."""

import dataclasses
import os
import pathlib
import random
import re
import shutil
import socket
import string
import subprocess
import time
import urllib.request

from processes import Failure, output_of

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
PEERS = pathlib.Path("build/bench-peers")  # Python packages of peers (tools/setup bench)
START_SECONDS = 10
FASTAPI_WORKERS, FASTAPI_SECONDS = 2, 60

# One worker, as posencd has one loop. Bodies stay in memory; what a request may cost beside its
# answer (logs, opening the file again) is switched off. tcp_nopush makes files of 4 MiB faster and
# files of 256 KiB slower: a row asks where it is faster.
NGINX_CONF = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
load_module {echo_module};
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    open_file_cache max=100;
    keepalive_requests 1000000000;
    client_body_buffer_size 512m;
    client_max_body_size 512m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location /files/ {{ alias {folder}/files/; }}
        location /nopush/ {{ alias {folder}/files/; tcp_nopush on; }}
        location = /echo {{ echo_read_request_body; echo_request_body; }}
{returns}
    }}
}}
"""
ECHO_MODULE = pathlib.Path("/usr/lib/nginx/modules/ngx_http_echo_module.so")


@dataclasses.dataclass
class Server:
    port: int
    process: subprocess.Popen
    said: str = ""  # its first line
    turns: str = ""  # posencd: the file of its long turns


def first_line(process):
    line = process.stdout.readline()
    if not line:
        raise Failure(f"{process.args[0]} did not start")
    return line.strip()


def start_posencd(processes, *flags, **kwargs):
    process = processes.start(
        [
            BUILD / "posencd",
            "--bind",
            "127.0.0.1",
            "--port",
            "0",
            "--log-format",
            "off",
            "--drain-delay",
            "0",
            "--loops",
            "1",
            *flags,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **kwargs,
    )
    said = first_line(process)
    port = re.search(r":(\d+)/", said)
    if not port:
        raise Failure(f"posencd said: {said}")
    return Server(int(port[1]), process, said)


def start_bare(processes, name):
    process = processes.start([BUILD / "bench/peers" / name], stdout=subprocess.PIPE)
    return Server(int(first_line(process)), process)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(port, process):
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise Failure("nginx did not start")


NGINX = shutil.which("nginx", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin")


def find_nginx():
    if not NGINX:
        raise Failure("nginx is not installed")
    if not ECHO_MODULE.exists():
        raise Failure("nginx's echo module is not installed")
    return NGINX


def start_nginx(processes, folder, return_sizes):
    """Serves folder/files, echoes at /echo, and answers /return/N with N characters."""
    letters = random.Random(1)
    returns = "\n".join(
        f'        location = /return/{size} {{ return 200 "'
        f'{"".join(letters.choices(string.ascii_letters, k=size))}"; }}'
        for size in return_sizes
    )
    port = free_port()
    (folder / "nginx.conf").write_text(
        NGINX_CONF.format(
            user="user root;" if os.getuid() == 0 else "",
            folder=folder,
            port=port,
            returns=returns,
            echo_module=ECHO_MODULE,
        )
    )
    process = processes.start(
        [find_nginx(), "-e", folder / "error.log", "-p", folder, "-c", folder / "nginx.conf"]
    )
    wait_for(port, process)
    return Server(port, process)


def start_fastapi(processes, folder):
    """Waits until it answers: its workers import torch first."""
    port = free_port()
    with (folder / "fastapi.log").open("w") as log:
        process = processes.start(
            [
                PEERS / "bin/python",
                "-m",
                "uvicorn",
                "--app-dir",
                "bench/peers",
                "--port",
                port,
                "--workers",
                FASTAPI_WORKERS,
                "--log-level",
                "warning",
                "rotating:app",
            ],
            stdout=log,
            stderr=log,
        )
    until = time.monotonic() + FASTAPI_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                return Server(port, process)
        except OSError:
            time.sleep(0.1)
    raise Failure("FastAPI did not start")


def version_of(command, pattern):
    """The version that a program prints, or None where there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return None
    found = re.search(pattern, done.stdout + done.stderr)
    return found[0] if found else None


PEER_PACKAGES = (
    "torch",
    "onnxruntime",
    "ggml-py",
    "scipy-openblas32",
    "numpy",
    "fastapi",
    "uvicorn",
)


def peer_versions():
    """Of Python packages."""
    code = (
        "import importlib.metadata as m, sys\nfor name in sys.argv[1:]:\n"
        "  try: print(name, m.version(name))\n  except m.PackageNotFoundError: pass"
    )
    try:
        said = output_of([PEERS / "bin/python", "-c", code, *PEER_PACKAGES])
    except Failure:
        return dict.fromkeys(PEER_PACKAGES)
    return dict.fromkeys(PEER_PACKAGES) | dict(line.split() for line in said.splitlines())


def versions():
    """Names and versions of all that takes part, by who it is."""

    def package(name):
        return version_of(["dpkg-query", "-W", "-f=${Package} ${Version}", name], r"\S+ \d\S*")

    found = {
        "nginx": version_of([NGINX or "nginx", "-v"], r"nginx/[\d.]+"),
        "nginx echo module": package("libnginx-mod-http-echo"),
        "wrk": package("wrk"),
        "curl": version_of(["curl", "--version"], r"curl [\d.]+"),
        "C++ library": package("libstdc++6"),
        "jansson": package("libjansson4"),
        "BLIS": package("libblis4-serial"),
        "oneDNN": package("libdnnl2"),
        "compiler": version_of(["cc", "--version"], r".*"),
        **peer_versions(),
    }
    found["posencd"] = output_of([BUILD / "posencd", "--version"]).strip()
    return {who: version or "not installed" for who, version in sorted(found.items())}
