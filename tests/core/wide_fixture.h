/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_WIDE_FIXTURE_H
#define TESTS_CORE_WIDE_FIXTURE_H

#include <mpfr.h>
#include <stddef.h>

#include "core/exact/wide.h"

/* Wide numbers beside MPFR's. */

/* A generator of arguments, seeded with anything but 0. */
struct wide_random {
    uint64_t state;
};
uint64_t wide_random_bits(struct wide_random *random);
double wide_random_double(struct wide_random *random, int exponent_least, int exponent_most);
/* Full mantissas, short ones, doubles, long runs of ones and zeros; either sign. */
struct pe_wide wide_random_number(struct wide_random *random, unsigned bits, int64_t exponent_least,
                                  int64_t exponent_most);

/* Gives MPFR the exponents of wide numbers; once for each thread. */
void wide_mpfr_prepare(void);

/* MPFR's number, in the precision of x; initialized by this. */
void wide_to_mpfr(mpfr_ptr out, struct pe_wide x);
/* An exact one, or what is left of it towards zero. */
struct pe_wide wide_from_mpfr(mpfr_srcptr x, unsigned bits);

/* One function at one precision with arguments that it draws: does the result keep its bound, and
 * are marks true? Failures are printed. */
extern const size_t wide_functions_count;
bool wide_function_check(size_t function, unsigned bits, struct wide_random *random);
const char *wide_function_name(size_t function);

#endif
