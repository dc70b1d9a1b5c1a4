/* SPDX-License-Identifier: MIT */
#include "core/tables/bulk.h"

#include <math.h>
#include <string.h>

#include "core/isa/isa.h"
#include "core/kernels/table.h"

/* Rows of f32, f16 and bf16, at the speed of a few operations in double a value. Every 32 rows have
 * an anchor (C, S) = A (cos tw, sin tw), computed at its position by the kernel table_anchors; row
 * j after it is (C, S) turned by (P, Q) = (cos jsw, sin jsw), s being the step: the j-th power of
 * the first. Listed positions are anchors all. Both ends of the interval that is proved below to
 * hold the value are rounded; where they differ, the value is made anew by the ladder of
 * ladder.c. Correct rounding has one result, so nothing but time depends on the way.
 *
 * Bounds; u = 2^-53, F = w / 2 pi. |t| w <= 2^53, or the ladder is taken, so |tF| < 2^50.4.
 *
 * Turns. F is the sum of three parts to 2^-105 F: 26 bits, 26 bits (below 2^-26 F), 53 bits (below
 * 2^-52 F). t is the sum of three doubles: the first in halves of 26 bits, the second below 2^-53
 * t, the third, which is left out, below 2^-106 t. A half times 26 bits is exact, and so is the
 * fraction of a product below 2^51. Rounded are the first double times the last part (2^-105 |tF|),
 * the second double times F (2^-104), the sum of the two (2^-104.4), and the low part of the sum
 * of all: no sum is above 1.1 |tF|, since whole turns come off only where |tF| > 1/2, so that three
 * additions to it leave 10 u^2 (2^-102.6). Together 2^-101.5 |tF| turns, which is
 * far = 2^-98.8 |tF| in radians. Taking off the nearest quarter is exact; with the rounding of what
 * is left, of 2 pi and of their product the angle has 3u of itself.
 *
 * cos and sin of that angle, at most 0.7854 + 2^-30: the series break off below 2^-58 of the value,
 * their roundings come to less than 2u, the angle's 3u to no more than 3u. So both are good to
 * 2^-49 of themselves and far. Times A (and RN(A) for A): A (2^-48.8 |value| + far).
 *
 * Steps. Let q = min(1, |s| w), so that |sin jsw| <= jq. At least 4 rows have |s| w < 2^52.5, so
 * the first step has errors of at most b in P and b q in Q, b = 2^-48. A product has, in modulus,
 * the sum of the errors of both and 3u: P and Q are good to 32 (1.42 b + 3u) < 2^-42.3. Relative to
 * j q, the error of Q grows by that of P, 2^-43.3 up to row 16, and 3u in each of at most 5 levels
 * of products: 2^-48 + 5 (2^-43.3 + 3u) < 2^-40.9.
 *
 * Rows. Let reach = min(1, 32 q), 0 where there are no steps. C P - S Q is off by at most
 * A (2^-48.8 + 1.42 far + 2^-42.3 + 3u) < A (2^-42 + 1.5 far); S P + C Q by at most
 * A (|S/A| (2^-48.8 + 2^-42.3 + 3u) + reach (2^-48.8 + 2^-40.9 + 3u) + 1.1 far), or where 32 q > 1
 * by no more than the cosine. The kernel grants A (2^-41 + 2^-97 |tF|), and for sines
 * A ((|S/A| + 2 reach) 2^-41 + 2^-97 |tF|), which is 1.8 times as much; and 2^-140, so that zeros,
 * whose sign matters, are in doubt. What the ends lose as they are computed, 2u of a value of at
 * most A, or A (|S/A| + reach), is less than the surplus. */

enum {
    STEPS_MIN = 4, /* rows that are worth a table of steps */
    ROWS = PE_TABLE_ROWS,
    PAIRS = PE_TABLE_PAIRS,
};

/* A call, and what its pieces of PAIRS pairs work with. */
struct work {
    const struct pe_table *table;
    const struct pe_frequencies *frequencies;
    const struct pe_positions *positions;
    const struct pe_kernels *kernels;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    size_t size;      /* of an element */
    size_t begin;     /* the first row */
    size_t pair;      /* the first of the piece */
    size_t pairs;     /* of the piece, in whole multiples of PE_TABLE_PAD */
    size_t rows_most; /* an anchor has */
    size_t step_stride;
    struct pe_phases phases;
    PE_ALIGNED double reach[PAIRS];
    struct pe_anchors anchors;
    PE_ALIGNED double factors[3][PE_TABLE_COLUMNS];
    PE_ALIGNED double step_cos[ROWS * PE_TABLE_COLUMNS], step_sin[ROWS * PE_TABLE_COLUMNS];
    struct pe_table_doubts doubts;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- one by one ----------------------------------------------------------------------------- */

static void exact_rows(struct work *w, size_t end)
{
    const struct pe_table *table = w->table;
    const size_t most = table->cos_count > table->sin_count ? table->cos_count : table->sin_count;

    for (size_t row = w->begin; row < end; row++) {
        const struct pe_position position = pe_position_of(w->positions, row);
        const size_t at = (row - w->begin) * table->row_size;
        for (size_t pair = 0; pair < most; pair++) {
            const size_t offset = at + pair * table->pair_step * w->size;
            pe_frequencies_pair(
                w->frequencies, pair, &position, w->amplitude, w->dtype,
                table->cos && pair < table->cos_count ? (char *)table->cos + offset : NULL,
                table->sin && pair < table->sin_count ? (char *)table->sin + offset : NULL);
        }
    }
}

/* ---- in bulk -------------------------------------------------------------------------------- */

/* Columns side by side: cosines, sines, or both by turns, from `first` on. */
struct run {
    char *out; /* of the call's first row */
    size_t columns;
    enum { COS, SIN, COS_SIN, SIN_COS } kind;
};

static void doubts_settle(struct work *w, const struct run *run, size_t row)
{
    for (size_t i = 0; i < w->doubts.count; i++) {
        const size_t column = w->doubts.list[i] % run->columns;
        const size_t at = row + w->doubts.list[i] / run->columns;
        const bool both = run->kind >= COS_SIN;
        const bool is_sin = run->kind == SIN || (both && (column & 1) == (run->kind == COS_SIN));
        const struct pe_position position = pe_position_of(w->positions, at);
        char *out = run->out + (at - w->begin) * w->table->row_size + column * w->size;

        pe_frequencies_pair(w->frequencies, w->pair + (both ? column / 2 : column), &position,
                            w->amplitude, w->dtype, is_sin ? NULL : out, is_sin ? out : NULL);
    }
}

/* Factors of P and Q, and errors, in the order of a run's columns. */
static void factors_place(struct work *w, const struct run *run, struct pe_table_rows *rows)
{
    const struct pe_anchors *a = &w->anchors;
    const bool cos_first = run->kind == COS_SIN;

    if (run->kind == COS || run->kind == SIN) {
        rows->cos = run->kind == COS ? a->cos : a->sin;
        rows->sin = run->kind == COS ? a->minus_sin : a->cos;
        rows->error = run->kind == COS ? a->cos_error : a->sin_error;
        return;
    }
    w->kernels->table_zip(w->factors[0], cos_first ? a->cos : a->sin, cos_first ? a->sin : a->cos,
                          w->pairs);
    w->kernels->table_zip(w->factors[1], cos_first ? a->minus_sin : a->cos,
                          cos_first ? a->cos : a->minus_sin, w->pairs);
    w->kernels->table_zip(w->factors[2], cos_first ? a->cos_error : a->sin_error,
                          cos_first ? a->sin_error : a->cos_error, w->pairs);
    rows->cos = w->factors[0];
    rows->sin = w->factors[1];
    rows->error = w->factors[2];
}

static void anchor_compute(struct work *w, const struct pe_position *position, double amplitude)
{
    const struct pe_anchor anchor = {{position->part[0], position->part[1]}, amplitude, w->reach};

    w->kernels->table_anchors(&w->anchors, &anchor, &w->phases, w->pairs);
}

/* Rows that share the anchor in w. */
static void run_fill(struct work *w, const struct run *run, size_t row, size_t count)
{
    struct pe_table_rows rows = {.step_cos = w->step_cos,
                                 .step_sin = w->step_sin,
                                 .step_stride = w->step_stride,
                                 .rows = count,
                                 .columns = run->columns,
                                 .out_stride = w->table->row_size / w->size};
    void *out = run->out + (row - w->begin) * w->table->row_size;

    factors_place(w, run, &rows);
    if (w->dtype == PE_F32)
        w->kernels->table_f32(out, &rows, &w->doubts);
    else if (w->dtype == PE_F16)
        w->kernels->table_f16(out, &rows, &w->doubts);
    else
        w->kernels->table_bf16(out, &rows, &w->doubts);
    doubts_settle(w, run, row);
}

/* The powers of one step, and how far ROWS of them reach. Both by turns have each of them twice. */
static void steps_compute(struct work *w)
{
    const struct pe_position step = {{w->positions->step, 0, 0}};
    const bool twice = w->table->pair_step == 2;

    w->step_stride = twice ? 2 * w->pairs : w->pairs;
    memset(w->reach, 0, sizeof(w->reach));
    if (w->rows_most > 1) {
        anchor_compute(w, &step, 1);
        double *cos = w->step_cos + w->step_stride, *sin = w->step_sin + w->step_stride;
        if (twice) {
            w->kernels->table_zip(cos, w->anchors.cos, w->anchors.cos, w->pairs);
            w->kernels->table_zip(sin, w->anchors.sin, w->anchors.sin, w->pairs);
        } else {
            memcpy(cos, w->anchors.cos, w->pairs * sizeof(*cos));
            memcpy(sin, w->anchors.sin, w->pairs * sizeof(*sin));
        }
        for (size_t i = 0; i < w->pairs; i++) /* 6.3 > 2 pi */
            w->reach[i] = fmin(1, ROWS * 6.3 * fabs(step.part[0]) * w->phases.high[i]);
    }
    w->kernels->table_steps(w->step_cos, w->step_sin, w->step_stride, w->rows_most, w->step_stride);
}

/* The columns of the piece of pairs [w->pair, pair_end); returns how many runs they are. */
static size_t runs_of(const struct work *w, size_t pair_end, struct run runs[2])
{
    const struct pe_table *table = w->table;
    const size_t offset = w->pair * table->pair_step * w->size;
    const size_t cos_end = least(pair_end, table->cos ? table->cos_count : 0);
    const size_t sin_end = least(pair_end, table->sin ? table->sin_count : 0);
    char *cos = table->cos ? (char *)table->cos + offset : NULL;
    char *sin = table->sin ? (char *)table->sin + offset : NULL;
    size_t count = 0;

    if (table->pair_step == 2) {
        runs[0] = (struct run){cos < sin ? cos : sin, cos_end + sin_end - 2 * w->pair,
                               cos < sin ? COS_SIN : SIN_COS};
        return 1;
    }
    if (cos_end > w->pair)
        runs[count++] = (struct run){cos, cos_end - w->pair, COS};
    if (sin_end > w->pair)
        runs[count++] = (struct run){sin, sin_end - w->pair, SIN};
    return count;
}

static void piece_fill(struct work *w, size_t pair_end, size_t end)
{
    const size_t positions = w->positions->count;
    struct run runs[2];
    const size_t runs_count = runs_of(w, pair_end, runs);

    w->phases = pe_frequencies_phases(w->frequencies, w->pair);
    w->pairs = (pair_end - w->pair + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    steps_compute(w);
    for (size_t row = w->begin, count; row < end; row += count) {
        const struct pe_position position = pe_position_of(w->positions, row);

        count = least(least(w->rows_most, end - row), positions - row % positions);
        anchor_compute(w, &position, pe_frequencies_amplitude(w->frequencies, w->amplitude));
        for (size_t i = 0; i < runs_count; i++)
            run_fill(w, &runs[i], row, count);
    }
}

/* The largest |t|. */
static double farthest(const struct pe_positions *p, size_t begin, size_t end)
{
    double most = 0;

    if (!p->values)
        return fmax(fabs(p->start), fabs(p->start + p->step * (double)(p->count - 1)));
    for (size_t row = begin; row < end; row++)
        most = fmax(most, fabs(p->values[row]));
    return most;
}

void pe_table_fill(const struct pe_table *table, const struct pe_frequencies *frequencies,
                   const struct pe_positions *positions, size_t begin, size_t end,
                   enum pe_amplitude amplitude, enum pe_dtype dtype)
{
    const size_t most = table->cos_count > table->sin_count ? table->cos_count : table->sin_count;
    const size_t pairs = least(pe_frequencies_count(frequencies), most);
    struct work w;

    w.table = table;
    w.frequencies = frequencies;
    w.positions = positions;
    w.kernels = pe_isa()->kernels;
    w.amplitude = amplitude;
    w.dtype = dtype;
    w.size = pe_dtype_info(dtype)->size;
    w.begin = begin;
    w.rows_most = positions->values || end - begin < STEPS_MIN ? 1 : least(ROWS, end - begin);
    if (begin >= end)
        return;
    if (dtype == PE_F64 || pe_frequencies_in_float32(frequencies) ||
        farthest(positions, begin, end) * pe_frequencies_fastest(frequencies) > 0x1p53) {
        exact_rows(&w, end);
        return;
    }
    for (w.pair = 0; w.pair < pairs; w.pair += PAIRS)
        piece_fill(&w, least(pairs, w.pair + PAIRS), end);
}
