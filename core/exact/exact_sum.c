/* SPDX-License-Identifier: MIT */
#include "core/exact/exact_sum.h"

#include <math.h>

#include "core/exact/wide_internal.h"

/* |x| = mantissa * 2^exponent, mantissa < 2^53. */
static uint64_t split(double x, int *exponent)
{
    const uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(x), exponent), 53);

    *exponent -= 53;
    return mantissa;
}

void pe_sum_add(struct pe_sum *sum, double a, double b)
{
    int exponent_a, exponent_b;
    unsigned __int128 product = split(a, &exponent_a);
    uint64_t part[PE_SUM_LIMBS] = {0};

    product *= split(b, &exponent_b);
    if (product == 0)
        return;
    const unsigned at = (unsigned)(exponent_a + exponent_b - PE_SUM_LEAST);
    const uint64_t limbs[3] = {(uint64_t)product, (uint64_t)(product >> 64), 0};
    pe_limbs_shift_up(part + at / 64, limbs, 3, at % 64);
    if ((a < 0) == (b < 0))
        pe_limbs_add(sum->limb, sum->limb, part, PE_SUM_LIMBS);
    else
        pe_limbs_sub(sum->limb, sum->limb, part, PE_SUM_LIMBS);
}

struct pe_wide pe_sum_wide(const struct pe_sum *sum, unsigned bits)
{
    const bool negative = sum->limb[PE_SUM_LIMBS - 1] >> 63;
    struct pe_sum size = *sum;

    if (negative)
        pe_limbs_negate(size.limb, PE_SUM_LIMBS);
    struct pe_wide x =
        pe_wide_from_limbs(size.limb, PE_SUM_LIMBS, 64 * PE_SUM_LIMBS + PE_SUM_LEAST, bits, false);
    x.negative = negative;
    return x;
}

/* Compares the exact product, shifted so that its highest bit is 1, with the limbs of `other`. */
int pe_sum_compare(const struct pe_sum *sum, struct pe_wide factor, struct pe_wide other)
{
    enum { FACTOR = 4, LIMBS = PE_SUM_LIMBS + FACTOR };
    uint64_t product[LIMBS], shifted[LIMBS] = {0};
    unsigned n = LIMBS;

    factor = pe_wide_cut(factor, 64 * FACTOR);
    pe_limbs_multiply(product, sum->limb, PE_SUM_LIMBS, factor.limb, FACTOR);
    while (product[n - 1] == 0)
        n--;
    const unsigned zeros = (unsigned)__builtin_clzll(product[n - 1]);
    const int64_t exponent = factor.exponent + PE_SUM_LEAST + 64 * (int64_t)(n - FACTOR) - zeros;
    if (exponent != other.exponent)
        return exponent < other.exponent ? -1 : 1;
    pe_limbs_shift_up(shifted + (LIMBS - n), product, n, zeros);
    const int order = pe_limbs_compare(shifted + (LIMBS - other.count), other.limb, other.count);
    return order ? order : pe_limbs_any(shifted, LIMBS - other.count);
}
