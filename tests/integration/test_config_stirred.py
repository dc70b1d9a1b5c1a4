# SPDX-License-Identifier: MIT
"""Configs as published with one key stirred: renamed, moved into another object, doubled, set to
the other truth. A key that bears on positions is never lost without a word: the answer changes,
warns or refuses."""

import copy
import json
import pathlib
import re

import pytest

from service import post_json

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "configs"
CONFIGS = {
    path.stem: json.loads(path.read_text())["config"] for path in sorted(FOLDER.glob("*.json"))
}
POSITIONS = re.compile(
    r"rope|rotary|alibi|yarn|theta|nope|(^|_)position(_|s_|al)|2d|relative|xpos|"
    r"logn|ntk|mscale|beta_(fast|slow)|(short|long|freq|attention)_factor"
)
# They speak of positions and change none: lengths of contexts and of tables, the width of the part
# that does not turn, a key that the code of bloom no longer reads.
OTHERS = re.compile(r"max_position_embeddings|offset_alibi|qk_nope|num_position")
PARTS = re.compile(r"^(vision|visual|audio|image|speech)")


def is_part(key, value):
    """A tower, which has an answer of its own."""
    return isinstance(value, dict) and bool(PARTS.match(key))


def places(config, path=()):
    """Every key, with the path of the object that it lies in."""
    for key, value in config.items():
        if is_part(key, value):
            continue
        yield path, key, value
        if isinstance(value, dict):
            yield from places(value, (*path, key))


def stirred(config, path, change):
    whole = copy.deepcopy(config)
    inner = whole
    for key in path:
        inner = inner[key]
    change(inner)
    return whole


def rename(inner, key):
    inner["x_" + key] = inner.pop(key)


def nest(inner, key):
    inner["stirred"] = {key: inner.pop(key)}


def twist(inner, key):
    """The double, or the other truth."""
    value = inner[key]
    inner[key] = not value if isinstance(value, bool) else value * 2


def told(server, config):
    """Whatever an answer says of positions and attention, warnings and refusals included."""
    answer = post_json(server, "/v1/config", {"config": config}).json
    layers = [
        {
            key: row.get(key)
            for key in ("encoding", "attention", "reason", "warnings", "layer_type", "layers")
        }
        for row in answer.get("layers", ())
    ]
    return [answer.get(key) for key in ("encoding", "attention", "warnings", "detail")], layers


def warnings_of(answer):
    top, layers = answer
    return [*(top[2] or []), *(text for row in layers for text in row["warnings"] or ())]


def is_given(value):
    return value is not None and value != -1 and value != {} and value != []


@pytest.mark.parametrize("name", CONFIGS)
def test_no_key_is_lost(server, name):
    config = CONFIGS[name]
    before = told(server, config)
    for path, key, value in places(config):
        if not POSITIONS.search(key) or OTHERS.search(key) or not is_given(value):
            continue
        if key == "position_embedding_type" and value == "absolute":
            continue  # of files of an older default, whatever the model
        for change in (rename, nest):
            after = told(server, stirred(config, path, lambda inner: change(inner, key)))
            assert after != before, f"{change.__name__} {'.'.join((*path, key))} has no effect"


@pytest.mark.parametrize("name", CONFIGS)
def test_values_count(server, name):
    """What counts when it is taken away counts when it is another value too."""
    config = CONFIGS[name]
    before = told(server, config)
    warned = warnings_of(before)
    for path, key, value in places(config):
        if (
            not isinstance(value, (bool, int, float))
            or not is_given(value)
            or (value == 0 and value is not False)
        ):
            continue
        if key in ("num_hidden_layers", "patch_size") or any(key in text for text in warned):
            continue  # beside a list of layers, or the sign of a tower
        gone = told(server, stirred(config, path, lambda inner: inner.pop(key)))
        if gone == before:
            continue
        after = told(server, stirred(config, path, lambda inner: twist(inner, key)))
        assert after != before, f"another value of {'.'.join((*path, key))} has no effect"


@pytest.mark.parametrize("name", CONFIGS)
def test_a_key_of_another_model(server, name):
    """Wherever it is put, a key that speaks of positions and that nothing reads is named."""
    config = CONFIGS[name]
    if told(server, config)[0][0] is None:
        return  # refused as it is
    text = next((key for key in ("text_config",) if key in config), None)
    for key, value in (
        ("use_2d_rope", True),
        ("ropeTheta", 7),
        ("alibi_slope_scale", 2.5),
        ("positional_bias", {"type": "linear"}),
        ("yarn_beta", 0.5),
    ):
        for path in ((), (text,) if text else ()):
            posted = stirred(config, path, lambda inner: inner.update({key: value}))
            assert any(key in warning for warning in warnings_of(told(server, posted))), (key, path)
        posted = {**config, "other": [{"inner": {key: value}}]}
        assert any(key in warning for warning in warnings_of(told(server, posted))), key
