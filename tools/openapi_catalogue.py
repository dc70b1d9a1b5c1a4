# SPDX-License-Identifier: MIT
"""The catalogue of the service, by kinds of views."""

import json
import re
import urllib.request

FUNCTIONS = ("rotation", "attention", "embedding")
UNLISTED = ("none", "absolute")  # what attention takes besides encodings of the catalogue

TEXT = ("text/", "image/svg+xml")  # media types of answers that are not bytes


def schema_name(encoding):
    """That of the encoding, but where generators of clients have a type of their own so called."""
    return {"binary": "binary-digits"}.get(encoding, encoding)


def camel(*names):
    words = re.split(r"[^A-Za-z0-9]+", " ".join(names))
    return "".join(word[:1].upper() + word[1:] for word in words)


def ref(*path):
    return {"$ref": "#/components/" + "/".join(path)}


class Catalogue:
    def __init__(self, url, own, schemas, referred):
        """`own`: function -> the names of parameters that it has itself; `schemas`: names of
        components that are written by hand; `referred`: components of parameters that what is
        written by hand refers to."""
        self.url, self.own, self.schemas, self.referred = url, own, schemas, referred
        self.entries = json.loads(self.get("/v1/encodings"))["encodings"]
        self.about = json.loads(self.get("/v1"))
        # media type -> schema of every format of tensors but JSON
        self.formats = {
            at["media_type"]: {"type": "string"}
            if at["media_type"].startswith(TEXT)
            else ref("schemas", "Bytes")
            for at in self.about["formats"]
            if at["name"] != "json"
        }
        self.kinds = {}  # name of a view -> the encodings that have it, with what they say of it
        for entry in self.entries:
            for view in entry["operations"]:
                self.kinds.setdefault(view["name"], []).append((entry, view))

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as response:
            return response.read()

    def post(self, path, body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()

    def taking(self, function):
        return [entry for entry in self.entries if function in entry["functions"]]

    @staticmethod
    def properties(entry):
        """The names that the schema of an encoding has: its parameters, and what it rotates in."""
        return {*entry["parameters"]["properties"]} | (
            {"layout"} if "rotation" in entry["functions"] else set()
        )

    def uses(self, name, kind=None):
        """(encoding, description) of a parameter, wherever it is taken or in one kind of view."""
        for of, members in self.kinds.items():
            for entry, view in members if kind in (None, of) else ():
                for source in (entry["parameters"], view["parameters"]):
                    if name in source["properties"]:
                        yield entry["name"], source["properties"][name]

    def names(self, kind):
        """The parameters that any encoding takes in one kind of view, in the order they come."""
        found = {}
        for part in (0, 1):
            for pair in self.kinds[kind]:
                found |= dict.fromkeys(pair[part]["parameters"]["properties"])
        return list(found)

    def all_names(self):
        return list(dict.fromkeys(name for kind in self.kinds for name in self.names(kind)))

    def required(self, kind):
        """The parameters that no encoding does without in this kind of view."""
        each = [
            set(entry["parameters"]["required"] + view["parameters"]["required"])
            for entry, view in self.kinds[kind]
        ]
        return set.intersection(*each)
