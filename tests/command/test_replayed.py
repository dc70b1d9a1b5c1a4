# SPDX-License-Identifier: MIT
"""The recorded requests, each typed as a command: the bytes that it writes are those of the body,
its exit code is that of the status, and the words of a refusal stand on stderr. A process each, so
one request of each group and server is asked here; all of them where POSENC_RECORDED is "all"."""

import contextlib
import json
import os
import pathlib

import in_process
import record
import replay
import requested
import typed
import wire_answer

EVERY = os.environ.get("POSENC_RECORDED") == "all"
CODES = {404: 4, 413: 5, 414: 5, 503: 5, 507: 5}


class Door:
    """The command with the settings of one server."""

    def __init__(self, settings):
        self.posenc = typed.Posenc(pathlib.Path("/"))
        self.given = settings
        self.settings = [f"--{name}={value}" for name, value in settings]
        self.revision = json.loads(self.posenc("get", "/v1"))["revision"]

    def etag(self, target):
        """By the library, for the command shows no header fields."""
        with contextlib.closing(in_process.Door(self.given)) as door:
            return replay.folded(door.ask("HEAD", target, [], None)[1])["etag"]

    def ask(self, request):
        """The process after its end."""
        fields = {"Host": "127.0.0.1:1", **dict(request.headers)}
        if any("{etag}" in value for value in fields.values()):
            etag = self.etag(request.target)
            fields = {name: value.replace("{etag}", etag) for name, value in fields.items()}
        told = [
            f"-H{name}: {value.replace('{revision}', self.revision)}"
            for name, value in fields.items()
        ]
        word, stdin = request.method.lower(), request.body or b""
        file = ["-"] if word in ("post", "put") else []
        target = request.target.replace("{revision}", self.revision)
        return self.posenc.run(word, *self.settings, "-q", *told, "--", target, *file, stdin=stdin)

    def close(self):
        pass


def can_be_typed(request):
    """Words have neither HEAD nor OPTIONS, and a length is that of the file."""
    told = dict(request.headers)
    return (
        request.method in ("GET", "POST", "PUT", "DELETE")
        and not request.loose
        and request.name not in {*replay.SOCKET_REQUESTS, replay.ABOUT}
        and "Content-Length" not in told
        and (request.body is None or request.method in ("POST", "PUT"))
    )


def chosen():
    requests = [request for request in requested.requests(requested.PARTS) if can_be_typed(request)]
    first = {}
    for request in requests:
        if request.group != "tables":  # each of these needs those before it
            first.setdefault((request.group, request.server, request.method), request)
    return requests if EVERY else list(first.values())


def exit_code(old):
    """What a recorded answer means to a shell."""
    status = old["status"]
    return CODES.get(status, 0 if status < 400 else 3 if status < 500 else 70)


def sentences(old, revision):
    """Of a recorded problem."""
    problem = json.loads(old["text"].replace("{revision}", revision))
    return [
        problem["title"],
        *(item["detail"] for item in problem.get("errors", []) if "detail" in item),
    ]


def differences(request, door, old):
    """What is not as it was recorded."""
    done = door.ask(request)
    said, code = done.stderr.decode(), exit_code(old)
    verdict = code == 0 and request.target.split("?")[0].endswith(
        ("/diagnosis", "/comparison", "/lint", "/extend", "/check")
    )
    if done.returncode != code and not (verdict and done.returncode in (1, 3)):
        yield f"exit code {done.returncode} instead of {code}: {said}"
    elif code:
        yield from (
            f"not said: {text}" for text in sentences(old, door.revision) if text not in said
        )
        if done.stdout:
            yield "a refusal writes a body"
    else:
        now = wire_answer.kept_of(
            request, old["status"], dict(old["headers"]), done.stdout, door.revision
        )
        yield from record.difference(old, now)


def test_answers():
    recorded, asked, found = record.read(), chosen(), []
    with replay.doors(Door) as opened:
        for request in asked:
            lines = differences(request, opened[request.server], recorded[request.name])
            found += [f"{request.name}: {line}" for line in lines]
    print(len(asked), "requests")
    assert len(asked) > (300 if EVERY else 40)
    assert not found, "\n" + "\n".join(found)
