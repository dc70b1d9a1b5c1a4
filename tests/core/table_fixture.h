/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_TABLE_FIXTURE_H
#define TESTS_CORE_TABLE_FIXTURE_H

/* Tables of absolute encodings from the texts of their parameters, their elements against MPFR, and
 * what is refused. */

#include <mpfr.h>

#include "tests/core/scheme_fixture.h"

enum { ORACLE_BITS = 640 };

struct filled {
    size_t rows, columns;
    enum pe_dtype dtype;
    char *data;
};

/* Filled by pieces of 1, 2, 3 ... rows where `cut`. */
struct filled filled_new(const char *encoding, const char *text, const char *view_text,
                         enum pe_dtype dtype, bool cut);
OWNED(filled, struct filled, free(it->data))
#define OWNED_FILLED OWNER(filled) struct filled
double filled_at(const struct filled *table, size_t row, size_t column);
void expect_table(const char *encoding, const char *text, const char *view_text, const double *want,
                  size_t rows, size_t columns, double tolerance);

void expect_refused(const char *encoding, const char *text, const char *view_text,
                    enum pe_status status, const char *where);

/* ---- MPFR ----------------------------------------------------------------------------------- */

/* RN of a number to a dtype, by MPFR alone. */
double oracle_round(mpfr_srcptr value, enum pe_dtype dtype);
void oracle_write(mpfr_srcptr value, enum pe_dtype dtype, void *out);

/* The element that a table should have, to ORACLE_BITS. */
typedef void oracle(mpfr_ptr out, size_t row, size_t column);

/* Every element of a table in every dtype; returns how many. */
size_t expect_rounded(const char *encoding, const char *text, const char *view_text, oracle *real);

/* base^(-numerator / denominator) by a power, not by logarithms. */
void oracle_power(mpfr_ptr out, double base, double numerator, double denominator);

/* sin or cos of t * w, w in out. */
void oracle_wave(mpfr_ptr out, double t, bool is_sin);

#endif
