# SPDX-License-Identifier: MIT
"""Requests that schemathesis draws from the document: no fault, and only documented answers."""

import collections

import document as contract
import hypothesis
import schemathesis
from test_contract_examples import answer_check

# schemathesis sends values at the limits of each parameter, too. Not of views, whose limits are
# those of test_contract_invalid; nor of functions, whose bodies it fills with an unknown encoding,
# so that thousands of requests are refused for that alone. Both are drawn at random.
schema = schemathesis.openapi.from_dict(contract.document)
schema_at_random = schemathesis.openapi.from_dict(contract.document)
schema_at_random.config.phases.coverage.enabled = False
seen = collections.Counter()


@schemathesis.serializer("application/x-npy", "application/x-safetensors", "application/x-gguf")
def as_it_is(context, value):
    """Text drawn for a binary body: nearly always one that cannot be read."""
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")


def settings(examples):
    """The same requests in every run: a failure stays one."""
    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


VIEWS = [path for path in contract.document["paths"] if path.startswith("/v1/encodings/{name}/")]


@schema_at_random.include(path=VIEWS).parametrize()
@settings(10)
def test_drawn_views(case, server):
    requested(case, server)


@schema_at_random.include(method="POST").exclude(path=VIEWS).parametrize()
@settings(20)
def test_drawn_functions(case, server):
    requested(case, server)


@schema.exclude(path=VIEWS).exclude(method="POST").parametrize()
@settings(20)
def test_drawn_requests(case, server):
    requested(case, server)


def requested(case, server):
    # Not what would be granted and take long: a terabyte of raw bytes is within the limits.
    hypothesis.assume(not 1e5 < elements_of(case) < 1e13)
    response = case.call(base_url=server.url, session=server.session, timeout=20)
    item = contract.document["paths"][case.operation.path]
    if (
        case.method.lower() not in item
    ):  # schemathesis tries others too: OPTIONS is answered everywhere
        assert response.status_code == (204 if case.method == "OPTIONS" else 405), case.method
        return
    operation = item[case.method.lower()]
    assert response.status_code != 500, response.content[:2000]
    raw = Response(response)
    answer_check(operation, raw)
    seen[response.status_code] += 1


def elements_of(case):
    """About how many elements are asked for."""
    given = dict(case.query or {})
    if isinstance(case.body, dict):
        given |= case.body
    given.setdefault("key_length", given.get("query_length", 1))
    product = 1
    for name in ("dim", "heads", "length", "query_length", "key_length"):
        try:
            product *= abs(float(given.get(name, 1))) or 1
        except (TypeError, ValueError):
            pass  # refused anyway
    return product


class Response:
    """What answer_check reads, of a schemathesis response."""

    def __init__(self, response):
        self.status_code = response.status_code
        self.headers = {
            "-".join(word.capitalize() for word in name.split("-")): values[0]
            for name, values in response.headers.items()
        }
        self.content = response.content or b""
        self.text = self.content.decode(errors="replace")
        self.json = response.json


def test_some_succeed_and_some_do_not():
    print(dict(seen))
    assert seen[200] > 50 and seen[422] > 50
