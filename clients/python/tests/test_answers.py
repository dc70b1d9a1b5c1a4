# SPDX-License-Identifier: MIT
"""What the package makes of answers: refusals, warnings, reports, replies, and their reprs."""

import asyncio
import base64
import contextlib
import json
import pickle
import time
import warnings
import xml.etree.ElementTree

import numpy
import posenc
import pytest
import scripted
from posenc import _arrays, _library

PROBLEM = {
    "type": "/problems/x",
    "title": "A title",
    "status": 422,
    "detail": "a detail",
    "code": "a-code",
    "hint": "a hint",
    "errors": [{"parameter": "p", "detail": "d"}],
}


EMPTY = (2).to_bytes(8, "little") + b"{}"  # a file of safetensors
CALLS_OF_ANSWERS = [
    lambda one: one.encodings(),
    lambda one: one.config({}),
    lambda one: one.compare("a", "b"),
    lambda one: one.table("x"),
    lambda one: one.frequencies("x"),
    lambda one: one.rotate("x"),
    lambda one: one.golden({}),
]


def refused_by(reply):
    client, _ = scripted.recording(reply)
    with pytest.raises(posenc.Refused) as refused:
        client.encodings()
    return refused.value


def test_a_refusal_has_the_members_of_its_problem():
    found = refused_by(
        scripted.reply(json.dumps(PROBLEM).encode(), "application/problem+json", 422)
    )
    assert (found.status, found.code, found.title, found.detail, found.hint, found.errors) == (
        422,
        "a-code",
        "A title",
        "a detail",
        "a hint",
        PROBLEM["errors"],
    )
    assert found.problem == PROBLEM and str(found) == "a detail (a hint)"
    again = pickle.loads(pickle.dumps(found))
    assert again.problem == PROBLEM and str(again) == str(found)


@pytest.mark.parametrize("status", [400, 404, 499, 500, 503])
def test_a_refusal_without_a_document(status):
    """As of a balancer: the beginning of its text is the detail."""
    found = refused_by(scripted.reply(b" <html>" + b"x" * 400, "text/html", status))
    assert (found.status, found.code, found.errors, found.hint) == (status, "unknown", [], None)
    assert found.detail == "<html>" + "x" * 293 and str(found) == found.detail
    assert refused_by(scripted.reply(b'["no"]', status=status)).detail == "['no']"
    titled = refused_by(scripted.reply(b'{"title": "T"}', status=status))
    assert (titled.detail, titled.status, titled.title) == ("T", status, "T")


@pytest.mark.parametrize(
    "content", [b"", bytes(range(256)), b"\xff\xfe", "ß".encode() * 200, b"x" + "ß".encode() * 200]
)
@pytest.mark.parametrize("media_type", ["text/html", "application/json", ""])
def test_a_refusal_has_any_bytes(content, media_type):
    """Also such as are no text, or are cut inside of a letter."""
    found = refused_by(scripted.reply(content, media_type, 502))
    assert (found.status, found.code) == (502, "unknown")
    assert found.detail == content[:300].decode(errors="replace").strip()


def test_a_status_below_400_is_an_answer():
    client, _ = scripted.recording(scripted.reply(b'{"a": 1}', status=399))
    assert client.encodings() == {"a": 1}


TYPES = ["{}", "{}; charset=utf-8", "{} ;a=b", "{};"]


@pytest.mark.parametrize("text", [*TYPES, *map(str.upper, TYPES)])
def test_a_media_type_has_no_parameters_and_no_case(text):
    for media_type, body in (
        ("application/json", b'{"tensors": {}}'),
        ("application/x-safetensors", EMPTY),
    ):
        client, _ = scripted.recording(scripted.reply(body, text.format(media_type)))
        assert client.frequencies("rope").names == ()
        client, _ = scripted.recording(scripted.reply(body, text.format(media_type)))
        assert client.request("GET", "/v1").media_type == media_type


@pytest.mark.parametrize("status", [200, 204, 301, 302, 307, 399])
@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "", "application/x-npy"])
def test_what_is_no_answer_of_the_service_is_named(status, media_type):
    """A page of a proxy, or a redirection, which is not followed: its place is in the message."""
    told = {"Location": "/elsewhere"} if status >= 300 else {}
    for call in CALLS_OF_ANSWERS:
        client, _ = scripted.recording(scripted.reply(b"<html>", media_type, status, **told))
        with pytest.raises(ValueError, match="the answer is no application/") as one:
            call(client)
        assert f": status {status}, {media_type or 'no media type'}" in str(one.value)
        assert not isinstance(one.value, posenc.Refused)
        assert ("at /elsewhere" in str(one.value)) == (status >= 300)


@pytest.mark.parametrize("size", [0, 1, 4, 15, 17, 20])
def test_an_answer_with_fewer_or_more_bytes_than_its_shape_is_an_error(size):
    """In a file that is cut off, one with other places of bytes, and base64."""
    whole = b"".join(map(bytes, _arrays.safetensors_pieces({"a": numpy.ones((2, 2), "f4")}, {})))
    other = whole.replace(b"[0,16]", b"[0,%d]" % size) + bytes(4)
    told = {"dtype": "f32", "shape": [2, 2], "base64": base64.b64encode(bytes(size)).decode()}
    for body, media_type in (
        (whole[: len(whole) - 16 + size] if size < 16 else other, "application/x-safetensors"),
        (other, "application/x-safetensors"),
        (json.dumps({"tensors": {"a": told}}).encode(), "application/json"),
    ):
        client, _ = scripted.recording(scripted.reply(body, media_type))
        with pytest.raises(ValueError):
            client.table("x")


# ---- warnings ------------------------------------------------------------------------------------

WARNED = {
    "a header": scripted.reply(
        EMPTY,
        "application/x-safetensors",
        Encoding_Parameters='{"name": "x"}',
        Encoding_Warnings='["one", "two"]',
    ),
    "JSON": scripted.reply(b'{"encoding": {"name": "x"}, "warnings": ["one", "two"], "more": 3}'),
}


@pytest.mark.parametrize("where", WARNED)
@pytest.mark.parametrize(
    "before,call",
    [
        ((), lambda one: one.table("x")),
        ((), lambda one: one.view("x", "bias")),
        ((), lambda one: one.rotate("x")),
        ((), lambda one: one.layout("a", "b")),
        ((scripted.reply(b'{"encoding": {"name": "x"}}'),), lambda one: one.table(config={"a": 1})),
    ],
)
def test_warnings_are_of_the_line_that_calls(where, before, call):
    client, _ = scripted.recording(*before, WARNED[where])
    with pytest.warns(posenc.EncodingWarning) as warned:
        found = call(client)
    assert [(str(one.message), one.filename) for one in warned] == [
        ("one", __file__),
        ("two", __file__),
    ]
    assert found.warnings == ("one", "two") and found.encoding == {"name": "x"}
    assert found.info == ({"more": 3} if where == "JSON" else {})
    again = pickle.loads(pickle.dumps(found))
    assert (again.encoding, again.warnings, again.info) == (
        found.encoding,
        found.warnings,
        found.info,
    )


SAFETENSORS_OF = {
    count: b"".join(
        bytes(piece)
        for piece in _arrays.safetensors_pieces(
            {name: numpy.arange(2.0) + at for at, name in enumerate("ab"[:count])}, {}
        )
    )
    for count in (1, 2)
}
JSON_OF = {
    count: json.dumps(
        {
            "tensors": {
                name: _arrays.json_tensor(numpy.arange(2.0) + at)
                for at, name in enumerate("ab"[:count])
            },
            "encoding": {"name": "x"},
            "warnings": ["one"],
            "more": {"deep": [3]},
        }
    ).encode()
    for count in (1, 2)
}


@pytest.mark.filterwarnings("ignore::posenc.EncodingWarning")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("form", ["JSON", "safetensors"])
def test_all_of_an_answer_travels_between_processes(form, count, protocol):
    """Every attribute but the picture, which is of a request that this process can make."""
    told = {"Encoding_Parameters": '{"name": "x"}', "Encoding_Warnings": '["one"]'}
    client, _ = scripted.recording(
        scripted.reply(JSON_OF[count])
        if form == "JSON"
        else scripted.reply(SAFETENSORS_OF[count], "application/x-safetensors", **told)
    )
    found = client.table("x")
    again = pickle.loads(pickle.dumps(found, protocol))
    assert found.warnings == ("one",) and found.encoding and len(found.names) == count
    assert bool(found.info) == (form == "JSON") and type(again) is type(found)
    assert {**vars(again), "_draw": 0} == {**vars(found), "_draw": 0}
    for name, array in found.as_dict().items():
        assert again[name].dtype == array.dtype and again[name].tolist() == array.tolist()


def test_warnings_with_asyncio(url):
    async def ask():
        async with posenc.connect_async(url) as remote:
            return await remote.view("sinusoidal", "decay", dim=8, max_offset=2)

    with pytest.warns(posenc.EncodingWarning, match="oscillate") as warned:
        asyncio.run(ask())
    assert [one.filename for one in warned] == [__file__]


def test_answers_without_warnings_warn_of_nothing():
    client, _ = scripted.recording(scripted.reply(EMPTY, "application/x-safetensors"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = client.table("x")
    assert (found.names, found.encoding, found.warnings, found.info) == ((), {}, (), {})


# ---- how they are shown --------------------------------------------------------------------------


def test_arrays_are_shown_by_names_types_and_shapes():
    found = posenc.rotate(
        "rope", q=numpy.zeros((1, 2, 3, 4), "f2"), axes="bhsd", layout="half", start=0
    )
    assert repr(found) == "Tensors(q: float16[1, 2, 3, 4])"
    assert "q" in dir(found) and "as_dict" in dir(found)


def test_a_report_has_a_line_for_each_key():
    report = posenc.diagnose(inv_freq=[1, 0.01])
    lines = repr(report).splitlines()
    assert (lines[0], lines[-1]) == ("Report(", ")")
    assert [line.split("=")[0].strip() for line in lines[1:-1]] == list(report)
    assert f"  verdict={report.verdict!r}," in lines
    assert {"verdict", "keys"} <= set(dir(report))
    large = posenc.Report({f"a{i}": {"b": [0.5] * 100, "c": "x" * 500} for i in range(9)})
    assert len(repr(large)) < 9 * 300 and repr(large).count("...") >= 18
    assert json.loads(json.dumps(large)) == large and repr(posenc.Report()) == "Report()"
    wide = posenc.Report({"a": {str(i): i for i in range(30)}, "b": {"c": {"d": {"e": [0]}}}})
    assert "'11': 11, ...}" in repr(wide) and "{'c': {'d': {'e': [...]}}}" in repr(wide)


def html(report):
    """The elements of what a notebook shows."""
    return xml.etree.ElementTree.fromstring(f"<div>{report._repr_html_()}</div>")


def lines(report):
    """What stands above the table."""
    return ["".join(one.itertext()) for one in html(report).findall("div")]


def rows(report):
    """The texts of the table: key and value."""
    return dict(
        ["".join(cell.itertext()) for cell in row]
        for row in html(report).find("table").findall("tr")
    )


LLAMA = {"model_type": "llama", "head_dim": 64, "rope_theta": 500000}
GEMMA = {"model_type": "gemma3_text", "num_hidden_layers": 6, "head_dim": 256}
LLAMA_ROPE = {"dim": 64, "base": 500000}


@pytest.mark.parametrize(
    "ask,expected",
    [
        (
            lambda door: door.diagnose("rope", inv_freq=[1, 0.01]),
            ["✓ match: every value that was looked at is explained by rounding, that of angles"],
        ),
        (
            lambda door: door.diagnose(
                config=LLAMA, inv_freq=[10000 ** (-i / 32) for i in range(32)]
            ),
            [
                "✗ base-ignored: the frequencies are those of the default base",
                "fix: pass the base (rope_theta) on to where inv_freq is computed",
            ],
        ),
        (lambda door: door.diagnose("rope", inv_freq=[0.3, 0.7]), ["? unknown: "]),
        (lambda door: door.diagnose(inv_freq=[1, 0.01]), ["? consistent: "]),
        (
            lambda door: door.diagnose_positions([1, 2, 3]),
            ["✗ one-too-high: each id is one too high", "fix: begin to count at 0"],
        ),
        (
            lambda door: door.compare(LLAMA, {"name": "rope", "dim": 64}, length=2),
            ["✗ different: 59 of 128 elements"],
        ),
        (
            lambda door: door.compare(LLAMA, {"name": "rope", **LLAMA_ROPE}, length=2),
            ["✓ equal: all 128 elements"],
        ),
        (lambda door: door.config(LLAMA), ["✓ rope dim=64 base=500000 rope_type=default"]),
        (lambda door: door.config(GEMMA), ["! rope dim=256 base=1000000"]),
        (lambda door: door.encodings(), []),
        (lambda door: door.encodings("rope"), []),
    ],
)
def test_a_notebook_shows_the_verdict_first(door, ask, expected):
    """The words are those of the command; below is every member that has a value."""
    report = ask(door)
    found = lines(report)
    assert len(found) == len(expected)
    assert all(one.startswith(text) for one, text in zip(found, expected)), found
    assert list(rows(report)) == [
        key for key, value in report.items() if value not in (None, [], {}, "")
    ]
    assert len(report._repr_html_()) < 50000


HOSTILE = "<script>alert(1)</script>&\"'"


def test_the_html_of_a_report_is_escaped():
    report = posenc.Report(
        {
            "verdict": HOSTILE,
            "candidates": [{"explanation": HOSTILE, "fix": HOSTILE, HOSTILE: [HOSTILE]}],
            HOSTILE: {HOSTILE: {HOSTILE: HOSTILE}, "b": [{HOSTILE: 1}]},
            "provenance": HOSTILE,
        }
    )
    assert "<script" not in report._repr_html_() and "alert" in report._repr_html_()
    assert lines(report) == [f"? {HOSTILE}: {HOSTILE}", f"fix: {HOSTILE}"]
    other = posenc.Report({"provenance": {}, "encoding": {"name": HOSTILE, HOSTILE: HOSTILE}})
    assert lines(other) == [f"✓ {HOSTILE} {HOSTILE}={HOSTILE}"]


def test_the_html_of_a_report_is_short():
    """Long lists and texts have their beginning; numbers have six digits."""
    large = posenc.Report(
        {
            "a": [{"b": 1 / 3, "c": None}] * 30,
            "d": "x" * 500,
            "e": {"f": {"g": {"h": {"i": 1}}}},
            "j": [],
            "k": False,
            "l": [{"m": [{"n": [{"o": 1}]}]}],
        }
    )
    found = rows(large)
    assert found["a"] == "bc" + "0.333333" * 8 + "22 more" and found["d"] == "x" * 200 + "…"
    assert found["e"] == "fgh=i=1" and found["k"] == "False" and "j" not in found
    assert html(posenc.Report()).find("table") is not None and not rows(posenc.Report())


@pytest.mark.parametrize("value", [None, "", [], {}, 0, False, 0.0, "a", [0], {"z": 0}])
def test_what_is_empty_has_no_row(value):
    """Nor a place in an encoding that is shown on one line; 0 and False are values."""
    is_empty = value is None or value == "" or isinstance(value, (list, dict)) and not value
    found = rows(posenc.Report({"a": 1, "b": value}))
    assert ("b" in found) == (not is_empty) and found["a"] == "1"
    report = posenc.Report({"provenance": {}, "encoding": {"name": "rope", "x": value, "dim": 4}})
    (line,) = lines(report)
    assert line.startswith("✓ rope ") and line.endswith("dim=4")
    assert ("x=" in line) == (not is_empty)


def test_other_objects_are_shown_by_what_they_are():
    reply = posenc.request("GET", "/v1/encodings/rope/table?dim=4&length=2&format=npy")
    assert repr(reply) == f"Reply(200, 'application/x-npy', {len(reply.content)} bytes)"
    assert repr(posenc.Local(threads=1, timeout=2.5)) == "Local(timeout=2.5, threads=1)"
    assert repr(posenc.Local()) == "Local()"


# ---- a service of one's own ----------------------------------------------------------------------


def test_settings_are_those_of_the_service():
    """Beside those that are not given, which are far; None is not given."""
    for settings in ({"dim_max": 8}, {"dim_max": 8, "tables": None}):
        with pytest.raises(posenc.Refused, match="--dim-max"):
            posenc.Local(**settings).table("rope", dim=16, length=1)
    narrow = posenc.Local(json_body_max="1KiB", threads=1)
    positions = list(range(1000))
    with pytest.raises(posenc.Refused, match="--json-body-max"):
        narrow.table("rope", dim=4, positions=positions)
    told = posenc.Local().request("GET", "/v1").json()
    assert told["limits"]["body_max"] == 2**40 and told["limits"]["json_body_max"] == 2**40
    none = posenc.Local(json_body_max=0).request("GET", "/v1").json()  # which is given, too
    assert none["limits"]["json_body_max"] == 0
    with pytest.raises(ValueError, match="setting:bool"):
        posenc.Local(bool=True).encodings()
    writes = posenc.Local(anonymous_writes=True)
    assert writes.request("DELETE", "/v1/encodings/x").status != 401


def test_work_behind_its_timeout_is_ended():
    hasty = posenc.Local(timeout=0.05)
    for length in (30_000, 60_000):
        with pytest.raises((TimeoutError, posenc.Refused)) as ended:
            hasty.view("rope", "similarity", dim=128, length=length)
        assert "memory" not in str(ended.value)
    assert posenc.Local(timeout=60).table("rope", dim=4, length=2).names == ("cos", "sin")


@pytest.mark.parametrize("seconds", [0.001, 0.75, 1.5, 59.999, 1e6])
@pytest.mark.parametrize("in_place", [False, True])
def test_the_deadline_of_a_request_is_its_timeout(seconds, in_place, monkeypatch):
    """To a thousandth, fractions included: of requests, and of arrays that are rotated in place."""
    heads = []

    class Head(_library._Head):
        def __init__(self, *members):
            super().__init__(*members)
            heads.append(self)

    monkeypatch.setattr(_library, "_Head", Head)
    service, began = posenc.Local(timeout=seconds), time.monotonic_ns()
    with contextlib.suppress(posenc.Refused, TimeoutError):
        if in_place:
            array = numpy.zeros((1, 1, 4), "f4")
            service.rotate_in_place("rope", array, axes="shd", layout="half", start=0)
        else:
            service.encodings("index")
    (found,) = heads
    assert began <= found.deadline - int(seconds * 1e9) <= time.monotonic_ns()
    posenc.Local().encodings("index")
    assert heads[-1].deadline == 0
