# SPDX-License-Identifier: MIT
"""Parameters of the query in openapi.yaml: one component each, as wide as all that take it."""

import collections
import functools

from openapi_catalogue import camel, ref

USUAL_UNITS = ("positions", "elements")  # of places and of widths, as `info` says
RANGE = r"-?[0-9.]+(e[0-9]+)?(\.\.-?[0-9]+)?"  # 5, 1e3, -3..-1


def schema_of(about):
    """A parameter of the catalogue as a schema: what JSON Schema does not know is an extension."""
    names = {"aliases": "x-aliases", "unit": "x-unit"}
    schema = {
        names.get(key, key): value
        for key, value in about.items()
        if key != "unit" or value not in USUAL_UNITS
    }
    if schema["type"] == ["array", "string"]:
        del schema["type"], schema["items"]
        choices = [{"type": "array", "items": about["items"]}, {"type": "string"}]
        schema = {"anyOf": choices} | schema
    return schema


def bound(found, key, exclusive, pick):
    """The widest limit of one side; a schema without one has none."""
    limits = [(about[name], name) for about in found for name in (key, exclusive) if name in about]
    if len(limits) < len(found):
        return {}
    value = pick(limit for limit, _ in limits)
    names = {name for limit, name in limits if limit == value}
    return {key if key in names else exclusive: value}


def items_of(found):
    nested = [about for about in found if "anyOf" in about]
    return nested[0] if nested else widest(found)


def widest(found):
    """One description that all of them fit. No default where they differ."""
    found = [about for i, about in enumerate(found) if about not in found[:i]]
    if len(found) == 1:
        return found[0]
    types = [about["type"] for about in found]
    schema = {"type": "number" if set(map(str, types)) == {"integer", "number"} else types[0]}
    assert schema["type"] == "number" or all(kind == types[0] for kind in types), found
    if "enum" in found[0]:
        schema["enum"] = list(dict.fromkeys(word for about in found for word in about["enum"]))
    if "items" in found[0]:
        schema["items"] = items_of([about["items"] for about in found])
    schema |= bound(found, "minimum", "exclusiveMinimum", min)
    schema |= bound(found, "maximum", "exclusiveMaximum", max)
    for key in ("default", "unit", "description"):
        if key in found[0] and all(about.get(key) == found[0][key] for about in found):
            schema[key] = found[0][key]
    aliases = dict.fromkeys(alias for about in found for alias in about.get("aliases", []))
    return schema | ({"aliases": list(aliases)} if aliases else {})


@functools.cache
def shared(catalogue):
    """name -> component: the parameters that mean one thing wherever they are taken."""
    found = {}
    for name in catalogue.all_names():
        said = [about for _, about in catalogue.uses(name)]
        if all(about == said[0] for about in said):
            key = camel(name)
            found[name] = key if key not in catalogue.schemas else key + "Parameter"
    return found


@functools.cache
def repeated(catalogue):
    """component -> description: what several encodings, but not all, say of a parameter."""
    found = {}
    for name in set(catalogue.all_names()) - set(shared(catalogue)):
        said = [
            (entry["name"], entry["parameters"]["properties"][name])
            for entry in catalogue.entries
            if name in entry["parameters"]["properties"]
        ]
        for first, about in said:
            if sum(about == other for _, other in said) > 1:
                if about not in found.values():
                    found[camel(first, name)] = about
    return dict(sorted(found.items()))


@functools.cache
def manifold(catalogue):
    """name -> component: the parameters that mean something else with each encoding, as wide as
    all of them together; but lists, which are text in a query."""
    found = {}
    for name in catalogue.all_names():
        used = [about for _, about in catalogue.uses(name)]
        if name not in shared(catalogue) and not isinstance(used[0]["type"], list):
            found[name] = camel("any", name)
    return found


def manifold_schema(catalogue, name):
    found = [about for _, about in catalogue.uses(name)]
    schema = schema_of(widest([at | {"description": ""} for at in found]))
    schema.pop("default", None)
    return schema | {"description": text_of(catalogue, name, None, taking(catalogue, name, None))}


def shared_schema(catalogue, name):
    about = next(about for _, about in catalogue.uses(name))
    text = about["description"] + by(catalogue, name, None, taking(catalogue, name, None))
    schema = schema_of(about | {"description": text})
    schema.pop("default", None)
    return schema


def schema_in(catalogue, name, found):
    """What a parameter is: where it means one thing everywhere, by reference."""
    names, about = shared(catalogue), widest(found)
    if name in names:
        default = {"default": about["default"]} if "default" in about else {}
        return ref("schemas", names[name]) | default
    key = next(
        (
            key
            for key, other in repeated(catalogue).items()
            if other == about and key.endswith(camel(name))
        ),
        None,
    )
    return ref("schemas", key) if key else schema_of(about)


def exact_schema(catalogue, name, about):
    """What a parameter is with one encoding: where it means something else with others, the schema
    of all of them but for what differs. Generators of types need choices where they stand."""
    schema = schema_in(catalogue, name, [about])
    if "$ref" in schema or name not in manifold(catalogue):
        return schema
    if "enum" in schema:  # described where all of them are
        return {key: value for key, value in schema.items() if key != "description"}
    whole = manifold_schema(catalogue, name) | {"description": about["description"]}
    if not set(whole) <= set(schema) | {"x-aliases", "x-unit"}:  # a bound that it has not
        return schema
    if "x-aliases" not in schema and "x-aliases" in whole:
        schema["x-aliases"] = []
    return ref("schemas", manifold(catalogue)[name]) | {
        key: value for key, value in schema.items() if value != whole.get(key)
    }


def wide_schema(catalogue, name):
    """What a parameter is with any encoding, by reference where that can be."""
    if name in manifold(catalogue):
        return ref("schemas", manifold(catalogue)[name])
    found = [about | {"description": ""} for _, about in catalogue.uses(name)]
    kept = ("description", "x-aliases", "x-unit", "default")
    return {
        key: value for key, value in schema_in(catalogue, name, found).items() if key not in kept
    }


def taking(catalogue, name, kind):
    return list(dict.fromkeys(encoding for encoding, _ in catalogue.uses(name, kind)))


def groups(catalogue, name):
    """The kinds of views in which a parameter is taken by other encodings than by those that take
    it anywhere: each such kind has a component of its own. None stands for all others."""
    everywhere = set(taking(catalogue, name, None))
    apart = [
        kind
        for kind, members in catalogue.kinds.items()
        if taking(catalogue, name, kind)
        and set(taking(catalogue, name, kind)) != everywhere & {e["name"] for e, _ in members}
    ]
    return [None] + apart


def component(catalogue, name, kind, required):
    """The component of a parameter in a kind of view; kind None: in a function."""
    key = camel(name, kind) if kind in groups(catalogue, name)[1:] else camel(name)
    return key[0].lower() + key[1:] + ("Required" if required and name in required else "")


def text_of(catalogue, name, kind, names):
    """The descriptions of a parameter by its encodings: first the one of most of them, then a list
    of the others."""
    said = {}
    for encoding, about in catalogue.uses(name, kind):
        if encoding not in said.setdefault(about["description"], []):
            said[about["description"]].append(encoding)
    most = max(said, key=lambda text: len(said[text]))
    if len(said) == 1:
        return most + by(catalogue, name, kind, names)
    if len(said[most]) < 3:
        most = None
    few = [f"- {', '.join(by)}: {text}" for text, by in said.items() if text != most]
    return "\n".join(([most, ""] if most else []) + few)


def by(catalogue, name, kind, names):
    """Who takes a parameter, where the schemas of encodings do not tell it."""
    told = len(names) == len(catalogue.entries) or told_by_schemas(catalogue, name, kind)
    return "" if told else f" For {', '.join(names)}."


def told_by_schemas(catalogue, name, kind):
    """Is a parameter taken by the encodings that have it in their schema, or else by all that have
    the view?"""
    for of in [kind] if kind else catalogue.kinds:
        takers = set(taking(catalogue, name, of))
        entries = [entry for entry, _ in catalogue.kinds[of]]
        have = {entry["name"] for entry in entries if name in catalogue.properties(entry)}
        if takers and takers != (have or {entry["name"] for entry in entries}):
            return False
    return True


def everybody(catalogue, name, kind):
    """Does every encoding take it that has a view with it? Else a default would be refused."""
    used = [of for of in ([kind] if kind else catalogue.kinds) if taking(catalogue, name, of)]
    return all(len(taking(catalogue, name, of)) == len(catalogue.kinds[of]) for of in used)


def parameter(catalogue, name, kind, required):
    found = [about for _, about in catalogue.uses(name, kind)]
    names = taking(catalogue, name, kind)
    schema = schema_in(catalogue, name, [at | {"description": ""} for at in found])
    schema.pop("description", None)
    if kind is None and name in manifold(catalogue):
        schema = wide_schema(catalogue, name) | {
            key: value for key, value in schema.items() if key == "default"
        }
    if not everybody(catalogue, name, kind):
        schema.pop("default", None)
    if "anyOf" in schema:  # in a query a list is text
        schema = {"type": "string", "pattern": f"^({RANGE}([,;]{RANGE})*)?$"}
    entry = {"name": name, "in": "query"} | ({"required": True} if required else {})
    if "$ref" not in schema:
        everywhere = taking(catalogue, name, None)
        entry["description"] = text_of(catalogue, name, None, everywhere)
    if (
        not told_by_schemas(catalogue, name, kind)
        and len(names) < len(catalogue.entries)
        and not (
            "$ref" in schema
            and name in shared(catalogue)
            and names == taking(catalogue, name, None)
        )
    ):  # else the schema's description says it
        entry["x-encodings"] = names
    if found[0]["type"] == "array":
        entry |= {"style": "form", "explode": False}
    return entry | {"schema": schema}


@functools.cache
def listed(catalogue):
    """(component -> the parameter, component -> how often the generated lists name it)."""
    made, count = {}, collections.Counter()
    for kind in catalogue.kinds:
        required = catalogue.required(kind)
        for name in catalogue.names(kind):
            key = component(catalogue, name, kind, required)
            own = kind if kind in groups(catalogue, name)[1:] else None
            made[key] = parameter(catalogue, name, own, name in required)
            count[key] += 1
    for function in catalogue.own:
        taken = {
            name
            for entry in catalogue.taking(function)
            for name in entry["parameters"]["properties"]
        } - catalogue.own[function]
        for name in taken:
            key = component(catalogue, name, None, False)
            made.setdefault(key, parameter(catalogue, name, None, False))
            count[key] += 1
    return made, count


def placed(catalogue, key):
    """A parameter in a list: by reference, or as it is where no other list has it."""
    made, count = listed(catalogue)
    alone = count[key] == 1 and key not in catalogue.referred
    return made[key] if alone else ref("parameters", key)


def components(catalogue):
    return {
        key: entry
        for key, entry in listed(catalogue)[0].items()
        if "$ref" in placed(catalogue, key)
    }
