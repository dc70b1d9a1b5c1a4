# SPDX-License-Identifier: MIT
"""The library answers as posencd does: status, fields and bytes of every recorded request."""

import contextlib
import json
import locale
import subprocess

import in_process
import pytest
import record
import replay


def expect_recorded(*settings):
    with replay.doors(lambda told: in_process.Door([*told, *settings])) as opened:
        count, lines = replay.differences(opened, record.read())
    assert count > 300
    assert not lines, f"{len(lines)} lines:\n" + "\n".join(lines[:40])


@pytest.mark.parametrize("threads", ["1", "3"])
def test_answers(threads):
    expect_recorded(("threads", threads))


@pytest.fixture
def decimal_comma(tmp_path, monkeypatch):
    """This process has a locale that writes 1.5 as 1,5, and so have the threads of the library."""
    (tmp_path / "source").write_text(
        'LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\n'
        "grouping 3;3\nEND LC_NUMERIC\n"
        'LC_CTYPE\ncopy "POSIX"\nEND LC_CTYPE\n'
    )
    # It warns of the categories that are not there.
    subprocess.run(
        ["localedef", "-c", "-i", tmp_path / "source", tmp_path / "comma"], capture_output=True
    )
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    locale.setlocale(locale.LC_NUMERIC, "comma")
    assert locale.localeconv()["decimal_point"] == ","
    yield
    locale.setlocale(locale.LC_NUMERIC, "C")


def test_answers_where_the_host_has_a_decimal_comma(decimal_comma):
    expect_recorded(("threads", "2"))


LAYOUT = "/v1/layout?kind=table&from_layout=half&to_layout=meta&format=json"


@pytest.mark.parametrize(
    "number, dtype, answer",
    [
        ("6.4e1", "i32", 64),
        ("0.64e2", "u8", 64),
        ("-1.5e1", "i64", -15),
        ("64.5", "i32", "a whole number is expected"),
        ("1.5", "bool", "a whole number is expected"),
        ("0.5", "f64", 0.5),
        ("6.10649585723876953125e-5", "f16", 6.1035156e-05),
        ("0.1000000000000000055511151231257827021181583404541015625", "f64", 0.1),
    ],
)
def test_numbers_where_the_host_has_a_decimal_comma(decimal_comma, number, dtype, answer):
    body = f'{{"tensors":{{"t":{{"dtype":"{dtype}","data":[[{number},0]]}}}}}}'.encode()
    with contextlib.closing(in_process.Door([])) as door:
        status, _, told = door.ask("POST", LAYOUT, [("Content-Type", "application/json")], body)
    told = json.loads(told)
    if isinstance(answer, str):
        assert status == 422 and answer in told["detail"], told
    else:
        assert status == 200 and told["tensors"]["t"]["data"][0][0] == answer, told
