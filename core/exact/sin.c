/* SPDX-License-Identifier: MIT */
#include "core/exact/parts.h"

/* Sine and cosine: x is brought to the nearest multiple of pi/2, and Taylor's series does the rest,
 * with one limb more than the result has. */

struct pe_wide pe_wide_pi(unsigned bits)
{
    return pe_wide_from_limbs(pe_wide_quarter_pi, PE_WIDE_CONSTANT, 2, bits, true);
}

/* |x| = quarter * pi/2 + rest, |rest| <= pi/4, for 1/2 <= |x| < 2^128, in one limb more than x: x
 * times so many limbs of 2 / pi that their end is off by less than 2^(-2p - 128). The lowest bit
 * is set, so that the rest is never 0. */
static struct pe_wide reduce(const struct pe_wide *x, unsigned *quarter)
{
    const unsigned count = x->count, e = (unsigned)x->exponent;
    const unsigned n = e / 64 + 2 * count + 4, point = n + count - e / 64;
    uint64_t turns[PE_WIDE_LIMBS + PE_WIDE_TURNS + 1];
    uint64_t shifted[PE_WIDE_LIMBS + PE_WIDE_TURNS + 1];

    pe_limbs_multiply(turns, pe_wide_over_half_pi + (PE_WIDE_TURNS - n), n, x->limb, count);
    shifted[n + count] = pe_limbs_shift_up(shifted, turns, n + count, e % 64);
    shifted[0] |= 1;
    const bool beyond = shifted[point - 1] >> 63;
    *quarter = (unsigned)((shifted[point] & 3) + beyond);
    if (beyond)
        pe_limbs_negate(shifted, point);
    struct pe_wide rest = pe_wide_from_limbs(shifted, point, 0, 64 * (count + 1), true);
    rest.negative = beyond;
    return pe_wide_mul(rest, pe_wide_scale(pe_wide_pi(64 * (count + 1)), -1));
}

/* cos r, or sin r, for |r| < 0.8. */
static struct pe_wide wave(struct pe_wide r, bool is_cos)
{
    const unsigned bits = pe_wide_precision(&r), n = bits / 64;
    uint64_t z[PE_WIDE_WORK], sum[PE_WIDE_WORK];
    const struct pe_wide square = pe_wide_mul(r, r);

    pe_wide_to_fixed(z, n, &square);
    pe_series_sum(sum, z, n, is_cos ? PE_SERIES_COS : PE_SERIES_SIN);
    sum[n] = !pe_limbs_any(sum, n);
    pe_limbs_negate(sum, n); /* 1 - sum */
    const struct pe_wide factor = pe_wide_from_limbs(sum, n + 1, 64, bits, true);
    return is_cos ? factor : pe_wide_mul(r, factor);
}

/* sin(x + turn * pi/2) */
static struct pe_wide sin_turned(struct pe_wide x, unsigned turn)
{
    const unsigned bits = pe_wide_precision(&x);
    const bool negative = x.negative && turn == 0;
    unsigned quarter = 0;

    if (x.kind == PE_WIDE_ZERO)
        return pe_wide_marked(turn ? pe_wide_of_uint(bits, 1) : x, x.inexact);
    if (x.kind != PE_WIDE_FINITE || x.exponent > 128)
        return pe_wide_marked(pe_wide_special(bits, PE_WIDE_NAN, false), x.inexact);
    x = x.exponent < 0 ? pe_wide_abs(pe_wide_cut(x, bits + 64)) : reduce(&x, &quarter);
    quarter += turn;
    x = pe_wide_marked(pe_wide_cut(wave(x, quarter & 1), bits), true);
    return negative == ((quarter & 2) != 0) ? x : pe_wide_negate(x);
}

struct pe_wide pe_wide_sin(struct pe_wide x)
{
    return sin_turned(x, 0);
}

struct pe_wide pe_wide_cos(struct pe_wide x)
{
    return sin_turned(x, 1);
}
