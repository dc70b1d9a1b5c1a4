/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_TABLE_H
#define CORE_KERNELS_TABLE_H

/* Structures shared by the table kernels and core/tables. Error bounds are proved in
 * docs/internals/exactness.md, "Many rows at once". */

#include <stddef.h>
#include <stdint.h>

enum {
    PE_TABLE_COLUMNS = 64, /* made at once */
    PE_TABLE_ROWS = 32,    /* from an anchor to the next */
    PE_TABLE_ROTATION = 8, /* rows from a rotation of the anchor to the next */
    PE_TABLE_PAD = 8,      /* anchors and steps are computed for multiples of it */
    PE_FLOAT32_PAD = 16,   /* the same for float32 angles */
    PE_F64_COLUMNS = 32,   /* made at once for f64 */
    PE_LIST_COLUMNS = 16,  /* made at once for listed positions */
};

/* A line of the cache, and the widest vector. */
#define PE_ALIGNED __attribute__((aligned(64)))

/* w / 2 pi of each pair as a sum of three doubles: 26 bits, 26 bits, and 53 bits. */
struct pe_phases {
    const double *high, *middle, *low;
};

/* An anchor to compute. The position is a double-double; reach[pair] bounds the sine of the angle
 * by which the rows after it are rotated. */
struct pe_anchor {
    double position[2];
    double amplitude;
    const double *reach;
};

/* Amplitude times cos and sin at the anchor, and error bounds of the values made of them. */
struct pe_anchors {
    PE_ALIGNED double cos[PE_TABLE_COLUMNS], sin[PE_TABLE_COLUMNS], minus_sin[PE_TABLE_COLUMNS];
    double cos_error[PE_TABLE_COLUMNS], sin_error[PE_TABLE_COLUMNS];
};

/* At most PE_TABLE_ROWS rows after an anchor. (P_j, Q_j) = (step_cos, step_sin)[j] are the cosine
 * and sine of j <= PE_TABLE_ROTATION steps, and (x, y) = (cos, sin) those of the anchor. Before
 * each multiple of R = PE_TABLE_ROTATION rows, (x, y) is rotated to (x P_R + y Q_R, y P_R - x Q_R).
 * Element (row, column) is then x P_j + y Q_j for j = row % R, with an error below error[column].
 */
struct pe_table_rows {
    const double *cos, *sin, *error;
    const double *step_cos, *step_sin;
    size_t step_stride; /* elements from row to row */
    size_t rows, columns;
    size_t out_stride;
};

/* Rows of two arrays of PE_LIST_COLUMNS each: a cosine and a negative sine, or the parts x and y of
 * a complex number that they rotate. */
struct pe_list_table {
    const double *x, *y;
};

/* Where the parts of a row are: elements from the begin of each table. */
struct pe_list_place {
    uint16_t anchor, steps[2], error;
};

/* At most PE_TABLE_ROWS rows of listed positions: an element is x of the product of its anchor and
 * two steps, off by less than its error. */
struct pe_table_list {
    struct pe_list_table anchors, steps[2];
    const double *errors;
    const struct pe_list_place *places; /* of each row */
    size_t rows, columns;
    size_t out_stride;
};

/* ---- f64: each number is a double-double, in two arrays ------------------------------------- */

struct pe_anchor_f64 {
    double position[2];
    double amplitude[2];
    double unit; /* of the error of a cosine */
    double span; /* |t|, and an allowance for the phase error of the steps */
    const double *reach;
};

struct pe_anchors_f64 {
    PE_ALIGNED double cos[2][PE_F64_COLUMNS], sin[2][PE_F64_COLUMNS];
    double minus_sin[2][PE_F64_COLUMNS];
    double cos_error[PE_F64_COLUMNS], sin_error[PE_F64_COLUMNS];
};

/* As struct pe_table_rows. Arrays are read up to the next multiple of PE_TABLE_PAD. */
struct pe_table_rows_f64 {
    const double *cos[2], *sin[2], *error;
    const double *step_cos[2], *step_sin[2];
    size_t step_stride;
    size_t rows, columns;
    size_t out_stride;
};

/* Elements whose rounding is undecided: bit `column` of word `row`. */
struct pe_table_undecided {
    uint64_t rows[PE_TABLE_ROWS];
};

#endif
