# SPDX-License-Identifier: MIT
"""What tests of balancers share: requests with the hashes of their answers, the load, and nginx's
file with addresses of this machine."""

import hashlib
import http.client
import json
import pathlib
import random
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NGINX, HAPROXY = "/usr/sbin/nginx", "/usr/sbin/haproxy"
BODIES = {"4 KiB": 32, "100 KiB": 800}  # rows of 32 f32


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, method, path, body=None, fields=None, timeout=30):
    """(status, fields in lower case, body), on a connection of its own."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        client.request(method, path, body, fields or {})
        answer = client.getresponse()
        head = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, head, answer.read()
    finally:
        client.close()


def pure_requests():
    """Views and rotations with answers of 4 and 100 KiB; a rotation's body is as long as its
    answer."""
    random.seed(0)
    requests = []
    for rows in BODIES.values():
        for base in range(10000, 10016):
            path = f"/v1/encodings/rope/table?dim=32&length={rows}&base={base}&format=raw"
            requests.append({"method": "GET", "path": path, "fields": {}, "body": ""})
            path = f"/v1/rotation?encoding=rope&layout=half&axes=bhsd&start={base}"
            fields = {
                "Content-Type": "application/octet-stream",
                "Tensor-Dtype": "f32",
                "Tensor-Shape": f"1,1,{rows},32",
            }
            # No exponent of all ones: a NaN's payload is not specified.
            body = bytes(byte for _ in range(rows * 32) for byte in (*random.randbytes(3), 0x3D))
            requests.append({"method": "POST", "path": path, "fields": fields, "body": body.hex()})
    return requests


def wanted(port, requests):
    """The requests of a load with the hashes of what a server on `port` answers."""
    for one in requests:
        status, _, body = ask(
            port, one["method"], one["path"], bytes.fromhex(one["body"]), one["fields"]
        )
        assert status == 200, body
        one["hash"] = hashlib.sha256(body).hexdigest()
    return requests


class Load:
    """Clients in a process of their own, for some seconds: `load.py`. `inside` is the command that
    starts it elsewhere, as in another namespace."""

    def __init__(self, folder, requests, port, seconds, connections=8, inside=()):
        (folder / "requests.json").write_text(json.dumps(requests))
        self.process = subprocess.Popen(
            [
                *inside,
                *(sys.executable, ROOT / "tests/cluster/load.py", folder / "requests.json"),
                *(str(port), str(seconds), str(connections)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )

    def result(self, timeout=300):
        return json.loads(self.process.communicate(timeout=timeout)[0])


def certificate(folder):
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-out", folder / "certificate.pem"),
            *("-keyout", folder / "certificate.key"),
        ],
        check=True,
        capture_output=True,
    )


def nginx_config(folder, port, tls_port, readers, writer):
    """docker/nginx.conf with ports of this machine."""
    certificate(folder)
    text = (ROOT / "docker/nginx.conf").read_text()
    names = {f"reader-{i + 1}:8080": f"127.0.0.1:{one}" for i, one in enumerate(readers)}
    names |= {"writer:8080": f"127.0.0.1:{writer}"}
    names |= {"listen 8080;": f"listen 127.0.0.1:{port};"}
    names |= {"listen 8443 ssl": f"listen 127.0.0.1:{tls_port} ssl"}
    for name, value in names.items():
        assert name in text, name
        text = text.replace(name, value)
    (folder / "nginx.conf").write_text("daemon off;\nuser root;\n" + text)


def haproxy_config(folder, port, tls_port, readers, writer):
    """docker/haproxy.cfg with servers instead of names; an integer is a port of this machine."""
    certificate(folder)
    (folder / "both.pem").write_text(
        (folder / "certificate.pem").read_text() + (folder / "certificate.key").read_text()
    )
    text = (ROOT / "docker/haproxy.cfg").read_text()
    *readers, writer = [
        f"127.0.0.1:{one}" if isinstance(one, int) else one for one in (*readers, writer)
    ]
    servers = "\n".join(f"    server r{i} {one} tcp-ut 3s" for i, one in enumerate(readers))
    names = {
        "bind :8080": f"bind 127.0.0.1:{port}",
        "bind :8443": f"bind 127.0.0.1:{tls_port}",
        '    server-template reader 1-32 "${POSENC_READERS}" tcp-ut 3s': servers,
        '    server-template writer 1 "${POSENC_WRITER}"': f"    server w {writer}",
        " resolvers dns resolve-prefer ipv4 init-addr none": "",
    }
    for name, value in names.items():
        assert name in text, name
        text = text.replace(name, value)
    (folder / "haproxy.cfg").write_text(text)
