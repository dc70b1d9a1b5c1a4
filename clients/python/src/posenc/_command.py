# SPDX-License-Identifier: MIT
"""The command `posenc`: a program beside the library, which takes this process's place."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).with_name("_lib") / "posenc"
    os.execv(program, ["posenc", *sys.argv[1:]])
