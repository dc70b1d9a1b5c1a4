/* SPDX-License-Identifier: MIT */
#include "core/exact/parts.h"

/* The ratio of term k to the one before it is z / step(k). */
static uint64_t step(enum pe_series series, unsigned k)
{
    const uint64_t n = k;

    if (series == PE_SERIES_EXP)
        return n;
    return series == PE_SERIES_COS ? 2 * n * (2 * n - 1) : 2 * n * (2 * n + 1);
}

static unsigned bits_below(uint64_t n)
{
    return 63 - (unsigned)__builtin_clzll(n);
}

/* How many terms there are before one is less than the last bit of n limbs. */
static unsigned terms_count(const uint64_t *z, unsigned n, enum pe_series series)
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

/* Horner's scheme from the last term, T(k - 1) = z / step(k) (1 ± T(k)). Divisions are put off:
 * the sum is `over` times too large, and divided where that would leave 62 bits. */
static inline __attribute__((always_inline)) void series_sum(uint64_t *sum, const uint64_t *z,
                                                             unsigned n, enum pe_series series)
{
    uint64_t nested[PE_WIDE_WORK + 1], product[PE_WIDE_WORK + 1], over = 1;

    memset(nested, 0, (n + 1) * sizeof(nested[0]));
    for (unsigned k = terms_count(z, n, series); k > 0; k--) {
        const uint64_t next = k > 1 ? step(series, k - 1) : UINT64_MAX;
        if (series != PE_SERIES_EXP)
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

/* The shortest numbers are the usual ones: their loops have constant bounds. */
void pe_series_sum(uint64_t *sum, const uint64_t *z, unsigned n, enum pe_series series)
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
