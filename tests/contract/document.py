# SPDX-License-Identifier: MIT
"""openapi.yaml and the tables it is compared with."""

import argparse
import dataclasses
import functools
import json
import pathlib
import re
import shlex
import urllib.parse

import jsonschema
import referencing
import referencing.jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "openapi.yaml"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

document = yaml.load(FILE.read_text(), yaml.CSafeLoader)
schemas = document["components"]["schemas"]


def lookup(reference):
    """The part of the document that "#/components/..." refers to."""
    node = document
    for step in reference.removeprefix("#/").split("/"):
        node = node[step.replace("~1", "/").replace("~0", "~")]
    return node


def resolve(node):
    """The node itself, references of its top level followed; what stands beside one goes before."""
    while isinstance(node, dict) and "$ref" in node:
        node = lookup(node["$ref"]) | {key: node[key] for key in node if key != "$ref"}
    return node


def walk(node, at="#"):
    """Every node with its JSON pointer."""
    yield at, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from walk(value, f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from walk(value, f"{at}/{index}")


def operations():
    """(path, method, operation) of every operation."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield path, method, operation


def responses(operation):
    """status -> response, as text: "200", "default"."""
    return {str(status): resolve(response) for status, response in operation["responses"].items()}


def documented_statuses(operation):
    """What it says itself or else its tag, what its responses say, and what any request can get."""
    tags = {tag["name"]: tag for tag in document["tags"]}
    found = set(operation.get("x-statuses", tags[operation["tags"][0]].get("x-statuses", ())))
    for status, response in responses(operation).items():
        found |= set(response.get("x-statuses", ()))
        found |= {int(status)} if status.isdigit() else set()
    return found


def answer_of(operation, status):
    """The documented response of a status."""
    answers = responses(operation)
    return answers.get(str(status), answers["default"])


def path_of(target):
    """The documented path that a request goes to, with the encoding's name left open."""
    path = target.split("?")[0]
    opened = re.sub("^/v1/encodings/[^/]+", "/v1/encodings/{name}", path)
    return path if path in document["paths"] or opened not in document["paths"] else opened


def is_of(target, path):
    """Is a target one of a documented path?"""
    pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))
    return bool(re.fullmatch(pattern, target.split("?")[0]))


def item_of(target):
    return document["paths"].get(path_of(target))


def shown(path):
    """The path with the name that the document shows it with."""
    for parameter in document["paths"][path].get("parameters", []):
        path = path.replace("{" + parameter["name"] + "}", parameter["example"])
    return path


def media_of(operation):
    """media type -> media type object of what can be posted."""
    return resolve(operation.get("requestBody", {})).get("content", {})


def request_examples(path, media):
    """Those of a path. Views share what can be posted, with an example named after each."""
    found = examples(media)
    return {
        name: value
        for name, value in found.items()
        if "{name}" not in path or name == path.rsplit("/", 1)[1]
    }


def examples(media):
    """name -> value of a media type object."""
    named = {name: resolve(example)["value"] for name, example in media.get("examples", {}).items()}
    return named | ({"example": media["example"]} if "example" in media else {})


_URI = "urn:openapi"
_registry = referencing.Registry().with_resource(
    _URI, referencing.Resource(contents=document, specification=referencing.jsonschema.DRAFT202012)
)


def _absolute(schema):
    if isinstance(schema, dict):
        return {
            key: _URI + value if key == "$ref" and value.startswith("#") else _absolute(value)
            for key, value in schema.items()
        }
    return [_absolute(item) for item in schema] if isinstance(schema, list) else schema


def complaints(value, schema):
    """The objections of JSON Schema 2020-12 to a value, as text."""
    validator = jsonschema.Draft202012Validator(
        _absolute(schema),
        registry=_registry,
        format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
    )
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]


@dataclasses.dataclass
class Sample:
    """A request of x-codeSamples, which is a command of curl."""

    method: str
    target: str  # path and query
    headers: dict
    json: object  # the body; None: none
    file: str | None  # the name of a file that is the body


def sample_of(source):
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-T", dest="file")
    parser.add_argument("--json", type=json.loads)
    parser.add_argument("curl", choices=["curl"])
    parser.add_argument("url", type=urllib.parse.urlsplit)
    found = parser.parse_intermixed_args(shlex.split(source))
    usual = "PUT" if found.file else "GET" if found.json is None else "POST"
    return Sample(
        found.method or usual,
        found.url.path + ("?" + found.url.query if found.url.query else ""),
        dict(header.split(": ", 1) for header in found.headers),
        found.json,
        found.file,
    )


def samples(operation):
    """name -> sample; the example of its answer has the same name."""
    return {
        sample["label"]: sample_of(sample["source"])
        for sample in operation.get("x-codeSamples", [])
    }


def shortened(media):
    """The names of the examples that are parts of answers."""
    found = media.get("examples", {}).items()
    return {name for name, example in found if resolve(example).get("summary") == "Shortened"}


# ---- the lists of the sources -------------------------------------------------------------------


@functools.cache
def source(path):
    return (ROOT / path).read_text()


def routes():
    """(method, pattern, formats, takes a body) of api/routes/routes.def."""
    text = source("api/routes/routes.def")
    found = []
    for line in re.findall(r"^ROUTE\((.*)\)$", text, re.M):
        method, pattern, _, formats, traits, _ = [word.strip() for word in line.split(",")]
        found.append(
            (
                method.strip('"').lower(),
                pattern.strip('"'),
                formats.strip('"').split(),
                "BODY" in traits,
            )
        )
    assert found, "no ROUTE in api/routes/routes.def"
    return found


def readers():
    """The media types of request bodies."""
    return {media for media, _ in def_lines("api/formats/formats.def", "READER")}


def def_lines(path, macro):
    """The arguments of every line of a .def file, as text."""
    found = re.findall(rf"^{macro}\((.*)\)\s*$", source(path), re.M)
    assert found, f"no {macro} in {path}"
    return [[word.strip().strip('"') for word in line.split(",")] for line in found]


def statuses():
    """(name, code, title) of each status that an answer can have: of posenc/status.h, without
    success and CANCELLED, which no answer has."""
    found = re.findall(r'X\((\w+),\s*"([^"]+)",\s*"([^"]+)"\)', source("include/posenc/status.h"))
    return [row for row in found if row[0] not in ("OK", "CANCELLED")]


def http_statuses():
    """name -> HTTP status of the switch in api/response/problem.c."""
    body = re.search(
        r"int api_problem_status\(.*?\n}", source("api/response/problem.c"), re.S
    ).group(0)
    found, waiting = {}, []
    for name, status in re.findall(r"case PE_(\w+):|return (\d+);", body):
        if name:
            waiting.append(name)
        else:
            found.update((waited, int(status)) for waited in waiting)
            waiting = []
    return found


def dtypes():
    """(name, aliases) of include/posenc/dtype.h."""
    found = re.findall(r'X\(\w+,\s*"(\w+)",.*?"([\w,]+)"\)', source("include/posenc/dtype.h"))
    return [(name, aliases.split(",")) for name, aliases in found]


def route_of(path, method):
    """The pattern of api/routes/routes.def that a documented path belongs to."""
    for route_method, pattern, _, _ in routes():
        if route_method == method and is_of(path, pattern):
            return pattern
    return None
