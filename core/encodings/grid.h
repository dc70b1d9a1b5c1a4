/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_GRID_H
#define CORE_ENCODINGS_GRID_H

#include "core/scheme/scheme.h"
#include "posenc/work.h"

enum { PE_GRID_AXES_MAX = 3 };

/* A table over a grid: its rows are the points, the last axis changing fastest. Each axis has its
 * own columns, sines and cosines of the point's coordinate on it. */
struct pe_grid_axis {
    size_t size;
    double start;           /* coordinates start, start + 1, ... start + size - 1 */
    size_t column, columns; /* its first column, and how many it has */
    const struct pe_frequencies *frequencies;
};

struct pe_grid {
    unsigned axes_count;
    struct pe_grid_axis axes[PE_GRID_AXES_MAX];
    int layout; /* enum of core/encodings/sinusoidal.h */
    size_t dim; /* elements of a row */
};

/* Writes rows [begin, end), whose bytes do not depend on the range. PE_CANCELLED. */
enum pe_status pe_grid_fill(const struct pe_grid *grid, size_t begin, size_t end,
                            enum pe_dtype dtype, void *out, struct pe_work *work,
                            struct pe_error *err);

/* Estimated nanoseconds of an element. A coordinate is computed once for each group of rows that
 * are filled together. */
double pe_grid_cost(const struct pe_grid *grid, enum pe_dtype dtype);

/* Writes the columns of one axis at listed positions. */
enum pe_status pe_grid_axis_fill(const struct pe_grid *grid, unsigned axis,
                                 const struct pe_positions *positions, size_t begin, size_t end,
                                 enum pe_dtype dtype, void *out, struct pe_work *work,
                                 struct pe_error *err);

#endif
