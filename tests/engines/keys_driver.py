# SPDX-License-Identifier: MIT
"""The keys that llama.cpp's conversion writes for a config, without the name of its architecture,
with the driver of llama.cpp."""

import llama_cpp_driver
from gguf import GGUFReader
from serving import serve


def keys(config, lengths):
    fields = GGUFReader(llama_cpp_driver.converted(config)).fields
    values = {name: field.contents() for name, field in fields.items() if name[:4] != "GGUF"}
    return {name.split(".", 1)[-1]: value for name, value in values.items()}


if __name__ == "__main__":
    llama_cpp_driver.prepare()
    serve(keys)
