/* SPDX-License-Identifier: MIT */
#include "core/tables/log_buckets.h"

#include <math.h>
#include <stdbool.h>

#include "core/base/sizes.h"
#include "core/exact/correct_rounding.h"
#include "core/exact/elementary.h"
#include "core/exact/wide.h"

/* ---- rational bounds ------------------------------------------------------------------------ */

static uint64_t power(uint64_t x, uint64_t n)
{
    uint64_t product = 1;

    for (; n > 0; n--)
        product *= x;
    return product;
}

/* The integer whose n-th power is x < 2^31; 0: none. */
static uint64_t integer_root(uint64_t x, uint64_t n)
{
    const uint64_t root = n < 31 ? (uint64_t)llround(pe_power((double)x, 1 / (double)n)) : 1;

    return (n < 31 ? power(root, n) : root) == x ? root : 0;
}

/* low (high / low)^(k / parts) where that is an integer, else 0. With high / low = a / b and
 * k / parts = m / n in lowest terms, the power is rational only if a and b have n-th roots c and d,
 * and is low / b c^m d^(n - m). */
static int64_t bound_rational(uint64_t low, uint64_t high, uint64_t parts, uint64_t k)
{
    const uint64_t divisor = pe_common_divisor(high, low), shared = pe_common_divisor(k, parts);
    const uint64_t m = k / shared, n = parts / shared;
    const uint64_t c = integer_root(high / divisor, n), d = integer_root(low / divisor, n);

    if (c == 0 || d == 0)
        return 0;
    if (m <= n)
        return (int64_t)(divisor * power(c, m) * power(d, n - m));
    const uint64_t under = power(d, m - n);
    return divisor % under ? 0 : (int64_t)(divisor / under * power(c, m));
}

/* ---- other bounds --------------------------------------------------------------------------- */

/* The floor of value if the error does not change it, else -1. */
static int64_t floor_near(struct pe_wide value, struct pe_wide error)
{
    const double least = pe_wide_double(pe_wide_floor(pe_wide_sub(value, error)));

    return least == pe_wide_double(pe_wide_floor(pe_wide_add(value, error))) ? (int64_t)least : -1;
}

/* In doubles: the exponent is below 64 and good to 2^-47 of itself. */
static int64_t floor_double(double low, double high, double parts, double k)
{
    const double value = low * pe_exp(k / parts * pe_log1p((high - low) / low));
    const double least = floor(value * (1 - 0x1p-38));

    return least == floor(value * (1 + 0x1p-38)) ? (int64_t)least : -1;
}

/* In wide numbers: the logarithm is good to 2^(4 - bits), the exponent to 2^(10 - bits). */
static int64_t floor_wide(uint64_t low, uint64_t high, uint64_t parts, uint64_t k)
{
    int64_t found = -1;

    for (unsigned bits = 192; found < 0; bits *= 2) {
        const struct pe_wide ratio = pe_wide_div_uint(pe_wide_of_uint(bits, high), low);
        const struct pe_wide exponent =
            pe_wide_div_uint(pe_wide_mul_uint(pe_wide_log(ratio), k), parts);
        const struct pe_wide value = pe_wide_mul_uint(pe_wide_exp(exponent), low);
        found = floor_near(value, pe_wide_scale(value, 12 - (int64_t)bits));
        if (found < 0 && bits >= 768) {
            pe_exact_count_undecided();
            found = (int64_t)pe_wide_double(pe_wide_floor(value));
        }
    }
    return found;
}

int64_t pe_log_bucket_bound(unsigned long low, unsigned long high, unsigned long parts,
                            unsigned long k, enum pe_bound bound)
{
    const int64_t rational = bound_rational(low, high, parts, k);
    int64_t below;

    if (rational > 0)
        return rational + (bound == PE_BOUND_ABOVE);
    below = floor_double((double)low, (double)high, (double)parts, (double)k);
    return 1 + (below >= 0 ? below : floor_wide(low, high, parts, k));
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

double pe_log_buckets_cost(size_t count)
{
    return (double)count * 300;
}
