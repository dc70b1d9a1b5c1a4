# SPDX-License-Identifier: MIT
"""Golden files of all published configs: right by formulas in NumPy, passed by an honest kernel in
every dtype, and failed by each mistake, under its name."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
from safetensors.numpy import load as safetensors_load
from samples import bf16

from service import SAFETENSORS, call

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "tests/data/configs"
# Their rows are no rotation, or nothing in them names a layout or a context.
REFUSED = {
    "bert-large-2018": "config",
    "bloom-3b": "config",
    "gpt2": "config",
    "minilm-l6": "config",
    "t5-small": "config",
    "olmocr-2-7b-tower": "config",
    "gemma-3-27b": "context",
    "gpt-j-6b": "layout",
    "kimi-k2": "layout",
    "qwen-7b-dynamic": "layout",
}
GIVEN = {"context": {"context": 131072}, "layout": {"layout": "half"}}
NAMES = sorted(path.stem for path in CONFIGS.glob("*.json"))


def config_of(name):
    return json.loads((CONFIGS / f"{name}.json").read_text())["config"]


def golden_of(server, config, **parameters):
    answer = call(
        server,
        "POST",
        "/v1/golden",
        json.dumps({"config": config}),
        {"Content-Type": "application/json", "Accept": SAFETENSORS},
        **parameters,
    )
    return answer


def description_of(body):
    length = int.from_bytes(body[:8], "little")
    return json.loads(json.loads(body[8 : 8 + length])["__metadata__"]["golden"])


made = {}  # by name: no test changes them


def published(server, name):
    """(description, tensors) of a config that has a golden file."""
    if name in made:
        return made[name]
    answer = golden_of(server, config_of(name), **GIVEN.get(REFUSED.get(name), {})).good()
    made[name] = description_of(answer.body), answer.tensors
    return made[name]


def goldens():
    return [name for name in NAMES if REFUSED.get(name) != "config"]


def stored(x):
    """The dtype and bytes of an array; float32 in a tuple is stored as bf16."""
    if isinstance(x, tuple):
        return "BF16", x[0].shape, (bf16(x[0]).view(numpy.uint32) >> 16).astype("<u2").tobytes()
    return {"f": "F", "i": "I"}[x.dtype.kind] + str(8 * x.itemsize), x.shape, x.tobytes()


def safetensors(tensors, description):
    header, data = {"__metadata__": {"golden": description}}, b""
    for name, x in tensors.items():
        dtype, shape, own = stored(x)
        end = len(data) + len(own)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), end]}
        data += own
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def check(server, description, mine, golden=(), **parameters):
    tensors = dict(mine) | {f"golden.{name}": x for name, x in dict(golden).items()}
    body = safetensors(tensors, json.dumps(description))
    return call(server, "POST", "/v1/check", body, {"Content-Type": SAFETENSORS}, **parameters)


# ---- a kernel in NumPy --------------------------------------------------------------------------


def vectors(shape, series):
    """q (series 1) and k (2) by the recipe in the description."""
    i = numpy.arange(numpy.prod(shape), dtype=numpy.uint64)
    x = (2654435761 * i + 2246822507 * series) % 2**32
    return ((2 * (x >> 25).astype(numpy.int64) - 127) / 64).reshape(shape).astype(numpy.float32)


def pairs_of(width, rotary, layout):
    """Indices of the first and second elements of the pairs."""
    i = numpy.arange(rotary // 2)
    return (i, i + rotary // 2) if layout == "half" else (2 * i, 2 * i + 1)


def rotate(x, cos, sin, layout):
    first, second = pairs_of(x.shape[-1], 2 * cos.shape[-1], layout)
    out = x.astype(cos.dtype).copy()
    a, b = out[..., first].copy(), out[..., second].copy()
    out[..., first] = a * cos[:, None] - b * sin[:, None]
    out[..., second] = b * cos[:, None] + a * sin[:, None]
    return out


class Kernel:
    """The outputs of a kind of layers, as float32 code makes them; each mistake changes a step."""

    def __init__(self, kind, tensors):
        self.kind, self.prefix, self.layout = kind, kind["prefix"], kind["layout"]
        self.positions = tensors[self.prefix + "positions"]
        self.w = tensors[self.prefix + "inv_freq"]
        self.factor = numpy.float32(tensors[self.prefix + "attention_factor"][0])
        self.tensors = tensors

    def angles(self):
        return self.positions.astype(numpy.float32)[:, None] * self.w

    def outputs(self):
        angles = self.angles()
        cos, sin = numpy.cos(angles) * self.factor, numpy.sin(angles) * self.factor
        found = {"inv_freq": self.w, "cos": cos, "sin": sin}
        for name in ("q", "k"):
            x = self.tensors[self.prefix + name]
            found[name + "_rotated"] = rotate(x, cos, sin, self.layout)
        return {self.prefix + name: x.astype(numpy.float32) for name, x in found.items()}


def plain(kernel, base):
    encoding = kernel.kind["encoding"]
    rotary = encoding.get("rotary_dim") or 2 * len(kernel.w)
    return (base ** -(numpy.arange(0, rotary, 2) / rotary)).astype(numpy.float32)[: len(kernel.w)]


# Each returns whether it changes the kernel.


def base_ignored(kernel):
    encoding = kernel.kind["encoding"]
    kernel.w = plain(kernel, 10000)
    return encoding["base"] != 10000 and encoding.get("rope_type", "default") == "default"


def scaling_missing(kernel):
    encoding = kernel.kind["encoding"]
    kernel.w = plain(kernel, encoding["base"])
    kernel.factor = numpy.float32(1)
    return encoding.get("rope_type", "default") in ("llama3", "yarn", "linear")


def layout_swapped(kernel):
    kernel.layout = {"half": "interleaved", "interleaved": "half"}[kernel.layout]
    return len(kernel.w) > 2


def backwards(kernel):
    kernel.w = -kernel.w
    return True


def factor_missing(kernel):
    """Where nothing else is scaled it is scaling-missing."""
    if numpy.array_equal(kernel.w, plain(kernel, kernel.kind["encoding"]["base"])):
        return False
    changed, kernel.factor = kernel.factor != 1, numpy.float32(1)
    return changed


def factor_twice(kernel):
    changed, kernel.factor = kernel.factor != 1, kernel.factor**2
    return changed


def off_by_one(kernel):
    kernel.positions = kernel.positions + 1
    return True


def frequencies_bf16(kernel):
    kernel.w = bf16(kernel.w)
    return True


def positions_bf16(kernel):
    kernel.positions = bf16(kernel.positions)
    return True


def angles_bf16(kernel):
    angles = kernel.angles()
    kernel.angles = lambda: bf16(angles)
    return True


MISTAKES = {
    "base-ignored": base_ignored,
    "scaling-missing": scaling_missing,
    "layout-swapped": layout_swapped,
    "rotated-backwards": backwards,
    "attention-factor-missing": factor_missing,
    "attention-factor-twice": factor_twice,
    "off-by-one-position": off_by_one,
    "inv-freq-bf16": frequencies_bf16,
    "positions-bf16": positions_bf16,
    "angles-bf16": angles_bf16,
}


def kernels(server, name):
    description, tensors = published(server, name)
    return description, tensors, [Kernel(kind, tensors) for kind in description["kinds"]]


# ---- the file -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(server, name):
    """A file that could not be right is not made."""
    answer = golden_of(server, config_of(name))
    assert answer.status in (400, 422), answer.body
    assert [error["parameter"] for error in answer.json["errors"]] == [REFUSED[name]]


@pytest.mark.parametrize("name", goldens())
def test_values(server, name):
    """Inputs are the recipe's, outputs those of formulas in float64, at the edges."""
    description, tensors = published(server, name)
    assert sum(x.nbytes for x in tensors.values()) < 2**21
    listed = 0
    for kind in description["kinds"]:
        own = {
            key[len(kind["prefix"]) :]: x
            for key, x in tensors.items()
            if key.startswith(kind["prefix"])
        }
        own = {key: x for key, x in own.items() if "." not in key}
        listed += len(own)
        positions = own["positions"].tolist()
        assert positions == kind["positions"] == sorted(set(positions))
        assert {0, 1, 255, 256, 257} <= set(positions)
        original = kind["encoding"].get("original_max_position_embeddings")
        assert not original or original - 1 in positions
        assert numpy.array_equal(own["q"], vectors(own["q"].shape, 1))
        assert numpy.array_equal(own["k"], vectors(own["k"].shape, 2))
        w, factor = own["inv_freq_f64"], own["attention_factor"][0]
        assert numpy.array_equal(w.astype(numpy.float32), own["inv_freq"])
        angles = numpy.array(positions)[:, None] * w
        cos, sin = numpy.cos(angles) * factor, numpy.sin(angles) * factor
        assert numpy.allclose(own["cos"], cos, rtol=0, atol=1e-7 * factor)
        assert numpy.allclose(own["sin"], sin, rtol=0, atol=1e-7 * factor)
        for x in ("q", "k"):
            expected = rotate(own[x], cos, sin, kind["layout"])
            assert numpy.allclose(own[x + "_rotated"], expected, rtol=0, atol=5e-7 * factor)
    assert listed == len(tensors)


@pytest.mark.plain
def test_the_command_makes_the_same_file(server, tmp_path):
    """Byte for byte what the server answers. (Of Python: clients/python/tests/test_golden.py.)"""
    posenc = ROOT / os.environ.get("BUILD", "build") / "posenc"
    for name in (name for name in goldens() if name not in REFUSED):
        (tmp_path / "config.json").write_text(json.dumps(config_of(name)))
        subprocess.run(
            [posenc, "golden", "config.json", "-o", "golden.safetensors"], cwd=tmp_path, check=True
        )
        made = (tmp_path / "golden.safetensors").read_bytes()
        assert made == golden_of(server, config_of(name)).good().body, name


def test_lengths(server):
    """Schemes that depend on the length of the sequence have a kind for each of two lengths."""
    description, tensors = published(server, "phi-3.5-mini")
    short_one, long_one = description["kinds"]
    assert (short_one["prefix"], long_one["prefix"]) == ("short.", "long.")
    assert long_one["encoding"]["seq_len"] == 131072 and "seq_len" not in short_one["encoding"]
    assert max(short_one["positions"]) == 4095 and long_one["positions"][-1] == 131071
    assert not numpy.array_equal(tensors["short.inv_freq"], tensors["long.inv_freq"])


def test_a_context_below_the_edge_still_reaches_the_long_kind(server):
    """Twice the length at which the factors change, if the context does not pass it."""
    config = config_of("phi-3.5-mini")
    for context in (1024, 4096):
        short_one, long_one = description_of(golden_of(server, config, context=context).body)[
            "kinds"
        ]
        assert max(short_one["positions"]) == context - 1
        assert long_one["encoding"]["seq_len"] == 2 * 4096


def test_kinds(server):
    """Layers of each kind have tensors of their own, and the scale of YaRN is in softmax_scale."""
    description, tensors = published(server, "gemma-3-1b")
    assert [kind["layer_type"] for kind in description["kinds"]] == [
        "sliding_attention",
        "full_attention",
    ]
    assert sorted(n for kind in description["kinds"] for n in kind["layers"]) == list(range(26))
    assert tensors["full_attention.softmax_scale"] == 256**-0.5
    scale = published(server, "deepseek-v3")[1]["softmax_scale"][0]
    assert abs(scale - 192**-0.5 * (0.1 * numpy.log(40) + 1) ** 2) < 1e-15


@pytest.mark.parametrize(
    "rope",
    [
        {},
        {"rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 9}},
        {"rope_scaling": {"rope_type": "linear", "factor": 0.5}},
        {"rope_scaling": {"rope_type": "linear", "factor": 2, "zap": 1}},
    ],
)
@pytest.mark.parametrize("model", ["gemma3_text", "olmo3", "llama", "qwen2"])
def test_a_warning_is_given_once(server, model, rope):
    """However many kinds of layers it is about."""
    config = {"model_type": model, "head_dim": 8, "num_hidden_layers": 8} | rope
    answer = golden_of(server, config | {"max_position_embeddings": 64}).good()
    told = json.loads(answer.headers.get("encoding-warnings", "[]"))
    assert len(told) == len(set(told)), told
    assert told or "zap" not in str(rope) or model in ("gemma3_text", "olmo3")


def test_kinds_have_an_end(server):
    """16 kinds of layers have tensors of their own each, and 17 are refused."""
    for count in (16, 17):
        names = [f"kind{i}_attention" for i in range(count)]
        ropes = {
            name: {"rope_type": "default", "rope_theta": 1e4 + i} for i, name in enumerate(names)
        }
        config = {
            "model_type": "gemma3_text",
            "head_dim": 16,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "num_hidden_layers": count,
            "max_position_embeddings": 64,
            "layer_types": names,
            "rope_parameters": ropes,
        }
        answer = golden_of(server, config)
        if count == 16:
            bases = [kind["encoding"]["base"] for kind in description_of(answer.body)["kinds"]]
            assert bases == [1e4 + i for i in range(16)]
        else:
            assert answer.status == 413 and "at most 16 kinds" in answer.json["detail"]


def test_too_large(server):
    wide = config_of("llama-3.1") | {"head_dim": 32768}
    answer = golden_of(server, wide)
    assert answer.status == 413 and "2097152" in answer.json["detail"], answer.body


# ---- checks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", goldens())
def test_honest_kernels_pass(server, name):
    """The golden file itself, and float32 code, whose outputs are rounded to each dtype."""
    description, tensors, found = kernels(server, name)
    inputs = ("positions", "q", "k")
    outputs = {n: x for n, x in tensors.items() if n.split(".")[-1] not in inputs}
    report = check(server, description, outputs, tensors).good().json
    assert (report["verdict"], report["missing"]) == ("right", []), report
    assert report["checked"] == report["outputs"] == len(outputs)
    mine = {n: x for kernel in found for n, x in kernel.outputs().items()}
    for dtype in (numpy.float64, numpy.float32, numpy.float16, None):
        rounded = {n: x.astype(dtype) if dtype else (x,) for n, x in mine.items()}
        report = check(server, description, rounded).json
        assert report["verdict"] == "right", (name, dtype, report)


def some(outputs, number):
    """The tables with k, or both rotations, in turn: half of the outputs suffices."""
    ends = (("cos", "sin", "k_rotated"), ("q_rotated", "k_rotated"))[number]
    return {name: x for name, x in outputs.items() if name.endswith(ends)}


MISTAKEN_MIN = 5  # kernels to which each mistake applies
# A sanitizer sees the path of each mistake; its name for every config is shown with POSENC_WHOLE.
MISTAKEN_MAX = (
    MISTAKEN_MIN
    if "POSENC_SANITIZED" in os.environ
    else sys.maxsize
    if os.environ.get("POSENC_WHOLE")
    else 3 * MISTAKEN_MIN
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(server, mistake):
    """Each mistake in published configs: wrong, and called by its name."""
    count, unnamed = 0, []
    for name in goldens():
        if count >= MISTAKEN_MAX:
            break
        description, _, found = kernels(server, name)
        for kernel in found:
            if not MISTAKES[mistake](kernel):
                continue
            count += 1
            posted = some(kernel.outputs(), count % 2 or mistake == "layout-swapped")
            report = check(server, description, posted).good().json
            assert report["verdict"] == "wrong", (name, report)
            if report["mistake"] != mistake:
                unnamed.append((name, kernel.prefix, report["mistake"]))
    assert count >= MISTAKEN_MIN
    assert not unnamed, unnamed


# ---- the runners for authors of kernels ----------------------------------------------------------

RUNNERS = {
    "half": "llama-3.1",
    "interleaved": "glm-4.5",
    "attention factor": "gpt-oss-120b",
    "part of a head": "phi-1",
    "kinds": "gemma-3-1b",
    "lengths": "phi-3.5-mini",
}


@pytest.fixture(scope="module")
def runner_in_c(tmp_path_factory):
    program = tmp_path_factory.mktemp("golden") / "golden"
    warnings = ("-Wall", "-Wextra", "-Werror")
    source = ROOT / "examples/golden.c"
    subprocess.run(["gcc", "-std=c11", *warnings, source, "-o", program, "-lm"], check=True)
    return [program]


@pytest.fixture
def runner_in_python():
    return [sys.executable, ROOT / "docs/examples/golden.py"]


@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize("case", RUNNERS)
def test_runners(server, request, tmp_path, language, case):
    """What they write is right: every kind in C by its prefix, all at once in Python."""
    runner = request.getfixturevalue(f"runner_in_{language}")
    body = golden_of(server, config_of(RUNNERS[case])).good().body
    description = description_of(body)
    prefixes = [kind["prefix"] for kind in description["kinds"]]
    (tmp_path / "golden.safetensors").write_bytes(body)
    for arguments in [[prefix] for prefix in prefixes] if language == "c" else [[]]:
        files = ["golden.safetensors", "mine.safetensors"]
        subprocess.run([*runner, *files, *arguments], cwd=tmp_path, check=True)
        mine = safetensors_load((tmp_path / "mine.safetensors").read_bytes())
        report = check(server, description, mine).good().json
        assert report["verdict"] == "right", report
        assert report["checked"] == (1 if language == "c" else 2 * len(prefixes))


SMALL = {"model_type": "llama", "head_dim": 16, "max_position_embeddings": 4096}


@pytest.fixture(scope="module")
def small(server):
    answer = golden_of(server, SMALL).good()
    return description_of(answer.body), answer.tensors


def test_one_output_is_enough(server, small):
    """The others are counted. Elements that are not rotated, or are no numbers, have names."""
    description, golden = small
    report = check(server, description, {"k_rotated": golden["k_rotated"]}).good().json
    assert (report["verdict"], report["checked"], report["outputs"]) == ("right", 1, 8)
    assert "k_rotated" not in report["missing"] and len(report["missing"]) == 7
    hole = golden["cos"].copy()
    hole[3, 2] = numpy.nan
    for mine, mistake in (
        ({"q_rotated": golden["q"]}, "not-rotated"),
        ({"k_rotated": golden["k"]}, "not-rotated"),
        ({"cos": hole}, "not-finite"),
        ({"attention_factor": numpy.array([1.5])}, "attention-factor-wrong"),
        ({"softmax_scale": numpy.array([0.5])}, "softmax-scale-wrong"),
    ):
        report = check(server, description, mine).good().json
        assert (report["verdict"], report["mistake"]) == ("wrong", mistake)
        assert report["tensors"][0]["outside"] >= 1 and report["tensors"][0]["first"]
        assert mistake != "not-rotated" or report["fix"].startswith("apply the rotation")


def test_positions_of_a_description(server, small):
    """Whole numbers from 0 to 2^53 - 1, at most 16 of them, wherever they stand in the list."""
    description, golden = small
    good = description["kinds"][0]["positions"]
    for i in (0, len(good) - 1):
        for wrong in (-1, 2**53, 2**53 + 1, 1.5, "1", None):
            kind = description["kinds"][0] | {"positions": [*good[:i], wrong, *good[i + 1 :]]}
            answer = check(server, description | {"kinds": [kind]}, {"cos": golden["cos"]})
            assert answer.status == 422, wrong
            assert "positions are whole numbers from 0" in answer.json["detail"], wrong
    for wrong in ([], [0] * 17, 1, {}):
        kind = description["kinds"][0] | {"positions": wrong}
        answer = check(server, description | {"kinds": [kind]}, {"cos": golden["cos"]})
        assert answer.status == 422 and "a list of 1 to 16 numbers" in answer.json["detail"], wrong


def test_one_element(server, small):
    """A single wrong element of any output is seen, and its place is told."""
    description, golden = small
    for name in ("inv_freq", "cos", "sin", "q_rotated", "k_rotated"):
        for at in (0, golden[name].size // 2, golden[name].size - 1):
            mine = golden[name].copy()
            mine.reshape(-1)[at] += 0.25
            (row,) = check(server, description, {name: mine}).good().json["tensors"]
            assert (row["verdict"], row["outside"]) == ("wrong", 1), (name, at, row)
            assert row["first"]["element"] == at % golden[name].shape[-1]
            assert abs(row["first"]["seen"] - mine.reshape(-1)[at]) < 1e-6


def test_shapes(server, small):
    """Axes of 1 count for nothing, cos and sin may have each pair twice."""
    description, golden = small
    for mine in (
        {"q_rotated": golden["q_rotated"][None]},
        {"cos": numpy.tile(golden["cos"], 2)},
        {"k_rotated": golden["k_rotated"][:, 0]},
    ):
        assert check(server, description, mine).good().json["verdict"] == "right"
    twice = numpy.repeat(golden["cos"], 2, axis=1)
    assert check(server, description, {"cos": twice}).good().json["verdict"] == "wrong"
    for mine, where in (
        ({"q_rotated": golden["q_rotated"][:2]}, "q_rotated"),
        ({"sines": golden["sin"]}, "sines"),
        ({"q": golden["q"] + 1, "cos": golden["cos"]}, "q"),
        ({"sin": golden["sin"].astype("i4")}, "sin"),
    ):
        answer = check(server, description, mine)
        assert answer.status == 422, answer.body
        assert answer.json["errors"][0]["tensor"] == where


@pytest.mark.parametrize("twice", [False, True])
def test_batches_of_cos_are_refused(server, small, twice):
    """Only one table is compared: more rows of a batch, wherever its axis is, are refused."""
    description, golden = small
    one = numpy.tile(golden["cos"], 2) if twice else golden["cos"]
    for axes in ((1,), (1, 1)):
        answer = check(server, description, {"cos": one.reshape(*axes, *one.shape)})
        assert answer.good().json["verdict"] == "right"
    for axes in ((2,), (2, 1), (1, 2), (3, 1, 2)):
        batch = numpy.broadcast_to(one, (*axes, *one.shape))
        answer = check(server, description, {"cos": batch})
        assert answer.status == 422 and answer.json["code"] == "shape-mismatch", axes


def test_changed_files_are_refused(server, small):
    """Tensors of the golden file that its description does not make, in each of them."""
    description, golden = small
    for name in golden:
        changed = dict(golden)
        changed[name] = golden[name].copy()
        changed[name].reshape(-1)[-1] += 1
        answer = check(server, description, {"cos": golden["cos"]}, changed)
        assert answer.status == 422 and "the file was changed" in answer.json["detail"], name
    for text in ("{}", "[]", '{"format": 2, "kinds": [{}]}', '{"format": 1, "kinds": [{}]}'):
        answer = check(server, json.loads(text), {"cos": golden["cos"]})
        assert answer.status == 422, (text, answer.body)


def test_as_json(server, small):
    """The answer in JSON can be posted: its description and its tensors."""
    answer = call(
        server,
        "POST",
        "/v1/golden",
        json.dumps({"config": SMALL}),
        {"Content-Type": "application/json"},
    )
    body = answer.good().json
    assert body["golden"] == small[0]
    outputs = {n: t for n, t in body["tensors"].items() if n not in ("positions", "q", "k")}
    answer = call(
        server,
        "POST",
        "/v1/check",
        json.dumps({"golden": body["golden"], "tensors": outputs}),
        {"Content-Type": "application/json"},
    )
    assert answer.good().json["verdict"] == "right"
