/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_WIDE_H
#define CORE_EXACT_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "posenc/dtype.h"

/* clang-format off: it would reflow the table of bounds. */
/* Wide numbers: binary floating point of 64 to 1536 bits, for real numbers that doubles do not
 * decide. A number is a value, copied by assignment: no allocation, no failure, no state. Every
 * number has a precision of its own, a multiple of 64 bits; an operation works in the larger one of
 * its operands, so that a double or an integer (64 bits, always exact) combines with any other.
 * Exponents lie within ±2^60.
 *
 * Bounds (proofs: docs/internals/exactness.md, "Wide numbers"), relative to the result, p being its
 * precision. The operands count as exact: the caller adds their own errors.
 *   cut, add, sub, mul, div, sqrt   below 2^(1-p): the nearest number towards zero
 *   pi, exp, exp2, log, log1p, pow  below 2^(2-p)
 *   sin, cos                        below 2^(2-p) of the result or of 2^-p, the larger; no double
 *                                   comes so near to a multiple of pi/2 that 2^-p would be it
 *
 * An operation that cuts something off, or has an operand that was cut, marks its result as
 * inexact; an unmarked number is the real number itself. Marks err on the side of inexact. */
/* clang-format on */

enum {
    PE_WIDE_BITS = 1536, /* the largest precision: 1280, and 256 more for what cancels */
    PE_WIDE_LIMBS = PE_WIDE_BITS / 64 + 2, /* two for functions */
};

enum pe_wide_kind { PE_WIDE_ZERO, PE_WIDE_FINITE, PE_WIDE_INFINITE, PE_WIDE_NAN };

/* ±0.limbs * 2^exponent. */
struct pe_wide {
    int64_t exponent;
    uint8_t kind; /* enum pe_wide_kind; exponent and limbs are undefined unless finite */
    bool negative, inexact;
    uint8_t count;                /* limbs in use: the precision / 64 */
    uint64_t limb[PE_WIDE_LIMBS]; /* least first; the highest bit of the last in use is 1 */
};

/* ---- from machine numbers, exactly ----------------------------------------------------------- */

/* bits: the precision, a multiple of 64 from 64 to PE_WIDE_BITS. */
struct pe_wide pe_wide_of(unsigned bits, double value); /* NaN and infinities too */
struct pe_wide pe_wide_of_uint(unsigned bits, uint64_t value);

/* ---- conversion and comparison --------------------------------------------------------------- */

/* x as a double: the nearest; the nearest of 1 to 53 bits; the next one towards zero; the next one
 * away from zero. An inexact number counts as cut off towards zero: a seeming tie lies above it. */
double pe_wide_double(struct pe_wide x);
double pe_wide_double_of_bits(struct pe_wide x, unsigned bits);
double pe_wide_double_inward(struct pe_wide x);
double pe_wide_double_outward(struct pe_wide x);

int pe_wide_sign(struct pe_wide x); /* -1, 0, 1; 0 of NaN */
/* The sign of a - b, exactly; 0 where one is NaN. */
int pe_wide_compare(struct pe_wide a, struct pe_wide b);
/* 2^(e-1) <= |x| < 2^e; INT64_MIN of 0, INT64_MAX where x is not finite. */
int64_t pe_wide_exponent(struct pe_wide x);
/* From the first 1 to the last: the least precision that holds x. 0 where x is 0 or not finite. */
unsigned pe_wide_length(struct pe_wide x);

static inline unsigned pe_wide_precision(const struct pe_wide *x)
{
    return 64u * x->count;
}

/* ---- exact operations ------------------------------------------------------------------------ */

struct pe_wide pe_wide_negate(struct pe_wide x);
struct pe_wide pe_wide_abs(struct pe_wide x);
struct pe_wide pe_wide_scale(struct pe_wide x, int64_t power); /* x * 2^power */
struct pe_wide pe_wide_floor(struct pe_wide x);
struct pe_wide pe_wide_ceil(struct pe_wide x);

/* ---- rounded operations, within the bounds above --------------------------------------------- */

/* x in another precision: longer with zeros, or cut off towards zero. `inexact` stays. */
struct pe_wide pe_wide_cut(struct pe_wide x, unsigned bits);

/* Special values as in IEEE 754: x / 0 is infinite, 0 / 0 and inf - inf are NaN. Zero is unsigned.
 */
struct pe_wide pe_wide_add(struct pe_wide a, struct pe_wide b);
struct pe_wide pe_wide_sub(struct pe_wide a, struct pe_wide b);
struct pe_wide pe_wide_mul(struct pe_wide a, struct pe_wide b);
struct pe_wide pe_wide_div(struct pe_wide a, struct pe_wide b);
struct pe_wide pe_wide_sqrt(struct pe_wide x); /* NaN below 0 */

struct pe_wide pe_wide_pi(unsigned bits);
struct pe_wide pe_wide_exp(struct pe_wide x);
struct pe_wide pe_wide_exp2(struct pe_wide x);  /* exact where x is an integer */
struct pe_wide pe_wide_log(struct pe_wide x);   /* NaN below 0, -infinity at 0; exact at 1 */
struct pe_wide pe_wide_log1p(struct pe_wide x); /* log(1 + x) */
/* x^y, NaN where x < 0. Exact wherever the power fits the precision: integer powers, roots of
 * squares, and 1. */
struct pe_wide pe_wide_pow(struct pe_wide x, struct pe_wide y);
struct pe_wide pe_wide_sin(struct pe_wide x); /* |x| < 2^128, else NaN; so is cos */
struct pe_wide pe_wide_cos(struct pe_wide x);

/* ---- with a double or an integer ------------------------------------------------------------- */

static inline struct pe_wide pe_wide_add_double(struct pe_wide a, double b)
{
    return pe_wide_add(a, pe_wide_of(64, b));
}

static inline struct pe_wide pe_wide_sub_double(struct pe_wide a, double b)
{
    return pe_wide_add(a, pe_wide_of(64, -b));
}

static inline struct pe_wide pe_wide_mul_double(struct pe_wide a, double b)
{
    return pe_wide_mul(a, pe_wide_of(64, b));
}

static inline struct pe_wide pe_wide_div_double(struct pe_wide a, double b)
{
    return pe_wide_div(a, pe_wide_of(64, b));
}

static inline struct pe_wide pe_wide_mul_uint(struct pe_wide a, uint64_t b)
{
    return pe_wide_mul(a, pe_wide_of_uint(64, b));
}

static inline struct pe_wide pe_wide_div_uint(struct pe_wide a, uint64_t b)
{
    return pe_wide_div(a, pe_wide_of_uint(64, b));
}

static inline int pe_wide_compare_double(struct pe_wide a, double b)
{
    return pe_wide_compare(a, pe_wide_of(64, b));
}

/* ---- rounding to a dtype --------------------------------------------------------------------- */

/* Writes RN(x) in a floating dtype. Where x was cut off once, at 64 bits or more, that is RN of the
 * number before the cut. */
void pe_wide_write(struct pe_wide x, enum pe_dtype dtype, void *out);

/* Writes RN of a real number within `error` of x, error >= 0; an infinity stays one. False: the
 * two ends of the interval round differently, and out is undefined. Where they round to -0 and +0
 * the result is +0: as a rule the number is 0 itself, which no precision could decide. */
bool pe_wide_round(struct pe_wide x, struct pe_wide error, enum pe_dtype dtype, void *out);

#endif
