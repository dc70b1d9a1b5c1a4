# SPDX-License-Identifier: MIT
"""Every answer of a long list is what it was: reviewed.md says what to do where it shall not be."""

import pytest
import record
import requested
import wire_answer

REQUESTS = requested.requests()
# In these groups nothing is refused, in those called "refused ..." everything is.
GOOD = {
    "examples",
    "absolute",
    "rope types",
    "rotary",
    "bias",
    "analysis",
    "post",
    "rotation",
    "attention",
    "comparison",
    "embedding",
    "layout",
    "diagnosis",
    "formats",
    "codings",
    "positions",
}


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


def test_each_record_is_asked_for(recorded):
    assert recorded[1].keys() == {request.name for request in REQUESTS}


def test_the_list_is_what_it_says(recorded):
    wrong = [
        (answer["status"], name)
        for name, answer in recorded[1].items()
        if name.startswith("refused")
        and answer["status"] < 400
        or name.split(":")[0] in GOOD
        and answer["status"] >= 400
    ]
    assert not wrong


def test_a_difference_is_seen(recorded):
    """One digit of a text, one header more, another status, other bytes."""
    answers = recorded[1]
    text = next(answer for answer in answers.values() if "0.84147096" in answer.get("text", ""))
    changed = text | {"text": text["text"].replace("0.84147096", "0.84147095")}
    assert any("0.84147095" in line for line in record.difference(text, changed))
    more = text | {"headers": text["headers"] | {"x-new": "1"}}
    assert record.difference(text, more) == ["header x-new: None -> 1"]
    assert record.difference(text, text | {"status": 500}) == ["status: 200 -> 500"]
    kept = next(answer for answer in answers.values() if "sha256" in answer)
    other = kept | wire_answer.body_kept(bytes(kept["length"]), "application/octet-stream")
    assert any("sha256" in line for line in record.difference(kept, other))
    tag = {"etag": '"x"'}
    tagged = next(answer for answer in answers.values() if "etag" in answer["headers"])
    retagged = tagged | {"headers": tagged["headers"] | tag}
    assert record.difference(tagged, retagged) and not record.difference(tagged, retagged, False)
