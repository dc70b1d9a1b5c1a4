# SPDX-License-Identifier: MIT
"""posenc, the command: POSENC names the binary (build/posenc)."""
import os
import pathlib
import pty
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / os.environ.get("POSENC", "build/posenc")
sys.path += [str(ROOT / "tests/integration"), str(ROOT / "tests/recorded")]

import bodies  # noqa: E402


class Posenc:
    def __init__(self, folder):
        self.folder = folder

    def run(self, *arguments, stdin=b"", **options):
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, input=stdin,
                              capture_output=True, timeout=60, **options)

    def __call__(self, *arguments, stdin=b""):
        """What it writes, where all is well."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        return done.stdout

    def refused(self, *arguments, stdin=b""):
        """(the exit code, stderr), where nothing is written."""
        done = self.run(*arguments, stdin=stdin)
        assert done.stdout == b"" and done.returncode != 0
        return done.returncode, done.stderr.decode()

    def on_terminal(self, *arguments):
        """(the exit code, what a terminal shows of both streams)"""
        master, slave = pty.openpty()
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, stdin=slave,
                                   stdout=slave, stderr=slave)
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:
            pass  # the other end is closed
        os.close(master)
        return process.wait(60), shown.replace(b"\r\n", b"\n").decode()


@pytest.fixture
def posenc(tmp_path):
    return Posenc(tmp_path)


@pytest.fixture
def tensors(tmp_path):
    """name -> bytes of files that are in the folder of the test."""
    q, k, v = (bodies.tensor(seed, 1, 2, 3, 8) for seed in (1, 2, 3))
    files = {
        "q.npy": bodies.npy_bytes(bodies.tensor(1, 2, 3, 8)),
        "qkv.safetensors": bodies.safetensors_bytes({"q": q, "k": k, "v": v}),
        "inv_freq.npy": bodies.npy_bytes(bodies.numbers([1, 0.03125, 0.0009765625, 3e-5])),
        "buckets.npy": bodies.npy_bytes(bodies.tensor(4, 4, 3)),
        "sines.npy": bodies.npy_bytes(bodies.numbers([0, 1, 0.75, 0.5], 2, 2)),
        "config.json": b'{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8,'
                       b' "rope_theta": 500000.0}',
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return files
