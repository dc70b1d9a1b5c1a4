# SPDX-License-Identifier: MIT
"""A request has one answer, byte for byte: at any instruction set, number of threads and loops."""

import json
import os
import pathlib
import re
import subprocess

import numpy
import pytest
from safetensors.numpy import save as safetensors_save

from service import SAFETENSORS, call, get

POSENCD = pathlib.Path(__file__).resolve().parents[2] / os.environ.get("POSENCD", "build/posencd")
HELP = subprocess.run([POSENCD, "--help"], capture_output=True, text=True, check=True).stdout
ISAS = re.search(r"POSENC_ISA=NAME .*: (.*)", HELP).group(1).split()
WAYS = {
    "one thread": ["--threads", "1"],
    "two threads": ["--threads", "2"],
    "three threads": ["--threads", "3"],
    "two loops": ["--loops", "2"],
}


def requests():
    """(name, method, path, body): every kind of work, over several blocks of the pool."""
    draw = numpy.random.default_rng(11).standard_normal
    batch = {"q": draw((2, 8, 300, 64)), "k": draw((2, 2, 300, 64))}
    views = {
        "sinusoidal": "sinusoidal/table?dim=512&length=2000&start=-7&format=raw",
        "half positions": "sinusoidal/table?dim=64&length=999&start=0.5&step=0.25&format=raw",
        "rope": "rope/table?dim=128&length=3000&start=1000000&format=raw",
        "llama3": "rope/table?dim=128&length=2000&base=500000&rope_type=llama3&factor=8"
        "&low_freq_factor=1&high_freq_factor=4&original_max_position_embeddings=8192"
        "&format=raw&dtype=bf16",
        "json": "rope/table?dim=64&length=300&dtype=f64",
        "alibi": "alibi/bias?heads=12&query_length=200&format=raw&dtype=f16",
        "shaw": "shaw/bias?max_relative_position=16&query_length=300&format=raw",
    }
    for name, tail in views.items():
        yield name, "GET", "/v1/encodings/" + tail, None
    for dtype in (numpy.float64, numpy.float32, numpy.float16):
        body = safetensors_save({name: x.astype(dtype) for name, x in batch.items()})
        for layout in ("half", "interleaved"):
            yield (
                f"rotation {dtype.__name__} {layout}",
                "POST",
                f"/v1/rotation?encoding=rope&layout={layout}&axes=bhsd&start=17",
                body,
            )
    rotate_bf16 = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=3"
    bits = (batch["q"].astype(numpy.float32).view(numpy.uint32) >> 16).astype("<u2").tobytes()
    head = json.dumps(
        {"q": {"dtype": "BF16", "shape": [2, 8, 300, 64], "data_offsets": [0, len(bits)]}}
    ).encode()
    yield "rotation bf16", "POST", rotate_bf16, len(head).to_bytes(8, "little") + head + bits
    attention = batch | {
        "v": draw((2, 2, 300, 64)),
        "rel_k": draw((33, 64)),
        "rel_v": draw((33, 64)),
    }
    for scheme in ("none", "rope&layout=half", "alibi", "shaw"):
        given = {
            name: x.astype(numpy.float32)
            for name, x in attention.items()
            if scheme == "shaw" or not name.startswith("rel")
        }
        yield (
            f"attention {scheme}",
            "POST",
            f"/v1/attention?encoding={scheme}&causal=true",
            safetensors_save(given),
        )
    for config in ("llama-3.1", "phi-3.5-mini", "gemma-3-1b"):
        path = pathlib.Path(__file__).resolve().parents[1] / f"data/configs/{config}.json"
        body = json.dumps(json.loads(path.read_text())["config"]).encode()
        yield f"golden {config}", "POST", "/v1/golden?format=safetensors", body


def answers(server):
    got = {}
    for name, method, path, body in requests():
        kind = "application/json" if body and body[:1] == b"{" else SAFETENSORS
        headers = {"Content-Type": kind} if body else {}
        answer = call(server, method, path, body, headers)
        assert answer.status == 200, (name, answer.body[:400])
        got[name] = answer.body
    return got


@pytest.fixture(scope="module")
def expected(server):
    return answers(server)


def assert_same(got, expected):
    assert [name for name in expected if got[name] != expected[name]] == []
    assert len(expected) >= 18 and all(len(body) > 1000 for body in expected.values())


def test_again(server, expected):
    assert_same(answers(server), expected)


@pytest.mark.plain  # the suite sanitized checks the kernels of each by themselves
def test_isas(start_server, expected):
    """Those that this machine has; it falls back from the others."""
    used = set()
    for isa in ISAS:
        server = start_server(env={"POSENC_ISA": isa})
        used.add(get(server, "/v1").json["isa"])
        assert_same(answers(server), expected)
    assert "scalar" in used and len(used) > 1


@pytest.mark.parametrize("way", WAYS)
def test_threads(start_server, expected, way):
    assert_same(answers(start_server(*WAYS[way])), expected)
