/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_TABLE_ROWS_H
#define CORE_TABLES_TABLE_ROWS_H

/* Shared by the files that fill many rows: rows_doubles.c, rows_f64.c, rows_listed.c and
 * rows_float32.c. Each goes through a table in pieces of some columns, makes the rows of a piece by
 * a kernel, and resolves undecided elements by exact_pair.c. */

#include <math.h>

#include "core/base/isa.h"
#include "core/tables/table_fill.h"

/* Division of integer positions into digits, for rows_listed.c. */
struct pe_table_digits {
    uint64_t least, most; /* positions */
    uint64_t stretches;   /* of positions that share an anchor */
    unsigned low, high;   /* bits within a stretch */
};

/* A call of pe_table_fill. */
struct pe_table_call {
    const struct pe_table *table;
    const struct pe_frequencies *frequencies;
    const struct pe_positions *positions;
    const struct pe_kernels *kernels;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    size_t size;       /* of an element */
    size_t begin, end; /* rows */
    size_t pairs;      /* that have a column */
    size_t rows_most;  /* that share an anchor */
    double step;       /* between them */
    size_t apart;      /* listed rows that do not follow their predecessor by the step */
    bool interleaved;  /* cosines and sines alternate, and so do their factors */
    /* Set: cosines are added up, and no element is written. */
    const struct pe_table_sums *sums;
    const struct pe_table_scales *scales; /* instead of the amplitude; may be NULL */
    struct pe_table_digits digits;        /* for pe_rows_listed_fill */
};

/* Columns side by side, from the first one of a piece on: cosines, sines, or both, interleaved. */
struct pe_run {
    char *out;   /* in the first row of the call */
    size_t pair; /* of the first column */
    size_t columns;
    enum { PE_RUN_COS, PE_RUN_SIN, PE_RUN_COS_SIN, PE_RUN_SIN_COS } kind;
};

/* Divides the columns of the pairs [pair, end) into runs; returns how many. */
size_t pe_table_runs(const struct pe_table_call *call, size_t pair, size_t end,
                     struct pe_run runs[2]);

/* Is b = a + step exactly? */
static inline bool pe_is_step(double a, double step, double b)
{
    const struct pe_exact sum = pe_two_sum(a, step);

    return sum.hi == b && sum.lo == 0;
}

/* How many rows from `row` on share its anchor: at most rows_most, all of one batch, and of listed
 * rows those that follow each other by the step. */
size_t pe_table_rows_from(const struct pe_table_call *call, size_t row);

/* The address of the element of a pair in the row `out`. */
char *pe_table_place(const struct pe_table_call *call, void *out, size_t pair);

/* Makes undecided elements by exact_pair.c; `out` has rows from `row` on. */
void pe_run_resolve(const struct pe_table_call *call, const struct pe_run *run, size_t row,
                    size_t count, const struct pe_table_undecided *undecided, char *out);

/* Copies the elements of `count` pairs of one row, from `pair` on, to their columns. */
void pe_table_scatter(const struct pe_table_call *call, const void *elements, size_t pair,
                      size_t count, void *out);

/* ---- rows of f32, f16 and bf16: rows_doubles.c ---------------------------------------------- */

/* An upper bound of the angle between the first and the last row of an anchor, at most 1, for a
 * pair with so many turns a position: 6.3 > 2 pi. */
static inline double pe_table_reach(double step, double turns)
{
    const double reach = 6.3 * (double)PE_TABLE_ROWS * fabs(step) * turns;

    return reach < 1 ? reach : 1;
}

/* pe_table_fill of f32, f16 and bf16, of scaled rows and of sums in doubles; |t| w <= 2^53. */
enum pe_status pe_rows_doubles_fill(const struct pe_table_call *call, struct pe_work *work,
                                    struct pe_error *err);

/* ---- rows of f64: rows_f64.c ---------------------------------------------------------------- */

/* The largest angle, in radians, whose phase is precise enough for f64. */
#define PE_F64_REACH 0x1p34

/* The bound of the relative error of the rows of an anchor, and of an anchor alone. */
#define PE_F64_UNIT       0x1p-79
#define PE_F64_UNIT_ALONE 0x1p-85

/* The position that bounds the phase error of an anchor at t and of the rows after it. */
static inline double pe_f64_span(double t, double step)
{
    return fabs(t) + 2 * (double)PE_TABLE_ROWS * fabs(step);
}

/* Are angles up to `reach`, and the amplitude, within the range of rows_f64.c? */
bool pe_rows_f64_covers(const struct pe_table_call *call, double reach);

/* pe_table_fill of f64, where pe_rows_f64_covers is true. */
enum pe_status pe_rows_f64_fill(const struct pe_table_call *call, struct pe_work *work,
                                struct pe_error *err);

/* Unrounded cosines and sines of at most PE_F64_COLUMNS pairs from `pair` on, and their error
 * bounds. False: the position or the amplitude is out of range. */
bool pe_anchors_f64_at(struct pe_anchors_f64 *out, const struct pe_frequencies *frequencies,
                       size_t pair, const struct pe_position *position,
                       enum pe_amplitude amplitude);

/* ---- listed integer positions: rows_listed.c ------------------------------------------------ */

/* The error bound of a cosine, relative to the amplitude. */
#define PE_LISTED_ERROR 0x1p-41

/* The cost of a row of rows_listed.c relative to a row with an anchor of its own, where `rows` are
 * filled at once; 1: the positions do not suit it. */
double pe_rows_listed_share(const double *positions, size_t count, size_t rows, double fastest);

/* Is pe_rows_listed_fill cheaper for a call than pe_rows_doubles_fill? Then sets call->digits. */
bool pe_rows_listed_choose(struct pe_table_call *call);

/* pe_table_fill by call->digits. */
enum pe_status pe_rows_listed_fill(const struct pe_table_call *call, struct pe_work *work,
                                   struct pe_error *err);

/* ---- arithmetic=hf: rows_float32.c ---------------------------------------------------------- */

/* The largest angle of the kernel, in radians. */
#define PE_FLOAT32_REACH 0x1p25

/* pe_table_fill of frequencies in float32, where |t| w <= PE_FLOAT32_REACH. */
enum pe_status pe_rows_float32_fill(const struct pe_table_call *call, struct pe_work *work,
                                    struct pe_error *err);

#endif
