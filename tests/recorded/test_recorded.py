# SPDX-License-Identifier: MIT
"""Every answer of the list is as it was recorded: reviewed.md says how to change one."""

import pytest
import record
import requested
import wire_answer

REQUESTS = requested.requests()
# Groups with both good answers and refusals. In the others that are called "refused ..." every
# request is refused, and none in the rest.
MIXED = {"head", "ranges", "validators", "pages", "pages narrow"}
MIXED |= {"tables", "tables bare", "tables narrow"}
MIXED |= {"classes", "values of parameters", "estimated work"}
MIXED |= {"pairs", "pairs of parameters", "tensors"}


@pytest.fixture(scope="module")
def started():
    with record.servers() as servers:
        yield servers


@pytest.fixture(scope="module")
def recorded():
    return record.read()


@pytest.mark.parametrize("group", requested.groups())
def test_answers(started, recorded, group):
    asked = [request for request in REQUESTS if request.group == group]
    lines = record.compare(asked, recorded, record.answers_now(started, asked))
    assert not lines, "\n" + "\n".join(lines)


def test_each_record_is_requested(recorded):
    assert recorded.keys() == {request.name for request in REQUESTS}


@pytest.mark.parametrize("group", sorted(set(requested.groups()) - MIXED))
def test_groups_are_refused_or_not(recorded, group):
    statuses = {recorded[one.name]["status"] for one in REQUESTS if one.group == group}
    assert {status >= 400 for status in statuses} == {group.startswith("refused")}


def changed(answer, **changes):
    return record.difference(answer, answer | changes)


def test_differences_of_a_status_and_of_headers(recorded):
    answer = recorded["bias: GET alibi/bias?heads=2&query_length=0&key_length=3"]
    assert changed(answer) == []
    assert changed(answer, status=500) == ["status: 200 -> 500"]
    more = answer["headers"] | {"x-new": "1"}
    assert changed(answer, headers=more) == ["header x-new: None -> 1"]
    weak = answer["headers"] | {"etag": 'W/"*"'}
    assert changed(answer, headers=weak) == ['header etag: "*" -> W/"*"']


@pytest.mark.parametrize(
    "before, after",
    [("0.5", "0.50"), ("1", "1.0"), ("1", '"1"'), ("0", "-0"), ("null", "0"), ("[1]", "1")],
)
def test_values_of_json_differ(before, after):
    kind = {"content-type": "application/json"}
    old = {"status": 200, "headers": kind, "text": f'{{"a": {before}, "b": 2}}'}
    assert len(changed(old, text=f'{{"a": {after}, "b": 2}}')) == 3
    assert changed(old, text=f'{{"b":2,"a":{before}}}') == []
    parts = [wire_answer.parts_of(wire_answer.parsed(f'{{"a": {one}}}')) for one in (before, after)]
    assert parts[0] != parts[1]


def test_differences_of_bytes(recorded):
    answer = next(answer for answer in recorded.values() if "sha256" in answer)
    other = wire_answer.body_kept(bytes(answer["length"]), "application/octet-stream")
    assert any("sha256" in line for line in changed(answer, **other))
