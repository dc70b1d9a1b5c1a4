# SPDX-License-Identifier: MIT
"""Requests with wrong framing: refused and closed, and the next connection is served."""

import json
import pathlib
import re
import select
import time

import pytest
import wire

HOST = b"Host: localhost\r\n"
GET = b"GET /livez HTTP/1.1\r\n"
POST = b"POST /v1/rotation HTTP/1.1\r\n" + HOST


def body(*lines, content=b"hello"):
    return POST + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + content


CHUNKED = b"5\r\nhello\r\n0\r\n\r\n"

REFUSED = {  # name: (bytes, statuses); None: closed without a word
    "1 no Host": (GET + b"\r\n", {400}),
    "2 two Hosts": (GET + HOST + HOST + b"\r\n", {400}),
    "3 version 9.9": (b"GET /livez HTTP/9.9\r\n" + HOST + b"\r\n", {505, 400, None}),
    "5 garbage": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400, None}),
    "6 length and coding": (
        body(b"Content-Length: 5", b"Transfer-Encoding: chunked", content=CHUNKED),
        {400},
    ),
    "7 two lengths that differ": (body(b"Content-Length: 5", b"Content-Length: 6"), {400}),
    "8 two equal lengths": (body(b"Content-Length: 5", b"Content-Length: 5"), {400}),
    "11 length 2^40": (body(b"Content-Length: 1099511627776", content=b""), {413}),
    "12 unknown coding": (body(b"Transfer-Encoding: gzip, chunked", content=CHUNKED), {400, 501}),
    "13 two codings": (
        body(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", content=CHUNKED),
        {400},
    ),
    "14 blank before the colon": (body(b"Transfer-Encoding : chunked", content=CHUNKED), {400}),
    "15 a line feed alone in the head": (GET + HOST + b"X-A: b\nX-C: d\r\n\r\n", {400}),
    "15 an empty line of a line feed alone": (GET + HOST + b"\n", {400}),
    "19 coding in HTTP/1.0": (
        b"POST /v1/rotation HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
        {400},
    ),
    "21 a folded line": (GET + HOST + b"X-A: b\r\n c\r\n\r\n", {400}),
    "22 NUL in a value": (GET + HOST + b"X-A: b\0c\r\n\r\n", {400}),
    "22 NUL in a length": (body(b"Content-Length: 5\x000"), {400}),
    "22 control character in a value": (GET + HOST + b"X-A: a\x01b\r\n\r\n", {400}),
    "25 64 kB of path": (b"GET /" + b"a" * 65536 + b" HTTP/1.1\r\n" + HOST + b"\r\n", {414}),
    "26 64 kB of header": (GET + HOST + b"X-A: " + b"a" * 65536 + b"\r\n\r\n", {431}),
    "26 1000 header lines": (GET + HOST + b"X-A: b\r\n" * 1000 + b"\r\n", {431}),
    "26 fields that leave no room": (GET + HOST + b"X-A: " + b"a" * 20200 + b"\r\n\r\n", {431}),
    "27 no field name": (GET + HOST + b": x\r\n\r\n", {400}),
    "27 no first field name": (GET + b": x\r\n" + HOST + b"\r\n", {400}),
    "27 blank in a field name": (GET + HOST + b"X A: b\r\n\r\n", {400}),
}


@pytest.mark.parametrize(
    "host",
    [
        b"a@b",
        b"localhost:80@evil",
        b"localhost:80:80",
        b"localhost:x",
        b"[::1]evil",
        b"[::1",
        b"localhost/x",
        b"local host",
    ],
)
def test_a_host_that_is_none(server, host):
    answer, closed = wire.ask(server.port, GET + b"Host: " + host + b"\r\n\r\n")
    assert answer.status == 400 and closed and b"Host" in answer.body


@pytest.mark.parametrize("host", [b"localhost", b"LOCALHOST:80", b"localhost:", b"[::1]:8080"])
def test_hosts(server, host):
    assert wire.answer(server.port, GET + b"Host: " + host + b"\r\n\r\n").status == 200


VIEW = b"/v1/encodings/rope/table?dim=4&length=3"


@pytest.mark.parametrize(
    "method, target",
    [
        (b"GET", b"/livez"),
        (b"GET", VIEW),
        (b"GET", b"/v1?a=/b"),
        (b"GET", b""),
        (b"GET", b"/"),
        (b"OPTIONS", VIEW),
        (b"GET", b"?a=b"),
        (b"GET", b"//livez"),
        (b"GET", b"/%zz"),
        (b"GET", b"/nowhere"),
        (b"PUT", b"/v1"),
        (b"GET", b"/http://localhost/livez"),
        (b"GET", VIEW + b"&url=http://localhost/"),
    ],
)
@pytest.mark.parametrize(
    "scheme, host",
    [
        (b"http", b"localhost"),
        (b"HTTP", b"127.0.0.1"),
        (b"https", b"localhost"),
        (b"http", b"LOCALHOST:8080"),
        (b"hTTp", b"[::1]:80"),
        (b"http", b"localhost:"),
    ],
)
def test_absolute_targets(server, method, target, scheme, host):
    """RFC 9112, 3.2.2: answered like the path alone with that Host, with any Host field."""
    origin = target if target.startswith(b"/") else b"/" + target
    want = wire.answer(
        server.port,
        method
        + b" "
        + origin
        + b" HTTP/1.1\r\nHost: "
        + host
        + b"\r\nX-Request-Id: a\r\nConnection: close\r\n\r\n",
    )
    for field in (b"Host: localhost\r\n", b"Host: other.example\r\n", b"Host:\r\n"):
        answer = wire.answer(
            server.port,
            method
            + b" "
            + scheme
            + b"://"
            + host
            + target
            + b" HTTP/1.1\r\n"
            + field
            + b"X-Request-Id: a\r\nConnection: close\r\n\r\n",
        )
        assert (answer.status, answer.body) == (want.status, want.body)
    old = wire.answer(
        server.port,
        method + b" " + scheme + b"://" + host + target + b" HTTP/1.0\r\nX-Request-Id: a\r\n\r\n",
    )
    assert (old.status, old.body) == (want.status, want.body)


@pytest.mark.parametrize(
    "target, field, status",
    [
        (b"http://rebound.example/v1", b"localhost", 403),
        (b"http://rebound.example", b"localhost", 403),
        (b"http:///v1", b"localhost", 400),
        (b"http://", b"localhost", 400),
        (b"http://:80/v1", b"localhost", 400),
        (b"http://localhost@evil/v1", b"localhost", 400),
        (b"http://a:b@localhost/v1", b"localhost", 400),
        (b"http://localhost:x/v1", b"localhost", 400),
        (b"http://local%20host:80:80/v1", b"localhost", 400),
        (b"http://[::1/v1", b"localhost", 400),
        (b"http://localhost/v1", b"local/host", 400),
        (b"ftp://localhost/v1", b"localhost", 404),
        (b"http:/v1", b"localhost", 404),
        (b"http//localhost/v1", b"localhost", 404),
        (b"localhost/v1", b"localhost", 404),
    ],
)
def test_absolute_targets_that_are_none(server, target, field, status):
    answer = wire.answer(
        server.port, b"GET " + target + b" HTTP/1.1\r\nHost: " + field + b"\r\n\r\n"
    )
    assert answer.status == status and json.loads(answer.body)["status"] == status


def test_an_absolute_target_needs_its_host_field(server):
    for fields in (b"", HOST + HOST):
        answer, closed = wire.ask(
            server.port, b"GET http://localhost/v1 HTTP/1.1\r\n" + fields + b"\r\n"
        )
        assert answer.status == 400 and closed


def test_the_log_has_the_path_of_an_absolute_target(server):
    answer = wire.answer(
        server.port, b"GET http://localhost:81/v1/encodings HTTP/1.1\r\n" + HOST + b"\r\n"
    )
    assert answer.status == 200
    assert wire.eventually(
        lambda: (
            "GET /v1/encodings 200" in server.log_text()
            or '"path":"/v1/encodings"' in server.log_text()
        )
    )


@pytest.mark.parametrize(
    "query, status",
    [
        (b"?" + b"a&" * 256, 422),
        (b"?" + b"&" * 16000, 200),
        (b"?" + b"a&" * 257, 414),
        (b"?" + b"a=b&" * 10000, 414),
        (b"?" + b"=&" * 23000, 414),
        (b"?" + b"%ff&" * 11700, 414),
        (b"?" + b"a" * 49200, 414),
        (b"?" + b"a&" * 32496, 414),
        (b"/" + b"a" * 65000, 414),
    ],
)
def test_a_long_uri_is_answered_at_once(server, query, status):
    """By a problem document, with any number of arguments; others do not wait for it."""
    waits = []
    for _ in range(3):
        with wire.connect(server.port) as client, wire.connect(server.port) as other:
            began = time.monotonic()
            client.sendall(b"GET /v1" + query + b" HTTP/1.1\r\n" + HOST + b"\r\n")
            other.sendall(GET + HOST + b"\r\n")
            assert wire.read_answer(other.makefile("rb")).status == 200
            waits.append(time.monotonic() - began)
            answer = wire.read_answer(client.makefile("rb"))
            assert time.monotonic() - began < 2
        assert answer.status == status
        assert status == 200 or json.loads(answer.body)["status"] == status
    assert min(waits) < 0.02


@pytest.mark.parametrize(
    "length",
    [
        b"9223372036854775807",
        b"9223372036854775808",
        b"9999999999999999999",
        b"18446744073709551614",
        b"18446744073709551615",
        b"18446744073709551616",
        b"99999999999999999999",
        b"+5",
        b"-1",
        b"5.0",
        b"0x5",
        b"5 5",
        b"5,5",
        b"",
        b"1e1",
    ],
)
def test_lengths_at_the_edge(server, length):
    """Answered at once, whatever the number: none of them is the sign of a length that nobody
    knows, for whose body one would wait."""
    with wire.connect(server.port, 3) as client:
        client.sendall(
            body(
                b"Content-Type: application/octet-stream", b"Content-Length: " + length, content=b""
            )
        )
        whole = client.makefile("rb").read()  # to the end
    assert re.match(rb"HTTP/1.1 (400|413) ", whole), whole[:200]
    assert wire.is_alive(server.port)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(server, name):
    raw, statuses = REFUSED[name]
    answer, closed = wire.ask(server.port, raw)
    assert (answer.status if answer else None) in statuses
    assert closed
    assert wire.is_alive(server.port)


@pytest.mark.parametrize("change", ["lower", "upper", "swapcase"])
def test_names_of_fields_have_no_case(server, change):
    """Wrong fields of the framing are refused in any case and with any blanks."""
    names = rb"(?<=\r\n)(Host|Content-Length|Transfer-Encoding)(?= ?:)"
    judged = 0
    for name, (raw, statuses) in REFUSED.items():
        changed = re.sub(names, lambda match: getattr(match[0], change)(), raw)
        if changed != raw:
            answer, closed = wire.ask(server.port, changed)
            assert (answer.status if answer else None) in statuses and closed, name
            judged += 1
    assert judged > 10


def test_characters_of_values(server):
    """RFC 9110, 5.5: a value has no control characters but tabs; bytes above 127 are opaque."""
    refused = set()
    for character in set(range(1, 256)) - {10, 13}:
        answer, closed = wire.ask(
            server.port,
            GET + HOST + b"Connection: close\r\nX-A: a" + bytes([character]) + b"b\r\n\r\n",
        )
        assert answer.status in (200, 400) and closed
        if answer.status == 400:
            refused.add(character)
    assert refused == {*range(1, 32), 127} - {9, 10, 13}


SERVED = {  # refused, but not for their framing: the connection goes on
    "23 %00 in the path": (b"GET /v1%00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "23 %zz in the path": (b"GET /v1%zz HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "24 dots": (b"GET /v1/../livez HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "24 two slashes": (b"GET //v1 HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "28 wrong method": (b"DELETE /v1 HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    "29 TRACE": (b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    "35 Accept": (
        b"GET /v1/encodings/rope/table?dim=4&length=1 HTTP/1.1\r\n"
        + HOST
        + b"Accept: image/gif\r\n\r\n",
        406,
    ),
    "strange Host": (b"GET /v1 HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
}


@pytest.mark.parametrize("name", SERVED)
def test_connection_goes_on(server, name):
    raw, status = SERVED[name]
    with wire.connect(server.port) as client:
        stream = client.makefile("rb")
        for _ in range(2):
            client.sendall(raw)
            answer = wire.read_answer(stream)
            assert answer.status == status
            assert answer.headers["content-type"] == "application/problem+json"
        client.sendall(GET + HOST + b"\r\n")
        assert wire.read_answer(stream).status == 200


def test_expectations(server):
    """An unknown one is 417; 100-continue over the limit is 413 and never 100."""
    answer = wire.answer(server.port, body(b"Content-Length: 5", b"Expect: foo", content=b""))
    assert answer.status == 417
    answer, closed = wire.ask(
        server.port, body(b"Content-Length: 1099511627776", b"Expect: 100-continue", content=b"")
    )
    assert answer.status == 413 and closed


@pytest.mark.parametrize(
    "head, content",
    [
        (b"GET /livez HTTP/1.1\r\n", b""),
        (b"GET /v1/encodings/rope/table?dim=2&length=1 HTTP/1.1\r\n", b""),
        (
            b"POST /v1/config HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 22\r\n",
            b'{"model_type":"llama"}',
        ),
    ],
)
def test_an_expectation_with_another_request_behind_it(server, head, content):
    with wire.connect(server.port) as client:
        client.sendall(
            head + HOST + b"Expect: 100-continue\r\n\r\n" + content + GET + HOST + b"\r\n"
        )
        stream = client.makefile("rb")
        assert wire.read_answer(stream).status in (200, 422)
        assert wire.read_answer(stream).status == 200


ROTATION = POST + b"Origin: https://a.example\r\nX-Request-Id: mine\r\n"
OCTETS = b"Content-Type: application/octet-stream\r\n"


@pytest.mark.parametrize(
    "status, head, content",
    [
        (400, b"Content-Length: 5\r\nContent-Length: 6\r\n", b""),
        (431, b"A: b\r\n" * 200, b""),
        (408, OCTETS + b"Content-Length: 5\r\n", b"x"),
        (
            413,
            OCTETS + b"Transfer-Encoding: chunked\r\n",
            b"20000\r\n" + b"x" * 131072 + b"\r\n0\r\n\r\n",
        ),
        (503, OCTETS + b"Content-Length: 5\r\n", b"hello"),
    ],
)
def test_refusals_have_the_id_and_what_pages_need(start_shared, status, head, content):
    """Refusals by the server itself, and in the middle of a body."""
    server = start_shared(
        "--cors-origin",
        "https://a.example",
        "--body-max",
        "64KiB",
        "--header-timeout",
        "500ms",
        "--queue-max",
        "1",
        "--threads",
        "1",
    )
    with wire.connect(server.port) as busy:
        if status == 503:
            busy.sendall(
                b"GET /v1/encodings/rope/analysis/decay?dim=65536&max_offset=16000"
                b"&format=raw HTTP/1.1\r\n" + HOST + b"\r\n"
            )
            metrics = GET.replace(b"livez", b"metrics") + HOST + b"Connection: close\r\n\r\n"
            assert wire.eventually(
                lambda: b"posenc_requests_computed 1" in wire.answer(server.port, metrics).body
            )
        answer = wire.answer(server.port, ROTATION + head + b"\r\n" + content)
    assert answer.status == status, answer.body
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers["access-control-allow-origin"] == "https://a.example"


def test_too_large_is_told_though_the_client_writes_on(server):
    """The answer to 600 kB that no route takes arrives; the bytes are read and dropped."""
    raw = (
        b"POST /v1/encodings HTTP/1.1\r\n"
        + HOST
        + b"Content-Length: 600000\r\n\r\n"
        + b"x" * 600000
        + GET
        + HOST
        + b"\r\n"
    )
    with wire.connect(server.port) as client:
        client.sendall(raw)
        stream = client.makefile("rb")
        assert wire.read_answer(stream).status == 405
        assert wire.read_answer(stream).status == 200


def test_too_large_is_told_in_the_middle_of_chunks(start_server):
    """The limit is exceeded in the middle of a body, where the library accepts no answer."""
    server = start_server("--body-max", "1MiB")
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    for chunks in (17, 24, 48, 320):  # over the limit by 64 kB, 500 kB, 2 MiB, 19 MiB
        answer, closed = wire.ask(
            server.port,
            body(
                b"Content-Type: application/octet-stream",
                b"Transfer-Encoding: chunked",
                content=chunk * chunks + b"0\r\n\r\n",
            ),
        )
        assert answer and answer.status == 413 and closed, chunks
        assert answer.headers["content-type"] == "application/problem+json"
        assert json.loads(answer.body)["status"] == 413


@pytest.fixture(scope="module")
def small(start_shared):
    return start_shared("--body-max", "1MiB", "--json-body-max", "256KiB")


@pytest.mark.parametrize(
    "target, status, fields",
    [
        (b"/nowhere", 404, b""),
        (b"/v1/encodings", 405, b""),
        (b"/v1/rotation", 415, b"Content-Encoding: br\r\n"),
        (b"/v1/rotation", 400, b"Content-Encoding: gzip\r\n"),
        (b"/v1/rotation", 400, b"Content-Encoding: zstd\r\n"),
        (b"/v1/rotation", 413, b"Content-Type: application/octet-stream\r\n"),
        (b"/v1/rotation", 413, b"Content-Type: application/json\r\n"),
    ],
)
def test_a_body_without_end_is_refused_all_the_same(small, target, status, fields):
    """By its head or in its middle: what is dropped of the rest is bounded."""
    chunk, sent = b"10000\r\n" + b" " * 65536 + b"\r\n", 0
    with wire.connect(small.port, 30) as client:
        client.sendall(
            b"POST "
            + target
            + b" HTTP/1.1\r\n"
            + HOST
            + fields
            + b"Transfer-Encoding: chunked\r\n\r\n"
        )
        while not select.select([client], [], [], 0)[0]:
            assert sent < 64 << 20, "the body is read without end"
            client.sendall(chunk)
            sent += len(chunk)
        answer = wire.read_answer(client.makefile("rb"))
        assert answer.status == status and answer.headers["connection"] == "close", answer


def is_open(client):
    """Is what is sent still read? A byte to a closed socket is answered with a reset."""
    for _ in range(2):
        try:
            client.send(b"x")
        except OSError:
            return False
        time.sleep(0.1)
    return True


def test_silence_behind_a_refusal_is_two_seconds(start_server):
    """The rest of a refused upload is read while it arrives, and no longer than two seconds behind
    its last byte."""
    server = start_server("--body-max", "1MiB")
    head = b"POST /v1/rotation HTTP/1.1\r\n" + HOST + b"Content-Length: 9000000\r\n\r\n"
    with wire.connect(server.port) as writes, wire.connect(server.port) as silent:
        for client in (writes, silent):
            client.sendall(head)
            assert wire.read_answer(client.makefile("rb")).status == 413
        for _ in range(12):
            writes.send(b"x")
            time.sleep(0.2)
        assert is_open(writes) and not is_open(silent)


def test_pipelined(server):
    """A hundred requests at once are answered in order."""
    with wire.connect(server.port) as client:
        path = b"/v1/encodings/sinusoidal/table?dim=2&length=1&format=raw&start="
        client.sendall(
            b"".join(b"GET %s%d HTTP/1.1\r\n%s\r\n" % (path, i, HOST) for i in range(100))
        )
        stream = client.makefile("rb")
        bodies = [wire.read_answer(stream).body for _ in range(100)]
    assert len(set(bodies)) == 100
    with wire.connect(server.port) as client:
        client.sendall(b"GET %s%d HTTP/1.1\r\n%s\r\n" % (path, 57, HOST))
        assert wire.read_answer(client.makefile("rb")).body == bodies[57]


def test_get_with_a_body(server):
    """A body of GET is read and ignored."""
    with wire.connect(server.port) as client:
        client.sendall(GET + HOST + b"Content-Length: 5\r\n\r\nhello" + GET + HOST + b"\r\n")
        stream = client.makefile("rb")
        assert wire.read_answer(stream).status == 200
        assert wire.read_answer(stream).status == 200


def test_one_byte_at_a_time(server):
    content = b'{"heads":1,"query_length":2}'
    raw = (
        b"POST /v1/encodings/alibi/bias HTTP/1.1\r\n" + HOST + b"Content-Type: application/json"
        b"\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)
    )
    with wire.connect(server.port) as client:
        for byte in raw:
            client.sendall(bytes([byte]))
        answer = wire.read_answer(client.makefile("rb"))
    assert answer.status == 200, answer.body


def test_three_megabytes_in_chunks_of_one_byte(server):
    """In bounded memory."""

    def resident():
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s*(\d+) kB", status)[1])

    before = resident()
    raw = POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 3_000_000 + b"0\r\n\r\n"
    answer = wire.answer(server.port, raw, timeout=60)
    assert answer.status in (400, 413, 415)
    assert resident() - before < 64 << 10
    assert wire.is_alive(server.port)


@pytest.mark.parametrize("query", [b"", b"&format=npy"])
@pytest.mark.parametrize(
    "method, field, status", [(b"HEAD", b"", 200), (b"GET", b"If-None-Match: *\r\n", 304)]
)
def test_answers_without_a_body_stay_in_step(server, method, field, status, query):
    """Of known and of unknown length: the next answer follows, or the end."""
    path = b" /v1/encodings/rope/table?dim=8&length=5" + query
    with wire.connect(server.port) as client:
        client.sendall(method + path + b" HTTP/1.1\r\n" + HOST + field + b"\r\n")
        stream = client.makefile("rb")
        first = wire.read_answer(stream, head=True)
        assert first.status == status
        if query:
            assert first.headers["content-length"] == str(128 + 5 * 8 * 4)
        if first.headers.get("connection") == "close":
            return
        client.sendall(GET + HOST + b"\r\n")
        assert wire.read_answer(stream).status == 200
