# SPDX-License-Identifier: MIT
"""client.js in node: what it makes of this server's answers in every format, and, beside a server
and a module with scripts (client_options.mjs), what it sends with each of its options."""

import json
import math
import pathlib
import re
import struct
import subprocess

import pytest
import safetensors.numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/js/client.js"
TABLE = [
    math.sin(0),
    math.cos(0),
    math.sin(0),
    math.cos(0),
    math.sin(1),
    math.cos(1),
    math.sin(0.01),
    math.cos(0.01),
]


@pytest.fixture(scope="module")
def told(server):
    return json.loads(
        subprocess.run(
            ["node", "tests/integration/client.mjs", server.url],
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout
    )


def test_the_file_is_served(server):
    answer = server.get("/client.js")
    assert answer.content == CLIENT.read_bytes()
    assert answer.headers["Content-Type"] == "text/javascript"
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert server.get("/client.js", headers=tag).status_code == 304


def test_arrays(told):
    """Each dtype in its array; one table by all formats."""
    for dtype, array, view in (("f64", "Float64Array", "d"), ("f16", "Uint16Array", "e")):
        found = told[dtype]
        assert found["array"] == array or dtype == "f16" and found["array"] == "Float16Array"
        values = (
            found["data"]
            if array != "Uint16Array"
            else struct.unpack("<8e", struct.pack("<8H", *found["data"]))
        )
        assert values == pytest.approx(TABLE, rel=2**-53 if view == "d" else 2**-11)
    assert told["bf16"]["data"] == [0, 0x3F80, 0, 0x3F80, 0x3F57, 0x3F0A, 0x3C24, 0x3F80]
    for form in ("npy", "raw"):
        assert told[form]["shape"] == [2, 4] and told[form]["array"] == "Float32Array"
        assert told[form]["data"] == pytest.approx(TABLE, rel=2**-24)
    assert told["json"]["table"]["data"][1] == pytest.approx(TABLE[4:], rel=1e-6)
    assert told["csv"].splitlines()[1] == "0,1,0,1"
    assert told["table"]["cos"]["shape"] == told["view"]["similarity"]["shape"] == [2, 2]
    for name in ("far", "far_text"):  # a query of 30 kB is posted
        assert told[name]["cos"]["shape"] == [5000, 2]
        assert told[name]["cos"]["data"][-2] == pytest.approx(math.cos(14999), rel=1e-6)
    assert told["read"]["x"] == {
        "dtype": "i64",
        "shape": [2],
        "data": [3, -4],
        "array": "BigInt64Array",
    }


def test_functions(told):
    assert told["rotated"]["q"]["data"][:4] == [1, 2, 3, 4]
    assert told["rotated"]["q"]["data"][4] == pytest.approx(5 * math.cos(1) - 7 * math.sin(1))
    assert told["back"]["q"]["data"] == pytest.approx([1, 2, 3, 4, 5, 6, 7, 8])
    assert told["config"]["dim"] == 16 and told["names"] > 20 and told["compared"] > 0


def test_golden_files(told, server):
    """The description and the tensors of the file that the server makes; checks of right outputs,
    of zeros, and of another direction; a golden file that was changed."""
    config = {"config": {"model_type": "llama", "head_dim": 4}, "context": 300}
    content = server.post("/v1/golden?format=safetensors", json=config).content
    found, every = told["golden"], safetensors.numpy.load(content)
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    assert found["description"] == json.loads(metadata["golden"]) == told["golden_json"]["golden"]
    assert found["tensors"].keys() == every.keys() == told["golden_json"]["tensors"].keys()
    for name, own in found["tensors"].items():
        assert own["shape"] == list(every[name].shape)
        assert own["data"] == every[name].ravel().tolist(), name
    assert told["checked"] == [
        ["right", None],
        ["wrong", "uninitialized"],
        ["wrong", "rotated-backwards"],
    ]
    for name in ("golden_refused", "changed"):
        assert (told[name]["name"], told[name]["status"]) == ("PosencError", 422)


def test_an_encoding_is_a_name_or_an_object(told):
    assert told["by_object"] == told["by_name"] != told["rotated"]
    assert told["bits_by_object"] == told["bits_by_name"]
    assert told["by_config"] == told["by_base"] != told["table"]


def test_positions_have_rows(told):
    first, second = told["rows"]["q"]["data"][:8], told["rows"]["q"]["data"][8:]
    assert first == told["rotated"]["q"]["data"] and second == told["row"]["q"]["data"] != first


def test_another_format_is_accepted(told):
    tensors = told["accepted"]["tensors"]
    assert sum(tensors["cos"]["data"], []) == pytest.approx(told["table"]["cos"]["data"], rel=1e-6)


def test_options():
    done = subprocess.run(
        ["node", "--test", "tests/integration/client_options.mjs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if not re.match(r" *(ok|# Subtest|\.\.\.)", line)
    )


def test_failures(told):
    assert told["refused"] == {"name": "PosencError", "status": 404, "code": "not-found"}
    assert told["aborted"]["name"] == "AbortError"
