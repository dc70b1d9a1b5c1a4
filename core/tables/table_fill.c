/* SPDX-License-Identifier: MIT */
#include "core/tables/table_fill.h"

#include <math.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/tables/table_rows.h"

/* Chooses how a table is filled: in doubles (rows_doubles.c, and rows_listed.c for listed
 * positions), in double-doubles (rows_f64.c), as float32 angles (rows_float32.c), or, beyond the
 * range of these, one element after the other (exact_pair.c). */

enum {
    STEPS_MIN = 4,            /* fewer rows are not worth powers of a step */
    BLOCK_ELEMENTS = 1 << 16, /* usually requested at once */
    CHECK_EXACT = 128,        /* single pairs between two checks of the work: some 2 ms */
};

/* ---- one by one ----------------------------------------------------------------------------- */

static enum pe_status exact_rows(const struct pe_table_call *call, struct pe_work *work,
                                 struct pe_error *err)
{
    const struct pe_table *table = call->table;
    const size_t most = table->cos_count > table->sin_count ? table->cos_count : table->sin_count;
    size_t unchecked = 0;

    for (size_t row = call->begin; row < call->end; row++) {
        const struct pe_position position = pe_position_of(call->positions, row);
        const size_t at = (row - call->begin) * table->row_size;
        for (size_t pair = 0; pair < most; pair++) {
            if (++unchecked % CHECK_EXACT == 0 && pe_work_check(work, err))
                return err->status;
            const bool cos = table->cos && pair < table->cos_count;
            const bool sin = table->sin && pair < table->sin_count;
            pe_frequencies_pair(call->frequencies, pair, &position, call->amplitude, call->dtype,
                                cos ? pe_table_place(call, table->cos, pair) + at : NULL,
                                sin ? pe_table_place(call, table->sin, pair) + at : NULL);
        }
    }
    return PE_OK;
}

/* ---- the choice ----------------------------------------------------------------------------- */

struct reach {
    double near, far; /* the least |t| other than 0, the largest */
};

/* Of the listed positions [begin, end), or of all even ones. */
static struct reach reach_of(const struct pe_positions *p, size_t begin, size_t end)
{
    const double even[] = {p->start, p->start + p->step,
                           p->start + p->step * ((double)p->count - 1)};
    struct reach reach = {INFINITY, 0};

    for (size_t i = begin; i < (p->values ? end : begin + pe_min(p->count, 3)); i++) {
        const double t = fabs(p->values ? p->values[i] : even[i - begin]);
        reach.near = t > 0 ? fmin(reach.near, t) : reach.near;
        reach.far = fmax(reach.far, t);
    }
    return reach;
}

/* Are the angles within the range of the kernels? Tiny ones would leave every sine undecided. */
static bool is_within(struct reach reach, double fastest)
{
    return reach.near >= 0x1p-200 && reach.far * fastest <= 0x1p53;
}

/* Are more than a few positions 0? */
static bool has_zeros(const struct pe_positions *p)
{
    size_t zeros = 0;

    if (!p->values)
        return p->start == 0 && p->step == 0 && p->count > 1;
    for (size_t i = 0; i < p->count; i++)
        zeros += p->values[i] == 0;
    return zeros > 8 && zeros > p->count / 16;
}

typedef enum pe_status rows_fill(const struct pe_table_call *call, struct pe_work *work,
                                 struct pe_error *err);

static rows_fill *filler_of(const struct pe_table_call *call, struct reach reach)
{
    const double fastest = pe_frequencies_fastest(call->frequencies);

    if (pe_frequencies_in_float32(call->frequencies))
        return reach.far * fastest <= PE_FLOAT32_REACH ? pe_rows_float32_fill : exact_rows;
    if (!is_within(reach, fastest))
        return exact_rows;
    if (call->dtype != PE_F64)
        return pe_rows_doubles_fill;
    return pe_rows_f64_covers(call, reach.far * fastest) ? pe_rows_f64_fill : exact_rows;
}

/* The step of most listed positions: 1, or the distance of the first two. *apart counts those that
 * do not follow their predecessor by it. NAN: fewer than half do, or |step| w is too large for the
 * kernels, which need |step| w < 2^52.5. */
static double step_of(const double *t, size_t count, double fastest, size_t *apart)
{
    const double steps[] = {1, t[1] - t[0]};
    size_t follow[] = {0, 0};

    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < 2; k++)
            follow[k] += pe_is_step(t[i - 1], steps[k], t[i]);
    const size_t best = follow[1] > follow[0];
    *apart = count - follow[best];
    return 2 * follow[best] >= count && fabs(steps[best]) * fastest <= 0x1p52 ? steps[best] : NAN;
}

static struct pe_table_call call_of(const struct pe_table *table,
                                    const struct pe_frequencies *frequencies,
                                    const struct pe_positions *positions, size_t begin, size_t end)
{
    const size_t most = table->cos_count > table->sin_count ? table->cos_count : table->sin_count;
    const bool alone = table->columns || end < begin + STEPS_MIN;
    size_t apart = 0;
    const double step = alone               ? NAN
                        : positions->values ? step_of(positions->values + begin, end - begin,
                                                      pe_frequencies_fastest(frequencies), &apart)
                                            : positions->step;

    return (struct pe_table_call){.table = table,
                                  .frequencies = frequencies,
                                  .positions = positions,
                                  .kernels = pe_isa()->kernels,
                                  .begin = begin,
                                  .end = end,
                                  .pairs = pe_min(pe_frequencies_count(frequencies), most),
                                  .rows_most = isnan(step) ? 1 : pe_min(PE_TABLE_ROWS, end - begin),
                                  .step = step,
                                  .apart = apart,
                                  .interleaved = table->pair_step == 2 && !table->columns};
}

enum pe_status pe_table_fill(const struct pe_table *table, const struct pe_frequencies *frequencies,
                             const struct pe_positions *positions, size_t begin, size_t end,
                             enum pe_amplitude amplitude, enum pe_dtype dtype, struct pe_work *work,
                             struct pe_error *err)
{
    struct pe_table_call call = call_of(table, frequencies, positions, begin, end);

    call.amplitude = amplitude;
    call.dtype = dtype;
    call.size = pe_dtype_info(dtype)->size;
    if (begin >= end)
        return PE_OK;
    rows_fill *filler = filler_of(&call, reach_of(positions, begin, end));
    if (filler == pe_rows_doubles_fill && pe_rows_listed_choose(&call))
        filler = pe_rows_listed_fill;
    return filler(&call, work, err);
}

static bool scales_fit(const struct pe_table_scales *scales, const struct pe_positions *positions,
                       size_t begin, size_t end)
{
    double farthest = 0;

    for (size_t i = begin; i < end; i += positions->values || i + 1 == end ? 1 : end - 1 - i)
        farthest = fmax(farthest, fabs(pe_position_of(positions, i).part[0] - scales->center));
    return farthest * scales->largest < PE_SCALES_REACH;
}

enum pe_status pe_table_fill_scaled(const struct pe_table *table,
                                    const struct pe_frequencies *frequencies,
                                    const struct pe_positions *positions, size_t begin, size_t end,
                                    const struct pe_table_scales *scales, enum pe_dtype dtype,
                                    bool *taken, struct pe_work *work, struct pe_error *err)
{
    struct pe_table_call call = call_of(table, frequencies, positions, begin, end);
    /* The factors of the rows of an anchor differ by at most e. */
    const double rows = 1 / (scales->largest * fabs(call.step));

    call.amplitude = PE_AMPLITUDE_ONE;
    call.dtype = dtype;
    call.size = pe_dtype_info(dtype)->size;
    call.scales = scales;
    if (!(rows >= STEPS_MIN))
        call.rows_most = 1;
    else if (rows < (double)call.rows_most)
        call.rows_most = (size_t)rows;
    *taken = begin < end && dtype != PE_F64 &&
             filler_of(&call, reach_of(positions, begin, end)) == pe_rows_doubles_fill &&
             scales_fit(scales, positions, begin, end);
    return *taken ? pe_rows_doubles_fill(&call, work, err) : PE_OK;
}

enum pe_status pe_table_sum(const struct pe_table_sums *sums,
                            const struct pe_frequencies *frequencies,
                            const struct pe_positions *positions, size_t begin, size_t end,
                            bool *within, struct pe_work *work, struct pe_error *err)
{
    static char nowhere; /* sums write no elements */
    const struct pe_table table = {
        .cos = &nowhere, .cos_count = pe_frequencies_count(frequencies), .pair_step = 1};
    struct pe_table_call call = call_of(&table, frequencies, positions, begin, end);
    const size_t size = (end - begin) * sizeof(double);

    call.amplitude = PE_AMPLITUDE_ONE;
    call.dtype = sums->low ? PE_F64 : PE_F32;
    call.size = pe_dtype_info(call.dtype)->size;
    call.sums = sums;
    rows_fill *const filler = filler_of(&call, reach_of(positions, begin, end));
    *within = filler == pe_rows_doubles_fill || filler == pe_rows_f64_fill;
    if (!*within)
        return PE_OK;
    memset(sums->high, 0, size);
    memset(sums->error, 0, size);
    if (sums->low)
        memset(sums->low, 0, size);
    return filler(&call, work, err);
}

/* ---- cost ----------------------------------------------------------------------------------- */

double pe_table_cost(const struct pe_table_use *use)
{
    enum { ANCHOR = 16, FINE_ANCHOR = 50, ROW = 8 };
    const struct pe_positions *p = use->positions;
    const double fraction = use->both ? 0.5 : 1;
    const size_t count = p->count * (p->axes > 1 ? p->axes : 1) * (p->batch > 1 ? p->batch : 1);
    const struct reach reach = reach_of(p, 0, count);
    const double fastest = fmax(use->bound, 1), row = ROW / (double)use->width;
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const bool converts = pe_dtype_info(use->dtype)->size < sizeof(float) && !kernels->has_halves;
    /* Doubles are twice as slow without wide vectors, and axes have a few pairs each. */
    const bool is_slow = use->dtype == PE_F64 && !kernels->has_halves;
    const double slow = kernels->slowness *
                        (converts  ? 1.7
                         : is_slow ? 2
                                   : 1) *
                        (p->axes > 1 ? 1.7 : 1);
    const bool within = is_within(reach, fastest);
    /* Sines below 2^-140, and those of 0, are made one by one. */
    const bool tiny = reach.near < 0x1p-100 || has_zeros(p);
    size_t apart;
    const bool alone =
        p->values && (count < STEPS_MIN || isnan(step_of(p->values, count, fastest, &apart)));

    if (reach.near < 0x1p-760) /* wide numbers */
        return 2700;
    if (use->in_float32)
        return reach.far * fastest <= PE_FLOAT32_REACH && !tiny ? 2 * slow + row : 125;
    if (use->dtype == PE_F64 && within && reach.far * fastest <= PE_F64_REACH)
        return (alone ? 1 + 12 * fraction : 0.9 + FINE_ANCHOR / (double)(p->count + 1)) * slow +
               row;
    if (use->dtype == PE_F64)
        return (reach.near < 0x1p-200 ? 1200 : 550) * fraction;
    if (!within || (tiny && use->dtype != PE_F64))
        return 120 * fraction;
    if (alone) {
        const size_t rows = pe_min(count, BLOCK_ELEMENTS / (use->width + 1) + 1);
        return 2.4 * slow * pe_rows_listed_share(p->values, count, rows, fastest) + row;
    }
    return (0.3 + ANCHOR / (double)(p->count + 1)) * slow + row;
}
