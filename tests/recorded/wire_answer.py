# SPDX-License-Identifier: MIT
"""Asks one request on a connection of its own and gives the answer in the form that is kept."""

import base64
import hashlib
import http.client
import json
import re
import socket
import struct
import zlib

import zstandard

TEXT_MAX, HEX_MAX = 600, 64
PROBLEM = "application/problem+json"

# Everything that differs from run to run or from machine to machine, and what stands for it:
#   Date, Server-Timing         the clock
#   X-Request-Id, request_id    drawn for each request, unless the client sent one
#   revision                    the server's; where the recorded one is another, entity tags are not
#                               compared either, because they are made of it
#   of GET /v1                  the instruction set, and flags that the machine or the test decides
#   Content-Length of a 304     that of the body where the answer was kept from before, else 0
#   of coded bodies, pictures   Content-Length, ETag and the compressed bytes, which differ with
#                               versions of zstd and zlib; the decoded are kept
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


def parts_of(text):
    """A digest of each key of a large JSON object, and of each tensor: where two differ."""
    told = json.loads(text)
    if not isinstance(told, dict):
        return {}
    flat = {key: value for key, value in told.items() if key != "tensors"}
    tensors = told.get("tensors")
    if isinstance(tensors, dict):
        flat |= {f"tensors/{key}": value for key, value in tensors.items()}
    elif tensors is not None:
        flat["tensors"] = tensors
    return {key: digest(json.dumps(value).encode())[:8] for key, value in flat.items()}


def body_kept(body, media):
    """The text itself, bytes in hexadecimal, or the length and a digest."""
    text = None
    if media.split(";")[0].endswith(("json", "text/plain")):
        text = body.decode("utf-8", "surrogateescape")
    if text is not None and (len(text) <= TEXT_MAX or media == PROBLEM):
        return {"text": text} if text else {}
    if len(body) <= HEX_MAX:
        return {"hex": body.hex()} if body else {}
    kept = {"length": len(body), "sha256": digest(body)}
    return kept | ({"parts": parts_of(text)} if text else {})


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
    is_picture = media.startswith("image/")
    if coding or is_picture or status == 304 or is_about(request):
        if "content-length" in told:
            told["content-length"] = "*"
    # Of a machine, of a text that grows, or of a version of a library.
    if is_about(request) or "/openapi." in request.target or coding or is_picture:
        if "etag" in told:
            told["etag"] = "*"
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
