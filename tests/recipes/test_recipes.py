# SPDX-License-Identifier: MIT
"""The recipes of ARCHITECTURE.md: each change is made in a copy of the tree, built and tested, and
the files that had to be written are counted."""

import sys

import pytest
from tree import Tree


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp("recipes"))
    tree.make("all")
    return tree


@pytest.fixture
def tree(built):
    """Recipes build on one copy; each counts its own files."""
    built.remember()
    return built


def test_an_encoding(tree):
    tree.put("encoding/scaled.c", "core/encodings/scaled.c")
    tree.insert("core/encodings/encodings.def", "", "ENCODING(scaled)\n")
    tree.put("encoding/test_scaled.c", "tests/core/encodings/test_scaled.c")
    tree.make("all", "build/tests/core/encodings/test_scaled")
    tree.run("build/tests/core/encodings/test_scaled")
    table = "/v1/encodings/scaled/table"
    assert tree.ask(f"{table}?length=3&scale=2&format=csv") == (200, "table_0\r\n0\r\n2\r\n4\r\n")
    for query, says in (("scale=x", "scale must be a number"), ("sclae=2", "did you mean 'scale'")):
        status, body = tree.ask(f"{table}?length=4&{query}")
        assert status == 422 and says in body
    tree.count("an encoding", 3, tree.openapi())


def test_a_rope_type(tree):
    tree.put("rope_type/tight.c", "core/encodings/rope/tight.c")
    tree.insert("core/encodings/rope/rope_types.def", "", 'ROPE_TYPE(tight, "")\n')
    tree.put("rope_type/test_tight.c", "tests/core/encodings/test_tight.c")
    tree.make("all", "build/tests/core/encodings/test_tight")
    tree.run("build/tests/core/encodings/test_tight")
    status, body = tree.ask("/v1/encodings/rope/table?dim=4&length=3&rope_type=tight")
    assert status == 422 and "factor is required for rope_type tight" in body
    tree.count("a rope type", 3, tree.openapi())


def test_a_view(tree):
    tree.put("view/places.c", "core/views/places.c")
    tree.insert("core/views/views.def", "", "VIEW(places)\n")
    tree.make("all")
    status, body = tree.ask("/v1/encodings/sinusoidal/places?dim=4&length=2&start=5&format=csv")
    assert (status, body) == (200, "places\r\n5\r\n6\r\n")
    assert tree.ask("/v1/encodings/alibi/places?heads=2&length=2")[0] == 404
    tree.count("a view", 2, tree.openapi())


MAGNITUDE = """    {.name = "magnitude",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "The absolute values of decay."},
"""
MAGNITUDE_FILL = """    for (size_t i = 0; rows_state(view)->magnitude && i < count; i++)
        envelope_step(view, out, i, &(double){0});
"""
MAGNITUDE_TEST = """
TEST(magnitudes)
{
    struct analysed plain = analysed_new("rope", "dim=2", "decay", "max_offset=9", PE_F64);
    struct analysed a =
        analysed_new("rope", "dim=2", "decay", "max_offset=9 magnitude=true", PE_F64);

    for (size_t i = 0; i < 10; i++)
        ck_assert_double_eq(a.outputs[0][i], fabs(plain.outputs[0][i]));
    analysed_free(&plain);
    analysed_free(&a);
}
"""


def test_a_parameter_of_an_analysis(tree):
    source, test = "core/views/decay.c", "core/views/test_analysis_decay"
    tree.insert(source, '    {.name = "normalize",', MAGNITUDE)
    tree.insert(source, "    struct pe_positions anchor_position;", "    bool magnitude;\n")
    tree.insert(
        source,
        "    state->normalize = ",
        '    state->magnitude = pe_param_number(values, "magnitude") != 0;\n',
    )
    tree.insert(source, "    if (output == ROWS_ENVELOPE)", MAGNITUDE_FILL)
    tree.insert(f"tests/{test}.c", "", MAGNITUDE_TEST)
    tree.make("all", f"build/tests/{test}")
    tree.run(f"build/tests/{test}")
    decay = "/v1/encodings/rope/analysis/decay?dim=2&min_offset=3&max_offset=3&magnitude="
    status, body = tree.ask(f"{decay}true")
    assert status == 200 and '"data":[0.9899925]' in body
    status, body = tree.ask(f"{decay}maybe")
    assert status == 422 and "magnitude must be" in body
    tree.run(sys.executable, "tests/recorded/record.py", "--binary", "build/posencd", "--update")
    assert "tests/recorded/answers.jsonl" in tree.touched()
    tree.count("a parameter of an analysis", 3, tree.openapi())


def test_a_format(tree):
    tree.put("format/matrix.c", "api/formats/matrix.c")
    tree.insert("api/formats/formats.def", "", 'FORMAT("application/x-matrix", matrix)\n')
    tree.put("format/test_matrix.c", "tests/api/test_matrix.c")
    tree.make("all", "build/tests/api/test_matrix")
    tree.run("build/tests/api/test_matrix")
    tree.count("a format", 3, tree.openapi())


def test_a_route(tree):
    tree.put("route/dtypes.c", "api/routes/dtypes.c")
    tree.insert(
        "api/routes/routes.def",
        'ROUTE("GET",  "/v1/encodings", ',
        'ROUTE("GET",  "/v1/dtypes", dtypes, "", NONE, QUICK)\n',
    )
    tree.insert(
        "openapi.yaml",
        "  /v1/encodings:",
        (tree.folder / "tests/recipes/route/openapi.yaml").read_text(),
    )
    tree.put("route/test_dtypes.c", "tests/api/test_dtypes.c")
    tree.make("all", "build/tests/api/test_dtypes")
    tree.run("build/tests/api/test_dtypes")
    tree.count("a route", 4, tree.openapi())
