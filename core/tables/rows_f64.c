/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <math.h>
#include <string.h>

#include "core/base/least.h"

/* Rows of f64, as quick.c has the shorter dtypes: an anchor every 32 rows, turned by powers of one
 * step. Every number is the sum of two doubles here, and so a piece has half as many columns.
 *
 * Bounds; u = 2^-53, F = w / 2 pi, as in quick.c, and those of its proof with b, e and 3u replaced.
 * |t| w <= 2^34, or the ladder is taken: the phase has no more digits than tell f64 apart there.
 *
 * Products. (a + a') (b + b') with |a'| <= 2u |a| and |b'| <= 2u |b| is a b, exact in two doubles,
 * and a b' + a' b. Left out is a' b', below 4 u^2 of it; rounded are a b', a' b, their sum and its
 * sum with the low part of a b, below 2 u^2, 2 u^2, 4 u^2 and 5 u^2: 17 u^2 together. A sum of two
 * products adds the high parts exactly, and the three low ones with 5 u^2 each of both products;
 * the last sum takes 5 u^2 more where the high parts cancel. A part that is too small for a double
 * loses 2^-1074 at most, thrice. All that is below g = 2^-100 of the sum of both magnitudes, and
 * 2^-1070.
 *
 * Angles. The phase is that of quick.c, off by far = 2^-98.8 |tF| radians; the nearest quarter
 * comes off exactly, its rest is a sum of two without rounding, and its product with 2 pi, which
 * has 2^-105 of its own, is good to 2^-99.9.
 *
 * cos and sin of it, at most 0.7854 + 2^-30. z = x^2 < 0.6169 to 3g. The first terms left out are
 * below 2^-102 of the sine, 2^-107 of the cosine. Terms from the seventh on are summed in doubles:
 * they are below 2^-45 and 2^-41 of the value, and roundings take less than 2^-50 of them. Each of
 * the seven steps above has 2g of its sum at most, times what the steps outside of it make of it,
 * of which the sum is below 1.5, and z adds 3g of the rest: altogether below 2^-90, as is all that
 * the angle's 2^-99.9 adds; so 2^-87 is granted to each, with far: A (2^-86.8 |value| + far) as in
 * quick.c, where it is 2^-48.8.
 *
 * Steps and rows are those of quick.c with its b = 2^-48 as 2^-86, and 3u as g: e = 1.42 b + g <
 * 2^-85.4. All its sums are of b, e and u, and so come out smaller by 2^-38: granted are
 * A (2^-79 + 2^-97 |tF|), and for sines A ((|S/A| + 2 reach) 2^-79 + 2^-97 |tF|). In quick.c b has
 * room for the far of the step too; here it has none. That far, 2^-98.8 |sF|, is an error of at
 * most 1.42 times as much of each power a step, 31 * 1.42 times at the last row. The kernel is told
 * |t| + 64 |s| instead of |t|, which grants 2^-91 |sF|, more than 1.8 times what is needed. 2^-1000
 * leaves zeros in doubt, whose sign matters, and is more than parts too small for doubles lose.
 * An anchor alone is granted 2^-85 instead of 2^-79, and no reach: it has 2^-86.8.
 *
 * Ends. x + x', |x'| <= u |x|, rounds like every number within `error` of it if x + (x' - error)
 * and x + (x' + error) are one double: sums in brackets have roundings of 2^-53 (|x'| + error) <=
 * 2^-105 |x|, less than the surplus. */

enum {
    COLUMNS = PE_F64_COLUMNS,
    POWERS = PE_TABLE_ROTATION + 1,
    SUM_ROWS = 6,    /* whose elements stand on the stack at once */
    CHECK_RUNS = 32, /* between two looks at the work, as in quick.c */
};

/* The state of a call and of the piece that it is at. It lies on the stack, below 16 KiB. */
struct fill {
    const struct pe_table_call *call;
    size_t pair, pairs; /* of the piece; rounded up to a multiple of PE_TABLE_PAD */
    size_t step_stride;
    struct pe_phases phases;
    double step; /* |s| if rows have steps, else 0 */
    PE_ALIGNED double reach[COLUMNS];
    struct pe_anchors_f64 anchors;
    union {
        PE_ALIGNED double factors[5][COLUMNS]; /* by turns, where interleaved */
        double row[COLUMNS];                   /* of elements, on their way to scattered places */
        double sums[2][SUM_ROWS * COLUMNS];    /* both parts of elements that are added up */
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

/* Cosine and sine of one step, each twice where they stand by turns; and how far ROWS steps reach.
 */
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
    const size_t powers = pe_least(fill->call->rows_most, POWERS);
    double *const cos[] = {fill->step_cos[0], fill->step_cos[1]};
    double *const sin[] = {fill->step_sin[0], fill->step_sin[1]};

    fill->step_stride = fill->call->interleaved ? 2 * fill->pairs : fill->pairs;
    fill->step = 0;
    memset(fill->reach, 0, sizeof(fill->reach));
    if (powers > 1)
        step_compute(fill);
    fill->call->kernels->table_steps_f64(cos, sin, fill->step_stride, powers, fill->step_stride);
}

/* Factors of P and Q, and errors, in the order of a run's columns. */
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

/* Adds up the cosines of rows: 2^-102 of each partial sum, which is at most the number of pairs. */
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

/* The rows of an anchor, SUM_ROWS of them at most. */
static void run_sum(struct fill *fill, struct pe_table_rows_f64 *rows, size_t at)
{
    rows->out_stride = COLUMNS;
    fill->call->kernels->table_f64(fill->sums[0], fill->sums[1], rows, &fill->undecided);
    rows_sum(fill, rows, at);
}

/* Makes a run of `count` rows that share the anchor in fill. */
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
            count = pe_least(count, SUM_ROWS);
        anchor_compute(fill, &position, amplitude);
        for (size_t i = 0; i < runs_count; i++)
            run_fill(fill, &runs[i], row, count);
    }
    return PE_OK;
}

static bool is_takeable(double amplitude, double reach)
{
    return reach <= PE_F64_REACH && fabs(amplitude) < 0x1p500 && fabs(amplitude) > 0x1p-500;
}

bool pe_rows_f64_covers(const struct pe_table_call *call, double reach)
{
    const double amplitude = pe_frequencies_amplitude(call->frequencies, call->amplitude);

    return is_takeable(amplitude, reach);
}

bool pe_anchors_f64_at(struct pe_anchors_f64 *out, const struct pe_frequencies *frequencies,
                       size_t pair, const struct pe_position *position, enum pe_amplitude amplitude)
{
    static const double reach[COLUMNS];
    const struct pe_phases phases = pe_frequencies_phases(frequencies, pair);
    const size_t pairs = pe_least(pe_frequencies_count(frequencies) - pair, COLUMNS);
    const struct pe_exact scale = pe_frequencies_scale(frequencies, amplitude)->value;
    const double t = fabs(position->part[0]);
    const struct pe_anchor_f64 at = {
        {position->part[0], position->part[1]}, {scale.hi, scale.lo}, PE_F64_UNIT_ALONE, t, reach};

    if (pe_frequencies_in_float32(frequencies) ||
        !is_takeable(scale.hi, t * pe_frequencies_fastest(frequencies)))
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
        if (piece_fill(&fill, pe_least(call->pairs, fill.pair + piece), work, err))
            return err->status;
    return PE_OK;
}
