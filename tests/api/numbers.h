/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_NUMBERS_H
#define TESTS_API_NUMBERS_H

/* Numbers as bits and as text. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/numbers/print.h"
#include "api/numbers/scan.h"

/* More than a number may look at, of what may follow one. */
extern const char padding[];

uint64_t random_next(uint64_t *state);
float f32_of(uint32_t bits);

/* Reads one element with `behind` after it, from memory that ends there. */
enum pe_status element_read(const char *text, const char *behind, enum pe_dtype dtype,
                            uint64_t *bits);

#endif
