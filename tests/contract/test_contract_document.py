# SPDX-License-Identifier: MIT
"""openapi.yaml by itself: valid, complete, and true to its own schemas."""

import collections
import json
import re
import sys

import document as contract
import openapi_spec_validator
import pytest
import yaml

sys.path.insert(0, str(contract.ROOT / "tools"))
import openapi_yaml  # noqa: E402


def test_valid():
    openapi_spec_validator.validate(contract.document)
    count = sum(1 for _ in contract.operations())
    print(f"{count} operations on {len(contract.document['paths'])} paths")
    assert count > 20


def test_json_is_up_to_date():
    """openapi.json is kept beside openapi.yaml, made by `make openapi`."""
    kept = json.loads((contract.ROOT / "openapi.json").read_text())
    assert kept == contract.document, "run make openapi"


def refers(name, seen=()):
    """The schemas that one refers to, itself among them if it does."""
    for _, node in contract.walk(contract.schemas[name]):
        other = (
            node.get("$ref", "").removeprefix("#/components/schemas/")
            if isinstance(node, dict)
            else ""
        )
        if other and other not in seen:
            seen = refers(other, (*seen, other))
    return seen


def test_generators_can_read_it():
    """Nothing in it is what generators of clients stumble over: openapi-python-client, for one,
    takes an allOf of one schema for that schema, whatever properties stand beside it."""
    assert [server["url"] for server in contract.document["servers"]] == ["."]
    assert not [path for path, method, _ in contract.operations() if method == "options"]
    for at, node in contract.walk(contract.document):
        if "/example" in at or not isinstance(node, dict):
            continue
        if isinstance(node.get("$ref"), str):
            assert re.fullmatch(r"#/components/\w+/[\w-]+", node["$ref"]), at
        assert isinstance(node.get("const", ""), (str, dict)), at
        assert len(node.get("allOf", "..")) > 1 or "properties" not in node, at
        choices = (
            [*node.get("anyOf", []), *node.get("oneOf", [])]
            if not at.endswith("/properties")
            else []
        )
        assert {"type": "null"} not in choices, at
    assert not [name for name in contract.schemas if name in refers(name)]


def test_form():
    """Block style without anchors and aliases, on lines of at most 100 columns; mappings on one
    line are parts of examples only."""
    text = contract.FILE.read_text()
    assert not [
        event for event in yaml.parse(text, yaml.CSafeLoader) if getattr(event, "anchor", None)
    ]
    assert max(map(len, text.split("\n"))) <= 100
    faults, nodes = [], [("", False, yaml.compose(text, yaml.CSafeLoader))]
    while nodes:
        at, shown, node = nodes.pop()
        if isinstance(node, yaml.MappingNode):
            if node.flow_style and node.value and not shown:
                faults.append(at)
            nodes += [
                (f"{at}/{key.value}", shown or key.value in ("value", "example"), value)
                for key, value in node.value
            ]
        elif isinstance(node, yaml.SequenceNode):
            nodes += [(at, shown, item) for item in node.value]
    assert not faults, "\n".join(faults)


def test_formatting_keeps_the_document():
    """`make openapi` formats the parts written by hand too: a second time changes nothing."""
    text = contract.FILE.read_text()
    loaded = openapi_yaml.load(text)
    assert openapi_yaml.without_comments(loaded) == contract.document
    assert openapi_yaml.dump(loaded) == text
    compact = """# first
a: {b: [1, 2], c: "x: y"}
# generated: things
t: |
  # no comment
  text
# end
l:
  # in a list
  - {k: 1.0e-07, m: "a\\n\\n  b\\n"}
"""
    for _ in range(2):
        document = openapi_yaml.load(compact)
        assert openapi_yaml.without_comments(document) == {
            "a": {"b": [1, 2], "c": "x: y"},
            "t": "# no comment\ntext\n",
            "l": [{"k": 1e-7, "m": "a\n\n  b\n"}],
        }
        assert list(openapi_yaml.region_names(document)) == ["things"]
        compact = openapi_yaml.dump(document)
    assert "\na:\n  b: [1, 2]\n" in compact and "\nl:\n  # in a list\n" in compact
    changed = openapi_yaml.dump(openapi_yaml.with_region(document, "things", {"u": "new"}))
    assert "# generated: things\nu: new\n# end\nl:\n" in changed


@pytest.mark.parametrize(
    "text",
    [
        "word " * 40,
        "word " * 40 + "\n",
        "a\n\n" + "word " * 40 + "end",
        "x" * 250,
        " #" * 90,
        "- a\n- b",
        "two  spaces " * 20,
        "\n\nlines\n\n",
        "tab\t" * 50,
        "  indented " * 20,
        "é\u2028" * 80,
        "yes",
        "1e3",
        "a # b",
        "ends with:",
        "* star",
        "'",
        '"' * 120,
        "\\" * 120,
        "",
        " ",
        "~",
        "2026-11-24",
        "|",
        "a: b",
    ],
)
def test_formatting_keeps_text(text):
    for document in ({"description": text}, {"l": [text, {"k": text}]}, {"value": {"d": [text]}}):
        written = openapi_yaml.dump(document)
        assert yaml.safe_load(written) == document
        assert max(map(len, written.split("\n"))) <= 100


def test_operations_are_described():
    tags = {tag["name"] for tag in contract.document["tags"]}
    ids = collections.Counter()
    faults = []
    for path, method, operation in contract.operations():
        ids[operation.get("operationId")] += 1
        for key in ("operationId", "summary", "description", "tags"):
            if not operation.get(key):
                faults.append(f"{method} {path} has no {key}")
        if operation.get("summary", "").endswith("."):
            faults.append(f"{method} {path}: a summary is no sentence")
        if not operation.get("description", "").rstrip().endswith((".", "?")):
            faults.append(f"{method} {path}: a description is a sentence")
        faults += [f"{method} {path}: unknown tag {tag}" for tag in set(operation["tags"]) - tags]
    faults += [
        f"operationId {name} stands {count} times" for name, count in ids.items() if count > 1
    ]
    print(f"{len(ids)} operations")
    assert not faults, "\n".join(faults)


def test_parameters_are_described():
    faults, count = [], 0
    for path, method, operation in contract.operations():
        for parameter in map(contract.resolve, operation.get("parameters", [])):
            count += 1
            schema = contract.resolve(parameter["schema"])
            if "description" not in parameter and "description" not in schema:
                faults.append(f"{method} {path}: {parameter['name']} has no description")
            if not {"type", "anyOf", "$ref"} & set(schema):
                faults.append(f"{method} {path}: {parameter['name']} has no type")
    print(f"{count} parameters")
    assert count and not faults, "\n".join(faults)


def test_bodies_have_examples():
    faults, count = [], 0
    for path, method, operation in contract.operations():
        body = contract.resolve(operation.get("requestBody", {}))
        for media in body.get("content", {}).values():
            assert "examples" not in media or contract.request_examples(path, media), path
        places = [("request", body)]
        places += [(status, response) for status, response in contract.responses(operation).items()]
        for place, holder in places:
            for kind, media in holder.get("content", {}).items():
                count += 1
                if "schema" not in media:
                    faults.append(f"{method} {path} {place} {kind} has no schema")
                if "json" in kind and not contract.examples(media):
                    faults.append(f"{method} {path} {place} {kind} has no example")
    print(f"{count} bodies")
    assert count and not faults, "\n".join(faults)


def test_examples_fit_their_schemas():
    faults, count = [], 0
    for at, node in contract.walk(contract.document):
        if not isinstance(node, dict) or "schema" not in node:
            continue
        for name, value in contract.examples(node).items():
            count += 1
            faults += [
                f"{at} {name} {fault}" for fault in contract.complaints(value, node["schema"])
            ]
    print(f"{count} examples")
    assert count > 30 and not faults, "\n".join(faults)


def test_schema_validation_can_fail():
    problem = {"$ref": "#/components/schemas/Problem"}
    assert contract.complaints({"title": "no"}, problem)
    rope = {"$ref": "#/components/schemas/rope"}
    assert not contract.complaints({"name": "rope", "base": 100}, rope)
    assert contract.complaints({"name": "rope", "bass": 100}, rope)
    assert contract.complaints({"name": "rope", "base": 1}, rope)


def test_components_are_used():
    used = {node for at, node in contract.walk(contract.document) if at.endswith("/$ref")}
    faults, count = [], 0
    for kind, components in contract.document["components"].items():
        for name in components if kind != "securitySchemes" else ():
            count += 1
            at = f"#/components/{kind}/{name}"
            if not any(reference == at or reference.startswith(at + "/") for reference in used):
                faults.append(f"{at} is not used")
    for reference in used:
        contract.lookup(reference)
    print(f"{count} components, {len(used)} references")
    assert count and not faults, "\n".join(faults)
