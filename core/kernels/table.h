/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_TABLE_H
#define CORE_KERNELS_TABLE_H

/* Structures that core/tables/rows_doubles.c and fine.c share with the table kernels; the bounds of
 * all errors are proved there. */

#include <stddef.h>
#include <stdint.h>

enum {
    PE_TABLE_COLUMNS = 64, /* made at once, and so at most as many pairs */
    PE_TABLE_ROWS = 32,    /* from an anchor to the next */
    PE_TABLE_ROTATION = 8, /* from a turn of the anchor to the next */
    PE_TABLE_PAD = 8,      /* anchors and steps are computed for whole multiples of it */
    PE_FLOAT32_PAD = 16,   /* the same of angles in float32 */
    PE_F64_COLUMNS = 32,   /* made at once of f64 */
    PE_LIST_COLUMNS = 16,  /* made at once of listed positions */
};

/* A line of the cache, and the widest vector. */
#define PE_ALIGNED __attribute__((aligned(64)))

/* w / 2 pi of each pair as a sum of three: 26 bits, 26 bits, and 53 bits. */
struct pe_phases {
    const double *high, *middle, *low;
};

/* An anchor to be computed. Its position is the sum of two doubles, the second at most half an ulp
 * of the first. reach[pair] bounds the sine of the angle by which the rows after it are turned. */
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

/* At most PE_TABLE_ROWS rows behind an anchor. With (P, Q) = (step_cos, step_sin), the cosine and
 * sine of j steps in its row j <= PE_TABLE_ROTATION, and (x, y) = (cos, sin), element (row, column)
 * is x P + y Q at j = row % PE_TABLE_ROTATION, wrong by less than error[column], after (x, y) was
 * turned row / PE_TABLE_ROTATION times: into (x P + y Q, y P - x Q) at j = PE_TABLE_ROTATION. */
struct pe_table_rows {
    const double *cos, *sin, *error;
    const double *step_cos, *step_sin;
    size_t step_stride; /* elements from row to row */
    size_t rows, columns;
    size_t out_stride;
};

/* Rows of two arrays of PE_LIST_COLUMNS each: of a cosine and the negative of a sine, or of what is
 * turned by them, as the parts x and y of a complex number. */
struct pe_list_table {
    const double *x, *y;
};

/* Where a row's pieces are: elements from the begin of each table. */
struct pe_list_place {
    uint16_t anchor, steps[2], error;
};

/* At most PE_TABLE_ROWS rows of listed positions: an element is x of the product of its anchor and
 * two steps, wrong by less than its error. */
struct pe_table_list {
    struct pe_list_table anchors, steps[2];
    const double *errors;
    const struct pe_list_place *places; /* of each row */
    size_t rows, columns;
    size_t out_stride;
};

/* ---- f64: each number is the sum of two doubles, one array for each ---- */

struct pe_anchor_f64 {
    double position[2];
    double amplitude[2];
    double unit; /* of the error of a cosine */
    double span; /* |t| and what the steps of the rows behind it add to the error of the phase */
    const double *reach;
};

struct pe_anchors_f64 {
    PE_ALIGNED double cos[2][PE_F64_COLUMNS], sin[2][PE_F64_COLUMNS];
    double minus_sin[2][PE_F64_COLUMNS];
    double cos_error[PE_F64_COLUMNS], sin_error[PE_F64_COLUMNS];
};

/* As struct pe_table_rows. Arrays are read up to the next whole multiple of PE_TABLE_PAD. */
struct pe_table_rows_f64 {
    const double *cos[2], *sin[2], *error;
    const double *step_cos[2], *step_sin[2];
    size_t step_stride;
    size_t rows, columns;
    size_t out_stride;
};

/* Elements whose rounding is not decided: bit `column` of word `row`. */
struct pe_table_undecided {
    uint64_t rows[PE_TABLE_ROWS];
};

#endif
