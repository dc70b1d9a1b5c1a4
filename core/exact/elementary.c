/* SPDX-License-Identifier: MIT */
#include "core/exact/elementary.h"

#include <math.h>

/* ln 2 in three pieces: the first two have 42 bits each, so that an integer below 2^10 times one of
 * them is exact. */
static const double ln2_pieces[] = {0x1.62e42fefa38p-1, 0x1.ef35793c76p-45, 0x1.cc01f97b57a08p-87};

/* ---- logarithm ------------------------------------------------------------------------------ */

/* 1 + x = 2^k m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 artanh s of s = (m - 1) / (m + 1),
 * which is at most 0.1716; s^2 is below 2^-5. m - 1 is computed before rounding. */
static int log_reduce(double one_plus, double *scale)
{
    int k;

    if (frexp(one_plus, &k) < M_SQRT1_2)
        k--;
    *scale = ldexp(1, -k);
    return k;
}

/* 2 artanh s. The first term left out is below 2^-58 of the sum. */
static double log_series(double s)
{
    const double z = s * s;
    double sum = 0;

    for (int n = 21; n >= 3; n -= 2)
        sum = z * (sum + 1.0 / n);
    return 2 * (s + s * sum);
}

double pe_log1p(double x)
{
    const struct pe_exact one_plus = pe_two_sum(1, x);
    double scale;
    const int k = log_reduce(one_plus.hi, &scale);
    const double high = one_plus.hi * scale, low = one_plus.lo * scale;
    const double s = ((high - 1) + low) / ((high + 1) + low);

    return k * ln2_pieces[0] + (k * ln2_pieces[1] + log_series(s));
}

/* ln m of x = 2^k m, with m in [sqrt(1/2), sqrt(2)). */
static double log_split(double x, int *k)
{
    double m = frexp(x, k);

    if (m < M_SQRT1_2) {
        m *= 2;
        --*k;
    }
    return log_series((m - 1) / (m + 1));
}

double pe_log(double x)
{
    int k;
    const double rest = log_split(x, &k);

    return k * ln2_pieces[0] + (k * ln2_pieces[1] + rest);
}

double pe_log2(double x)
{
    int k;
    const double rest = log_split(x, &k);

    return k + rest * M_LOG2E;
}

double pe_power(double x, double y)
{
    return x > 0 ? pe_exp(y * pe_log(x)) : x;
}

/* k ln 2, with an error below 2^-130. */
static struct pe_exact ln2_times(int k)
{
    const struct pe_exact low = pe_two_sum(k * ln2_pieces[1], k * ln2_pieces[2]);
    const struct pe_exact high = pe_two_sum(k * ln2_pieces[0], low.hi);

    return pe_quick_sum(high.hi, high.lo + low.lo);
}

/* The first term left out is below 2^-107 of the sum. */
struct pe_exact pe_exact_log1p(struct pe_exact x)
{
    const struct pe_exact one = {1, 0};
    const struct pe_exact one_plus = pe_exact_add(one, x);
    double scale;
    const int k = log_reduce(one_plus.hi, &scale);
    const struct pe_exact m = {one_plus.hi * scale, one_plus.lo * scale};
    /* With k = 0 a small x keeps its last bits, which m - 1 would lose. */
    const struct pe_exact above = k == 0 ? x : pe_exact_add(m, pe_exact_negate(one));
    const struct pe_exact s = pe_exact_over(above, pe_exact_add(m, one));
    const struct pe_exact z = pe_exact_multiply(s, s);
    struct pe_exact sum = {0, 0};

    for (int n = 41; n >= 3; n -= 2)
        sum = pe_exact_multiply(z, pe_exact_add(sum, pe_exact_divide(one, n)));
    sum = pe_exact_multiply((struct pe_exact){2 * s.hi, 2 * s.lo}, pe_exact_add(one, sum));
    return pe_exact_add(ln2_times(k), sum);
}

/* ---- exponential ---------------------------------------------------------------------------- */

/* x = k ln 2 + r, |r| <= 0.35; the first term left out is below 2^-57. */
double pe_exp(double x)
{
    const int k = (int)nearbyint(x * M_LOG2E);
    const double r = (x - k * ln2_pieces[0]) - k * ln2_pieces[1];
    double sum = 0;

    for (int n = 14; n >= 1; n--)
        sum = (1 + sum) * r / n;
    return ldexp(1 + sum, k);
}

/* e^r is e^(r/256) squared eight times; |r/256| < 2^-9, and the first term left out is below
 * 2^-113. Each squaring doubles an error that began below 2^-100. */
struct pe_exact pe_exact_exp(struct pe_exact x)
{
    enum { SQUARINGS = 8 };
    const int k = (int)nearbyint(x.hi * M_LOG2E);
    const struct pe_exact one = {1, 0};
    struct pe_exact r = pe_exact_add(x, pe_exact_negate(ln2_times(k)));
    struct pe_exact sum = {0, 0};

    r = (struct pe_exact){ldexp(r.hi, -SQUARINGS), ldexp(r.lo, -SQUARINGS)};
    for (int n = 10; n >= 1; n--)
        sum = pe_exact_divide(pe_exact_multiply(pe_exact_add(one, sum), r), n);
    sum = pe_exact_add(one, sum);
    for (int i = 0; i < SQUARINGS; i++)
        sum = pe_exact_multiply(sum, sum);
    return (struct pe_exact){ldexp(sum.hi, k), ldexp(sum.lo, k)};
}
