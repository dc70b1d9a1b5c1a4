/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_DOUBLE_DOUBLE_H
#define CORE_EXACT_DOUBLE_DOUBLE_H

/* Double-doubles: unevaluated sums hi + lo with |lo| <= ulp(hi)/2. Only plain double operations, so
 * the results are the same on every machine; relative errors are below 2^-102 an operation (Dekker
 * 1971; Joldes, Muller, Popescu 2017). Magnitudes must lie between 2^-900 and 2^900. */

struct pe_exact {
    double hi, lo;
};

/* a + b exactly. */
static inline struct pe_exact pe_two_sum(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;

    return (struct pe_exact){sum, (a - (sum - part)) + (b - part)};
}

/* a + b exactly, where |a| >= |b| or a is 0. */
static inline struct pe_exact pe_quick_sum(double a, double b)
{
    const double sum = a + b;

    return (struct pe_exact){sum, b - (sum - a)};
}

/* a * b exactly, by Veltkamp's split into halves of 26 bits. */
static inline struct pe_exact pe_two_product(double a, double b)
{
    const double split = 0x1p27 + 1;
    const double product = a * b;
    const double as = split * a, bs = split * b;
    const double ah = as - (as - a), bh = bs - (bs - b);
    const double al = a - ah, bl = b - bh;

    return (struct pe_exact){product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

static inline struct pe_exact pe_exact_add(struct pe_exact a, struct pe_exact b)
{
    struct pe_exact high = pe_two_sum(a.hi, b.hi);
    const struct pe_exact low = pe_two_sum(a.lo, b.lo);

    high = pe_quick_sum(high.hi, high.lo + low.hi);
    return pe_quick_sum(high.hi, high.lo + low.lo);
}

static inline struct pe_exact pe_exact_multiply(struct pe_exact a, struct pe_exact b)
{
    const struct pe_exact product = pe_two_product(a.hi, b.hi);

    return pe_quick_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* a / n for a small integer n. */
static inline struct pe_exact pe_exact_divide(struct pe_exact a, double n)
{
    const double first = a.hi / n;
    const struct pe_exact product = pe_two_product(first, n);
    const double rest = ((a.hi - product.hi) - product.lo) + a.lo;

    return pe_quick_sum(first, rest / n);
}

static inline struct pe_exact pe_exact_negate(struct pe_exact a)
{
    return (struct pe_exact){-a.hi, -a.lo};
}

/* a / b, to 2^-99. */
static inline struct pe_exact pe_exact_over(struct pe_exact a, struct pe_exact b)
{
    const double first = a.hi / b.hi;
    const struct pe_exact product = pe_exact_multiply(b, (struct pe_exact){first, 0});
    const struct pe_exact rest = pe_exact_add(a, pe_exact_negate(product));

    return pe_quick_sum(first, rest.hi / b.hi);
}

#endif
