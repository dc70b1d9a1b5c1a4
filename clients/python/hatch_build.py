# SPDX-License-Identifier: MIT
"""Builds the library with the Makefile of the repository and puts it into the package."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def sources(root):
    """The folder with the Makefile: the repository's, or what a source distribution has of it."""
    for folder in (root / "native", root.parent.parent):
        if (folder / "Makefile").is_file() and (folder / "core").is_dir():
            return folder
    raise FileNotFoundError(f"neither {root}/native nor {root.parent.parent} has the sources")


class Libraries(BuildHookInterface):
    def initialize(self, version, build_data):
        root = pathlib.Path(self.root)
        native = sources(root)
        jobs = f"-j{len(os.sched_getaffinity(0))}"
        subprocess.run(
            ["make", "--no-print-directory", jobs, "python-files"],
            cwd=native,
            check=True,
            stdout=sys.stderr,
            env={**os.environ, "BUILD": "build", "MAKEFLAGS": ""},
        )
        target = root / "src/posenc/_lib"
        target.mkdir(exist_ok=True)
        for name in (native / "build/python-files").read_text().split():
            # A new file takes the old one's place: a process may have that open.
            shutil.copy2(native / "build" / name, target / f"{name}.new")
            (target / f"{name}.new").replace(target / name)
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
