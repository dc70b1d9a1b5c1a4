# SPDX-License-Identifier: MIT
"""transformers: the rotary class that the model makes of the config, and the function with which
its attention applies it, found as the parity tests find them (tests/parity)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/parity"))

import finding
import models
import numpy
import rotation
from serving import Absent, Unmeasured, serve
from transformers import CONFIG_MAPPING


def rotary(part):
    try:
        found = finding.rotary_of(part)
    except finding.NotWalked as error:
        raise Unmeasured(str(error)) from error
    if not found:
        raise Unmeasured("no rotary class")
    return found


def of_text(model, at):
    """Positions of text: the same in each coordinate."""
    axes = models.axes_of(model)
    return numpy.asarray(at) if axes == 1 else numpy.stack([numpy.asarray(at)] * axes)


def described(config, part, layer_type, lengths):
    found = {}
    for length in lengths:
        model = models.Model(config.model_type, config, part, *rotary(part), layer_type)
        at = rotation.positions(length)
        try:
            matrices = models.rotation(model, of_text(model, at))
        except finding.NotWalked as error:
            raise Unmeasured(str(error)) from error
        found[str(length)] = rotation.read(matrices, at)
    return found


def decoded(value):
    """As from_json_file reads it: numbers that JSON does not have are objects."""
    if isinstance(value, dict):
        return (
            float(value["__float__"])
            if set(value) == {"__float__"}
            else {key: decoded(inner) for key, inner in value.items()}
        )
    return [decoded(inner) for inner in value] if isinstance(value, list) else value


def measure(config, lengths):
    model_type = config.get("model_type")
    if model_type not in CONFIG_MAPPING:
        raise Absent(f"Unrecognized model type {model_type}")
    made = CONFIG_MAPPING[model_type].from_dict(decoded(config))
    part = finding.part_about_text(made)
    return [
        {"layer_type": kind, "rotation": described(made, part, kind, lengths)}
        for kind in finding.layer_types(rotary(part)[0], part)
    ]


if __name__ == "__main__":
    serve(measure)
