/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_ANALYSIS_H
#define CORE_VIEWS_ANALYSIS_H

#include "core/views/view.h"

/* Pieces of analyses: views with the group "analysis", of rows, frequencies or biases. */

/* Members that the types of all analyses share; each file defines these names. */
#define PE_ANALYSIS_MEMBERS                                                                        \
    .info.group = "analysis", PE_INFO_PARAMS(params), .of = of,                                    \
    .state_size = sizeof(struct state), .open = open, .fill = fill

/* ---- which encodings ------------------------------------------------------------------------- */

/* True where rows can be compared: at positions that the caller chooses, and not out of a table. */
bool pe_analysis_has_rows(const struct pe_encoding *encoding);

/* True where rows are sines of one coordinate alone, or its cosine and sine. */
bool pe_analysis_has_sines(const struct pe_encoding *encoding);

/* True where each frequency has a cosine and a sine. For encodings that have sines. */
bool pe_analysis_has_pairs(const struct pe_encoding *encoding);

/* True where all columns are complete pairs, so that products of rows depend on distances alone. */
bool pe_analysis_complete_pairs(const struct pe_scheme *scheme);

/* ---- positions ------------------------------------------------------------------------------- */

/* Resolves PE_PARAMS_POSITIONS; refuses positions without a row. */
enum pe_status pe_analysis_positions(struct pe_view *view, const struct pe_params *params,
                                     struct pe_error *err);

/* Checks that there are rows at the positions; the error names `where`. */
enum pe_status pe_analysis_positions_check(const struct pe_scheme *scheme,
                                           const struct pe_positions *positions, const char *where,
                                           struct pe_error *err);

/* ---- rows in doubles ------------------------------------------------------------------------- */

/* Rows of a scheme in doubles, computed and cached a tile at a time, by the thread that needs a
 * tile first. A rotary row is what pairs (1, 0) of a query or key become: all cosines, then all
 * sines. */
struct pe_row_cache;

size_t pe_row_width(const struct pe_scheme *scheme);

/* The positions must outlive the cache. `dtype`: numbers are rounded to it before they become
 * doubles. Allocates next to nothing before the first row is computed. PE_TOO_LARGE where the rows
 * cannot be addressed, PE_OUT_OF_MEMORY. */
enum pe_status pe_row_cache_new(struct pe_row_cache **cache, const struct pe_scheme *scheme,
                                const struct pe_positions *positions, enum pe_dtype dtype,
                                struct pe_error *err);
void pe_row_cache_free(struct pe_row_cache *cache); /* NULL: nothing */

/* A row, of a prepared scheme; NULL on errors: PE_CANCELLED, PE_OUT_OF_MEMORY. Any thread. */
const double *pe_row_cache_get(struct pe_row_cache *cache, size_t index, struct pe_work *work,
                               struct pe_error *err);

/* Bytes that all rows take; NULL: 0. */
size_t pe_row_cache_size(const struct pe_row_cache *cache);

/* The sum of a[i] * b[i] and of (a[i] - b[i])^2, in doubles and always in the same order: eight
 * partial sums. Off by less than (count / 8 + 8) 2^-53 of the sum of the terms' sizes. */
double pe_row_product(const double *a, const double *b, size_t count);
double pe_row_distance_squared(const double *a, const double *b, size_t count);

/* The product; normalize: the cosine of the angle between the rows, 0 where one of them is 0. */
double pe_row_similarity(const double *a, const double *b, size_t count, bool normalize);

/* ---- estimated nanoseconds ------------------------------------------------------------------- */

/* Of a cached row at such positions, rounded to the dtype first. */
double pe_row_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype);
/* Of one product or distance of two rows. */
double pe_product_cost(const struct pe_scheme *scheme);
/* Of a sum of the cosines of all pairs, rounded to a dtype. */
double pe_cosines_cost(const struct pe_scheme *scheme, enum pe_dtype dtype);

#endif
