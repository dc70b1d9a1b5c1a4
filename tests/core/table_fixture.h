/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_TABLE_FIXTURE_H
#define TESTS_CORE_TABLE_FIXTURE_H

/* Tables and biases from the texts of their parameters, compared with MPFR, and their refusals. */

#include <mpfr.h>

#include "tests/core/scheme_fixture.h"

enum { ORACLE_BITS = 640 };

struct filled {
    size_t rows, columns;
    enum pe_dtype dtype;
    char *data;
};

/* cut: filled in pieces of 1, 2, 3 ... rows. */
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

/* The expected element of a table, to ORACLE_BITS. */
typedef void oracle(mpfr_ptr out, size_t row, size_t column);

/* Compares every element of a table in every dtype; returns how many there are. */
size_t expect_rounded(const char *encoding, const char *text, const char *view_text, oracle *real);

/* base^(-numerator / denominator) */
void oracle_power(mpfr_ptr out, double base, double numerator, double denominator);

/* Replaces a frequency w in out by sin or cos of t * w. */
void oracle_wave(mpfr_ptr out, double t, bool is_sin);

/* base^(-2 pair / dim) / factor */
struct oracle_scheme {
    double base, factor;
    size_t dim;
};

void oracle_frequency(mpfr_ptr out, const struct oracle_scheme *s, size_t pair);

/* ---- biases ---------------------------------------------------------------------------------- */

/* Compares a bias of distances with its formula: near, far, and at both ends of the positions of
 * queries, in every floating dtype. `text` is its parameters but for heads=1; `want_write` writes
 * the rounded element of `kernel` at a distance. Returns how many elements were compared. */
size_t bias_compare(const char *encoding, const char *text, size_t near_keys,
                    void (*want_write)(const void *kernel, double distance, enum pe_dtype dtype,
                                       void *out),
                    const void *kernel);

#endif
