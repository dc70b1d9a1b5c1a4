/* SPDX-License-Identifier: MIT */
#include "core/tables/geometric.h"

#include <math.h>
#include <stdbool.h>

#include "core/exact/elementary.h"
#include "core/exact/exact.h"

/* x = low (high / low)^(k / parts) */
struct point {
    uint64_t low, high, parts, k;
};

/* ---- whole numbers --------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* root^n, or 0 where it is above `most`. */
static uint64_t power_up_to(uint64_t root, uint64_t n, uint64_t most)
{
    uint64_t power = 1;

    if (root == 1)
        return 1;
    for (uint64_t i = 0; i < n && power; i++)
        power = power <= most / root ? power * root : 0;
    return power;
}

/* The whole number whose nth power is a, or 0. */
static uint64_t whole_root(uint64_t a, uint64_t n)
{
    const uint64_t near = (uint64_t)nearbyint(pow((double)a, 1 / (double)n));

    for (uint64_t root = near > 1 ? near - 1 : 1; root <= near + 1; root++)
        if (power_up_to(root, n, a) == a)
            return root;
    return 0;
}

/* Is a^p = c^q, p and q without a common divisor? Both are powers of one number then: c = r^p, a =
 * r^q. */
static bool powers_equal(uint64_t a, uint64_t p, uint64_t c, uint64_t q)
{
    const uint64_t root = whole_root(c, p);

    return root > 0 && power_up_to(root, q, a) == a;
}

/* Is x = n? (n / low)^parts = (high / low)^k, for numerators and denominators of both. */
static bool is_exactly(const struct point *x, uint64_t n)
{
    const uint64_t all = common_divisor(x->parts, x->k);
    const uint64_t p = x->parts / all, q = x->k / all;
    const uint64_t left = common_divisor(n, x->low), right = common_divisor(x->high, x->low);

    return powers_equal(n / left, p, x->high / right, q) &&
           powers_equal(x->low / left, p, x->low / right, q);
}

/* ---- the real number --------------------------------------------------------------------------
 */

static struct pe_wide real(unsigned bits, const struct point *x)
{
    const struct pe_wide low = pe_wide_log(pe_wide_of_uint(bits, x->low));
    const struct pe_wide high = pe_wide_log(pe_wide_of_uint(bits, x->high));
    const struct pe_wide share =
        pe_wide_div_uint(pe_wide_mul_uint(pe_wide_sub(high, low), x->k), x->parts);

    return pe_wide_exp(pe_wide_add(low, share));
}

/* Is x below n, a number that it is not? Logarithms are below 2^6, so that x is good to 2^(12 -
 * bits). Where the last rung does not tell, it is taken to be above. */
static bool is_below(const struct point *x, int64_t n)
{
    int order = 0;

    for (unsigned bits = PE_PRECISION_FIRST; !order && bits <= PE_PRECISION_LAST;
         bits = pe_precision_next(bits)) {
        const struct pe_wide apart = pe_wide_sub(real(bits, x), pe_wide_of_uint(64, (uint64_t)n));
        if (pe_wide_exponent(apart) > 80 - (int64_t)bits)
            order = pe_wide_sign(apart);
    }
    return order < 0;
}

/* In doubles: two logarithms of PE_LOG_ERROR, both below 2^6, and an exponential. */
static double near_of(const struct point *x)
{
    const double low = x->low > 1 ? pe_log1p((double)x->low - 1) : 0;
    const double high = pe_log1p((double)x->high - 1);

    return pe_exp(low + (high - low) * ((double)x->k / (double)x->parts));
}

/* The whole number nearest to x, by 192 bits: 120 of them are good behind the point. */
static int64_t nearest_of(const struct point *x)
{
    const struct pe_wide half = pe_wide_of(64, 0.5);
    const struct pe_wide n = pe_wide_floor(pe_wide_add(real(PE_PRECISION_FIRST, x), half));
    const double high = pe_wide_double_inward(n);

    return (int64_t)high + (int64_t)pe_wide_double(pe_wide_sub_double(n, high));
}

int64_t pe_geometric_bound(unsigned long low, unsigned long high, unsigned long parts,
                           unsigned long k, enum pe_bound bound)
{
    const struct point x = {low, high, parts, k};
    const double near = near_of(&x), error = near * 0x1p-38;

    if (error < 0.25 && fabs(near - nearbyint(near)) > error)
        return (int64_t)ceil(near);
    const int64_t n = error < 0.25 ? (int64_t)nearbyint(near) : nearest_of(&x);
    if (is_exactly(&x, (uint64_t)n))
        return n + (bound == PE_BOUND_ABOVE);
    return n + !is_below(&x, n);
}

size_t pe_bounds_passed(const int64_t *bounds, size_t count, int64_t n)
{
    size_t passed = 0;

    while (count > 0) {
        const size_t half = count / 2;
        if (bounds[passed + half] <= n) {
            passed += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return passed;
}

double pe_geometric_work(size_t count, size_t parts)
{
    return (double)count * (300 + 0.03 * (double)parts * (double)parts);
}
