# SPDX-License-Identifier: MIT
"""Every word asks what it says, and writes the bytes that posencd would send."""

import io
import itertools
import json
import os
import re
import subprocess

import numpy
import pytest
from bodies import JSON, NPY, SAFETENSORS
from safetensors.numpy import save as safetensors_save
from typed import BINARY, ROOT

MEDIA = {"npy": NPY, "safetensors": SAFETENSORS, "json": JSON}
ROTATION = "encoding=rope&layout=half&axes=bhsd"
HSD = "encoding=rope&layout=half&axes=hsd"

# What is typed, and the request line and file that it stands for.
WORDS = [
    ("table rope dim=8 length=4 start=3", "GET /v1/encodings/rope/table?dim=8&length=4&start=3"),
    ("frequencies rope dim=8", "GET /v1/encodings/rope/frequencies?dim=8"),
    ("bias alibi heads=2 query_length=3", "GET /v1/encodings/alibi/bias?heads=2&query_length=3"),
    (
        "bias t5 buckets.npy query_length=2 tensor=weights num_buckets=4",
        "POST /v1/encodings/t5/bias?query_length=2&tensor=weights&num_buckets=4 buckets.npy",
    ),
    ("similarity rope dim=8 length=2", "GET /v1/encodings/rope/analysis/similarity?dim=8&length=2"),
    (
        "rotate qkv.safetensors encoding=rope layout=half axes=bhsd start=5",
        f"POST /v1/rotation?{ROTATION}&start=5 qkv.safetensors",
    ),
    (
        "rotate q.npy encoding=rope layout=half axes=hsd start=5",
        f"POST /v1/rotation?{HSD}&start=5 q.npy",
    ),
    (
        "attention qkv.safetensors encoding=rope layout=half format=json",
        "POST /v1/attention?encoding=rope&layout=half&format=json qkv.safetensors",
    ),
    ("config config.json", "POST /v1/config config.json"),
    (
        "diagnose inv_freq.npy tensor=inv_freq encoding=rope",
        "POST /v1/diagnosis?tensor=inv_freq&encoding=rope inv_freq.npy",
    ),
    ("positions ids.json", "POST /v1/positions ids.json"),
    (
        "layout from_layout=half to_layout=interleaved head_dim=4",
        "GET /v1/layout?from_layout=half&to_layout=interleaved&head_dim=4",
    ),
    (
        "layout q.npy from_layout=half to_layout=interleaved axes=hsd kind=activations",
        "POST /v1/layout?from_layout=half&to_layout=interleaved&axes=hsd&kind=activations q.npy",
    ),
    ("get /v1/encodings/rope", "GET /v1/encodings/rope"),
    ("get /v1/encodings/rope/table?dim=8 length=2", "GET /v1/encodings/rope/table?dim=8&length=2"),
    (
        "post v1/rotation?axes=hsd&layout=half encoding=rope start=5 q.npy",
        "POST /v1/rotation?axes=hsd&layout=half&encoding=rope&start=5 q.npy",
    ),
]


def answer_of(server, line, files):
    method, target, *file = line.split()
    body = files[file[0]] if file else None
    headers = {"Content-Type": MEDIA[file[0].rsplit(".")[1]]} if file else {}
    return server.request(method, target, data=body, headers=headers)


@pytest.mark.parametrize("typed,line", WORDS, ids=[typed for typed, _ in WORDS])
def test_words(posenc, tensors, server, typed, line):
    answer = answer_of(server, line, tensors)
    assert answer.status_code == 200, answer.text
    assert posenc(*typed.split()) == answer.content


def test_comparisons(posenc, tensors, server):
    def by_server(**body):
        return server.post("/v1/comparison", json=body).content

    rope = {"name": "rope", "dim": 4}
    assert posenc(
        "compare", "rope dim=4", "rope dim=4 base=5e5", "positions=0,7", "dtype=f64"
    ) == by_server(a=rope, b=rope | {"base": 5e5}, positions=[0, 7], dtype="f64")
    mine = {"dtype": "f32", "shape": [2, 2], "data": [[0, 1], [0.75, 0.5]]}
    wanted = by_server(a={"name": "sinusoidal"}, b="tensor:b", tensors={"b": mine})
    assert posenc("compare", "sinusoidal", "sines.npy") == wanted
    table = "frequencies", "rope", "dim=4", "dtype=bf16"
    posenc(*table, "-o", "f.safetensors")
    code, said = posenc.refused("compare", "f.safetensors", "rope")
    assert code == 6 and "say which as FILE:NAME" in said
    code, said = posenc.refused("compare", "f.safetensors:inv_freq", "rope")
    assert code == 3 and "tensor a: a table is [positions, width]" in said


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_a_value_from_a_file_is_its_text(posenc, end):
    """Without the ends of its last lines, and with all others."""
    table = ["table", "rope", "length=2"]
    (posenc.folder / "dim").write_text("8" + end)
    assert posenc(*table, "dim=@dim") == posenc(*table, "dim=8")
    (posenc.folder / "dim").write_text("\n8" + end)
    assert "dim must be a number" in posenc.refused(*table, "dim=@dim")[1]
    for text in ("=", "1,2", " a  b"):
        (posenc.folder / "title").write_text(text + end)
        drawn = [*table, "dim=4", "format=svg"]
        assert posenc(*drawn, "title=@title") == posenc(*drawn, f"title={text}")


NAMES = ["t", "of:two", "a b", "=x", "ü", "a@b", "~", "-t", "c:d:e", "t.npy"]


@pytest.mark.parametrize("name", NAMES)
def test_files_of_any_name(posenc, name):
    """A path is a path whatever stands in it, with a tensor's name behind it or without, as a body,
    as a value and as an output."""
    numbers = numpy.array([[0, 1], [0.75, 0.5]], "<f4")
    content = safetensors_save({"x": numbers, "y:z": numbers + 1})
    path = f"./{name}.safetensors"
    (posenc.folder / path).write_bytes(content)
    (posenc.folder / f"{name}.plain").write_bytes(safetensors_save({"x": numbers}))
    compared = [
        posenc("compare", "sinusoidal", side)
        for side in (f"{path}:x", f"./{name}.plain:x", f"./{name}.plain")
    ]
    assert len(set(compared)) == 1 and json.loads(compared[0])["elements"] == 4
    posenc("table", "rope", "dim=4", "length=1", "format=npy", f"-o./{name}.out")
    assert (posenc.folder / f"{name}.out").read_bytes()[:6] == b"\x93NUMPY"
    (posenc.folder / f"{name}.dim").write_text("4")
    table = ["table", "rope", "length=1"]
    assert posenc(*table, f"dim=@./{name}.dim") == posenc(*table, "dim=4")


def test_tables_of_other_writers(posenc, server):
    """Files as libraries write them: with metadata, of any version and dtype, in Fortran order. Of
    the sizes some leave one byte, and some two, behind the last three that base64 takes."""
    whole = [[0, 1], [0.75, 0.5], [0.25, 0.125]]
    for dtype, rows in itertools.product(("f32", "f64", "f16"), (1, 2, 3)):
        numbers = whole[:rows]
        mine = {"dtype": dtype, "shape": [rows, 2], "data": numbers}
        wanted = server.post(
            "/v1/comparison",
            json={"a": {"name": "sinusoidal"}, "b": "tensor:b", "tensors": {"b": mine}},
        ).content
        array = numpy.array(numbers, {"f32": "<f4", "f64": "<f8", "f16": "<f2"}[dtype])
        files = {"t.safetensors": safetensors_save({"t": array}, {"format": "pt"})}
        for version in ((1, 0), (2, 0), (3, 0)):
            stream = io.BytesIO()
            numpy.lib.format.write_array(stream, array, version=version)
            files[f"t{version[0]}.npy"] = stream.getvalue()
        for name, content in files.items():
            (posenc.folder / name).write_bytes(content)
            assert posenc("compare", "sinusoidal", name) == wanted, name
        assert posenc("compare", "sinusoidal", "t.safetensors:t") == wanted
    numpy.save(posenc.folder / "columns.npy", numpy.asfortranarray(numpy.array(whole)))
    code, said = posenc.refused("compare", "sinusoidal", "columns.npy")
    assert code == 6 and "C order" in said


def test_encodings_and_help(posenc, server):
    """What is told of an encoding is what the service tells of it."""
    listed = server.get("/v1/encodings").json()["encodings"]
    lines = posenc("encodings").decode().splitlines()
    assert [line.split()[0] for line in lines[::2]] == [one["name"] for one in listed]
    biases = posenc("encodings", "family=bias").decode()
    assert "alibi" in biases and "rope" not in biases
    rope = next(one for one in listed if one["name"] == "rope")
    told = posenc("help", "rope").decode()
    for name, schema in rope["parameters"]["properties"].items():
        assert f"  {name}=\n" in told and schema["description"] in told
    for view in rope["operations"]:
        example = view["example"].split("?")[1].split("&")
        command = ["posenc", view["name"], "rope", *example]
        assert " ".join(command) in told
        assert json.loads(posenc(*command[1:]))
    for one in listed:  # what must be given is marked, and nothing else
        told = posenc("help", one["name"]).decode()
        for name in one["parameters"]["properties"]:
            line = told.split(f"  {name}=\n")[1].splitlines()[0].split(": ")[0]
            assert (", required" in line) == (name in one["parameters"].get("required", [])), name
    length = posenc("help", "length").decode()
    assert length.startswith("length=\n      a whole number from 0") and "  table, " in length
    assert "\n      positions\n" in length and length.count("length=\n") >= 4
    assert "  rope, " in posenc("help", "rope_type").decode()
    assert posenc("help", "softcap").decode().endswith("      attention\n")
    similarity = posenc("help", "similarity").decode()
    assert "posenc similarity ENCODING" in similarity and "rope" in similarity
    assert "axes=\n      bhsd | bshd" in posenc("help", "rotate").decode()
    usage = posenc("help").decode()
    assert usage == posenc("--help").decode() and "--memory-budget" in usage
    # Descriptions start in one column: in a word's line or, after long arguments, in the next.
    lint = usage.index("  lint ")
    assert usage[lint:].splitlines()[1].startswith(" " * 47 + "which engines read")
    assert posenc("--version").decode() == "posenc 0.1.0\n"


def places_of(server, name):
    """The encodings, views and commands with a parameter of this name."""
    contract = server.get("/openapi.json").json()
    words = re.findall(
        r'^WORD\("(\w+)", +"(\w+)", +"(.*?)", +(\w+),',
        (ROOT / "command/commands.def").read_text(),
        re.M,
    )
    found = set()
    for encoding in server.get("/v1/encodings").json()["encodings"]:
        for one in [encoding, *encoding["operations"]]:
            found |= {one["name"]} & (
                {one["name"]} if name in one["parameters"]["properties"] else set()
            )
    for word, method, target, takes in words:
        operation = contract["paths"].get(target, {}).get(method.lower(), {})
        for one in operation.get("parameters", []) if takes != "ENCODING" else []:
            if "$ref" in one:
                one = contract["components"]["parameters"][one["$ref"].rsplit("/")[-1]]
            found |= {word} if (one["in"], one["name"]) == ("query", name) else set()
    return found


@pytest.mark.parametrize("name", ["length", "format", "dim", "theme", "axes", "base", "causal"])
def test_help_of_a_parameter_has_each_place_once(posenc, server, name):
    """Each description once, with the encodings, views and commands that have it."""
    listings = posenc("help", name).decode().split(f"{name}=\n")[1:]
    described, places = zip(*(listing.rstrip("\n").rsplit("\n", 1) for listing in listings))
    places = [one.strip().split(", ") for one in places]
    assert len(set(described)) == len(described)
    assert all(len(set(one)) == len(one) for one in places)
    assert set(sum(places, [])) == places_of(server, name)


# A line of each word, whose answer is JSON.
JSON_WORDS = [
    "table rope dim=4 length=1",
    "frequencies rope dim=4",
    "bias alibi heads=2 query_length=2",
    "similarity rope dim=4 length=2",
    "rotate q.npy encoding=rope layout=half axes=hsd start=5 format=json",
    "attention qkv.safetensors encoding=rope layout=half format=json",
    "config config.json",
    "lint config.json",
    "extend config.json --to 262144",
    "diagnose inv_freq.npy tensor=inv_freq encoding=rope",
    "positions ids.json",
    "compare sinusoidal sines.npy",
    "golden config.json format=json",
    "check mine.safetensors golden.safetensors",
    "layout from_layout=half to_layout=interleaved head_dim=4",
    "encodings",
    "encodings family=bias",
    "engines model_type=gemma3_text",
    "get /v1",
    "post /v1/config config.json",
]


def test_each_word_has_a_line():
    words = re.findall(r'^WORD\("(\w+)"', (ROOT / "command/commands.def").read_text(), re.M)
    assert set(words) - {line.split()[0] for line in JSON_WORDS} == {"put", "delete"}


@pytest.mark.parametrize("line", JSON_WORDS)
def test_a_file_has_the_answer(posenc, tensors, line):
    """Of every word, with nothing on the standard output, and the verdict as the exit code."""
    config = json.loads(tensors["config.json"]) | {"max_position_embeddings": 4096}
    (posenc.folder / "config.json").write_text(json.dumps(config))
    if line.startswith("check"):
        for name in ("golden", "mine"):
            posenc("golden", "config.json", "-o", f"{name}.safetensors")
    typed = line.split()
    shown = posenc.run(*typed, *(["--json"] if typed[0] in ("lint", "extend") else []))
    saved = posenc.run(*typed, "-o", "answer")
    assert shown.returncode in (0, 1, 3) and shown.stderr == b""
    assert (saved.returncode, saved.stdout, saved.stderr) == (shown.returncode, b"", b"")
    answer = json.loads((posenc.folder / "answer").read_bytes())
    if typed[0] == "encodings":  # the list is for a person
        names = [one["name"] for one in answer["encodings"]]
        assert names == [row.split()[0] for row in shown.stdout.decode().splitlines()[::2]]
    else:
        assert answer == json.loads(shown.stdout)


@pytest.mark.parametrize("blank", [" ", "\t", "  ", " \t "])
def test_blanks_of_an_operand(posenc, blank):
    """Any separate its parameters, and any may stand around them."""
    wanted = posenc("compare", "rope dim=4 base=5", "rope dim=4", "length=3")
    parts = "rope", "dim=4", "base=5"
    for operand in (blank.join(parts), blank + blank.join(parts) + blank):
        assert posenc("compare", operand, "rope dim=4", "length=3") == wanted


def test_help_has_the_bounds_of_each_parameter(posenc, server):
    """Its choices, its bounds and its default, as the service has them."""
    for one in server.get("/v1/encodings").json()["encodings"]:
        told = posenc("help", one["name"]).decode()
        for name, schema in one["parameters"]["properties"].items():
            line = told.split(f"  {name}=\n      ")[1].splitlines()[0]
            found = re.fullmatch(
                r"(.+?)(?: from (\S+))?(?: above (\S+?))?(?: to (\S+?))?(?:, by default (.+?))?"
                r"(?:, required)?(?:: .*)?",
                line.replace(schema.get("description", ""), ""),
            )
            keys = ("minimum", "exclusiveMinimum", "maximum", "default")
            for key, text in zip(keys, found.groups()[1:]):
                value = schema.get(key)
                assert (text is None) == (value is None), (one["name"], name, line)
                if value is not None and not isinstance(value, (str, bool, list)):
                    assert float(text.rstrip(":")) == value, (one["name"], name, line)
            if "enum" in schema:
                assert found[1].split(" | ") == [str(choice) for choice in schema["enum"]], line


# ---- files and pipes ----------------------------------------------------------------------------


def test_names_decide_formats(posenc, server):
    table = ["table", "rope", "dim=8", "length=4"]
    for name in ("npy", "safetensors", "json", "csv", "svg", "png"):
        posenc(*table, "-o", f"t.{name}")
        wanted = server.get(
            "/v1/encodings/rope/table", params={"dim": 8, "length": 4, "format": name}
        ).content
        assert (posenc.folder / f"t.{name}").read_bytes() == wanted
    posenc(*table, "format=npy", "--output=t.csv")
    assert numpy.load(io.BytesIO((posenc.folder / "t.csv").read_bytes())).shape == (2, 4, 4)
    assert posenc(*table, "-o", "-") == posenc(*table)
    (posenc.folder / "v1.npy").mkdir()
    for name, kind in (("v1.npy/out", "json"), ("v1.npy/out.csv", "csv"), ("v1.npy/.png", "png")):
        posenc(*table, "-o", name)
        assert (posenc.folder / name).read_bytes() == posenc(*table, f"format={kind}")
        (posenc.folder / name).unlink()
    (posenc.folder / "v1.npy").rmdir()
    code, said = posenc.refused("get", "/v1", "-o", "v1.npy")
    assert code == 2 and "application/json" in said and not (posenc.folder / "v1.npy").exists()


def test_pipes(posenc, tensors):
    """There and back again, through two processes."""
    ask = ["rotate", "encoding=rope", "layout=half", "axes=hsd", "start=5"]
    there = posenc(*ask, "-", stdin=tensors["q.npy"])
    back = numpy.load(io.BytesIO(posenc(*ask, "inverse=true", stdin=there)))
    assert numpy.abs(back - numpy.load(io.BytesIO(tensors["q.npy"]))).max() < 1e-6


def test_standard_input_of_any_kind(posenc, tensors):
    """A file from its beginning, one of which a part was read, a pipe: what is left of it."""
    words = {
        "q.npy": ["layout", "-", "from_layout=half", "to_layout=half", "axes=hsd"],
        "config.json": ["config", "-"],
    }
    words["q.npy"] += ["kind=activations"]
    kept = {"config.json": ["frequencies", "rope", "config=@-"]}
    for name, typed in [*words.items(), *kept.items()]:
        wanted = posenc(*typed, stdin=tensors[name])
        for before in (b"", b"x", b"[" * 70000):
            (posenc.folder / "input").write_bytes(before + tensors[name])
            with open(posenc.folder / "input", "rb", buffering=0) as file:
                file.seek(len(before))
                done = subprocess.run(
                    [BINARY, *typed], stdin=file, cwd=posenc.folder, capture_output=True
                )
            assert (done.stdout, done.stderr) == (wanted, b""), (typed, len(before))


def test_a_config_of_any_publisher(posenc, server):
    """A file without a key of Hugging Face is a config all the same, as within an object."""
    config = {
        "dim": 64,
        "n_heads": 4,
        "n_layers": 2,
        "vocab_size": 9,
        "rope_theta": 10000.0,
        "yarn": {
            "factor": 4,
            "original_max_position_embeddings": 64,
            "beta": 32,
            "alpha": 1,
            "apply_scale": False,
        },
    }
    (posenc.folder / "params.json").write_text(json.dumps(config))
    said = json.loads(posenc("config", "params.json"))
    assert said == server.post("/v1/config", json={"config": config}).json()
    assert said["encoding"]["rope_type"] == "yarn" and said["encoding"]["dim"] == 16


def test_values_of_files(posenc, tensors, server):
    config = tensors["config.json"].decode()
    wanted = server.get("/v1/encodings/rope/frequencies", params={"config": config}).content
    assert posenc("frequencies", "rope", "--config", "config.json") == wanted
    assert posenc("frequencies", "--config", "config.json") == wanted
    assert posenc("wavelengths", "--config", "config.json", "context=9") == posenc(
        "wavelengths", "rope", "--config", "config.json", "context=9"
    )
    assert posenc("frequencies", "rope", "config=@config.json") == wanted
    assert posenc("frequencies", "rope", "config=@-", stdin=tensors["config.json"]) == wanted
    (posenc.folder / "q=1.npy").write_bytes(tensors["q.npy"])
    assert posenc(
        "layout", "./q=1.npy", "from_layout=half", "to_layout=half", "axes=hsd", "kind=activations"
    ).endswith(tensors["q.npy"][128:])


def test_header_fields(posenc, tensors):
    raw = tensors["q.npy"][128:]
    fields = [
        "-H",
        "Content-Type: application/octet-stream",
        "-HTensor-Shape:2,3,8",
        "-H",
        "Tensor-Dtype: f32",
    ]
    assert (
        posenc(
            "layout",
            "-",
            *fields,
            "from_layout=half",
            "to_layout=half",
            "axes=hsd",
            "kind=activations",
            stdin=raw,
        )
        == raw
    )


def test_stored_tables(posenc, tensors, start_server):
    (posenc.folder / "store").mkdir()
    writes = ["--tables", "store", "--anonymous-writes", "true"]
    posenc(*writes, "put", "/v1/encodings/mine", "sines.npy")
    made = posenc("--tables=store", "table", "mine", "length=2", "format=npy")
    assert numpy.load(io.BytesIO(made)).tolist() == [[0, 1], [0.75, 0.5]]
    assert posenc(*writes, "delete", "/v1/encodings/mine") == b""
    assert posenc.refused("--tables=store", "table", "mine", "length=2")[0] == 4
    start_server("--tables", posenc.folder / "store", "--anonymous-writes", "true")
    code, said = posenc.refused(*writes, "put", "/v1/encodings/mine", "sines.npy")
    assert code == 6 and "another process writes to store; to only read" in said
    assert posenc.refused("--tables=store", "table", "mine", "length=2")[0] == 4


def test_first_byte():
    """A small table in 5 ms: of the processor, for what runs beside takes its share of the clock;
    and the least of some, which is the one that nothing interrupted."""
    asked = [BINARY, "table", "rope", "dim=8", "length=2"]
    used = []
    for _ in range(10):
        child = os.posix_spawn(
            BINARY,
            asked,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)],
        )
        _, status, usage = os.wait4(child, 0)
        assert status == 0
        used.append(usage.ru_utime + usage.ru_stime)
    assert min(used) < 0.005
