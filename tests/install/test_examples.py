# SPDX-License-Identifier: MIT
"""The programs of examples/, built against the installed library alone, make the bytes that the
service makes; and the C example of docs/library.md prints what it says."""

import os
import re
import subprocess

import numpy
import pytest
from installed import ROOT, clang

from service import call, get, post_json, post_tensors

PROGRAMS = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))


def package_of(name):
    return "posenc-service" if name == "service" else "posenc"


@pytest.fixture(scope="module")
def run_example(tree, tmp_path_factory):
    def runner(name, *arguments):
        folder = tmp_path_factory.mktemp(name)
        tree.build(ROOT / f"examples/{name}.c", folder / name, package=package_of(name))
        return folder, tree.run(folder / name, *arguments, cwd=folder).stdout

    return runner


def test_there_are_eight():
    assert PROGRAMS == [
        "attention",
        "catalogue",
        "config",
        "diagnosis",
        "golden",
        "rotation",
        "service",
        "table",
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_clang_builds_them(tree, tmp_path, name):
    compiler = clang("clang")
    assert compiler, "tools/setup test brings clang"
    tree.build(
        ROOT / f"examples/{name}.c",
        tmp_path / name,
        compiler=(compiler, "-std=c11"),
        package=package_of(name),
    )


def test_table(run_example, server):
    folder, _ = run_example("table")
    table = get(server, "/v1/encodings/sinusoidal/table", dim=512, length=1024, format="npy")
    bias = get(
        server, "/v1/encodings/alibi/bias", heads=8, query_length=64, causal=True, format="npy"
    )
    assert (folder / "table.npy").read_bytes() == table.body
    assert (folder / "bias.npy").read_bytes() == bias.body
    assert numpy.load(folder / "bias.npy").shape == (8, 64, 64)


def test_rotation(run_example, server):
    folder, text = run_example("rotation")
    q = (numpy.arange(16 * 2 * 8, dtype=numpy.float32) / 64).reshape(16, 2, 8)
    made = post_tensors(
        server,
        "/v1/rotation",
        {"q": q},
        encoding="rope",
        base=500000,
        layout="half",
        axes="shd",
        start=1000,
    )
    assert (folder / "rotated.f32").read_bytes() == made["q"].tobytes()
    assert float(text.split("at most")[1]) < 1e-6


def test_attention(run_example, server):
    folder, _ = run_example("attention")
    i = numpy.arange(4 * 32 * 16)
    tensors = {"q": i * 37 % 101 / 64, "k": i * 53 % 103 / 64 - 1, "v": i * 71 % 107 / 64}
    tensors = {name: numpy.float32(t).reshape(1, 4, 32, 16) for name, t in tensors.items()}
    for encoding, layout in (("alibi", None), ("rope", "half")):
        made = post_tensors(
            server,
            "/v1/attention",
            tensors,
            encoding=encoding,
            layout=layout,
            causal=True,
            outputs="output",
        )
        assert (folder / f"{encoding}.f32").read_bytes() == made["output"].tobytes()


CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "rope_theta": 500000.0,
    "max_position_embeddings": 131072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


def test_config(run_example, server):
    scaling = CONFIG["rope_scaling"]
    arguments = [f"{key}={value}" for key, value in CONFIG.items() if key != "rope_scaling"]
    arguments += [f"rope_scaling.{key}={value}" for key, value in scaling.items()]
    lines = run_example("config", *arguments)[1].splitlines()
    told = dict(line.split(": ") for line in lines if ": " in line)
    seen = post_json(server, "/v1/encodings/rope/frequencies", {"config": CONFIG}).good().json
    wanted = numpy.array(seen["tensors"]["inv_freq"]["data"], numpy.float32)
    got = numpy.array([float(line) for line in lines if ": " not in line], numpy.float32)
    assert got.tobytes() == wanted.tobytes() and len(got) == 64
    provenance = post_json(server, "/v1/config", CONFIG).good().json["provenance"]
    del provenance["layout"]
    assert {name: key for name, key in provenance.items() if key != "default"} == {
        name: key for name, key in told.items() if key != "not in the config"
    }


def test_diagnosis(run_example, server):
    lines = run_example("diagnosis")[1].splitlines()
    verdict, code, explanation, fix, error = lines[:5]
    table = get(server, "/v1/encodings/rope/table", dim=32, base=500000, length=64, start=1).json[
        "tensors"
    ]
    body = {
        "encoding": {"name": "rope", "dim": 32, "base": 500000},
        "start": 0,
        "tensors": {name: {"data": table[name]["data"]} for name in ("cos", "sin")},
    }
    report = post_json(server, "/v1/diagnosis", body).good().json
    first = report["candidates"][0]
    assert (
        (report["verdict"], first["bug"]) == (verdict, code) == ("known-bug", "off-by-one-position")
    )
    assert (first["explanation"], first["fix"]) == (explanation, fix)
    assert first["max_abs"] == float(error)
    check_cache_of_diagnosis(server, lines[5:-1], lines[-1])


def check_cache_of_diagnosis(server, heads, difference):
    """[l, h, s, d], whose last layer is rotated from position 1 on."""
    i = numpy.arange(2 * 3 * 64 * 32)
    q = numpy.float32(i * 37 % 101 / 64 - 0.75).reshape(2, 3, 64, 32)
    scheme = {"name": "rope", "dim": 32, "base": 500000, "layout": "half"}
    rotated = [
        post_tensors(
            server,
            "/v1/rotation",
            {"q": q[layer]},
            encoding="rope",
            base=500000,
            layout="half",
            axes="hsd",
            start=layer,
        )["q"]
        for layer in (0, 1)
    ]
    tensors = {
        name: {"shape": t.shape, "data": t.ravel().tolist()}
        for name, t in (("q", q), ("q_rotated", numpy.stack(rotated)))
    }
    body = {"tensors": tensors, "axes": "lhsd", "start": 0}
    report = (
        post_json(server, "/v1/diagnosis", {**body, "encoding": scheme, "per_head": True})
        .good()
        .json
    )
    codes = [by["candidate"]["bug"] or "-" for by in report["explanations"]]
    told = zip(report["per_head"]["verdict"], report["per_head"]["explanation"])
    assert heads == [
        f"{n // 3} {n % 3} {verdict} {codes[by]}" for n, (verdict, by) in enumerate(told)
    ]
    assert heads[2:4] == ["0 2 match -", "1 0 known-bug off-by-one-position"]
    report = (
        post_json(server, "/v1/comparison", {**body, "a": scheme, "b": "tensor:q_rotated"})
        .good()
        .json
    )
    place = report["first_divergence"]["place"]
    assert [float(part) for part in difference.split()] == [
        report["max_abs"],
        place["l"],
        place["h"],
        report["first_divergence"]["position"],
    ]
    assert (place["l"], place["h"]) == (1, 0)


def test_catalogue(run_example, server):
    rows = [line.split("\t") for line in run_example("catalogue")[1].splitlines()]
    listed = get(server, "/v1/encodings").json["encodings"]
    encodings = [row[1:6] for row in rows if row[0] == "encoding"]
    wanted = [
        [e[key] for key in ("name", "family", "title", "formula", "reference")]
        for e in listed
        if e["href"].rsplit("/", 1)[-1] in {e[0] for e in encodings}
    ]
    assert encodings == wanted and len(encodings) > 20
    for encoding in listed:
        params = {row[2]: row for row in rows if row[:2] == ["parameter", encoding["name"]]}
        schemas = encoding["parameters"]["properties"]
        if not params:
            continue
        assert set(schemas) == set(params)
        for name, row in params.items():
            # What a text names is the service's to say: a stored table, a posted tensor.
            assert row[3] == "text" or schemas[name]["description"] == row[7]
        assert {name for name, row in params.items() if row[5] == "required"} == set(
            encoding["parameters"].get("required", ())
        )
        for name, row in params.items():
            least = schemas[name].get("minimum", schemas[name].get("exclusiveMinimum"))
            if least is not None:
                low, high = row[4].removeprefix("above ").split("..")
                assert (float(low), float(high)) == (least, schemas[name]["maximum"])


def test_service(tree, tmp_path, run_example, server):
    """Linked with the archive it needs no library of ours beside it."""
    target = "/v1/encodings/rope/table?dim=8&length=4&start=3"
    assert run_example("service", target)[1].encode() == call(server, "GET", target).body
    program = tree.build(
        ROOT / "examples/service.c", tmp_path / "service", static=True, package="posenc-service"
    )
    refused = subprocess.run([program, "/v1/nothing"], capture_output=True, text=True)
    assert refused.returncode == 1 and '"code":"not-found"' in refused.stderr


def test_library_page(tree, tmp_path):
    page = (ROOT / "docs/library.md").read_text()
    ((code, printed),) = re.findall(r"^```c\n(.*?)^```\n.*?^```text\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "program.c").write_text(code)
    program = tree.build(tmp_path / "program.c", tmp_path / "program")
    assert tree.run(program).stdout == printed


def test_the_commands_of_the_library_page(tmp_path):
    """Line by line, under a home of their own: the first in the sources, the others beside the
    program, and nothing that this machine has set helps them."""
    page = (ROOT / "docs/library.md").read_text()
    code, commands, printed = re.search(
        r"^```c\n(.*?)^```\n.*?^```\n(.*?)^```\n```text\n(.*?)^```$", page, re.M | re.S
    ).groups()
    first, rest = commands.split("\n", 1)
    (tmp_path / "table.c").write_text(code)
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "MAKEFLAGS": f"BUILD={os.environ.get('BUILD', 'build')}",
    }
    subprocess.run(["bash", "-euc", first], cwd=ROOT, env=env, check=True, capture_output=True)
    done = subprocess.run(
        ["bash", "-euc", rest], cwd=tmp_path, env=env, text=True, capture_output=True
    )
    assert (done.stdout, done.stderr) == (printed, "")
