/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_NUMBERS_H
#define TESTS_API_NUMBERS_H

/* Helpers of the tests of numbers. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/numbers/print.h"
#include "api/numbers/scan.h"

/* Text behind a number, longer than the fast path may load. */
extern const char padding[];

uint64_t random_next(uint64_t *state);
float f32_of(uint32_t bits);

/* Reads one element followed by `behind`, at the end of the memory. */
enum pe_status element_read(const char *text, const char *behind, enum pe_dtype dtype,
                            uint64_t *bits);

#endif
