/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_WIDE_FIXTURE_H
#define TESTS_CORE_WIDE_FIXTURE_H

#include <mpfr.h>
#include <stddef.h>

#include "core/exact/wide.h"

/* Wide numbers compared with MPFR. */

/* A generator of arguments; its seed is not 0. */
struct wide_random {
    uint64_t state;
};
uint64_t wide_random_bits(struct wide_random *random);
double wide_random_double(struct wide_random *random, int exponent_least, int exponent_most);
/* Full mantissas, short ones, doubles, long runs of ones and zeros; either sign. */
struct pe_wide wide_random_number(struct wide_random *random, unsigned bits, int64_t exponent_least,
                                  int64_t exponent_most);

/* Sets the exponent range of MPFR to that of wide numbers; once a thread. */
void wide_mpfr_prepare(void);

/* x as a number of MPFR in the precision of x, which this initializes. */
void wide_to_mpfr(mpfr_ptr out, struct pe_wide x);
/* The number of MPFR, cut off towards zero. */
struct pe_wide wide_from_mpfr(mpfr_srcptr x, unsigned bits);

/* One function at one precision with random arguments: is the result within its bound and marked
 * correctly? Failures are printed. */
extern const size_t wide_functions_count;
bool wide_function_check(size_t function, unsigned bits, struct wide_random *random);
const char *wide_function_name(size_t function);

#endif
