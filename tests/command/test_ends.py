# SPDX-License-Identifier: MIT
"""Refusals, exit codes, terminals, and ends before the end."""

import concurrent.futures
import json
import os
import re
import resource
import signal
import subprocess
import threading
import time

import numpy
import pytest
import record
import requested
from typed import BINARY, ROOT

# Some engines read its base, others do not.
CONFIG = """{"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
 "num_hidden_layers": 2, "max_position_embeddings": 4096,
 "rope_parameters": {"rope_type": "default", "rope_theta": 500000}}
"""
EXITS = {404: 4, 413: 5, 414: 5, 503: 5, 507: 5}


def lines_of(problem):
    """What stands on stderr of a problem document: title, detail, and every item of errors."""
    items = problem.get("errors", [])
    lines = [f"posenc: {problem['title']}"]
    if problem["detail"] not in [item["detail"] for item in items]:
        lines.append("  " + problem["detail"])
    for item in items:
        names = "".join(
            f"{kind} {name}: "
            for kind, name in item.items()
            if kind in ("parameter", "tensor", "pointer", "header")
        )
        lines.append(f"  {names}{item['detail']}")
    return "\n".join(lines) + "\n"


def test_refusals_are_those_of_the_service(posenc):
    """The recorded GETs that are refused, word for word."""
    answers = record.read()
    asked = [
        one
        for one in requested.requests(requested.PARTS)
        if (one.server, one.method, one.headers) == ("usual", "GET", ())
        and one.group != "tables"
        and one.body is None
        and answers[one.name]["status"] >= 400
        and one.target.startswith("/v1/encodings/")
        and "text" in answers[one.name]
    ]
    assert len(asked) > 30
    asked = [one for one in asked if "{revision}" not in answers[one.name]["text"]]
    for request in asked:
        problem = json.loads(answers[request.name]["text"])
        code, said = posenc.refused("--tables", ROOT / "tests/data/tables", "get", request.target)
        assert (code, said) == (EXITS.get(problem["status"], 3), lines_of(problem)), request.name


PLACES = {
    "parameter": ("get", "/v1/encodings/rope/table?dim=7&length=1", ()),
    "header": (
        "post",
        "/v1/layout?from_layout=half&to_layout=half&axes=sd",
        ("Content-Type: application/octet-stream", "Tensor-Dtype: f33", "Tensor-Shape: 4,4"),
    ),
    "tensor": ("post", "/v1/comparison", ("Content-Type: application/json",)),
    "pointer": ("post", "/v1/config", ("Content-Type: application/json",)),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_refusal_has_its_place(posenc, server, place):
    """Of each kind, and word for word as the service has it."""
    method, target, fields = PLACES[place]
    body = {
        "header": bytes(64),
        "tensor": b'{"a": {"name": "rope"}, "b": "tensor:b", "tensors": {"b": {"dtype": "f3"}}}',
        "pointer": b'{"model_type": "llama", "head_dim": 64, "rope_scaling": {"rope_type": "no"}}',
    }.get(place)
    headers = dict(field.split(": ") for field in fields)
    if body:
        (posenc.folder / "body").write_bytes(body)
    answer = server.request(method, target, data=body, headers=headers)
    assert any(place in item for item in answer.json()["errors"]), answer.text
    arguments = [*(["body"] if body else []), *(f"-H{field}" for field in fields)]
    code, said = posenc.refused(method, target, *arguments)
    assert (code, said) == (EXITS.get(answer.status_code, 3), lines_of(answer.json()))


@pytest.mark.parametrize(
    "typed,code,says",
    [
        ("", 2, "usage: posenc WORD"),
        (
            "tabel rope",
            2,
            "Unknown command 'tabel', and no view of this encoding has this name; did "
            "you mean 'table'? (posenc --help lists the commands)",
        ),
        ("similarty rope", 2, "; did you mean 'similarity'? (posenc --help lists"),
        ("rotat", 2, "posenc: Unknown command 'rotat'; did you mean 'rotate'? (posenc --help"),
        ("foobarbaz", 2, "posenc: Unknown command 'foobarbaz' (posenc --help lists the commands)"),
        ("table" * 7, 2, "posenc: Unknown command '" + "table" * 7 + "' (posenc --help lists"),
        ("x rope", 2, "no view of this encoding has this name (posenc --help lists"),
        ("table", 2, "table takes the name of an encoding"),
        ("table rope one two", 2, "two is one argument too many"),
        ("get", 2, "get takes a path"),
        ("get /v1 file", 2, "file is one argument too many"),
        ("compare rope", 2, "compare takes two sides"),
        ("check big.bin", 2, "check takes two files"),
        ("check big.bin big.bin", 6, "big.bin: is no safetensors file"),
        ("check big.bin nowhere", 6, "big.bin: is no safetensors file"),
        ("check plain.safetensors plain.safetensors", 6, "plain.safetensors: is no golden file"),
        ("check plain.safetensors nowhere", 6, "nowhere: No such file"),
        (
            "table rope --dim 8",
            2,
            "there is no flag '--dim' (--help lists what there is); a parameter",
        ),
        ("table rope --dim=8", 2, "a parameter is written dim=VALUE"),
        ("table rope -o", 2, "-o needs a value"),
        ("table rope dim=8 length=1 -o t.npz", 2, "t.npz: .npz is none of the formats: json, npy"),
        ("table rope dim=8 length=1 -o t.PT", 2, "with format=NAME any file name will do"),
        ("table --config nowhere length=1", 6, "nowhere: No such file"),
        ("table --config big.bin length=1", 3, "config"),
        ("table rope --threads two", 2, "--threads takes a whole number, got 'two'"),
        ("table rope -H x", 2, "-H takes NAME:TEXT"),
        ("table nope dim=8 length=1", 4, "there is no encoding 'nope'"),
        ("help nope", 4, "there is no encoding 'nope'"),
        ("get /v2", 4, "No such resource"),
        ("rotate nowhere.npy", 6, "nowhere.npy: No such file"),
        ("compare nowhere.npy rope", 6, "nowhere.npy: No such file"),
        ("compare nowhere.safetensors:cos rope", 6, "nowhere.safetensors: No such file"),
        ("rotate .", 6, ".: Is a directory"),
        ("compare . rope", 6, ".: cannot be read whole"),
        ("compare .:cos rope", 6, ".: cannot be read whole"),
        ("check . .", 6, ".: cannot be read whole"),
        ("lint nowhere", 6, "nowhere: No such file"),
        ("lint .", 6, ".: Is a directory"),
        ("lint config.json --against nowhere", 6, "nowhere: No such file"),
        ("extend nowhere --to 8192", 6, "nowhere: No such file"),
        ("table rope config=@nowhere", 6, "nowhere: No such file"),
        ("table rope dim=8 length=1 -o nowhere/t.npy", 6, "nowhere/t.npy: No such file"),
        ("table rope dim=8 length=1 -o /dev/full", 6, "/dev/full: No space left on device"),
        ("--tables nowhere table rope", 6, "there is no folder nowhere"),
        ("--output-max 1KiB table rope dim=128 length=64 format=npy", 5, "--output-max"),
        ("--body-max 16 rotate big.bin", 5, "--body-max"),
        ("--anonymous-writes true put /v1/encodings/x big.bin", 3, "--tables"),
    ],
)
def test_exit_codes(posenc, typed, code, says):
    (posenc.folder / "big.bin").write_bytes(bytes(1000))
    (posenc.folder / "plain.safetensors").write_bytes(b"\2" + bytes(7) + b"{}")
    (posenc.folder / "config.json").write_text('{"model_type": "llama", "head_dim": 64}')
    found, said = posenc.refused(*typed.split())
    assert found == code and says in said, said


@pytest.mark.parametrize("suffix", ["npz", "pt", "bin", "txt"])
def test_a_given_format_goes_to_any_file(posenc, suffix):
    posenc("table", "rope", "dim=8", "length=1", "format=raw", "dtype=f32", "-o", f"t.{suffix}")
    assert (posenc.folder / f"t.{suffix}").stat().st_size == 2 * 4 * 4


@pytest.mark.parametrize("suffix", ["npz", "pt", "bin", "txt"])
def test_a_given_media_type_goes_to_any_file(posenc, suffix):
    table = "table", "rope", "dim=8", "length=1"
    posenc(*table, "-H", "Accept: application/x-npy", "-o", f"t.{suffix}")
    assert (posenc.folder / f"t.{suffix}").read_bytes() == posenc(*table, "format=npy")


def test_exit_codes_are_told(posenc):
    """Alike by the command, its manual page and docs/command.md."""
    told = re.findall(r"^ +(\d+)  (.*)$", posenc("help").decode().split("exit codes:")[1], re.M)
    page = (ROOT / "docs/command.md").read_text()
    manual = posenc("generate", "man").decode()
    assert len(told) == 9
    assert [
        (code, doc)
        for code, doc in told
        if f"| {code} | {doc} |" not in page or f".B {code}\n{doc}\n" not in manual
    ] == []


def test_signs_are_documented(posenc):
    """Alike in the manual page and docs/command.md: every one that a report prints."""
    listed = (ROOT / "command/signs.def").read_text()
    signs = re.findall(r'^SIGN\(\w+, +"(.)", "(.)", \w+, +"(.*)"\)$', listed, re.M)
    assert len(signs) == listed.count("\nSIGN(") == 4
    page = (ROOT / "docs/command.md").read_text()
    manual = posenc("generate", "man").decode()
    for sign, head, doc in signs:
        assert f"| {sign} | {head} | {doc} |\n" in page
        assert f".B {sign} ({head})\n{doc}\n" in manual


# Answers of each kind that is written by other code: texts, reports, documents, bytes.
ANSWERS = [
    "help",
    "help rope",
    "help base",
    "help rotate",
    "encodings",
    "--version",
    "generate man",
    "generate bash",
    "table rope dim=4 length=2",
    "table rope dim=4 length=2 format=npy",
    "table rope dim=64 length=9000 format=raw",
    "get /v1",
    "config config.json",
    "lint config.json --for transformers",
    "lint config.json --for mlx-lm==0.32.2",
    "lint config.json --for mlx-lm==0.32.2 --format json",
    "extend config.json --to 262144",
    "extend config.json --to 262144 --format json",
]


@pytest.mark.parametrize("typed", ANSWERS)
def test_an_answer_on_a_full_disk_ends_with_6(posenc, typed):
    """Also where the answer has a verdict, whose code says that the answer is written."""
    (posenc.folder / "config.json").write_text(CONFIG)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [BINARY, *typed.split()], cwd=posenc.folder, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 6
    assert done.stderr == b"posenc: standard output: No space left on device\n"


# What is said of a table beside what was diagnosed, its verdict and the exit code.
DIAGNOSED = {
    "as expected": ("right.npy encoding=rope dim=16", "match", 0),
    "nothing expected": ("right.npy", "consistent", 0),
    "another base expected": ("right.npy encoding=rope dim=16 base=500000", "known-bug", 1),
    "noise": ("noise.npy encoding=rope dim=16", "unknown", 1),
    "noise, nothing expected": ("noise.npy", "unknown", 1),
}


@pytest.mark.parametrize("name", DIAGNOSED)
def test_the_exit_code_of_a_diagnosis(posenc, name):
    """On a terminal, in a pipe and in a file."""
    angles = numpy.arange(30)[:, None] * 10000.0 ** (-numpy.arange(8) / 8)
    right = numpy.stack([numpy.cos(angles), numpy.sin(angles)]).astype(numpy.float32)
    numpy.save(posenc.folder / "right.npy", right)
    noise = numpy.random.default_rng(1).uniform(-1, 1, right.shape).astype(numpy.float32)
    numpy.save(posenc.folder / "noise.npy", noise)
    words, verdict, code = DIAGNOSED[name]
    typed = ["diagnose", *words.split()]
    done = posenc.run(*typed)
    assert (json.loads(done.stdout)["verdict"], done.returncode) == (verdict, code)
    assert posenc.run(*typed, "-o", "report.json").returncode == code
    assert posenc.on_terminal(*typed)[0] == code


def test_a_table_for_which_there_is_no_space_ends_with_5(posenc):
    """The store's 507, by a limit of the size of files."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    (posenc.folder / "store").mkdir()
    posenc("table", "rope", "dim=64", "length=100", "part=cos", "-o", "t.npy")
    store = [
        "--tables",
        "store",
        "--anonymous-writes",
        "true",
        "put",
        "/v1/encodings/mine",
        "t.npy",
    ]
    done = posenc.run(*store, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (5, b""), done.stderr
    assert posenc.run(*store).returncode == 0


def flags_of_help(posenc):
    """(letter or "", name, whether it takes a value) of the flags of the command itself."""
    usage = posenc("help").decode().split("settings of the service")[0]
    found = re.findall(r"^ +(?:(-\w), +)?(--[a-z]+)( [A-Z:]+)?  ", usage, re.M)
    return [(letter, name, bool(value)) for letter, name, value in found]


def test_a_flag_takes_a_value_or_none(posenc):
    """A value behind a flag without one is refused, and so is a flag that lacks its value."""
    flags = flags_of_help(posenc)
    assert len(flags) > 10
    for letter, name, takes in flags:
        if takes:
            wrong = [[one] for one in (letter, name) if one]
        else:
            wrong = [[name + "=1"], [name + "x"], *([[letter + "x"]] if letter else [])]
        for arguments in wrong:
            code, said = posenc.refused("encodings", *arguments)
            assert code == 2 and said.count("\n") == 1, arguments
            wanted = "needs a value" if takes else f"there is no flag '{arguments[0]}'"
            assert wanted in said, arguments


def test_files_cut_anywhere(posenc):
    """A safetensors file that is cut off within its length, its header or its data is refused as
    such, with the file's name."""
    header = b'{"t":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}'
    content = len(header).to_bytes(8, "little") + header + bytes(8)
    cut = posenc.folder / "cut.safetensors"
    ends = [
        (7, "is no npy and no safetensors file", "is no safetensors file, or is cut off"),
        (8, "is no npy and no safetensors file", "is no safetensors file, or is cut off"),
        (9, "is cut off", "is no safetensors file, or is cut off"),
        (len(header), "is cut off", "is no safetensors file, or is cut off"),
        (len(header) + 7, "is cut off", "is no safetensors file, or is cut off"),
        (len(header) + 8, "has several tensors, or none", "is no golden file"),
        (len(header) + 15, "has several tensors, or none", "is no golden file"),
    ]
    for size, of_compare, of_check in ends:
        cut.write_bytes(content[:size])
        for typed, wanted in (
            (["compare", cut.name, "sinusoidal"], of_compare),
            (["check", cut.name, cut.name], of_check),
        ):
            code, said = posenc.refused(*typed)
            assert code == 6 and f"posenc: {cut.name}: {wanted}" in said, (size, typed, said)


@pytest.mark.parametrize("byte", range(2, 8))
def test_each_byte_of_a_length_counts(posenc, byte):
    """A safetensors header that is said to be longer than its file, by any byte of the length."""
    header = (
        b'{"__metadata__":{"golden":"{}"},"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    )
    content = (len(header) + (1 << 8 * byte)).to_bytes(8, "little") + header + bytes(8)
    (posenc.folder / "long.safetensors").write_bytes(content)
    for typed in (
        ["compare", "long.safetensors", "sinusoidal"],
        ["check", *["long.safetensors"] * 2],
    ):
        code, said = posenc.refused(*typed)
        assert code == 6 and "cut off" in said, said


@pytest.mark.parametrize(
    "entry",
    ["{}", "1", '{"data_offsets": 1}', '{"data_offsets": [0]}', '{"data_offsets": [0, "8"]}'],
)
def test_golden_files_with_a_tensor_without_place(posenc, entry):
    header = '{"__metadata__": {"golden": "{}"}, "t": %s}' % entry
    (posenc.folder / "g.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header.encode() + bytes(8)
    )
    code, said = posenc.refused("check", "g.safetensors", "g.safetensors")
    assert (code, said) == (6, "posenc: g.safetensors: has a tensor without data_offsets\n")


def test_fields_of_the_command_line(posenc):
    """A name, a colon, a text behind blanks or none; 32 fields."""
    for wrong in ("", "x", ":", ":x"):
        code, said = posenc.refused("get", "/v1", "-H", wrong)
        assert code == 2 and f"got '{wrong}'" in said
    fields = [f"-HX-{i}: 1" for i in range(33)]
    assert posenc("get", "/v1", *fields[:32]) == posenc("get", "/v1")
    assert posenc.refused("get", "/v1", *fields)[0] == 2
    for blank in ("", " ", "\t", " \t "):
        accept = f"-HAccept:{blank}text/csv"
        assert posenc("table", "rope", "dim=4", "length=1", accept).count(b"\n") == 2


def test_any_character_reaches_the_service(posenc):
    """Those with a meaning in a query too."""
    value = "x" + "".join(map(chr, range(33, 127)))
    for text in (value[:48], value[48:], "x y", "é"):
        code, said = posenc.refused("table", "rope", f"dim={text}", "length=1")
        assert code == 3 and f"got '{text}'" in said


def test_help_of_a_word_without_an_operation(posenc):
    """Words for any resource have no parameters of their own."""
    words = re.findall(r"^  (\w+) +TARGET ", posenc("help").decode(), re.M)
    assert set(words) >= {"get", "post", "put", "delete"}
    for word in words:
        assert posenc("help", word).count(b"\n") == 2


def test_a_refusal_leaves_a_file_alone(posenc):
    kept = posenc.folder / "t.npy"
    kept.write_bytes(b"before")
    assert posenc.refused("table", "rope", "dim=7", "length=1", "-o", "t.npy")[0] == 3
    assert kept.read_bytes() == b"before" and os.listdir(posenc.folder) == ["t.npy"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(posenc, number):
    """What is half written goes; a read that nothing wakes ends too. Whoever starts the tests may
    ignore the signal, as nohup does."""
    kept = posenc.folder / "t.npy"
    kept.write_bytes(b"before")
    long = ["table", "rope", "dim=2048", "length=9000000", "-o", "t.npy"]
    for arguments in (long, ["rotate", "-"]):
        process = subprocess.Popen(
            [BINARY, *arguments],
            cwd=posenc.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        )
        # Two threads: signals are waited for. Two files: something is half written.
        while (
            len(os.listdir(f"/proc/{process.pid}/task")) < 2
            or arguments is long
            and len(os.listdir(posenc.folder)) < 2
        ):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        process.wait(10)
        assert process.communicate(timeout=10) == (b"", b"")
        assert process.returncode == 128 + number
        assert kept.read_bytes() == b"before" and os.listdir(posenc.folder) == ["t.npy"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "typed",
    [
        "table rope dim=2048 length=9000000 format=npy",  # written to a pipe that nobody reads
        "decay rope dim=65536 max_offset=30000",  # computed for seconds
        "diagnose -",  # a report
    ],
)
def test_an_interrupt_is_the_exit_code(posenc, typed, number):
    """Whatever it interrupts: the work, the writing, or the reading; and nothing is said of it."""
    process = subprocess.Popen(
        [BINARY, *typed.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    if "npy" in typed:
        assert process.stdout.read(6) == b"\x93NUMPY"
    else:
        time.sleep(0.1)
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(10) == 128 + number
    assert time.monotonic() - began < 3 and process.communicate()[1] == b""


@pytest.mark.plain
def test_little_memory(posenc):
    """A program of little memory writes the complete answer, or ends with 5 and one message, and
    leaves no file."""
    table = "table", "rope", "dim=128", "length=5000", "-o", "t.npy"
    posenc(*table)
    whole = (posenc.folder / "t.npy").read_bytes()
    codes = []
    for mib in range(9, 27):
        (posenc.folder / "t.npy").unlink(missing_ok=True)
        limit = (mib << 20, mib << 20)
        done = posenc.run(
            *table, preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, limit)
        )
        codes.append(done.returncode)
        if done.returncode == 0:
            assert (posenc.folder / "t.npy").read_bytes() == whole and done.stderr == b""
        elif done.returncode != 127:  # the libraries themselves were not loaded
            assert done.returncode == 5 and done.stderr.startswith(b"posenc: ")
            assert os.listdir(posenc.folder) == []
    assert codes[-1] == 0


def test_ignored_signals_stay_ignored(posenc):
    """As those of nohup, and of what a script starts behind it."""
    process = subprocess.Popen(
        [BINARY, "rotate", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    while len(os.listdir(f"/proc/{process.pid}/task")) < 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert b"the body is empty" in process.communicate(timeout=10)[1]
    assert process.returncode == 3


def test_a_reader_that_leaves(posenc):
    with subprocess.Popen(
        [BINARY, "table", "rope", "dim=2048", "length=9000000", "format=npy"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.read(6) == b"\x93NUMPY"
        process.stdout.close()
        assert process.wait(10) == -signal.SIGPIPE


# ---- terminals ----------------------------------------------------------------------------------


def squeezed(text):
    """JSON without blanks outside of its texts."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda found: found.group(1) or "", text)


@pytest.mark.parametrize(
    "target",
    ["/v1/encodings/rope/table?dim=4&length=2", "/openapi.json", "/v1/encodings/rope", "/v1"],
)
def test_json_has_lines_on_a_terminal(posenc, target):
    """The same tokens; lists of numbers in one line each."""
    plain = posenc("get", target).decode()
    code, shown = posenc.on_terminal("get", target)
    assert code == 0 and squeezed(shown) == squeezed(plain)
    assert shown.count("\n") > 15
    if "table" in target:
        assert "\n        [1, 1],\n        [0.5403023, 0.99995]\n      ]\n" in shown


LARGE = {
    "table": ["table", "rope", "dim=128", "length=4096"],
    "bias": ["bias", "alibi", "heads=12", "query_length=200", "key_length=300"],
    "list": ["frequencies", "rope", "dim=1024"],
    "get": ["get", "/v1/encodings/sinusoidal/table?dim=64&length=99&dtype=f64"],
    "layout": ["layout", "from_layout=half", "to_layout=interleaved", "head_dim=2000"],
    "infinity": ["bias", "alibi", "heads=4", "query_length=9", "key_length=99", "causal=true"],
}


def shown_of(items):
    """What is shown of an axis: all, or both of its ends."""
    return items if len(items) <= 8 else [*items[:4], "...", *items[-3:]]


def numbers_of(words):
    return [word if word in ("...", "Infinity", "-Infinity") else float(word) for word in words]


def nearly(row):
    return [one if isinstance(one, str) else pytest.approx(one, 1e-4) for one in shown_of(row)]


@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_are_short_tables_on_a_terminal(posenc, name):
    """Dtypes, shapes, and the numbers at both ends of each axis, in a few lines."""
    code, shown = posenc.on_terminal(*LARGE[name])
    answer = json.loads(posenc(*LARGE[name]))
    assert code == 0 and shown.count("\n") < 80 and max(map(len, shown.splitlines())) <= 120
    for tensor, told in answer["tensors"].items():
        lines = shown.split(f"{tensor}: {told['dtype']} {told['shape']}\n")[1].splitlines()
        data = told["data"]
        if len(told["shape"]) == 3:
            assert lines.pop(0) == "  [0]"
            data = data[0]
        rows = shown_of([*enumerate(data)] if isinstance(data[0], list) else [(None, data)])
        for row, line in zip(rows, lines):
            index, numbers = row if row != "..." else (None, ["..."])
            words = line.split()
            assert index is None or int(words.pop(0)) == index
            assert numbers_of(words) == nearly(numbers)
    if "encoding" in answer:
        assert shown.startswith(answer["encoding"]["name"] + " ")
    for key in answer.keys() - {"encoding", "tensors", "warnings"}:
        assert f"{key}: {json.dumps(answer[key])}\n" in shown
    assert "-o FILE writes the complete answer" in shown


@pytest.mark.parametrize("count", [1, 7, 8, 9, 40])
def test_lists_of_an_encoding_are_short(posenc, count):
    """Up to eight values are shown, of more their number."""
    values = ",".join(map(str, range(1, count + 1)))
    bias = ["bias", "alibi", f"heads={count}", f"slopes={values}", "query_length=40"]
    shown = posenc.on_terminal(*bias, "key_length=99", columns=120)[1].splitlines()[0]
    assert shown.endswith(f"slopes=[{values}]" if count <= 8 else f"slopes=({count} values)")


@pytest.mark.parametrize("layers", [1, 5, 6, 7, 12])
def test_layers_of_an_extension_are_counted(posenc, layers):
    config = {
        "model_type": "gemma3_text",
        "num_hidden_layers": layers,
        "head_dim": 64,
        "max_position_embeddings": 4096,
    }
    (posenc.folder / "config.json").write_text(json.dumps(config))
    extend = ["extend", "config.json", "--to", "16384", "--format"]
    kinds = {
        row["layer_type"]: len(row["layers"])
        for row in json.loads(posenc(*extend, "json"))["layers"]
    }
    assert sum(kinds.values()) == layers
    found = re.findall(r"^(\d+) (layers?) of (\w+): ", posenc(*extend, "text").decode(), re.M)
    assert found == [
        (str(count), "layer" if count == 1 else "layers", kind) for kind, count in kinds.items()
    ]


def test_a_format_is_complete_on_a_terminal(posenc):
    bias = LARGE["bias"]
    code, shown = posenc.on_terminal(*bias, "format=json")
    assert code == 0 and squeezed(shown) == squeezed(posenc(*bias, "format=json").decode())
    code, shown = posenc.on_terminal(*bias, "-HAccept: application/json")
    assert code == 0 and squeezed(shown) == squeezed(posenc(*bias).decode())
    code, shown = posenc.on_terminal(*LARGE["table"], "format=csv")
    assert code == 0 and shown.count("\n") > 4096


def test_what_is_too_large_for_a_terminal(posenc):
    code, shown = posenc.on_terminal("table", "rope", "dim=512", "length=16000")
    assert code == 2 and shown.count("\n") == 1 and "-o FILE" in shown


def test_a_config_has_a_part_for_each_kind_on_a_terminal(posenc, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    (posenc.folder / "gemma.json").write_text(
        '{"model_type": "gemma3_text", "num_hidden_layers": 7, "head_dim": 256}'
    )
    code, shown = posenc.on_terminal("config", "gemma.json")
    assert code == 0
    lines = shown.splitlines()
    assert lines[0].startswith("! rope dim=256 base=1000000 ")
    at = lines.index("  sliding_attention layers 0..4 6")
    assert lines[at + 1].startswith("    rope dim=256 base=10000 ")
    assert lines[at + 2] == "    attention scale=0.0625 causal=true window=4096 qk_norm=rms"
    at = lines.index("  full_attention layers 5")
    assert lines[at + 1] == "    as above"
    assert "  warning   the layers of this config differ" in shown
    assert posenc.on_terminal("config", "gemma.json", "format=json")[1].startswith("{")


def test_no_binary_on_a_terminal(posenc):
    code, shown = posenc.on_terminal("table", "rope", "dim=4", "length=2", "format=npy")
    assert code == 2 and "-o FILE" in shown and "\x93" not in shown
    assert posenc.on_terminal("config")[0] == 2


PROGRESS = re.compile(r"\r(\d+) s: +([^\r\033]+)\033\[K")


def progress_of(posenc, fifo, *arguments):
    """(the exit code, [(seconds, what is shown)]) of an answer that is written to a pipe, whose
    reader waits until more is shown than that it is computed."""
    shows = threading.Event()
    os.mkfifo(posenc.folder / fifo)

    def read():
        with open(posenc.folder / fifo, "rb") as pipe:
            shows.wait(60)
            while pipe.read(1 << 16):
                pass

    def look(shown):
        if any(text != "computing" for _, text in PROGRESS.findall(shown)):
            shows.set()

    reader = threading.Thread(target=read)
    reader.start()
    code, shown = posenc.on_terminal(*arguments, "-o", fifo, progress=look)
    reader.join()
    assert shown.endswith("\r\033[K") and not PROGRESS.sub("", shown[: -len("\r\033[K")])
    return code, [(int(seconds), text) for seconds, text in PROGRESS.findall(shown)]


def test_progress(posenc):
    """From the second on, the part of the whole; nothing without a terminal."""
    table = ["table", "rope", "dim=64", "length=20000", "format=npy"]
    piped = subprocess.Popen([BINARY, *table], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, shown = progress_of(posenc, "fifo", *table)
    assert piped.communicate(timeout=30)[1] == b""  # no terminal
    assert code == 0 and shown[0][0] == 1
    parts = [re.fullmatch(r"(\d+) % of 5\.1 MB", text) for _, text in shown if text != "computing"]
    parts = [int(part[1]) for part in parts]
    assert parts == sorted(parts) and parts[0] < 100 >= parts[-1]
    assert posenc.on_terminal(*table, "-o", "x.npy") == (0, "")


# Bytes, and how they are shown: to three digits before the point of the largest unit that has them.
SIZES = {99_328: "99.3 kB", 999_496: "999.5 kB", 999_504: "1.0 MB", 1_049_992: "1.0 MB"}


def test_sizes_of_progress(posenc):
    """At the edges of units; of a length that is not known, what was written so far."""
    asked = {
        size: ["table", "rope", "dim=2", f"length={(size - 128) // 8}", "format=npy"]
        for size in SIZES
    }
    asked["unknown"] = ["table", "rope", "dim=64", "length=4000", "format=json"]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        found = pool.map(lambda name: progress_of(posenc, f"{name}.fifo", *asked[name]), asked)
    for name, (code, shown) in zip(asked, found):
        texts = {re.sub(r"^\d+ % of ", "", text) for _, text in shown} - {"computing"}
        assert code == 0 and texts
        if name in SIZES:
            assert texts == {SIZES[name]}
        else:
            assert all(re.fullmatch(r"\d+ B|\d+\.\d [kM]B", text) for text in texts), texts


@pytest.mark.parametrize("mask", [0, 0o002, 0o022, 0o027, 0o077, 0o133])
def test_modes_of_files(posenc, mask):
    """A file has the mode of any new file, whatever wrote it, and whether one was there."""
    typed = {
        "t.npy": ["table", "rope", "dim=4", "length=1"],
        "report.json": ["compare", "rope dim=4", "rope dim=4", "length=1"],
        "spec.yaml": ["get", "/openapi.yaml"],
    }
    for name, words in typed.items():
        for before in (None, 0o600, 0o777):
            if before:
                (posenc.folder / name).chmod(before)
            assert posenc.run(*words, "-o", name, umask=mask).returncode == 0
            assert (posenc.folder / name).stat().st_mode & 0o7777 == 0o666 & ~mask, (name, before)


def test_warnings(posenc):
    """Of binary answers on stderr, unless -q."""
    ask = [
        "table",
        "rope",
        "dim=8",
        "length=4",
        "rope_type=dynamic",
        "factor=2",
        "seq_len=2",
        "max_position_embeddings=2",
        "format=npy",
    ]
    done = posenc.run(*ask)
    assert done.returncode == 0 and done.stderr.startswith(b"posenc: warning: ")
    assert posenc(*ask, "-q") == done.stdout


# ---- the manual page and the completion ---------------------------------------------------------


def completed(script, *words):
    """What bash would offer; a = is a word of its own to it."""
    line = " ".join(f"'{word}'" for word in words)
    text = (
        f"source {script}; compopt() {{ :; }}; COMP_WORDS=({line}); "
        f"COMP_CWORD={len(words) - 1}; _posenc; echo ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_completion(posenc, tmp_path, server):
    script = tmp_path / "posenc.bash"
    script.write_bytes(posenc("generate", "bash"))
    names = [one["name"] for one in server.get("/v1/encodings").json()["encodings"]]
    assert completed(script, "posenc", "table", "") == names
    assert completed(script, "posenc", "simi") == ["similarity"]
    words = completed(script, "posenc", "")
    assert {"table", "similarity", "lint", "help"} <= set(words)
    assert set(completed(script, "posenc", "help", "")) == {*words, *names}
    assert completed(script, "posenc", "table", "rope", "rope_t") == ["rope_type="]
    assert completed(script, "posenc", "table", "rope", "rope_type", "=", "l") == [
        "linear",
        "llama3",
        "longrope",
    ]
    assert "causal=" in completed(script, "posenc", "bias", "alibi", "")
    assert "axes=" in completed(script, "posenc", "rotate", "q.npy", "ax")
    assert completed(script, "posenc", "rotate", "q.npy", "axes", "=") == [
        "bhsd",
        "bshd",
        "thd",
        "shd",
        "hsd",
        "bsd",
        "sd",
    ]
    assert completed(script, "posenc", "--memory") == ["--memory-budget"]


def flags_listed():
    """(name, letter, value) of every flag of the command."""
    line = r'^FLAG\(\w+, +"(.+?)", +"(.*?)", +"(.*?)", +".+"\)$'
    return re.findall(line, (ROOT / "command/flags.def").read_text(), re.M)


def test_nothing_is_offered_twice(posenc):
    """In any list of the completion."""
    lists = re.findall(r"'([^']*)'", posenc("generate", "bash").decode())
    assert len(lists) > 100
    for words in map(str.split, lists):
        assert len(set(words)) == len(words), words


def test_every_flag_is_listed(posenc):
    """In the help, on the manual page and in the completion, with what follows it."""
    listed = flags_listed()
    assert len(listed) == (ROOT / "command/flags.def").read_text().count("\nFLAG(")
    shown = posenc("--help").decode().split("\n\n")
    page = posenc("generate", "man").decode().replace("\\-", "-")
    offered = re.search(r"^_posenc_flags='(.*)'$", posenc("generate", "bash").decode(), re.M)[1]
    (block,) = [block for block in shown if block.startswith("  -o")]
    helped = re.findall(r"^  (?:-(.), |    )--([a-z]+) ?([A-Z:]*) {2,}\S", block, re.M)
    assert [(name, letter, value) for letter, name, value in helped] == listed
    assert offered.split()[: len(listed)] == [f"--{name}" for name, _, _ in listed]
    for name, letter, value in listed:
        entry = (f"-{letter}, " if letter else "") + f"--{name}"
        assert f"\n.TP\n.B {entry}" + (f" \\fI{value}\\fR\n" if value else "\n") in page


def test_a_value_has_a_word_of_its_own_or_follows_its_flag(posenc):
    table = "table", "rope", "dim=4", "length=1"
    for given in (["-o", "t.npy"], ["-ot.npy"], ["--output", "t.npy"], ["--output=t.npy"]):
        assert posenc(*table, *given) == b""
        assert (posenc.folder / "t.npy").read_bytes().startswith(b"\x93NUMPY")
        (posenc.folder / "t.npy").unlink()


def test_manual_page(posenc, server):
    page = posenc("generate", "man").decode().replace("\\-", "-")
    for encoding in server.get("/v1/encodings").json()["encodings"]:
        assert f"\n.SS {encoding['name']}\n" in page and encoding["title"] in page
    for flag in re.findall(r"^ +(?:-., )?(--[a-z-]+)", posenc("help").decode(), re.M):
        assert flag in page
    # A word's arguments and its description have a line each.
    for word in re.findall(r"^  ([a-z]+) +[A-Z\[]", posenc("help").decode(), re.M):
        entry = page.split(f"\n.TP\n.B {word}\n")[1].split("\n.TP\n")[0].splitlines()
        assert entry[0].startswith(".I ") and entry[1] == ".br" and len(entry) == 3, entry
    # A request of roff begins its line: elsewhere it would be printed.
    requests = r"\.(?:[BI][RI]?|R[BI]|S[HS]|T[HPQ]|PP|br)\b"
    assert not re.findall(rf"^[^.\n].*(?<!\w){requests}.*$", page, re.M)
    assert "\n.BR posencd (8):\n" in page  # the section of packaging
    assert all(
        line.startswith((".", "\\&")) or line[0] not in "'"
        for line in filter(None, page.splitlines())
    )
