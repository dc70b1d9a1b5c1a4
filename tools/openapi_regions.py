# SPDX-License-Identifier: MIT
"""The parts of openapi.yaml and README.md that are made of the catalogue."""
import json
import re
import urllib.parse
import urllib.request

REFUSALS = {"400": "Malformed", "406": "NotAcceptable", "409": "RevisionUnavailable",
            "413": "TooLarge", "422": "Invalid", "503": "Busy"}
HEADERS = ("X-Request-Id", "Server-Timing", "Vary", "Content-Encoding", "ETag", "Cache-Control",
           "Content-Disposition", "Encoding-Parameters", "Encoding-Warnings", "Tensor-Dtype",
           "Tensor-Shape")
POSTED = ("application/x-npy", "application/x-safetensors", "application/octet-stream")
RANGE = r"-?[0-9.]+(e[0-9]+)?(\.\.-?[0-9]+)?"  # 5, 1e3, -3..-1
FUNCTIONS = ("rotation", "attention", "embedding")


def camel(*names):
    words = re.split(r"[^A-Za-z0-9]+", " ".join(names))
    return "".join(word[:1].upper() + word[1:] for word in words)


def ref(*path):
    return {"$ref": "#/components/" + "/".join(path)}


def flow(value):
    """YAML on one line. JSON is such, but for floats: YAML 1.1 wants a dot in them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_of(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)


def key_of(text):
    return text if re.fullmatch(r"[A-Za-z_$][\w$-]*", text) and text not in ("y", "n") else \
        json.dumps(text)


def schema_of(described):
    """A parameter of the catalogue as a schema: what JSON Schema does not know is an extension."""
    names = {"aliases": "x-aliases", "unit": "x-unit"}
    schema = {names.get(key, key): value for key, value in described.items()}
    if schema["type"] == ["array", "string"]:
        schema["pattern"] = f"^({RANGE}(,{RANGE})*)?$"
    return schema


def query_parameter(name, described, required, schema):
    entry = {"name": name, "in": "query"}
    if required:
        entry["required"] = True
    if "array" in described["type"]:
        entry |= {"style": "form", "explode": False}
    return entry | {"schema": schema}


class Writer:
    """Lines of block YAML, with the leaves on one line each."""

    def __init__(self, indent):
        self.lines, self.indent = [], indent

    def put(self, depth, text):
        self.lines.append("  " * (self.indent + depth) + text)

    def text(self):
        return "\n".join(self.lines) + "\n"


class Catalogue:
    def __init__(self, url):
        self.url = url
        self.entries = json.loads(self.get("/v1/encodings"))["encodings"]
        self.about = json.loads(self.get("/v1"))
        # media type -> schema of every format of tensors but JSON
        self.formats = {at["media_type"]: {"type": "string"} if at["media_type"].startswith("text/")
                        else ref("schemas", "Binary")
                        for at in self.about["formats"] if at["name"] != "json"}
        seen = {}
        for entry in self.entries:
            for view in entry["operations"]:
                for name, described in view["parameters"]["properties"].items():
                    if described not in seen.setdefault(name, []):
                        seen[name].append(described)
        # A parameter that means one thing in all views that have it stands once.
        self.common = {name: found[0] for name, found in seen.items() if len(found) == 1}

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

    def encoding_schema(self, entry, name):
        return ref("schemas", camel(entry["name"], "parameters"), "properties", name)

    def view_schema(self, name, described):
        if name in self.common:
            return ref("schemas", "ViewParameters", "properties", name)
        return schema_of(described)


# ---- what each region holds ----------------------------------------------------------------------


def responses(out, status200, others, with_body):
    out.put(3, "responses:")
    out.put(4, f'"200": {flow(status200)}')
    refusals = dict(REFUSALS)
    if with_body:
        refusals["415"] = "UnsupportedMediaType"
    else:
        refusals |= {"206": "PartialContent", "304": "NotModified", "416": "RangeNotSatisfiable"}
    for status, name in sorted((refusals | others).items()):
        out.put(4, f'"{status}": {flow(ref("responses", name))}')
    out.put(4, f"default: {flow(ref('responses', 'AnyFailure'))}")


def head(out, method, operation_id, summary, description):
    out.put(2, f"{method}:")
    out.put(3, f"operationId: {operation_id}")
    out.put(3, "tags: [views]")
    out.put(3, f"summary: {flow(summary)}")
    out.put(3, f"description: {flow(description)}")


def own_and_common(catalogue, entry, view):
    """(name, description, required, schema) of all that a view takes."""
    for source, schema in ((entry["parameters"], None), (view["parameters"], view)):
        for name, described in source["properties"].items():
            of = catalogue.view_schema(name, described) if schema else \
                catalogue.encoding_schema(entry, name)
            yield name, described, name in source["required"], of


def view_get(out, catalogue, entry, view, answer):
    name = camel(entry["name"], view["name"])
    head(out, "get", "get" + name, f"{entry['name']}: {view['title']}", view["description"])
    out.put(3, "parameters:")
    for parameter in own_and_common(catalogue, entry, view):
        entry_of = ref("parameters", "format") if parameter[0] == "format" else \
            query_parameter(*parameter)
        out.put(4, f"- {flow(entry_of)}")
    for header in ("ifNoneMatch", "range", "ifRange"):
        out.put(4, f"- {flow(ref('parameters', header))}")
    sample = {"lang": "Shell", "label": entry["name"],
              "source": f"curl 'http://127.0.0.1:8080{view['example']}'"}
    out.put(3, "x-codeSamples:")
    out.put(4, f"- {flow(sample)}")
    responses(out, ref("responses", answer), {}, False)


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


def view_post(out, catalogue, entry, view, answer):
    name = camel(entry["name"], view["name"])
    description = ("The same view where the parameters do not fit a URL; a query means the same "
                   "here too.")
    if view["tensors"]:
        posted = ", ".join(f"`{tensor}`" for tensor in view["tensors"])
        description += f" It takes {posted}; a body of one tensor names it, tensor=NAME."
    head(out, "post", "post" + name, f"{entry['name']}: {view['title']}, parameters in a body",
         description)
    out.put(3, "parameters:")
    out.put(4, f"- {flow(ref('parameters', 'format'))}")
    if view["tensors"]:
        out.put(4, f"- {flow(ref('parameters', 'functionTensor'))}")
    properties = {parameter: schema for parameter, _, _, schema in
                  own_and_common(catalogue, entry, view)
                  if parameter not in entry["parameters"]["properties"] and parameter != "format"}
    properties["config"] = ref("schemas", "ConfigParameters", "properties", "config")
    if view["tensors"]:
        properties["tensors"] = {"type": "object", "properties": {
            tensor: ref("schemas", "Tensor") for tensor in view["tensors"]},
            "additionalProperties": False}
    out.put(3, "requestBody:")
    out.put(4, "required: true")
    out.put(4, "content:")
    out.put(5, "application/json:")
    out.put(6, "schema:")
    out.put(7, f"allOf: [{flow(ref('schemas', camel(entry['name'], 'parameters')))}]")
    out.put(7, "properties:")
    for parameter, schema in properties.items():
        out.put(8, f"{key_of(parameter)}: {flow(schema)}")
    out.put(7, "unevaluatedProperties: false")
    out.put(6, "examples:")
    out.put(7, f"{entry['name']}: {flow({'value': example_body(entry, view)})}")
    for kind in POSTED if view["tensors"] else ():
        out.put(5, f"{kind}: {flow({'schema': ref('schemas', 'Binary')})}")
    responses(out, ref("responses", answer), {}, True)


def view_options(out, entry, view):
    head(out, "options", "preflight" + camel(entry["name"], view["name"]), "Preflight",
         "What a browser asks before it posts from another origin.")
    out.put(3, "responses:")
    for status, name in (("204", "Preflight"), ("400", "Malformed")):
        out.put(4, f'"{status}": {flow(ref("responses", name))}')
    out.put(4, f"default: {flow(ref('responses', 'AnyFailure'))}")


def views(catalogue):
    out = Writer(0)
    for entry in catalogue.entries:
        for view in entry["operations"]:
            answer = camel(view["name"], "view")
            out.put(1, view["href"] + ":")
            view_get(out, catalogue, entry, view, answer)
            view_post(out, catalogue, entry, view, answer)
            view_options(out, entry, view)
    return out.text()


def answers(catalogue):
    """One response for each kind of view, with an example of every encoding that has it."""
    kinds = {}
    for entry in catalogue.entries:
        for view in entry["operations"]:
            kinds.setdefault(view["name"], []).append((entry, view))
    out = Writer(0)
    for kind, members in kinds.items():
        out.put(2, camel(kind, "view") + ":")
        out.put(3, f"description: {flow('The ' + kind + '.')}")
        out.put(3, "headers:")
        for header in HEADERS:
            out.put(4, f"{header}: {flow(ref('headers', header))}")
        out.put(3, "content:")
        out.put(4, "application/json:")
        out.put(5, f"schema: {flow(ref('schemas', 'TensorsAnswer'))}")
        out.put(5, "examples:")
        for entry, view in members:
            answer = json.loads(catalogue.get(view["example"]))
            out.put(6, f"{entry['name']}: {flow({'value': answer})}")
        for media_type, schema in catalogue.formats.items():
            out.put(4, f"{media_type}: {flow({'schema': schema})}")
    return out.text()


def properties_put(out, name, described):
    out.put(2, name + ":")
    out.put(3, "type: object")
    out.put(3, "properties:" if described else "properties: {}")
    for parameter, schema in described.items():
        out.put(4, f"{key_of(parameter)}: {flow(schema_of(schema))}")


def named(entry, layout):
    """An encoding as an object: its name and parameters, and the layout that it was applied in."""
    properties = {"name": {"const": entry["name"]}}
    if layout:
        properties["layout"] = ref("schemas", "Layout")
    return {"allOf": [ref("schemas", camel(entry["name"], "parameters"))],
            "required": list(properties), "properties": properties, "unevaluatedProperties": False}


def schemas(catalogue):
    out = Writer(0)
    out.put(2, "EncodingName:")
    out.put(3, "type: string")
    out.put(3, f"enum: {flow([entry['name'] for entry in catalogue.entries])}")
    properties_put(out, "ViewParameters", {name: value for name, value in catalogue.common.items()
                                           if name != "format"})
    objects = {}
    for entry in catalogue.entries:
        name = camel(entry["name"])
        properties_put(out, name + "Parameters", entry["parameters"]["properties"])
        objects[entry["name"]] = [name + "Encoding"]
        out.put(2, f"{name}Encoding: {flow(named(entry, False))}")
        if "rotation" in entry["functions"] and "layout" not in entry["parameters"]["properties"]:
            objects[entry["name"]].append(name + "InUse")
            out.put(2, f"{name}InUse: {flow(named(entry, True))}")
    everything = [ref("schemas", name) for names in objects.values() for name in names]
    everything.append({"type": "object", "required": ["name"],
                       "properties": {"name": {"enum": ["none", "absolute"]}},
                       "additionalProperties": False})
    out.put(2, "ResolvedEncoding:")
    out.put(3, "description: An encoding with every parameter resolved.")
    out.put(3, f"anyOf: {flow(everything)}")
    in_use = [ref("schemas", name) for names in objects.values() for name in names[1:]]
    out.put(2, "RotationInUse:")
    out.put(3, "description: An encoding with the layout that it was applied in.")
    out.put(3, f"anyOf: {flow(in_use)}")
    for function in FUNCTIONS:
        entries = catalogue.taking(function)
        out.put(2, camel(function, "encoding") + ":")
        choices = [{"enum": names_of(catalogue, function)}]
        choices += [ref("schemas", name) for entry in entries for name in objects[entry["name"]]]
        out.put(3, f"anyOf: {flow(choices)}")
        out.put(2, camel(function, "encoding parameters") + ":")
        out.put(3, "type: object")
        out.put(3, "properties:")
        for name, _, schema in union(catalogue, function):
            out.put(4, f"{key_of(name)}: {flow(schema)}")
    return out.text()


def names_of(catalogue, function):
    return [entry["name"] for entry in catalogue.taking(function)] + \
        ["none", "absolute"] * (function == "attention")


def union(catalogue, function):
    """name -> (description, schema) of what any encoding of a function takes."""
    names = {}
    for entry in catalogue.taking(function):
        for name, described in entry["parameters"]["properties"].items():
            names.setdefault(name, []).append((entry, described))
    for name, found in names.items():
        different = []
        for entry, described in found:
            if described not in [seen for _, seen in different]:
                different.append((entry, described))
        of = [catalogue.encoding_schema(entry, name) for entry, _ in different]
        yield name, found[0][1], of[0] if len(of) == 1 else {"anyOf": of}


def function_parameters(catalogue, function, own):
    """The query of a function: what any of its encodings takes, but for names of its own."""
    out = Writer(0)
    chosen = {"name": "encoding", "in": "query", "description": "The name of an encoding.",
              "schema": {"type": "string", "enum": names_of(catalogue, function)}}
    out.put(4, f"- {flow(chosen)}")
    for name, described, schema in union(catalogue, function):
        parameter = query_parameter(name, described, False, schema)
        if "anyOf" in schema:
            parameter["description"] = described["description"]
        if name not in own:
            out.put(4, f"- {flow(parameter)}")
    return out.text()


def catalogue_examples(catalogue):
    found = {"relative": json.loads(catalogue.get("/v1/encodings?family=relative"))}
    out = Writer(0)
    for name, value in found.items():
        out.put(6, f"{name}: {flow({'value': value})}")
    return out.text()


def function_answers(catalogue, path, operation):
    """The answers of the service to the examples of bodies that are written by hand."""
    out = Writer(0)
    body = operation["requestBody"]["content"]["application/json"]
    for name, example in body["examples"].items():
        answer = json.loads(catalogue.post(path, example["value"]))
        out.put(6, f"{key_of(name)}: {flow({'value': answer})}")
    return out.text()


def entry_examples(catalogue):
    out = Writer(0)
    out.put(6, f"alibi: {flow({'value': json.loads(catalogue.get('/v1/encodings/alibi'))})}")
    return out.text()


def readme_table(catalogue):
    lines = ["| encoding | family | what | views | functions |", "|---|---|---|---|---|"]
    for entry in catalogue.entries:
        names = ", ".join(view["name"] for view in entry["operations"])
        lines.append(f"| `{entry['name']}` | {entry['family']} | {entry['title']} | {names} | "
                     f"{', '.join(entry['functions'])} |")
    return "\n".join(lines) + "\n"
