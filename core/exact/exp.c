/* SPDX-License-Identifier: MIT */
#include "core/exact/parts.h"

/* Exponentials. A fraction r of n limbs, 0 <= r < ln 2, is halved a few times, so that Taylor's
 * series is short, and the sum doubled and squared as often. n is one limb more than the result
 * has: it makes room for all that is lost here. */

static const uint64_t *ln2_of(unsigned n)
{
    return pe_wide_ln2 + (PE_WIDE_CONSTANT - n);
}

/* e^r - 1; every error is towards 0. */
static void fraction_exp(uint64_t *e, const uint64_t *r, unsigned n)
{
    const unsigned halvings = 6 + n / 2;
    uint64_t part[PE_WIDE_WORK] = {0}, square[PE_WIDE_WORK];

    pe_limbs_shift_down(part, r, n, halvings);
    pe_series_sum(e, part, n, PE_SERIES_EXP);
    for (unsigned i = 0; i < halvings; i++) { /* (1 + e)^2 - 1 */
        pe_limbs_multiply_high(square, e, e, n);
        pe_limbs_shift_up(e, e, n, 1);
        pe_limbs_add(e, e, square, n);
    }
}

/* (1 + e) 2^k */
static struct pe_wide exp_scaled(const uint64_t *r, unsigned n, int64_t k, unsigned bits)
{
    uint64_t e[PE_WIDE_WORK + 1];

    fraction_exp(e, r, n);
    e[n] = 1;
    return pe_wide_from_limbs(e, n + 1, k + 64, bits, true);
}

/* x of n + 1 limbs, the highest one its integer below 2^60, as k ln 2 + r. The quotient that is
 * guessed from 1 / ln 2 in 64 bits is off by 3 at most. */
static int64_t take_ln2(uint64_t *x, unsigned n)
{
    const uint64_t over_ln2 = 0xb8aa3b295c17f0bb; /* 2^63 / ln 2 */
    const uint64_t *ln2 = ln2_of(n + 1);          /* a limb more, for the factor k */
    const unsigned __int128 guess = (unsigned __int128)x[n] * over_ln2 +
                                    (uint64_t)((unsigned __int128)x[n - 1] * over_ln2 >> 64);
    uint64_t product[PE_WIDE_WORK + 2] = {0};
    int64_t k = (int64_t)(guess >> 63);

    product[n + 1] = pe_limbs_add_product(product, ln2, n + 1, (uint64_t)k);
    pe_limbs_sub(x, x, product + 1, n + 1);
    for (; x[n] >> 63; k--)
        x[n] = (uint64_t)((unsigned __int128)x[n] + pe_limbs_add(x, x, ln2 + 1, n));
    for (; x[n] || pe_limbs_compare(x, ln2 + 1, n) >= 0; k++)
        x[n] -= pe_limbs_sub(x, x, ln2 + 1, n);
    return k;
}

/* The result for an x that is not finite, 0, or so large that the result is out of range. */
static struct pe_wide exp_special(const struct pe_wide *x)
{
    const unsigned bits = pe_wide_precision(x);
    struct pe_wide y;

    if (x->kind == PE_WIDE_ZERO)
        y = pe_wide_of_uint(bits, 1);
    else if (x->kind == PE_WIDE_NAN)
        y = *x;
    else
        y = pe_wide_special(bits, x->negative ? PE_WIDE_ZERO : PE_WIDE_INFINITE, false);
    return pe_wide_marked(y, x->inexact || x->kind == PE_WIDE_FINITE);
}

struct pe_wide pe_wide_exp_in(const struct pe_wide *x, unsigned n, unsigned bits)
{
    uint64_t r[PE_WIDE_WORK + 1];
    int64_t k;

    pe_wide_to_fixed(r, n, x);
    k = take_ln2(r, n);
    if (x->negative) {
        pe_limbs_sub(r, ln2_of(n), r, n);
        k = -k - 1;
    }
    return exp_scaled(r, n, k, bits);
}

struct pe_wide pe_wide_exp(struct pe_wide x)
{
    if (x.kind != PE_WIDE_FINITE || x.exponent > 59)
        return exp_special(&x);
    return pe_wide_exp_in(&x, x.count + 1u, pe_wide_precision(&x));
}

struct pe_wide pe_wide_exp2(struct pe_wide x)
{
    const unsigned bits = pe_wide_precision(&x), n = bits / 64 + 1;
    uint64_t fraction[PE_WIDE_WORK + 1], r[PE_WIDE_WORK];

    if (x.kind != PE_WIDE_FINITE || x.exponent > 59)
        return exp_special(&x);
    const bool lost = pe_wide_to_fixed(fraction, n, &x), whole = !pe_limbs_any(fraction, n);
    int64_t k = (int64_t)fraction[n];
    if (x.negative) {
        k = whole ? -k : -k - 1;
        pe_limbs_negate(fraction, n);
    }
    if (whole && !lost)
        return pe_wide_marked(pe_wide_scale(pe_wide_of_uint(bits, 1), k), x.inexact);
    pe_limbs_multiply_high(r, fraction, ln2_of(n), n);
    return exp_scaled(r, n, k, bits);
}

/* ---- powers --------------------------------------------------------------------------------- */

/* x^m, while nothing is cut off; else marked. */
static struct pe_wide whole_power(struct pe_wide x, uint64_t m)
{
    struct pe_wide power = pe_wide_of_uint(pe_wide_precision(&x), 1);

    for (; m > 0 && !power.inexact && !x.inexact; m >>= 1) {
        if (m & 1)
            power = pe_wide_mul(power, x);
        if (m > 1)
            x = pe_wide_mul(x, x);
    }
    return pe_wide_marked(power, x.inexact);
}

/* An odd square is 1 modulo 8, and an even number of zeros may follow. */
static bool may_be_square(const struct pe_wide *x)
{
    const unsigned length = pe_wide_length(*x), at = 64u * x->count - length;
    const unsigned limb = at / 64, bits = at % 64;
    const uint64_t more = bits && limb + 1 < x->count ? x->limb[limb + 1] << (64 - bits) : 0;

    return (x->exponent - length) % 2 == 0 && ((x->limb[limb] >> bits | more) & 7) == 1;
}

/* x^y where that is a number of the precision: y = m 2^j with an odd m, below 0 as many square
 * roots as -j. Marked where it is not. A root halves the length of what is not a power of two, so
 * that the roots come to an end soon; the exponent of a power of two has 60 factors 2 at most. */
static struct pe_wide exact_power(struct pe_wide x, const struct pe_wide *y)
{
    const int64_t length = pe_wide_length(*y), j = y->exponent - length;
    struct pe_wide m = pe_wide_abs(*y);

    x.inexact |= y->inexact || length > 53 || y->exponent > 62 || j < -62;
    for (int64_t root = j; root < 0 && !x.inexact; root++)
        x = may_be_square(&x) ? pe_wide_sqrt(x) : pe_wide_marked(x, true);
    if (x.inexact)
        return x;
    m.exponent = j < 0 ? length : y->exponent;
    x = whole_power(x, (uint64_t)pe_wide_double(m));
    return y->negative ? pe_wide_div(pe_wide_of(64, 1), x) : x;
}

struct pe_wide pe_wide_pow(struct pe_wide x, struct pe_wide y)
{
    const unsigned bits = 64u * (x.count > y.count ? x.count : y.count);
    const bool inexact = x.inexact || y.inexact, one = pe_wide_compare_double(x, 1) == 0;

    if (y.kind == PE_WIDE_ZERO || (one && pe_wide_is_finite(&y)))
        return pe_wide_marked(pe_wide_of_uint(bits, 1), inexact);
    x = pe_wide_cut(x, bits);
    if (x.kind == PE_WIDE_FINITE && y.kind == PE_WIDE_FINITE && !x.negative) {
        const struct pe_wide power = exact_power(x, &y);
        if (!power.inexact)
            return power;
    }
    x = pe_wide_exp(pe_wide_mul(y, pe_wide_log(pe_wide_cut(x, bits + 64))));
    return pe_wide_marked(pe_wide_cut(x, bits), inexact);
}
