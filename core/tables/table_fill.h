/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_TABLE_FILL_H
#define CORE_TABLES_TABLE_FILL_H

#include "core/tables/frequencies.h"

/* Where the values of a table are written. */
struct pe_table {
    void *cos, *sin;             /* pair 0 in the first row; either may be NULL */
    size_t cos_count, sin_count; /* leading pairs that have a column */
    size_t pair_step;            /* elements from a pair to the next: 1, or 2 where interleaved */
    size_t row_size;             /* bytes from row to row */
    const size_t *columns;       /* pair i is in the column of pair columns[i]; NULL: of pair i */
};

/* Writes RN(amplitude * cos(t * w)) and RN(amplitude * sin(t * w)) at the positions [begin, end) of
 * count * max(1, batch), in a floating dtype. The bytes depend neither on the division into calls
 * nor on the machine. PE_CANCELLED, within a few milliseconds. Any thread. */
enum pe_status pe_table_fill(const struct pe_table *table, const struct pe_frequencies *frequencies,
                             const struct pe_positions *positions, size_t begin, size_t end,
                             enum pe_amplitude amplitude, enum pe_dtype dtype, struct pe_work *work,
                             struct pe_error *err);

/* Scales are computed by kernels and in double-doubles up to e^100. */
#define PE_SCALES_REACH 100.0

/* A factor of each pair that depends on the position, e^(sign (t - center) ln). */
struct pe_table_scales {
    /* ln of each pair, a double-double; zeros up to a multiple of PE_TABLE_PAD. */
    const double *high, *low;
    double largest; /* |ln| */
    double center, sign;
    /* One pair at one position, as pe_frequencies_pair; either pointer may be NULL. */
    void (*write)(const void *context, size_t pair, const struct pe_position *position, void *cos,
                  void *sin);
    const void *context; /* of that function */
};

/* pe_table_fill with such factors instead of an amplitude. *taken false: the kernels do not cover
 * these scales and positions, and nothing was written. */
enum pe_status pe_table_fill_scaled(const struct pe_table *table,
                                    const struct pe_frequencies *frequencies,
                                    const struct pe_positions *positions, size_t begin, size_t end,
                                    const struct pe_table_scales *scales, enum pe_dtype dtype,
                                    bool *taken, struct pe_work *work, struct pe_error *err);

/* Sums of the cosines of all pairs, one for each row of a call, and bounds of their errors. A sum
 * is a double-double, or a double where `low` is NULL. */
struct pe_table_sums {
    double *high, *low, *error;
};

/* Sums of cos(t * w) at the positions [begin, end). *within false: angles are too large for the
 * kernels, and nothing was written. PE_CANCELLED. Any thread. */
enum pe_status pe_table_sum(const struct pe_table_sums *sums,
                            const struct pe_frequencies *frequencies,
                            const struct pe_positions *positions, size_t begin, size_t end,
                            bool *within, struct pe_work *work, struct pe_error *err);

/* What the cost of an element depends on. */
struct pe_table_use {
    const struct pe_positions *positions;
    enum pe_dtype dtype;
    size_t width;    /* elements of a row */
    bool both;       /* cos and sin are written together */
    bool in_float32; /* arithmetic=hf */
    double bound;    /* of all frequencies; 0: 1 */
};

/* Estimated nanoseconds of an element. */
double pe_table_cost(const struct pe_table_use *use);

#endif
