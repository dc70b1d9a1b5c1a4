/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_LEARNED_FIXTURE_H
#define TESTS_CORE_LEARNED_FIXTURE_H

/* Views of encodings over a table that is given, and what they refuse. */

#include <mpfr.h>

#include "tests/core/scheme_fixture.h"

/* More than exact sums, products and squares of doubles take. */
enum { EXACT_BITS = 9000 };

struct pe_tensor matrix(enum pe_dtype dtype, size_t rows, size_t width, void *data);

/* The rows of a view, to be freed; made in two cuts. */
void *learned_rows(const char *encoding, const char *text, const struct pe_tensor *table,
                   const char *view_text, enum pe_dtype dtype, size_t *rows);

struct learned_refusal {
    const char *text, *view;
    enum pe_status status;
    const char *where;
};

void learned_refused(const char *encoding, const struct pe_tensor *table,
                     const struct learned_refusal *cases, size_t count);

/* Doubles of every size, of few bits now and then, so that ties and cancellations come up. */
double any_double(uint64_t *seed, int exponents);

#endif
