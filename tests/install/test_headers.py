# SPDX-License-Identifier: MIT
"""The installed headers in the programs of others: each alone, and all of them behind the headers
of the system, in every standard and with warnings that a strict house has."""

import subprocess

import pytest
from installed import ROOT, WARNINGS, clang

HEADERS = sorted(path.name for path in (ROOT / "include/posenc").glob("*.h"))

# complex.h defines I and complex, sys/param.h MIN and MAX, math.h y0 and gamma.
C_SYSTEM = [
    "complex.h",
    "ctype.h",
    "errno.h",
    "fenv.h",
    "float.h",
    "inttypes.h",
    "limits.h",
    "locale.h",
    "math.h",
    "pthread.h",
    "setjmp.h",
    "signal.h",
    "stdalign.h",
    "stdarg.h",
    "stdatomic.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "stdnoreturn.h",
    "string.h",
    "strings.h",
    "sys/param.h",
    "sys/socket.h",
    "sys/types.h",
    "tgmath.h",
    "threads.h",
    "time.h",
    "unistd.h",
    "wchar.h",
]
CPP_SYSTEM = [
    "algorithm",
    "atomic",
    "cmath",
    "complex",
    "cstdint",
    "cstdio",
    "limits",
    "string",
    "vector",
    "complex.h",
    "math.h",
    "pthread.h",
    "stdio.h",
    "sys/param.h",
    "unistd.h",
]

C_STANDARDS = ["c11", "gnu11", "c17", "c2x"]
CPP_STANDARDS = ["c++17", "c++20"]
COMPILERS = [
    *(("gcc", std) for std in C_STANDARDS),
    *(("clang", std) for std in C_STANDARDS),
    *(("g++", std) for std in CPP_STANDARDS),
    *(("clang++", std) for std in CPP_STANDARDS),
]


def includes(names, folder=""):
    return "".join(f"#include <{folder}{name}>\n" for name in names)


@pytest.mark.parametrize("compiler,standard", COMPILERS, ids=lambda part: part)
def test_headers_compile(tree, compiler, standard):
    program = clang(compiler) if compiler.startswith("clang") else compiler
    assert program, f"tools/setup test brings {compiler}"
    is_cpp = compiler.endswith("++")
    system = includes(CPP_SYSTEM if is_cpp else C_SYSTEM)
    mine = includes(HEADERS, "posenc/")
    sources = [*(includes([name], "posenc/") for name in HEADERS), system + mine, mine + system]
    for source in sources:
        done = subprocess.run(
            [
                program,
                f"-std={standard}",
                *WARNINGS,
                *tree.flags("--cflags"),
                "-fsyntax-only",
                "-x",
                "c++" if is_cpp else "c",
                "-",
            ],
            input=source + "int declared;\n",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{source}{done.stderr[:3000]}"


def test_posenc_h_includes_all(tree):
    """But service.h, which is of another library."""
    text = (tree.headers / "posenc.h").read_text()
    assert [name for name in HEADERS if f'#include "posenc/{name}"' not in text] == [
        "posenc.h",
        "service.h",
    ]
