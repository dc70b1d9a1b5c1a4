/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <math.h>
#include <string.h>

#include "core/base/least.h"
#include "core/kernels/table.h"

/* Rows of f32, f16 and bf16, at the speed of a few operations in double a value. Every 32 rows have
 * an anchor (C, S) = A (cos tw, sin tw), computed at its position by the kernel table_anchors. Row
 * j < 8 after it is (C, S) turned by (P, Q) = (cos jsw, sin jsw), s being the step: the j-th power
 * of the first. After 8 rows (C, S) itself is turned by the eighth power, and so again after 16 and
 * 24, so that a table of 9 powers is enough, which fits the stack and the nearest cache. Listed
 * positions are anchors all. Both ends of the interval that is proved below to hold the value are
 * rounded; where they differ, the ladder of ladder.c makes the value anew. Correct rounding has one
 * result, so nothing but time depends on the way.
 *
 * Bounds; u = 2^-53, F = w / 2 pi. |t| w <= 2^53, or the ladder is taken, so |tF| < 2^50.4.
 *
 * Turns of a position. F is the sum of three parts to 2^-105 F: 26 bits, 26 bits (below 2^-26 F),
 * 53 bits (below 2^-52 F). t is the sum of three doubles: the first in halves of 26 bits, the
 * second below 2^-53 t, the third, which is left out, below 2^-106 t. A half times 26 bits is
 * exact, and so is the fraction of a product below 2^51. Rounded are the first double times the
 * last part (2^-105 |tF|), the second double times F (2^-104), the sum of the two (2^-104.4), and
 * the low part of the sum of all: no sum is above 1.1 |tF|, since whole turns come off only where
 * |tF| > 1/2, so that three additions to it leave 10 u^2 (2^-102.6). Together 2^-101.5 |tF| turns,
 * which is far = 2^-98.8 |tF| in radians. A first double of 26 bits without a second is not halved:
 * its products with the first two parts are exact, the third is rounded, and so is its sum with the
 * low part, each to 2^-105 |tF|. Taking off the nearest quarter is exact; with the rounding of the
 * rest, of 2 pi and of their product the angle has 3u of itself.
 *
 * cos and sin of that angle, at most 0.7854 + 2^-30: the polynomials are within 2^-55 of the value,
 * their roundings come to less than 2u, the angle's 3u to no more than 3u. So both are good to
 * 2^-49 of themselves and far. Times A (and RN(A) for A): A (2^-48.8 |value| + far).
 *
 * Steps. Let q = min(1, |s| w), so that |sin jsw| <= jq. At least 4 rows have |s| w < 2^52.5, so
 * the first step has errors of at most b in P and b q in Q, b = 2^-48. A product has, in modulus,
 * the sum of the errors of both and 3u: with e = 1.42 b + 3u < 2^-47.4, the j-th power is good to
 * j e. Relative to j q, the error of Q grows by that of P, of at most 4e, and 3u in each of at most
 * 3 levels of products, e + 2e + 4e in all for the eighth: for j <= 8 below b + 7e + 9u < 8e.
 *
 * Rows. Row 8i + j, at most 31, is (C, S) turned i times by the eighth power, then by the j-th.
 * Modulus: C and S are off by 2^-48.8 + 1.42 far (of A), the powers add (8i + j) e <= 31 e, and
 * i + 1 products 3u each, at most 12 u < e. So a cosine is off by at most
 * A (2^-48.8 + 1.42 far + 32 e), and 32 e < 2^-42.3.
 * Sines: after k turns |S| has grown to at most |S| + 8kq. A turn takes over the error of S; adds
 * 8e of |S|, the error of C (2^-48.8 + 8k e + 3k u) times 8q, the 8e of Q times 8q, and 3u of
 * |S| + 8q. Three turns and a last one by 7 rows come to no more than 32 e of the first |S|, and
 * less than 1000 e q of the rest (64 e q for the growth of |S| and as much for the error of C,
 * times 0 + 1 + 2; 64 e q thrice for Q; (168 + 168 + 56) e q in the last; the roundings 20 e q).
 * Let reach = min(1, 32 q), 0 where there are no steps: a sine is off by at most A ((|S/A| + reach)
 * (2^-48.8 + 2^-42.3) + 1.42 far), or where 32 q > 1 by no more than a cosine. The kernel grants A
 * (2^-41 + 2^-97 |tF|), and for sines A ((|S/A| + 2 reach) 2^-41 + 2^-97 |tF|), which is more
 * than 1.8 times as much; and 2^-140, so that zeros, whose sign matters, are in doubt. What the
 * ends lose as they are computed, 2u of a value of at most A, or A (|S/A| + reach), is less than
 * the surplus.
 *
 * Scales. Where a factor r^t of each pair comes instead of A, an anchor is multiplied by e^x, and P
 * and Q by r^s = e^y. x and y, below 100, are products of sums of two doubles, good to 2^-93; k ln
 * 2 comes off x in two products, the first of them exact as is its difference from x, and leaves at
 * most 0.35 to 2^-53; the series breaks off below 2^-57 and has roundings of less than 2^-51.5. So
 * e^x is good to 2^-50 of itself, with its product 2^-49. Relative errors of powers and rows are as
 * above with b + 2^-49 for b, 1.42 (b + 2^-49) + 3u < 2^-46.8 for e, and no more than 2^-41.8 +
 * 2^-47 in all. They are relative to the largest factor of the rows, at most e = 2.72 times that of
 * the anchor: 3 times the error of an anchor of that size is granted, still 1.8 times as much. */

enum {
    COLUMNS = PE_TABLE_COLUMNS,
    POWERS = PE_TABLE_ROTATION + 1,
    /* Between two looks at the work: some 2 ms of rows whose elements are all in doubt. */
    CHECK_RUNS = 64,
};

_Static_assert(PE_TABLE_ROWS == 32 && PE_TABLE_ROTATION == 8,
               "the bounds above are of these numbers");
_Static_assert(COLUMNS <= 64, "a doubt is a bit of a word");

/* The state of the piece, of at most COLUMNS columns, that a call is at. It lies on the stack and
 * is kept below 16 KiB. */
struct fill {
    const struct pe_table_call *call;
    size_t pair;      /* the first of the piece */
    size_t pairs;     /* how many the piece has, rounded up to a multiple of PE_TABLE_PAD */
    size_t unchecked; /* runs since the last look at the work of the caller */
    size_t place;     /* the row of `position`: pieces of a wide table have the same few */
    struct pe_position position;
    size_t step_stride;
    struct pe_phases phases;
    PE_ALIGNED double reach[COLUMNS];
    struct pe_anchors anchors;
    union {
        PE_ALIGNED double factors[3][COLUMNS]; /* by turns, where interleaved */
        float row[COLUMNS];                    /* of elements, on their way to scattered places */
    };
    PE_ALIGNED double step_cos[POWERS * COLUMNS], step_sin[POWERS * COLUMNS];
    struct pe_table_undecided undecided;
};

/* Factors of P and Q, and errors, in the order of a run's columns. */
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
        fill->call->rows_most > 1 ? fill->factors[1] : fill->step_sin; /* zeros: nothing turns */
    rows->error = fill->factors[2];
}

static void anchor_compute(struct fill *fill, const struct pe_position *position, double amplitude)
{
    const struct pe_anchor anchor = {
        {position->part[0], position->part[1]}, amplitude, fill->reach};

    fill->call->kernels->table_anchors(&fill->anchors, &anchor, &fill->phases, fill->pairs);
}

/* The factors of an anchor so far from their center. */
static void anchor_scale(struct fill *fill, const struct pe_position *position, double center)
{
    const struct pe_table_scales *scales = fill->call->scales;
    const struct pe_exact apart = pe_two_sum(position->part[0], -center);
    const struct pe_exact sum = pe_quick_sum(apart.hi, apart.lo + position->part[1]);
    const double distance[2] = {scales->sign * sum.hi, scales->sign * sum.lo};

    fill->call->kernels->table_scale(&fill->anchors, scales->high + fill->pair,
                                     scales->low + fill->pair, distance, fill->pairs);
}

/* Adds up the cosines of `count` rows. Columns behind the last have no pair. */
static void run_sum(struct fill *fill, const struct pe_run *run, struct pe_table_rows *rows,
                    size_t at)
{
    const struct pe_table_sums *sums = fill->call->sums;

    for (size_t i = run->columns; i < fill->pairs; i++)
        fill->anchors.cos[i] = fill->anchors.minus_sin[i] = fill->anchors.cos_error[i] = 0;
    rows->columns = fill->pairs;
    fill->call->kernels->table_sums(sums->high + at, sums->error + at, rows);
}

/* Makes a run of `count` rows that share the anchor in fill. */
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

/* The powers of one step, each twice where cosines and sines stand by turns; and how far ROWS steps
 * reach. */
static void steps_compute(struct fill *fill)
{
    const struct pe_position step = {{fill->call->step, 0, 0}};
    const size_t powers = pe_least(fill->call->rows_most, POWERS);

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
        if (piece_fill(&fill, pe_least(call->pairs, fill.pair + piece), work, err))
            return err->status;
    return PE_OK;
}
