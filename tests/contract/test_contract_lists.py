# SPDX-License-Identifier: MIT
"""openapi.yaml against the lists of the sources, in both directions."""

import document as contract


def content(operation, status="200"):
    return set(contract.responses(operation)[status].get("content", {}))


def test_routes():
    listed = {(method, pattern) for method, pattern, _, _ in contract.routes()}
    documented, faults = set(), []
    for path, method, _ in contract.operations():
        pattern = contract.route_of(path, method)
        documented.add((method, pattern))
        if not pattern:
            faults.append(f"{method} {path} is in no ROUTE")
        elif "{" in path and path != pattern.replace("{view}", path.rsplit("/", 1)[1]):
            faults.append(f"{method} {path} should be {pattern}")
    faults += [f"{method} {pattern} is not documented" for method, pattern in listed - documented]
    print(f"{len(listed)} routes")
    assert not faults, "\n".join(faults)


def test_bodies_are_where_routes_take_them():
    takes = {(method, pattern): body for method, pattern, _, body in contract.routes()}
    for path, method, operation in contract.operations():
        expected = takes[method, contract.route_of(path, method)]
        assert bool(contract.media_of(operation)) == expected, f"{method} {path}"


def test_formats():
    media_types = {
        name: media for media, name in contract.def_lines("api/formats/formats.def", "FORMAT")
    }
    assert contract.schemas["Format"]["enum"] == list(media_types)
    listed = {(method, pattern): formats for method, pattern, formats, _ in contract.routes()}
    tensors = [name for name, media in media_types.items() if not media.startswith("image/")]
    taken = {"any": tensors, "same": tensors, "view": list(media_types)}
    checked = 0
    for path, method, operation in contract.operations():
        formats = listed.get((method, contract.route_of(path, method)), [])
        if formats:
            names = taken.get(formats[0], formats)
            assert content(operation) == {media_types[name] for name in names}, f"{method} {path}"
            assert any(
                p == {"$ref": "#/components/parameters/format"} for p in operation["parameters"]
            )
            checked += 1
    print(f"{checked} operations in {len(media_types)} formats")
    assert checked


def test_readers():
    documented = set()
    for _, _, operation in contract.operations():
        documented |= set(contract.media_of(operation))
    assert documented == contract.readers()


def test_codings():
    names = [name for name, _ in contract.def_lines("api/codings/codings.def", "CODING")]
    assert contract.document["components"]["headers"]["Content-Encoding"]["schema"]["enum"] == names


def test_problems(server):
    rows, http = contract.statuses(), contract.http_statuses()
    described = contract.schemas["ProblemCode"]
    assert described["enum"] == [code for _, code, _ in rows]
    assert server.get("/problems").json()["problems"] == [
        {"type": f"/problems/{code}", "code": code, "title": title, "status": http[name]}
        for name, code, title in rows
    ]
    page = server.get("/problems", headers={"Accept": "text/html"}).text
    assert all(f'<a href="/problems/{code}">' in page for _, code, _ in rows)
    for name, code, title in rows:
        page = server.get(f"/problems/{code}").json()
        assert (page["title"], page["status"]) == (title, http[name])
    print(f"{len(rows)} codes")


def test_statuses_are_documented():
    """Each status that problem.c can give is a response somewhere, and no other failure is."""
    documented = set()
    for _, _, operation in contract.operations():
        documented |= contract.documented_statuses(operation)
    failures = {status for name, status in contract.http_statuses().items() if name != "OK"}
    assert {status for status in documented if status >= 400} == failures
    assert {status for status in documented if status < 400} == {200, 201, 204, 206, 304}


def test_problem_examples_are_rows():
    rows = {
        code: (title, contract.http_statuses()[name]) for name, code, title in contract.statuses()
    }
    checked = 0
    for name, response in contract.document["components"]["responses"].items():
        for value in contract.examples(
            response.get("content", {}).get("application/problem+json", {})
        ).values():
            assert (value["title"], value["status"]) == rows[value["code"]], name
            checked += 1
    assert checked


def test_names():
    def names(path, macro):
        return [words[0] for words in contract.def_lines(path, macro)]

    schemas = contract.schemas
    encodings = [
        name.replace("_", "-") for name in names("core/encodings/encodings.def", "ENCODING")
    ]
    assert schemas["EncodingName"]["enum"] == encodings
    assert schemas["RopeType"]["enum"] == names("core/encodings/rope/rope_types.def", "ROPE_TYPE")
    dtypes = contract.dtypes()
    assert schemas["TensorDtype"]["enum"] == [name for name, _ in dtypes]
    floats = dtypes[:4]
    assert schemas["Dtype"]["enum"] == [name for name, _ in floats]
    assert schemas["Dtype"]["x-aliases"] == [alias for _, aliases in floats for alias in aliases]
