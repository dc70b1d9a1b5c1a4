# SPDX-License-Identifier: MIT
"""Configs of timm: each architecture of its modules that rotate is read as its class rotates, in
float64, or refused; so it is with every argument of model_args changed."""

import collections
import inspect
import re

import numpy
import pytest
import timm
import timm_models
from timm.models import deepseek_vit, eva, naflexvit, qwen3_vit

from service import post_json, post_tensors

ROOT = timm_models.ROOT
ALL = timm_models.architectures()
# Architectures that are refused, and a part of the reason.
REFUSED = {
    r"gemma4_vit": "each half of a head",
    r"samvit": "learned biases",
    r"rope_mixed": "learned",
    r"^(eva_|eva02_enormous|naflexvit_)": "nothing rotates",
}


def config_of(name, **arguments):
    """As the files of timm's weights are, in what is about positions."""
    weights = timm.models.get_pretrained_cfg(name)
    kept = {"tag": weights.tag, "input_size": list(weights.input_size)}
    if weights.fixed_input_size:
        kept["fixed_input_size"] = True
    config = {"architecture": name, "num_classes": 0, "pretrained_cfg": kept}
    return config | ({"model_args": arguments} if arguments else {})


def read(server, config, grid=None):
    """The answer, with the size of the grid where it is asked for."""
    answer = post_json(server, "/v1/config", {"config": config})
    if answer.status == 422 and answer.json["code"] == "missing-parameter" and grid:
        sizes = grid[::-1] if "columns and rows" in answer.json["detail"] else grid
        asked = {"config": config, "axes_size": list(sizes)}
        answer = post_json(server, "/v1/config", asked)
    return answer


def difference(server, answer, measured):
    """Of the queries that an answer rotates and those of the model, over the largest of them."""
    plain, rotated, grid, before = measured
    encoding = dict(answer["encoding"])
    got = post_tensors(
        server,
        "/v1/rotation",
        {"q": plain[before:].numpy(), "positions": timm_models.places(answer, grid).numpy()},
        axes="shd",
        layout=encoding.pop("layout"),
        encoding=encoding.pop("name"),
        **encoding,
    )["q"]
    expected = rotated.numpy()
    assert got.dtype == numpy.float64
    assert (plain[:before].numpy() == expected[:before]).all()
    return numpy.abs(got - expected[before:]).max() / numpy.abs(expected).max()


# The angles are some hundred at most, and have some ten roundings to float64.
ALLOWED = 2**-42


def expected_refusal(name):
    return next((words for part, words in REFUSED.items() if re.search(part, name)), None)


@pytest.mark.parametrize("name", ALL)
def test_read_as_the_class(server, name):
    config = config_of(name)
    words = expected_refusal(name)
    if words:
        refused = read(server, config, timm_models.GRID)
        assert refused.status == 422 and refused.json["code"] == "unsupported"
        assert name in refused.json["detail"] and words in refused.json["detail"]
        return
    measured = timm_models.queries(config)
    answer = read(server, config, measured[2]).good().json
    assert (measured[0] - measured[1]).abs().max() > 0.1
    assert difference(server, answer, measured) < ALLOWED
    assert answer["attention"]["causal"] is False


# ---- arguments that are changed ----------------------------------------------------------------

# An architecture of each class and rope_type, with what makes it rotate.
KINDS = {
    "eva02_tiny_patch14_224": {},
    "vit_tiny_patch16_dinov3_qkvb": {},
    "vit_pe_core_tiny_patch16_384": {},
    "vit_small_patch16_rope_224": {},
    "vit_small_patch16_rope_mixed_224": {},
    "vit_medium_patch16_rope_reg1_gap_256": {"rope_type": "mrope"},
    "eva_giant_patch14_224": {"use_rot_pos_emb": True},
    "qwen3_vit_88m": {},
    "deepseek_vit_412m": {},
    "naflexvit_base_patch16_gap": {"rope_type": "axial"},
    "naflexvit_base_patch16_par_gap": {"rope_type": "dinov3", "rope_rotate_half": True},
    "naflexvit_base_patch16_map": {"rope_type": "mrope", "rope_mrope_section": [8, 12, 12]},
    "naflexvit_base_patch16_siglip": {"rope_type": "mixed"},
}
CHANGES = {
    "rope_temperature": [77, 100.5, None],
    "rope_grid_offset": [1, 0.5, -2, 0],
    "rope_grid_indexing": ["xy", "ij", "yx"],
    "rope_rotate_half": [True, False, None],
    "rope_type": ["cat", "axial", "dinov3", "mrope", "mixed", "base", "none", "", None],
    "rope_mrope_section": [[4, 6, 5], [12, 10, 10], [1, 30, 30], None, [8, 12]],
    "ref_feat_shape": [7, [9, 11], None],
    "rope_ref_feat_shape": [[9, 11], None],
    "use_rot_pos_emb": [True, False],
    "use_abs_pos_emb": [True, False],
    "pos_embed": ["none", "learned", "factorized"],
    "img_size": [224, [280, 140], 225],
    "patch_size": [28, [16, 8]],
    "dynamic_img_size": [True, False],
    "num_heads": [2, 5, 96],
    "embed_dim": [240, 192],
    "use_naflex": [True, False],
    "rope_theta": [7],
    "rope_scaling": [{"factor": 2}],
    "rope_jitter_coords": [1.5],
    "rope_shift_coords": [0.5],
}


# Architectures of which fewer changes are read than of others.
RIGHT = {
    "vit_small_patch16_rope_mixed_224": 1,
    "naflexvit_base_patch16_siglip": 1,
    "qwen3_vit_88m": 4,
    "deepseek_vit_412m": 4,
}


def measured_or_none(config, grid):
    """What a model of a config rotates; None: it cannot be made, or rotates nothing."""
    try:
        return timm_models.queries(config, grid)
    except Exception:  # of any kind: its code fails
        return None


def verdict(server, name, key, value):
    """Whether an answer is what the model of the config does."""
    config = config_of(name, **(KINDS[name] | {key: value}))
    grid = (4, 6)
    answer = read(server, config, grid)
    if answer.status == 422:
        return "refused"
    measured = measured_or_none(config, grid)
    words = answer.good().json["warnings"]
    if measured is None:
        return "warned" if any(key in warning for warning in words) else "WRONG: its code fails"
    far = difference(server, answer.json, measured)
    return "right" if far < ALLOWED else f"WRONG: {far} {answer.json['encoding']}"


@pytest.mark.parametrize("name", KINDS)
def test_changed_arguments(server, name):
    """None is silently read as another one."""
    verdicts = [
        (key, value, verdict(server, name, key, value))
        for key, values in CHANGES.items()
        for value in values
    ]
    counts = collections.Counter(how for _, _, how in verdicts)
    print(name, counts)
    assert not [one for one in verdicts if one[2].startswith("WRONG")]
    assert counts["right"] >= RIGHT.get(name, 12)


@pytest.mark.parametrize("name", KINDS)
def test_arguments_at_another_place(server, name):
    """timm reads none of these: the answer is the same, with a warning that names the key."""
    config = config_of(name, **KINDS[name])
    usual = read(server, config, timm_models.GRID)
    for key in ("rope_temperature", "rope_grid_indexing", "rope_type", "rope_theta"):
        moved = read(server, config | {key: CHANGES[key][0]}, timm_models.GRID)
        assert moved.status == usual.status
        if moved.status == 200:
            assert moved.json["encoding"] == usual.json["encoding"]
            assert any(key in words for words in moved.json["warnings"])


def test_the_count_in_the_documents():
    """Architectures that are compared, and those of the modules that can rotate."""
    compared = [name for name in ALL if not expected_refusal(name)]
    text = (ROOT / "docs/configs.md").read_text()
    said = re.search(r"Of the (\d+) architectures of these modules (\d+) are read", text)
    assert said and [int(n) for n in said.groups()] == [len(ALL), len(compared)]
    text = (ROOT / "CHANGELOG.md").read_text()
    said = re.search(r"by their `architecture`, (\d+) of them", text)
    assert said and int(said[1]) == len(compared)


def test_the_list_of_architectures():
    """Each of these modules has a row, and no other."""
    text = (ROOT / "core/config/timm.def").read_text()
    assert sorted(re.findall(r'TIMM_MODEL\("(\w+)"', text)) == sorted(ALL)


def test_other_architectures_are_refused(server):
    for name in ("resnet50", "vit_base_patch16_224", "swin_tiny_patch4_window7_224", "none_such"):
        refused = post_json(server, "/v1/config", {"config": {"architecture": name}})
        assert refused.status == 422 and refused.json["code"] == "unsupported"
        assert name in refused.json["detail"] and "pos_embed" in refused.json["detail"]


# ---- the arguments of the constructors ---------------------------------------------------------


def parameters(*classes):
    names = {name for of in classes for name in inspect.signature(of.__init__).parameters}
    return names - {"self", "cfg", "kwargs"}


@pytest.mark.parametrize("column, names", [
    (0, parameters(eva.Eva)),
    (1, parameters(naflexvit.NaFlexVit, naflexvit.NaFlexVitCfg)),
    (2, parameters(qwen3_vit.Qwen3VitEncoder, qwen3_vit.Qwen3VitClassifier,
                   deepseek_vit.DeepseekVitEncoder, deepseek_vit.DeepseekVitClassifier)),
])  # fmt: skip
def test_arguments_of_constructors(column, names):
    """What one class has and the list beside are arguments of the functions before it."""
    rows = re.findall(r"^TIMM_ARGUMENT\((\w+), (\w+), (\w+), (\w+)\)",
                      (ROOT / "core/config/timm_arguments.def").read_text(), re.M)  # fmt: skip
    listed = {name for name, *has in rows if has[column] == "true"}
    functions = {name for name, *has in rows if has == ["true"] * 3} | {"use_naflex"}
    assert names <= listed
    assert listed - names <= functions
