# SPDX-License-Identifier: MIT
"""Configs of transformers' own classes, posted as they are; the answer's encoding rotates as the
model's code does, or the service says why not.

    build/parity/bin/python tests/parity/sweep.py [--all] [--badge] [MODEL_TYPE ...]

prints a row for each model type and layer type that is not right (--all: for each), and counts.
--badge: writes the counts into README.md."""

import collections
import functools
import json
import pathlib
import sys

import numpy

sys.path[:0] = [
    str(pathlib.Path(__file__).resolve().parents[1] / "integration"),
    str(pathlib.Path(__file__).resolve().parents[1]),
]

import models  # noqa: E402
import transformers  # noqa: E402
from transformers import PretrainedConfig  # noqa: E402

from service import post_json, post_tensors  # noqa: E402

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
POSITIONS = [0, 1, 2, 7, 100, 1023]
FAR = [4095, 100000]
RIGHT, UNTOLD, REFUSED, WRONG, OUTSIDE = (
    "right",
    "right, layout not told",
    "refused",
    "WRONG",
    "not walked",
)


def forms(config):
    """As to_dict() has it, and as a file has it: without what the class would say."""
    found = {
        "whole": json.loads(config.to_json_string(use_diff=False)),
        "raw": json.loads(config.to_json_string(use_diff=True)),
    }
    if (
        not isinstance(getattr(config, "text_config", None), PretrainedConfig)
        and config.model_type not in models.SWITCHED
    ):
        found["bare"] = {"model_type": config.model_type}
    return found


def positions_of(model):
    near = numpy.array(POSITIONS + FAR)
    rope = getattr(model.part, "rope_parameters", None) or {}
    rope = rope.get(model.layer_type, rope) if model.layer_type else rope
    kind = rope.get("rope_type", "default")
    if kind in ("dynamic", "longrope"):  # whose frequencies depend on the length
        near = near[near < rope.get("original_max_position_embeddings", 2048)]
    return models.points(model, near)


@functools.lru_cache(2)
def expected(model):
    """Positions, and [n, d, d]."""
    at = positions_of(model)
    return at, models.ordered(models.rotation(model, at))


def rotated(server, encoding, layout, at):
    """[n, d, d] of the service."""
    dim = encoding["dim"]
    parameters = {key: value for key, value in encoding.items() if key not in ("name", "layout")}
    x = numpy.broadcast_to(numpy.eye(dim, dtype=numpy.float32)[:, None], (dim, at.shape[-1], dim))
    tensors = {"q": x[None]}
    more = {"positions": at.tolist()} if at.ndim == 1 else {}
    if at.ndim > 1:
        tensors["positions"] = at if at.dtype.kind == "f" else at.astype(numpy.int64)
    q = post_tensors(
        server,
        "/v1/rotation",
        tensors,
        axes="bhsd",
        encoding=encoding["name"],
        layout=layout,
        **parameters,
        **more,
    )["q"][0]
    return q.transpose(1, 2, 0)


def agree(theirs, ours, at):
    """Theirs are float32 angles: off by a few of their last bits."""
    width = theirs.shape[-1]
    if width > ours.shape[-1]:
        return False
    whole = numpy.broadcast_to(numpy.eye(ours.shape[-1]), ours.shape).copy()
    whole[:, :width, :width] = theirs
    largest = numpy.abs(at) if at.ndim == 1 else numpy.abs(at).max(0)
    error = numpy.abs(whole - ours).max((1, 2))
    return bool((error <= 2e-5 + 4e-7 * largest).all())


def judge(server, model, config):
    """(verdict, words)"""
    answer = post_json(server, "/v1/config", {"config": config}, layer_type=model.layer_type)
    if answer.status == 422 and "leave layer_type out" in answer.json["detail"]:
        answer = post_json(server, "/v1/config", {"config": config})
    if answer.status != 200:
        return REFUSED, answer.json["detail"]
    encoding = answer.json["encoding"]
    at, theirs = expected(model)
    axes = {"rope": 1, "rope-2d": 2}.get(encoding["name"], len(encoding.get("mrope_section", [])))
    if axes != (1 if at.ndim == 1 else len(at)):
        return WRONG, f"read as {encoding['name']}; the code has positions {at.shape}"
    layouts = [encoding["layout"]] if "layout" in encoding else ["half", "interleaved"]
    for layout in layouts:
        if agree(theirs, rotated(server, encoding, layout, at), at):
            return (RIGHT if "layout" in encoding else UNTOLD), layout
    if answer.json["warnings"]:
        return WRONG, f"{brief(model, theirs, encoding)}; warns: {answer.json['warnings']}"
    return WRONG, brief(model, theirs, encoding)


def brief(model, theirs, encoding):
    turning = max(models.turning(matrix) for matrix in theirs)
    angle = numpy.arctan2(numpy.abs(theirs[1]).max(), 1)
    told = {key: value for key, value in encoding.items() if not isinstance(value, list)}
    return (
        f"the code turns {turning} elements, {models.layout(theirs[1]) or 'neither'} "
        f"({angle:.3f}); told {told}"
    )


def sweep(server, wanted=()):
    """Rows (name, form, verdict, words)."""
    problems = {}
    for model in models.models(problems, wanted):
        try:
            expected(model)
        except models.NotWalked as error:
            problems[model.name] = str(error)[:300]
            continue
        except Exception as error:  # of the model's code
            problems[model.name] = f"{models.FAILS}: {type(error).__name__}: {error}"[:300]
            continue
        for form, config in forms(model.config).items():
            try:
                verdict, words = judge(server, model, config)
            except Exception as error:
                verdict, words = OUTSIDE, f"{type(error).__name__}: {error}"[:200]
            yield model.name, form, verdict, words
    for model_type, reason in problems.items():
        yield model_type, "whole", OUTSIDE, reason


def badge(counts):
    """The line of README.md."""
    told = {verdict: counts["whole", verdict] for verdict in (RIGHT, WRONG, UNTOLD, REFUSED)}
    wrong = told[WRONG] + told[UNTOLD]
    return (
        f"**transformers {transformers.__version__}**: {told[RIGHT]} configs match "
        f"transformers exactly, {wrong} differ, {told[REFUSED]} are refused "
        "with the reason ([docs/configs.md](docs/configs.md))."
    )


def badge_write(counts):
    lines = README.read_text().splitlines(keepends=True)
    README.write_text(
        "".join(
            badge(counts) + "\n" if line.startswith("**transformers ") else line for line in lines
        )
    )


def main(arguments):
    import conftest  # the server of the tests

    server = conftest.start()
    counts = collections.Counter()
    try:
        for name, form, verdict, words in sweep(server, [a for a in arguments if a[0] != "-"]):
            counts[form, verdict] += 1
            if verdict != RIGHT or "--all" in arguments:
                print(f"{name:40} {form:6} {verdict:22} {words}", flush=True)
    finally:
        server.stop()
    for (form, verdict), count in sorted(counts.items()):
        print(form, verdict, count)
    if "--badge" in arguments:
        badge_write(counts)


if __name__ == "__main__":
    main(sys.argv[1:])
