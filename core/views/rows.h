/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_ROWS_H
#define CORE_VIEWS_ROWS_H

#include "core/scheme/scheme.h"

/* Rows of a scheme in doubles, made a tile at a time by the thread that needs it first. A rotary
 * row is what a query or key of pairs (1, 0) becomes: all cosines, then all sines. */
struct pe_rows;

/* How wide they are. */
size_t pe_rows_width(const struct pe_scheme *scheme);

/* Nanoseconds, about, of making a row at such positions in doubles, rounded to the
 * dtype on the way. */
double pe_row_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype);

/* The positions must live as long. `dtype`: numbers are rounded to it on the way; f64: they are
 * rounded once, to doubles. Takes next to no memory before the first row is made. PE_TOO_LARGE
 * where they cannot be addressed, PE_OUT_OF_MEMORY. */
enum pe_status pe_rows_new(struct pe_rows **rows, const struct pe_scheme *scheme,
                           const struct pe_positions *positions, enum pe_dtype dtype,
                           struct pe_error *err);
void pe_rows_free(struct pe_rows *rows); /* NULL: nothing */

/* A row, once the scheme is prepared; NULL where it cannot be made: PE_CANCELLED, PE_OUT_OF_MEMORY.
 * Any thread. */
const double *pe_rows_get(struct pe_rows *rows, size_t index, struct pe_work *work,
                          struct pe_error *err);

/* Bytes that they take. */
size_t pe_rows_size(const struct pe_rows *rows);

/* The sum of a[i] * b[i] and of (a[i] - b[i])^2, in doubles and always in the same order: eight
 * sums side by side. Off by less than (count / 8 + 8) 2^-53 of the sum of all terms. */
double pe_row_product(const double *a, const double *b, size_t count);
double pe_row_distance_squared(const double *a, const double *b, size_t count);

/* The product, or the cosine of the angle between two rows: 0 where one of them is 0. */
double pe_row_similarity(const double *a, const double *b, size_t count, bool normalize);

#endif
