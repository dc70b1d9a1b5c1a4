# SPDX-License-Identifier: MIT
"""transformers whose YaRN lost a key, with the driver of transformers: `truncate` is not read."""

import copy

import transformers_driver
from serving import serve
from transformers import modeling_rope_utils

TYPES = modeling_rope_utils.ROPE_INIT_FUNCTIONS
yarn = TYPES["yarn"]


def yarn_without_truncate(config, *given, **more):
    left = copy.deepcopy(config)
    ropes = [left.rope_parameters, *left.rope_parameters.values()]
    for rope in ropes:
        if isinstance(rope, dict):
            rope.pop("truncate", None)
    return yarn(left, *given, **more)


if __name__ == "__main__":
    TYPES["yarn"] = yarn_without_truncate
    serve(transformers_driver.measure)
