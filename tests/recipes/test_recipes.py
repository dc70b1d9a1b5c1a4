# SPDX-License-Identifier: MIT
"""The recipes of ARCHITECTURE.md: the files beside this one are put into a copy of the tree, built
and asked, and those that were touched are counted."""
import pytest

from tree import Tree


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp("recipes"))
    tree.make("all")
    return tree


@pytest.fixture
def tree(built):
    """Recipes are added one to another; each counts its own files."""
    built.remember()
    return built


def test_a_format(tree):
    tree.put("format/matrix.c", "api/formats/matrix.c")
    tree.insert("api/formats/formats.def", "", 'FORMAT("application/x-matrix", matrix)\n')
    tree.put("format/test_matrix.c", "tests/api/test_matrix.c")
    tree.make("all", "build/tests/api/test_matrix")
    tree.run("build/tests/api/test_matrix")
    tree.openapi()
    tree.count("a format", 4)


def test_a_route(tree):
    tree.put("route/dtypes.c", "api/handlers/dtypes.c")
    tree.insert("api/handlers/routes.def", 'ROUTE("GET",  "/v1/encodings", ',
                'ROUTE("GET",  "/v1/dtypes", dtypes, "", false, LOOP)\n')
    tree.insert("openapi.yaml", "  /v1/encodings:",
                (tree.folder / "tests/recipes/route/openapi.yaml").read_text())
    tree.put("route/test_dtypes.c", "tests/api/test_dtypes.c")
    tree.make("all", "build/tests/api/test_dtypes")
    tree.run("build/tests/api/test_dtypes")
    tree.openapi()
    tree.count("a route", 4)


def test_an_encoding(tree):
    """Its test runs, and so do those of its kind and of the catalogue, which find it."""
    tree.put("encoding/scaled.c", "core/encodings/scaled.c")
    tree.insert("core/catalogue/encodings.def", "", "ENCODING(scaled)\n")
    tree.put("encoding/test_scaled.c", "tests/core/test_scaled.c")
    tests = [f"build/tests/core/test_{name}" for name in ("scaled", "kind_rows", "params")]
    tree.make("all", *tests)
    for test in tests:
        tree.run(test)
    tree.count("an encoding", 3)
    tree.openapi()


def test_a_rope_type(tree):
    tree.put("rope_type/halved.c", "core/rope/types/halved.c")
    tree.insert("core/rope/rope_types.def", "", 'ROPE_TYPE(halved, "")\n')
    tree.put("rope_type/test_halved.c", "tests/core/test_halved.c")
    tests = [f"build/tests/core/test_{name}" for name in ("halved", "rope_types", "diagnosis")]
    tree.make("all", *tests)
    for test in tests:
        tree.run(test)
    tree.count("a rope type", 3)
    tree.openapi()


def test_a_view(tree):
    """Encodings with rows have it, the others do not."""
    tree.put("view/sums.c", "core/analysis/sums.c")
    tree.insert("core/catalogue/views.def", "", "VIEW(sums)\n")
    tree.make("all", "build/libposenc.a")
    asked = tree.ask("view/ask.c").splitlines()
    assert asked == ["index 0.000 1.000 2.000", "rope 1.000 1.382 0.493", "alibi"]
    tree.count("a view", 2)
    tree.openapi()
