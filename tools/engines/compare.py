# SPDX-License-Identifier: MIT
"""What an engine rotates beside what posenc reads: None where they are the same, or a finding."""

import pathlib
import re

import numpy
import rotation

CLOSE = 1e-5  # relative, of frequencies and factors: readings are compared, not rounding
LIST = pathlib.Path(__file__).resolve().parents[2] / "core/engines/codes.def"
CODES = dict(re.findall(r'^CODE\("([^"]+)", +"([^"]+)"\)', LIST.read_text(), re.M))


def geometric(values):
    """(base, factor) where they are base^(-i/n) / factor; None: they are not."""
    values = numpy.asarray(values)
    if len(values) < 3 or (values <= 0).any():
        return None
    steps = numpy.diff(numpy.log(values))
    if numpy.abs(steps - steps.mean()).max() > 1e-3 * max(abs(steps.mean()), 1e-9):
        return None
    return float(numpy.exp(-steps.mean() * len(values))), float(1 / values[0])


def rounded(value):
    return float(f"{value:.3g}")


def moving(found):
    """(pairs, frequencies) without pairs that stand still, by first element."""
    pairs = found["pairs"] or [None] * len(found["frequencies"])
    kept = [(p, f) for p, f in zip(pairs, found["frequencies"]) if f]
    kept.sort(key=lambda row: row[0] or [0])
    return [p for p, _ in kept], numpy.array([f for _, f in kept])


def frequencies_named(ours, theirs, encoding):
    """(code, what the engine reads) of frequencies that differ."""
    base, own = encoding.get("base", 10000), geometric(theirs)
    if numpy.allclose(-theirs, ours, rtol=CLOSE, atol=0):
        return "direction", {}
    if own is None:
        return "scaling", {}
    same_base = abs(own[0] / base - 1) < 1e-2
    scaled = encoding.get("rope_type", "default") != "default"
    reads = {"base": rounded(own[0])}
    if abs(own[1] - 1) > 1e-3:
        reads["factor"] = rounded(own[1])
    if scaled and "factor" not in reads:
        return ("scaling-ignored" if same_base else "base-and-scaling"), reads
    return ("scaling" if same_base else "base"), reads


def rotations(ours, theirs, encoding, length, permuted):
    """A finding of two rotations, or None."""
    our_pairs, our_frequencies = moving(ours)
    their_pairs, their_frequencies = moving(theirs)
    if len(our_frequencies) != len(their_frequencies):
        reads = {"elements": 2 * len(their_frequencies)}
        return {"code": "width", "expected": 2 * len(our_frequencies), "reads": reads}
    if permuted:
        order = numpy.argsort(-their_frequencies, kind="stable")
        their_frequencies = their_frequencies[order]
        our_frequencies = our_frequencies[numpy.argsort(-our_frequencies, kind="stable")]
    error = numpy.abs(our_frequencies - their_frequencies)
    wrong = error > CLOSE * numpy.maximum(our_frequencies, numpy.abs(their_frequencies))
    if wrong.any():
        code, reads = frequencies_named(our_frequencies, their_frequencies, encoding)
        return {
            "code": code,
            "pairs": int(wrong.sum()),
            "of": len(wrong),
            "radians": rounded(float(error.max()) * (length - 1)),
            "at": length - 1,
            "reads": reads,
        }
    if ours["pairs"] is not None and not permuted and our_pairs != their_pairs:
        return {"code": "layout", "reads": {"layout": rotation.layout(their_pairs)}}
    return None


def scales(ours, theirs, their_scale, our_scale):
    """A finding of factor and softmax scale: a score depends on their product alone."""
    factor = theirs["factor"] / ours["factor"]
    scale = their_scale / our_scale if their_scale and our_scale else 1
    if abs(factor**2 * scale - 1) <= 4 * CLOSE:
        return None
    code = "attention-factor" if abs(factor - 1) > CLOSE else "softmax-scale"
    return {"code": code, "reads": {"times": rounded(factor if factor != 1 else scale)}}


def kinds(ours, theirs, permuted=False):
    """A finding of one kind of layer."""
    if ours["rotation"] is None or theirs["rotation"] is None:
        if ours["rotation"] is None and theirs["rotation"] is None:
            return None
        return {"code": "not-rotated" if ours["rotation"] else "rotated"}
    for length, found in sorted(ours["rotation"].items(), key=lambda item: -int(item[0])):
        other = theirs["rotation"].get(length)
        if other is None:
            continue
        finding = rotations(found, other, ours["encoding"], int(length), permuted)
        more = scales(found, other, theirs.get("scale"), ours["scale"])
        if finding and more:
            finding["also"] = more["code"]
        if finding or more:
            return (finding or more) | (
                {"length": int(length)} if len(ours["rotation"]) > 1 else {}
            )
    return None


def matching(kind, theirs):
    """The engine's kinds that a kind of posenc's is to be compared with."""
    named = [other for other in theirs if other.get("layer_type") is not None]
    if named:
        wanted = kind["layer_type"]
        return [o for o in named if o["layer_type"] == wanted] or ([] if wanted else named[:1])
    if kind["layers"] is None or any(other.get("layers") is None for other in theirs):
        return theirs
    mine = set(kind["layers"])
    return [other for other in theirs if mine & set(other["layers"])]


def models(ours, theirs, permuted=False):
    """The finding of a model, and how many layers it holds for; None: they are the same."""
    findings = []
    for kind in ours:
        for other in matching(kind, theirs):
            seen = other.get("layers") is not None and not other.get("of_modules")
            if kind["rotation"] is None and not seen:
                continue  # the driver does not see which layers call what they have
            finding = kinds(kind, other, permuted or other.get("permuted", False))
            if finding:
                both = other.get("layers") and kind["layers"]
                layers = set(kind["layers"]) & set(other["layers"]) if both else kind["layers"]
                count = {"layers": len(layers)} if layers else {}
                where = {"layer_type": kind["layer_type"]} if len(ours) > 1 else {}
                findings.append(finding | where | count)
    return max(findings, key=lambda f: (f.get("radians", 0), f.get("layers", 0)), default=None)
