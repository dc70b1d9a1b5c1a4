# SPDX-License-Identifier: MIT
"""vLLM with flags of its command, with the driver of vLLM: {"config", "flags"} in place of a
config."""

import vllm_driver
from serving import serve
from vllm.engine.arg_utils import EngineArgs
from vllm.utils.argparse_utils import FlexibleArgumentParser


def with_flags(make, flags):
    """ModelConfig, with what vLLM's own parser makes of the flags."""
    parsed = EngineArgs.add_cli_args(FlexibleArgumentParser()).parse_args(flags)
    given = {"hf_overrides": parsed.hf_overrides, "max_model_len": parsed.max_model_len}
    return lambda **more: make(**more | given)


def measure(given, lengths):
    make = vllm_driver.ModelConfig
    vllm_driver.ModelConfig = with_flags(make, given["flags"])
    try:
        return vllm_driver.measure(given["config"], lengths)
    finally:
        vllm_driver.ModelConfig = make


if __name__ == "__main__":
    vllm_driver.prepare()
    serve(measure)
