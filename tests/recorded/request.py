# SPDX-License-Identifier: MIT
"""One request of the list, and the short ways to write one down."""

import dataclasses
import urllib.parse

import bodies

# Values that only the running server knows stand in a request as {etag} and {revision}.


@dataclasses.dataclass(frozen=True)
class Request:
    name: str  # "group: what is asked", unique: answers are found by it
    method: str
    target: str
    headers: tuple = ()
    body: bytes | None = None
    server: str = "usual"  # which of record.SERVERS
    loose: bool = False  # status and content type alone are compared

    @property
    def group(self):
        return self.name.split(":")[0]


def words(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def query(parameters):
    return urllib.parse.urlencode(
        {key: words(value) for key, value in parameters.items()}, safe=",.:;{}"
    )


def ask(
    group, target, label="", method="GET", headers=None, body=None, server="usual", loose=False
):
    """The name is the label, or else the request line with the headers behind it."""
    headers = headers or {}
    told = label or " ".join(
        [
            method,
            target.removeprefix("/v1/encodings/"),
            *(f"[{key}: {value}]" for key, value in headers.items()),
        ]
    )
    return Request(f"{group}: {told}", method, target, tuple(headers.items()), body, server, loose)


def gets(group, lines, prefix="/v1/encodings/", **rest):
    """A GET for each line of a text; where a line has several words, each of them is put behind the
    first one. Blank lines and those that begin with # are left out."""
    found = []
    for line in lines.splitlines():
        first, *more = line.split() or ["#"]
        found += [] if first[0] == "#" else [first + word for word in more or [""]]
    return [ask(group, prefix + target, **rest) for target in found]


def post(group, label, path, parameters, tensors=None, form="nested", query_of=None, **rest):
    """JSON: parameters and tensors in the body, or some parameters in the query (query_of)."""
    target = path + ("?" + query(query_of) if query_of else "")
    headers = {"Content-Type": bodies.JSON} | rest.pop("headers", {})
    return ask(
        group, target, label, "POST", headers, bodies.json_bytes(parameters, tensors, form), **rest
    )


def post_file(group, label, path, parameters, tensors, kind="safetensors", **rest):
    """A body of tensors, the parameters in the query; npy and raw hold one tensor."""
    target = path + "?" + query(parameters)
    method = rest.pop("method", "POST")
    first = next(iter(tensors.values()))
    if kind == "npy":
        headers, body = {"Content-Type": bodies.NPY}, bodies.npy_bytes(first)
    elif kind == "raw":
        headers, body = bodies.raw_headers(first), bodies.element_bytes(first)
    else:
        headers, body = {"Content-Type": bodies.SAFETENSORS}, bodies.safetensors_bytes(tensors)
    return ask(group, target, label, method, headers | rest.pop("headers", {}), body, **rest)


def post_bytes(group, label, target, media, body, method="POST", headers=None, **rest):
    """A body as it is, mostly one that is wrong."""
    body = body if isinstance(body, bytes) else body.encode()
    kind = {"Content-Type": media} if media else {}
    return ask(group, target, label, method, kind | (headers or {}), body, **rest)
