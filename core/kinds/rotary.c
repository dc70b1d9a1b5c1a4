/* SPDX-License-Identifier: MIT */
#include "core/kinds/rotary.h"
#include "core/base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 32,       /* that are filled at once where pairs must be sorted */
    ELEMENTS = 4096, /* room for them */
};

/* ---- pairs by coordinate -------------------------------------------------------------------- */

enum pe_status pe_rotary_axes_prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    for (size_t i = 0; i < scheme->axes_count; i++) {
        struct pe_rotary_axis *axis = &scheme->axes[i];
        axis->pairs = malloc((scheme->pairs + 1) * sizeof(*axis->pairs));
        for (size_t pair = 0; axis->pairs && pair < scheme->pairs; pair++)
            if (scheme->encoding->pair_axis(scheme, pair) == i)
                axis->pairs[axis->count++] = pair;
        if (axis->pairs)
            axis->frequencies = pe_frequencies_pick(scheme->frequencies, axis->pairs, axis->count);
        if (!axis->frequencies)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu frequencies",
                           scheme->pairs);
    }
    return PE_OK;
}

void pe_rotary_axes_free(struct pe_scheme *scheme)
{
    for (size_t i = 0; i < scheme->axes_count; i++) {
        pe_frequencies_free(scheme->axes[i].frequencies);
        free(scheme->axes[i].pairs);
    }
}

/* ---- positions ------------------------------------------------------------------------------ */

static enum pe_status axes_fail(const struct pe_scheme *scheme, size_t axes, const char *where,
                                struct pe_error *err)
{
    const char *name = scheme->encoding->info.name;

    if (scheme->axes_count == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "a position of %s is one number, got %zu rows of coordinates", name, axes);
    return pe_fail(err, PE_SHAPE_MISMATCH, where,
                   "positions of %s have %zu rows of coordinates (%s)%s, got %zu", name,
                   scheme->axes_count, scheme->encoding->axes_names,
                   scheme->encoding->axes_alike ? " or are one list, alike for all" : "", axes);
}

enum pe_status pe_rotary_positions_check(const struct pe_scheme *scheme,
                                         const struct pe_positions *positions, const char *where,
                                         struct pe_error *err)
{
    const size_t batch = positions->batch > 1 ? positions->batch : 1;
    const size_t axes = positions->axes > 1 ? positions->axes : 1;

    if (axes == 1 ? scheme->axes_count > 1 && !scheme->encoding->axes_alike
                  : axes != scheme->axes_count)
        return axes_fail(scheme, axes, where, err);
    /* A whole number and the offset have an exact sum. */
    for (size_t i = 0; scheme->coordinate_offset != 0 && i < axes * batch * positions->count; i++)
        if (positions->values[i] != floor(positions->values[i]))
            return pe_fail(err, PE_INVALID, where,
                           "coordinates must be whole numbers here, got %.17g at index %zu",
                           positions->values[i], i);
    return PE_OK;
}

enum pe_status pe_rotary_reach_check(const struct pe_scheme *scheme, const struct pe_positions *p,
                                     bool is_delta, double most, const char *where,
                                     struct pe_error *err)
{
    const size_t batch = p->batch > 1 ? p->batch : 1;
    const size_t count = p->values ? batch * p->count : p->count > 0 ? 2 : 0;

    for (size_t i = 0; scheme->encoding->scale_reach && i < count; i++) {
        const double t = p->values ? p->values[i]
                         : i == 0  ? p->start
                                   : p->start + p->step * (double)(p->count - 1);
        if (scheme->encoding->scale_reach(scheme, t, is_delta) > most)
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "at position %.17g the scale of %s is beyond e^%.0f or its inverse; "
                           "choose a nearer t_center or a larger scale_base",
                           t, scheme->encoding->info.name, most);
    }
    return PE_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct fill {
    const struct pe_table *table;
    const struct pe_rotary_axis *axis;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    size_t size; /* of an element */
};

/* Elements of `from`, one behind the other, to the places of an axis's pairs. */
static void scatter(const struct fill *f, char *to, const char *from)
{
    const size_t step = f->table->pair_step * f->size;

    for (size_t i = 0; i < f->axis->count; i++)
        memcpy(to + f->axis->pairs[i] * step, from + i * f->size, f->size);
}

static void sorted_fill(const struct fill *f, const struct pe_positions *p, size_t row)
{
    const size_t count = f->axis->count, offset = row * f->table->row_size;
    double cos[ELEMENTS], sin[ELEMENTS];
    const struct pe_table rows = {cos, sin, count, count, 1, count * f->size};

    pe_table_fill(&rows, f->axis->frequencies, p, 0, p->count, f->amplitude, f->dtype);
    for (size_t i = 0; i < p->count; i++) {
        const size_t at = offset + i * f->table->row_size, from = i * rows.row_size;
        if (f->table->cos)
            scatter(f, (char *)f->table->cos + at, (const char *)cos + from);
        if (f->table->sin)
            scatter(f, (char *)f->table->sin + at, (const char *)sin + from);
    }
}

/* Neighbours need no sorting. */
static void straight_fill(const struct fill *f, const struct pe_positions *p, size_t row)
{
    const size_t offset =
        row * f->table->row_size + f->axis->pairs[0] * f->table->pair_step * f->size;
    struct pe_table rows = *f->table;

    rows.cos = rows.cos ? (char *)rows.cos + offset : NULL;
    rows.sin = rows.sin ? (char *)rows.sin + offset : NULL;
    rows.cos_count = rows.sin_count = f->axis->count;
    pe_table_fill(&rows, f->axis->frequencies, p, 0, p->count, f->amplitude, f->dtype);
}

/* Rows that are wider than the room, one element after the other. */
static void wide_fill(const struct fill *f, const struct pe_positions *p, size_t row)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct pe_position position = pe_position_of(p, i);
        for (size_t k = 0; k < f->axis->count; k++) {
            const size_t at =
                (row + i) * f->table->row_size + f->axis->pairs[k] * f->table->pair_step * f->size;
            pe_frequencies_pair(f->axis->frequencies, k, &position, f->amplitude, f->dtype,
                                f->table->cos ? (char *)f->table->cos + at : NULL,
                                f->table->sin ? (char *)f->table->sin + at : NULL);
        }
    }
}

static void axis_fill(const struct fill *f, const double *values, double offset, size_t rows)
{
    const size_t count = f->axis->count;
    const bool wide = count > ELEMENTS;
    const bool straight = f->axis->pairs[count - 1] - f->axis->pairs[0] + 1 == count;
    const size_t most = wide || straight || count * ROWS <= ELEMENTS ? ROWS : ELEMENTS / count;
    double moved[ROWS];

    for (size_t row = 0, piece; row < rows; row += piece) {
        piece = rows - row < most ? rows - row : most;
        for (size_t i = 0; i < piece; i++)
            moved[i] = values[row + i] + offset;
        const struct pe_positions p = {.values = moved, .count = piece};
        (straight ? straight_fill : wide ? wide_fill : sorted_fill)(f, &p, row);
    }
}

/* Rows whose scale depends on where they stand. */
static void scaled_fill(const struct pe_table *table, const struct pe_rotary_rows *rows,
                        size_t begin, size_t end)
{
    const size_t size = pe_dtype_info(rows->dtype)->size;
    struct pe_scale_at at = {
        .scheme = rows->scheme, .is_delta = rows->is_delta, .sign = rows->inverse_scale ? -1 : 1};
    struct pe_scale scale;

    for (size_t row = begin; row < end; row++) {
        at.position = pe_position_of(rows->positions, row);
        for (at.pair = 0; at.pair < rows->scheme->pairs; at.pair++) {
            const size_t offset =
                (row - begin) * table->row_size + at.pair * table->pair_step * size;
            rows->scheme->encoding->scale(&scale, &at);
            pe_frequencies_pair_scaled(rows->scheme->frequencies, at.pair, &at.position, &scale,
                                       rows->dtype, table->cos ? (char *)table->cos + offset : NULL,
                                       table->sin ? (char *)table->sin + offset : NULL);
        }
    }
}

void pe_rotary_fill(const struct pe_table *table, const struct pe_rotary_rows *rows, size_t begin,
                    size_t end)
{
    const struct pe_scheme *scheme = rows->scheme;
    const struct pe_positions *positions = rows->positions;
    const size_t batch = positions->batch > 1 ? positions->batch : 1;
    const double offset = rows->is_delta ? 0 : scheme->coordinate_offset;
    struct fill f = {table, NULL, rows->amplitude, rows->dtype, pe_dtype_info(rows->dtype)->size};

    if (scheme->encoding->scale) {
        scaled_fill(table, rows, begin, end);
        return;
    }
    if (positions->axes <= 1) {
        pe_table_fill(table, scheme->frequencies, positions, begin, end, rows->amplitude,
                      rows->dtype);
        return;
    }
    for (size_t i = 0; begin < end && i < scheme->axes_count; i++) {
        f.axis = &scheme->axes[i];
        if (f.axis->count > 0)
            axis_fill(&f, positions->values + i * batch * positions->count + begin, offset,
                      end - begin);
    }
}
