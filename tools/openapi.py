#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generates the parts of openapi.yaml and docs/reference.md that describe encodings, between the
lines `# generated: NAME` and `# end`, from the catalogue of the service; formats openapi.yaml; and
generates from it openapi.json and the parameters of the Python package's functions.

The catalogue, GET /v1/encodings, is what core/encodings/*.c say of themselves: a new encoding needs
no line of YAML. Examples of answers are answers: the example of each kind of view is asked for."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import openapi_formats
import openapi_parameters
import openapi_python
import openapi_regions as regions_of
import openapi_yaml
from openapi_catalogue import FUNCTIONS, Catalogue

ROOT = pathlib.Path(__file__).resolve().parent.parent


def own_names(document, function):
    """Query parameters that a function's path lists by hand."""
    known = document["components"]["parameters"]
    listed = document["paths"]["/v1/" + function]["post"]["parameters"]
    at = [
        known.get(entry["$ref"].rsplit("/", 1)[1], {}) if "$ref" in entry else entry
        for entry in listed
    ]
    return {entry["name"] for entry in at if "name" in entry}


def parameters_referred(node):
    """The components of parameters that a part of the document refers to."""
    if isinstance(node, dict):
        if str(node.get("$ref", "")).startswith("#/components/parameters/"):
            yield node["$ref"].rsplit("/", 1)[1]
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from parameters_referred(child)


def written_by_hand(contract):
    """The document without the regions that list parameters, encodings and views."""
    for function in FUNCTIONS:
        contract = openapi_yaml.with_region(contract, f"parameters of {function}", [])
    for name in ("parameters of views", "encodings", "views"):
        contract = openapi_yaml.with_region(contract, name, {})
    return openapi_yaml.without_comments(contract)


def regions_made(catalogue, names, by_hand):
    """region name -> data."""
    regions = {
        "views": regions_of.views(catalogue),
        "encodings": regions_of.schemas(catalogue),
        "answers of views": regions_of.answers(catalogue),
        "examples of the catalogue": regions_of.catalogue_examples(catalogue),
        "examples of an entry": regions_of.entry_examples(catalogue),
        "bodies of views": regions_of.bodies(catalogue),
        "parameters of views": openapi_parameters.components(catalogue),
    }
    regions |= openapi_formats.regions(
        catalogue, [name.split()[-1] for name in names if name.startswith("formats of ")]
    )
    for function in FUNCTIONS:
        regions[f"parameters of {function}"] = regions_of.function_parameters(catalogue, function)
    for name in names:
        if name.startswith("answers of /"):
            path = name.split()[-1]
            regions[name] = regions_of.function_answers(
                catalogue, path, by_hand["paths"][path]["post"]
            )
    return regions


def generate(url):
    """file name -> text, of all files that are made of the catalogue."""
    contract = openapi_yaml.load((ROOT / "openapi.yaml").read_text(encoding="utf-8"))
    names = list(openapi_yaml.region_names(contract))
    by_hand = written_by_hand(contract)
    catalogue = Catalogue(
        url,
        {name: own_names(by_hand, name) for name in FUNCTIONS},
        by_hand["components"]["schemas"],
        set(parameters_referred(by_hand)),
    )
    for name, content in regions_made(catalogue, names, by_hand).items():
        contract = openapi_yaml.with_region(contract, name, content)
        assert contract is not None, f"no region {name}"
    reference = table_set(
        (ROOT / "docs/reference.md").read_text(encoding="utf-8"),
        regions_of.encodings_table(catalogue),
    )
    document = openapi_yaml.without_comments(contract)
    functions = openapi_python.functions(
        (ROOT / openapi_python.SOURCE).read_text(encoding="utf-8"), document
    )
    return {
        "openapi.yaml": openapi_yaml.dump(contract),
        "openapi.json": as_json(document),
        "docs/reference.md": reference,
        openapi_python.SOURCE: functions,
    }


def table_set(text, table):
    """docs/reference.md with its table of encodings."""
    pattern = r"(?m)^(<!-- generated: encodings -->\n)(?:.*\n)*?(<!-- end)"
    assert re.search(pattern, text), "no table of encodings"
    return re.sub(pattern, lambda found: found.group(1) + table + found.group(2), text, count=1)


def as_json(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def main():
    with tempfile.NamedTemporaryFile() as log:
        server = subprocess.Popen(
            [
                ROOT / "build/posencd",
                "--port",
                "0",
                "--drain-delay",
                "0",
                "--tables",
                ROOT / "tests/data/tables",
            ],
            stdout=log,
            stderr=log,
        )
        try:
            for _ in range(1000):
                found = re.search(r"http://127\.0\.0\.1:\d+", pathlib.Path(log.name).read_text())
                if found or server.poll() is not None:
                    break
                time.sleep(0.01)
            if not found:
                sys.exit("posencd did not start: " + pathlib.Path(log.name).read_text())
            for name, text in generate(found.group(0)).items():
                (ROOT / name).write_text(text, encoding="utf-8")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
