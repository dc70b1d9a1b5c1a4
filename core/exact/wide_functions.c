/* SPDX-License-Identifier: MIT */
#include "core/exact/wide_constants.h"
#include "core/exact/wide_internal.h"

/* Elementary functions of wide numbers, computed with one limb more than the result has. Their
 * error bounds are proved in docs/internals/exactness.md, "Wide numbers". */

/* ---- Taylor's series ------------------------------------------------------------------------ */

/* The series of functions without their first term: T of e^z = 1 + T, of cos x = 1 - T and of
 * sin x = x (1 - T) for z = x^2. */
enum series { SERIES_EXP, SERIES_COS, SERIES_SIN };

/* The ratio of term k to the one before it is z / step(k). */
static uint64_t step(enum series series, unsigned k)
{
    const uint64_t n = k;

    if (series == SERIES_EXP)
        return n;
    return series == SERIES_COS ? 2 * n * (2 * n - 1) : 2 * n * (2 * n + 1);
}

static unsigned bits_below(uint64_t n)
{
    return 63 - (unsigned)__builtin_clzll(n);
}

/* The number of terms until one is less than the last bit of n limbs. */
static unsigned terms_count(const uint64_t *z, unsigned n, enum series series)
{
    unsigned top = n, zeros = 0, small = 0, k = 0;

    while (top > 0 && z[top - 1] == 0)
        top--;
    zeros = 64 * (n - top) + (top > 0 ? (unsigned)__builtin_clzll(z[top - 1]) : 0);
    while (small <= 64 * n) {
        k++;
        small += zeros + bits_below(step(series, k));
    }
    return k;
}

/* Horner's scheme from the last term, T(k - 1) = z / step(k) (1 ± T(k)). Divisions are postponed:
 * the sum is `over` times too large, and is divided before `over` exceeds 62 bits. */
static inline __attribute__((always_inline)) void series_sum(uint64_t *sum, const uint64_t *z,
                                                             unsigned n, enum series series)
{
    uint64_t nested[PE_WIDE_WORK + 1], product[PE_WIDE_WORK + 1], over = 1;

    memset(nested, 0, (n + 1) * sizeof(nested[0]));
    for (unsigned k = terms_count(z, n, series); k > 0; k--) {
        const uint64_t next = k > 1 ? step(series, k - 1) : UINT64_MAX;
        if (series != SERIES_EXP)
            pe_limbs_negate(nested, n + 1);
        pe_limbs_add_one(nested + n, 1, over);
        pe_limbs_multiply_high(product, nested, z, n);
        product[n] = pe_limbs_add_product(product, z, n, nested[n]);
        over *= step(series, k);
        if (over > ((uint64_t)1 << 62) / next) {
            pe_limbs_divide_one(product, n + 1, over);
            over = 1;
        }
        memcpy(nested, product, (n + 1) * sizeof(nested[0]));
    }
    memcpy(sum, nested, n * sizeof(nested[0]));
}

/* The sum and z are n limbs after the point; z < 0.7. The sum is off by less than 2^7 of its last
 * bit. The loops of the shortest numbers, which are the most frequent, have constant bounds. */
static void taylor_sum(uint64_t *sum, const uint64_t *z, unsigned n, enum series series)
{
    if (n == 4)
        series_sum(sum, z, 4, series);
    else if (n == 5)
        series_sum(sum, z, 5, series);
    else if (n == 6)
        series_sum(sum, z, 6, series);
    else
        series_sum(sum, z, n, series);
}

/* ---- exponential ---------------------------------------------------------------------------- */

/* A fraction r of n limbs, 0 <= r < ln 2, is halved a few times, so that Taylor's series is short,
 * and the sum is doubled and squared as often. n is one limb more than the result has, for the
 * errors. */

static const uint64_t *ln2_of(unsigned n)
{
    return ln2_limbs + (CONSTANT_LIMBS - n);
}

/* e^r - 1; every error is towards 0. */
static void fraction_exp(uint64_t *e, const uint64_t *r, unsigned n)
{
    const unsigned halvings = 6 + n / 2;
    uint64_t part[PE_WIDE_WORK] = {0}, square[PE_WIDE_WORK];

    pe_limbs_shift_down(part, r, n, halvings);
    taylor_sum(e, part, n, SERIES_EXP);
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

/* Reduces x = k ln 2 + r to r and returns k. x has n + 1 limbs, the highest an integer below 2^60.
 * The quotient estimated from 1 / ln 2 in 64 bits is off by 3 at most. */
static int64_t take_ln2(uint64_t *x, unsigned n)
{
    const uint64_t over_ln2 = 0xb8aa3b295c17f0bb; /* 2^63 / ln 2 */
    const uint64_t *ln2 = ln2_of(n + 1);          /* one limb more, for the factor k */
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

/* e^x in so many bits, computed in n limbs after the point: to a relative error of 2^(26 - 64n),
 * and of 2^(1 - bits) where it is cut off. |x| < 2^59. */
static struct pe_wide exp_in(const struct pe_wide *x, unsigned n, unsigned bits)
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
    return exp_in(&x, x.count + 1u, pe_wide_precision(&x));
}

struct pe_wide pe_wide_exp2(struct pe_wide x)
{
    const unsigned bits = pe_wide_precision(&x), n = bits / 64 + 1;
    uint64_t fraction[PE_WIDE_WORK + 1], r[PE_WIDE_WORK];

    if (x.kind != PE_WIDE_FINITE || x.exponent > 59)
        return exp_special(&x);
    const bool lost = pe_wide_to_fixed(fraction, n, &x), is_integer = !pe_limbs_any(fraction, n);
    int64_t k = (int64_t)fraction[n];
    if (x.negative) {
        k = is_integer ? -k : -k - 1;
        pe_limbs_negate(fraction, n);
    }
    if (is_integer && !lost)
        return pe_wide_marked(pe_wide_scale(pe_wide_of_uint(bits, 1), k), x.inexact);
    pe_limbs_multiply_high(r, fraction, ln2_of(n), n);
    return exp_scaled(r, n, k, bits);
}

/* ---- logarithm ------------------------------------------------------------------------------ */

/* 2 artanh s = s (2 + 2 s^2 / 3 + ...) of |s| < 2^-9. */
static struct pe_wide artanh_twice(struct pe_wide s)
{
    const unsigned bits = pe_wide_precision(&s), n = bits / 64;
    uint64_t z[PE_WIDE_WORK], sum[PE_WIDE_WORK] = {0}, product[PE_WIDE_WORK];
    const struct pe_wide square = pe_wide_mul(s, s);

    if (s.kind == PE_WIDE_ZERO)
        return s;
    pe_wide_to_fixed(z, n, &square);
    for (unsigned k = (unsigned)(bits / -square.exponent) + 1; k > 0; k--) {
        uint64_t over[PE_WIDE_WORK] = {0};
        over[n] = 1;
        pe_limbs_divide_one(over, n + 1, 2 * k + 1);
        pe_limbs_add(sum, sum, over, n);
        pe_limbs_multiply_high(product, sum, z, n);
        memcpy(sum, product, n * sizeof(sum[0]));
    }
    sum[n] = 1;
    return pe_wide_scale(pe_wide_mul(s, pe_wide_from_limbs(sum, n + 1, 64, bits, true)), 1);
}

/* ln(1 + d) of |d| < 2^-9. */
static struct pe_wide log_near(struct pe_wide d)
{
    return artanh_twice(pe_wide_div(d, pe_wide_add_double(d, 2)));
}

/* ln(1 + d) in doubles, to 2^-44, where 1 + d is in [sqrt(1/2), sqrt(2)): s^2 is below 0.0295. */
static double log_double(double d)
{
    const double s = d / (2 + d), z = s * s;
    double sum = 0;

    for (int n = 19; n >= 3; n -= 2)
        sum = z * (sum + 1.0 / n);
    return 2 * (s + s * sum);
}

/* ln m of m in [sqrt(1/2), sqrt(2)): y + ln(m e^-y) with a double y near ln m, so that m e^-y is 1
 * but for 2^-43. */
static struct pe_wide log_part(struct pe_wide m)
{
    const struct pe_wide d = pe_wide_sub_double(m, 1);

    if (pe_wide_exponent(d) < -9)
        return log_near(d);
    const double y = log_double(pe_wide_double(d));
    const struct pe_wide minus = pe_wide_of(64, -y);
    const struct pe_wide back = exp_in(&minus, m.count, pe_wide_precision(&m));
    return pe_wide_add_double(log_near(pe_wide_sub_double(pe_wide_mul(m, back), 1)), y);
}

/* x = m 2^k */
static struct pe_wide log_finite(struct pe_wide m)
{
    const uint64_t half_root = 0xb504f333f9de6484; /* sqrt(1/2) 2^64 */
    const unsigned bits = pe_wide_precision(&m);
    const bool low = m.limb[m.count - 1] < half_root;
    const int64_t k = m.exponent - low;

    m.exponent = low;
    m = log_part(m);
    if (k == 0)
        return m;
    struct pe_wide factor = pe_wide_of_uint(64, (uint64_t)(k < 0 ? -k : k));
    factor.negative = k < 0;
    const struct pe_wide ln2 = pe_wide_from_limbs(ln2_limbs, CONSTANT_LIMBS, 0, bits, true);
    return pe_wide_add(pe_wide_mul(ln2, factor), m);
}

/* ln x in so many bits; x has 64 bits more. */
static struct pe_wide log_of(struct pe_wide x, unsigned bits)
{
    const bool inexact = x.inexact;

    if (x.kind == PE_WIDE_ZERO)
        return pe_wide_marked(pe_wide_special(bits, PE_WIDE_INFINITE, true), inexact);
    if (x.kind != PE_WIDE_FINITE || x.negative)
        return pe_wide_marked(pe_wide_special(bits, x.negative ? PE_WIDE_NAN : x.kind, false),
                              inexact);
    x.inexact = false;
    x = pe_wide_cut(log_finite(x), bits);
    return pe_wide_marked(x, inexact || x.kind != PE_WIDE_ZERO);
}

struct pe_wide pe_wide_log(struct pe_wide x)
{
    const unsigned bits = pe_wide_precision(&x);

    return log_of(pe_wide_cut(x, bits + 64), bits);
}

struct pe_wide pe_wide_log1p(struct pe_wide x)
{
    const unsigned bits = pe_wide_precision(&x);
    const struct pe_wide wider = pe_wide_cut(x, bits + 64);

    if (x.kind != PE_WIDE_FINITE || x.exponent >= -9)
        return x.kind == PE_WIDE_ZERO ? x : log_of(pe_wide_add_double(wider, 1), bits);
    return pe_wide_marked(pe_wide_cut(log_near(wider), bits), true);
}

/* ---- powers --------------------------------------------------------------------------------- */

/* x^m where every product is exact; else marked as inexact. */
static struct pe_wide exact_integer_power(struct pe_wide x, uint64_t m)
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

/* The odd part of a square is 1 modulo 8, and its power of two is even. */
static bool may_be_square(const struct pe_wide *x)
{
    const unsigned length = pe_wide_length(*x), at = 64u * x->count - length;
    const unsigned limb = at / 64, bits = at % 64;
    const uint64_t more = bits && limb + 1 < x->count ? x->limb[limb + 1] << (64 - bits) : 0;

    return (x->exponent - length) % 2 == 0 && ((x->limb[limb] >> bits | more) & 7) == 1;
}

/* x^y where that is exact in the precision, else marked as inexact: y = m 2^j with an odd m, and -j
 * square roots where j < 0. A root halves the length of a number that is no power of two, so the
 * roots end soon; the exponent of a power of two has at most 60 factors 2. */
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
    x = exact_integer_power(x, (uint64_t)pe_wide_double(m));
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

/* ---- sine and cosine ------------------------------------------------------------------------ */

struct pe_wide pe_wide_pi(unsigned bits)
{
    return pe_wide_from_limbs(quarter_pi, CONSTANT_LIMBS, 2, bits, true);
}

/* |x| = quarter * pi/2 + r, |r| <= pi/4, for 1/2 <= |x| < 2^128, in one limb more than x: x is
 * multiplied by as many limbs of 2 / pi as leave an error below 2^(-2p - 128). The lowest bit is
 * set, so that r is never 0. */
static struct pe_wide reduce(const struct pe_wide *x, unsigned *quarter)
{
    const unsigned count = x->count, e = (unsigned)x->exponent;
    const unsigned n = e / 64 + 2 * count + 4, point = n + count - e / 64;
    uint64_t turns[PE_WIDE_LIMBS + TWO_OVER_PI_LIMBS + 1];
    uint64_t shifted[PE_WIDE_LIMBS + TWO_OVER_PI_LIMBS + 1];

    pe_limbs_multiply(turns, two_over_pi + (TWO_OVER_PI_LIMBS - n), n, x->limb, count);
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
    taylor_sum(sum, z, n, is_cos ? SERIES_COS : SERIES_SIN);
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
