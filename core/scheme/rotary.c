/* SPDX-License-Identifier: MIT */
#include "core/scheme/rotary.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "posenc/attention.h"

enum {
    CHECK_PAIRS = 1024, /* scaled pairs between two checks of the work: about 1 ms */
};

bool pe_rotary_is_plain(const struct pe_encoding *encoding)
{
    return encoding->rotary && !encoding->rotary->axes && !encoding->rotary->scale;
}

enum pe_status pe_rotary_infer_dim(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err)
{
    return pe_params_infer(params, "dim", (double)spec->q.shape[3], err);
}

/* ---- pairs by coordinate -------------------------------------------------------------------- */

enum pe_status pe_rotary_axes_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                      struct pe_error *err)
{
    const struct pe_rotary_axes_kind *kind = scheme->encoding->rotary->axes;
    struct pe_rotary *rotary = scheme->state;
    const size_t pairs = rotary->waves.pairs;

    for (size_t i = 0; i < rotary->axes_count; i++) {
        struct pe_rotary_axis *axis = &rotary->axes[i];
        axis->pairs = pe_memory_take(work, pairs, sizeof(*axis->pairs), "frequencies", err);
        for (size_t pair = 0; axis->pairs && pair < pairs; pair++)
            if (kind->pair_axis(scheme, pair) == i)
                axis->pairs[axis->count++] = pair;
        if (!axis->pairs || pe_work_check(work, err) ||
            pe_frequencies_pick(&axis->frequencies, rotary->waves.frequencies, axis->pairs,
                                axis->count, work, err))
            return err->status;
    }
    return PE_OK;
}

void pe_rotary_close(void *state)
{
    struct pe_rotary *rotary = state;

    pe_frequencies_free(rotary->waves.frequencies);
    for (size_t i = 0; i < PE_ROTARY_AXES_MAX; i++) {
        pe_frequencies_free(rotary->axes[i].frequencies);
        free(rotary->axes[i].pairs);
    }
}

/* ---- positions ------------------------------------------------------------------------------ */

static enum pe_status axes_fail(const struct pe_scheme *scheme, size_t axes, const char *where,
                                struct pe_error *err)
{
    const struct pe_rotary_axes_kind *kind = scheme->encoding->rotary->axes;
    const char *name = scheme->encoding->info.name;

    if (!kind)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "a position of %s is one number, got %zu rows of coordinates", name, axes);
    return pe_fail(err, PE_SHAPE_MISMATCH, where,
                   "positions of %s have %zu rows of coordinates (%s)%s, got %zu", name,
                   pe_rotary_of(scheme)->axes_count, kind->names,
                   kind->alike ? " or are one list, alike for all" : "", axes);
}

/* Coordinates and the offset of their axis add up to at most 2^53, where the error bounds of angles
 * end. */
static enum pe_status offset_check(const struct pe_positions *positions, size_t begin, size_t count,
                                   double offset, const char *where, struct pe_error *err)
{
    for (size_t i = 0; offset != 0 && i < (positions->values ? count : pe_min(count, 2)); i++) {
        const double t = positions->values ? positions->values[begin + i]
                         : i == 0          ? positions->start
                                  : positions->start + positions->step * (double)(count - 1);
        if (fabs(t + offset) > 0x1p53)
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "the coordinate %.17g and the offset %.17g of its axis must add up to "
                           "at most 2^53",
                           t, offset);
        if (!positions->values && pe_two_sum(positions->start, offset).lo != 0)
            return pe_fail(err, PE_INVALID, where,
                           "start %.17g and the offset %.17g of the axis have no exact sum: list "
                           "the positions",
                           positions->start, offset);
    }
    return PE_OK;
}

enum pe_status pe_rotary_positions_check(const struct pe_scheme *scheme,
                                         const struct pe_positions *positions, const char *where,
                                         struct pe_error *err)
{
    const struct pe_rotary_axes_kind *kind = scheme->encoding->rotary->axes;
    const struct pe_rotary *rotary = pe_rotary_of(scheme);
    const size_t batch = positions->batch > 1 ? positions->batch : 1;
    const size_t axes = positions->axes > 1 ? positions->axes : 1;

    if (axes == 1 ? rotary->axes_count > 1 && !kind->alike : axes != rotary->axes_count)
        return axes_fail(scheme, axes, where, err);
    for (size_t i = 0; i < axes; i++)
        if (offset_check(positions, i * batch * positions->count, batch * positions->count,
                         rotary->offsets[i], where, err))
            return err->status;
    return PE_OK;
}

enum pe_status pe_rotary_reach_check(const struct pe_scheme *scheme, const struct pe_positions *p,
                                     bool is_delta, double most, const char *where,
                                     struct pe_error *err)
{
    const struct pe_rotary_scale_kind *kind = scheme->encoding->rotary->scale;
    const size_t batch = p->batch > 1 ? p->batch : 1;
    const size_t count = p->values ? batch * p->count : p->count > 0 ? 2 : 0;

    for (size_t i = 0; kind && i < count; i++) {
        const double t = p->values ? p->values[i]
                         : i == 0  ? p->start
                                   : p->start + p->step * (double)(p->count - 1);
        if (kind->reach(scheme, t, is_delta) > most)
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "at position %.17g the scale of %s is beyond e^%.0f or its inverse; "
                           "choose a nearer t_center or a larger scale_base",
                           t, scheme->encoding->info.name, most);
    }
    return PE_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The columns of the pairs that rotate with one coordinate, listed unless they are adjacent. */
static struct pe_table axis_table(const struct pe_table *table, const struct pe_rotary_axis *axis,
                                  size_t size)
{
    const bool adjacent = axis->pairs[axis->count - 1] - axis->pairs[0] + 1 == axis->count;
    const size_t offset = adjacent ? axis->pairs[0] * table->pair_step * size : 0;
    struct pe_table part = *table;

    part.cos = table->cos ? (char *)table->cos + offset : NULL;
    part.sin = table->sin ? (char *)table->sin + offset : NULL;
    part.cos_count = part.sin_count = axis->count;
    part.columns = adjacent ? NULL : axis->pairs;
    return part;
}

/* How many values from the first on have an exact sum with the offset; the sums. */
static size_t values_offset(const double *values, size_t count, double offset, double *sums)
{
    size_t i = 0;

    for (struct pe_exact sum; i < count; i++) {
        sum = pe_two_sum(values[i], offset);
        if (sum.lo != 0)
            break;
        sums[i] = sum.hi;
    }
    return i;
}

/* The rows of listed coordinates of one axis. A coordinate whose sum with the offset is no double
 * is the second position of a run: value + 1 * offset, which is not rounded. */
static enum pe_status axis_fill(const struct pe_table *table, const struct pe_rotary_axis *axis,
                                const struct pe_rotary_rows *rows, double offset,
                                const double *values, size_t count, struct pe_work *work,
                                struct pe_error *err)
{
    enum { OFFSET_ROWS = 64 };
    struct pe_table part = axis_table(table, axis, pe_dtype_info(rows->dtype)->size);
    double sums[OFFSET_ROWS];

    for (size_t row = 0, piece; row < count; row += piece) {
        piece = offset == 0
                    ? count
                    : values_offset(values + row, pe_min(count - row, OFFSET_ROWS), offset, sums);
        struct pe_positions positions = {.values = offset == 0 ? values : sums, .count = piece};
        const bool is_run = piece == 0;
        if (is_run) {
            positions = (struct pe_positions){.start = values[row], .step = offset, .count = 2};
            piece = 1;
        }
        if (pe_work_check(work, err) ||
            pe_table_fill(&part, axis->frequencies, &positions, is_run, is_run + piece,
                          rows->amplitude, rows->dtype, work, err))
            return err->status;
        part.cos = part.cos ? (char *)part.cos + piece * part.row_size : NULL;
        part.sin = part.sin ? (char *)part.sin + piece * part.row_size : NULL;
    }
    return PE_OK;
}

enum pe_status pe_rotary_axis_fill(const struct pe_table *table, const struct pe_scheme *scheme,
                                   size_t axis, const struct pe_positions *positions, size_t begin,
                                   size_t end, enum pe_dtype dtype, struct pe_work *work,
                                   struct pe_error *err)
{
    const struct pe_rotary_axis *of = &pe_rotary_of(scheme)->axes[axis];

    if (of->count == 0)
        return PE_OK;
    const struct pe_table part = axis_table(table, of, pe_dtype_info(dtype)->size);
    struct pe_positions moved = *positions;
    moved.start += pe_rotary_of(scheme)->offsets[axis];
    return pe_table_fill(&part, of->frequencies, &moved, begin, end, PE_AMPLITUDE_FACTOR, dtype,
                         work, err);
}

/* One pair with its scale, correctly rounded. */
static void scaled_write(const void *context, size_t pair, const struct pe_position *position,
                         void *cos, void *sin)
{
    const struct pe_rotary_rows *rows = context;
    const struct pe_scale_at at = {.scheme = rows->scheme,
                                   .pair = pair,
                                   .position = *position,
                                   .is_delta = rows->is_delta,
                                   .sign = rows->inverse_scale ? -1 : 1};
    struct pe_scale scale;

    rows->scheme->encoding->rotary->scale->at(&scale, &at);
    pe_frequencies_pair_scaled(pe_rotary_of(rows->scheme)->waves.frequencies, pair, position,
                               &scale, rows->dtype, cos, sin);
}

/* All pairs, where the scales are outside of the kernels' range. */
static enum pe_status scaled_exactly(const struct pe_table *table,
                                     const struct pe_rotary_rows *rows, size_t begin, size_t end,
                                     struct pe_work *work, struct pe_error *err)
{
    const size_t pairs = pe_rotary_of(rows->scheme)->waves.pairs;
    const size_t size = pe_dtype_info(rows->dtype)->size;
    size_t unchecked = 0;

    for (size_t row = begin; row < end; row++) {
        const struct pe_position position = pe_position_of(rows->positions, row);
        for (size_t pair = 0; pair < pairs; pair++) {
            const size_t offset = (row - begin) * table->row_size + pair * table->pair_step * size;
            if (++unchecked % CHECK_PAIRS == 0 && pe_work_check(work, err))
                return err->status;
            scaled_write(rows, pair, &position, table->cos ? (char *)table->cos + offset : NULL,
                         table->sin ? (char *)table->sin + offset : NULL);
        }
    }
    return PE_OK;
}

static enum pe_status scaled_fill(const struct pe_table *table, const struct pe_rotary_rows *rows,
                                  size_t begin, size_t end, struct pe_work *work,
                                  struct pe_error *err)
{
    struct pe_table_scales scales = {.write = scaled_write, .context = rows};
    bool taken;

    rows->scheme->encoding->rotary->scale->all(&scales, rows->scheme, rows->is_delta);
    scales.sign = rows->inverse_scale ? -1 : 1;
    if (pe_table_fill_scaled(table, pe_rotary_of(rows->scheme)->waves.frequencies, rows->positions,
                             begin, end, &scales, rows->dtype, &taken, work, err) ||
        taken)
        return err->status;
    return scaled_exactly(table, rows, begin, end, work, err);
}

/* The largest |ln scale| at any of the positions. */
static double scale_reach(const struct pe_scheme *scheme, const struct pe_positions *p)
{
    const struct pe_rotary_scale_kind *kind = scheme->encoding->rotary->scale;
    double ends[] = {p->start, p->start + p->step * ((double)p->count - 1)};

    if (p->values)
        ends[0] = INFINITY, ends[1] = -INFINITY;
    for (size_t i = 0; p->values && i < p->count; i++) {
        ends[0] = fmin(ends[0], p->values[i]);
        ends[1] = fmax(ends[1], p->values[i]);
    }
    return p->count == 0
               ? 0
               : fmax(kind->reach(scheme, ends[0], false), kind->reach(scheme, ends[1], false));
}

double pe_rotary_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                      enum pe_dtype dtype, bool both)
{
    const struct pe_rotary_scale_kind *scale = scheme->encoding->rotary->scale;

    const struct pe_table_use use = {.positions = positions,
                                     .dtype = dtype,
                                     .width = pe_waves_of(scheme)->pairs,
                                     .both = both,
                                     .in_float32 = pe_rotary_of(scheme)->in_float32,
                                     .bound = pe_waves_bound(scheme)};

    if (scale && (dtype == PE_F64 || scale_reach(scheme, positions) >= PE_SCALES_REACH))
        return scale->cost(scheme, positions) / (both ? 2 : 1);
    return pe_table_cost(&use) * (scale ? 1.5 : 1);
}

enum pe_status pe_rotary_fill(const struct pe_table *table, const struct pe_rotary_rows *rows,
                              size_t begin, size_t end, struct pe_work *work, struct pe_error *err)
{
    const struct pe_rotary *rotary = pe_rotary_of(rows->scheme);
    const struct pe_positions *positions = rows->positions;
    const size_t batch = positions->batch > 1 ? positions->batch : 1;

    if (rows->scheme->encoding->rotary->scale)
        return scaled_fill(table, rows, begin, end, work, err);
    if (positions->axes <= 1 && (rotary->offsets[0] == 0 || rows->is_delta || !positions->values)) {
        struct pe_positions moved = *positions;
        moved.start += rows->is_delta ? 0 : rotary->offsets[0];
        return pe_table_fill(table, rotary->waves.frequencies, &moved, begin, end, rows->amplitude,
                             rows->dtype, work, err);
    }
    for (size_t i = 0; begin < end && i < rotary->axes_count; i++)
        if (rotary->axes[i].count > 0 &&
            axis_fill(table, &rotary->axes[i], rows, rows->is_delta ? 0 : rotary->offsets[i],
                      positions->values + i * batch * positions->count + begin, end - begin, work,
                      err))
            return err->status;
    return PE_OK;
}
