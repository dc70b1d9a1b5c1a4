# SPDX-License-Identifier: MIT
"""What posenc reads of a config: the kinds of its layers, each with its frequencies. The library
is build/libposenc-service.so, by the Python package of this tree."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

from posenc import _library  # noqa: E402

_library.LIBRARY = ROOT / "build/libposenc-service.so.0"

import posenc  # noqa: E402

OF_LENGTH = ("dynamic", "longrope")  # rope types whose frequencies depend on the length
CONTEXT = 4096  # where the config has none


class NotARow(Exception):
    """posenc refuses the config, or it has no positions along one axis that rotate."""


def rotary(encoding):
    return bool(encoding) and encoding["name"] in ("rope", "mrope")


def read(config):
    try:
        report = posenc.config(config)
    except posenc.Refused as error:
        raise NotARow(str(error)) from error
    report = json.loads(json.dumps(report, default=str))
    found = [kind["encoding"] for kind in report.get("layers") or [report]]
    if not any(map(rotary, found)) or not all(e is None or rotary(e) for e in found):
        raise NotARow("no rotation along one axis")
    return report


def kinds_of(report):
    return [kind for kind in report.get("layers") or [report] if not linear(kind)]


def linear(kind):
    """A layer without attention."""
    return kind["encoding"] is None and kind.get("attention", False) is None


def lengths(report):
    """Of the sequences to measure: the context, and the length where the frequencies change."""
    encodings = [kind["encoding"] for kind in kinds_of(report) if kind["encoding"]]
    contexts = {int(e["max_position_embeddings"]) for e in encodings if has_context(e)}
    longest = max(contexts, default=CONTEXT)
    changes = {
        int(e.get("original_max_position_embeddings") or longest)
        for e in encodings
        if e.get("rope_type") == "longrope"
    }
    return sorted({longest} | changes)


def has_context(encoding):
    return bool(encoding.get("max_position_embeddings"))


def frequencies(encoding, length):
    parameters = {k: v for k, v in encoding.items() if k not in ("name", "layout", "arithmetic")}
    if parameters.get("rope_type") in OF_LENGTH:
        parameters["seq_len"] = length
    found = posenc.frequencies(encoding["name"], dtype="f64", **parameters)
    return [float(f) for f in found.inv_freq], float(found.info.get("attention_factor", 1))


def pairs(encoding, count):
    """Which elements are paired; None where posenc does not say."""
    layout = encoding.get("layout")
    if layout == "interleaved":
        return [[2 * i, 2 * i + 1] for i in range(count)]
    return [[i, i + count] for i in range(count)] if layout == "half" else None


def rotation(encoding, length):
    found, factor = frequencies(encoding, length)
    return {"frequencies": found, "factor": factor, "pairs": pairs(encoding, len(found))}


def kinds(report, at):
    """A kind: {layer_type, layers, rotation by length, scale}."""
    return [
        {
            "layer_type": kind.get("layer_type"),
            "layers": kind.get("layers"),
            "encoding": kind["encoding"],
            "rotation": kind["encoding"]
            and {str(length): rotation(kind["encoding"], length) for length in at},
            "scale": (kind.get("attention") or {}).get("scale"),
        }
        for kind in kinds_of(report)
    ]
