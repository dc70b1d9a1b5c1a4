#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what openapi.yaml and docs/reference.md say of encodings, from the service's catalogue,
between the lines `# generated: NAME` and `# end`; and from openapi.yaml openapi.json and the
parameters of the Python package's functions.

The catalogue, GET /v1/encodings, is what core/encodings/*.c say of themselves: a new encoding needs
no line of YAML. Examples of answers are answers: the example of each kind of view is asked for."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

import openapi_aliases
import openapi_formats
import openapi_parameters
import openapi_python
import openapi_regions as regions_of
from openapi_catalogue import FUNCTIONS, Catalogue

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Dates and the like stay the text that they are: JSON has nothing else."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def own_names(document, function):
    """Query parameters that a function's path lists by hand."""
    known = document["components"]["parameters"]
    listed = document["paths"]["/v1/" + function]["post"]["parameters"]
    at = [known.get(entry["$ref"].rsplit("/", 1)[1], {}) if "$ref" in entry else entry
          for entry in listed]
    return {entry["name"] for entry in at if "name" in entry}


def generate(url):
    """file name -> text, of all files that are made of the catalogue."""
    contract = openapi_aliases.whole((ROOT / "openapi.yaml").read_text(encoding="utf-8"))
    by_hand = re.sub(r"(?m)^ *# generated: (?:parameters of|encodings|views).*\n(?:.*\n)*?"
                     r" *# end\n", "", contract)
    referred = set(re.findall('"#/components/parameters/(.*?)"', by_hand))
    by_hand = yaml.load(by_hand, Loader)
    catalogue = Catalogue(url, {name: own_names(by_hand, name) for name in FUNCTIONS},
                          by_hand["components"]["schemas"], referred)
    regions = {"views": regions_of.views(catalogue), "encodings": regions_of.schemas(catalogue),
               "answers of views": regions_of.answers(catalogue),
               "examples of the catalogue": regions_of.catalogue_examples(catalogue),
               "bodies of views": regions_of.bodies(catalogue),
               "parameters of views": openapi_parameters.components(catalogue)}
    regions |= openapi_formats.regions(
        catalogue, re.findall(r"# generated: formats of (\w+)", contract))
    for function in FUNCTIONS:
        regions[f"parameters of {function}"] = regions_of.function_parameters(catalogue, function)
    for path in re.findall(r"# generated: answers of (/\S+)", contract):
        regions[f"answers of {path}"] = regions_of.function_answers(
            catalogue, path, by_hand["paths"][path]["post"])
    for name, text in regions.items():
        contract = region_set(contract, "#", name, text)
    contract = openapi_aliases.shortened(contract)
    reference = region_set((ROOT / "docs/reference.md").read_text(encoding="utf-8"), "<!--",
                           "encodings", regions_of.encodings_table(catalogue))
    document = as_json(contract)
    functions = openapi_python.functions(
        (ROOT / openapi_python.SOURCE).read_text(encoding="utf-8"), json.loads(document))
    return {"openapi.yaml": contract, "openapi.json": document, "docs/reference.md": reference,
            openapi_python.SOURCE: functions}


def region_set(whole, mark, name, text):
    pattern = rf"(?m)^( *{mark} generated: {name}(?: -->)?\n)(?:.*\n)*?( *{mark} end)"
    assert re.search(pattern, whole), f"no region {name}"
    return re.sub(pattern, lambda found: found.group(1) + text + found.group(2), whole, count=1)


def as_json(text):
    return json.dumps(yaml.load(text, Loader), ensure_ascii=False, separators=(",", ":"),
                      allow_nan=False) + "\n"


def main():
    with tempfile.NamedTemporaryFile() as log:
        server = subprocess.Popen([ROOT / "build/posencd", "--port", "0", "--drain-delay", "0",
                                   "--tables", ROOT / "tests/data/tables"],
                                  stdout=log, stderr=log)
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
