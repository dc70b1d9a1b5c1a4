# SPDX-License-Identifier: MIT
"""The config file of each class of transformers that rotates, with its keys about rotation changed
to values that no class has, in the form of transformers 4 and of 5: what posenc reads beside what
the class makes of the same file.

    build/parity/bin/python tests/parity/changed_keys.py [MODEL_TYPE ...]

prints a row of JSON for each reading that is not right. The library is build/libposenc-service.so.
"""

import copy
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/engines"), str(ROOT / "tests/parity")]

import expected  # noqa: E402
import finding  # noqa: E402
import models  # noqa: E402
import numpy  # noqa: E402
import transformers  # noqa: E402
from forms import OLD  # noqa: E402

posenc = expected.posenc
RIGHT, WARNED, REFUSED, WRONG, FAILS = "right", "warned", "refused", "WRONG", "its class fails"
POSITIONS = [0, 1, 2, 7, 100, 1023]
LONGEST = POSITIONS[-1] + 1
THETA, OTHER, ORIGINAL = 777.0, 555.0, 1024
PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "vlm_config", "decoder")
KEPT = ("mrope_section", "mrope_interleaved")  # without which some classes cannot be made
STRAY = {
    "rotary_emb_base": OTHER,
    "rotary_embedding_base": OTHER,
    "global_rope_theta": OTHER,
    "local_rope_theta": OTHER,
    "rope_local_base_freq": OTHER,
    "rotary_pct": 0.5,
    "rotary_dim": 16,
}
YARN = {"rope_type": "yarn", "factor": 8.0, "beta_fast": 16.0, "beta_slow": 2.0}
LENGTH = {"original_max_position_embeddings": ORIGINAL}
MOVED = ("linear", "yarn, no length")  # whose keys are put elsewhere too
LLAMA = {"rope_type": "llama3", "factor": 5.0, "low_freq_factor": 1.5, "high_freq_factor": 5.0}


class ClassFails(Exception):
    """The class of transformers refuses a config, or its code fails on it."""


# ---- changes ------------------------------------------------------------------------------------


def scalings(pairs):
    """Rope objects, each with parameters that no class has."""
    longrope = {
        "rope_type": "longrope",
        "long_factor": [2.0 + pair / 4 for pair in range(pairs)],
        "short_factor": [1.0 + pair / 64 for pair in range(pairs)],
    }
    return {
        "linear": {"rope_type": "linear", "factor": 3.0},
        "dynamic": {"rope_type": "dynamic", "factor": 3.0},
        "yarn": YARN | LENGTH,
        "yarn, truncate": YARN | LENGTH | {"truncate": False},
        "yarn, mscale": YARN | LENGTH | {"mscale": 0.7, "mscale_all_dim": 1.1},
        "yarn, attention_factor": YARN | LENGTH | {"attention_factor": 1.5},
        "yarn, betas": {"rope_type": "yarn", "factor": 8.0} | LENGTH,
        "yarn, no length": YARN,
        "llama3": LLAMA | LENGTH,
        "llama3, no length": LLAMA,
        "longrope": longrope | LENGTH,
        "longrope, factor": longrope | LENGTH | {"factor": 6.0},
        "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
    }


def text_of(config):
    for name in PARTS:
        if isinstance(config.get(name), dict) and config[name]:
            return text_of(config[name])
    return config


class File:
    """The config file of a class, which each change is made of."""

    def __init__(self, raw, pairs):
        self.raw, self.scalings = raw, scalings(pairs)
        self.rope = text_of(raw).get("rope_parameters") or {}
        self.objects = {key: at for key, at in self.rope.items() if isinstance(at, dict)}
        self.kept = {} if self.objects else {k: self.rope[k] for k in KEPT if k in self.rope}

    def changed(self, *, strip=True, outer=None, **keys):
        config = copy.deepcopy(self.raw)
        text = text_of(config)
        for key in (*OLD, "rope_parameters") if strip else ():
            text.pop(key, None)
        text.update(copy.deepcopy(keys))
        config.update(copy.deepcopy(outer or {}))
        return config


def old_form(file):
    """rope_theta and partial_rotary_factor beside rope_scaling."""
    yield "nothing", file.changed()
    yield "rope_theta", file.changed(rope_theta=THETA)
    yield "rope_theta, no scaling", file.changed(rope_theta=THETA, rope_scaling=None)
    yield "partial", file.changed(rope_theta=THETA, partial_rotary_factor=0.5)
    yield "partial alone", file.changed(partial_rotary_factor=0.5)
    for key, value in STRAY.items():
        yield key, file.changed(rope_theta=THETA, **{key: value})
    for name, scaling in file.scalings.items():
        rope = file.kept | scaling
        other = {"type" if key == "rope_type" else key: value for key, value in rope.items()}
        yield name, file.changed(rope_theta=THETA, rope_scaling=rope)
        if name not in MOVED:
            continue
        yield f"{name}, by type", file.changed(rope_theta=THETA, rope_scaling=other)
        yield f"{name}, no base", file.changed(rope_scaling=rope)
        yield f"{name}, base within", file.changed(rope_scaling=rope | {"rope_theta": THETA})
        yield (
            f"{name}, base in both",
            file.changed(rope_theta=OTHER, rope_scaling=rope | {"rope_theta": THETA}),
        )
        yield (
            f"{name}, partial",
            file.changed(rope_theta=THETA, partial_rotary_factor=0.5, rope_scaling=rope),
        )
        yield (
            f"{name}, length beside",
            file.changed(
                rope_theta=THETA, rope_scaling=rope, original_max_position_embeddings=ORIGINAL // 2
            ),
        )


def new_form(file):
    """All of it in rope_parameters, or some of it beside."""
    plain = file.kept | {"rope_type": "default"}
    based = plain | {"rope_theta": THETA}
    yield "rope_theta", file.changed(rope_parameters=based)
    yield "no rope_type", file.changed(rope_parameters=file.kept | {"rope_theta": THETA})
    yield "no rope_theta", file.changed(rope_parameters=plain)
    yield "empty", file.changed(rope_parameters={})
    yield "null", file.changed(rope_parameters=None)
    yield "null and rope_theta", file.changed(rope_parameters=None, rope_theta=THETA)
    yield "empty and rope_theta", file.changed(rope_parameters={}, rope_theta=THETA)
    yield "rope_theta beside", file.changed(rope_parameters=plain, rope_theta=THETA)
    yield "rope_theta in both", file.changed(rope_parameters=based, rope_theta=OTHER)
    yield "partial", file.changed(rope_parameters=based | {"partial_rotary_factor": 0.5})
    yield "partial beside", file.changed(rope_parameters=based, partial_rotary_factor=0.5)
    for key, value in STRAY.items():
        yield f"{key} beside", file.changed(rope_parameters=based, **{key: value})
        yield f"{key} within", file.changed(rope_parameters=based | {key: value})
    for name, scaling in file.scalings.items():
        rope = file.kept | scaling
        yield name, file.changed(rope_parameters=rope | {"rope_theta": THETA})
        if name not in MOVED:
            continue
        yield f"{name}, no base", file.changed(rope_parameters=rope)
        yield f"{name}, base beside", file.changed(rope_parameters=rope, rope_theta=THETA)
        yield (
            f"{name}, partial",
            file.changed(
                rope_parameters={"partial_rotary_factor": 0.5} | rope | {"rope_theta": THETA}
            ),
        )
        yield (
            f"{name}, length beside",
            file.changed(
                rope_parameters=rope | {"rope_theta": THETA},
                original_max_position_embeddings=ORIGINAL // 2,
            ),
        )
        yield f"{name} in rope_scaling", file.changed(rope_parameters=based, rope_scaling=scaling)


def own_keys(file):
    """One key beside all others of the class."""
    for key, value in {"rope_theta": THETA, "partial_rotary_factor": 0.5}.items():
        yield f"{key} beside", file.changed(strip=False, **{key: value})
        if file.rope and not file.objects:
            rope = file.rope | {key: value}
            yield f"{key} within", file.changed(strip=False, rope_parameters=rope)


def by_type(file):
    """A rope object for each type of layer, one of them changed."""
    types = sorted(file.objects) or sorted(
        {name for name in text_of(file.raw).get("layer_types") or [] if "attention" in name}
    )
    usual = {"rope_type": "default", "rope_theta": 10000.0}
    default = {"rope_type": "default"}
    changes = {name: at | {"rope_theta": THETA} for name, at in file.scalings.items()} | {
        "rope_theta": default | {"rope_theta": THETA},
        "no rope_theta": default,
        "linear, no base": file.scalings["linear"],
        "partial": default | {"rope_theta": THETA, "partial_rotary_factor": 0.5},
        "null": None,
    }
    for changed in types:
        rest = {name: file.objects.get(name) or usual for name in types if name != changed}
        yield f"{changed}: absent", file.changed(rope_parameters=rest)
        for name, at in changes.items():
            rope = rest | {changed: at}
            yield f"{changed}: {name}", file.changed(rope_parameters=rope)
            if name in file.scalings and name not in MOVED:
                continue
            for key, value in {
                "rope_theta": OTHER,
                "partial_rotary_factor": 0.5,
                "original_max_position_embeddings": ORIGINAL // 2,
            }.items():
                config = file.changed(rope_parameters=rope, **{key: value})
                yield f"{changed}: {name}, {key} beside", config


def sizes(file):
    text = text_of(file.raw)
    dynamic = {"rope_theta": THETA, "rope_scaling": file.kept | file.scalings["dynamic"]}
    heads = text.get("num_attention_heads")
    changes = {"head_dim": 48, "max_position_embeddings": 777}
    if isinstance(heads, int) and heads > 1:
        changes["num_attention_heads"] = heads // 2
    for key, value in changes.items():
        yield key, file.changed(strip=False, **{key: value})
        yield f"{key}, dynamic", file.changed(**dynamic, **{key: value})


def at_the_top(file):
    """Keys beside the part about text."""
    if text_of(file.raw) is not file.raw:
        yield "rope_theta", file.changed(outer={"rope_theta": THETA})
        yield "rope_scaling", file.changed(outer={"rope_scaling": file.scalings["linear"]})
        rope = {"rope_type": "default", "rope_theta": THETA}
        yield "rope_parameters", file.changed(outer={"rope_parameters": rope})


KINDS = {
    "4": old_form,
    "5": new_form,
    "own": own_keys,
    "types": by_type,
    "sizes": sizes,
    "top": at_the_top,
}


def changes(raw, pairs):
    """(name, config)"""
    file = File(raw, pairs)
    for kind, changes_of in KINDS.items():
        for name, config in changes_of(file):
            yield f"{kind}: {name}", config


# ---- what the class makes of a file -------------------------------------------------------------


def decoded(value):
    """As from_json_file reads it: numbers that JSON does not have are objects."""
    if isinstance(value, dict):
        number = value.get("__float__") if len(value) == 1 else None
        return float(number) if number else {key: decoded(at) for key, at in value.items()}
    return [decoded(at) for at in value] if isinstance(value, list) else value


def rotations(cls, config):
    """By type of layer: the positions, and [n, d, d] of the class."""
    try:
        made = cls.from_dict(decoded(config))
        part = finding.part_about_text(made)
        found = finding.rotary_of(part)
        result = {}
        for layer in finding.layer_types(found[0], part) if found else []:
            model = models.Model(made.model_type, made, part, *finding.rotary_of(part), layer)
            at = models.points(model, numpy.array(POSITIONS))
            result[layer] = at, models.ordered(models.rotation(model, at))
        return result
    except Exception as error:  # of any kind: the class's
        raise ClassFails(f"{type(error).__name__}: {error}"[:200]) from error


# ---- what posenc reads --------------------------------------------------------------------------


def report_of(config, layer):
    """posenc's, of layers of a type where these differ."""
    try:
        report = posenc.config(config, **({"layer_type": layer} if layer else {}))
    except posenc.Refused as error:
        if "leave layer_type out" not in str(error):
            raise
        report = posenc.config(config)
    return json.loads(json.dumps(report, default=str))


def rotated(encoding, layout, at):
    """[n, d, d] of posenc."""
    given = {key: value for key, value in encoding.items() if key not in ("layout", "arithmetic")}
    if given.get("rope_type") in expected.OF_LENGTH:
        given["seq_len"] = LONGEST
    dim, positions = int(given["dim"]), at if at.dtype.kind == "f" else at.astype(numpy.int64)
    units = numpy.eye(dim, dtype=numpy.float32)[None, :, None].repeat(at.shape[-1], 2)
    name = given.pop("name")
    answer = posenc.rotate(name, q=units, positions=positions, layout=layout, axes="bhsd", **given)
    return numpy.asarray(answer.q)[0].transpose(1, 2, 0)


def axes_of(encoding):
    return {"rope": 1, "rope-2d": 2}.get(encoding["name"], len(encoding.get("mrope_section", [])))


def names_changed(before, after):
    """Keys with another value, at any depth."""
    found = set()
    for key in set(before) | set(after):
        old, new = before.get(key), after.get(key)
        if old != new:
            found.add(key)
        if old != new and isinstance(new, dict):
            found |= names_changed(old if isinstance(old, dict) else {}, new)
    return found - set(PARTS) - {"rope_type"}


def judge(raw, config, layer, at, theirs, agree):
    """(verdict, words). A warning counts that names a key that was changed."""
    try:
        report = report_of(config, layer)
    except posenc.Refused as error:
        return REFUSED, str(error)
    encoding, warnings = report["encoding"], report["warnings"]
    if axes_of(encoding) == (1 if at.ndim == 1 else len(at)):
        layouts = [encoding["layout"]] if "layout" in encoding else ["half", "interleaved"]
        if any(agree(theirs, rotated(encoding, layout, at), at) for layout in layouts):
            return RIGHT, ""
    told = [text for text in warnings if any(key in text for key in names_changed(raw, config))]
    return (WARNED if told else WRONG), f"{encoding}; {warnings}"


def sweep(agree, wanted=()):
    """Rows (model_type, type of layer, change, verdict, words)."""
    for name, cls in finding.config_classes(wanted).items():
        try:
            config = cls(**finding.SWITCHED.get(name, {}))
            raw = json.loads(config.to_json_string(use_diff=True))
            own = rotations(cls, raw) if config.model_type else {}
        except Exception:  # classes without a default config, of which sweep.py says why
            continue
        if not own:
            continue
        pairs = max(models.turning(matrices[-1]) for _, matrices in own.values()) // 2
        for change, changed in changes(raw, pairs):
            try:
                found = rotations(cls, changed)
            except ClassFails as error:
                yield name, None, change, FAILS, str(error)
                continue
            for layer, (at, theirs) in found.items():
                yield name, layer, change, *judge(raw, changed, layer, at, theirs, agree)


if __name__ == "__main__":
    import sweep as of_classes

    transformers.logging.set_verbosity_error()
    for row in sweep(of_classes.agree, sys.argv[1:]):
        if row[3] in (WRONG, WARNED):
            print(json.dumps(row), flush=True)
