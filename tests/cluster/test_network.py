# SPDX-License-Identifier: MIT
"""Faults of the network between docker/haproxy.cfg and three replicas with a writer, and overload.
Every body is compared by its hash.

CLUSTER_SECONDS is how long each fault lasts (60)."""

import contextlib
import json
import os
import time

import numpy
import pytest
from network import PORT, READERS, TOKEN, cluster, link_down, loss, partition, slow_link, wait_for
from parts import Load, pure_requests, wanted

SECONDS = float(os.environ.get("CLUSTER_SECONDS", "60"))
LOST_SECONDS, BACK_SECONDS = 12, 3  # of each replica in turn
SLOWEST_SECONDS_MAX = 8  # where a replica is lost: noticed by TCP after 3 to 5 s, then repeated
CALM_SECONDS = 10
REFUSED, ACCEPTED = {"502", "503"}, {"200", "201"}


@pytest.fixture(scope="module")
def members():
    with cluster() as one:
        yield one


@pytest.fixture(scope="module")
def requests(start_shared):
    return wanted(start_shared("--log-format", "off").port, pure_requests())


def under(members, requests, seconds, work=lambda: None, connections=8):
    """What clients saw while `work` was done: the load begins before it."""
    load = Load(members.folder, requests, PORT, seconds, connections, members.inside("edge"))
    time.sleep(1)
    work()
    result = load.result()
    print(json.dumps(result))
    return result


def assert_nothing_failed(result, cut_max=0):
    """A balancer cannot repeat an answer that has begun: such a one ends early, and the client
    sends its request again."""
    assert result["statuses"].keys() == {"200"}, result
    assert not result["errors"] and not result["wrong"] and result["cut"] <= cut_max, result


@pytest.mark.parametrize("fault", [partition, link_down])
def test_replicas_are_lost_in_turn(fault, members, requests):
    rounds = max(1, round(SECONDS / LOST_SECONDS))

    def work():
        for i in range(rounds):
            with fault(members, READERS[i % 3]):
                time.sleep(LOST_SECONDS)
            time.sleep(BACK_SECONDS)

    result = under(members, requests, 1 + rounds * (LOST_SECONDS + BACK_SECONDS), work)
    assert_nothing_failed(result, cut_max=rounds)
    assert result["slowest"] < SLOWEST_SECONDS_MAX, result


@pytest.mark.parametrize("fault", [loss, slow_link])
def test_the_links_of_all_replicas_are_bad(fault, members, requests):
    def work():
        with contextlib.ExitStack() as stack:
            for member in READERS:
                stack.enter_context(fault(members, member))
            time.sleep(SECONDS)

    assert_nothing_failed(under(members, requests, SECONDS, work))


@pytest.mark.parametrize("fault", [partition, link_down])
def test_the_writer_is_lost_and_back(fault, members, requests):
    """Reading goes on; changes are refused, and accepted again."""
    file = members.folder / "rows.npy"
    numpy.save(file, numpy.ones((2, 2), "f4"))

    def put():
        fields = ("-H", f"Authorization: Bearer {TOKEN}", "-T", str(file))
        return members.status("/v1/encodings/mine", *fields)

    def work():
        assert put() in ACCEPTED
        with fault(members, "writer"):
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                began = time.monotonic()
                assert put() in REFUSED and time.monotonic() - began < 15
                time.sleep(0.5)
        wait_for(lambda: put() in ACCEPTED, 20, "the writer")

    assert_nothing_failed(under(members, requests, 1 + SECONDS, work))


def test_tenfold_overload(start_server):
    """Answers are right, or 503 with Retry-After; behind it every request is answered."""
    path = "/v1/encodings/rope/analysis/uniqueness?dim=64&length=6000&base="
    costly = [
        {"method": "GET", "path": f"{path}{base}", "fields": {}, "body": ""}
        for base in range(10000, 10016)
    ]
    costly = wanted(start_server("--log-format", "off").port, costly)
    with cluster("--threads", "1", "--queue-max", "8", "--cache-max", "0") as members:
        calm = under(members, costly, CALM_SECONDS, connections=3)
        assert_nothing_failed(calm)
        capacity = calm["requests"] / CALM_SECONDS
        over = under(members, costly, SECONDS, connections=96)
        assert over["requests"] / SECONDS >= 10 * capacity, (over, capacity)
        assert over["statuses"].keys() == {"200", "503"} and not over["errors"], over
        assert not over["wrong"] and not over["cut"] and not over["without_retry_after"], over
        assert over["statuses"]["200"] / SECONDS >= 0.25 * capacity, (over, capacity)
        after = under(members, costly, CALM_SECONDS, connections=3)
        assert_nothing_failed(after)
        assert after["requests"] / CALM_SECONDS >= 0.25 * capacity, (after, capacity)
