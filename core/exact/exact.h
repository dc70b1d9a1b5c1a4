/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_EXACT_H
#define CORE_EXACT_EXACT_H

#include <mpfr.h>
#include <stdbool.h>

#include "core/exact/double_double.h"
#include "posenc/dtype.h"

/* Correct rounding by Ziv's strategy: round both ends of an interval that is proved to hold the
 * real number. Where both give one number that is the answer, else a tighter interval is needed. */

/* Writes RN(value) if every real number within `error` of it rounds to the same; error 0: value is
 * exact. False: undecided, out is undefined. */
bool pe_exact_round(struct pe_exact value, double error, enum pe_dtype dtype, void *out);

/* Evaluates a real number to any precision: sets out to it with a relative error below
 * 2^(16 - precision of out), or to 0 if it is 0. */
typedef void pe_real(mpfr_ptr out, const void *context, size_t index);

/* Writes RN(real number). Where 4096 bits do not decide, the value nearest to theirs is taken and
 * counted. */
void pe_real_round(pe_real *real, const void *context, size_t index, enum pe_dtype dtype,
                   void *out);
/* The real number as a double-double. */
struct pe_exact pe_real_exact(pe_real *real, const void *context, size_t index);

/* Rounds the interval value +- error of MPFR's numbers; false: undecided. */
bool pe_mpfr_round(mpfr_srcptr value, mpfr_srcptr error, enum pe_dtype dtype, void *out);

/* Writes RN(value) of a number that is exact. */
void pe_mpfr_write(mpfr_srcptr value, enum pe_dtype dtype, void *out);

enum {
    PE_PRECISION_FIRST = 256,
    PE_PRECISION_LAST = 4096,
};

/* How often PE_PRECISION_LAST did not decide, since the start of the process. */
unsigned long pe_exact_undecided(void);
void pe_exact_count_undecided(void);

#endif
