/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_WIDE_INTERNAL_H
#define CORE_EXACT_WIDE_INTERNAL_H

/* Shared by the files of wide numbers: integers of n limbs of 64 bits, least first, and wide
 * numbers made of them. */

#include <string.h>

#include "core/exact/wide.h"

/* Unrolls the loop after it where its bounds are constants. */
#ifdef __clang__
#define PE_UNROLLED
#else
#define PE_UNROLLED _Pragma("GCC unroll 8")
#endif

/* r = a + b; returns the carry. r may be a or b, here and below. */
static inline uint64_t pe_limbs_add(uint64_t *r, const uint64_t *a, const uint64_t *b, unsigned n)
{
    unsigned __int128 carry = 0;

    for (unsigned i = 0; i < n; i++) {
        carry += (unsigned __int128)a[i] + b[i];
        r[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return (uint64_t)carry;
}

/* r = a - b; returns the borrow. */
static inline uint64_t pe_limbs_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, unsigned n)
{
    unsigned __int128 carry = 1;

    for (unsigned i = 0; i < n; i++) {
        carry += (unsigned __int128)a[i] + ~b[i];
        r[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return 1 - (uint64_t)carry;
}

/* a += one; returns the carry. */
static inline uint64_t pe_limbs_add_one(uint64_t *a, unsigned n, uint64_t one)
{
    for (unsigned i = 0; i < n && one; i++) {
        const unsigned __int128 sum = (unsigned __int128)a[i] + one;
        a[i] = (uint64_t)sum;
        one = (uint64_t)(sum >> 64);
    }
    return one;
}

/* a = 2^(64 n) - a */
static inline void pe_limbs_negate(uint64_t *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        a[i] = ~a[i];
    pe_limbs_add_one(a, n, 1);
}

/* r += a * b; returns the limb after the last. */
static inline uint64_t pe_limbs_add_product(uint64_t *r, const uint64_t *a, unsigned n, uint64_t b)
{
    uint64_t carry = 0;

    PE_UNROLLED
    for (unsigned i = 0; i < n; i++) {
        const unsigned __int128 product = (unsigned __int128)a[i] * b + r[i] + carry;
        r[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    return carry;
}

/* r -= a * b; returns the borrow after the last limb. */
static inline uint64_t pe_limbs_sub_product(uint64_t *r, const uint64_t *a, unsigned n, uint64_t b)
{
    uint64_t borrow = 0;

    for (unsigned i = 0; i < n; i++) {
        const unsigned __int128 product = (unsigned __int128)a[i] * b + borrow;
        const uint64_t low = (uint64_t)product;
        borrow = (uint64_t)(product >> 64) + (r[i] < low);
        r[i] = (uint64_t)((((unsigned __int128)1 << 64) | r[i]) - low);
    }
    return borrow;
}

/* r = a * 2^bits, bits < 64; returns the bits shifted out. */
static inline uint64_t pe_limbs_shift_up(uint64_t *r, const uint64_t *a, unsigned n, unsigned bits)
{
    uint64_t out = 0;

    for (unsigned i = 0; i < n; i++) {
        const uint64_t limb = a[i];
        r[i] = limb << bits | out;
        out = bits ? limb >> (64 - bits) : 0;
    }
    return out;
}

/* r = a / 2^bits, bits < 64; returns whether a 1 was shifted out. */
static inline bool pe_limbs_shift_down(uint64_t *r, const uint64_t *a, unsigned n, unsigned bits)
{
    const bool lost = bits && a[0] << (64 - bits) != 0;

    for (unsigned i = 0; i < n; i++) {
        const uint64_t next = bits && i + 1 < n ? a[i + 1] << (64 - bits) : 0;
        r[i] = a[i] >> bits | next;
    }
    return lost;
}

static inline bool pe_limbs_any(const uint64_t *a, unsigned n)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < n; i++)
        all |= a[i];
    return all != 0;
}

/* The sign of a - b. */
static inline int pe_limbs_compare(const uint64_t *a, const uint64_t *b, unsigned n)
{
    while (n > 0) {
        n--;
        if (a[n] != b[n])
            return a[n] < b[n] ? -1 : 1;
    }
    return 0;
}

/* r = a * b, of na + nb limbs; r is neither a nor b. */
void pe_limbs_multiply(uint64_t *r, const uint64_t *a, unsigned na, const uint64_t *b, unsigned nb);

/* r = a * b / 2^(64 n), too small by less than n + 1: row i of the product, a * b[i], is computed
 * from column n - 1 on. The columns before come to less than n 2^(64 n), and the dropped limb of
 * column n - 1 to less than 2^(64 n). r is neither a nor b. */
static inline __attribute__((always_inline)) void
pe_limbs_multiply_high(uint64_t *r, const uint64_t *a, const uint64_t *b, unsigned n)
{
    uint64_t lowest = 0;

    PE_UNROLLED
    for (unsigned i = 0; i < n; i++) {
        const uint64_t *from = a + (n - 1 - i);
        const unsigned __int128 first = (unsigned __int128)*from * b[i] + lowest;
        uint64_t carry = (uint64_t)(first >> 64);
        lowest = (uint64_t)first;
        PE_UNROLLED
        for (unsigned j = 0; j < i; j++) {
            const unsigned __int128 product = (unsigned __int128)from[j + 1] * b[i] + r[j] + carry;
            r[j] = (uint64_t)product;
            carry = (uint64_t)(product >> 64);
        }
        r[i] = carry;
    }
}

/* q = a / b, of na - nb limbs; a becomes the remainder. The highest bit of b is 1, and the highest
 * nb limbs of a are less than b. */
void pe_limbs_divide(uint64_t *q, uint64_t *a, unsigned na, const uint64_t *b, unsigned nb);

/* a = a / d, d > 0; returns the remainder. */
uint64_t pe_limbs_divide_one(uint64_t *a, unsigned n, uint64_t d);

/* ---- wide numbers --------------------------------------------------------------------------- */

/* Exponents beyond this are 0 or infinite. */
#define PE_WIDE_EXPONENT_MAX ((int64_t)1 << 60)

/* Limbs of a number inside functions: those of the widest, and one more on each side. */
enum { PE_WIDE_WORK = PE_WIDE_LIMBS + 2 };

struct pe_wide pe_wide_special(unsigned bits, enum pe_wide_kind kind, bool negative);

/* limbs / 2^(64 n) * 2^exponent, cut off to so many bits. `inexact`: the limbs were cut before. */
struct pe_wide pe_wide_from_limbs(const uint64_t *limbs, unsigned n, int64_t exponent,
                                  unsigned bits, bool inexact);

/* |x| < 2^64 as n limbs of fraction, cut off, and a limb of the integer, which is the highest.
 * Returns whether anything was cut off. */
bool pe_wide_to_fixed(uint64_t *limbs, unsigned n, const struct pe_wide *x);

static inline bool pe_wide_is_finite(const struct pe_wide *x)
{
    return x->kind == PE_WIDE_ZERO || x->kind == PE_WIDE_FINITE;
}

/* x, also marked as inexact if `inexact`. */
static inline struct pe_wide pe_wide_marked(struct pe_wide x, bool inexact)
{
    x.inexact |= inexact;
    return x;
}

#endif
