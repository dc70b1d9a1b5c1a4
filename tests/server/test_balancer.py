# SPDX-License-Identifier: MIT
"""Two servers behind nginx and HAProxy, whose passive checks take a server out that closes without
an answer: no request of one client costs another a failed one.

BALANCER_SECONDS is how long each takes (tests/run balancer: longer than in `make test`)."""

import concurrent.futures
import http.client
import itertools
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest
import wire

SECONDS = float(os.environ.get("BALANCER_SECONDS", "1"))
HOST = b"Host: localhost\r\n"
GET = b"GET /v1 HTTP/1.1\r\n" + HOST
POST = (
    b"POST /v1/rotation HTTP/1.1\r\n" + HOST + b"Content-Type: application/octet-stream\r\n"
    b"Tensor-Dtype: f32\r\nTensor-Shape: 1,1,1,64\r\n"
)
CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"


def uri(path):
    return b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n"


HOSTILE = {
    "arguments": uri(b"/v1?" + b"a&" * 1000),
    "more arguments": uri(b"/v1?" + b"a=b&" * 10000),
    "a path of 65 000 bytes": uri(b"/" + b"a" * 65000),
    "a query of 65 000 bytes": uri(b"/v1?" + b"a" * 65000),
    "a path of 100 000 bytes": uri(b"/" + b"a" * 100000),
    "200 fields": GET + b"A: b\r\n" * 200 + b"\r\n",
    "3000 fields": GET + b"A: b\r\n" * 3000 + b"\r\n",
    "a field of 60 000 bytes": GET + b"A: " + b"b" * 60000 + b"\r\n\r\n",
    "a field of 100 000 bytes": GET + b"A: " + b"b" * 100000 + b"\r\n\r\n",
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length and coding": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "no field name": GET + b": x\r\n\r\n",
    "NUL": POST + b"Content-Length: 5\x000\r\n\r\nhello",
    "a name with a blank": GET + b"A B: c\r\n\r\n",
    "another host": b"GET /v1 HTTP/1.1\r\nHost: localhost@evil\r\n\r\n",
    "an expectation": GET + b"Expect: 100-continue\r\n\r\n" + GET + b"\r\n",
    "a strange method": b"FROB / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "half a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
    "half a body": POST + b"Content-Length: 200000\r\n\r\n" + b"x" * 100000,
    "too large": POST + b"Content-Length: 3000000\r\n\r\n" + b"x" * 3000000,
    "too large in chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * 40 + b"0\r\n\r\n",
    "for another method": GET.replace(b"GET", b"DELETE")
    + b"Content-Length: 600000\r\n\r\n"
    + b"x" * 600000,
    "a body of the wrong shape": POST + b"Content-Length: 5\r\n\r\nhello",
    "a download": uri(b"/v1/encodings/rope/table?dim=128&length=200000&format=npy"),
}


def hostile_send(port, name):
    """Every second time the client leaves at once; else after the first bytes of an answer."""
    with wire.connect(port, 2) as client:
        try:
            client.sendall(HOSTILE[name])
            if name == "a download" or not name.startswith("half"):
                client.recv(1000)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # refused while still sending


def trickle(port, stop):
    """Clients that send their head, send their body, and read, a byte at a time."""
    with wire.connect(port) as head, wire.connect(port) as body, wire.connect(port) as reader:
        body.sendall(POST + b"Content-Length: 256\r\n\r\n")
        reader.sendall(HOSTILE["a download"])
        while not stop.wait(0.05):
            try:
                head.sendall(b"G")
                body.sendall(b"x")
                reader.recv(1)
            except OSError:
                return


NGINX = """
daemon off; pid nginx.pid; error_log stderr crit; worker_processes 1; {user}
events {{ worker_connections 512; }}
http {{
    access_log off; client_max_body_size 0; large_client_header_buffers 8 256k;
    client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
    scgi_temp_path s;
    upstream up {{ server 127.0.0.1:{ports[0]}; server 127.0.0.1:{ports[1]}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header Host localhost; proxy_request_buffering {buffering};
        }}
    }}
}}
"""
HAPROXY = """
global
    tune.bufsize 262144
    tune.http.maxhdr 4096
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 30s
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    http-reuse safe
    option httpchk GET /readyz HTTP/1.1\\r\\nHost:\\ localhost
    default-server check inter 250ms observe layer4 error-limit 2 on-error mark-down
    server a 127.0.0.1:{ports[0]}
    server b 127.0.0.1:{ports[1]}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(params=["nginx", "nginx unbuffered", "haproxy"])
def balancer(request, start_server, tmp_path):
    """The port of a balancer in front of two servers."""
    name = request.param.split()[0]
    program = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    assert program, f"tools/setup test brings {name}"
    ports = [start_server("--body-max", "1MiB", "--header-timeout", "1s").port for _ in range(2)]
    port, config = free_port(), tmp_path / "balancer.conf"
    config.write_text(
        (NGINX if name == "nginx" else HAPROXY).format(
            ports=ports,
            port=port,
            user="user root;" if os.geteuid() == 0 else "",
            buffering="off" if request.param != name else "on",
        )
    )
    arguments = ["-p", tmp_path, "-c", config] if name == "nginx" else ["-db", "-f", config]
    process = subprocess.Popen(
        [program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert wire.eventually(lambda: can_connect(port) and wire.is_alive(port), 10)
    time.sleep(0.3)  # HAProxy's first checks
    yield port
    process.terminate()
    process.communicate(timeout=20)


def can_connect(port):
    try:
        wire.connect(port).close()
    except OSError:
        return False
    return True


def bystand(port, stop):
    """A well-behaved client's answers other than 200, and the number of all."""
    failed, count = [], 0
    while not stop.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(20):
            try:
                connection.request("GET", "/v1/encodings/rope/table?dim=8&length=4")
                answer = connection.getresponse()
                body = answer.read()
                if answer.status != 200:
                    failed.append((answer.status, body[:200]))
            except (OSError, http.client.HTTPException) as error:
                failed.append(repr(error))
            count += 1
        connection.close()
    return failed, count


def test_no_client_costs_another_a_request(balancer):
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        bystanders = [pool.submit(bystand, balancer, stop) for _ in range(2)]
        pool.submit(trickle, balancer, stop)
        end, sent = time.monotonic() + SECONDS, 0
        for name in itertools.cycle(HOSTILE):
            if time.monotonic() > end and sent >= len(HOSTILE):
                break
            hostile_send(balancer, name)
            sent += 1
        stop.set()
    results = [one.result() for one in bystanders]
    assert not sum((failed for failed, _ in results), [])
    served = 100 if "POSENC_SANITIZED" not in os.environ else 20
    assert all(count > served for _, count in results)
