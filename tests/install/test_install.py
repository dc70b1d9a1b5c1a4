# SPDX-License-Identifier: MIT
"""`make install` into a folder, and a program that is built against what lies there."""
import math
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("installed")
    run("make", "--no-print-directory", "install", f"DESTDIR={root}", "PREFIX=/usr", cwd=ROOT,
        env={**os.environ, "MAKEFLAGS": ""})
    return root


def test_files(tree):
    found = {str(p.relative_to(tree)) for p in tree.rglob("*") if not p.is_dir()}
    assert found == {
        "usr/bin/posencd",
        "usr/include/posenc/dtype.h", "usr/include/posenc/posenc.h", "usr/include/posenc/status.h",
        "usr/lib/libposenc.a", "usr/lib/libposenc.so", "usr/lib/libposenc.so.0",
        "usr/lib/libposenc.so.0.1.0", "usr/lib/pkgconfig/posenc.pc",
    }
    assert not (tree / "usr/bin/posencd").stat().st_mode & 0o022
    dynamic = run("readelf", "-d", tree / "usr/lib/libposenc.so").stdout
    assert "Library soname: [libposenc.so.0]" in dynamic


def flags(tree, *options):
    env = {**os.environ, "PKG_CONFIG_PATH": str(tree / "usr/lib/pkgconfig"),
           "PKG_CONFIG_SYSROOT_DIR": str(tree)}
    return run("pkg-config", *options, "posenc", env=env).stdout.split()


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_example(tree, tmp_path, static):
    program = tmp_path / "example"
    libraries = flags(tree, "--libs", "--static") if static else flags(tree, "--libs")
    if static:
        libraries = [str(tree / "usr/lib/libposenc.a") if flag == "-lposenc" else flag
                     for flag in libraries]
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *flags(tree, "--cflags"),
        ROOT / "tests/install/example.c", "-o", program, *libraries, "-lm")
    done = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(tree / "usr/lib")})
    first, second = done.stdout.splitlines()
    got = list(map(float, first.split()[1:]))
    cos, sin = math.cos(1), math.sin(1)
    slow_cos, slow_sin = math.cos(0.01), math.sin(0.01)
    want = [5 * cos - 7 * sin, 6 * slow_cos - 8 * slow_sin, 5 * sin + 7 * cos,
            6 * slow_sin + 8 * slow_cos]
    assert max(abs(a - b) for a, b in zip(got, want)) < 1e-6
    assert second == "there and back"
    needed = run("readelf", "-d", program).stdout
    assert ("libposenc.so.0" in needed) != static


def test_only_public_names_are_exported(tree):
    names = run("nm", "-D", "--defined-only", tree / "usr/lib/libposenc.so").stdout.split("\n")
    exported = {line.split()[2] for line in names if line}
    assert exported and all(name.startswith("pe_") for name in exported)


def test_uninstall(tree, tmp_path):
    env = {**os.environ, "MAKEFLAGS": ""}
    for target in ("install", "uninstall"):
        run("make", "--no-print-directory", target, f"DESTDIR={tmp_path}", "PREFIX=/opt/x",
            cwd=ROOT, env=env)
    assert not [p for p in tmp_path.rglob("*") if not p.is_dir()]
