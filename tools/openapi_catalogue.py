# SPDX-License-Identifier: MIT
"""The catalogue of the service by kinds of views, and the writing of YAML."""
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


WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
FIRST, INSIDE = r"[A-Za-z(/]", r"[^\x00-\x1f:?,\[\]{}]*"  # of text that needs no quotes in a flow


def plain(text, inside=INSIDE):
    return re.fullmatch(FIRST + inside, text) and text.strip() == text and \
        " #" not in text and text.lower() not in WORDS


def flow(value):
    """YAML on one line. JSON is such, but for floats: YAML 1.1 wants a dot in them."""
    if isinstance(value, str) and plain(value):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_of(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)


def alone(value):
    """The same, as the whole rest of a line: text may have commas and brackets in it."""
    return value if isinstance(value, str) and plain(value, r"(?:[^\x00-\x1f:]|:(?! |$))*") \
        else flow(value)


def key_of(text):
    is_plain = re.fullmatch(r"[A-Za-z_$/][\w$/.{}-]*|[1-9]XX", text) and text not in ("y", "n")
    return text if is_plain else json.dumps(text)


class Writer:
    """Lines of block YAML, with the leaves on one line each."""

    def __init__(self, indent):
        self.lines, self.indent = [], indent

    def put(self, depth, text):
        self.lines.append("  " * (self.indent + depth) + text)

    def text(self):
        return "\n".join(self.lines) + "\n"


class Catalogue:
    def __init__(self, url, own, schemas, referred):
        """`own`: function -> the names of parameters that it has itself; `schemas`: names of
        components that are written by hand; `referred`: components of parameters that what is
        written by hand refers to."""
        self.url, self.own, self.schemas, self.referred = url, own, schemas, referred
        self.entries = json.loads(self.get("/v1/encodings"))["encodings"]
        self.about = json.loads(self.get("/v1"))
        # media type -> schema of every format of tensors but JSON
        self.formats = {at["media_type"]: {"type": "string"} if at["media_type"].startswith(TEXT)
                        else ref("schemas", "Bytes")
                        for at in self.about["formats"] if at["name"] != "json"}
        self.kinds = {}  # name of a view -> the encodings that have it, with what they say of it
        for entry in self.entries:
            for view in entry["operations"]:
                self.kinds.setdefault(view["name"], []).append((entry, view))

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as response:
            return response.read()

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()

    def taking(self, function):
        return [entry for entry in self.entries if function in entry["functions"]]

    @staticmethod
    def properties(entry):
        """The names that the schema of an encoding has: its parameters, and what it rotates in."""
        return {*entry["parameters"]["properties"]} | \
            ({"layout"} if "rotation" in entry["functions"] else set())

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
        each = [set(entry["parameters"]["required"] + view["parameters"]["required"])
                for entry, view in self.kinds[kind]]
        return set.intersection(*each)
