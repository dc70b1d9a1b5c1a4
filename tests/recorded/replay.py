# SPDX-License-Identifier: MIT
"""The recorded requests, asked of the service through a door that has no socket. A door is anything
with ask(method, target, headers, body) -> (status, [(name, value), ...], body)."""

import contextlib
import json
import pathlib
import re
import shutil
import tempfile

import record
import requested
import wire_answer

# What a connection adds, or counts in its own way.
SOCKET_FIELDS = ("connection", "content-length", "date", "transfer-encoding")
# Answers that are the socket's alone: the rules of its framing.
SOCKET_REQUESTS = {"refused heads: too many fields", "refused heads: a length that is no number"}
# Of GET /v1: the flags and limits of the socket are not there.
ABOUT = "pages: GET /v1"
ESTIMATED = re.compile(r"about [\d.e-]+ s of one core")
# Host names that a server on a loopback address answers to, whatever --allowed-host adds.
LOOPBACK = "localhost,127.0.0.1,[::1]"


@contextlib.contextmanager
def doors(open_door):
    """name -> door for each server of the list; open_door takes (name, value) pairs of settings."""
    opened = {}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for name, flags in record.SERVERS.items():
                folder = pathlib.Path(scratch) / name
                shutil.copytree(record.conftest.ROOT / "tests/data/tables", folder / "tables")
                (folder / "tokens").write_text(record.conftest.TOKEN + "\n")
                told = [flag.format(folder=folder) for flag in flags]
                settings = {flag[2:]: value for flag, value in zip(told[::2], told[1::2])}
                hosts = [LOOPBACK, settings.get("allowed-host")]
                settings["allowed-host"] = ",".join(filter(None, hosts))
                opened[name] = open_door(list(settings.items()))
            yield opened
        finally:
            for door in opened.values():
                door.close()


def folded(fields):
    """Header fields in lower case, those of one name joined."""
    headers = {}
    for name, value in fields:
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def asked(door, request, revision):
    """What is kept of the answer to a request."""
    fields = {"Host": "127.0.0.1:1"} | dict(request.headers)
    if any("{etag}" in value for value in fields.values()):
        told = folded(door.ask("HEAD", request.target, [], None)[1])
        fields = {name: value.replace("{etag}", told["etag"]) for name, value in fields.items()}
    fields = [(name, value.replace("{revision}", revision)) for name, value in fields.items()]
    target = request.target.replace("{revision}", revision)
    status, told, body = door.ask(request.method, target, fields, request.body)
    told = folded(told)
    if request.loose:
        return {
            "name": request.name,
            "status": status,
            "loose": True,
            "headers": {"content-type": told.get("content-type")},
        }
    return wire_answer.kept_of(request, status, told, body, revision)


def comparable(answer):
    """An answer without what a socket decides, or how slow an instruction set is."""
    headers = {k: v for k, v in answer["headers"].items() if k not in SOCKET_FIELDS}
    answer = answer | {"headers": headers}
    if "text" in answer:
        answer["text"] = ESTIMATED.sub("about * s of one core", answer["text"])
    if answer["name"] == ABOUT:
        parts = {k: v for k, v in answer["parts"].items() if k not in ("flags", "limits")}
        answer = answer | {"parts": parts}
    return answer


def differences(opened, recorded, without=lambda request: False):
    """(requests that were compared, lines for everything that differs); a door that cannot answer
    all of them goes without some."""
    revision = json.loads(opened["usual"].ask("GET", "/v1", [], None)[2])["revision"]
    requests = [
        one for one in requested.requests() if one.name not in SOCKET_REQUESTS and not without(one)
    ]
    found = []
    for request in requests:
        now = asked(opened[request.server], request, revision)
        old = comparable(recorded[request.name])
        lines = record.difference(old, comparable(now))
        if lines:
            found += [request.name, *("    " + line for line in lines)]
    return len(requests), found
