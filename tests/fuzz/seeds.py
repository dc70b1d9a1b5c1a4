#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes in a folder, of the recorded requests: seeds/TARGET/, kinds/ (one request of each kind) and
requests/ (the others); and words.dict, a dictionary of the catalogue's words.

    python tests/fuzz/seeds.py FOLDER"""

import gzip
import json
import pathlib
import re
import sys
import urllib.parse
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "recorded"))
import bodies  # noqa: E402
import requested  # noqa: E402

SEED_MAX = 8 << 10  # longer ones are slow to mutate, and tell nothing more
WORDS = [
    "core/encodings/encodings.def",
    "core/views/views.def",
    "core/encodings/rope/rope_types.def",
    "core/config/model_types.def",
    "core/config/keys.def",
    "core/config/gguf.def",
    "api/formats/formats.def",
    "api/codings/codings.def",
    "api/routes/routes.def",
    "core/diagnosis/known_schemes.def",
]
SYNTAX = [
    "%00",
    "%2F",
    "..",
    "1e308",
    "-0",
    "9007199254740993",
    "18446744073709551615",
    "NaN",
    "null",
    "true",
    '"tensors":{',
    '"data":[',
    '"base64":"',
    '"dtype":"',
    '"shape":[',
    "data_offsets",
    "__metadata__",
    "posenc.",
    "fortran_order",
    "descr",
    "<f4",
    "\x93NUMPY",
    "bytes=",
    "q=0.5",
    "identity",
    "*/*",
    "gzip",
    "Content-Type: ",
    "Content-Encoding: ",
    "Accept-Encoding: ",
    "If-None-Match: ",
    "Range: ",
    "application/json",
    bodies.NPY,
    bodies.SAFETENSORS,
    bodies.RAW,
    "Tensor-Dtype: ",
    "Tensor-Shape: ",
]


def text_of(request):
    """In the form of tests/fuzz/request.h."""
    lines = [f"{request.method} {request.target}", *(f"{n}: {v}" for n, v in request.headers), ""]
    return "\n".join([*lines, ""]).encode("latin-1") + (request.body or b"")


def fields_seed(headers):
    """In the form of tests/fuzz/fields.c, for an answer of 1 MiB."""
    names = ["Range", "Accept", "Accept-Encoding", "Content-Encoding", "If-None-Match"]
    lines = [headers.get(name, "") for name in names]
    return b"\x14" + "\n".join([*lines, "npy"]).encode("latin-1")


def seeds(requests):
    """(target, seed) of each request."""
    for index, request in enumerate(requests):
        headers = dict(request.headers)
        kind, body = headers.get("Content-Type", ""), request.body or b""
        # STORING, UNKNOWN_LENGTH, codings, QUICKLY and TWICE of api.c in turn.
        flags = (0, 128, 1, 130, 16 + 128, 4 + 128, 8 + 128, 3)[index % 8]
        yield "api", bytes([flags, index % 251]) + text_of(request)
        yield "query", request.target.encode("latin-1")
        if headers.keys() - {"Content-Type", "Tensor-Dtype", "Tensor-Shape"}:
            yield "fields", fields_seed(headers)
        if kind == bodies.JSON:
            yield "json", body
        if kind == bodies.NPY:
            yield "npy", body
        if kind == bodies.SAFETENSORS:
            yield "safetensors", body
        if kind == bodies.RAW:
            shape = f"{headers.get('Tensor-Dtype')}\n{headers.get('Tensor-Shape')}\n"
            yield "raw", shape.encode() + body
        if request.target.startswith("/v1/config") and body:
            yield "config", b"\0" + body


def statuses():
    """What was answered to each request, by its name."""
    with open(ROOT / "tests/recorded/answers.jsonl") as lines:
        return {
            answer["name"]: answer["status"]
            for answer in map(json.loads, lines)
            if "name" in answer
        }


def kind_of(request, status):
    """Requests of one kind differ in their values alone: one stands for all where time is short."""
    path, _, query = request.target.partition("?")
    headers = dict(request.headers)
    parts = path.split("/")
    view = parts[4:] if path.startswith("/v1/encodings/") else []
    asked = urllib.parse.parse_qs(query)
    told = ("Content-Type", "Content-Encoding", "Accept-Encoding", "Range", "If-None-Match")
    return (
        status < 400,
        request.method,
        "/".join(parts[:3]),
        tuple(view),
        asked.get("format", [""])[0],
        *(
            headers.get(name, "") if index < 3 else name in headers
            for index, name in enumerate(told)
        ),
    )


def more_seeds():
    """What no request has: configs of models, and coded bodies for each decoder."""
    for path in sorted((ROOT / "tests/data/configs").glob("*.json")):
        yield "config", bytes([len(path.name) % 8]) + path.read_bytes()
    for path in sorted((ROOT / "tests/data/gguf").glob("*.gguf")):
        yield "gguf", path.read_bytes()
    query = {"shape": [1, 1, 1, 4], "data": [1, 2, 3, 4]}
    for path, body in (
        (
            "comparison",
            {
                "a": {"name": "rope", "layout": "half"},
                "b": "tensor:q_rotated",
                "tensors": {"q": query, "q_rotated": query},
                "tolerance_of": "bf16-cache",
                "per_element": True,
                "start": 7,
            },
        ),
        (
            "positions",
            {
                "model_type": "qwen2_5_vl",
                "mm_token_type_ids": [0, 2, 2, 0, 1, 0],
                "image_grid_thw": [1, 2, 2],
                "video_grid_thw": [2, 2, 2],
                "attention_mask": [0, 1, 1, 1, 1, 1],
                "chunk_start": 9,
                "position_ids": [[1, 2], [1, 2], [1, 2]],
            },
        ),
    ):
        yield (
            "api",
            (
                b"\x80\x07POST /v1/%s\nContent-Type: application/json\n\n" % path.encode()
                + json.dumps(body).encode()
            ),
        )
    text = json.dumps({"positions": list(range(300))}).encode()
    zstd = b"\x28\xb5\x2f\xfd\x20" + bytes([5, 5 << 3 | 1, 0, 0]) + b"hello"
    for choice in range(3):
        for code in (
            gzip.compress(text, mtime=0),
            zlib.compress(text),
            zlib.compress(text)[2:-4],
            zstd,
        ):
            yield "decoders", bytes([choice, 7]) + code
        yield "decoders", bytes([128 + choice, 9]) + text


def dictionary():
    words = set(SYNTAX)
    for name in WORDS:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / name).read_text(), flags=re.S)
        words |= set(re.findall(r"[A-Za-z_][\w./{}-]{2,40}", text))
    document = json.loads((ROOT / "openapi.json").read_text())
    components = document.get("components", {})
    pending = [document.get("paths", {}), components]
    while pending:  # names and values of parameters
        at = pending.pop()
        if isinstance(at, dict):
            words |= {at["name"]} if isinstance(at.get("name"), str) else set()
            words |= {word for word in at.get("enum", []) if isinstance(word, str)}
            words |= set(at["properties"]) if isinstance(at.get("properties"), dict) else set()
        pending += at.values() if isinstance(at, dict) else at if isinstance(at, list) else []
    return sorted(word for word in words if len(word) <= 60)


def quoted(word):
    """As libFuzzer reads it: what is not plain as \\xNN."""
    plain = urllib.parse.quote_from_bytes(word.encode("latin-1"), safe=" !#$&'()*+,/:;<=>?@[]^`{|}")
    return '"' + plain.replace("%", "\\x") + '"'


def main(folder):
    made = {}
    for target, seed in [*seeds(requested.requests(requested.PARTS)), *more_seeds()]:
        if len(seed) <= SEED_MAX:
            made.setdefault(target, {})[seed] = None
    for target, unique in made.items():
        place = folder / "seeds" / target
        place.mkdir(parents=True, exist_ok=True)
        for index, seed in enumerate(unique):
            (place / f"{index:04}").write_bytes(seed)
    kinds, answered = set(), statuses()
    for index, request in enumerate(requested.requests(requested.PARTS)):
        kind = kind_of(request, answered[request.name])
        place = folder / ("requests" if kind in kinds else "kinds")
        place.mkdir(parents=True, exist_ok=True)
        kinds.add(kind)
        (place / f"{index:04}").write_bytes(text_of(request))
    (folder / "words.dict").write_text("".join(f"{quoted(word)}\n" for word in dictionary()))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
