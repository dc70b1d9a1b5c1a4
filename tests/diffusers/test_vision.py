# SPDX-License-Identifier: MIT
"""Vision models of transformers whose positions are learned: each is refused with what its weights
have, and its class, made without memory, has such a table or such biases and no rotation."""

import importlib
import inspect
import re

import pytest
import timm_models
import torch
import transformers
from transformers import CONFIG_MAPPING, PreTrainedModel

from service import post_json

ROWS = dict(
    re.findall(
        r'^MODEL_TYPE\("([^"]+)", \.note = (PATCHES|PATCH_BIASES|PATCHES_AND_BIASES)\)$',
        (timm_models.ROOT / "core/config/model_types.def").read_text(),
        re.M,
    )
)
TABLE = re.compile(r"(^|\.)(position_embeddings?(\.weight)?|pos_embed|positional_embedding)$")
BIASES = re.compile(r"rel_pos_h|relative_position_bias_table|attention_biases")
EXPECTED = {
    "PATCHES": ("a learned table of patches, which", True, False),
    "PATCH_BIASES": ("learned biases of each pair of patches", False, True),
    "PATCHES_AND_BIASES": ("a learned table of patches and learned biases", True, True),
}


def makers(config):
    """The classes of models that a config is the config of."""
    name = type(config).__module__.replace("configuration_", "modeling_")
    module = importlib.import_module(name)
    for cls in vars(module).values():
        if (
            inspect.isclass(cls)
            and issubclass(cls, PreTrainedModel)
            and cls.__module__ == name
            and cls.config_class is type(config)
        ):
            yield cls


def numbers_of(config):
    """The names of the parameters and buffers of the first model that has some for positions."""
    for cls in makers(config):
        try:
            with torch.device("meta"):
                model = cls(config)
        except Exception:  # a base class, or a part that is made in another way
            continue
        names = [name for name, _ in [*model.named_parameters(), *model.named_buffers()]]
        if any(TABLE.search(name) or BIASES.search(name) for name in names):
            return names
    return []


@pytest.mark.parametrize("name", sorted(ROWS))
def test_learned_positions(server, name):
    words, table, biases = EXPECTED[ROWS[name]]
    transformers.logging.set_verbosity_error()
    config = CONFIG_MAPPING[name]()
    names = numbers_of(config)
    assert any(TABLE.search(one) for one in names) == table
    assert any(BIASES.search(one) for one in names) == biases
    assert not any("inv_freq" in one or "rope" in one for one in names)
    for posted in (config.to_dict(), {"model_type": name}):
        refused = post_json(server, "/v1/config", {"config": posted})
        assert refused.status == 422 and refused.json["code"] == "unsupported"
        assert refused.json["detail"].startswith(f"{name}: ") and words in refused.json["detail"]


def test_the_list_of_models():
    assert len(ROWS) >= 70
    text = (timm_models.ROOT / "docs/configs.md").read_text()
    said = re.search(r"(\d+) vision models whose positions are learned", text)
    assert said and int(said[1]) == len(ROWS)
