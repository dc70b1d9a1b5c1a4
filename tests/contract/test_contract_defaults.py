# SPDX-License-Identifier: MIT
"""A default is a promise: whatever the contract says it is may be sent, and changes nothing."""

import urllib.parse

import document as contract
import pytest
from test_contract_catalogue import catalogue, taken


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_views_take_their_defaults(server):
    """All of them at once, of every view of every encoding, by GET and by POST."""
    checked = 0
    for entry in catalogue(server):
        for view in entry["operations"]:
            known = taken(entry, view)
            usual = {n: about["default"] for n, about in known.items() if "default" in about}
            path, _, query = view["example"].partition("?")
            given = dict(urllib.parse.parse_qsl(query))
            usual = {name: value for name, value in usual.items() if name not in given}
            answer = server.get(path, params=given | {n: as_text(v) for n, v in usual.items()})
            assert answer.status_code == 200, answer.text
            assert answer.json() == server.get(view["example"]).json(), path
            assert server.post(path, params=given, json=usual).json() == answer.json(), path
            checked += 1
    print(f"{checked} views")
    assert checked >= 76


FUNCTIONS = [
    (path, name)
    for path, method, operation in contract.operations()
    if method == "post" and "{" not in path
    for name in contract.examples(contract.media_of(operation)["application/json"])
]


@pytest.mark.parametrize("path,name", FUNCTIONS)
def test_functions_take_their_defaults(server, path, name):
    operation = contract.document["paths"][path]["post"]
    body = contract.examples(contract.media_of(operation)["application/json"])[name]
    query = {}
    for parameter in map(contract.resolve, operation["parameters"]):
        schema = contract.resolve(parameter["schema"])
        if "default" in schema and parameter["name"] not in body:
            query[parameter["name"]] = as_text(schema["default"])
    expected = server.post(path, json=body).json()
    answer = server.post(path, json=body, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.json() == expected


@pytest.mark.parametrize(
    "path,name,value",
    [
        ("/v1/encodings/rope/table?dim=4&length=2", "strict", "true"),
        ("/v1/encodings/rope/table?dim=4&length=2", "beta_fast", "31"),
        ("/v1/encodings/rope/table?dim=4&length=2", "beta_slow", "2"),
        ("/v1/encodings/rope/table?dim=4&length=2", "truncate", "false"),
        ("/v1/encodings/rope/table?dim=4&positions=1,2", "start", "1"),
        ("/v1/encodings/alibi/bias?heads=2&query_length=2&slopes=1,2", "alibi_bias_max", "4"),
    ],
)
def test_another_value_is_refused_by_name(server, path, name, value):
    """Where a parameter means nothing, its default is taken and any other value is not."""
    problem = server.get(f"{path}&{name}={value}").json()
    assert problem["code"] == "conflicting-parameters" and name in problem["detail"], problem
    known = {
        n: about
        for entry in catalogue(server)
        for view in entry["operations"]
        if view["href"] == path.split("?")[0]
        for n, about in taken(entry, view).items()
    }
    usual = server.get(f"{path}&{name}={as_text(known[name]['default'])}")
    assert usual.status_code == 200, usual.text
    assert usual.json() == server.get(path).json()
