# SPDX-License-Identifier: MIT
"""The parts of openapi.yaml and docs/reference.md that are made of the catalogue, except the
parameters."""

import functools
import json
import re
import urllib.parse

from openapi_catalogue import FUNCTIONS, UNLISTED, camel, ref, schema_name
from openapi_parameters import (
    component,
    exact_schema,
    manifold,
    manifold_schema,
    placed,
    repeated,
    schema_of,
    shared,
    shared_schema,
    wide_schema,
)

POSTED = ("application/x-npy", "application/x-safetensors", "application/octet-stream")
# What AnswerParameters and ConfigParameters have.
EVERYWHERE = ("flat", "data_format", "download", "revision", "config", "layer_type", "strict")


@functools.cache
def answer_text(catalogue, path):
    return catalogue.get(path).decode()


HOST = "http://127.0.0.1:8080"
SHORTENED = "Shortened"  # the summary of an example that is a part of the answer
SHOWN = {
    "table": "rope",
    "frequencies": "rope",
    "similarity": "sinusoidal",
    "decay": "rope",
    "uniqueness": "sinusoidal",
    "wavelengths": "rope",
    "bias": "alibi",
}

# Further examples of posted views: what the shortest one does not show.
FURTHER = {
    "table": {
        "resampled": (
            "learned",
            {
                "table": "tensor:e",
                "grid": [1, 2],
                "to": [1, 4],
                "mode": "bilinear",
                "align_corners": False,
                "antialias": False,
                "prefix": 1,
                "length": 5,
                "tensors": {"e": {"data": [[9, 9], [1, 0], [3, 8]]}},
            },
        )
    }
}


def further_path(kind, name):
    return f"/v1/encodings/{name}/{kind}"


def chosen(catalogue, kind):
    """The encoding that a kind of view is shown with: else the one with the shortest answer."""
    members = catalogue.kinds[kind]
    members = [found for found in members if found[0]["name"] == SHOWN.get(kind)] or members
    return min(members, key=lambda found: len(answer_text(catalogue, found[1]["example"])))


def described(members):
    """What the views of one kind answer with, and by whom."""
    said = {}
    for entry, view in members:
        said.setdefault(view["description"], []).append(entry["name"])
    if len(said) == 1:
        return next(iter(said))
    return "\n".join(f"- {', '.join(names)}: {text}" for text, names in said.items())


def head(method, kind, summary, description):
    return {
        "operationId": method + camel(kind),
        "tags": ["views"],
        "summary": summary,
        "description": description,
    }


def path_name(catalogue, kind, members):
    """The parameter of the path: an encoding that has the view, or a stored table."""
    names = [entry["name"] for entry, _ in members]
    schema = {"type": "string", "enum": names}
    text = "An encoding that has this view."
    if "learned" in names:
        schema = {"anyOf": [schema, ref("schemas", "StoredName")]}
        text = "An encoding that has this view, or the name of a stored table."
    return {
        "name": "name",
        "in": "path",
        "required": True,
        "description": text,
        "schema": schema,
        "example": chosen(catalogue, kind)[0]["name"],
    }


def code_sample(label, *words):
    """An example of a request, as a command of curl."""
    source = " ".join(["curl", *(word if word[0] == "-" else f"'{word}'" for word in words)])
    return {"x-codeSamples": [{"lang": "Shell", "label": label, "source": source}]}


def view_get(catalogue, kind, members):
    required = catalogue.required(kind)
    taken = [
        placed(catalogue, component(catalogue, name, kind, required))
        for name in catalogue.names(kind)
    ]
    taken.append(ref("parameters", "ifNoneMatch"))
    sample = code_sample(kind, HOST + chosen(catalogue, kind)[1]["example"])
    return head("get", kind, members[0][1]["title"], described(members)) | {
        "parameters": taken,
        **sample,
        "responses": responses({"200": "View", "206": "PartialContent", "304": "NotModified"}),
    }


def responses(names):
    """Some tools miss a failure that is not a number."""
    names = names | {"4XX": "Failure", "default": "Failure"}
    return {key: ref("responses", at) for key, at in names.items()}


def typed(text, schema):
    """A value of a query as it stands in a body."""
    if schema["type"] == "array" or schema["type"] == ["array", "string"]:
        return [typed(word, {"type": "number"}) for word in text.split(",")]
    if schema["type"] in ("integer", "number"):
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    return text == "true" if schema["type"] == "boolean" else text


def example_body(entry, view):
    known = entry["parameters"]["properties"] | view["parameters"]["properties"]
    query = urllib.parse.parse_qsl(urllib.parse.urlsplit(view["example"]).query)
    return {name: typed(text, known[name]) for name, text in query}


def view_post(catalogue, kind, members):
    description = "The same view, with the parameters in a body."
    tensors = {
        name: [entry["name"] for entry, view in members if name in view["tensors"]]
        for _, view in members
        for name in view["tensors"]
    }
    for name, names in tensors.items():
        named = ", to which table=tensor:NAME refers" if name == "table" else ""
        takes = "takes" if len(names) == 1 else "take"
        description += f" {' and '.join(names)} {takes} the tensor `{name}`{named}."
    if tensors:
        description += " The parameter `tensor` names the tensor of an npy or raw body."
    taken = ("format", "viewTensor") if tensors else ("format",)
    entry, view = chosen(catalogue, kind)
    href = view["example"].split("?")[0]
    sample = code_sample(kind, "--json", json.dumps(example_body(entry, view)), HOST + href)
    for label, (name, body) in FURTHER.get(kind, {}).items():
        more = code_sample(label, "--json", json.dumps(body), HOST + further_path(kind, name))
        sample["x-codeSamples"] += more["x-codeSamples"]
    return head("post", kind, members[0][1]["title"] + ", parameters in a body", description) | {
        "parameters": [ref("parameters", name) for name in taken],
        **sample,
        "requestBody": ref("requestBodies", "Tensors" if tensors else "View"),
        "responses": responses({"200": "View"}),
    }


def views(catalogue):
    found = {}
    for kind, members in catalogue.kinds.items():
        entry, view = members[0]
        found[view["href"].replace(f"/{entry['name']}/", "/{name}/", 1)] = {
            "parameters": [path_name(catalogue, kind, members)],
            "get": view_get(catalogue, kind, members),
            "post": view_post(catalogue, kind, members),
        }
    return found


def bodies(catalogue):
    """What can be posted to a view; where it takes tensors, as them too."""
    found = {}
    for key, posted in (("View", ()), ("Tensors", POSTED)):
        kinds = {
            kind: members
            for kind, members in catalogue.kinds.items()
            if any(view["tensors"] for _, view in members) == bool(posted)
        }
        examples = {kind: {"value": example_body(*chosen(catalogue, kind))} for kind in kinds}
        found[key] = {
            "required": True,
            "content": {
                "application/json": {"schema": ref("schemas", "ViewRequest"), "examples": examples},
                **{media: {"schema": ref("schemas", "Bytes")} for media in posted},
            },
        }
    return found


def answers(catalogue):
    """An answer of each kind of view, to the request that the contract shows, and those to further
    ones."""
    found = {
        kind: {"value": json.loads(answer_text(catalogue, chosen(catalogue, kind)[1]["example"]))}
        for kind in catalogue.kinds
    }
    for kind, examples in FURTHER.items():
        for label, (name, body) in examples.items():
            answer = catalogue.post(further_path(kind, name), body)
            found[label] = {"value": json.loads(answer)}
    return found


def named(catalogue, entry):
    """An encoding as an object: its name and parameters, and the layout that it was applied in."""
    properties = {"name": {"type": "string", "const": entry["name"]}}
    properties |= {
        name: exact_schema(catalogue, name, about)
        for name, about in entry["parameters"]["properties"].items()
    }
    if "rotation" in entry["functions"]:
        properties.setdefault("layout", ref("schemas", "Layout"))
    return properties


def schemas(catalogue):
    found = {
        "EncodingName": {
            "type": "string",
            "description": "The name of a built-in encoding.",
            "enum": [entry["name"] for entry in catalogue.entries],
        }
    }
    for entry in catalogue.entries:
        found[schema_name(entry["name"])] = {
            "type": "object",
            "description": entry["title"] + ".",
            "required": ["name"],
            "properties": named(catalogue, entry),
            "additionalProperties": False,
        }
    found["Encoding"] = any_encoding(catalogue)
    for function in FUNCTIONS:
        found[camel(function, "encoding")] = function_schema(catalogue, function)
    found |= {key: shared_schema(catalogue, name) for name, key in shared(catalogue).items()}
    found |= {key: manifold_schema(catalogue, name) for name, key in manifold(catalogue).items()}
    found |= {key: schema_of(about) for key, about in repeated(catalogue).items()}
    of_encodings = {
        name: None for entry in catalogue.entries for name in entry["parameters"]["properties"]
    }
    own = set.union(*catalogue.own.values())
    found["EncodingParameters"] = wide_object(
        catalogue,
        "The parameters of all encodings.",
        [name for name in of_encodings if name not in own],
    )
    found["ViewParameters"] = wide_object(
        catalogue,
        "The further parameters of all views.",
        [
            name
            for name in catalogue.all_names()
            if name not in EVERYWHERE and (name in own or name not in of_encodings)
        ],
    )
    return found


def any_encoding(catalogue):
    names = [entry["name"] for entry in catalogue.entries] + list(UNLISTED)
    found = {name: ref("schemas", schema_name(name)) for name in names}
    mapping = {name: at["$ref"] for name, at in found.items()}
    return {
        "description": "An encoding with its parameters, in the form that answers give it.",
        "oneOf": list(found.values()),
        "discriminator": {"propertyName": "name", "mapping": mapping},
    }


def wide_object(catalogue, text, names):
    return {
        "description": text,
        "type": "object",
        "properties": {name: wide_schema(catalogue, name) for name in names},
    }


def function_schema(catalogue, function):
    names = names_of(catalogue, function)
    choices = [
        {"type": "string", "enum": names},
        *(ref("schemas", schema_name(name)) for name in names),
        ref("schemas", "EncodingOfConfig"),
    ]
    if "learned" in names:
        choices.insert(1, ref("schemas", "StoredName"))
    text = f"An encoding that {function} takes: its name, or an object with its parameters."
    return {"description": text, "anyOf": choices}


def names_of(catalogue, function):
    return [entry["name"] for entry in catalogue.taking(function)] + list(UNLISTED) * (
        function == "attention"
    )


def function_parameters(catalogue, function):
    """The query of a function: the parameters of its encodings."""
    names = names_of(catalogue, function)
    schema = {"type": "string", "enum": names}
    if "learned" in names:
        schema = {"anyOf": [schema, ref("schemas", "StoredName")]}
    listed = [
        {
            "name": "encoding",
            "in": "query",
            "description": "The name of the encoding.",
            "schema": schema,
        }
    ]
    taken = {
        name: None
        for entry in catalogue.taking(function)
        for name in entry["parameters"]["properties"]
        if name not in catalogue.own[function]
    }
    return listed + [placed(catalogue, component(catalogue, name, None, False)) for name in taken]


def first_property(parameters):
    return parameters | {"properties": dict(list(parameters["properties"].items())[:1])}


def shortened_entry(entry):
    """An entry of the catalogue with the first of its parameters and of its views."""
    operations = [
        view | {"parameters": first_property(view["parameters"])} for view in entry["operations"]
    ]
    return entry | {"parameters": first_property(entry["parameters"]), "operations": operations[:1]}


def catalogue_examples(catalogue):
    found = json.loads(catalogue.get("/v1/encodings?family=absolute"))
    shortened = {
        "encodings": [shortened_entry(entry) for entry in found["encodings"][:1]],
        "tables": found["tables"][-1:],
    }
    return {"absolute": {"summary": SHORTENED, "value": shortened}}


def entry_examples(catalogue):
    found = json.loads(catalogue.get("/v1/encodings/rope"))
    return {"rope": {"summary": SHORTENED, "value": shortened_entry(found)}}


def function_answers(catalogue, path, operation):
    """The answers of the service to the examples of bodies that are written by hand."""
    found = {}
    body = operation["requestBody"]["content"]["application/json"]
    for name, example in body["examples"].items():
        answer = json.loads(catalogue.post(path, example["value"]))
        if "candidates" in answer:  # the best is enough for an example
            del answer["candidates"][1:]
        found[name] = {"value": answer}
    return found


def encodings_table(catalogue):
    lines = ["| encoding | family | description | views | functions |", "|---|---|---|---|---|"]
    for entry in catalogue.entries:
        names = ", ".join(view["name"] for view in entry["operations"])
        lines.append(
            f"| `{entry['name']}` | {entry['family']} | {entry['title']} | {names} | "
            f"{', '.join(entry['functions'])} |"
        )
    return "\n".join(lines) + "\n"
