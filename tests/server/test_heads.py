# SPDX-License-Identifier: MIT
"""Heads have at most 16 KiB: the text, 64 bytes more for each field and cookie, and the Cookie
field again. Longer ones get a problem document, however long they are, and
others are not disturbed."""

import json
import pathlib
import re
import threading

import pytest
import wire
from held import metric

HEAD_MAX, FIELD = 16 << 10, 64
HOST = b"Host: localhost\r\n"
TABLE = b"/v1/encodings/rope/table"
ROOT = pathlib.Path(__file__).parents[2]


def head_of(place, padding):
    """A head with so many bytes in one place."""
    text = b"a" * padding
    target, fields = b"/livez", b""
    if place == "path":
        target = b"/v1/encodings/" + text
    elif place == "query":
        target = b"/livez?" + text
    elif place == "field":
        fields = b"X-A: " + text + b"\r\n"
    elif place == "fields":
        values = [text[i::100] for i in range(100)]
        fields = b"".join(b"X-%d: %s\r\n" % pair for pair in enumerate(values))
    elif place == "cookie":
        fields = b"Cookie: b=" + text + b"\r\n"
    elif place == "cookies":
        fields = b"Cookie: " + b"; ".join(b"c=" + text[i::100] for i in range(100)) + b"\r\n"
    return b"GET " + target + b" HTTP/1.1\r\n" + HOST + fields + b"\r\n"


def counted(head):
    fields = head.split(b"\r\n")[1:-2]
    cookies = [line[8:] for line in fields if line.startswith(b"Cookie: ")]
    return (
        len(head)
        + FIELD * len(fields)
        + sum(len(text) + FIELD * (text.count(b";") + 1) for text in cookies)
    )


def padded(place, size):
    """A head that counts as `size` bytes. A byte of a cookie counts twice."""
    each = 2 if place.startswith("cookie") else 1
    head = head_of(place, (size - counted(head_of(place, 0))) // each)
    if counted(head) < size:
        head = head.replace(b"localhost", b"localhost:")
    assert counted(head) == size
    return head


PLACES = ("path", "query", "field", "fields", "cookie", "cookies")
CODES = dict.fromkeys(PLACES, (431, "too-many-fields")) | dict.fromkeys(
    ("path", "query"), (414, "uri-too-long")
)


def is_refused(answer, place):
    status, code = CODES[place]
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    problem = json.loads(answer.body)
    assert (problem["status"], problem["code"]) == (status, code)
    assert str(HEAD_MAX) in problem["detail"]
    return problem


@pytest.mark.parametrize("size", [HEAD_MAX - 1, HEAD_MAX, HEAD_MAX + 1])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["whole", "in pieces", "pipelined", "later"])
def test_the_edge(server, place, size, way):
    """The connection goes on after a head that fits, and is closed after one that does not."""
    head, small = padded(place, size), head_of("", 0)
    with wire.connect(server.port) as client:
        stream = client.makefile("rb")
        if way == "later":
            for _ in range(3):
                client.sendall(small)
                assert wire.read_answer(stream).status == 200
        if way == "in pieces":
            for at in range(0, len(head), 1000):
                client.sendall(head[at : at + 1000])
        elif way == "pipelined":
            client.sendall(small + head + small + small)
            assert wire.read_answer(stream).status == 200
        else:
            client.sendall(head)
        answer = wire.read_answer(stream)
        if size > HEAD_MAX:
            is_refused(answer, place)
            assert wire.read_answer(stream) is None
            return
        assert answer.status == (404 if place == "path" else 200)
        for _ in range(2):
            if way != "pipelined":
                client.sendall(small)
            assert wire.read_answer(stream).status == 200


@pytest.mark.parametrize("size", [HEAD_MAX + 1, 2 * HEAD_MAX, 200_000])
def test_a_long_query_can_be_posted(server, size):
    """The refusal says so, also where the path itself was not read."""
    answer = server.get("/v1/encodings/rope/table?dim=" + "1" * size)
    assert answer.status_code == 414
    assert "POST it" in answer.json()["detail"] and "in a JSON body" in answer.json()["detail"]


@pytest.mark.parametrize("size", [HEAD_MAX - 1, HEAD_MAX, HEAD_MAX + 1])
@pytest.mark.parametrize("framing", [b"Content-Length: 16", b"Transfer-Encoding: chunked"])
def test_the_edge_of_posts(server, size, framing):
    """The fields of a POST with a body: `X-A` is padded."""
    content = b'{"dim":4,"length":1}'
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
    if b"chunked" not in framing:
        body, framing = content, b"Content-Length: %d" % len(content)
    fields = HOST + framing + b"\r\nContent-Type: application/json\r\nX-A: "
    head = b"POST " + TABLE + b"?format=raw HTTP/1.1\r\n" + fields + b"\r\n\r\n"
    head = head.replace(b"X-A: ", b"X-A: " + b"a" * (size - counted(head)))
    with wire.connect(server.port) as client:
        client.sendall(head + body + head_of("", 0))
        stream = client.makefile("rb")
        answer = wire.read_answer(stream)
        if size > HEAD_MAX:
            is_refused(answer, "field")
            assert wire.read_answer(stream) is None
        else:
            assert answer.status == 200 and len(answer.body) == 16
            assert wire.read_answer(stream).status == 200


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [18000, 20000, 20480, 20600, 24000, 50000, 70001, 300000, 3000000])
def test_any_length_is_refused_by_a_problem_document(server, place, size):
    """Beyond its memory, 20 KiB, the library would answer in HTML. Twice: nothing is left over."""
    head = padded(place, size)
    for _ in range(2):
        answer, closed = wire.ask(server.port, head)
        is_refused(answer, place)
        assert closed
    assert wire.is_alive(server.port)


@pytest.mark.parametrize("sizes", [(9000, 10), (10, 9000), (5000, 4000)])
def test_the_longest_field_is_named(server, sizes):
    """By name and value together, whichever is long and wherever it stands."""
    longest = b"X" * sizes[0] + b": " + b"a" * sizes[1] + b"\r\n"
    other = b"Y" * 10 + b": " + b"b" * (sum(sizes) - 11) + b"\r\n"
    for fields in (longest + other, other + longest):
        answer = wire.answer(server.port, b"GET /livez HTTP/1.1\r\n" + HOST + fields + b"\r\n")
        problem = is_refused(answer, "field")
        assert "is " + "X" * min(sizes[0], 40) in problem["detail"]


@pytest.mark.parametrize("first", [6000, 9000, 12000, 15000])
@pytest.mark.parametrize("second", [6000, 12000, 18000, 40000])
def test_no_field_is_named_the_longest_that_is_not(server, first, second):
    """Of two fields, also where the library's memory ends before the second one does."""
    fields = [b"X-%s: %s\r\n" % (name, b"a" * n) for name, n in ((b"A", first), (b"B", second))]
    head = b"GET /livez HTTP/1.1\r\n" + HOST + b"".join(fields) + b"\r\n"
    if counted(head) <= HEAD_MAX:
        assert wire.answer(server.port, head).status == 200
        return
    detail = is_refused(wire.answer(server.port, head), "field")["detail"]
    ways = r"of this one|that was received completely|so far"
    way, name = re.search(rf"the longest field ({ways}) is (.+)$", detail).groups()
    longest = "X-A" if first >= second else "X-B"
    assert name == {"of this one": longest, "so far": "not complete"}.get(way, "X-A")
    assert len(head) > 18000 or way == "of this one"


def test_refusals_are_logged_and_counted(server):
    def refused():
        return metric(server, 'posenc_problems_total{code="uri-too-long"}')

    before = refused()
    wire.ask(server.port, padded("path", 50000))
    assert refused() == before + 1
    assert wire.eventually(
        lambda: '"status":414' in server.log_text() or " 414 " in server.log_text()
    )


def test_every_get_of_a_view_has_its_post():
    """Of the same handler: in the population of the routes."""
    routes = re.findall(
        r'^ROUTE\("(\w+)",\s+"([^"]+)",\s+(\w+),',
        (ROOT / "api/routes/routes.def").read_text(),
        re.MULTILINE,
    )
    views = {(pattern, handler) for method, pattern, handler in routes if "{view}" in pattern}
    assert len(views) == 2
    for pattern, handler in views:
        for method in ("GET", "POST"):
            assert (method, pattern, handler) in routes


def test_a_long_query_is_told_its_post(server):
    """The refusal names a path that takes the same parameters, for each view of each encoding."""
    with wire.connect(server.port) as client:
        client.sendall(b"GET /v1/encodings HTTP/1.1\r\n" + HOST + b"\r\n")
        catalogue = json.loads(wire.read_answer(client.makefile("rb")).body)
    paths = {
        operation["href"]
        for encoding in catalogue["encodings"]
        for operation in encoding["operations"]
    }
    assert len(paths) >= 78
    for path in sorted(paths):
        for method in (b"GET", b"HEAD"):
            with wire.connect(server.port) as client:
                client.sendall(
                    b"%s %s?x=%s HTTP/1.1\r\n%s\r\n" % (method, path.encode(), b"1" * 16384, HOST)
                )
                answer = wire.read_answer(client.makefile("rb"), head=method == b"HEAD")
            assert answer.status == 414
            if method == b"GET":
                problem = is_refused(answer, "query")
                assert f"POST {path} takes the same parameters" in problem["detail"]
        posted = wire.answer(
            server.port,
            b"POST %s HTTP/1.1\r\n%sConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            % (path.encode(), HOST),
        )
        assert posted.status in (200, 422), posted


def test_the_same_by_post(server):
    """What a query is too long for, the body takes: the bytes of both are equal up to the edge."""
    positions = list(range(2300))
    query = TABLE + b"?dim=4&format=raw&positions=" + ",".join(map(str, positions)).encode()
    got = wire.answer(server.port, b"GET " + query + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    body = json.dumps({"dim": 4, "positions": positions}).encode()
    head = b"POST " + TABLE + b"?format=raw HTTP/1.1\r\n" + HOST
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    posted = wire.answer(server.port, head + body)
    assert got.status == posted.status == 200 and got.body == posted.body


def test_others_are_not_disturbed(server):
    """Heads that are on their way, connections after requests of any kind, and empty lines between
    requests, beside heads that are refused."""
    small, chunk = head_of("", 0), b"400\r\n" + b" " * 1024 + b"\r\n"
    begun = [head_of("field", 9000 + i * 50) for i in range(20)]
    posted = b"POST " + TABLE + b" HTTP/1.1\r\n" + HOST
    posted += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    posted += chunk * 40 + b"14\r\n" + b'{"dim":4,"length":1}' + b"\r\n0\r\n\r\n"
    clients = [wire.connect(server.port) for _ in range(24)]
    streams = [client.makefile("rb") for client in clients]
    for client, head in zip(clients, begun, strict=False):
        client.sendall(head[: len(head) - 10])
    for client, stream in zip(clients[20:22], streams[20:22], strict=True):
        for _ in range(3):
            client.sendall(posted)
            assert wire.read_answer(stream).status == 200
    for _ in range(20):
        clients[22].sendall((small + b"\r\n") * 500)
        for _ in range(500):
            assert wire.read_answer(streams[22]).status == 200
    refused = [
        threading.Thread(target=wire.ask, args=(server.port, padded(place, 40000)))
        for place in PLACES
        for _ in range(5)
    ]
    for thread in refused:
        thread.start()
    for thread in refused:
        thread.join()
    for client, head in zip(clients, begun, strict=False):
        client.sendall(head[len(head) - 10 :])
    for client in clients[20:]:
        client.sendall(small)
    for client, stream in zip(clients, streams, strict=True):
        assert wire.read_answer(stream).status == 200
        client.close()


def test_an_answer_has_memory_for_its_header(server):
    """A head of the largest size leaves 4 KiB of the connection's memory for the header of the
    answer: Encoding-Parameters, which may have as much, is left out then."""
    factors = ",".join(f"{1 + i / 1000:.3f}" for i in range(256))
    query = f"?dim=512&length=2&rope_type=longrope&long_factor={factors}&short_factor={factors}"
    query += "&original_max_position_embeddings=4096&factor=4&format=raw"
    answers = []
    for padding in (0, 1):
        head = b"GET " + TABLE + query.encode() + b" HTTP/1.1\r\n" + HOST + b"X-A: \r\n\r\n"
        head = head.replace(b"X-A: ", b"X-A: " + b"a" * (padding * (HEAD_MAX - counted(head))))
        with wire.connect(server.port) as client:
            stream = client.makefile("rb")
            client.sendall(head)
            answers.append(wire.read_answer(stream))
            client.sendall(head_of("", 0))
            assert wire.read_answer(stream).status == 200
    short, long = answers
    assert short.status == long.status == 200 and short.body == long.body
    assert "encoding-parameters" in short.headers and "encoding-parameters" not in long.headers
