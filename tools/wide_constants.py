#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes core/exact/wide_constants.h: the binary digits of pi / 4, 2 / pi and ln 2.

    tools/wide_constants.py

Each is computed in whole numbers with 256 bits more than are stored, and cut off."""

import pathlib

OUT = pathlib.Path(__file__).resolve().parents[1] / "core/exact/wide_constants.h"
SPARE = 256

# Limbs of each number: enough for results of PE_WIDE_BITS, and of 2 / pi for |x| < 2^128 too.
LIMBS = {"CONSTANT_LIMBS": 28, "TWO_OVER_PI_LIMBS": 54}

HEAD = """\
/* SPDX-License-Identifier: MIT */
/* Written by tools/wide_constants.py. */
#ifndef CORE_EXACT_WIDE_CONSTANTS_H
#define CORE_EXACT_WIDE_CONSTANTS_H

#include <stdint.h>

/* Numbers between 1/2 and 1, cut off: limbs behind the point, least first. */
"""


def arctangent(one, n, sign):
    """one * atan(1 / n) for sign -1, one * artanh(1 / n) for sign 1, from below."""
    total, term, k = 0, one // n, 0
    while term:
        total += sign**k * (term // (2 * k + 1))
        term //= n * n
        k += 1
    return total


def quarter_pi(one):
    """Machin's formula."""
    return (16 * arctangent(one, 5, -1) - 4 * arctangent(one, 239, -1)) // 4


def two_over_pi(one):
    return one**2 // (2 * quarter_pi(one))


def ln2_limbs(one):
    return 2 * arctangent(one, 3, 1)


def table(number, size):
    count = LIMBS[size]
    digits = number(1 << 64 * count + SPARE) >> SPARE
    assert digits.bit_length() == 64 * count
    limbs = [f"0x{digits >> 64 * i & 2**64 - 1:016x}" for i in range(count)]
    lines = ["    " + ", ".join(limbs[i : i + 4]) + "," for i in range(0, count, 4)]
    return "\n".join([f"static const uint64_t {number.__name__}[{size}] = {{", *lines, "};"])


def main():
    sizes = ", ".join(f"{name} = {count}" for name, count in LIMBS.items())
    tables = [
        table(quarter_pi, "CONSTANT_LIMBS"),
        table(two_over_pi, "TWO_OVER_PI_LIMBS"),
        table(ln2_limbs, "CONSTANT_LIMBS"),
    ]
    OUT.write_text(HEAD + f"enum {{ {sizes} }};\n\n" + "\n\n".join(tables) + "\n\n#endif\n")


if __name__ == "__main__":
    main()
