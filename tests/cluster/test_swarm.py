# SPDX-License-Identifier: MIT
"""docker/swarm/stack.yaml, deployed on a real engine: three replicas behind HAProxy under load
while they are updated, killed, frozen and scaled. Every body is compared by its hash.

CLUSTER_SECONDS is how long each fault is under load (60)."""

import http.client
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy
import pytest
from parts import ROOT, Load, ask, free_port, pure_requests, wanted

sys.path.insert(0, str(ROOT / "tests/container"))

import engine  # noqa: E402
from base import run  # noqa: E402

SECONDS = float(os.environ.get("CLUSTER_SECONDS", "60"))
POOL = ["--default-addr-pool", "198.18.128.0/18", "--default-addr-pool-mask-length", "24"]
HAPROXY = 'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]'
TOKEN = {"Authorization": "Bearer a-secret"}


@pytest.fixture(scope="module")
def docker():
    yield from engine.running(*engine.ADDRESSES)


@pytest.fixture(scope="module")
def images(docker):
    """The image twice, as two versions, and Debian's HAProxy as an image."""
    engine.build("posenc-test")
    base = engine.base_image(packages=("haproxy",))
    run("docker", "tag", "posenc-test", "posenc-test:one")
    label = "FROM posenc-test:one\nLABEL update=yes\n"
    again = ["docker", "build", "-t", "posenc-test:two", "-"]
    run(*again, input=label, env={**os.environ, "DOCKER_BUILDKIT": "0"})
    bad = 'FROM posenc-test:one\nENTRYPOINT ["/usr/bin/posencd", "--no-such-flag"]\n'
    run(*again[:3], "posenc-test:bad", "-", input=bad, env={**os.environ, "DOCKER_BUILDKIT": "0"})
    change = f"FROM {base}\n{HAPROXY}\n"
    run(*again[:3], "haproxy-test", "-", input=change, env={**os.environ, "DOCKER_BUILDKIT": "0"})


def pids(service):
    """Processes of a service's running containers, by container."""
    names = run("docker", "ps", "-q", "--filter", f"name=posenc-test_{service}").split()
    facts = json.loads(run("docker", "inspect", *names)) if names else []
    return {one["Id"]: one["State"]["Pid"] for one in facts if one["State"]["Pid"]}


def ready(port):
    try:
        return ask(port, "GET", "/readyz", timeout=2)[0] == 200
    except OSError:
        return False


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def healthy(service, count):
    filters = ["--filter", f"name=posenc-test_{service}", "--filter", "health=healthy"]
    return len(run("docker", "ps", "-q", *filters).split()) >= count


@pytest.fixture(scope="module")
def stack(images, tmp_path_factory):
    """The port of the balancer."""
    folder, port = tmp_path_factory.mktemp("stack"), free_port()
    (folder / "tokens").write_text("a-secret\n")
    # A run that was killed did not leave its swarm.
    subprocess.run(["docker", "swarm", "leave", "--force"], capture_output=True, timeout=120)
    run("docker", "swarm", "init", "--advertise-addr", "127.0.0.1", *POOL)
    environment = {
        "IMAGE": "posenc-test:one",
        "BALANCER_IMAGE": "haproxy-test",
        "PORT": str(port),
        "TOKENS": str(folder / "tokens"),
    }
    run(
        *("docker", "stack", "deploy", "--resolve-image", "never"),
        *("-c", "docker/swarm/stack.yaml", "posenc-test"),
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        wait_for(lambda: healthy("reader", 3), 60, "three replicas")
        wait_for(lambda: ready(port), 60, "the balancer")
        yield port
    finally:
        subprocess.run(["docker", "stack", "rm", "posenc-test"], capture_output=True, timeout=120)
        subprocess.run(["docker", "swarm", "leave", "--force"], capture_output=True, timeout=120)


@pytest.fixture
def load(stack, tmp_path, start_server):
    """Load during which a test does something; behind it no request failed and no byte is wrong."""
    wait_for(lambda: healthy("reader", 3), 60, "three replicas")
    requests = wanted(start_server("--log-format", "off").port, pure_requests())
    running = Load(tmp_path, requests, stack, SECONDS)
    time.sleep(2)
    yield running
    result = running.result()
    print(json.dumps(result))
    assert result["statuses"].keys() == {"200"}, result
    assert not result["errors"] and not result["wrong"] and not result["cut"], result


def update(*arguments):
    return subprocess.run(
        ["docker", "service", "update", "--no-resolve-image", *arguments, "posenc-test_reader"],
        capture_output=True,
        text=True,
        timeout=300,
    )


def image_now():
    (facts,) = json.loads(run("docker", "service", "inspect", "posenc-test_reader"))
    return facts["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"]


def test_update(load):
    assert update("--image", "posenc-test:two").returncode == 0
    assert image_now() == "posenc-test:two"


def test_a_bad_update_is_rolled_back(load):
    before = image_now()
    update("--image", "posenc-test:bad")
    wait_for(lambda: image_now() == before, 120, "the rollback")


def test_rollback_by_hand(load):
    before = image_now()
    other = "posenc-test:one" if before == "posenc-test:two" else "posenc-test:two"
    assert update("--image", other).returncode == 0 and image_now() == other
    run("docker", "service", "rollback", "posenc-test_reader", timeout=300)
    assert image_now() == before


def test_kill(load):
    for _ in range(3):
        container, pid = next(iter(pids("reader").items()))
        os.kill(pid, signal.SIGKILL)
        time.sleep(4)
        wait_for(lambda gone=container: gone not in pids("reader"), 20, "the end of it")


def test_freeze(load):
    for _ in range(3):
        pid = next(iter(pids("reader").values()))
        os.kill(pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(pid, signal.SIGCONT)
        time.sleep(2)


def test_scale_down_and_up(load):
    for count in 1, 3:
        run("docker", "service", "scale", f"posenc-test_reader={count}", timeout=120)


def seen_by_all(port, path, rows):
    """Ten answers in a row: each is the table, or 404 until the replica has looked again."""
    for _ in range(10):
        status, _, body = ask(port, "GET", path)
        assert status == 404 or status == 200 and body == rows.tobytes()
        if status == 404:
            return False
    return True


def test_uploads_while_replicas_restart(load, stack):
    """Each change is carried out once, and each stored table is read back through the balancer."""
    for i in range(10):
        file, rows = io.BytesIO(), numpy.random.default_rng(i).standard_normal((8, 4), "f4")
        numpy.save(file, rows)
        fields = TOKEN | {"If-None-Match": "*"}
        status, _, body = ask(stack, "PUT", f"/v1/encodings/up{i}", file.getvalue(), fields)
        assert status == 201, body
        if i % 3 == 0:
            os.kill(next(iter(pids("reader").values())), signal.SIGTERM)
        path = f"/v1/encodings/up{i}/table?length=8&format=raw"
        wait_for(lambda one=(path, rows): seen_by_all(stack, *one), 20, "the new table")


def test_the_writer_is_lost_and_back(load, stack):
    """Reading goes on; changes are refused at once, and accepted again."""
    file = io.BytesIO()
    numpy.save(file, numpy.ones((2, 2), "f4"))

    def put():
        return ask(stack, "PUT", "/v1/encodings/again", file.getvalue(), TOKEN)[0]

    assert put() in (200, 201)
    run("docker", "service", "scale", "posenc-test_writer=0", timeout=120)
    began = time.monotonic()
    assert put() in (502, 503) and time.monotonic() - began < 10
    run("docker", "service", "scale", "posenc-test_writer=1", timeout=120)
    wait_for(lambda: put() in (200, 201), 30, "the writer")


def test_all_down_and_back(stack):
    """The addresses of killed containers do not answer: until checks have failed, HAProxy tries
    four times for 1.5 s (`retries`, `timeout connect`). After that it answers at once."""
    wait_for(lambda: healthy("reader", 3), 60, "three replicas")
    for pid in pids("reader").values():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.7)
    began = time.monotonic()
    status, head, _ = ask(stack, "GET", "/v1")
    assert time.monotonic() - began < 6.5
    assert status == 200 or status == 503 and head["retry-after"] == "1"
    wait_for(lambda: ready(stack), 30, "a new replica")


def test_out_of_memory(images):
    """A container over its limit is killed, and started again by the engine."""
    port = free_port()
    name = run(
        *("docker", "run", "-d", "--restart", "always", "--memory", "64m", "--memory-swap", "64m"),
        *("-p", f"127.0.0.1:{port}:8080", "-e", "POSENC_MEMORY_BUDGET=1GiB", "posenc-test:one"),
    ).strip()
    fields = {
        "Content-Type": "application/octet-stream",
        "Tensor-Dtype": "f32",
        "Tensor-Shape": "1,1,262144,128",
    }

    def state():
        return json.loads(run("docker", "inspect", name))[0]

    try:
        wait_for(lambda: ready(port), 30, "the container")
        path = "/v1/rotation?encoding=rope&layout=half&axes=bhsd"
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(port, "POST", path, bytes(1 << 27), fields, timeout=60)
        wait_for(lambda: state()["RestartCount"] >= 1, 30, "a restart")
        wait_for(lambda: ready(port), 40, "the container again")
    finally:
        subprocess.run(["docker", "rm", "-f", name], capture_output=True, timeout=60)
