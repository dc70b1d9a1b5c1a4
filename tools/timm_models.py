#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the architectures of the installed timm whose class can rotate, and writes their rows
into core/config/timm.def.

    build/diffusers/bin/python tools/timm_models.py [--check]

Each architecture is called with a function in place of the one that builds its model: the
arguments are those of the class, with the defaults of its constructor. Architectures of other
classes have no row, and their configs are refused. --check: writes nothing, exit code 1 where a row
would change. Run it, then clang-format."""

import dataclasses
import inspect
import pathlib
import sys
import unittest.mock

import timm
from timm.models import eva, naflexvit

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "core/config/timm.def"
NOTES = {"gemma4_vit": "HALF_HEADS", "vision_transformer_sam": "IN_WINDOWS"}
FLOATS = ("embed_dim", "num_heads", "patch_size", "rope_temperature", "rope_grid_offset",
          "ref_feat_shape")  # fmt: skip
SWITCHES = ("dynamic_img_size", "use_rot_pos_emb", "use_abs_pos_emb", "rope_rotate_half")


class Built(Exception):
    """The arguments of a class, instead of its model."""


def take(cls, variant, pretrained, **arguments):
    raise Built(cls, arguments)


def arguments_of(name):
    """(class, arguments) of an architecture; None: it is built in another way."""
    call = timm.models._registry._model_entrypoints[name]
    module = sys.modules[call.__module__]
    with unittest.mock.patch.multiple(module, build_model_with_cfg=take):
        with unittest.mock.patch.multiple(naflexvit, build_model_with_cfg=take):
            try:
                call()
            except Built as built:
                return built.args
    raise AssertionError(name)


def defaults(cls):
    if cls is naflexvit.NaFlexVit:
        return dataclasses.asdict(naflexvit.NaFlexVitCfg())
    return {
        name: p.default
        for name, p in inspect.signature(cls.__init__).parameters.items()
        if p.default is not inspect.Parameter.empty
    }


def one(value):
    """A size of which both sides are alike."""
    if isinstance(value, list | tuple):
        assert len(set(value)) == 1, value
        return value[0]
    return value


def of_eva(given):
    merged = defaults(eva.Eva) | given
    section = merged.pop("rope_mrope_section")
    row = merged | {"img_size": given.get("img_size", 0), "rope_mrope_section": section}
    return "PE_TIMM_EVA", row


def of_naflex(given):
    cfg = given.pop("cfg", None)
    merged = defaults(naflexvit.NaFlexVit) | (dataclasses.asdict(cfg) if cfg else {}) | given
    merged["use_abs_pos_emb"] = merged["pos_embed"] not in ("", "none", None)
    merged["ref_feat_shape"] = merged["rope_ref_feat_shape"]
    merged["img_size"] = 0
    return "PE_TIMM_NAFLEX", merged


def of_tower(cls, given):
    merged = defaults(cls) | given
    named = {"embed_dim": merged["embed_dim"], "num_heads": merged["num_heads"]}
    named["rope_temperature"] = merged["rope_temperature"]
    named["use_abs_pos_emb"] = cls.__name__.startswith("Qwen")
    return "PE_TIMM_AXIAL", named


def members(of, row):
    written = [f".of = {of}"]
    for key in FLOATS:
        value = one(row.get(key))
        if value:
            written.append(f".{key} = {value:g}")
    if row.get("img_size"):
        size = row["img_size"]
        height, width = size if isinstance(size, list | tuple) else (size, size)
        written.append(f".img_size = {{{height}, {width}}}")
    written += [f".{key} = true" for key in SWITCHES if row.get(key)]
    if row.get("rope_grid_indexing") == "xy":
        written.append(".xy = true")
    if row.get("rope_type") and row["rope_type"] != "none" and of != "PE_TIMM_AXIAL":
        written.append(f'.rope_type = "{row["rope_type"]}"')
    if row.get("rope_mrope_section"):
        numbers = ", ".join(f"{n:g}" for n in row["rope_mrope_section"])
        written.append(f".rope_mrope_section = {{{numbers}}}")
    return ", ".join(written)


def row_of(name):
    """The members of a row; None: the class of the architecture rotates nothing."""
    module = timm.models._registry._model_to_module[name]
    if module in NOTES:
        return f".note = {NOTES[module]}"
    cls, given = arguments_of(name)
    given = {key: value for key, value in given.items() if key not in ("feature_cfg",)}
    if module == "eva":
        return members(*of_eva(given))
    if module == "naflexvit":
        return members(*of_naflex(given))
    return members(*of_tower(cls, given))


ROTATING = ("deepseek_vit", "eva", "gemma4_vit", "naflexvit", "qwen3_vit", "vision_transformer_sam")


def names():
    """Of the modules that can rotate."""
    return [name for module in ROTATING for name in sorted(timm.list_models(module=module))]


def text():
    """The head of the file as it is, and its rows."""
    head = FILE.read_text().partition('TIMM_MODEL("')[0]
    rows = [f'TIMM_MODEL("{name}", {row_of(name)})' for name in names()]
    return head + "\n".join(rows) + "\n\n#undef TIMM_MODEL\n"


def without_spaces(source):
    return "".join(source.replace("\\\n", "").split())


def main():
    made = text()
    if "--check" in sys.argv:
        return without_spaces(made) != without_spaces(FILE.read_text())
    FILE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
