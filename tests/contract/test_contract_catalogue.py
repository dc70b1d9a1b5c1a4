# SPDX-License-Identifier: MIT
"""The catalogue of the live service against the schemas of openapi.yaml, in both directions."""

import requests

import document as contract


def catalogue(server):
    entries = requests.get(server.url + "/v1/encodings").json()["encodings"]
    assert entries
    return entries


def noted(schema):
    """A schema as the catalogue writes it: references followed, notes under their bare names."""
    whole = {}
    if "$ref" in schema:
        whole |= noted(contract.lookup(schema["$ref"]))
        whole.pop("aliases", None)  # a dtype's aliases are those of any dtype
    renamed = {"x-aliases": "aliases", "x-unit": "unit"}
    whole |= {renamed.get(key, key): value for key, value in schema.items() if key != "$ref"}
    # The text of a list of ranges has a form that the catalogue tells by an example alone.
    whole.pop("pattern", None)
    return whole


def merged(schema):
    """All properties of a schema, those of allOf included."""
    schema = contract.resolve(schema)
    properties = dict(schema.get("properties", {}))
    for part in schema.get("allOf", []):
        properties = merged(part) | properties
    return properties


def test_names_and_families(server):
    entries = catalogue(server)
    names = [entry["name"] for entry in entries]
    assert names == contract.schemas["EncodingName"]["enum"]
    assert {entry["family"] for entry in entries} <= set(contract.schemas["Family"]["enum"])


def difference(where, ours, theirs):
    """What two maps of parameters disagree about, as text; and how many were compared."""
    faults = []
    if list(ours) != list(theirs):
        faults.append(f"{where}: documented {list(ours)}, served {list(theirs)}")
    for name in set(ours) & set(theirs):
        if noted(ours[name]) != theirs[name]:
            faults.append(f"{where} {name}: documented {noted(ours[name])}, served {theirs[name]}")
    return faults


def test_parameters(server):
    faults, count = [], 0
    for entry in catalogue(server):
        name = entry["name"]
        camel = "".join(word.capitalize() for word in name.split("-"))
        ours = contract.schemas[f"{camel}Parameters"]["properties"]
        count += len(ours)
        faults += difference(name, ours, entry["parameters"]["properties"])
    print(f"{count} parameters")
    assert count > 20 and not faults, "\n".join(faults)


def query_of(operation):
    parameters = map(contract.resolve, operation["parameters"])
    return {p["name"]: p for p in parameters if p["in"] == "query"}


def test_views(server):
    """Each view of each encoding is a path and each such path a view, with the same parameters,
    in the query and in a body; what is required is."""
    faults, documented, served = [], set(), set()
    for path in contract.document["paths"]:
        if path.startswith("/v1/encodings/") and "{" not in path:
            documented.add(path)
    for entry in catalogue(server):
        for view in entry["operations"]:
            path = view["href"]
            served.add(path)
            item = contract.document["paths"].get(path)
            if not item:
                continue
            query = query_of(item["get"])
            theirs = entry["parameters"]["properties"] | view["parameters"]["properties"]
            ours = {name: contract.resolve(p["schema"]) for name, p in query.items()}
            faults += difference(path, ours, theirs)
            required = {name for name, p in query.items() if p.get("required")}
            asked = set(entry["parameters"]["required"]) | set(view["parameters"]["required"])
            if required != asked:
                faults.append(f"{path}: documented as required {required}, served {asked}")
            body = item["post"]["requestBody"]["content"]["application/json"]["schema"]
            if set(merged(body)) - {"tensors"} | {"format"} != set(query):
                faults.append(f"{path}: the body and the query have different parameters")
    faults += [f"{path} is no view" for path in documented - served]
    faults += [f"{path} is not documented" for path in served - documented]
    print(f"{len(served)} views")
    assert served and not faults, "\n".join(faults)


def fitting(parameter):
    """A value of a required parameter: 4, or the largest one where that is less."""
    schema = contract.resolve(parameter["schema"])
    return min(4, schema.get("items", schema).get("maximum", 4))


def test_required_is_required(server):
    """Left out, each required parameter is named by a 422; the rest is not asked for."""
    checked = 0
    for path, method, operation in contract.operations():
        if method != "get" or not path.startswith("/v1/encodings/") or "{" in path:
            continue
        query = [p for p in map(contract.resolve, operation["parameters"]) if p["in"] == "query"]
        given = {p["name"]: fitting(p) for p in query if p.get("required")}
        positions = {"length": 4} if any(p["name"] == "positions" for p in query) else {}
        positions |= {"shape": "4,4"} if any(p["name"] == "shape" for p in query) else {}
        assert requests.get(server.url + path, params=given | positions).status_code == 200
        for left_out in given | positions:
            rest = {name: value for name, value in (given | positions).items() if name != left_out}
            response = requests.get(server.url + path, params=rest)
            problem = response.json()
            assert (response.status_code, problem["code"]) == (422, "missing-parameter"), problem
            assert problem["errors"][0]["parameter"] == left_out
            checked += 1
    print(f"{checked} parameters left out")
    assert checked > 6


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
    for path, method, operation in contract.operations():
        if method != "get" or not path.startswith("/v1/encodings/") or "{" in path:
            continue
        query = [p for p in map(contract.resolve, operation["parameters"]) if p["in"] == "query"]
        needed = {p["name"]: fitting(p) for p in query if p.get("required")}
        for parameter in query:
            schema = contract.resolve(parameter["schema"])
            for value, allowed in (
                edges(schema) if schema.get("type") in ("integer", "number") else ()
            ):
                name = parameter["name"]
                params = needed | {name: repr(value)}
                response = requests.head(server.url + path, params=params)
                full = (
                    requests.get(server.url + path, params=params)
                    if response.status_code == 422
                    else None
                )
                problem = full.json() if full is not None else {}
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
