/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_CORRECT_ROUNDING_H
#define CORE_EXACT_CORRECT_ROUNDING_H

#include "core/exact/double_double.h"
#include "core/exact/wide.h"

/* Correct rounding by Ziv's strategy: both ends of an interval that is proved to hold the real
 * number are rounded. If they agree that is the result, else a tighter interval is needed. */

/* Writes RN(value) if every real number within `error` of it rounds to the same; error 0: value is
 * exact. False: undecided, out is undefined. */
bool pe_exact_round(struct pe_exact value, double error, enum pe_dtype dtype, void *out);

/* Evaluates a real number in so many bits: with a relative error below 2^(16 - bits), or 0 if it is
 * 0. A result that is not marked as inexact is the real number itself. */
typedef struct pe_wide pe_real(unsigned bits, const void *context, size_t index);

/* Precision levels: 192, 320, 640 and 1280 bits. */
enum { PE_PRECISION_FIRST = 192, PE_PRECISION_LAST = 1280 };

static inline unsigned pe_precision_next(unsigned bits)
{
    return bits == PE_PRECISION_FIRST ? 320 : 2 * bits;
}

/* Writes RN(real number): at once where it is exact, else at the first level that decides. If the
 * last one does not, its nearest value is written and counted as undecided. */
void pe_real_round(pe_real *real, const void *context, size_t index, enum pe_dtype dtype,
                   void *out);
/* The real number as a double-double. */
struct pe_exact pe_real_exact(pe_real *real, const void *context, size_t index);

/* One level, for a number with an error bound of its own: writes RN(value) where every number
 * within `error` of it rounds to the same, and at the last level in any case. False: undecided. */
bool pe_precision_round(unsigned bits, struct pe_wide value, struct pe_wide error,
                        enum pe_dtype dtype, void *out);

/* How often PE_PRECISION_LAST did not decide, since the start of the process. */
unsigned long pe_exact_undecided(void);
void pe_exact_count_undecided(void);

/* Correctly rounded functions (rounded_functions.c): the same bits everywhere, where C libraries
 * may differ in the last one. */
float pe_float32_power(float base, float exponent);
double pe_float64_power(double base, double exponent);
double pe_float64_log(double x);

#endif
