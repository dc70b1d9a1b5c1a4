/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <math.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/kernels/table.h"

/* Rows of f32, f16 and bf16 in doubles. Every 32 rows have an anchor A (cos tw, sin tw), computed
 * at its position by the kernel table_anchors; the rows after it are the anchor rotated by powers
 * of one step. Listed positions have an anchor each. Each value is an interval that is proved to
 * hold the real number; where its ends round differently, exact_pair.c makes the element. The error
 * bound is A (2^-41 + 2^-97 |t| w / 2 pi) for |t| w <= 2^53; the proof is in
 * docs/internals/exactness.md, "Rows in doubles". */

enum {
    COLUMNS = PE_TABLE_COLUMNS,
    POWERS = PE_TABLE_ROTATION + 1,
    /* Runs between two checks of the work: some 2 ms of rows whose elements are all undecided. */
    CHECK_RUNS = 64,
};

_Static_assert(PE_TABLE_ROWS == 32 && PE_TABLE_ROTATION == 8, "the proof is for these numbers");
_Static_assert(COLUMNS <= 64, "an undecided element is a bit of a word");

/* The state of a call at one piece of at most COLUMNS columns, on the stack, below 16 KiB. */
struct fill {
    const struct pe_table_call *call;
    size_t pair;      /* the first of the piece */
    size_t pairs;     /* of the piece, rounded up to a multiple of PE_TABLE_PAD */
    size_t unchecked; /* runs since the last check of the work */
    size_t place;     /* the row of `position`, which the pieces of a wide table share */
    struct pe_position position;
    size_t step_stride;
    struct pe_phases phases;
    PE_ALIGNED double reach[COLUMNS];
    struct pe_anchors anchors;
    union {
        PE_ALIGNED double factors[3][COLUMNS]; /* of interleaved columns */
        float row[COLUMNS];                    /* elements of scattered columns */
    };
    PE_ALIGNED double step_cos[POWERS * COLUMNS], step_sin[POWERS * COLUMNS];
    struct pe_table_undecided undecided;
};

/* Factors of P and Q, and errors, in the order of the run's columns. */
static void factors_place(struct fill *fill, const struct pe_run *run, struct pe_table_rows *rows)
{
    const struct pe_anchors *a = &fill->anchors;
    const bool cos_first = run->kind == PE_RUN_COS_SIN;

    if (run->kind == PE_RUN_COS || run->kind == PE_RUN_SIN) {
        rows->cos = run->kind == PE_RUN_COS ? a->cos : a->sin;
        rows->sin = run->kind == PE_RUN_COS ? a->minus_sin : a->cos;
        rows->error = run->kind == PE_RUN_COS ? a->cos_error : a->sin_error;
        return;
    }
    fill->call->kernels->table_interleave(fill->factors[0], cos_first ? a->cos : a->sin,
                                          cos_first ? a->sin : a->cos, fill->pairs);
    if (fill->call->rows_most > 1)
        fill->call->kernels->table_interleave(fill->factors[1], cos_first ? a->minus_sin : a->cos,
                                              cos_first ? a->cos : a->minus_sin, fill->pairs);
    fill->call->kernels->table_interleave(fill->factors[2], cos_first ? a->cos_error : a->sin_error,
                                          cos_first ? a->sin_error : a->cos_error, fill->pairs);
    rows->cos = fill->factors[0];
    rows->sin =
        fill->call->rows_most > 1 ? fill->factors[1] : fill->step_sin; /* zeros: no rotation */
    rows->error = fill->factors[2];
}

static void anchor_compute(struct fill *fill, const struct pe_position *position, double amplitude)
{
    const struct pe_anchor anchor = {
        {position->part[0], position->part[1]}, amplitude, fill->reach};

    fill->call->kernels->table_anchors(&fill->anchors, &anchor, &fill->phases, fill->pairs);
}

/* Multiplies an anchor by its scales, at the distance of a position from their center. */
static void anchor_scale(struct fill *fill, const struct pe_position *position, double center)
{
    const struct pe_table_scales *scales = fill->call->scales;
    const struct pe_exact apart = pe_two_sum(position->part[0], -center);
    const struct pe_exact sum = pe_quick_sum(apart.hi, apart.lo + position->part[1]);
    const double distance[2] = {scales->sign * sum.hi, scales->sign * sum.lo};

    fill->call->kernels->table_scale(&fill->anchors, scales->high + fill->pair,
                                     scales->low + fill->pair, distance, fill->pairs);
}

/* Adds up the cosines of the rows of a run. Columns after the last have no pair. */
static void run_sum(struct fill *fill, const struct pe_run *run, struct pe_table_rows *rows,
                    size_t at)
{
    const struct pe_table_sums *sums = fill->call->sums;

    for (size_t i = run->columns; i < fill->pairs; i++)
        fill->anchors.cos[i] = fill->anchors.minus_sin[i] = fill->anchors.cos_error[i] = 0;
    rows->columns = fill->pairs;
    fill->call->kernels->table_sums(sums->high + at, sums->error + at, rows);
}

/* Writes `count` rows of a run, which share the anchor in fill. */
static void run_fill(struct fill *fill, const struct pe_run *run, size_t row, size_t count)
{
    struct pe_table_rows rows = {.step_cos = fill->step_cos,
                                 .step_sin = fill->step_sin,
                                 .step_stride = fill->step_stride,
                                 .rows = count,
                                 .columns = run->columns,
                                 .out_stride = fill->call->table->row_size / fill->call->size};
    char *const place = run->out + (row - fill->call->begin) * fill->call->table->row_size;
    void *const out = fill->call->table->columns ? (void *)fill->row : place;

    factors_place(fill, run, &rows);
    if (fill->call->sums) {
        run_sum(fill, run, &rows, row - fill->call->begin);
        return;
    }
    if (fill->call->dtype == PE_F32)
        fill->call->kernels->table_f32(out, &rows, &fill->undecided);
    else if (fill->call->dtype == PE_F16)
        fill->call->kernels->table_f16(out, &rows, &fill->undecided);
    else
        fill->call->kernels->table_bf16(out, &rows, &fill->undecided);
    pe_run_resolve(fill->call, run, row, count, &fill->undecided, out);
    if (fill->call->table->columns)
        pe_table_scatter(fill->call, fill->row, run->pair, run->columns,
                         run->out + (row - fill->call->begin) * fill->call->table->row_size);
}

/* The powers of one step, each twice where cosines and sines are interleaved, and the reach of the
 * rows of an anchor. */
static void steps_compute(struct fill *fill)
{
    const struct pe_position step = {{fill->call->step, 0, 0}};
    const size_t powers = pe_min(fill->call->rows_most, POWERS);

    fill->step_stride = fill->call->interleaved ? 2 * fill->pairs : fill->pairs;
    memset(fill->reach, 0, sizeof(fill->reach));
    if (powers > 1) {
        anchor_compute(fill, &step, 1);
        if (fill->call->scales)
            anchor_scale(fill, &step, 0);
        double *cos = fill->step_cos + fill->step_stride, *sin = fill->step_sin + fill->step_stride;
        if (fill->call->interleaved) {
            fill->call->kernels->table_interleave(cos, fill->anchors.cos, fill->anchors.cos,
                                                  fill->pairs);
            fill->call->kernels->table_interleave(sin, fill->anchors.sin, fill->anchors.sin,
                                                  fill->pairs);
        } else {
            memcpy(cos, fill->anchors.cos, fill->pairs * sizeof(*cos));
            memcpy(sin, fill->anchors.sin, fill->pairs * sizeof(*sin));
        }
        for (size_t i = 0; i < fill->pairs; i++)
            fill->reach[i] = pe_table_reach(step.part[0], fill->phases.high[i]);
    }
    fill->call->kernels->table_steps(fill->step_cos, fill->step_sin, fill->step_stride, powers,
                                     fill->step_stride);
}

static enum pe_status piece_fill(struct fill *fill, size_t pair_end, struct pe_work *work,
                                 struct pe_error *err)
{
    const struct pe_table_call *call = fill->call;
    struct pe_run runs[2];
    const size_t runs_count = pe_table_runs(call, fill->pair, pair_end, runs);

    fill->phases = pe_frequencies_phases(call->frequencies, fill->pair);
    fill->pairs = (pair_end - fill->pair + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    steps_compute(fill);
    for (size_t row = call->begin, count; row < call->end; row += count) {
        if (++fill->unchecked % CHECK_RUNS == 0 && pe_work_check(work, err))
            return err->status;
        if (fill->place != row)
            fill->position = pe_position_of(call->positions, row);
        fill->place = row;
        count = pe_table_rows_from(call, row);
        anchor_compute(fill, &fill->position,
                       pe_frequencies_amplitude(call->frequencies, call->amplitude));
        if (call->scales)
            anchor_scale(fill, &fill->position, call->scales->center);
        for (size_t i = 0; i < runs_count; i++)
            run_fill(fill, &runs[i], row, count);
    }
    return PE_OK;
}

enum pe_status pe_rows_doubles_fill(const struct pe_table_call *call, struct pe_work *work,
                                    struct pe_error *err)
{
    const size_t piece = call->interleaved ? COLUMNS / 2 : COLUMNS;
    struct fill fill;

    fill.call = call;
    fill.unchecked = 0;
    fill.place = call->end;
    for (fill.pair = 0; fill.pair < call->pairs; fill.pair += piece)
        if (piece_fill(&fill, pe_min(call->pairs, fill.pair + piece), work, err))
            return err->status;
    return PE_OK;
}
