/* SPDX-License-Identifier: MIT */
#include "core/exact/parts.h"

#include <math.h>

/* Products, quotients and square roots of wide numbers: whole numbers of limbs, cut off once. */

/* ---- beyond finite numbers ------------------------------------------------------------------- */

static unsigned larger_bits(const struct pe_wide *a, const struct pe_wide *b)
{
    return 64u * (a->count > b->count ? a->count : b->count);
}

/* Where one of two factors is no finite number other than 0; b_over: b is a divisor. */
static struct pe_wide special_product(const struct pe_wide *a, const struct pe_wide *b, bool b_over)
{
    const enum pe_wide_kind zero = b_over ? PE_WIDE_INFINITE : PE_WIDE_ZERO;
    const enum pe_wide_kind pole = b_over ? PE_WIDE_ZERO : PE_WIDE_INFINITE;
    enum pe_wide_kind kind = PE_WIDE_ZERO;

    if (a->kind == PE_WIDE_NAN || b->kind == PE_WIDE_NAN ||
        (a->kind == PE_WIDE_ZERO && b->kind == pole) ||
        (a->kind == PE_WIDE_INFINITE && b->kind == zero))
        kind = PE_WIDE_NAN;
    else if (a->kind == PE_WIDE_INFINITE || b->kind == pole)
        kind = PE_WIDE_INFINITE;
    return pe_wide_marked(pe_wide_special(larger_bits(a, b), kind, a->negative != b->negative),
                          a->inexact || b->inexact);
}

/* ---- product and quotient -------------------------------------------------------------------- */

struct pe_wide pe_wide_mul(struct pe_wide a, struct pe_wide b)
{
    uint64_t product[2 * PE_WIDE_LIMBS];

    if (a.kind != PE_WIDE_FINITE || b.kind != PE_WIDE_FINITE)
        return special_product(&a, &b, false);
    pe_limbs_multiply(product, a.limb, a.count, b.limb, b.count);
    struct pe_wide x =
        pe_wide_from_limbs(product, (unsigned)a.count + b.count, a.exponent + b.exponent,
                           larger_bits(&a, &b), a.inexact || b.inexact);
    x.negative = a.negative != b.negative && x.kind != PE_WIDE_ZERO;
    return x;
}

/* a / b lies between 1/2 and 2 without the exponents, so that n limbs behind the point and one
 * before it are enough. */
struct pe_wide pe_wide_div(struct pe_wide a, struct pe_wide b)
{
    const unsigned n = larger_bits(&a, &b) / 64, whole = n + b.count + 1u;
    uint64_t dividend[2 * PE_WIDE_LIMBS + 2] = {0}, quotient[PE_WIDE_LIMBS + 1];

    if (a.kind != PE_WIDE_FINITE || b.kind != PE_WIDE_FINITE)
        return special_product(&a, &b, true);
    memcpy(dividend + (whole - 1 - a.count), a.limb, a.count * sizeof(a.limb[0]));
    pe_limbs_divide(quotient, dividend, whole, b.limb, b.count);
    struct pe_wide x =
        pe_wide_from_limbs(quotient, n + 1, a.exponent - b.exponent + 64, 64 * n,
                           a.inexact || b.inexact || pe_limbs_any(dividend, b.count));
    x.negative = a.negative != b.negative && x.kind != PE_WIDE_ZERO;
    return x;
}

/* ---- square root ----------------------------------------------------------------------------- */

/* 1 / sqrt(x) of x in [1/4, 1): Newton's steps from 52 bits double their number, up to the few that
 * the operations cut off. */
static struct pe_wide inverse_root(const struct pe_wide *x)
{
    const unsigned bits = pe_wide_precision(x);
    struct pe_wide y = pe_wide_of(bits, 1 / sqrt(pe_wide_double_inward(*x)));

    for (unsigned good = 50; good < bits; good *= 2) {
        const struct pe_wide rest =
            pe_wide_sub(pe_wide_of(64, 1), pe_wide_mul(*x, pe_wide_mul(y, y)));
        y = pe_wide_add(y, pe_wide_scale(pe_wide_mul(y, rest), -1));
    }
    return y;
}

/* The root as a whole number of n limbs: the largest whose square is not above x, which has 2 n
 * limbs, from one that is too large by a few at most. Says whether a rest is left. */
static bool root_settle(uint64_t *root, const uint64_t *x, unsigned n)
{
    const uint64_t one[PE_WIDE_LIMBS] = {1};
    uint64_t square[2 * PE_WIDE_LIMBS];

    for (;;) {
        pe_limbs_multiply(square, root, n, root, n);
        const int order = pe_limbs_compare(square, x, 2 * n);
        if (order <= 0)
            return order < 0;
        pe_limbs_sub(root, root, one, n);
    }
}

struct pe_wide pe_wide_sqrt(struct pe_wide x)
{
    const unsigned n = x.count, odd = x.exponent % 2 != 0;
    uint64_t whole[2 * PE_WIDE_LIMBS] = {0};

    if (x.kind != PE_WIDE_FINITE || x.negative)
        return pe_wide_marked(pe_wide_special(64 * n, x.negative ? PE_WIDE_NAN : x.kind, false),
                              x.inexact);
    struct pe_wide part = pe_wide_cut(x, 64 * (n + 1)); /* x without its even exponent */
    part.exponent = -(int64_t)odd;
    struct pe_wide root = pe_wide_cut(pe_wide_mul(part, inverse_root(&part)), 64 * n);

    /* One more, so that it is not too small; a root of almost 1/2 or 1 ends up there. */
    const bool carry = pe_limbs_add_one(root.limb, n, 1);
    if (carry || root.exponent != 0)
        memset(root.limb, root.exponent < 0 ? 0 : 0xff, n * sizeof(root.limb[0]));
    if (root.exponent < 0)
        root.limb[n - 1] = (uint64_t)1 << 63;
    memcpy(whole + n, x.limb, n * sizeof(x.limb[0]));
    if (odd)
        pe_limbs_shift_down(whole, whole, 2 * n, 1);
    root.inexact = root_settle(root.limb, whole, n) || x.inexact;
    root.exponent = (x.exponent + odd) / 2;
    return root;
}
