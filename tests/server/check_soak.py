# SPDX-License-Identifier: MIT
"""Half an hour of mixed load: tables, ranges, rotations, attention, uploads in chunks, stored
tables, requests that are refused, clients that leave and clients that are slow.

    python tests/server/check_soak.py [--seconds 1800]

Every body is compared with that of another process, which computes at the lowest instruction set
and caches nothing. The load pauses PAUSES times, and the process is looked at. It is flat if, from
the third pause on, it has as many descriptors as at the third, holds no memory of requests, and the
median of its resident memory in the last third of the pauses is at most FLAT above that of the
first third. The last line counts; the exit code is 0 only if no body and no status was wrong and
the process is flat. POSENC_SOAK_SECONDS is the default of --seconds."""

import argparse
import collections
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import conftest  # noqa: E402
from held import metric  # noqa: E402

SECONDS = int(os.environ.get("POSENC_SOAK_SECONDS", "1800"))
PAUSES, SETTLE = 12, 4  # buffers that are not used go back after two seconds
LINGER = 11  # seconds; a socket that was refused is closed after ten
MIB = 1 << 20
FLAT = 4 * MIB
FLAGS = ("--log-format", "off", "--memory-budget", "1GiB", "--cache-max", "16MiB")
RAW = {"Content-Type": "application/octet-stream", "Accept": "application/octet-stream"}
JSON = {"Content-Type": "application/json"}
TIMEOUT = 120


class Asked:
    """A request, and what the other process answered: its status, and the hash of its body."""

    def __init__(self, method, path, fields=None, body=None, *, chunks=0):
        self.method, self.path, self.fields, self.body = method, path, fields or {}, body
        self.chunks = chunks

    def send(self, connection):
        if self.chunks:
            pieces = (
                self.body[at : at + self.chunks] for at in range(0, len(self.body), self.chunks)
            )
            connection.request(self.method, self.path, pieces, self.fields, encode_chunked=True)
        else:
            connection.request(self.method, self.path, self.body, self.fields)
        answer = connection.getresponse()
        return answer.status, digest(answer.read())

    def learn(self, connection):
        self.expected = self.send(connection)


def digest(body):
    """A hash; of a problem its type and detail as well, without the id of its request."""
    if not body.startswith(b'{"type":"/problems/'):
        return hashlib.sha256(body).hexdigest()
    problem = {**json.loads(body), "request_id": ""}
    whole = hashlib.sha256(json.dumps(problem).encode()).hexdigest()
    return f"{problem['type']} ({problem.get('detail', '')}) {whole}"


def tensor(size, seed):
    """Float32 in [1, 2)."""
    words = random.Random(seed).getrandbits(size * 8).to_bytes(size, "little")
    return b"".join(
        struct.pack("<I", 0x3F800000 | word >> 9) for (word,) in struct.iter_unpack("<I", words)
    )


def rotation(shape, seed, **more):
    size = 4
    for extent in shape:
        size *= extent
    fields = RAW | {"Tensor-Dtype": "f32", "Tensor-Shape": ",".join(map(str, shape))}
    path = f"/v1/rotation?encoding=rope&layout=half&axes=bhsd&start={seed}"
    return Asked("POST", path, fields, tensor(size, seed), **more)


def attention(queries):
    q, k, v = (
        {"shape": [1, 2, queries, 8], "data": [(i * step % 17) / 8 for i in range(queries * 16)]}
        for step in (3, 5, 7)
    )
    body = {"encoding": "alibi", "heads": 2, "outputs": "output", "tensors": {}}
    body["tensors"] = {"q": q, "k": k, "v": v}
    return Asked("POST", "/v1/attention", JSON, json.dumps(body).encode())


def requests():
    """What each kind of client asks."""
    table = "/v1/encodings/rope/table?dim=128"
    gets = [
        Asked("GET", f"{table}&length={16 << i}&start={start}&format={form}")
        for i in range(5)
        for start in (0, 1000)
        for form in ("raw", "json", "npy", "safetensors")
    ]
    gets += [
        Asked("GET", "/v1/encodings/alibi/bias?heads=8&query_length=64&format=raw"),
        Asked("GET", "/v1/encodings/t5/bias?heads=2&num_buckets=32&query_length=48"),
        Asked(
            "GET",
            "/v1/encodings/rope/frequencies?dim=64&rope_type=yarn&factor=4"
            "&original_max_position_embeddings=4096",
        ),
        Asked("GET", "/v1/encodings/sinusoidal/analysis/similarity?dim=64&length=64&format=png"),
        Asked("GET", "/v1/encodings/rope"),
        Asked("GET", f"{table}&length=4096&format=raw", {"Range": "bytes=4096-8191"}),
        Asked("GET", f"{table}&length=512", {"Accept-Encoding": "zstd"}),
        Asked("HEAD", f"{table}&length=512"),
    ]
    refused = [
        Asked("GET", "/v1/encodings/rope/table?dim=7&length=4"),
        Asked("GET", "/v1/encodings/roper/table?dim=8&length=4"),
        Asked("DELETE", "/v1/encodings/rope/table"),
        Asked("GET", f"{table}&positions=" + "1," * 9000),
        Asked("GET", "/livez", {"X-A": "a" * 30000}),
        Asked("POST", "/v1/rotation", JSON, b'{"tensors":{"q":'),
    ]
    return {
        "get": gets,
        "rotate": [rotation((1, 2, 2 << i, 128), i) for i in range(8)]
        + [rotation((1, 32, 128, 128), 40)],
        "attend": [attention(n) for n in (1, 8, 40)],
        "upload": [rotation((1, 64, 512, 128), 50, chunks=n) for n in (60000, 1 << 20)],
        "refused": refused,
    }


# ---- clients ----------------------------------------------------------------------------------


class Load:
    """The clients, and what they saw."""

    def __init__(self, server, asked):
        self.server, self.asked = server, asked
        self.counts, self.wrong, self.lock = collections.Counter(), [], threading.Lock()
        self.running, self.ended = threading.Event(), False

    def note(self, kind, fault=None):
        with self.lock:
            self.counts[kind] += 1
            if fault and len(self.wrong) < 20:
                self.wrong.append(f"{kind}: {fault}")
            self.counts["wrong"] += fault is not None

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=TIMEOUT)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.server.port), TIMEOUT)

    def client(self, kind, run, seed):
        chance = random.Random(seed)
        while not self.ended:
            self.running.wait()
            with contextlib.closing(self.connect()) as connection:
                while self.running.is_set() and not self.ended:
                    try:
                        self.note(kind, run(self, connection, chance))
                    except (OSError, http.client.HTTPException, ValueError) as error:
                        self.note(kind, repr(error))
                        connection.close()


def ask_one(kind):
    def run(load, connection, chance):
        asked = chance.choice(load.asked[kind])
        found = asked.send(connection)
        if kind == "refused":
            connection.close()
        return None if found == asked.expected else f"{asked.path[:80]}: {found} {asked.expected}"

    return run


def store(load, connection, chance):
    """A table of its own: stored, read, replaced by another, deleted."""
    name = f"soak-{threading.get_ident()}"
    path, token = f"/v1/encodings/{name}", {"Authorization": "Bearer " + conftest.TOKEN}
    fields = token | {"Content-Type": "application/x-safetensors"}
    head = b'{"table":{"dtype":"F32","shape":[64,32],"data_offsets":[0,8192]}}'
    for seed in chance.sample(range(100), 2):
        values = tensor(8192, seed)
        connection.request("PUT", path, struct.pack("<Q", len(head)) + head + values, fields)
        answer = connection.getresponse()
        answer.read()
        if answer.status not in (200, 201):
            return f"PUT {answer.status}"
        connection.request("GET", f"{path}/table?length=64&format=raw")
        answer = connection.getresponse()
        if (answer.status, answer.read()) != (200, values):
            return f"GET of a stored table {answer.status}"
    connection.request("DELETE", path, headers=token)
    answer = connection.getresponse()
    answer.read()
    return None if answer.status in (200, 204) else f"DELETE {answer.status}"


def leave(load, connection, chance):
    """In the middle of a head, of a body, of the work or of an answer; with a reset or without."""
    upload = chance.choice(load.asked["upload"])
    fields = "".join(f"{name}: {value}\r\n" for name, value in upload.fields.items())
    head = f"POST {upload.path} HTTP/1.1\r\nHost: localhost\r\n{fields}"
    head += f"Content-Length: {len(upload.body)}\r\n\r\n"
    long = "GET /v1/encodings/alibi/bias?heads=32&query_length=64&key_length=8192&format=raw"
    text = chance.choice(
        [head[:40].encode(), head.encode() + upload.body[: chance.randrange(1 << 20)]]
        + [f"{long} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()] * 2
    )
    with load.socket() as client:
        client.sendall(text)
        if text.startswith(b"GET"):
            client.recv(chance.randrange(1, 1 << 18))
        if chance.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def be_slow(load, connection, chance):
    """A head of single bytes; a body, and an answer, in small pieces: above the least rates."""
    asked = chance.choice(load.asked["rotate"][-2:])
    fields = "".join(f"{name}: {value}\r\n" for name, value in asked.fields.items())
    head = f"POST {asked.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}"
    head = f"{head}Content-Length: {len(asked.body)}\r\n\r\n".encode()
    with load.socket() as client:
        for at in range(0, len(head), 8):
            client.sendall(head[at : at + 8])
            time.sleep(0.005)
        for at in range(0, len(asked.body), 1 << 15):
            client.sendall(asked.body[at : at + (1 << 15)])
            time.sleep(0.02)
        found = b""
        while piece := client.recv(1 << 15):
            found += piece
            time.sleep(0.01)
    top, _, body = found.partition(b"\r\n\r\n")
    status = int(top.split()[1]) if top else 0
    if (status, digest(body)) != asked.expected:
        return f"{status}, {len(body)} bytes: {digest(body)}"


CLIENTS = {
    "get": (ask_one("get"), 6),
    "rotate": (ask_one("rotate"), 3),
    "attend": (ask_one("attend"), 2),
    "upload": (ask_one("upload"), 2),
    "refused": (ask_one("refused"), 1),
    "store": (store, 1),
    "leave": (leave, 2),
    "slow": (be_slow, 4),
}


# ---- the process ------------------------------------------------------------------------------


def looked_at(server):
    """Resident bytes, descriptors (for a second the same), bytes held by requests."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) << 10 for line in status.splitlines() if "VmRSS" in line)
    descriptors, deadline = [], time.monotonic() + LINGER
    while len(set(descriptors)) != 1 or time.monotonic() < deadline:
        descriptors = [*descriptors[-9:], len(os.listdir(f"/proc/{server.process.pid}/fd"))]
        time.sleep(0.1)
    return resident, descriptors[-1], metric(server, "posenc_memory_held_bytes")


def faults_of(looks):
    """The first two pauses are left out: caches and the allocator's arenas fill."""
    settled, faults = looks[2:], []
    if any(descriptors != settled[0][1] for _, descriptors, _ in settled):
        faults.append(f"descriptors: {[one[1] for one in settled]}")
    if any(held > 0 for _, _, held in settled):
        faults.append(f"held by no request: {[one[2] for one in settled]}")
    third = max(len(settled) // 3, 1)
    first, last = (
        statistics.median(one[0] for one in part) for part in (settled[:third], settled[-third:])
    )
    if last > first + FLAT:
        faults.append(f"resident memory: {[one[0] >> 10 for one in settled]} KiB")
    return faults


def run_load(load, seconds):
    threads = [
        threading.Thread(target=load.client, args=(kind, run, 100 * at + i), daemon=True)
        for at, (kind, (run, count)) in enumerate(CLIENTS.items())
        for i in range(count)
    ]
    for thread in threads:
        thread.start()
    looks = []
    for _ in range(PAUSES):
        load.running.set()
        time.sleep(max(seconds / PAUSES - SETTLE, 1))
        load.running.clear()
        idle_until(load, SETTLE)
        looks.append(looked_at(load.server))
        resident, descriptors, held = looks[-1]
        print(
            f"{sum(load.counts.values())} requests, {load.counts['wrong']} wrong; "
            f"{resident / MIB:.1f} MiB resident, {descriptors} descriptors, {held:.0f} bytes held",
            flush=True,
        )
    load.ended = True
    load.running.set()
    for thread in threads:
        thread.join(TIMEOUT)
    return looks


def idle_until(load, seconds):
    """Waits until no request was completed for so long."""
    deadline, before = time.monotonic() + TIMEOUT, None
    while (now := sum(load.counts.values())) != before and time.monotonic() < deadline:
        before = now
        time.sleep(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="posenc-soak-"))
    (folder / "tables").mkdir()
    (folder / "tokens").write_text(conftest.TOKEN + "\n")
    asked = requests()
    other = conftest.start(*FLAGS, "--cache-max", "0", env={"POSENC_ISA": "scalar"})
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", other.port)) as connection:
        for one in (one for kind in asked.values() for one in kind):
            one.learn(connection)
    conftest.finish(other)
    server = conftest.start(
        *FLAGS, "--tables", folder / "tables", "--token-file", folder / "tokens"
    )
    load = Load(server, asked)
    looks = run_load(load, arguments.seconds)
    conftest.finish(server)
    shutil.rmtree(folder)
    faults = faults_of(looks)
    for fault in load.wrong + faults:
        print(fault)
    wrong = load.counts.pop("wrong")
    print(", ".join(f"{kind} {count}" for kind, count in sorted(load.counts.items())))
    total = sum(load.counts.values()) + 3
    print(f"{total - wrong - len(faults)} passed, {wrong + len(faults)} failed, 0 skipped")
    return 1 if wrong or faults else 0


if __name__ == "__main__":
    sys.exit(main())
