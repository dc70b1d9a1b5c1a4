# SPDX-License-Identifier: MIT
"""posenc.golden and posenc.check: files and answers of every published config that has one, by the
library and by a server."""

import asyncio
import json

import numpy
import posenc
import pytest
from conftest import ROOT

LLAMA = {"model_type": "llama", "head_dim": 16, "max_position_embeddings": 4096}


def file_of(door, config):
    """The golden file as bytes; None: there is none for this config."""
    body = json.dumps(config).encode()
    fields = {"Content-Type": "application/json"}
    reply = door.request("POST", "/v1/golden?format=safetensors", body, fields)
    return reply.content if reply.status == 200 else None


@pytest.mark.filterwarnings("ignore::posenc.EncodingWarning")
def test_every_published_config(remote, tmp_path):
    """The library and the server give the same bytes and answers; outputs are right against the
    answer and against the file."""
    count = 0
    for path in sorted((ROOT / "tests/data/configs").glob("*.json")):
        config = json.loads(path.read_text())["config"]
        content = file_of(posenc, config)
        assert content == file_of(remote, config), path
        if content is None:
            continue
        golden, there = posenc.golden(config), remote.golden(config)
        assert golden.info["golden"] == there.info["golden"] and golden.names == there.names
        for name, one, other in zip(golden.names, golden, there):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes(), (path, name)
        (tmp_path / "golden.safetensors").write_bytes(content)
        mine = {name: golden[name] for name in golden.names if name.endswith("_rotated")}
        for made in (golden, tmp_path / "golden.safetensors"):
            report = posenc.check(mine, made)
            assert (report.verdict, report.checked) == ("right", len(mine)), (path, report)
        count += 1
    assert count >= 40


@pytest.fixture
def golden():
    return posenc.golden(LLAMA)


def test_a_check_is_the_same_in_the_library_and_by_a_server(golden, remote, url):
    wrong = {"sin": -numpy.asarray(golden.sin), "q_rotated": golden.q}

    async def awaited():
        async with posenc.connect_async(url) as server:
            return await server.check(wrong, await server.golden(LLAMA))

    report = posenc.check(wrong, golden)
    assert report.verdict == "wrong"
    assert {one["mistake"] for one in report.tensors} == {"not-rotated", "rotated-backwards"}
    assert report == remote.check(wrong, golden) == asyncio.run(awaited())


def test_files(golden, door, tmp_path):
    """Outputs and golden tensors are files. A changed file, an unknown name, tensors that are not
    golden and an absent file are refused."""
    path, content = tmp_path / "golden.safetensors", file_of(posenc, LLAMA)
    path.write_bytes(content)
    assert door.check(path, path).verdict == door.check(golden, str(path)).verdict == "right"
    at = content.index(numpy.asarray(golden.sin).tobytes())
    path.write_bytes(content[:at] + b"\1" + content[at + 1 :])
    with pytest.raises(posenc.Refused, match="the file was changed"):
        door.check({"cos": golden.cos}, path)
    with pytest.raises(posenc.Refused, match="sines"):
        door.check({"sines": golden.sin}, golden)
    with pytest.raises(TypeError, match="it has no description"):
        door.check({"cos": golden.cos}, posenc.table("rope", dim=16, length=3))
    with pytest.raises(OSError):
        door.check({"cos": golden.cos}, tmp_path / "absent.safetensors")


def test_files_that_are_cut_off_or_none(golden, tmp_path):
    """Both arguments name the file: after each part of a file, and without a description."""
    content, path = file_of(posenc, LLAMA), tmp_path / "cut.safetensors"
    head = 8 + int.from_bytes(content[:8], "little")
    for size in (0, 1, 7, 8, 9, head - 1):
        path.write_bytes(content[:size])
        for arguments in ((path, golden), ({"cos": golden.cos}, path)):
            with pytest.raises(ValueError, match="cut.safetensors is no safetensors file, or is"):
                posenc.check(*arguments)
    for size in (head, head + 1, len(content) - 1):
        path.write_bytes(content[:size])
        for arguments in ((path, golden), ({"cos": golden.cos}, path)):
            with pytest.raises(ValueError):
                posenc.check(*arguments)
    path.write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="cut.safetensors is no golden file"):
        posenc.check({"cos": golden.cos}, path)
