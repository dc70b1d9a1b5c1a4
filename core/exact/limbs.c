/* SPDX-License-Identifier: MIT */
#include "core/exact/limbs.h"

#include "core/exact/wraps.h"

void pe_limbs_multiply(uint64_t *r, const uint64_t *a, unsigned na, const uint64_t *b, unsigned nb)
{
    memset(r, 0, na * sizeof(*r));
    for (unsigned i = 0; i < nb; i++)
        r[na + i] = pe_limbs_add_product(r + i, a, na, b[i]);
}

/* ---- division ------------------------------------------------------------------------------- */

/* floor((2^128 - 1) / d) - 2^64 of a d whose highest bit is 1. */
static uint64_t reciprocal(uint64_t d)
{
    return (uint64_t)(((unsigned __int128)~d << 64 | UINT64_MAX) / d);
}

/* (high, low) / d for high < d: Moeller and Granlund, Improved division by invariant integers,
 * 2011, algorithm 4. */
PE_WRAPS("the quotient and the rest are taken modulo 2^64, where they are exact")
static inline uint64_t divide_two(uint64_t high, uint64_t low, uint64_t d, uint64_t inverse,
                                  uint64_t *rest)
{
    const unsigned __int128 near =
        (unsigned __int128)inverse * high + ((unsigned __int128)high << 64 | low);
    uint64_t q = (uint64_t)(near >> 64) + 1, r = low - q * d;

    if (r > (uint64_t)near) {
        q--;
        r += d;
    }
    if (r >= d) {
        q++;
        r -= d;
    }
    *rest = r;
    return q;
}

/* Knuth's algorithm D: a digit that is guessed from one limb of b is at most 2 too large. */
void pe_limbs_divide(uint64_t *q, uint64_t *a, unsigned na, const uint64_t *b, unsigned nb)
{
    const uint64_t top = b[nb - 1], inverse = reciprocal(top);

    for (unsigned i = na - nb; i > 0; i--) {
        uint64_t *part = a + (i - 1), rest;
        uint64_t digit =
            part[nb] >= top ? UINT64_MAX : divide_two(part[nb], part[nb - 1], top, inverse, &rest);
        const uint64_t borrow = pe_limbs_sub_product(part, b, nb, digit);
        for (uint64_t lacking = borrow > part[nb] ? borrow - part[nb] : 0; lacking; digit--)
            lacking -= pe_limbs_add(part, part, b, nb);
        part[nb] = 0;
        q[i - 1] = digit;
    }
}

uint64_t pe_limbs_divide_one(uint64_t *a, unsigned n, uint64_t d)
{
    const unsigned bits = (unsigned)__builtin_clzll(d);
    const uint64_t high = d << bits, inverse = reciprocal(high);
    uint64_t rest = pe_limbs_shift_up(a, a, n, bits);

    for (unsigned i = n; i > 0; i--)
        a[i - 1] = divide_two(rest, a[i - 1], high, inverse, &rest);
    return rest >> bits;
}
