/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_LEARNED_FIXTURE_H
#define TESTS_CORE_LEARNED_FIXTURE_H

/* Views of encodings with a given table, and their refusals. */

#include <mpfr.h>

#include "tests/core/scheme_fixture.h"

/* Enough for exact sums, products and squares of doubles. */
enum { EXACT_BITS = 9000 };

struct pe_tensor matrix(enum pe_dtype dtype, size_t rows, size_t width, void *data);

/* The rows of a view, to be freed; filled in two ranges. */
void *learned_rows(const char *encoding, const char *text, const struct pe_tensor *table,
                   const char *view_text, enum pe_dtype dtype, size_t *rows);

struct learned_refusal {
    const char *text, *view;
    enum pe_status status;
    const char *where;
};

void learned_refused(const char *encoding, const struct pe_tensor *table,
                     const struct learned_refusal *cases, size_t count);

/* Doubles of every size, some of them with few bits, so that there are ties and cancellations. */
double any_double(uint64_t *seed, int exponents);

#endif
