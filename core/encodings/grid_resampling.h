/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_GRID_RESAMPLING_H
#define CORE_ENCODINGS_GRID_RESAMPLING_H

#include "core/scheme/learned.h"

/* Rows of a learned table that are the cells of a grid, resampled to another grid as
 * torch.nn.functional.interpolate defines it. Weights are rational numbers, and each element is the
 * sum of its products, rounded once. */

enum pe_resampling_mode { PE_BILINEAR, PE_BICUBIC };

enum { PE_RESAMPLING_SIDE_MAX = 1 << 12 };

struct pe_resampling_spec {
    size_t before;         /* rows of the table before those of the grid */
    size_t from[2], to[2]; /* rows and columns, 1 to PE_RESAMPLING_SIDE_MAX */
    enum pe_resampling_mode mode;
    bool align_corners, antialias;
    /* What `to` is increased by where a scale is computed: 0, or 0.001 to 0.999. An axis whose size
     * stays has scale 1, but for PE_BICUBIC without antialias. */
    double offset;
};

struct pe_resampling;

/* Computes the weights. PE_CANCELLED, PE_OUT_OF_MEMORY. */
enum pe_status pe_resampling_new(struct pe_resampling **out, const struct pe_resampling_spec *spec,
                                 struct pe_work *work, struct pe_error *err);
void pe_resampling_free(struct pe_resampling *resampling);

/* Writes the row of a cell of the new grid. PE_CANCELLED within some milliseconds. */
enum pe_status pe_resampling_row(const struct pe_resampling *resampling,
                                 const struct pe_scheme *scheme, size_t cell, enum pe_dtype dtype,
                                 void *out, struct pe_work *work, struct pe_error *err);

/* Estimated nanoseconds of pe_resampling_new, and of an element of a row. */
double pe_resampling_cost(const struct pe_resampling_spec *spec);
double pe_resampling_element_cost(const struct pe_resampling_spec *spec, enum pe_dtype dtype);

#endif
