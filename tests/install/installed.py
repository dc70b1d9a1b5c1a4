# SPDX-License-Identifier: MIT
"""`make install` into a folder, and programs that are built against nothing but what lies there."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wcast-qual", "-Wshadow", "-pedantic", "-Werror"]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done


def make(target, root, prefix):
    run(
        "make",
        "--no-print-directory",
        target,
        f"DESTDIR={root}",
        f"PREFIX={prefix}",
        cwd=ROOT,
        env={**os.environ, "MAKEFLAGS": ""},
    )


def clang(name):
    """clang or clang++, under whatever version it is installed; None: it is not."""
    found = [shutil.which(name), *sorted(pathlib.Path("/usr/bin").glob(f"{name}-[0-9]*"))]
    return next((str(path) for path in found if path), None)


class Tree:
    """What an installation left behind."""

    def __init__(self, root):
        self.root = root
        self.headers = root / "usr/include/posenc"
        self.library = root / "usr/lib/libposenc.so"
        self.service = root / "usr/lib/libposenc-service.so"

    def flags(self, *options, package="posenc"):
        env = {
            **os.environ,
            "PKG_CONFIG_PATH": str(self.root / "usr/lib/pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": str(self.root),
        }
        return run("pkg-config", *options, *package.split(), env=env).stdout.split()

    def build(self, source, program, static=False, compiler=("gcc", "-std=c11"), package="posenc"):
        """Compiles and links as pkg-config says."""
        kind = ["--static"] if static else []
        libraries = self.flags("--libs", *kind, package=package)
        if static:
            libraries = [
                str(self.root / f"usr/lib/lib{flag[2:]}.a") if flag.startswith("-lposenc") else flag
                for flag in libraries
            ]
        run(
            *compiler,
            *WARNINGS,
            *self.flags("--cflags", package=package),
            source,
            "-o",
            program,
            *libraries,
            "-lm",
        )
        return program

    def run(self, program, *arguments, env=None, **options):
        return run(
            program,
            *arguments,
            **options,
            env={**os.environ, "LD_LIBRARY_PATH": str(self.root / "usr/lib"), **(env or {})},
        )
