/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/kernels/table.h"

/* Rows of f32, f16 and bf16 at listed integer positions that are not evenly spaced. A position is
 * the sum of three digits: a multiple of 2^(high + low), a multiple of 2^low, and the low bits.
 * Each digit has a table of the cosines and sines of all its values, that of the first one times A;
 * an element is the real part of a product of three entries, in any order of rows. Tables are made
 * PE_LIST_COLUMNS columns at a time, which keeps them in the L1 and L2 caches. The error bound is A
 * * 2^-41; the proof is in docs/internals/exactness.md, "Rows at listed positions". */

enum {
    BITS_MOST = 16,    /* of the last two digits */
    TABLES_ROWS = 768, /* of all three: 200 KB */
    CHUNK = 4096,      /* rows whose digits are in memory */
    BATCH = PE_TABLE_ROWS,
    COLUMNS = PE_LIST_COLUMNS,
    SIZES = 42,        /* of positions, by their bits */
    LINE = 64,         /* of the cache */
    CHECK_BATCHES = 8, /* batches between two checks of the work */
};

#define REACH 0x1p40

/* ---- digits --------------------------------------------------------------------------------- */

/* The range of the positions. False: some are fractional, negative or too large. */
static bool range_find(struct pe_table_digits *digits, const double *positions, size_t count,
                       double fastest)
{
    const double end = fastest > 1 ? REACH / fastest : REACH;
    double least = end, most = 0, rests = 0;

    for (size_t i = 0; i < count; i++) {
        const double t = positions[i], rest = t - ((t + 0x1.8p52) - 0x1.8p52);
        rests += rest * rest;
        least = t < least ? t : least;
        most = t > most ? t : most;
    }
    if (!(rests == 0 && least >= 0 && most < end))
        return false;
    *digits = (struct pe_table_digits){.least = (uint64_t)least, .most = (uint64_t)most};
    return true;
}

static uint64_t digits_rows(const struct pe_table_digits *d)
{
    return d->stretches + (1u << d->low) + (1u << d->high);
}

static unsigned bits_of(uint64_t number)
{
    return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
}

/* The cost of the tables, in anchors: a row of a table costs an eighth of an anchor. */
static double digits_cost(const struct pe_table_digits *d)
{
    return 1 + bits_of(d->stretches) + d->low + d->high + 0.125 * (double)digits_rows(d);
}

static bool digits_choose(struct pe_table_digits *best, const double *positions, size_t count,
                          double fastest)
{
    if (!range_find(best, positions, count, fastest))
        return false;
    for (unsigned bits = 2; bits <= BITS_MOST; bits++) {
        struct pe_table_digits d = *best;
        d.stretches = (d.most >> bits) - (d.least >> bits) + 1;
        d.low = bits / 2;
        d.high = bits - d.low;
        if (digits_rows(&d) <= TABLES_ROWS &&
            (best->stretches == 0 || digits_cost(&d) < digits_cost(best)))
            *best = d;
    }
    return best->stretches > 0;
}

static double cost_of(const struct pe_table_digits *digits, size_t count)
{
    return digits_cost(digits) + 0.2 * (double)count;
}

double pe_rows_listed_share(const double *positions, size_t count, size_t rows, double fastest)
{
    struct pe_table_digits digits;

    return digits_choose(&digits, positions, count, fastest)
               ? fmin(1, cost_of(&digits, rows) / (double)rows)
               : 1;
}

bool pe_rows_listed_choose(struct pe_table_call *call)
{
    enum { ROWS_MIN = 8 };
    const size_t count = call->end - call->begin;
    const size_t anchors = call->rows_most == 1 ? count : call->apart + count / PE_TABLE_ROWS;

    if (!call->positions->values || count < ROWS_MIN)
        return false;
    return 4 * anchors > count && /* or those that share one are sooner anyway */
           digits_choose(&call->digits, call->positions->values + call->begin, count,
                         pe_frequencies_fastest(call->frequencies)) &&
           cost_of(&call->digits, count) < 0.9 * (double)anchors + 0.1 * (double)count;
}

/* ---- tables of some columns ----------------------------------------------------------------- */

typedef double table_row[COLUMNS];

enum { ANCHORS, HIGH, LOW, TABLES };

struct listed {
    const struct pe_table_call *call;
    const struct pe_table_digits *digits;
    double amplitude;
    size_t pairs;     /* of the current columns, rounded up to a multiple of PE_TABLE_PAD */
    size_t unchecked; /* batches since the last check of the work */
    struct pe_phases phases;
    uint64_t sizes; /* bit lengths that positions have, a bit each */
    struct digit {
        size_t rows, steps; /* steps of 1, 2, 4, ... follow the rows */
        double unit;        /* of a step */
        table_row *x, *y;
    } tables[TABLES];
    table_row *errors;
    struct pe_list_place *places;
};

static void tables_set(struct listed *listed, const struct pe_table_digits *d)
{
    const size_t rows[] = {(size_t)d->stretches, (size_t)1 << d->high, (size_t)1 << d->low};
    const unsigned bits[] = {d->high + d->low, d->low, 0};

    for (size_t i = 0; i < TABLES; i++)
        listed->tables[i] = (struct digit){
            .rows = rows[i], .steps = bits_of(rows[i] - 1), .unit = (double)(1u << bits[i])};
}

static size_t tables_size(const struct listed *listed)
{
    size_t rows = SIZES;

    for (size_t i = 0; i < TABLES; i++)
        rows += 2 * (listed->tables[i].rows + listed->tables[i].steps);
    return rows * sizeof(table_row);
}

static void memory_divide(struct listed *listed, table_row *memory)
{
    listed->errors = memory;
    memory += SIZES;
    for (struct digit *table = listed->tables; table < listed->tables + TABLES; table++) {
        const size_t rows = table->rows + table->steps;
        table->x = memory;
        table->y = memory + rows;
        memory += 2 * rows;
    }
    listed->places = (void *)memory;
}

static void places_find(struct listed *listed, size_t begin, size_t count)
{
    const struct pe_table_digits *digits = listed->digits;
    const double *positions = listed->call->positions->values + begin;
    const uint64_t first = digits->least >> (digits->low + digits->high);
    const uint64_t low = (1u << digits->low) - 1, high = (1u << digits->high) - 1;

    listed->sizes = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t t = (uint64_t)positions[i];
        const unsigned size = bits_of(t);
        listed->places[i] = (struct pe_list_place){
            (uint16_t)(((t >> (digits->low + digits->high)) - first) * COLUMNS),
            {(uint16_t)((t >> digits->low & high) * COLUMNS), (uint16_t)((t & low) * COLUMNS)},
            (uint16_t)(size * COLUMNS)};
        listed->sizes |= UINT64_C(1) << size;
    }
}

static void anchor_compute(const struct listed *listed, struct pe_anchors *anchors, double position,
                           double amplitude)
{
    static const table_row none = {0};
    const struct pe_anchor at = {{position, 0}, amplitude, none};

    listed->call->kernels->table_anchors(anchors, &at, &listed->phases, listed->pairs);
}

/* A row of two numbers of each pair, interleaved where cosines and sines are. */
static void row_write(const struct listed *listed, double *row, const double *cos,
                      const double *sin)
{
    if (listed->call->interleaved)
        listed->call->kernels->table_interleave(row, cos, sin, listed->pairs);
    else
        memcpy(row, cos, listed->pairs * sizeof(*row));
}

/* The rows of a table, from its first row. */
static void rotations_compute(const struct listed *listed, const struct digit *table)
{
    struct pe_anchors a;

    for (size_t i = 0; i < table->steps; i++) {
        anchor_compute(listed, &a, table->unit * (double)((size_t)1 << i), 1);
        row_write(listed, table->x[table->rows + i], a.cos, a.cos);
        row_write(listed, table->y[table->rows + i], a.minus_sin, a.minus_sin);
    }
    listed->call->kernels->table_rotations(*table->x, *table->y, table->rows);
}

static void steps_compute(const struct listed *listed, const struct digit *table)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        table->x[0][i] = 1;
        table->y[0][i] = 0;
    }
    rotations_compute(listed, table);
}

static void anchors_compute(const struct listed *listed, const struct pe_run *run)
{
    const struct digit *table = &listed->tables[ANCHORS];
    const double first = (double)(listed->digits->least / (uint64_t)table->unit) * table->unit;
    const bool cos_first = run->kind == PE_RUN_COS || run->kind == PE_RUN_COS_SIN;
    struct pe_anchors a;

    anchor_compute(listed, &a, first, listed->amplitude);
    row_write(listed, table->x[0], cos_first ? a.cos : a.sin, cos_first ? a.sin : a.cos);
    row_write(listed, table->y[0], cos_first ? a.minus_sin : a.cos,
              cos_first ? a.cos : a.minus_sin);
    rotations_compute(listed, table);
}

static bool is_sine(const struct pe_run *run, size_t column)
{
    return run->kind == PE_RUN_SIN || (run->kind == PE_RUN_COS_SIN && column % 2 == 1) ||
           (run->kind == PE_RUN_SIN_COS && column % 2 == 0);
}

/* The errors of each bit length that positions have. */
static void errors_compute(const struct listed *listed, const struct pe_run *run)
{
    for (uint64_t left = listed->sizes; left != 0; left &= left - 1) {
        const int size = __builtin_ctzll(left);
        const double reach = size == 0 ? 0 : 6.3 * (double)(UINT64_C(1) << size); /* 6.3 > 2 pi */
        for (size_t i = 0; i < run->columns; i++) {
            const double turn = listed->phases.high[listed->call->interleaved ? i / 2 : i];
            const double most = is_sine(run, i) ? fmin(1, reach * turn) : 1;
            listed->errors[size][i] = listed->amplitude * PE_LISTED_ERROR * most + 0x1p-140;
        }
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Places at most BATCH rows of scattered columns. */
static void scattered_rows(const struct pe_table_call *call, const struct pe_run *run, size_t row,
                           const struct pe_table_undecided *undecided, char *values, size_t count)
{
    const size_t row_size = call->table->row_size;

    for (size_t i = 0; i < count; i++, values += COLUMNS * call->size) {
        const struct pe_table_undecided of_row = {{undecided->rows[i]}};
        if (undecided->rows[i] != 0)
            pe_run_resolve(call, run, row + i, 1, &of_row, values);
        pe_table_scatter(call, values, run->pair, run->columns,
                         run->out + (row + i - call->begin) * row_size);
    }
}

static void batch_fill(const struct pe_table_call *call, const struct pe_run *run,
                       struct pe_table_list *list, size_t row)
{
    float values[BATCH * COLUMNS];
    void *const out = call->table->columns ? (void *)values
                                           : run->out + (row - call->begin) * call->table->row_size;
    struct pe_table_undecided undecided;

    if (call->dtype == PE_F32)
        call->kernels->table_list_f32(out, list, &undecided);
    else if (call->dtype == PE_F16)
        call->kernels->table_list_f16(out, list, &undecided);
    else
        call->kernels->table_list_bf16(out, list, &undecided);
    if (call->table->columns)
        scattered_rows(call, run, row, &undecided, out, list->rows);
    else
        pe_run_resolve(call, run, row, list->rows, &undecided, out);
}

static struct pe_table_list list_of(const struct listed *listed, const struct pe_run *run)
{
    const struct pe_table_call *call = listed->call;
    const struct digit *tables = listed->tables;

    return (struct pe_table_list){
        .anchors = {*tables[ANCHORS].x, *tables[ANCHORS].y},
        .steps = {{*tables[HIGH].x, *tables[HIGH].y}, {*tables[LOW].x, *tables[LOW].y}},
        .errors = *listed->errors,
        .columns = run->columns,
        .out_stride = call->table->columns ? COLUMNS : call->table->row_size / call->size};
}

static enum pe_status run_fill(struct listed *listed, const struct pe_run *run, size_t begin,
                               size_t end, struct pe_work *work, struct pe_error *err)
{
    struct pe_table_list list = list_of(listed, run);

    anchors_compute(listed, run);
    errors_compute(listed, run);
    for (size_t row = begin; row < end; row += list.rows) {
        list.rows = pe_min(BATCH, end - row);
        list.places = listed->places + (row - begin);
        if (++listed->unchecked % CHECK_BATCHES == 0 && pe_work_check(work, err))
            return err->status;
        batch_fill(listed->call, run, &list, row);
    }
    return PE_OK;
}

static enum pe_status rows_fill(struct listed *listed, size_t begin, size_t end,
                                struct pe_work *work, struct pe_error *err)
{
    const struct pe_table_call *call = listed->call;
    const size_t most = call->interleaved ? COLUMNS / 2 : COLUMNS;

    places_find(listed, begin, end - begin);
    for (size_t pair = 0, pair_end; pair < call->pairs; pair = pair_end) {
        struct pe_run runs[2];
        pair_end = pe_min(call->pairs, pair + most);
        const size_t runs_count = pe_table_runs(call, pair, pair_end, runs);
        listed->phases = pe_frequencies_phases(call->frequencies, pair);
        listed->pairs = (pair_end - pair + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
        if (pair_end - pair < most) /* columns after the last are read too */
            memset(listed->errors, 0, tables_size(listed));
        steps_compute(listed, &listed->tables[HIGH]);
        steps_compute(listed, &listed->tables[LOW]);
        for (size_t i = 0; i < runs_count; i++)
            if (run_fill(listed, &runs[i], begin, end, work, err))
                return err->status;
    }
    return PE_OK;
}

enum pe_status pe_rows_listed_fill(const struct pe_table_call *call, struct pe_work *work,
                                   struct pe_error *err)
{
    struct listed listed = {.call = call,
                            .digits = &call->digits,
                            .amplitude =
                                pe_frequencies_amplitude(call->frequencies, call->amplitude)};

    tables_set(&listed, &call->digits);
    const size_t size = tables_size(&listed) + LINE +
                        pe_min(call->end - call->begin, CHUNK) * sizeof(*listed.places);
    const bool reserved = pe_work_reserve(work, size);
    char *const memory = reserved ? malloc(size) : NULL;
    if (!memory) {
        pe_work_release(work, reserved ? size : 0);
        return pe_rows_doubles_fill(call, work, err);
    }
    memory_divide(&listed, (void *)(memory + LINE - (uintptr_t)memory % LINE));
    for (size_t begin = call->begin; begin < call->end && err->status == PE_OK; begin += CHUNK)
        rows_fill(&listed, begin, pe_min(call->end, begin + CHUNK), work, err);
    free(memory);
    pe_work_release(work, size);
    return err->status;
}
