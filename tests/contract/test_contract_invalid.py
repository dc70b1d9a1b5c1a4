# SPDX-License-Identifier: MIT
"""Every parameter of every encoding and view, given wrongly in every way that its own description
forbids: 422, and the answer names it. The cases are made from the catalogue alone."""

import collections
import json
import math
import urllib.parse

HUGE = ["9223372036854775808", "1" + "0" * 40, "1e999", "-1e999"]
NOT_A_NUMBER = ["x", "", "NaN", "nan", "Infinity", "-inf", "0x10", "1_000", "1,000.5.5", "١", " 1"]
NAMES = ("invalid-parameter", "out-of-range", "conflicting-parameters", "missing-parameter")


def views(server):
    for entry in server.get("/v1/encodings").json()["encodings"]:
        for view in entry["operations"]:
            query = urllib.parse.urlsplit(view["example"]).query
            parameters = entry["parameters"]["properties"] | view["parameters"]["properties"]
            required = entry["parameters"]["required"] + view["parameters"]["required"]
            yield view["href"], dict(urllib.parse.parse_qsl(query)), parameters, required


def beyond(described):
    """Numbers outside the limits, and the limits themselves where they are outside."""
    if "minimum" in described:
        low = described["minimum"]
        yield low - 1 if described["type"] == "integer" else low - max(1, abs(low)) * 1e-3
    if "exclusiveMinimum" in described:
        yield described["exclusiveMinimum"]
        yield described["exclusiveMinimum"] - 1
    if "maximum" in described:
        high = described["maximum"]
        yield high + 1 if abs(high) < 2**53 - 1 else high * 2
    if described["type"] == "integer":
        yield 1.5


def beyond_all(number, described):
    return not described.get("minimum", -1e308) <= number <= described.get("maximum", 1e308)


def texts(described):
    """Texts of a query that are no value of this parameter."""
    kind = described["type"]
    if kind in ("integer", "number"):
        yield from NOT_A_NUMBER
        yield from (text for text in HUGE if beyond_all(float(text), described))
        yield from (repr(number) for number in beyond(described))
    elif kind == "boolean":
        yield from ("x", "", "2", "yes", "truee")
    elif "enum" in described:
        yield from ("x", "", described["enum"][0] + "x", described["enum"][0].upper() + "?")
    elif "items" in described:
        numbers = [repr(number) for number in beyond(described["items"] | {"type": "number"})]
        yield from ("x", "1,,2", "1,x", "NaN", "1,Infinity", "1e999", *numbers)


def values(described):
    """The same for a JSON body, where the type counts. null says that it is not given."""
    kind = described["type"]
    for value in ({}, {"a": 1}, [[1]], True, "x", 1, ["x"], [None], -1e308):
        if kind in ("integer", "number"):
            wrong = not isinstance(value, (int, float)) or isinstance(value, bool)
        elif kind == "boolean":
            wrong = not isinstance(value, bool) and value != 1
        elif "enum" in described:
            wrong = True
        elif "items" in described:
            wrong = isinstance(value, (dict, str, bool)) or value in ([[1]], ["x"], [None])
        else:
            wrong = False
        if wrong:
            yield value
    if kind in ("integer", "number"):
        yield from beyond(described)
        yield 1e300 if described.get("maximum", 0) < 1e300 else -1e300
    if "items" in described:
        yield from ([number] for number in beyond(described["items"] | {"type": "number"}))


def named(response, name, aliases=()):
    """Is it a 422 (400: it cannot be read at all) that names the parameter?"""
    if response.status_code not in (400, 422):
        return False
    problem = response.json()
    places = problem.get("errors", [{}])
    named_as = {name, *aliases}
    return problem["code"] in NAMES and any(
        place.get("parameter") in named_as
        or place.get("pointer", "").split("/")[1:2] in [[n] for n in named_as]
        for place in places
    )


def own_of(name, described):
    """A parameter of the encoding or the view, not free text, and not the format, which is
    negotiated (406)."""
    return ("enum" in described or described["type"] != "string") and name != "format"


class Cases:
    def __init__(self):
        self.count, self.met, self.faults = collections.Counter(), collections.Counter(), []

    def judge(self, what, response, name, aliases=()):
        self.count[response.status_code] += 1
        if not named(response, name, aliases):
            self.faults.append(f"{what}: {response.status_code} {response.text[:300]}")

    def few(self, name, described, wrong):
        """All wrong values where a parameter is met for the first time. Where another view has it
        with the same words, the same code reads it: there one value is given, another each time."""
        wrong = list(wrong) if own_of(name, described) else []
        times = self.met[name, json.dumps(described)]
        self.met[name, json.dumps(described)] += 1
        return [wrong[times % len(wrong)]] if times and wrong else wrong

    def end(self, least):
        print(f"{sum(self.count.values())} cases: {dict(self.count)}")
        assert sum(self.count.values()) >= least
        assert not self.faults, f"{len(self.faults)} faults\n" + "\n".join(self.faults[:40])


def test_wrong_in_the_query(server):
    cases = Cases()
    for path, example, parameters, required in views(server):
        for name, described in parameters.items():
            for text in cases.few(name, described, texts(described)):
                query = example | {name: text}
                cases.judge(f"{path} {name}={text!r}", server.get(path, params=query), name)
        for name in required:
            body = {
                key: None if key == name else typed(text, parameters[key])
                for key, text in example.items()
            }
            cases.judge(f"{path} {body}", server.post(path, json=body), name)
            query = {key: value for key, value in example.items() if key != name}
            cases.judge(f"{path} without {name}", server.get(path, params=query), name)
    cases.end(1500)


def test_wrong_in_a_body(server):
    cases = Cases()
    for path, example, parameters, _ in views(server):
        for name, described in parameters.items():
            for value in cases.few(name, described, values(described)):
                rest = {key: text for key, text in example.items() if key != name}
                body = (
                    json.dumps({name: value})
                    if not (isinstance(value, float) and not math.isfinite(value))
                    else "{}"
                )
                cases.judge(
                    f"{path} {body}",
                    server.post(
                        path, params=rest, data=body, headers={"Content-Type": "application/json"}
                    ),
                    name,
                )
    cases.end(1500)


def test_given_twice(server):
    """With two values, as itself or by an alias, in one place or in two: a conflict."""
    cases = Cases()
    for path, example, parameters, _ in views(server):
        for name, described in parameters.items():
            if not own_of(name, described) or "items" in described:
                continue
            if described["type"] == "boolean":
                pair = ("true", "false")
            elif "enum" in described:
                if len(described["enum"]) < 2:
                    continue
                pair = tuple(described["enum"][:2])
            else:
                low = described.get("minimum", described.get("exclusiveMinimum", 0))
                step = 1 if described["type"] == "integer" else max(1, abs(low) / 1000)
                pair = (str(low + step), str(low + 2 * step))  # not lost beside a huge limit
            rest = [(key, text) for key, text in example.items() if key != name]
            for other in [name, *described.get("aliases", [])]:
                query = rest + [(name, pair[0]), (other, pair[1])]
                cases.judge(
                    f"{path} {query}",
                    server.get(path, params=query),
                    name,
                    described.get("aliases", ()),
                )
                cases.judge(
                    f"{path} body {name}={pair[0]}, query {other}={pair[1]}",
                    server.post(
                        path,
                        params=rest + [(other, pair[1])],
                        json={name: typed(pair[0], described)},
                    ),
                    name,
                    described.get("aliases", ()),
                )
    cases.end(600)


def typed(text, described):
    if described["type"] == "boolean":
        return text == "true"
    if "items" in described:
        return [json.loads(number) for number in text.split(",")]
    return text if "enum" in described else json.loads(text)
