/* SPDX-License-Identifier: MIT */
#ifndef CORE_ANALYSIS_ROWS_H
#define CORE_ANALYSIS_ROWS_H

#include "core/scheme/encoding.h"

/* Rows of an encoding in doubles, made once, a tile at a time by whoever needs it first. A rotary
 * row holds what a query or key of pairs (1, 0) becomes: all cosines, then all sines. */
struct pe_rows;

/* How wide they are; 0: the encoding has none. */
size_t pe_rows_width(const struct pe_scheme *scheme);

/* The positions must live as long. `dtype`: what the numbers are rounded to on the way, f64:
 * nothing more than the one rounding to doubles. PE_TOO_LARGE over PE_ROWS_SIZE_MAX. */
enum { PE_ROWS_SIZE_MAX = 1 << 25 };
enum pe_status pe_rows_new(struct pe_rows **rows, const struct pe_scheme *scheme,
                           const struct pe_positions *positions, enum pe_dtype dtype,
                           struct pe_error *err);
void pe_rows_free(struct pe_rows *rows); /* NULL: nothing */

/* A row; any thread, once the scheme is prepared. */
const double *pe_rows_get(struct pe_rows *rows, size_t index);

/* Bytes that they take. */
size_t pe_rows_size(const struct pe_rows *rows);

/* The sum of a[i] * b[i] and of (a[i] - b[i])^2, in doubles and always in the same order: eight
 * sums side by side. Off by less than (count / 8 + 8) 2^-53 of the sum of what is added. */
double pe_row_product(const double *a, const double *b, size_t count);
double pe_row_distance_squared(const double *a, const double *b, size_t count);

/* The product, or the cosine of the angle between two rows: 0 where one of them is 0. */
double pe_row_similarity(const double *a, const double *b, size_t count, bool normalize);

#endif
