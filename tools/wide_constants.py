#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes core/exact/constants.c: the binary digits of pi, 2 / pi and ln 2.

    tools/wide_constants.py

Each is computed in whole numbers with 256 bits more than are kept, and cut off."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPARE = 256


def arctangent(one, n, sign):
    """one * atan(1 / n) for sign -1, one * artanh(1 / n) for sign 1, from below."""
    total, term, k = 0, one // n, 0
    while term:
        total += sign**k * (term // (2 * k + 1))
        term //= n * n
        k += 1
    return total


def pi(one):
    """Machin's formula."""
    return 16 * arctangent(one, 5, -1) - 4 * arctangent(one, 239, -1)


def ln2(one):
    return 2 * arctangent(one, 3, 1)


def limbs_of(header, name):
    """How many limbs the header says that a constant has."""
    sizes = dict(re.findall(r"(\w+) = (\d+)", header))
    return int(sizes[re.search(rf"{name}\[(\w+)\]", header)[1]])


def table(name, size, fraction):
    """A fraction in [1/2, 1) as limbs, the least first."""
    count = limbs_of(size, name)
    whole = fraction >> SPARE
    assert whole.bit_length() == 64 * count
    limbs = [f"0x{whole >> 64 * i & 2**64 - 1:016x}" for i in range(count)]
    lines = ["    " + ", ".join(limbs[i : i + 4]) + "," for i in range(0, count, 4)]
    return "\n".join([f"const uint64_t {name}[] = {{", *lines, "};"])


def main():
    header = (ROOT / "core/exact/parts.h").read_text()

    def one(name):
        return 1 << 64 * limbs_of(header, name) + SPARE

    tables = [
        table("pe_wide_quarter_pi", header, pi(one("pe_wide_quarter_pi")) // 4),
        table(
            "pe_wide_over_half_pi",
            header,
            2 * one("pe_wide_over_half_pi") ** 2 // pi(one("pe_wide_over_half_pi")),
        ),
        table("pe_wide_ln2", header, ln2(one("pe_wide_ln2"))),
    ]
    (ROOT / "core/exact/constants.c").write_text(
        "/* SPDX-License-Identifier: MIT */\n/* Written by tools/wide_constants.py. */\n"
        '#include "core/exact/parts.h"\n\n' + "\n\n".join(tables) + "\n"
    )


if __name__ == "__main__":
    main()
