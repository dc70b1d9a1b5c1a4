# SPDX-License-Identifier: MIT
"""The package as it is installed: types, examples, files."""

import base64
import doctest
import importlib.metadata
import importlib.util
import inspect
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
from conftest import ROOT, servers

PAGES = ("README.md", "docs/python.md", "clients/python/README.md")
MODULES = [
    importlib.import_module(f"posenc.{found.name}")
    for found in pkgutil.iter_modules(posenc.__path__)
]

# manylinux has a list of libraries that every system has; these are of it.
OF_EVERY_SYSTEM = re.compile(r"(libc|libm|libz|ld-linux[\w-]*)\.so\.\d")


def mypy(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", ROOT / "build/mypy", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_types_are_strict():
    done = mypy(ROOT / "clients/python")
    assert done.returncode == 0, done.stdout + done.stderr
    assert pathlib.Path(posenc.__file__).with_name("py.typed").is_file()


PROGRAM = """
from typing import Any, assert_type

import numpy as np
import posenc
from numpy.typing import NDArray
from posenc import Audit, Probe, Report, Tensor, Tensors


def tables(name: str, config: dict[str, Any]) -> NDArray[Any]:
    cos, sin = posenc.table("rope", dim=8, length=5)
    assert_type(cos, NDArray[Any])
    cos, sin = posenc.table(config=config, length=5)
    table = posenc.table("sinusoidal", dim=8, length=5)
    assert_type(table, Tensor)
    assert_type(posenc.table("rope", dim=8, length=5), Tensors)
    assert_type(posenc.table("rope", dim=8, length=5, part="cos"), Tensor | Tensors)
    assert_type(posenc.table(name, dim=8), Tensor | Tensors)
    assert_type(posenc.frequencies(name, dim=8), Tensors)
    assert_type(posenc.bias("alibi", heads=2), Tensors)
    assert_type(posenc.bias("t5", query_length=3), Tensor)
    assert_type(posenc.view(name, "similarity", length=3), Tensor)
    assert_type(posenc.view(name, "decay", max_offset=3), Tensors)
    assert_type(posenc.view(name, name), Tensor | Tensors)
    assert_type(posenc.rotate(name, q=cos), Tensors)
    assert_type(posenc.config(config), Report)
    print(table.names, table.encoding["dim"], table["table"].shape, table.table.shape)
    found = posenc.table(name, dim=8)
    print(found.names, found.encoding, found.warnings, found.info, found.as_dict().keys())
    table.plot().set_title("a title")
    posenc.table("rope", dim=8, length=5).plot()[0].set_title("a title")
    posenc.table(name, dim="wide")  # type: ignore[call-overload]
    product: NDArray[Any] = table @ np.ones((8, 2), np.float32) + table[0, 1]
    return product


async def remote(name: str) -> None:
    async with posenc.connect_async("http://127.0.0.1:8080") as server:
        assert_type(await server.table("sinusoidal", dim=8, length=5), Tensor)
        cos, sin = await server.table("rope", dim=8, length=5)
        cos, sin = await server.table(config={}, length=5)
        assert_type(await server.diagnose(inv_freq=[1, 0.01]), Report)
        assert_type(await server.probe(lambda x, at: x, name, dim=8), Probe)
        assert_type(await server.audit(object()), Audit)
    with posenc.connect("http://127.0.0.1:8080") as there:
        assert_type(there.table("sinusoidal", dim=8, length=5), Tensor)
        cos, sin = there.table(config={}, length=5)
"""


def test_types_of_a_program_that_uses_it(tmp_path):
    """Of the package as it is installed; a comment against an error that is none is one too."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = mypy(tmp_path, "--strict", "program.py")
    assert done.returncode == 0, done.stdout + done.stderr


def examples_of(module):
    """(name, test) of each docstring. module=False: public classes say that they are of `posenc`,
    wherever they stand."""
    finder = doctest.DocTestFinder(recurse=True, exclude_empty=False)
    for value in vars(module).values():
        if getattr(value, "__module__", None) in (module.__name__, "posenc"):
            name = getattr(value, "__name__", "?")
            yield from finder.find(value, name, module=False, globs=dict(vars(module)))


def test_the_examples_of_functions_run(url):
    ran = 0
    for module in MODULES:
        for test in examples_of(module):
            for example in test.examples:
                example.source = example.source.replace("http://127.0.0.1:8080", url)
                example.want = example.want.replace("http://127.0.0.1:8080", url)
            result = doctest.DocTestRunner().run(test)
            assert result.failed == 0, test.name
            ran += result.attempted
    assert ran > 100


def test_every_public_name_has_an_example():
    """Functions, classes, and what classes have beside the functions."""
    for name in posenc.__all__:
        value = getattr(posenc, name)
        own = vars(value) if inspect.isclass(value) else {}
        members = {
            key: one.fget if isinstance(one, property) else one
            for key, one in own.items()
            if not key.startswith("_")
        }
        for key, one in {name: value, **members}.items():
            overridden = key == "as_dict"  # documented where it is declared
            if callable(one) and not overridden:
                assert ">>> " in (one.__doc__ or ""), (name, key)


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


@pytest.fixture
def storing_url(tmp_path):
    """A server that stores tables; its token is the one of the examples."""
    (tmp_path / "tokens").write_text(servers.TOKEN + "\n")
    (tmp_path / "tables").mkdir()
    running = servers.start("--tables", tmp_path / "tables", "--token-file", tmp_path / "tokens")
    yield running.url
    servers.finish(running)


def test_the_blocks_of_the_cookbook_run(storing_url, tmp_path, monkeypatch, capsys):
    """Those of Python, one after the other, each printing what stands below it."""
    page = (ROOT / "docs/cookbook.md").read_text()
    (tmp_path / "config.json").write_text(
        re.search(r"^cat >config.json <<'END'\n(.*?)^END$", page, re.M | re.S)[1]
    )
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$(?:\n```text\n(.*?)^```$)?", page, re.M | re.S)
    assert len([code for code, _ in blocks if "import posenc" in code]) >= 20
    for code, expected in blocks:
        exec(code.replace("http://127.0.0.1:8080", storing_url), {})
        assert capsys.readouterr().out == expected, code


def test_the_cells_of_the_notebook_run(capsys):
    """In order, each printing what stands below it; its picture is one, and its report has a
    verdict."""
    cells, names = json.loads((ROOT / "docs/examples/notebook.ipynb").read_text())["cells"], {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            printed = "".join(line for out in cell["outputs"] for line in out["text"])
            assert capsys.readouterr().out == printed
    image = xml.etree.ElementTree.fromstring(f"<div>{names['picture']._repr_html_()}</div>")[0]
    svg = base64.b64decode(image.get("src").partition("base64,")[2])
    drawn = xml.etree.ElementTree.fromstring(svg)
    assert drawn.tag.endswith("svg") and "sinusoidal" in "".join(drawn.itertext())
    assert "✗ scaling-missing: " in names["found"]._repr_html_()


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
