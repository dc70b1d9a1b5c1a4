/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_PARTS_H
#define CORE_EXACT_PARTS_H

#include "core/exact/limbs.h"
#include "core/exact/wide.h"

/* What the files of wide numbers share. */

/* Exponents beyond this are 0 or infinite. */
#define PE_WIDE_EXPONENT_MAX ((int64_t)1 << 60)

/* Limbs of a number inside functions: those of the widest, and one more on either side. */
enum { PE_WIDE_WORK = PE_WIDE_LIMBS + 2 };

struct pe_wide pe_wide_special(unsigned bits, enum pe_wide_kind kind, bool negative);

/* limbs / 2^(64 n) * 2^exponent, cut off to so many bits; `inexact`: and something more. */
struct pe_wide pe_wide_from_limbs(const uint64_t *limbs, unsigned n, int64_t exponent,
                                  unsigned bits, bool inexact);

/* The integer of |x| < 2^64, behind it n limbs of fraction, cut off: n + 1 limbs, the
 * highest one the integer's. Returns whether anything was cut off. */
bool pe_wide_to_fixed(uint64_t *limbs, unsigned n, const struct pe_wide *x);

/* Real numbers between 1/2 and 1, cut off; limbs least first, the point before the last. How many
 * limbs are needed is said where they are used; tools/wide_constants.py reads it here. */
enum { PE_WIDE_CONSTANT = 28, PE_WIDE_TURNS = 54 };

extern const uint64_t pe_wide_quarter_pi[PE_WIDE_CONSTANT];
extern const uint64_t pe_wide_over_half_pi[PE_WIDE_TURNS]; /* 2 / pi */
extern const uint64_t pe_wide_ln2[PE_WIDE_CONSTANT];

/* Taylor's series of functions, without their first term: T of e^z = 1 + T, of cos x = 1 - T and of
 * sin x = x (1 - T) for z = x^2. */
enum pe_series { PE_SERIES_EXP, PE_SERIES_COS, PE_SERIES_SIN };

/* sum and z are n limbs behind the point; z < 0.7. The sum is off by less than 2^7 of its last bit.
 */
void pe_series_sum(uint64_t *sum, const uint64_t *z, unsigned n, enum pe_series series);

/* e^x in so many bits, made in n limbs behind the point: to a relative error of 2^(26 - 64n), and
 * of 2^(1 - bits) where it is cut off. |x| < 2^59. */
struct pe_wide pe_wide_exp_in(const struct pe_wide *x, unsigned n, unsigned bits);

static inline bool pe_wide_is_finite(const struct pe_wide *x)
{
    return x->kind == PE_WIDE_ZERO || x->kind == PE_WIDE_FINITE;
}

/* x, marked. */
static inline struct pe_wide pe_wide_marked(struct pe_wide x, bool inexact)
{
    x.inexact |= inexact;
    return x;
}

#endif
