/* SPDX-License-Identifier: MIT */
#include "core/exact/parts.h"

/* Logarithms, with one limb more than the result has. */

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

/* ln m of m in [sqrt(1/2), sqrt(2)): the logarithm y of a double near m, and what is left of m
 * after it was divided by e^y, which is 1 but for 2^-43. */
static struct pe_wide log_part(struct pe_wide m)
{
    const struct pe_wide d = pe_wide_sub_double(m, 1);

    if (pe_wide_exponent(d) < -9)
        return log_near(d);
    const double y = log_double(pe_wide_double(d));
    const struct pe_wide minus = pe_wide_of(64, -y);
    const struct pe_wide back = pe_wide_exp_in(&minus, m.count, pe_wide_precision(&m));
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
    struct pe_wide whole = pe_wide_of_uint(64, (uint64_t)(k < 0 ? -k : k));
    whole.negative = k < 0;
    const struct pe_wide ln2 = pe_wide_from_limbs(pe_wide_ln2, PE_WIDE_CONSTANT, 0, bits, true);
    return pe_wide_add(pe_wide_mul(ln2, whole), m);
}

/* ln x in so many bits, of an x that has 64 more. */
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
