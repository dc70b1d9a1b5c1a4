# SPDX-License-Identifier: MIT
"""Natural mistakes and how each is answered: the status, the code, every place, the word that
helps. mistakes.txt has one a line:

    WHERE [CONTENT-TYPE] CHANGE => STATUS CODE PLACES | WORD | WORD

WHERE is a view (GET), or a function to which a good request is posted with members taken off it
("- a,b") and set ("+ {...}"), another text ("= ...") or a file ("@npy"). [-]: no Content-Type.
PLACES are all in `errors`, in order, with the code where it is another; "-": there is no list."""

import io
import json
import pathlib
import pickle
import re

import numpy
import pytest
from safetensors.numpy import save as safetensors_save

from service import call

LINES = (pathlib.Path(__file__).parent / "mistakes.txt").read_text().splitlines()
TABLE = [line for line in LINES if line and not line.startswith("#")]
LINE = re.compile(
    r"(\S+)(?: \[(.*?)\])?(?: - (\S+))?(?: ([+=@]) ?(.*?))? => (\d+)(?: (\S+))?"
    r"(?: (\S+))?((?: \| .*)?)$"
)
# What every one of the files is sent with.
QUERY = "encoding=rope&layout=half&axes=sd&dim=4&start=0"
Q = {"q": {"data": [[1, 2, 3, 4]]}}
HEADS = {name: {"data": [[[[1, 2], [3, 4]]]]} for name in "qkv"}
GOOD = {
    "rotation": {
        "encoding": "rope",
        "layout": "half",
        "axes": "sd",
        "dim": 4,
        "positions": {"start": 0},
        "tensors": Q,
    },
    "attention": {"encoding": "none", "tensors": HEADS},
    "embedding": {
        "encoding": "sinusoidal",
        "positions": {"start": 0},
        "tensors": {"x": {"data": [[1, 2]]}},
    },
    "layout": {"from_layout": "half", "to_layout": "interleaved", "kind": "table", "tensors": Q},
    "comparison": {"a": {"name": "rope", "dim": 4}, "b": {"name": "rope", "dim": 4}, "length": 2},
    "diagnosis": {"tensors": {"inv_freq": {"data": [1, 0.01]}}},
}


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


ROW = numpy.arange(4, dtype=numpy.float32)[None]
FILES = {
    "npy": npy(ROW),
    "safetensors": safetensors_save({"q": ROW}),
    "raw": ROW.tobytes(),
    "gguf": b"GGUF\x03\0\0\0" + bytes(40),
    "npz": b"PK\x03\x04" + bytes(40),
    "pickle": pickle.dumps(ROW),
    "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "gzip": b"\x1f\x8b\x08" + bytes(40),
    "html": b"<!doctype html><p>",
    "form": b"encoding=rope&layout=half",
    "nothing": b"",
    "multipart": b'--x\r\nContent-Disposition: form-data; name="f"\r\n\r\n1\r\n--x--\r\n',
    "npy_object": npy(ROW).replace(b"'<f4'", b"'|O' "),
    "npy_big_endian": npy(ROW.astype(">f4")),
}
# What curl -d leaves of them.
FILES |= {
    f"{name}_stripped": re.sub(rb"[\0\r\n]", b"", FILES[name]) for name in ("npy", "safetensors")
}


def asked(where, content_type, without, sign, text):
    """method, target, body and fields of a line."""
    target = where.replace("$Q", QUERY)
    if not target.startswith("/"):
        functions = ("config", *GOOD)
        root = "/v1/" if re.match(r"\w*", target).group() in functions else "/v1/encodings/"
        target = root + target
    if not sign and not without:
        return "GET", target, None, {}
    if sign == "@":
        body = FILES[text]
    elif sign == "=":
        body = text.encode()
    else:
        left = {
            key: value
            for key, value in GOOD[where].items()
            if key not in (without or "").split(",")
        }
        body = json.dumps(left | json.loads(text or "{}")).encode()
    fields = {} if content_type == "-" else {"Content-Type": content_type or "application/json"}
    return "POST", target, body, fields


def places(problem):
    """ "a,b:code" """
    return (
        ",".join(
            next(
                error[kind]
                for kind in ("parameter", "pointer", "tensor", "header")
                if kind in error
            )
            + (":" + error["code"] if error["code"] != problem["code"] else "")
            for error in problem.get("errors", [])
        )
        or "-"
    )


@pytest.mark.parametrize("line", TABLE)
def test_mistake(server, line):
    where, content_type, without, sign, text, status, code, expected, words = LINE.match(
        line
    ).groups()
    answer = call(server, *asked(where, content_type, without, sign, text))
    assert answer.status == int(status), answer.body
    told = answer.body.decode(errors="replace")
    if int(status) >= 400:
        problem = answer.json
        assert (problem["code"], places(problem)) == (code, expected)
        told = problem["detail"]
    for word in words.split(" | ")[1:]:
        assert word in told


def test_a_whole_file_was_not_sent_by_curl_d(server):
    """A form's type is curl's default: only a file without a byte that -d drops went through it."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for name in ("npy_big_endian", "npy_object"):
        problem = call(server, "POST", f"/v1/rotation?{QUERY}", FILES[name], form).json
        assert "convert with" in problem["detail"] and "curl" not in problem["detail"]


# What Chromium sends of itself with fetch(url, {method: "POST", body}) from another origin.
PAGE = {
    "Origin": "http://page.example",
    "Referer": "http://page.example/",
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Dest": "empty",
}
TEXT = {"Content-Type": "text/plain;charset=UTF-8"}  # of a string; a buffer has none


def test_a_page_needs_no_preflight(server):
    """Fifty POSTs of many kinds as a page sends them, which no browser asks leave for first: none
    has a field or a type beyond those that need no preflight."""
    kinds = [(f"/v1/{name}", json.dumps(body), TEXT) for name, body in GOOD.items()]
    kinds += [
        ("/v1/config", '{"model_type":"llama","head_dim":8}', TEXT),
        ("/v1/encodings/rope/table", '{"dim":8,"length":2,"format":"npy"}', TEXT),
        (f"/v1/rotation?{QUERY}", FILES["npy"], {}),
        (f"/v1/rotation?{QUERY}", FILES["safetensors"], {}),
        (f"/v1/rotation?{QUERY}&tensor_dtype=f32&tensor_shape=1,4", FILES["raw"], {}),
    ]
    for i in range(50):
        target, body, fields = kinds[i % len(kinds)]
        answer = call(server, "POST", target, body, PAGE | fields).good()
        assert answer.headers["access-control-allow-origin"] == "*"


def test_mistakes_are_bounded(server):
    """The list has an end, and says how many it left out."""
    names = [f"x{i}" for i in range(200)]
    target = "/v1/encodings/rope/table?dim=8&length=4&" + "&".join(f"{name}=1" for name in names)
    problem = call(server, "GET", target).json
    assert [error["parameter"] for error in problem["errors"]] == names[:32]
    assert problem["errors_left_out"] == 200 - 32


def test_limits_are_told(server):
    """With the flag's value where a flag sets them."""
    about = call(server, "GET", "/v1").json
    flags = {name.replace("-", "_"): value for name, value in about["flags"].items()}
    limits = about["limits"]
    assert {"body_max", "work_max", "memory_budget"} <= limits.keys() & flags.keys()
    assert limits == limits | {name: flags[name] for name in limits.keys() & flags.keys()}
    assert call(server, "GET", "/v1?" + "x" * limits["head_max"]).status == 414
    for count, status in (
        (limits["query_parameters_max"], 422),
        (limits["query_parameters_max"] + 1, 414),
    ):
        assert call(server, "GET", "/v1?" + "&".join(["x=1"] * count)).status == status
    heads = limits["layout_elements_max"] // 64
    for count, status in ((heads, 200), (heads + 1, 422)):
        assert (
            call(
                server,
                "GET",
                "/v1/layout?from_layout=half&to_layout=interleaved&format=raw"
                f"&head_dim=64&heads={count}",
            ).status
            == status
        )
    deep = limits["json_depth_max"] + 1
    assert (
        call(server, "POST", "/v1/rotation", '{"x":' + "[" * deep + "]" * deep + "}").json["code"]
        == "malformed"
    )
