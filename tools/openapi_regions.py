# SPDX-License-Identifier: MIT
"""Parts of openapi.yaml and docs/reference.md made of the catalogue, but for parameters."""
import functools
import json
import re
import urllib.parse

from openapi_catalogue import (FUNCTIONS, UNLISTED, Writer, alone, camel, flow, key_of, ref,
                               schema_name)
from openapi_parameters import (component, exact_schema, manifold, manifold_schema, placed,
                                repeated, schema_of, shared, shared_schema, wide_schema)

POSTED = ("application/x-npy", "application/x-safetensors", "application/octet-stream")
# What AnswerParameters and ConfigParameters have.
EVERYWHERE = ("flat", "data_format", "download", "revision", "config", "layer_type", "strict")


@functools.cache
def answer_text(catalogue, path):
    return catalogue.get(path).decode()


SHOWN = {"table": "rope", "frequencies": "rope", "bias": "alibi"}


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


def head(out, method, kind, summary, description):
    out.put(2, f"{method}:")
    out.put(3, f"operationId: {method}{camel(kind)}")
    out.put(3, "tags: [views]")
    out.put(3, f"summary: {alone(summary)}")
    out.put(3, f"description: {alone(description)}")


def path_name(catalogue, kind, members):
    """The parameter of the path: an encoding that has the view, or a stored table."""
    names = [entry["name"] for entry, _ in members]
    schema = {"type": "string", "enum": names}
    text = "An encoding that has this view."
    if "learned" in names:
        schema = {"anyOf": [schema, ref("schemas", "StoredName")]}
        text = "An encoding that has this view, or the name of a stored table."
    return {"name": "name", "in": "path", "required": True, "description": text,
            "schema": schema, "example": chosen(catalogue, kind)[0]["name"]}


def view_get(out, catalogue, kind, members):
    head(out, "get", kind, members[0][1]["title"], described(members))
    required = catalogue.required(kind)
    taken = [placed(catalogue, component(catalogue, name, kind, required))
             for name in catalogue.names(kind)]
    taken.append(ref("parameters", "ifNoneMatch"))
    out.put(3, f"parameters: {flow(taken)}")
    answers_put(out, {"200": "View", "206": "PartialContent", "304": "NotModified"})


def answers_put(out, names):
    """Some tools miss a failure that is not a number."""
    names = names | {"4XX": "Failure", "default": "Failure"}
    out.put(3, f"responses: {flow({key: ref('responses', at) for key, at in names.items()})}")


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


def view_post(out, kind, members):
    description = "Parameters in a body."
    tensors = {name: [entry["name"] for entry, view in members if name in view["tensors"]]
               for _, view in members for name in view["tensors"]}
    for name, names in tensors.items():
        named = " as table=tensor:NAME" if name == "table" else ""
        description += f" {' and '.join(names)} may be posted `{name}`{named}."
    if tensors:
        description += " tensor=NAME names that of an npy or raw body."
    head(out, "post", kind, members[0][1]["title"] + ", posted", description)
    taken = ("format", "viewTensor") if tensors else ("format",)
    out.put(3, f"parameters: {flow([ref('parameters', name) for name in taken])}")
    out.put(3, f"requestBody: {flow(ref('requestBodies', 'Tensors' if tensors else 'View'))}")
    answers_put(out, {"200": "View"})


def views(catalogue):
    out = Writer(0)
    for kind, members in catalogue.kinds.items():
        entry, view = members[0]
        out.put(1, view["href"].replace(f"/{entry['name']}/", "/{name}/", 1) + ":")
        out.put(2, f"parameters: [{flow(path_name(catalogue, kind, members))}]")
        view_get(out, catalogue, kind, members)
        view_post(out, kind, members)
    return out.text()


def bodies(catalogue):
    """What can be posted to a view; where it takes tensors, as them too."""
    out = Writer(2)
    for key, posted in (("View", ()), ("Tensors", POSTED)):
        kinds = {kind: members for kind, members in catalogue.kinds.items()
                 if any(view["tensors"] for _, view in members) == bool(posted)}
        out.put(0, key + ":")
        out.put(1, "required: true")
        out.put(1, "content:")
        out.put(2, "application/json:")
        out.put(3, f"schema: {flow(ref('schemas', 'ViewRequest'))}")
        out.put(3, "examples:")
        for kind, members in kinds.items():
            out.put(4, f"{kind}: {flow({'value': example_body(*chosen(catalogue, kind))})}")
        for media in posted:
            out.put(2, f"{media}: {flow({'schema': ref('schemas', 'Bytes')})}")
    return out.text()


def answers(catalogue):
    """An answer of each kind of view, to the request that the contract shows."""
    out = Writer(6)
    for kind, members in catalogue.kinds.items():
        answer = json.loads(answer_text(catalogue, chosen(catalogue, kind)[1]["example"]))
        out.put(0, f"{kind}: {flow({'value': answer})}")
    return out.text()


def named(catalogue, entry):
    """An encoding as an object: its name and parameters, and the layout that it was applied in."""
    properties = {"name": {"type": "string", "const": entry["name"]}}
    properties |= {name: exact_schema(catalogue, name, about)
                   for name, about in entry["parameters"]["properties"].items()}
    if "rotation" in entry["functions"]:
        properties.setdefault("layout", ref("schemas", "Layout"))
    return properties


def schemas(catalogue):
    out = Writer(2)
    out.put(0, "EncodingName:")
    out.put(1, "type: string")
    out.put(1, "description: The encodings that are built in.")
    out.put(1, f"enum: {flow([entry['name'] for entry in catalogue.entries])}")
    for entry in catalogue.entries:
        schema = {"type": "object", "description": entry["title"] + ".", "required": ["name"],
                  "properties": named(catalogue, entry), "additionalProperties": False}
        out.put(0, f"{schema_name(entry['name'])}: {flow(schema)}")
    out.put(0, "Encoding:")
    out.put(1, "description: An encoding with its parameters, as answers name it.")
    names = [entry["name"] for entry in catalogue.entries] + list(UNLISTED)
    found = {name: ref("schemas", schema_name(name)) for name in names}
    out.put(1, f"oneOf: {flow(list(found.values()))}")
    mapping = {name: at["$ref"] for name, at in found.items()}
    out.put(1, f"discriminator: {flow({'propertyName': 'name', 'mapping': mapping})}")
    for function in FUNCTIONS:
        function_schemas(out, catalogue, function)
    for name, key in shared(catalogue).items():
        out.put(0, f"{key}: {flow(shared_schema(catalogue, name))}")
    for name, key in manifold(catalogue).items():
        out.put(0, f"{key}: {flow(manifold_schema(catalogue, name))}")
    for key, about in repeated(catalogue).items():
        out.put(0, f"{key}: {flow(schema_of(about))}")
    of_encodings = {name: None for entry in catalogue.entries
                    for name in entry["parameters"]["properties"]}
    own = set.union(*catalogue.own.values())
    parameters_put(out, catalogue, "EncodingParameters", "Parameters of any encoding.",
                   [name for name in of_encodings if name not in own])
    parameters_put(out, catalogue, "ViewParameters", "What any view takes besides.",
                   [name for name in catalogue.all_names() if name not in EVERYWHERE
                    and (name in own or name not in of_encodings)])
    return out.text()


def parameters_put(out, catalogue, key, text, names):
    out.put(0, key + ":")
    out.put(1, f"description: {text}")
    out.put(1, "type: object")
    out.put(1, f"properties: {flow({name: wide_schema(catalogue, name) for name in names})}")


def function_schemas(out, catalogue, function):
    names = names_of(catalogue, function)
    choices = [{"type": "string", "enum": names},
               *(ref("schemas", schema_name(name)) for name in names),
               ref("schemas", "EncodingOfConfig")]
    if "learned" in names:
        choices.insert(1, ref("schemas", "StoredName"))
    out.put(0, camel(function, "encoding") + ":")
    out.put(1, f"description: {function.capitalize()} takes these, by name or with parameters.")
    out.put(1, f"anyOf: {flow(choices)}")


def names_of(catalogue, function):
    return [entry["name"] for entry in catalogue.taking(function)] + \
        list(UNLISTED) * (function == "attention")


def function_parameters(catalogue, function):
    """The query of a function: the parameters of its encodings."""
    out = Writer(4)
    names = names_of(catalogue, function)
    schema = {"type": "string", "enum": names}
    if "learned" in names:
        schema = {"anyOf": [schema, ref("schemas", "StoredName")]}
    listed = [{"name": "encoding", "in": "query", "description": "The name of an encoding.",
               "schema": schema}]
    taken = {name: None for entry in catalogue.taking(function)
             for name in entry["parameters"]["properties"] if name not in catalogue.own[function]}
    listed += [placed(catalogue, component(catalogue, name, None, False)) for name in taken]
    out.put(0, flow(listed)[1:-1] + ",")
    return out.text()


def catalogue_examples(catalogue):
    """An answer without what is long: parameters, views, most of the encodings and tables."""
    found = json.loads(catalogue.get("/v1/encodings?family=absolute"))
    found["encodings"] = [entry for entry in found["encodings"] if entry["name"] == "index"]
    del found["tables"][:-1]
    for entry in found["encodings"]:
        entry["parameters"]["properties"] = {}
        entry["operations"] = []
    return f"            shortened: {flow({'value': found})}\n"


def function_answers(catalogue, path, operation):
    """The answers of the service to the examples of bodies that are written by hand."""
    out = Writer(6)
    body = operation["requestBody"]["content"]["application/json"]
    for name, example in body["examples"].items():
        answer = json.loads(catalogue.post(path, example["value"]))
        if "candidates" in answer:  # the best is enough for an example
            del answer["candidates"][1:]
        out.put(0, f"{key_of(name)}: {flow({'value': answer})}")
    return out.text()


def encodings_table(catalogue):
    lines = ["| encoding | family | what | views | functions |", "|---|---|---|---|---|"]
    for entry in catalogue.entries:
        names = ", ".join(view["name"] for view in entry["operations"])
        lines.append(f"| `{entry['name']}` | {entry['family']} | {entry['title']} | {names} | "
                     f"{', '.join(entry['functions'])} |")
    return "\n".join(lines) + "\n"
