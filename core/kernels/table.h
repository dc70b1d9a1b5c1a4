/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_TABLE_H
#define CORE_KERNELS_TABLE_H

/* What core/tables/bulk.c and its kernels share; the bounds are proved there. */

#include <stddef.h>
#include <stdint.h>

enum {
    PE_TABLE_PAIRS = 64, /* at once */
    PE_TABLE_COLUMNS = 2 * PE_TABLE_PAIRS,
    PE_TABLE_ROWS = 32, /* from an anchor to the next */
    PE_TABLE_PAD = 8,   /* anchors and steps are computed for whole multiples of it */
};

/* A line of the cache, and the widest vector. */
#define PE_ALIGNED __attribute__((aligned(64)))

/* w / 2 pi of each pair as a sum of three: 26 bits, 26 bits, and 53 bits. */
struct pe_phases {
    const double *high, *middle, *low;
};

/* One position: two doubles of which the second is at most half an ulp of the first. `reach`, of
 * each pair: how far the rows of this anchor turn, at most 1. */
struct pe_anchor {
    double position[2];
    double amplitude;
    const double *reach;
};

/* Amplitude times cos and sin of that position, and how far off values made of them may be. */
struct pe_anchors {
    PE_ALIGNED double cos[PE_TABLE_PAIRS], sin[PE_TABLE_PAIRS], minus_sin[PE_TABLE_PAIRS];
    double cos_error[PE_TABLE_PAIRS], sin_error[PE_TABLE_PAIRS];
};

/* Element (row, column) is cos[column] * step_cos[row][column] + sin[column] *
 * step_sin[row][column], wrong by less than error[column]. */
struct pe_table_rows {
    const double *cos, *sin, *error;
    const double *step_cos, *step_sin;
    size_t step_stride; /* elements from row to row */
    size_t rows, columns;
    size_t out_stride;
};

/* Elements whose rounding is not decided, as row * columns + column, in any order. */
struct pe_table_doubts {
    size_t count;
    uint32_t list[PE_TABLE_ROWS * PE_TABLE_COLUMNS];
};

#endif
