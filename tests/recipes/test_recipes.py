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
