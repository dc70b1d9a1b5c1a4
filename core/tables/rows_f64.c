/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <math.h>
#include <string.h>

#include "core/base/sizes.h"

/* Rows of f64, by the method of rows_doubles.c: an anchor every 32 rows, rotated by powers of one
 * step. Every number is a double-double, so a piece has half as many columns. The error bound is
 * A (2^-79 + 2^-97 |t| w / 2 pi) for |t| w <= 2^34; the proof is in
 * docs/internals/exactness.md, "Rows of f64". */

enum {
    COLUMNS = PE_F64_COLUMNS,
    POWERS = PE_TABLE_ROTATION + 1,
    SUM_ROWS = 6,    /* rows that are summed at once, for the stack */
    CHECK_RUNS = 32, /* runs between two checks of the work */
};

/* The state of a call at one piece of its columns. It lies on the stack, below 16 KiB. */
struct fill {
    const struct pe_table_call *call;
    size_t pair, pairs; /* of the piece; their number is a multiple of PE_TABLE_PAD */
    size_t step_stride;
    struct pe_phases phases;
    double step; /* |s| if rows have steps, else 0 */
    PE_ALIGNED double reach[COLUMNS];
    struct pe_anchors_f64 anchors;
    union {
        PE_ALIGNED double factors[5][COLUMNS]; /* of interleaved columns */
        double row[COLUMNS];                   /* elements of scattered columns */
        double sums[2][SUM_ROWS * COLUMNS];    /* both parts of elements to be summed */
    };
    PE_ALIGNED double step_cos[2][POWERS * COLUMNS], step_sin[2][POWERS * COLUMNS];
    struct pe_table_undecided undecided;
};

static void zip(const struct fill *fill, double *out, const double *a, const double *b)
{
    fill->call->kernels->table_interleave(out, a, b, fill->pairs);
}

static void anchor_compute(struct fill *fill, const struct pe_position *position,
                           struct pe_exact amplitude)
{
    const double span = pe_f64_span(position->part[0], fill->step);
    const struct pe_anchor_f64 at = {{position->part[0], position->part[1]},
                                     {amplitude.hi, amplitude.lo},
                                     fill->step > 0 ? PE_F64_UNIT : PE_F64_UNIT_ALONE,
                                     span,
                                     fill->reach};

    fill->call->kernels->table_anchors_f64(&fill->anchors, &at, &fill->phases, fill->pairs);
}

/* Cosine and sine of one step, each twice where they are interleaved, and the reach of the rows of
 * an anchor. */
static void step_compute(struct fill *fill)
{
    const double s = fill->call->step;
    const struct pe_position step = {{s, 0, 0}};
    const double *const from[2][2] = {{fill->anchors.cos[0], fill->anchors.cos[1]},
                                      {fill->anchors.sin[0], fill->anchors.sin[1]}};

    anchor_compute(fill, &step, (struct pe_exact){1, 0});
    for (size_t i = 0; i < 2; i++) {
        double *const to[2] = {fill->step_cos[i] + fill->step_stride,
                               fill->step_sin[i] + fill->step_stride};
        for (size_t k = 0; k < 2; k++)
            if (fill->call->interleaved)
                zip(fill, to[k], from[k][i], from[k][i]);
            else
                memcpy(to[k], from[k][i], fill->pairs * sizeof(double));
    }
    for (size_t i = 0; i < fill->pairs; i++)
        fill->reach[i] = pe_table_reach(s, fill->phases.high[i]);
    fill->step = fabs(s);
}

static void steps_compute(struct fill *fill)
{
    const size_t powers = pe_min(fill->call->rows_most, POWERS);
    double *const cos[] = {fill->step_cos[0], fill->step_cos[1]};
    double *const sin[] = {fill->step_sin[0], fill->step_sin[1]};

    fill->step_stride = fill->call->interleaved ? 2 * fill->pairs : fill->pairs;
    fill->step = 0;
    memset(fill->reach, 0, sizeof(fill->reach));
    if (powers > 1)
        step_compute(fill);
    fill->call->kernels->table_steps_f64(cos, sin, fill->step_stride, powers, fill->step_stride);
}

/* Factors of P and Q, and errors, in the order of the run's columns. */
static void factors_place(struct fill *fill, const struct pe_run *run,
                          struct pe_table_rows_f64 *rows)
{
    const struct pe_anchors_f64 *a = &fill->anchors;
    const bool cos_first = run->kind == PE_RUN_COS_SIN || run->kind == PE_RUN_COS;
    const double(*x)[COLUMNS] = cos_first ? a->cos : a->sin;
    const double(*y)[COLUMNS] = cos_first ? a->minus_sin : a->cos;
    const double(*x_next)[COLUMNS] = cos_first ? a->sin : a->cos;
    const double(*y_next)[COLUMNS] = cos_first ? a->cos : a->minus_sin;
    const double *error = cos_first ? a->cos_error : a->sin_error;

    if (run->kind == PE_RUN_COS || run->kind == PE_RUN_SIN) {
        *rows =
            (struct pe_table_rows_f64){.cos = {x[0], x[1]}, .sin = {y[0], y[1]}, .error = error};
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        zip(fill, fill->factors[i], x[i], x_next[i]);
        zip(fill, fill->factors[2 + i], y[i], y_next[i]);
    }
    zip(fill, fill->factors[4], error, cos_first ? a->sin_error : a->cos_error);
    *rows = (struct pe_table_rows_f64){.cos = {fill->factors[0], fill->factors[1]},
                                       .sin = {fill->factors[2], fill->factors[3]},
                                       .error = fill->factors[4]};
}

/* Adds up the cosines of rows. Each addition errs by 2^-102 of its partial sum, which is at most
 * the number of pairs. */
static void rows_sum(const struct fill *fill, const struct pe_table_rows_f64 *rows, size_t at)
{
    const struct pe_table_sums *sums = fill->call->sums;
    const double pairs = (double)pe_frequencies_count(fill->call->frequencies);

    for (size_t row = 0; row < rows->rows; row++) {
        struct pe_exact sum = {sums->high[at + row], sums->low[at + row]};
        double error = sums->error[at + row];
        for (size_t i = 0; i < rows->columns; i++) {
            const size_t place = row * rows->out_stride + i;
            sum = pe_exact_add(sum, (struct pe_exact){fill->sums[0][place], fill->sums[1][place]});
            error += rows->error[i] + pairs * 0x1p-101;
        }
        sums->high[at + row] = sum.hi;
        sums->low[at + row] = sum.lo;
        sums->error[at + row] = error;
    }
}

/* Sums at most SUM_ROWS rows of an anchor. */
static void run_sum(struct fill *fill, struct pe_table_rows_f64 *rows, size_t at)
{
    rows->out_stride = COLUMNS;
    fill->call->kernels->table_f64(fill->sums[0], fill->sums[1], rows, &fill->undecided);
    rows_sum(fill, rows, at);
}

/* Writes `count` rows of a run, which share the anchor in fill. */
static void run_fill(struct fill *fill, const struct pe_run *run, size_t row, size_t count)
{
    const struct pe_table_call *call = fill->call;
    char *const place = run->out + (row - call->begin) * call->table->row_size;
    void *const out = call->table->columns ? (void *)fill->row : place;
    struct pe_table_rows_f64 rows;

    factors_place(fill, run, &rows);
    for (size_t i = 0; i < 2; i++) {
        rows.step_cos[i] = fill->step_cos[i];
        rows.step_sin[i] = fill->step_sin[i];
    }
    rows.step_stride = fill->step_stride;
    rows.rows = count;
    rows.columns = run->columns;
    rows.out_stride = call->table->row_size / call->size;
    if (call->sums) {
        run_sum(fill, &rows, row - call->begin);
        return;
    }
    call->kernels->table_f64(out, NULL, &rows, &fill->undecided);
    pe_run_resolve(call, run, row, count, &fill->undecided, out);
    if (call->table->columns)
        pe_table_scatter(call, fill->row, run->pair, run->columns,
                         run->out + (row - call->begin) * call->table->row_size);
}

static enum pe_status piece_fill(struct fill *fill, size_t pair_end, struct pe_work *work,
                                 struct pe_error *err)
{
    const struct pe_table_call *call = fill->call;
    const struct pe_exact amplitude =
        pe_frequencies_scale(call->frequencies, call->amplitude)->value;
    struct pe_run runs[2];
    const size_t runs_count = pe_table_runs(call, fill->pair, pair_end, runs);
    size_t unchecked = 0;

    fill->phases = pe_frequencies_phases(call->frequencies, fill->pair);
    fill->pairs = (pair_end - fill->pair + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    steps_compute(fill);
    for (size_t row = call->begin, count; row < call->end; row += count) {
        const struct pe_position position = pe_position_of(call->positions, row);

        if (unchecked++ % CHECK_RUNS == 0 && pe_work_check(work, err))
            return err->status;
        count = pe_table_rows_from(call, row);
        if (call->sums)
            count = pe_min(count, SUM_ROWS);
        anchor_compute(fill, &position, amplitude);
        for (size_t i = 0; i < runs_count; i++)
            run_fill(fill, &runs[i], row, count);
    }
    return PE_OK;
}

static bool is_covered(double amplitude, double reach)
{
    return reach <= PE_F64_REACH && fabs(amplitude) < 0x1p500 && fabs(amplitude) > 0x1p-500;
}

bool pe_rows_f64_covers(const struct pe_table_call *call, double reach)
{
    const double amplitude = pe_frequencies_amplitude(call->frequencies, call->amplitude);

    return is_covered(amplitude, reach);
}

bool pe_anchors_f64_at(struct pe_anchors_f64 *out, const struct pe_frequencies *frequencies,
                       size_t pair, const struct pe_position *position, enum pe_amplitude amplitude)
{
    static const double reach[COLUMNS];
    const struct pe_phases phases = pe_frequencies_phases(frequencies, pair);
    const size_t pairs = pe_min(pe_frequencies_count(frequencies) - pair, COLUMNS);
    const struct pe_exact scale = pe_frequencies_scale(frequencies, amplitude)->value;
    const double t = fabs(position->part[0]);
    const struct pe_anchor_f64 at = {
        {position->part[0], position->part[1]}, {scale.hi, scale.lo}, PE_F64_UNIT_ALONE, t, reach};

    if (pe_frequencies_in_float32(frequencies) ||
        !is_covered(scale.hi, t * pe_frequencies_fastest(frequencies)))
        return false;
    pe_isa()->kernels->table_anchors_f64(out, &at, &phases,
                                         (pairs + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD);
    return true;
}

enum pe_status pe_rows_f64_fill(const struct pe_table_call *call, struct pe_work *work,
                                struct pe_error *err)
{
    const size_t piece = call->interleaved ? COLUMNS / 2 : COLUMNS;
    struct fill fill;

    fill.call = call;
    for (fill.pair = 0; fill.pair < call->pairs; fill.pair += piece)
        if (piece_fill(&fill, pe_min(call->pairs, fill.pair + piece), work, err))
            return err->status;
    return PE_OK;
}
