# SPDX-License-Identifier: MIT
"""docker/compose.yaml, brought up on a real engine with the page, the API and Prometheus. Images of
registries are replaced by Debian's programs under the same names; Debian has no Grafana, and its
files are tested in test_files.py."""

import io
import json
import os
import sys
import time
import urllib.parse

import numpy
import pytest
import yaml
from parts import ROOT, Load, ask, free_port, pure_requests, wanted

sys.path.insert(0, str(ROOT / "tests/container"))

import engine  # noqa: E402
from base import run  # noqa: E402

COMPOSE = ROOT / "docker/compose.yaml"
PROJECT = "posenc-compose-test"
RUNNING = ["balancer", "reader", "writer", "prometheus"]
LOAD_SECONDS = 10
TOKEN = {"Authorization": "Bearer a-secret"}
# As the published images have it: compose.yaml depends on these lines of theirs.
PROGRAMS = {
    "haproxy": 'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]',
    "prometheus": """RUN mkdir /prometheus && chown nobody /prometheus
WORKDIR /prometheus
USER nobody
ENTRYPOINT ["/usr/bin/prometheus"]""",
}


@pytest.fixture(scope="module")
def docker():
    yield from engine.running(*engine.ADDRESSES)


@pytest.fixture(scope="module")
def images(docker):
    """The images that compose.yaml names, in an engine of the test's own."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    names = [services["reader"]["image"]]
    run("docker", "tag", engine.build("posenc-test"), names[0])
    for service, program in ("balancer", "haproxy"), ("prometheus", "prometheus"):
        names.append(services[service]["image"])
        assert program in names[-1]
        base = engine.base_image(packages=(program,))
        run(
            *("docker", "build", "-t", names[-1], "-"),
            input=f"FROM {base}\n{PROGRAMS[program]}\n",
            env=os.environ | {"DOCKER_BUILDKIT": "0"},
        )
    yield
    run("docker", "rmi", *names)


def eventually(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except (OSError, ValueError) as error:
            value = False
            what = f"{what}: {error!r}"[:500]
        if value:
            return value
        assert time.monotonic() < deadline, what
        time.sleep(0.3)


@pytest.fixture(scope="module")
def project(images, tmp_path_factory):
    """Ports of the balancer and of Prometheus: those of compose.yaml may be taken here."""
    folder, port, prometheus = tmp_path_factory.mktemp("compose"), free_port(), free_port()
    (folder / "tokens").write_text("a-secret\n")
    (folder / "ports.yaml").write_text(
        "services:\n"
        f'  balancer: {{ports: !override ["127.0.0.1:{port}:8080"]}}\n'
        f'  prometheus: {{ports: !override ["127.0.0.1:{prometheus}:9090"]}}\n'
    )
    command = [
        *(ROOT / "build-cluster/bin/docker-compose", "-p", PROJECT, "--profile", "monitoring"),
        *("-f", COMPOSE, "-f", folder / "ports.yaml"),
    ]
    environment = os.environ | {"TOKENS": str(folder / "tokens")}
    try:
        up = ("up", "-d", "--no-build", "--pull", "never")
        run(*command, *up, *RUNNING, timeout=180, env=environment)
        eventually(lambda: ask(port, "GET", "/readyz")[0] == 200, 60, "the balancer")
        yield port, prometheus
    finally:
        run(*command, "down", "-v", "-t", "5", timeout=180, env=environment)


def test_the_page_and_the_api(project, start_server):
    port, _ = project
    status, head, body = ask(port, "GET", "/", fields={"Accept": "text/html"})
    assert status == 200 and head["content-type"].startswith("text/html") and b"posenc" in body
    assert ask(port, "GET", "/explorer.js")[0] == 200
    other = start_server("--log-format", "off")
    path = "/v1/encodings/rope/table?dim=4&length=3"
    assert ask(port, "GET", path)[2] == ask(other.port, "GET", path)[2]


def test_load(project, start_server, tmp_path):
    port, _ = project
    requests = wanted(start_server("--log-format", "off").port, pure_requests())
    result = Load(tmp_path, requests, port, LOAD_SECONDS).result()
    print(json.dumps(result))
    assert result["statuses"].keys() == {"200"}, result
    assert not result["errors"] and not result["wrong"] and not result["cut"], result


def test_storing(project):
    """The writer stores a table, and every replica reads it from the shared volume."""
    port, _ = project
    rows, file = numpy.arange(8, dtype="f4").reshape(4, 2), io.BytesIO()
    numpy.save(file, rows)
    assert ask(port, "PUT", "/v1/encodings/mine", file.getvalue())[0] == 401
    assert ask(port, "PUT", "/v1/encodings/mine", file.getvalue(), TOKEN)[0] == 201
    path = "/v1/encodings/mine/table?length=4&format=raw"

    def seen_by_all():
        return all(ask(port, "GET", path)[::2] == (200, rows.tobytes()) for _ in range(10))

    eventually(seen_by_all, 20, "the table")


def test_prometheus_reads_each_process(project):
    """Three replicas and the writer, found by their names; and the rules are loaded."""
    _, prometheus = project

    def get(path):
        return json.loads(ask(prometheus, "GET", path)[2])["data"]

    def up():
        query = urllib.parse.urlencode({"query": 'up{job="posenc"}'})
        found = get(f"/api/v1/query?{query}")["result"]
        roles = sorted(one["metric"]["role"] for one in found if one["value"][1] == "1")
        return roles == ["reader"] * 3 + ["writer"]

    eventually(up, 60, "four targets")
    rules = [rule for group in get("/api/v1/rules")["groups"] for rule in group["rules"]]
    assert rules and all(rule["health"] in ("ok", "unknown") for rule in rules)
