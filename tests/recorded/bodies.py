# SPDX-License-Identifier: MIT
"""Tensors and the bodies that carry them, byte by byte from here: what a new numpy or safetensors
writes differently must not look like a change of the service."""

import base64
import json
import random
import struct

JSON, NPY = "application/json", "application/x-npy"
SAFETENSORS, RAW = "application/x-safetensors", "application/octet-stream"
CODES = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i"}
NPY_CODES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i64": "<i8", "i32": "<i4"}
# What is hard to read or to print: subnormals, halves, many digits, the largest.
ODD_NUMBERS = [
    0.1,
    -0.0,
    1 / 3,
    1e-40,
    5e-324,
    65504.0,
    65519.0,
    3.4e38,
    1e23,
    9007199254740993.0,
    2.5,
    -1e-7,
    16777217.0,
    0.30000001192092896,
    123456.789,
    -7.0,
]


def count(shape):
    total = 1
    for size in shape:
        total *= size
    return total


def tensor(seed, *shape, dtype="f32"):
    """Multiples of 1/64 in [-2, 2): every floating dtype holds them as they are."""
    draw = random.Random(seed)
    return {
        "dtype": dtype,
        "shape": list(shape),
        "values": [draw.randrange(-128, 128) / 64 for _ in range(count(shape))],
    }


def numbers(values, *shape, dtype="f32"):
    return {"dtype": dtype, "shape": list(shape) or [len(values)], "values": list(values)}


def element_bytes(one):
    values, dtype = one["values"], one["dtype"]
    if dtype == "bf16":  # the upper half of an f32
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{CODES[dtype]}", *values)


def nested(values, shape):
    if len(shape) <= 1:
        return values
    step = len(values) // shape[0] if shape[0] else 0
    return [nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def in_json(one, form="nested"):
    told = {"dtype": one["dtype"], "shape": one["shape"]}
    if form == "base64":
        return told | {"base64": base64.b64encode(element_bytes(one)).decode()}
    data = one["values"] if form == "flat" else nested(one["values"], one["shape"])
    return told | {"data": data}


def json_bytes(parameters, tensors=None, form="nested"):
    body = dict(parameters)
    if tensors is not None:
        body["tensors"] = {name: in_json(one, form) for name, one in tensors.items()}
    return json.dumps(body, separators=(",", ":")).encode()


def safetensors_bytes(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, one in tensors.items():
        part = element_bytes(one)
        header[name] = {
            "dtype": one["dtype"].upper(),
            "shape": one["shape"],
            "data_offsets": [len(data), len(data) + len(part)],
        }
        data += part
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def npy_bytes(one):
    shape = "(" + "".join(f"{size}, " for size in one["shape"]) + ")"
    text = f"{{'descr': '{NPY_CODES[one['dtype']]}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + element_bytes(one)


def raw_headers(one):
    return {
        "Content-Type": RAW,
        "Tensor-Dtype": one["dtype"],
        "Tensor-Shape": ",".join(map(str, one["shape"])),
    }
