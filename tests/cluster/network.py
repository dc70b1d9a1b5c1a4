# SPDX-License-Identifier: MIT
"""A balancer with docker/haproxy.cfg, three replicas and a writer, each in a network namespace of
its own, and the faults of the network between them. Needs root."""

import contextlib
import itertools
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from parts import HAPROXY, ROOT, haproxy_config

BINARY = ROOT / os.environ.get("POSENCD", "build/posencd")
NETWORK, PORT = "198.18.210", 8080  # of the range that is set aside for tests between devices
READERS = ["reader0", "reader1", "reader2"]
MEMBERS = [*READERS, "writer"]
TOKEN = "a-secret"
numbers = itertools.count()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def address(member):
    return f"{NETWORK}.{MEMBERS.index(member) + 10}"


class Cluster:
    """Running between `start` and `end`. Namespace `edge` has the balancer, a bridge and a port of
    it for each member, which is named after the member; the member's end is eth0."""

    def __init__(self):
        self.prefix = f"posenc-{os.getpid()}-{next(numbers)}-"
        self.folder, self.processes = pathlib.Path(tempfile.mkdtemp(prefix="network-")), []

    def inside(self, name):
        return ("ip", "netns", "exec", self.prefix + name)

    def ip(self, name, *arguments):
        run("ip", "-n", self.prefix + name, *arguments)

    def lay_network(self):
        for name in ["edge", *MEMBERS]:
            run("ip", "netns", "add", self.prefix + name)
            self.ip(name, "link", "set", "lo", "up")
        self.ip("edge", "link", "add", "bridge", "type", "bridge")
        self.ip("edge", "addr", "add", f"{NETWORK}.1/24", "dev", "bridge")
        self.ip("edge", "link", "set", "bridge", "up")
        for member in MEMBERS:
            peer = ("peer", "name", "eth0", "netns", self.prefix + member)
            self.ip("edge", "link", "add", member, "type", "veth", *peer)
            self.ip("edge", "link", "set", member, "master", "bridge", "up")
            self.ip(member, "addr", "add", f"{address(member)}/24", "dev", "eth0")
            self.ip(member, "link", "set", "eth0", "up")

    def start_process(self, name, *command):
        environment = os.environ | {"POSENC_RESOLVER": "127.0.0.1:53"}
        with open(self.folder / f"{name}.log", "w") as log:
            process = subprocess.Popen(
                [*self.inside(name), *command], stdout=log, stderr=log, env=environment
            )
        self.processes.append(process)

    def start(self, flags):
        (self.folder / "tables").mkdir()
        (self.folder / "tokens").write_text(TOKEN + "\n")
        self.lay_network()
        stored = ("--tables", self.folder / "tables", "--tables-poll", "100ms")
        for member in MEMBERS:
            own = flags if member in READERS else ("--token-file", self.folder / "tokens")
            where = ("--bind", address(member), "--port", str(PORT), "--log-format", "off")
            self.start_process(member, BINARY, *where, *stored, *own)
        *readers, writer = [f"{address(member)}:{PORT}" for member in MEMBERS]
        haproxy_config(self.folder, PORT, PORT + 1, readers, writer)
        self.start_process("edge", HAPROXY, "-db", "-f", self.folder / "haproxy.cfg")
        wait_for(lambda: self.status("/readyz") == "200", 20, "the balancer")
        time.sleep(1)  # its first checks of all members

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(40)
        for name in ["edge", *MEMBERS]:
            subprocess.run(["ip", "netns", "del", self.prefix + name], capture_output=True)
        shutil.rmtree(self.folder)

    def status(self, path, *arguments):
        """Of a request through the balancer, by curl; 000 where there was no answer."""
        url = f"http://127.0.0.1:{PORT}{path}"
        curl = ["curl", "-s", "-o", "/dev/null", "-m", "20", "-w", "%{http_code}", *arguments, url]
        return subprocess.run([*self.inside("edge"), *curl], capture_output=True, text=True).stdout


@contextlib.contextmanager
def cluster(*flags):
    """A cluster whose replicas have these flags."""
    one = Cluster()
    try:
        one.start(flags)
        yield one
    finally:
        one.end()


@contextlib.contextmanager
def filtered(members, member, rule):
    """Packets of a member that a rule drops, in both directions."""
    tables = [*members.inside(member), "iptables"]
    for chain in "INPUT", "OUTPUT":
        run(*tables, "-A", chain, *rule)
    yield
    for chain in "INPUT", "OUTPUT":
        run(*tables, "-D", chain, *rule)


def partition(members, member):
    """All packets are dropped; neither side gets an error."""
    return filtered(members, member, ["-j", "DROP"])


def loss(members, member):
    """5 % of the packets are lost in each direction."""
    return filtered(
        members, member, "-m statistic --mode random --probability 0.05 -j DROP".split()
    )


@contextlib.contextmanager
def link_down(members, member):
    """The link is down at the balancer's end."""
    members.ip("edge", "link", "set", member, "down")
    yield
    members.ip("edge", "link", "set", member, "up")


@contextlib.contextmanager
def slow_link(members, member):
    """2 Mbit/s in each direction."""
    ends = [(members.prefix + "edge", member), (members.prefix + member, "eth0")]
    rate = "root tbf rate 2mbit burst 16kb latency 400ms".split()
    for namespace, device in ends:
        run("tc", "-n", namespace, "qdisc", "add", "dev", device, *rate)
    yield
    for namespace, device in ends:
        run("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")
