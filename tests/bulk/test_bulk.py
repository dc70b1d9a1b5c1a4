# SPDX-License-Identifier: MIT
"""examples/bulk: a folder of keys and values, as a store of KV caches has it, moved by Ray Data and
by Dask: the bytes of one process, each file once, also where a worker is killed in the middle.

POSENC_BULK_SHARDS is the number of files, of 64 MiB each."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy
import posenc
import pytest
import safetensors
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
BULK = ROOT / "examples/bulk"
SHARDS = int(os.environ.get("POSENC_BULK_SHARDS", "32"))
LAYERS, TENSOR = 4, (1, 8, 4096, 64)  # 8 MiB of float32
PARAMETERS = ("encoding=rope", "layout=half", "axes=bhsd", "base=500000", "delta=-1000")
MINUTES = 20 * 60
# Runs a program and prints the most memory that it had.
NOTED = """
import re, runpy, sys
del sys.argv[0]
sys.path.insert(0, ".")
runpy.run_path(sys.argv[0], run_name="__main__")
print(re.search("VmHWM.*", open("/proc/self/status").read())[0])
"""


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    for shard in range(SHARDS):
        random = numpy.random.default_rng(shard)
        tensors = {
            f"layers.{layer}.{name}": random.standard_normal(TENSOR, numpy.float32)
            for layer in range(LAYERS)
            for name in "kv"
        }
        save_file(tensors, folder / f"cache-{shard:05d}.safetensors", {"format": "pt"})
    return folder


def command(name, source, target, *more):
    return [sys.executable, BULK / f"{name}.py", source, target, *PARAMETERS, *more]


def run(*arguments):
    subprocess.run(command(*arguments), check=True, timeout=MINUTES)


def sums(target):
    """Of the files that are there, which SHA256SUMS has to list, each once."""
    files = sorted(path for path in target.iterdir() if path.name != "SHA256SUMS")
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    listed = (target / "SHA256SUMS").read_text()
    assert listed == "".join(f"{digest}  {name}\n" for name, digest in found.items())
    assert len(found) == SHARDS
    return found


@pytest.fixture(scope="session")
def alone(source, tmp_path_factory):
    """The hashes of one process, whose memory, with Python and NumPy, is not that of two files."""
    target = tmp_path_factory.mktemp("alone")
    noted = subprocess.run(
        [sys.executable, "-c", NOTED, *command("alone", source, target)[1:]],
        check=True,
        timeout=MINUTES,
        stdout=subprocess.PIPE,
        text=True,
        cwd=BULK,
    )
    assert int(noted.stdout.split()[1]) < 96 << 10, noted.stdout
    return sums(target)


def test_one_process_is_right(source, alone, tmp_path):
    """Keys are those of posenc.rotate on the whole, all else is unchanged."""
    target = tmp_path / "one"
    target.mkdir()
    one = sorted(source.iterdir())[0]
    (tmp_path / "from").mkdir()
    os.link(one, tmp_path / "from" / one.name)
    run("alone", tmp_path / "from", target)
    assert hashlib.sha256((target / one.name).read_bytes()).hexdigest() == alone[one.name]
    with (
        safetensors.safe_open(one, "numpy") as before,
        safetensors.safe_open(target / one.name, "numpy") as after,
    ):
        assert before.metadata() == after.metadata() and before.keys() == after.keys()
        for name in before.keys():
            want = before.get_tensor(name)
            if name.endswith(".k"):
                want = posenc.rotate(
                    "rope", k=want, layout="half", axes="bhsd", base=500000, delta=-1000
                ).k
            assert numpy.array_equal(after.get_tensor(name), want)


def worker_in(target):
    """The process that is writing a file, once some are complete."""
    deadline = time.monotonic() + MINUTES
    while time.monotonic() < deadline:
        parts = list(target.glob(".*.part"))
        if parts and len(list(target.glob("*.safetensors"))) >= SHARDS // 4:
            return int(parts[0].name.split(".")[-2])
        time.sleep(0.002)
    raise TimeoutError("no worker")


@pytest.mark.parametrize("engine", ["with_ray", "with_dask"])
def test_a_killed_worker_changes_nothing(source, alone, tmp_path, engine):
    with subprocess.Popen(command(engine, source, tmp_path, "--workers", "2")) as driver:
        killed = worker_in(tmp_path)
        os.kill(killed, signal.SIGKILL)
        left = len(list(tmp_path.glob("*.safetensors")))
        assert driver.wait(MINUTES) == 0
    assert left < SHARDS, "it was killed at the end"
    assert sums(tmp_path) == alone


@pytest.mark.parametrize("engine", ["with_ray", "with_dask"])
def test_a_second_run_changes_nothing(source, alone, tmp_path, engine):
    """After a driver that was lost in the middle: files that are complete are not written again."""
    with subprocess.Popen(
        command(engine, source, tmp_path, "--workers", "2"), start_new_session=True
    ) as driver:
        worker_in(tmp_path)
        os.killpg(driver.pid, signal.SIGKILL)
    time.sleep(1)
    complete = {path: path.stat().st_ino for path in tmp_path.glob("*.safetensors")}
    run(engine, source, tmp_path, "--workers", "2")
    assert {path: path.stat().st_ino for path in complete} == complete
    assert sums(tmp_path) == alone


def test_bfloat16(tmp_path):
    """NumPy has no such numbers: they are rotated as bits."""
    values = numpy.random.default_rng(1).standard_normal((1, 2, 16, 64), numpy.float32)
    bits = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
    head = {"a.k": {"dtype": "BF16", "shape": bits.shape, "data_offsets": [0, bits.nbytes]}}
    text = json.dumps(head).encode()
    (tmp_path / "from").mkdir()
    file = tmp_path / "from/one.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + bits.tobytes())
    run("alone", file.parent, tmp_path / "to")
    want = bits.copy().view(posenc.BF16)
    posenc.rotate_in_place("rope", want, layout="half", axes="bhsd", base=500000, delta=-1000)
    found = (tmp_path / "to" / file.name).read_bytes()
    assert found[: 8 + len(text)] == file.read_bytes()[: 8 + len(text)]
    assert found[8 + len(text) :] == want.tobytes() != bits.tobytes()


def test_values_of_parameters():
    sys.path.insert(0, str(BULK))
    import shards

    texts = ("rope", "500000", "-1", "true", "[1,2]")
    assert [shards.value_of(text) for text in texts] == ["rope", 500000, -1, True, [1, 2]]
    assert json.dumps(shards.without({"a": 1, "b": 2}, "a")) == '{"b": 2}'
