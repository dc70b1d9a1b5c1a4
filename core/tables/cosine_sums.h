/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_COSINE_SUMS_H
#define CORE_TABLES_COSINE_SUMS_H

#include "core/tables/table_fill.h"

/* The inner product of two rows of cosines and sines that are `offset` positions apart: A^2 times
 * the sum of cos(offset * w) over all pairs; or, with `mean`, that sum divided by the number of
 * pairs, which is the cosine of the angle between the rows. */
struct pe_cosines {
    const struct pe_frequencies *frequencies; /* at least one pair */
    bool mean;
    struct pe_exact scale; /* the factor before the sum, to a relative error of 2^-100 */
};

struct pe_cosines pe_cosines_of(const struct pe_frequencies *frequencies, bool mean);

/* Writes RN(product, or mean) at one offset, |offset| <= 2^53 - 1. PE_CANCELLED, within some
 * milliseconds. */
enum pe_status pe_cosines_write(const struct pe_cosines *cosines, const struct pe_position *offset,
                                enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err);

/* The distance of two such rows, 2 A sqrt(sum sin^2(offset * w / 2)), where offset = 2 `half`:
 * RN(distance), and its square in double to a relative error of 2^-40. PE_CANCELLED,
 * within some milliseconds. */
enum pe_status pe_cosines_distance(const struct pe_frequencies *frequencies,
                                   const struct pe_position *half, enum pe_dtype dtype, void *out,
                                   struct pe_work *work, struct pe_error *err);
enum pe_status pe_cosines_distance_squared(const struct pe_frequencies *frequencies,
                                           const struct pe_position *half, double *squared,
                                           struct pe_work *work, struct pe_error *err);

/* pe_cosines_write for the offsets [begin, end) of a list or of even ones, into an array.
 * PE_CANCELLED, within some milliseconds. Any thread. */
enum pe_status pe_cosines_fill(const struct pe_cosines *cosines, const struct pe_positions *offsets,
                               size_t begin, size_t end, enum pe_dtype dtype, void *out,
                               struct pe_work *work, struct pe_error *err);

#endif
