/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_TABLE_ROWS_H
#define CORE_TABLES_TABLE_ROWS_H

/* What the ways of filling many rows share: quick.c has those in doubles, fine.c those in sums of
 * two. Each goes through a table in pieces of some columns, makes rows of a piece by a kernel, and
 * has what the kernel left in doubt made by the ladder. */

#include <math.h>

#include "core/base/isa.h"
#include "core/tables/table_fill.h"

/* How whole positions are cut into digits: see listed.c. */
struct pe_table_digits {
    uint64_t least, most; /* positions */
    uint64_t stretches;   /* that share an anchor each */
    unsigned low, high;   /* bits within one */
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
    size_t apart;      /* rows of a list that do not follow the one before */
    bool interleaved;  /* cosines and sines stand by turns, and so do their factors */
    /* NULL: elements are wanted. Else cosines are added up, nothing is written to the table. */
    const struct pe_table_sums *sums;
    const struct pe_table_scales *scales; /* NULL: the amplitude */
    struct pe_table_digits digits;        /* of pe_rows_listed_fill */
};

/* Columns side by side: cosines, sines, or both by turns, from the first of a piece on. */
struct pe_run {
    char *out;   /* of the call's first row */
    size_t pair; /* of the first column */
    size_t columns;
    enum { PE_RUN_COS, PE_RUN_SIN, PE_RUN_COS_SIN, PE_RUN_SIN_COS } kind;
};

/* Divides the columns of the pairs [pair, end) into runs; returns how many. */
size_t pe_table_runs(const struct pe_table_call *call, size_t pair, size_t end,
                     struct pe_run runs[2]);

/* Is b exactly a step behind a? */
static inline bool pe_is_step(double a, double step, double b)
{
    const struct pe_exact sum = pe_two_sum(a, step);

    return sum.hi == b && sum.lo == 0;
}

/* How many rows from `row` on share its anchor: at most rows_most, none of another batch, and of
 * listed ones those that follow each other by the step. */
size_t pe_table_rows_from(const struct pe_table_call *call, size_t row);

/* Where a pair's element stands in a row of `out`. */
char *pe_table_place(const struct pe_table_call *call, void *out, size_t pair);

/* Makes the elements in doubt anew; `out` has rows from `row` on. */
void pe_run_resolve(const struct pe_table_call *call, const struct pe_run *run, size_t row,
                    size_t count, const struct pe_table_undecided *undecided, char *out);

/* Copies elements of one row, those of `count` pairs from `pair` on, to the places of their pairs.
 */
void pe_table_scatter(const struct pe_table_call *call, const void *elements, size_t pair,
                      size_t count, void *out);

/* ---- rows of f32, f16 and bf16: rows_doubles.c ---------------------------------------------- */

/* At least the angle that the rows of an anchor are apart, or 1 if that is less, for a pair with so
 * many turns a position: 6.3 > 2 pi. */
static inline double pe_table_reach(double step, double turns)
{
    const double reach = 6.3 * (double)PE_TABLE_ROWS * fabs(step) * turns;

    return reach < 1 ? reach : 1;
}

/* pe_table_fill of f32, f16 and bf16, of scaled rows and of sums in doubles, where |t| w <= 2^53.
 */
enum pe_status pe_rows_doubles_fill(const struct pe_table_call *call, struct pe_work *work,
                                    struct pe_error *err);

/* ---- rows of f64: rows_f64.c ---------------------------------------------------------------- */

/* Angles up to it, in radians, have a phase that tells f64 apart. */
#define PE_F64_REACH 0x1p34

/* The unit of the error that is granted to rows of an anchor, and to an anchor alone. */
#define PE_F64_UNIT       0x1p-79
#define PE_F64_UNIT_ALONE 0x1p-85

/* The position that bounds the error of an anchor at t and of the rows that follow it by steps. */
static inline double pe_f64_span(double t, double step)
{
    return fabs(t) + 2 * (double)PE_TABLE_ROWS * fabs(step);
}

/* Are angles up to `reach` near enough for sums of two doubles, and the amplitude within them? */
bool pe_rows_f64_covers(const struct pe_table_call *call, double reach);

/* pe_table_fill of f64, where pe_rows_f64_covers it. */
enum pe_status pe_rows_f64_fill(const struct pe_table_call *call, struct pe_work *work,
                                struct pe_error *err);

/* A row of them before they are rounded: the cosines and sines of as many pairs from `pair` on as
 * there are, at most PE_F64_COLUMNS, and bounds of their errors. False: the position is too far,
 * or the amplitude is. */
bool pe_anchors_f64_at(struct pe_anchors_f64 *out, const struct pe_frequencies *frequencies,
                       size_t pair, const struct pe_position *position,
                       enum pe_amplitude amplitude);

/* ---- listed whole positions: rows_listed.c -------------------------------------------------- */

/* The error that is granted to a cosine of a row, as a part of the amplitude. */
#define PE_LISTED_GRANTED 0x1p-41

/* How long a row at whole positions without order takes by digits, in rows that have an anchor
 * each, where `rows` are filled at once; 1: they are nothing for it. */
double pe_rows_listed_share(const double *positions, size_t count, size_t rows, double fastest);

/* Are the rows of a call, for pe_rows_doubles_fill so far, made sooner by digits? Then those are
 * chosen.
 */
bool pe_rows_listed_choose(struct pe_table_call *call);

/* pe_table_fill of such rows. */
enum pe_status pe_rows_listed_fill(const struct pe_table_call *call, struct pe_work *work,
                                   struct pe_error *err);

/* ---- arithmetic=hf: rows_float32.c ---------------------------------------------------------- */

/* Angles up to it, in radians, are near enough for the kernel. */
#define PE_FLOAT32_REACH 0x1p25

/* pe_table_fill of frequencies in float32, where |t| w <= PE_FLOAT32_REACH. */
enum pe_status pe_rows_float32_fill(const struct pe_table_call *call, struct pe_work *work,
                                    struct pe_error *err);

#endif
