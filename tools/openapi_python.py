# SPDX-License-Identifier: MIT
"""The keyword parameters of the Python package's functions, from openapi.json: the lines between
`# generated: parameters of NAME` and `# end` of clients/python/src/posenc/_functions.py."""

import re
import textwrap

SOURCE = "clients/python/src/posenc/_functions.py"
VIEWS = "/v1/encodings/{name}/"

# The paths of each function; a view has those of its kind.
PATHS = {
    "table": [VIEWS + "table"],
    "frequencies": [VIEWS + "frequencies"],
    "bias": [VIEWS + "bias"],
    "rotate": ["/v1/rotation"],
    "attention": ["/v1/attention"],
    "embedding": ["/v1/embedding"],
    "layout": ["/v1/layout"],
    "config": ["/v1/config"],
    "diagnose": ["/v1/diagnosis"],
    "positions": ["/v1/positions"],
    "diagnose_positions": ["/v1/positions"],
    "compare": ["/v1/comparison"],
    "golden": ["/v1/golden"],
    "check": ["/v1/check"],
}

# Tensors whose names the contract says in words.
TENSORS = {"view": ["weights"], "bias": ["weights"], "rotate": ["cos", "sin"]}

# Parameters of files, pictures and formats, which posenc.request takes.
FORMATS = {
    "format",
    "flat",
    "data_format",
    "download",
    "revision",
    "tensor",
    "plot",
    "plot_columns",
    "plot_width",
    "plot_height",
    "plot_scale",
    "colormap",
    "theme",
    "title",
    "lang",
    "tensors",
    "tables",
}
TYPES = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


class Contract:
    def __init__(self, document):
        self.document = document

    def resolved(self, item):
        while "$ref" in item:
            found = self.document
            for key in item["$ref"].removeprefix("#/").split("/"):
                found = found[key]
            item = {**found, **{key: value for key, value in item.items() if key != "$ref"}}
        return item

    def python_type(self, schema):
        """int of {"type": "integer"}, str of a choice; Any where values have several types, or are
        lists, whose text in a query is a string."""
        schema = self.resolved(schema)
        if schema.get("type") == "string" and "enum" not in schema:
            return "Any"
        return TYPES.get(str(schema.get("type")), "Any")

    def body(self, operation):
        content = self.resolved(operation.get("requestBody", {})).get("content", {})
        schema = self.resolved(content.get("application/json", {}).get("schema", {}))
        return {name: self.resolved(item) for name, item in schema.get("properties", {}).items()}

    def parameters(self, path):
        """name -> type, of the queries and bodies of a path."""
        found = {}
        for method, operation in self.document["paths"][path].items():
            if method not in ("get", "post"):
                continue
            for item in map(self.resolved, operation.get("parameters", [])):
                if item["in"] == "query":
                    found[item["name"]] = self.python_type(item["schema"])
            body = self.body(operation)
            for name, schema in body.items():
                kind = self.python_type(schema)
                found[name] = kind if found.get(name, kind) == kind else "Any"
            # A tensor may have the name of a parameter.
            found |= dict.fromkeys(body.get("tensors", {}).get("properties", {}), "Any")
        if "dtype" in found:
            found["dtype"] = "Any"  # of NumPy and torch too
        return {name: kind for name, kind in found.items() if name not in FORMATS}


def merged(maps):
    found = {}
    for one in maps:
        for name, kind in one.items():
            found[name] = kind if found.get(name, kind) == kind else "Any"
    return found


def region(contract, name, by_hand, indent):
    paths = PATHS.get(name) or [
        path for path in contract.document["paths"] if path.startswith(VIEWS)
    ]
    found = merged(map(contract.parameters, paths)) | dict.fromkeys(TENSORS.get(name, ()), "Any")
    texts = [
        f"{key}: {kind if kind == 'Any' else kind + ' | None'} = None,"
        for key, kind in sorted(found.items())
        if key not in by_hand
    ]
    # A parameter is not broken between lines.
    packed = textwrap.fill(
        " ".join(text.replace(" ", "\0") for text in texts),
        100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return packed.replace("\0", " ") + "\n"


def functions(source, document):
    """The source with its regions written anew."""
    contract = Contract(document)
    pattern = re.compile(
        r"(?P<head>    def (?P<name>\w+)\((?P<by_hand>[^)]*?)\n)"
        r"(?P<mark>(?P<indent> *)# generated: parameters of \w+\n)"
        r"(?:.*\n)*?(?P<end> *# end\n)"
    )

    def made(found):
        by_hand = set(re.findall(r"(\w+):", found["by_hand"]))
        text = region(contract, found["name"], by_hand, found["indent"])
        return found["head"] + found["mark"] + text + found["end"]

    return pattern.sub(made, source)
