# SPDX-License-Identifier: MIT
"""A file that the service made is posted back as it is: its metadata say what made it."""

import pytest
import requests


@pytest.fixture(scope="module")
def file(server):
    asked = {"dim": 16, "length": 32, "base": 10001, "format": "safetensors"}
    answer = requests.get(f"{server.url}/v1/encodings/rope/table", asked, timeout=9)
    assert answer.status_code == 200
    return answer.content


def post(server, path, file, **params):
    return requests.post(server.url + path, data=file, params=params, timeout=9).json()


def test_a_diagnosis_expects_what_the_file_says(server, file):
    report = post(server, "/v1/diagnosis", file)
    assert (report["verdict"], report["identical_to"]) == ("match", ["exact"])
    assert report["candidates"][0]["encoding"]["base"] == 10001


def test_what_the_request_expects_stands_above_the_file(server, file):
    report = post(server, "/v1/diagnosis", file, encoding="rope", base=10000)
    assert report["verdict"] == "other-scheme"
    assert report["candidates"][0]["encoding"]["base"] == 10001


def test_tables_are_compared_and_laid_out_whatever_made_them(server, file):
    assert post(server, "/v1/comparison", file, a="tensor:cos", b="tensor:sin")["elements"] == 256
    answer = requests.post(
        server.url + "/v1/layout",
        data=file,
        timeout=9,
        params={"from_layout": "half", "to_layout": "interleaved", "kind": "table", "head_dim": 8},
    )
    assert answer.status_code == 200, answer.text


def test_a_name_that_is_no_parameter_is_refused_all_the_same(server, file):
    wrong = file.replace(b"posenc.rope_type", b"posenc.rope_tipe")
    assert (
        post(server, "/v1/comparison", wrong, a="tensor:cos", b="tensor:sin")["code"]
        == "unknown-parameter"
    )
