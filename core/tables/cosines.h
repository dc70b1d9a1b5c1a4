/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_COSINES_H
#define CORE_TABLES_COSINES_H

#include "core/tables/frequencies.h"

/* The product of two rows whose columns are pairs that turn, so many positions apart: A^2 times the
 * sum over all pairs of cos(offset * w); or that sum's mean, which is the cosine of the angle
 * between the rows. */
struct pe_cosines {
    const struct pe_frequencies *frequencies; /* at least one pair */
    bool mean;
    struct pe_exact scale; /* what the sum is multiplied by, to 2^-100 of it */
};

struct pe_cosines pe_cosines_of(const struct pe_frequencies *frequencies, bool mean);

/* RN of it at one offset, |offset| <= 2^53 - 1. PE_CANCELLED, within some milliseconds. */
enum pe_status pe_cosines_write(const struct pe_cosines *cosines, const struct pe_position *offset,
                                enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err);

/* RN of 2 A sqrt(sum sin^2(offset * w / 2)), the distance of such rows, at twice `half`; and its
 * square to 2^-40 of it. PE_CANCELLED, within some milliseconds. */
enum pe_status pe_cosines_distance(const struct pe_frequencies *frequencies,
                                   const struct pe_position *half, enum pe_dtype dtype, void *out,
                                   struct pe_work *work, struct pe_error *err);
enum pe_status pe_cosines_distance_squared(const struct pe_frequencies *frequencies,
                                           const struct pe_position *half, double *squared,
                                           struct pe_work *work, struct pe_error *err);

#endif
