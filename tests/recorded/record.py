#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks every request of the list and compares the answers with those that were recorded.

    python tests/recorded/record.py --binary build/posencd [--update] [--bodies DIR] [group ...]

Exit code 1 where anything differs. --update writes answers.jsonl and costs.jsonl anew (reviewed.md
says when);
--bodies keeps each body as it came, so that two runs can be compared with `diff -r`. The
environment reaches the server: POSENC_ISA=scalar POSENC_LOOPS=2 must change nothing."""

import argparse
import contextlib
import difflib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import requested
import wire_answer

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = HERE / "answers.jsonl"


def start_of_servers():
    """tests/conftest.py, which starts servers; by its path, for other folders have one as well."""
    spec = importlib.util.spec_from_file_location("recorded_conftest", HERE.parent / "conftest.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


conftest = start_of_servers()

# Which flags each server has; every run of the list has new ones, with folders of their own.
SERVERS = {
    "usual": ("--tables", "{folder}/tables", "--token-file", "{folder}/tokens"),
    "bare": (),
    "narrow": (
        "--body-max",
        "4KiB",
        "--json-body-max",
        "2KiB",
        "--output-max",
        "64KiB",
        "--json-elements-max",
        "100",
        "--dim-max",
        "64",
        "--tensors-max",
        "2",
        "--work-max",
        "100000",
        "--base-path",
        "/p",
        "--cors-origin",
        "https://a.example,https://b.example",
        "--allowed-host",
        "posenc.example",
        "--tables",
        "{folder}/tables",
    ),
}


@contextlib.contextmanager
def servers():
    """name -> server, all of them ended and looked at behind it."""
    started = {}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for name, flags in SERVERS.items():
                folder = pathlib.Path(scratch) / name
                shutil.copytree(conftest.ROOT / "tests/data/tables", folder / "tables")
                (folder / "tokens").write_text(conftest.TOKEN + "\n")
                started[name] = conftest.start(*(flag.format(folder=folder) for flag in flags))
            yield started
        finally:
            for server in started.values():
                conftest.finish(server)


def revision_of(server):
    data = b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return json.loads(wire_answer.exchange(server.port, data, "GET")[2])["revision"]


def answers_now(started, requests, bodies=None):
    """name -> what is kept of the answer"""
    revision, found = revision_of(started["usual"]), {}
    for index, request in enumerate(requests):
        kept, body = wire_answer.ask(started[request.server], request, revision)
        found[request.name] = kept
        if bodies:
            name = re.sub(r"[^\w=,.-]+", "_", request.name)[:120]
            (bodies / f"{index:04}_{name}").write_bytes(body)
    return found


# ---- the file -----------------------------------------------------------------------------------


def usual_headers(answers):
    """Header fields that most answers have are written once, in the first line."""
    told = [
        pair for answer in answers if not answer.get("loose") for pair in answer["headers"].items()
    ]
    return {
        name: value
        for name, value in dict.fromkeys(told)
        if told.count((name, value)) > len(answers) / 2
    }


def write(answers):
    usual = usual_headers(answers)
    lines = [{"usual": usual}]
    for answer in answers:
        headers = answer["headers"]
        if not answer.get("loose"):
            headers = {name: value for name, value in headers.items() if usual.get(name) != value}
            headers |= {name: None for name in usual if name not in answer["headers"]}
        lines.append(answer | {"headers": headers})
    ANSWERS.write_text("".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines))


def read():
    """name -> answer, as they were recorded"""
    first, *lines = map(json.loads, ANSWERS.read_text().splitlines())
    found = {}
    for line in lines:
        if not line.get("loose"):
            headers = first["usual"] | line["headers"]
            line["headers"] = {
                name: value for name, value in sorted(headers.items()) if value is not None
            }
        found[line["name"]] = line
    return found


# ---- the comparison -----------------------------------------------------------------------------


def body_lines(answer):
    """A body as lines that a difference can point at: of JSON, a line for each value."""
    if "text" not in answer:
        lines = [f"{key} {answer[key]}" for key in ("hex", "length", "sha256") if key in answer]
        return lines + [f"{key}: {value}" for key, value in answer.get("parts", {}).items()]
    if not wire_answer.is_json(answer["headers"].get("content-type") or ""):
        return answer["text"].splitlines()
    return list(values_of(wire_answer.parsed(answer["text"])))


def values_of(value, at=""):
    """Each value of JSON behind its pointer."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from values_of(value[key], f"{at}/{key}")
    elif isinstance(value, list) and value:
        for index, one in enumerate(value):
            yield from values_of(one, f"{at}/{index}")
    else:
        is_number = isinstance(value, wire_answer.Number)
        yield f"{at} {value.text if is_number else json.dumps(value)}"


def difference(old, new):
    """What differs between two answers, as lines; none where nothing does."""
    found = []
    if old["status"] != new["status"]:
        found.append(f"status: {old['status']} -> {new['status']}")
    for name in sorted(old["headers"].keys() | new["headers"].keys()):
        before, after = old["headers"].get(name), new["headers"].get(name)
        if before != after:
            found.append(f"header {name}: {before} -> {after}")
    before, after = body_lines(old), body_lines(new)
    if before != after:
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        found += ["body:", *("  " + line for line in lines if not line.startswith("@@"))]
    return found


def compare(requests, recorded, now):
    """Lines for everything that differs between the answers of then and of now."""
    found = []
    for request in requests:
        old, new = recorded.get(request.name), now[request.name]
        lines = difference(old, new) if old else ["nothing is recorded for it"]
        if lines:
            found += [request.name, *("    " + line for line in lines)]
    return found


def costs_differ(binary, update):
    """Compares the estimated costs as well, where the library was built with the server."""
    library = binary.resolve().parent / "libposenc-service.so.0"
    if library != (conftest.ROOT / "build" / library.name):
        return False
    script = [sys.executable, HERE / "costs.py", *(["--update"] if update else [])]
    return subprocess.run(script, env=dict(os.environ, POSENC_ISA="scalar")).returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--update", action="store_true", help="write what is answered now")
    parser.add_argument("--bodies", type=pathlib.Path, help="a folder for the bodies as they came")
    parser.add_argument("groups", nargs="*", help="these groups alone")
    arguments = parser.parse_args()
    unknown = set(arguments.groups) - set(requested.groups())
    if unknown or arguments.groups and arguments.update:
        parser.error(f"no such group: {', '.join(unknown)}" if unknown else "--update takes all")
    os.environ["POSENCD"] = str(pathlib.Path(arguments.binary).resolve())
    requests = [
        one for one in requested.requests() if not arguments.groups or one.group in arguments.groups
    ]
    if arguments.bodies:
        arguments.bodies.mkdir(parents=True, exist_ok=True)
    with servers() as started:
        now = answers_now(started, requests, arguments.bodies)
    recorded = read() if ANSWERS.exists() else {}
    lines = compare(requests, recorded, now)
    if not arguments.groups:
        gone = recorded.keys() - now.keys()
        lines += [f"{name}\n    recorded, and no longer asked" for name in sorted(gone)]
    if lines:
        print("\n".join(lines))
    count = sum(not line.startswith("    ") for line in lines)
    print(f"{len(requests)} requests, {count} differ")
    if arguments.update:
        write(list(now.values()))
    differ = not arguments.groups and costs_differ(pathlib.Path(arguments.binary), arguments.update)
    return 1 if differ or (lines and not arguments.update) else 0


if __name__ == "__main__":
    sys.exit(main())
