/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_RUNS_H
#define CORE_TABLES_RUNS_H

/* What the ways of filling many rows share: quick.c has those in doubles, fine.c those in sums of
 * two. Each goes through a table in pieces of some columns, makes rows of a piece by a kernel, and
 * has what the kernel left in doubt made by the ladder. */

#include "core/base/isa.h"
#include "core/tables/bulk.h"

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
    bool zipped;       /* cosines and sines stand by turns, and so do their factors */
    /* NULL: elements are wanted. Else cosines are added up, nothing is written to the table. */
    const struct pe_table_sums *sums;
    const struct pe_table_scales *scales; /* NULL: the amplitude */
    struct pe_table_digits digits;        /* of pe_listed_fill */
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
void pe_run_settle(const struct pe_table_call *call, const struct pe_run *run, size_t row,
                   size_t count, const struct pe_table_doubts *doubts, char *out);

/* Copies elements of one row, those of `count` pairs from `pair` on, to the places of their pairs.
 */
void pe_table_scatter(const struct pe_table_call *call, const void *elements, size_t pair,
                      size_t count, void *out);

#endif
