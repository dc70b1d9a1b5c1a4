/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_DOUBLE_DOUBLE_H
#define CORE_KERNELS_DOUBLE_DOUBLE_H

/* Double-doubles as in core/exact/double_double.h, for vectors. Products of two doubles are exact
 * with and without a fused multiply-add, so that every ISA has the same bits. */

#include "core/kernels/real.h"

struct dd {
    real hi, lo;
};

/* a + b exactly, where |a| >= |b| or a is 0. */
PE_INLINE struct dd dd_quick(real a, real b)
{
    const real sum = a + b;

    return (struct dd){sum, b - (sum - a)};
}

/* a + b exactly. */
PE_INLINE struct dd dd_two_sum(real a, real b)
{
    const real sum = a + b, part = sum - a;

    return (struct dd){sum, (a - (sum - part)) + (b - part)};
}

/* a * b exactly. */
PE_INLINE struct dd dd_two_product(real a, real b)
{
    const real product = a * b;
#if PE_LANES > 1 && defined(PE_HAS_FUSED)
    return (struct dd){product, vec_fused_f64(a, b, -product)};
#else
    /* Veltkamp's split into halves of 26 bits. */
    const real as = (0x1p27 + 1) * a, bs = (0x1p27 + 1) * b;
    const real ah = as - (as - a), bh = bs - (bs - b);
    const real al = a - ah, bl = b - bh;

    return (struct dd){product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
#endif
}

/* a * b, not normalized. */
PE_INLINE struct dd dd_product(struct dd a, struct dd b)
{
    const struct dd product = dd_two_product(a.hi, b.hi);

    return (struct dd){product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi)};
}

PE_INLINE struct dd dd_multiply(struct dd a, struct dd b)
{
    const struct dd product = dd_product(a, b);

    return dd_quick(product.hi, product.lo);
}

/* a * b + c * d. */
PE_INLINE struct dd dd_products(struct dd a, struct dd b, struct dd c, struct dd d)
{
    const struct dd first = dd_product(a, b), second = dd_product(c, d);
    const struct dd sum = dd_two_sum(first.hi, second.hi);

    return dd_quick(sum.hi, sum.lo + (first.lo + second.lo));
}

PE_INLINE struct dd dd_load(const double *hi, const double *lo)
{
    return (struct dd){load(hi), load(lo)};
}

PE_INLINE void dd_store(double *hi, double *lo, struct dd x)
{
    store(hi, x.hi);
    store(lo, x.lo);
}

PE_INLINE struct dd dd_negate(struct dd x)
{
    return (struct dd){-x.hi, -x.lo};
}

#endif
