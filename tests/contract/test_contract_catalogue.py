# SPDX-License-Identifier: MIT
"""The catalogue of the live service against the schemas of openapi.yaml, in both directions."""

import sys
import urllib.parse

import document as contract

sys.path.insert(0, str(contract.ROOT / "tools"))

import openapi  # noqa: E402


def catalogue(server):
    entries = server.get("/v1/encodings").json()["encodings"]
    assert entries
    return entries


def test_generated(server):
    """What openapi.yaml, openapi.json and README.md say of encodings is what the service says."""
    for name, text in openapi.generate(server.url).items():
        assert (contract.ROOT / name).read_text() == text, f"{name}: run make openapi"


def test_names_and_families(server):
    entries = catalogue(server)
    names = [entry["name"] for entry in entries]
    assert names == contract.schemas["EncodingName"]["enum"]
    assert {entry["family"] for entry in entries} <= set(contract.schemas["Family"]["enum"])


def test_catalogue_fits_its_schema(server):
    entries = catalogue(server)
    faults = contract.complaints(entries, {"type": "array", "items": {
        "$ref": "#/components/schemas/CatalogueEntry"}})
    assert not faults, "\n".join(faults)
    for entry in entries:
        assert len(entry["operations"]) == len({view["name"] for view in entry["operations"]})
        for view in entry["operations"]:
            assert view["description"].endswith("."), view
            assert not view["title"].endswith("."), view
            assert view["href"] in contract.document["paths"]
            answer = server.get(view["example"])
            assert answer.status_code == 200, answer.text
            assert len(answer.text) < 4000, f"{view['example']} is no small example"


def views(server):
    """(path, query of its example, parameters in the query) of every view."""
    for entry in catalogue(server):
        for view in entry["operations"]:
            operation = contract.document["paths"][view["href"]]["get"]
            parameters = map(contract.resolve, operation["parameters"])
            query = [p for p in parameters if p["in"] == "query"]
            example = urllib.parse.urlsplit(view["example"]).query
            yield view["href"], dict(urllib.parse.parse_qsl(example)), query


def test_required_is_required(server):
    """Left out of an example, each required parameter is named by a 422; so is what the view cannot
    do without although another one could take its place."""
    checked = 0
    for path, given, query in views(server):
        names = {p["name"] for p in query}
        required = {p["name"] for p in query if p.get("required")}
        assert required <= set(given), f"{path}: the example lacks {required - set(given)}"
        for left_out in given:
            rest = {name: value for name, value in given.items() if name != left_out}
            response = server.get(path, params=rest)
            problem = response.json()
            if left_out not in required and problem.get("code") != "missing-parameter":
                continue
            assert (response.status_code, problem["code"]) == (422, "missing-parameter"), problem
            missing = problem["errors"][0]["parameter"]
            assert missing == left_out or (left_out not in required and missing in names), problem
            checked += 1
    print(f"{checked} parameters left out")
    assert checked > 20


def edges(schema):
    """(value, is allowed) about the limits of a number or integer."""
    integer = schema["type"] == "integer"
    beyond = 1 if integer else None
    for key, sign in (("minimum", -1), ("exclusiveMinimum", 0), ("maximum", 1)):
        if key in schema:
            limit = schema[key]
            yield limit, sign != 0
            if sign:
                step = beyond or max(abs(limit), 1e-300) * 1e-3
                yield limit + sign * step, False


def test_limits(server):
    """The number at a limit is not refused for its range, the next one beyond it is."""
    checked, faults = 0, []
    for path, needed, query in views(server):
        for parameter in query:
            schema = contract.resolve(parameter["schema"])
            bounded = schema.get("type") in ("integer", "number")
            for value, allowed in edges(schema) if bounded else ():
                name = parameter["name"]
                params = needed | {name: repr(value)}
                response = server.head(path, params=params)
                if response.status_code != 422:
                    problem = {}
                else:
                    problem = server.get(path, params=params).json()
                refused = problem.get("code") in ("out-of-range", "invalid-parameter") and any(
                    error.get("parameter") == name for error in problem.get("errors", [])
                )
                checked += 1
                if not allowed and not refused:
                    faults.append(
                        f"{path} {name}={value} is not refused: {response.status_code} {problem}"
                    )
                if allowed and refused and problem["detail"].startswith(f"{name} must be"):
                    faults.append(f"{path} {name}={value} is refused: {problem['detail']}")
    print(f"{checked} values at limits")
    assert checked > 60 and not faults, "\n".join(faults)
