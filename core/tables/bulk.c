/* SPDX-License-Identifier: MIT */
#include "core/tables/bulk.h"

#include <math.h>
#include <string.h>

#include "core/base/least.h"
#include "core/isa/isa.h"
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
 * which is far = 2^-98.8 |tF| in radians. Taking off the nearest quarter is exact; with the
 * rounding of the rest, of 2 pi and of their product the angle has 3u of itself.
 *
 * cos and sin of that angle, at most 0.7854 + 2^-30: the series break off below 2^-58 of the value,
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
 * the surplus. */

enum {
    STEPS_MIN = 4, /* rows that are worth a table of steps */
    ROWS = PE_TABLE_ROWS,
    COLUMNS = PE_TABLE_COLUMNS,
    POWERS = PE_TABLE_TURN + 1,
    /* Between two looks at the work: some 2 ms of pairs by the ladder, or of runs of 32 rows whose
     * elements are all in doubt. */
    CHECK_EXACT = 128,
    CHECK_RUNS = 64,
};

_Static_assert(ROWS == 32 && PE_TABLE_TURN == 8, "the bounds above are of these numbers");
_Static_assert(COLUMNS <= 64, "a doubt is a bit of a word");

/* The state of a call and of the piece, of at most COLUMNS columns, that it is at. It lies on the
 * stack and is kept below 16 KiB. */
struct fill {
    const struct pe_table *table;
    const struct pe_frequencies *frequencies;
    const struct pe_positions *positions;
    const struct pe_kernels *kernels;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    size_t size;      /* of an element */
    size_t begin;     /* the first row */
    size_t pair;      /* the first of the piece */
    size_t pairs;     /* how many the piece has, rounded up to a multiple of PE_TABLE_PAD */
    size_t rows_most; /* that share an anchor */
    size_t unchecked; /* pairs or runs since the last look at the work of the caller */
    size_t step_stride;
    bool zipped; /* cosines and sines stand by turns, and so do their factors */
    struct pe_phases phases;
    PE_ALIGNED double reach[COLUMNS];
    struct pe_anchors anchors;
    union {
        PE_ALIGNED double factors[3][COLUMNS]; /* by turns, where zipped */
        float row[COLUMNS];                    /* of elements, on their way to scattered places */
    };
    PE_ALIGNED double step_cos[POWERS * COLUMNS], step_sin[POWERS * COLUMNS];
    struct pe_table_doubts doubts;
};

static enum pe_status work_check(struct fill *fill, struct pe_work *work, struct pe_error *err)
{
    fill->unchecked = 0;
    return pe_work_check(work, err);
}

/* Where a pair's element stands in a row of `out`. */
static char *place_of(const struct pe_table *table, void *out, size_t pair, size_t size)
{
    return (char *)out + (table->columns ? table->columns[pair] : pair) * table->pair_step * size;
}

/* ---- one by one ----------------------------------------------------------------------------- */

static enum pe_status exact_rows(struct fill *fill, size_t end, struct pe_work *work,
                                 struct pe_error *err)
{
    const struct pe_table *table = fill->table;
    const size_t most = table->cos_count > table->sin_count ? table->cos_count : table->sin_count;

    for (size_t row = fill->begin; row < end; row++) {
        const struct pe_position position = pe_position_of(fill->positions, row);
        const size_t at = (row - fill->begin) * table->row_size;
        for (size_t pair = 0; pair < most; pair++) {
            if (++fill->unchecked >= CHECK_EXACT && work_check(fill, work, err))
                return err->status;
            const bool cos = table->cos && pair < table->cos_count;
            const bool sin = table->sin && pair < table->sin_count;
            pe_frequencies_pair(fill->frequencies, pair, &position, fill->amplitude, fill->dtype,
                                cos ? place_of(table, table->cos, pair, fill->size) + at : NULL,
                                sin ? place_of(table, table->sin, pair, fill->size) + at : NULL);
        }
    }
    return PE_OK;
}

/* ---- in bulk -------------------------------------------------------------------------------- */

/* Columns side by side: cosines, sines, or both by turns, from the first of the piece on. */
struct run {
    char *out; /* of the call's first row */
    size_t columns;
    enum { COS, SIN, COS_SIN, SIN_COS } kind;
};

static void doubt_settle(struct fill *fill, const struct run *run, size_t row, size_t column,
                         char *out)
{
    const bool both = run->kind >= COS_SIN;
    const bool is_sin = run->kind == SIN || (both && (column & 1) == (run->kind == COS_SIN));
    const struct pe_position position = pe_position_of(fill->positions, row);

    pe_frequencies_pair(fill->frequencies, fill->pair + (both ? column / 2 : column), &position,
                        fill->amplitude, fill->dtype, is_sin ? NULL : out, is_sin ? out : NULL);
}

static void doubts_settle(struct fill *fill, const struct run *run, size_t row, size_t count,
                          char *out)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t left = fill->doubts.rows[i]; left != 0; left &= left - 1) {
            const size_t column = (size_t)__builtin_ctzll(left);
            doubt_settle(fill, run, row + i, column,
                         out + i * fill->table->row_size + column * fill->size);
        }
}

/* Factors of P and Q, and errors, in the order of a run's columns. */
static void factors_place(struct fill *fill, const struct run *run, struct pe_table_rows *rows)
{
    const struct pe_anchors *a = &fill->anchors;
    const bool cos_first = run->kind == COS_SIN;

    if (run->kind == COS || run->kind == SIN) {
        rows->cos = run->kind == COS ? a->cos : a->sin;
        rows->sin = run->kind == COS ? a->minus_sin : a->cos;
        rows->error = run->kind == COS ? a->cos_error : a->sin_error;
        return;
    }
    fill->kernels->table_zip(fill->factors[0], cos_first ? a->cos : a->sin,
                             cos_first ? a->sin : a->cos, fill->pairs);
    if (fill->rows_most > 1)
        fill->kernels->table_zip(fill->factors[1], cos_first ? a->minus_sin : a->cos,
                                 cos_first ? a->cos : a->minus_sin, fill->pairs);
    fill->kernels->table_zip(fill->factors[2], cos_first ? a->cos_error : a->sin_error,
                             cos_first ? a->sin_error : a->cos_error, fill->pairs);
    rows->cos = fill->factors[0];
    rows->sin = fill->rows_most > 1 ? fill->factors[1] : fill->step_sin; /* zeros: nothing turns */
    rows->error = fill->factors[2];
}

static void anchor_compute(struct fill *fill, const struct pe_position *position, double amplitude)
{
    const struct pe_anchor anchor = {
        {position->part[0], position->part[1]}, amplitude, fill->reach};

    fill->kernels->table_anchors(&fill->anchors, &anchor, &fill->phases, fill->pairs);
}

/* Copies the elements of one row of a piece to the places of their pairs. */
static void row_scatter(const struct fill *fill, const struct run *run, char *out)
{
    for (size_t i = 0; i < run->columns; i++)
        memcpy(place_of(fill->table, out, fill->pair + i, fill->size),
               (const char *)fill->row + i * fill->size, fill->size);
}

/* Makes a run of `count` rows that share the anchor in fill. */
static void run_fill(struct fill *fill, const struct run *run, size_t row, size_t count)
{
    struct pe_table_rows rows = {.step_cos = fill->step_cos,
                                 .step_sin = fill->step_sin,
                                 .step_stride = fill->step_stride,
                                 .rows = count,
                                 .columns = run->columns,
                                 .out_stride = fill->table->row_size / fill->size};
    char *const place = run->out + (row - fill->begin) * fill->table->row_size;
    void *const out = fill->table->columns ? (void *)fill->row : place;

    factors_place(fill, run, &rows);
    if (fill->dtype == PE_F32)
        fill->kernels->table_f32(out, &rows, &fill->doubts);
    else if (fill->dtype == PE_F16)
        fill->kernels->table_f16(out, &rows, &fill->doubts);
    else
        fill->kernels->table_bf16(out, &rows, &fill->doubts);
    doubts_settle(fill, run, row, count, out);
    if (fill->table->columns)
        row_scatter(fill, run, place);
}

/* The powers of one step, each twice where cosines and sines stand by turns; and how far ROWS steps
 * reach. */
static void steps_compute(struct fill *fill)
{
    const struct pe_position step = {{fill->positions->step, 0, 0}};
    const size_t powers = pe_least(fill->rows_most, POWERS);

    fill->step_stride = fill->zipped ? 2 * fill->pairs : fill->pairs;
    memset(fill->reach, 0, sizeof(fill->reach));
    if (powers > 1) {
        anchor_compute(fill, &step, 1);
        double *cos = fill->step_cos + fill->step_stride, *sin = fill->step_sin + fill->step_stride;
        if (fill->zipped) {
            fill->kernels->table_zip(cos, fill->anchors.cos, fill->anchors.cos, fill->pairs);
            fill->kernels->table_zip(sin, fill->anchors.sin, fill->anchors.sin, fill->pairs);
        } else {
            memcpy(cos, fill->anchors.cos, fill->pairs * sizeof(*cos));
            memcpy(sin, fill->anchors.sin, fill->pairs * sizeof(*sin));
        }
        for (size_t i = 0; i < fill->pairs; i++) /* 6.3 > 2 pi */
            fill->reach[i] =
                fmin(1, 6.3 * (double)ROWS * fabs(step.part[0]) * fill->phases.high[i]);
    }
    fill->kernels->table_steps(fill->step_cos, fill->step_sin, fill->step_stride, powers,
                               fill->step_stride);
}

/* Divides the columns of the pairs [fill->pair, pair_end) into runs; returns how many. */
static size_t runs_of(const struct fill *fill, size_t pair_end, struct run runs[2])
{
    const struct pe_table *table = fill->table;
    const size_t offset = table->columns ? 0 : fill->pair * table->pair_step * fill->size;
    const size_t cos_end = pe_least(pair_end, table->cos ? table->cos_count : 0);
    const size_t sin_end = pe_least(pair_end, table->sin ? table->sin_count : 0);
    char *cos = table->cos ? (char *)table->cos + offset : NULL;
    char *sin = table->sin ? (char *)table->sin + offset : NULL;
    size_t count = 0;

    if (fill->zipped) {
        runs[0] = (struct run){cos < sin ? cos : sin, cos_end + sin_end - 2 * fill->pair,
                               cos < sin ? COS_SIN : SIN_COS};
        return 1;
    }
    if (cos_end > fill->pair)
        runs[count++] = (struct run){cos, cos_end - fill->pair, COS};
    if (sin_end > fill->pair)
        runs[count++] = (struct run){sin, sin_end - fill->pair, SIN};
    return count;
}

static enum pe_status piece_fill(struct fill *fill, size_t pair_end, size_t end,
                                 struct pe_work *work, struct pe_error *err)
{
    const size_t positions = fill->positions->count;
    struct run runs[2];
    const size_t runs_count = runs_of(fill, pair_end, runs);

    fill->phases = pe_frequencies_phases(fill->frequencies, fill->pair);
    fill->pairs = (pair_end - fill->pair + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    steps_compute(fill);
    for (size_t row = fill->begin, count; row < end; row += count) {
        const struct pe_position position = pe_position_of(fill->positions, row);

        if (++fill->unchecked >= CHECK_RUNS && work_check(fill, work, err))
            return err->status;
        count = pe_least(pe_least(fill->rows_most, end - row), positions - row % positions);
        anchor_compute(fill, &position,
                       pe_frequencies_amplitude(fill->frequencies, fill->amplitude));
        for (size_t i = 0; i < runs_count; i++)
            run_fill(fill, &runs[i], row, count);
    }
    return PE_OK;
}

struct reach {
    double near, far; /* the least |t| but 0, the largest */
};

/* Of the positions [begin, end); of all where they are not listed. */
static struct reach reach_of(const struct pe_positions *p, size_t begin, size_t end)
{
    const double even[] = {p->start, p->start + p->step,
                           p->start + p->step * ((double)p->count - 1)};
    struct reach reach = {INFINITY, 0};

    for (size_t i = begin; i < (p->values ? end : begin + pe_least(p->count, 3)); i++) {
        const double t = fabs(p->values ? p->values[i] : even[i - begin]);
        reach.near = t > 0 ? fmin(reach.near, t) : reach.near;
        reach.far = fmax(reach.far, t);
    }
    return reach;
}

/* Do the kernels hold angles of such a reach? The least would leave every sine in doubt. */
static bool is_within(struct reach reach, double fastest)
{
    return reach.near >= 0x1p-200 && reach.far * fastest <= 0x1p53;
}

enum pe_status pe_table_fill(const struct pe_table *table, const struct pe_frequencies *frequencies,
                             const struct pe_positions *positions, size_t begin, size_t end,
                             enum pe_amplitude amplitude, enum pe_dtype dtype, struct pe_work *work,
                             struct pe_error *err)
{
    const size_t most = table->cos_count > table->sin_count ? table->cos_count : table->sin_count;
    const size_t pairs = pe_least(pe_frequencies_count(frequencies), most);
    struct fill fill;

    fill.table = table;
    fill.frequencies = frequencies;
    fill.positions = positions;
    fill.kernels = pe_isa()->kernels;
    fill.amplitude = amplitude;
    fill.dtype = dtype;
    fill.size = pe_dtype_info(dtype)->size;
    fill.begin = begin;
    fill.zipped = table->pair_step == 2 && !table->columns;
    fill.rows_most = positions->values || table->columns || end - begin < STEPS_MIN
                         ? 1
                         : pe_least(ROWS, end - begin);
    fill.unchecked = 0;
    if (begin >= end)
        return PE_OK;
    if (dtype == PE_F64 || pe_frequencies_in_float32(frequencies) ||
        !is_within(reach_of(positions, begin, end), pe_frequencies_fastest(frequencies)))
        return exact_rows(&fill, end, work, err);
    const size_t piece = fill.zipped ? COLUMNS / 2 : COLUMNS;
    for (fill.pair = 0; fill.pair < pairs; fill.pair += piece)
        if (piece_fill(&fill, pe_least(pairs, fill.pair + piece), end, work, err))
            return err->status;
    return PE_OK;
}

/* ---- how long it takes ---------------------------------------------------------------------- */

double pe_table_work(const struct pe_table_use *use)
{
    enum { ANCHOR = 16, ROW = 8 };
    const struct pe_positions *p = use->positions;
    const double share = use->both ? 0.5 : 1;
    const size_t count = p->count * (p->axes > 1 ? p->axes : 1) * (p->batch > 1 ? p->batch : 1);
    const struct reach reach = reach_of(p, 0, count);

    if (reach.near < 0x1p-760) /* wide numbers */
        return 2700;
    if (use->in_float32)
        return 125;
    if (use->dtype == PE_F64)
        return (reach.near < 0x1p-200 ? 1200 : 550) * share;
    if (!is_within(reach, fmax(use->bound, 1)))
        return 120 * share;
    if (p->values)
        return 3.2 + ROW / (double)use->width;
    return 0.5 + ROW / (double)use->width + ANCHOR / (double)(p->count + 1);
}
