# SPDX-License-Identifier: MIT
"""No kernel and no small request has come to take a tenth more instructions than are kept in
counts.json; who makes them more on purpose renews it: tests/instructions/count.py --renew."""
import platform
import shutil

import count
import pytest

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="AVX2 is of x86-64")

# Another compiler or library has counts of its own: then only what is grossly more is told.
GROWTH_MAX, GROWTH_MAX_ELSEWHERE = 1.1, 1.6
NAMES = [*(f"kernel {name}" for name in count.kernels()), *count.ASKED]


@pytest.fixture(scope="module")
def counts():
    assert shutil.which("valgrind"), "tools/setup instructions brings valgrind"
    return count.count_all()


@pytest.fixture(scope="module")
def growth_max():
    kept, here = count.kept()["made_with"], count.made_with()
    if kept == here:
        return GROWTH_MAX
    print(f"counts are kept of {kept}; here is {here}: up to {GROWTH_MAX_ELSEWHERE} is let pass")
    return GROWTH_MAX_ELSEWHERE


@pytest.mark.parametrize("name", NAMES)
def test_takes_no_more_than_is_kept(name, counts, growth_max):
    known = count.kept()["counts"]
    assert counts[name] > 0, f"{name} was not run: give count.py work that needs it"
    assert counts[name] <= growth_max * known[name], \
        f"{counts[name] / known[name]:.2f} times as many; count.py --renew, if that is meant"


def test_nothing_is_kept_that_is_no_more():
    assert set(count.kept()["counts"]) == set(NAMES)
