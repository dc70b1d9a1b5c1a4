# SPDX-License-Identifier: MIT
"""What is installed, what the library exports and needs, and how programs are linked with it."""

import pathlib
import re
import subprocess

import pytest
from installed import ROOT, make, run

UNIT = pathlib.Path("usr/lib/systemd/system/posencd.service")
HEADERS = sorted(path.name for path in (ROOT / "include/posenc").glob("*.h"))

# What ends a process, or changes it for all of its other parts.
NOT_FOR_LIBRARIES = {
    "abort",
    "exit",
    "_exit",
    "quick_exit",
    "__assert_fail",
    "raise",
    "kill",
    "signal",
    "sigaction",
    "setlocale",
    "setenv",
    "putenv",
    "unsetenv",
    "srand",
    "rand",
    "chdir",
    "umask",
    "fesetround",
    "fesetenv",
    "printf",
    "puts",
    "perror",
}

# Functions of libm with one right answer, which every machine gives: comparisons, whole numbers,
# exponents, and roots that are rounded correctly.
EXACT = {
    "ceil",
    "copysign",
    "fabs",
    "floor",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "frexp",
    "ldexp",
    "llrint",
    "llround",
    "lrint",
    "modf",
    "nearbyint",
    "nextafter",
    "remainder",
    "rint",
    "round",
    "sqrt",
    "sqrtf",
    "trunc",
}


def symbols(library, *options):
    listed = run("nm", "-D", *options, library).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in listed if line}


def test_files(tree):
    found = {str(path.relative_to(tree.root)) for path in tree.root.rglob("*") if not path.is_dir()}
    assert found == {
        "usr/bin/posencd",
        "usr/bin/posenc",
        "usr/share/man/man1/posenc.1",
        "usr/share/man/man8/posencd.8",
        str(UNIT),
        "usr/share/bash-completion/completions/posenc",
        *(f"usr/include/posenc/{name}" for name in HEADERS),
        *(
            f"usr/lib/{name}{end}"
            for name in ("libposenc", "libposenc-service")
            for end in (".a", ".so", ".so.0", ".so.0.1.0")
        ),
        "usr/lib/pkgconfig/posenc.pc",
        "usr/lib/pkgconfig/posenc-service.pc",
    }
    assert not (tree.root / "usr/bin/posencd").stat().st_mode & 0o022
    for library in (tree.library, tree.service):
        dynamic = run("readelf", "-d", library).stdout
        assert f"Library soname: [{library.name}.0]" in dynamic


def test_manual(tree):
    """Every flag of --help is in it, and roff has nothing to say about it."""
    page = tree.root / "usr/share/man/man8/posencd.8"
    told = run(tree.root / "usr/bin/posencd", "--help").stdout
    flags = re.findall(r"^  (--[a-z-]+)", told, re.M)
    assert len(flags) > 30
    assert not [flag for flag in flags if flag.replace("-", r"\-") not in page.read_text()]
    assert run("groff", "-man", "-ww", "-z", page).stderr == ""


def test_unit(tree):
    """An exposure of 2.0 at most, of 10."""
    run("systemd-analyze", "security", "--offline=yes", "--threshold=20", tree.root / UNIT)
    assert "ExecStart=/usr/bin/posencd\n" in (tree.root / UNIT).read_text()


def test_pkg_config(tree):
    version = re.search(r'PE_VERSION "(.*)"', (tree.headers / "common.h").read_text()).group(1)
    assert tree.flags("--modversion") == [version]
    assert tree.flags("--cflags") == [f"-I{tree.root}/usr/include"]
    assert tree.flags("--libs") == [f"-L{tree.root}/usr/lib", "-lposenc"]
    assert tree.flags("--libs", "--static")[1:] == ["-lposenc", "-lm", "-pthread"]
    shared = tree.flags("--libs", package="posenc-service")
    assert [flag for flag in shared if flag[:2] == "-l"] == ["-lposenc-service", "-lposenc"]
    static = tree.flags("--libs", "--static", package="posenc-service")
    assert {"-lposenc", "-ljansson", "-lm"} <= set(static)


def test_libraries_that_it_needs(tree):
    """Those of C alone: nothing of it can be missing, or end the process."""
    dynamic = run("readelf", "-d", tree.library).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\.so\.\d+\]", dynamic))
    assert "libc" in needed <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}


def test_libm_gives_it_nothing_that_differs(tree):
    """Logarithms, powers and sines have other last digits in other C libraries."""
    libm = re.search(r"libm\S* => (\S+)", run("ldd", tree.library).stdout).group(1)
    functions = symbols(libm, "--defined-only")
    assert {"sin", "pow", "sqrt"} <= functions
    for library in (tree.library, tree.service):
        taken = symbols(library, "--undefined-only") & functions
        assert taken <= EXACT, taken - EXACT
    assert "sqrt" in symbols(tree.library, "--undefined-only")


def declared(tree, service=False):
    """The functions behind PE_API, with comments left out: service.h is of a library of its own."""
    text = "".join(
        path.read_text()
        for path in sorted(tree.headers.glob("*.h"))
        if (path.name == "service.h") == service
    )
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r"^PE_API\s[^;(]*?(\w+)\(", text, re.M)


def test_exports_are_the_declarations(tree):
    names = declared(tree)
    assert len(names) == len(set(names)) > 100
    assert symbols(tree.library, "--defined-only") == set(names)
    assert symbols(tree.service, "--defined-only") == set(declared(tree, service=True))


def test_every_function_is_called_with_wrong_arguments(tree):
    """By programs that run under sanitizers too: those of the fixture of public calls."""
    texts = [path.read_text() for path in (ROOT / "tests/core").rglob("test_*.c")]
    texts = [text for text in texts if '"tests/core/public_fixture.h"' in text]
    texts.append((ROOT / "tests/api/test_library.c").read_text())
    called = set(re.findall(r"\b(pe_\w+)\(", "".join(texts)))
    assert not {*declared(tree), *declared(tree, service=True)} - called


def test_a_host_stays_as_it_is(tree):
    assert not symbols(tree.library, "--undefined-only") & NOT_FOR_LIBRARIES
    # Assertions hold for any request, fuzzing looks for one that fails; scan.c sets the rounding
    # of its thread back again.
    assert symbols(tree.service, "--undefined-only") & NOT_FOR_LIBRARIES <= {
        "__assert_fail",
        "fesetround",
    }


def test_a_host_has_a_jansson_of_its_own(tree, tmp_path):
    """Trees from before the service, and texts that are given to free(): allocators stay apart."""
    program = tree.build(
        ROOT / "tests/install/jansson_host.c", tmp_path / "host", package="posenc-service jansson"
    )
    assert tree.run(program).stdout == '{"x": [1, 2], "status": 200}\n'


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_linking(tree, tmp_path, static):
    program = tree.build(ROOT / "examples/rotation.c", tmp_path / "rotation", static)
    done = tree.run(program, cwd=tmp_path)
    assert "back again, but for at most 4.76837e-07" in done.stdout
    assert ("libposenc.so.0" in run("readelf", "-d", program).stdout) != static


def test_linking_cpp(tree, tmp_path):
    source = tmp_path / "program.cc"
    source.write_text(
        "#include <complex>\n#include <posenc/posenc.h>\n#include <cstdio>\n"
        "int main() { return std::puts(pe_version()) < 0; }\n"
    )
    program = tree.build(source, tmp_path / "program", compiler=("g++", "-std=c++17"))
    assert tree.run(program).stdout == "0.1.0\n"


def run_in_locale(tree, program, folder, point):
    """What it prints, with points."""
    (folder / "source").write_text(
        f'LC_NUMERIC\ndecimal_point "{point}"\nthousands_sep ""\n'
        "grouping -1\nEND LC_NUMERIC\n"
        'LC_CTYPE\ncopy "POSIX"\nEND LC_CTYPE\n'
    )
    # It warns of the categories that are not there.
    subprocess.run(
        ["localedef", "-c", "-i", folder / "source", folder / "comma"], capture_output=True
    )
    text = tree.run(program, env={"LOCPATH": str(folder)}).stdout
    assert text.startswith(f"0{point}5\n")
    return text.replace(",", ".").splitlines()


def test_locale_of_the_host(tree, tmp_path):
    """A program in whose locale the decimal point is a comma reads and finds the same numbers."""
    program = tree.build(ROOT / "tests/install/locale.c", tmp_path / "locale")
    usual, comma = (run_in_locale(tree, program, tmp_path, point) for point in ".,")
    assert comma == usual and len(usual) > 4
    assert list(map(float.fromhex, usual[1].split())) == [1234.5, 2.5]


def test_uninstall(tmp_path):
    for target in ("install", "uninstall"):
        make(target, tmp_path, "/opt/x")
    assert not [path for path in tmp_path.rglob("*") if not path.is_dir()]
    assert not (tmp_path / "opt/x/include/posenc").exists()
