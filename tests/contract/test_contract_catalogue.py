# SPDX-License-Identifier: MIT
"""The catalogue of the live service against the schemas of openapi.yaml, in both directions."""

import json
import re
import sys
import urllib.parse

import document as contract
from test_contract_examples import answer_check

sys.path.insert(0, str(contract.ROOT / "tools"))

import openapi  # noqa: E402
import openapi_catalogue  # noqa: E402


def catalogue(server):
    entries = server.get("/v1/encodings").json()["encodings"]
    assert entries
    return entries


def test_generated(server):
    """The generated parts of openapi.yaml, openapi.json and docs/reference.md are up to date."""
    for name, text in openapi.generate(server.url).items():
        assert (contract.ROOT / name).read_text() == text, f"{name}: run make openapi"


def test_names_and_families(server):
    entries = catalogue(server)
    names = [entry["name"] for entry in entries]
    assert names == contract.schemas["EncodingName"]["enum"]
    assert {entry["family"] for entry in entries} <= set(contract.schemas["Family"]["enum"])


def test_catalogue_fits_its_schema(server):
    entries = catalogue(server)
    faults = contract.complaints(
        entries, {"type": "array", "items": {"$ref": "#/components/schemas/CatalogueEntry"}}
    )
    assert not faults, "\n".join(faults)
    for entry in entries:
        assert len(entry["operations"]) == len({view["name"] for view in entry["operations"]})
        for view in entry["operations"]:
            assert view["description"].endswith("."), view
            assert not view["title"].endswith("."), view
            answer = server.get(view["example"])
            assert answer.status_code == 200, answer.text
            assert len(answer.text) < 4000, f"{view['example']} is no small example"


def taken(entry, view):
    """name -> description of what a view of an encoding takes."""
    return entry["parameters"]["properties"] | view["parameters"]["properties"]


def kinds(server):
    """path -> the encodings that have this kind of view, each with the view."""
    found = {}
    for entry in catalogue(server):
        for view in entry["operations"]:
            found.setdefault(contract.path_of(view["href"]), []).append((entry, view))
    return found


def test_paths_are_kinds_of_views(server):
    """Each kind has a path, no path lacks a view, and names are those of the encodings."""
    documented = {
        path for path in contract.document["paths"] if path.startswith("/v1/encodings/{name}/")
    }
    assert documented == set(kinds(server))
    for path, members in kinds(server).items():
        (name,) = contract.document["paths"][path]["parameters"]
        names = {entry["name"] for entry, _ in members}
        first = name["schema"].get("anyOf", [name["schema"]])[0]
        assert set(first["enum"]) == names and name["example"] in names
        assert not contract.complaints("sample", name["schema"]) or "learned" not in names


def test_paths_have_the_parameters_of_their_views(server):
    """In both directions, with the encodings that take them and what none does without."""
    checked = 0
    for path, members in kinds(server).items():
        names = {entry["name"] for entry, _ in members}
        by_name = {entry["name"]: taken(entry, view) for entry, view in members}
        found = map(contract.resolve, contract.document["paths"][path]["get"]["parameters"])
        query = {p["name"]: p for p in found if p["in"] == "query"}
        assert set(query) == set().union(*by_name.values()), path
        required = [
            set(entry["parameters"]["required"] + view["parameters"]["required"])
            for entry, view in members
        ]
        assert {n for n, p in query.items() if p.get("required")} == set.intersection(*required)
        for name, parameter in query.items():
            takers = {encoding for encoding, known in by_name.items() if name in known}
            assert takers == names & takers_told(parameter, names), (path, name)
            for known in (by_name[encoding][name] for encoding in takers):
                assert wide_enough(parameter["schema"], known), (path, name)
                if "default" in parameter["schema"]:  # refused by none, and true of all
                    assert takers == names and parameter["schema"]["default"] == known["default"]
            checked += 1
    print(f"{checked} parameters of {len(kinds(server))} kinds of views")
    assert checked > 150


def takers_told(parameter, names):
    """Who takes a parameter: those of `x-encodings`, or of the end of its description, or those of
    `names` whose schema has it, or all of them."""
    schema = contract.resolve(parameter["schema"])
    text = parameter.get("description") or schema["description"]
    told = re.search(r"For ([a-z0-9, -]+)\.$", text)
    mapping = contract.schemas["Encoding"]["discriminator"]["mapping"]
    have = {
        encoding
        for encoding in names
        if parameter["name"] in contract.lookup(mapping[encoding])["properties"]
    }
    return set(
        parameter.get("x-encodings") or (told.group(1).split(", ") if told else have or names)
    )


def wide_enough(schema, known):
    """Does a schema take all that a description takes?"""
    values = known.get("enum", [])
    values += [known[key] for key in ("default", "minimum", "maximum") if key in known]
    return not any(contract.complaints(value, schema) for value in values)


def any_name(name):
    return openapi_catalogue.camel("any", name)


def test_encodings_are_what_they_say(server):
    """The exact schemas: what the catalogue says, a name, and the layout of what rotates."""
    for entry in catalogue(server):
        at = contract.schemas["Encoding"]["discriminator"]["mapping"][entry["name"]]
        schema = contract.lookup(at)
        known = entry["parameters"]["properties"]
        more = {"name"} | ({"layout"} if "rotation" in entry["functions"] else set())
        assert set(schema["properties"]) == set(known) | more
        assert schema["properties"]["name"]["const"] == entry["name"]
        for name, about in known.items():
            of = contract.resolve(schema["properties"][name])
            keys = ("enum", "minimum", "exclusiveMinimum", "maximum", "default")
            assert [of.get(key) for key in keys] == [about.get(key) for key in keys], name
            assert of.get("x-aliases", []) == about.get("aliases", []) and wide_enough(of, about)
            said = of.get("description") or contract.schemas[any_name(name)]["description"]
            assert about["description"] in said


def typed(text, known):
    """A value of a query as it stands in a body."""
    if "items" in known:
        return [json.loads(number) for number in text.split(",")]
    return text if known["type"] == "string" else json.loads(text)


def test_views_answer_as_documented(server):
    """Every view of every encoding, asked by GET and by POST, at its kind's path."""
    for path, members in kinds(server).items():
        item = contract.document["paths"][path]
        for entry, view in members:
            url = urllib.parse.urlsplit(view["example"])
            known = taken(entry, view)
            body = {
                name: typed(text, known[name]) for name, text in urllib.parse.parse_qsl(url.query)
            }
            schema = contract.media_of(item["post"])["application/json"]["schema"]
            assert not contract.complaints(body, schema), body
            answer, posted = server.get(view["example"]), server.post(url.path, json=body)
            answer_check(item["get"], answer)
            answer_check(item["post"], posted)
            assert answer.status_code == 200 and answer.json() == posted.json(), body
            twin = server.get(posted.headers["Content-Location"])
            assert twin.content == posted.content, posted.headers["Content-Location"]


def test_the_twin_of_a_list(server):
    """An empty list is not a 0, and a long one has no URL."""
    for positions in [], [3], list(range(3000)):
        posted = server.post("/v1/encodings/rope/table", json={"dim": 4, "positions": positions})
        url = posted.headers.get("Content-Location")
        assert (url is None) == (len(positions) == 3000)
        assert not url or server.get(url).content == posted.content


def views(server):
    """(path, query of its example, parameters in the query) of every view."""
    for entry in catalogue(server):
        for view in entry["operations"]:
            needed = entry["parameters"]["required"] + view["parameters"]["required"]
            query = [
                {"name": name, "required": name in needed, "schema": about}
                for name, about in taken(entry, view).items()
            ]
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
            schema = parameter["schema"]
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
