/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_FINE_H
#define CORE_KERNELS_FINE_H

/* Sums of two doubles by the vector, as core/exact/double_double.h has them one by one. Products of
 * two doubles are exact with and without a fused multiply-add, so that every ISA has the same bits.
 * Errors are bounded in core/tables/rows_f64.c. */

#include "core/kernels/real.h"

struct fine {
    real hi, lo;
};

/* a + b exactly, where |a| >= |b| or a is 0. */
PE_INLINE struct fine fine_quick(real a, real b)
{
    const real sum = a + b;

    return (struct fine){sum, b - (sum - a)};
}

/* a + b exactly. */
PE_INLINE struct fine fine_two_sum(real a, real b)
{
    const real sum = a + b, part = sum - a;

    return (struct fine){sum, (a - (sum - part)) + (b - part)};
}

/* a * b exactly. */
PE_INLINE struct fine fine_two_product(real a, real b)
{
    const real product = a * b;
#if PE_LANES > 1 && defined(PE_HAS_FUSED)
    return (struct fine){product, vec_fused_f64(a, b, -product)};
#else
    /* Veltkamp's split of each into halves of 26 bits. */
    const real as = (0x1p27 + 1) * a, bs = (0x1p27 + 1) * b;
    const real ah = as - (as - a), bh = bs - (bs - b);
    const real al = a - ah, bl = b - bh;

    return (struct fine){product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
#endif
}

/* a * b, its two parts not yet summed up. */
PE_INLINE struct fine fine_product(struct fine a, struct fine b)
{
    const struct fine product = fine_two_product(a.hi, b.hi);

    return (struct fine){product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi)};
}

PE_INLINE struct fine fine_multiply(struct fine a, struct fine b)
{
    const struct fine product = fine_product(a, b);

    return fine_quick(product.hi, product.lo);
}

/* a * b + c * d. */
PE_INLINE struct fine fine_products(struct fine a, struct fine b, struct fine c, struct fine d)
{
    const struct fine first = fine_product(a, b), second = fine_product(c, d);
    const struct fine sum = fine_two_sum(first.hi, second.hi);

    return fine_quick(sum.hi, sum.lo + (first.lo + second.lo));
}

PE_INLINE struct fine fine_load(const double *hi, const double *lo)
{
    return (struct fine){load(hi), load(lo)};
}

PE_INLINE void fine_store(double *hi, double *lo, struct fine x)
{
    store(hi, x.hi);
    store(lo, x.lo);
}

PE_INLINE struct fine fine_negate(struct fine x)
{
    return (struct fine){-x.hi, -x.lo};
}

#endif
