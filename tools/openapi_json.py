#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes openapi.json of openapi.yaml (needs PyYAML). --check says whether it is up to date."""
import json
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Loader(yaml.SafeLoader):
    """Dates and the like stay the text that they are: JSON has nothing else."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def main():
    document = yaml.load((ROOT / "openapi.yaml").read_text(encoding="utf-8"), Loader)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
    target = ROOT / "openapi.json"
    if "--check" in sys.argv[1:]:
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            sys.exit("openapi.json is not what openapi.yaml makes; run make openapi-json")
        return
    target.write_text(text, encoding="utf-8")


main()
