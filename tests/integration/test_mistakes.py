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
LINE = re.compile(r"(\S+)(?: \[(.*?)\])?(?: - (\S+))?(?: ([+=@]) ?(.*?))? => (\d+)(?: (\S+))?"
                  r"(?: (\S+))?((?: \| .*)?)$")
# What every one of the files is sent with.
QUERY = "encoding=rope&layout=half&axes=sd&dim=4&start=0"
Q = {"q": {"data": [[1, 2, 3, 4]]}}
HEADS = {name: {"data": [[[[1, 2], [3, 4]]]]} for name in "qkv"}
GOOD = {
    "rotation": {"encoding": "rope", "layout": "half", "axes": "sd", "dim": 4,
                 "positions": {"start": 0}, "tensors": Q},
    "attention": {"encoding": "none", "tensors": HEADS},
    "embedding": {"encoding": "sinusoidal", "positions": {"start": 0},
                  "tensors": {"x": {"data": [[1, 2]]}}},
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
    "npy": npy(ROW), "safetensors": safetensors_save({"q": ROW}), "raw": ROW.tobytes(),
    "gguf": b"GGUF\x03\0\0\0" + bytes(40), "npz": b"PK\x03\x04" + bytes(40),
    "pickle": pickle.dumps(ROW), "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "gzip": b"\x1f\x8b\x08" + bytes(40), "html": b"<!doctype html><p>",
    "form": b"encoding=rope&layout=half", "nothing": b"",
    "multipart": b"--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n1\r\n--x--\r\n",
    "npy_object": npy(ROW).replace(b"'<f4'", b"'|O' "),
    "npy_big_endian": npy(ROW.astype(">f4")),
}
# What curl -d leaves of them.
FILES |= {f"{name}_stripped": re.sub(rb"[\0\r\n]", b"", FILES[name])
          for name in ("npy", "safetensors")}


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
        left = {key: value for key, value in GOOD[where].items()
                if key not in (without or "").split(",")}
        body = json.dumps(left | json.loads(text or "{}")).encode()
    fields = {} if content_type == "-" else {"Content-Type": content_type or "application/json"}
    return "POST", target, body, fields


def places(problem):
    """ "a,b:code" """
    return ",".join(
        next(error[kind] for kind in ("parameter", "pointer", "tensor", "header") if kind in error)
        + (":" + error["code"] if error["code"] != problem["code"] else "")
        for error in problem.get("errors", [])) or "-"


@pytest.mark.parametrize("line", TABLE)
def test_mistake(server, line):
    where, content_type, without, sign, text, status, code, expected, words = \
        LINE.match(line).groups()
    answer = call(server, *asked(where, content_type, without, sign, text))
    assert answer.status == int(status), answer.body
    told = answer.body.decode(errors="replace")
    if int(status) >= 400:
        problem = answer.json
        assert (problem["code"], places(problem)) == (code, expected)
        told = problem["detail"]
    for word in words.split(" | ")[1:]:
        assert word in told
