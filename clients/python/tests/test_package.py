# SPDX-License-Identifier: MIT
"""The package as it is installed: types, examples, files."""

import doctest
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import xml.etree.ElementTree

import posenc
import pytest
from conftest import ROOT

PAGES = ("README.md", "docs/python.md", "clients/python/README.md")
MODULES = [
    importlib.import_module(f"posenc.{found.name}")
    for found in pkgutil.iter_modules(posenc.__path__)
]

# manylinux has a list of libraries that every system has; these are of it.
OF_EVERY_SYSTEM = re.compile(r"(libc|libm|libz|ld-linux[\w-]*)\.so\.\d")


def test_types_are_strict():
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", ROOT / "build/mypy"],
        cwd=ROOT / "clients/python",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert pathlib.Path(posenc.__file__).with_name("py.typed").is_file()


def test_the_examples_of_functions_run():
    """module=False: public classes say that they are of `posenc`, wherever they stand."""
    finder, ran = doctest.DocTestFinder(recurse=True), 0
    for module in MODULES:
        objects = [
            value
            for value in vars(module).values()
            if getattr(value, "__module__", None) in (module.__name__, "posenc")
        ]
        for value in objects:
            for test in finder.find(
                value, getattr(value, "__name__", "?"), module=False, globs=dict(vars(module))
            ):
                result = doctest.DocTestRunner().run(test)
                assert result.failed == 0, test.name
                ran += result.attempted
    assert ran > 30


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_pages_run(page, url, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(
        '{"model_type": "llama", "head_dim": 128, "rope_theta": 500000}'
    )
    monkeypatch.chdir(tmp_path)
    text = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S))
    text = text.replace("http://127.0.0.1:8080", url)
    test = doctest.DocTestParser().get_doctest(text, {}, page, None, 0)
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0 and result.attempted >= 3


def test_the_cells_of_the_notebook_run(capsys):
    """In order, each printing what stands below it; its picture is one."""
    cells, names = json.loads((ROOT / "docs/examples/notebook.ipynb").read_text())["cells"], {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            printed = "".join(line for out in cell["outputs"] for line in out["text"])
            assert capsys.readouterr().out == printed
    drawn = xml.etree.ElementTree.fromstring(names["picture"]._repr_svg_())
    assert drawn.tag.endswith("svg") and "sinusoidal" in "".join(drawn.itertext())


def test_every_function_is_public_and_documented():
    functions = [name for name, value in vars(posenc.Local).items() if callable(value)]
    functions += [name for kind in posenc.Local.__mro__ for name in vars(kind)]
    for name in {name for name in functions if not name.startswith("_")}:
        assert name in posenc.__all__ and getattr(posenc, name).__doc__
    assert all(hasattr(posenc, name) for name in posenc.__all__)


def test_the_command_is_the_program(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama", "head_dim": 128}')
    asked = [pathlib.Path(sys.prefix, "bin/posenc"), "config", tmp_path / "config.json"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert (
        done.stdout
        == posenc.request("POST", "/v1/config", b'{"model_type": "llama", "head_dim": 128}').text
        and done.returncode == 0
    )
    assert subprocess.run([*asked, "no=1"], capture_output=True).returncode != 0


def test_the_version_is_that_of_the_library():
    version = posenc.request("GET", "/v1").json()["version"]
    assert version == posenc.__version__ == importlib.metadata.version("posenc")


def test_a_source_distribution_has_all_that_make_needs(tmp_path):
    """Nothing is compiled: make says what it would do, and what it has no rule for."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT / "clients/python", check=True, capture_output=True)
    subprocess.run(["tar", "xzf", next(tmp_path.glob("*.tar.gz"))], cwd=tmp_path, check=True)
    native = next(tmp_path.glob("posenc-*/native"))
    done = subprocess.run(
        ["make", "-n", "python-files", "BUILD=build"],
        cwd=native,
        capture_output=True,
        text=True,
        env=os.environ | {"MAKEFLAGS": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (native.parent / "src/posenc/_lib").exists()


def test_the_licence_is_in_it():
    texts = [
        file.read_text() for file in importlib.metadata.files("posenc") if file.name == "LICENSE"
    ]
    assert texts == [(ROOT / "LICENSE").read_text()]


def test_the_wheel_needs_the_c_library_alone():
    """The others are inside of it, and no folder of the machine is searched for them."""
    files = [pathlib.Path(file.locate()) for file in importlib.metadata.files("posenc")]
    libraries = [file for file in files if ".so" in file.name]
    assert any("site-packages" in str(file) for file in libraries), "it is installed by the suite"
    tags = re.findall(
        "^Tag: (.*)$", importlib.metadata.distribution("posenc").read_text("WHEEL"), re.M
    )
    assert tags and all(re.fullmatch(r"py3-none-manylinux_2_\d+_\w+", tag) for tag in tags)
    inside = {file.name for file in libraries}
    for file in libraries:
        told = subprocess.run(["readelf", "-d", file], capture_output=True, text=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
        paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", told)
        outside = [name for name in needed - inside if not OF_EVERY_SYSTEM.match(name)]
        assert not outside, (file, outside)
        assert all(path.startswith("$ORIGIN") for one in paths for path in one.split(":"))
