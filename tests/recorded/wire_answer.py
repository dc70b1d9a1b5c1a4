# SPDX-License-Identifier: MIT
"""Asks one request on a connection of its own and gives the answer in the form that is kept."""

import base64
import dataclasses
import hashlib
import http.client
import json
import re
import socket
import struct
import zlib

import zstandard

TEXT_MAX, HEX_MAX = 1200, 64
PROBLEM = "application/problem+json"

# Everything that differs from run to run or from machine to machine, and its replacement:
#   Date, Server-Timing         the clock: *
#   X-Request-Id, request_id    drawn for each request, unless the client sent one: *
#   ETag                        a digest of the request and the revision: "*" or W/"*"
#   revision                    of the server: {revision}
#   Content-Length              * for JSON, pictures and coded bodies, which may be written in other
#                               words; of a 304, where it depends on the cache
#   of GET /v1                  the instruction set, and flags that the machine or the test decides
#   coded bodies, pictures      are compared decoded: versions of zstd and zlib differ
VOLATILE_HEADERS = ("date", "server-timing")
VOLATILE_KEYS = (
    "isa",
    "port",
    "loops",
    "threads",
    "memory-budget",
    "memory_budget",
    "tables",
    "token-file",
)
REQUEST_ID = re.compile("[0-9a-f]{16}")
TAG = re.compile(r'(W/)?"[!#-~]+"')
EMBEDDED = re.compile(rb"data:image/png;base64,([\w+/=]+)")


def request_bytes(request, port, headers):
    names = {name.lower() for name in headers}
    lines = [f"{request.method} {request.target} HTTP/1.1"]
    if "host" not in names:
        lines.append(f"Host: 127.0.0.1:{port}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    body = request.body or b""
    if request.body is not None and "content-length" not in names:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def exchange(port, data, method):
    """The status, headers in lower case, and the body as it came."""
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        try:
            client.sendall(data)
        except OSError:
            pass  # refused while still sending: the answer counts
        response = http.client.HTTPResponse(client, method=method)
        response.begin()
        headers = response.getheaders()
        folded = {name.lower(): response.getheader(name) for name, _ in headers}
        return response.status, folded, response.read()


def decoded(body, coding):
    if coding == "zstd":
        with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
            return reader.read()
    if coding in ("gzip", "deflate"):
        return zlib.decompress(body, 31 if coding == "gzip" else 15)
    return body


def png_decoded(body):
    """The chunks of an image, its pixels decompressed."""
    at, pixels, out = 8, b"", body[:8]
    while at < len(body):
        size, kind = struct.unpack(">I4s", body[at : at + 8])
        chunk = body[at + 8 : at + 8 + size]
        pixels += chunk if kind == b"IDAT" else b""
        out += b"" if kind == b"IDAT" else kind + chunk
        at += 12 + size
    return out + zlib.decompress(pixels)


def digest(data):
    return hashlib.sha256(data).hexdigest()


@dataclasses.dataclass(frozen=True)
class Number:
    """A number of JSON by its digits: 0.5 is neither 5e-1 nor the string of these letters."""

    text: str


def unique(pairs):
    found = dict(pairs)
    assert len(found) == len(pairs), f"a key twice in {[key for key, _ in pairs]}"
    return found


def parsed(text):
    """The values of JSON, for == and exact to the last digit of numbers."""
    return json.loads(
        text, object_pairs_hook=unique, parse_float=Number, parse_int=Number, parse_constant=Number
    )


def parts_of(value):
    """A digest of each key of a large object, of each tensor, and of each entry of a list that has
    names: they show where two answers differ."""
    if not isinstance(value, dict):
        value = {"list": value}
    flat = {}
    for key, one in value.items():
        if key == "tensors" and isinstance(one, dict):
            flat |= {f"tensors/{name}": tensor for name, tensor in one.items()}
        elif (
            isinstance(one, list) and one and all(isinstance(x, dict) and "name" in x for x in one)
        ):
            flat |= {f"{key}/{index} {entry['name']}": entry for index, entry in enumerate(one)}
        else:
            flat[key] = one
    texts = {
        key: json.dumps(one, sort_keys=True, default=dataclasses.astuple)
        for key, one in flat.items()
    }
    return {key: digest(text.encode())[:8] for key, text in texts.items()}


def is_json(media):
    return media.split(";")[0].endswith("json")


def body_kept(body, media):
    """The text itself; of a large one the digests of its parts; of other bytes their hexadecimal
    digits, or the length and a digest."""
    if is_json(media) or media.startswith("text/plain"):
        text = body.decode("utf-8", "surrogateescape")
        if len(text) <= TEXT_MAX or media == PROBLEM:
            return {"text": text} if text else {}
        if is_json(media):
            return {"parts": parts_of(parsed(text))}
    if len(body) <= HEX_MAX:
        return {"hex": body.hex()} if body else {}
    return {"length": len(body), "sha256": digest(body)}


def is_about(request):
    return request.target.split("?")[0].rstrip("/").endswith("/v1")


def without_machine(text):
    for key in VOLATILE_KEYS:
        text = re.sub(rf'("{key}": ?)("[^"]*"|\d+)', r'\1"*"', text)
    return text


def ask(server, request, revision):
    """(what is kept of the answer, the body as it came)"""
    headers = dict(request.headers)
    if any("{etag}" in value for value in headers.values()):
        path = request.target
        asked = f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        _, told, _ = exchange(server.port, asked, "HEAD")
        headers = {name: value.replace("{etag}", told["etag"]) for name, value in headers.items()}
    data = request_bytes(request, server.port, headers).replace(b"{revision}", revision.encode())
    status, told, body = exchange(server.port, data, request.method)
    if request.loose:
        return {
            "name": request.name,
            "status": status,
            "headers": {"content-type": told.get("content-type")},
            "loose": True,
        }, body
    return kept_of(request, status, told, body, revision), body


def kept_of(request, status, told, body, revision):
    own = told.get("x-request-id", "")
    for name in VOLATILE_HEADERS:
        if name in told:
            told[name] = "*"
    if REQUEST_ID.fullmatch(own):
        told["x-request-id"] = "*"
        body = body.replace(f'"request_id":"{own}"'.encode(), b'"request_id":"*"')
    coding, media = told.get("content-encoding"), told.get("content-type", "").split(";")[0]
    if "etag" in told:
        told["etag"] = TAG.sub(r'\1"*"', told["etag"])
    if coding or is_json(media) or media.startswith("image/") or status == 304:
        if "content-length" in told:
            told["content-length"] = "*"
    if coding and body:
        body = decoded(body, coding)
    if media == "image/png" and body:
        body = png_decoded(body)
    elif media == "image/svg+xml":
        body = EMBEDDED.sub(lambda found: png_decoded(base64.b64decode(found[1])), body)
    if is_about(request):
        body = without_machine(body.decode()).encode()
    body = body.replace(revision.encode(), b"{revision}")
    kept = {"name": request.name, "status": status, "headers": dict(sorted(told.items()))}
    return kept | body_kept(body, told.get("content-type", ""))
