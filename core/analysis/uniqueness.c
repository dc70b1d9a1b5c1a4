/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/analysis/analysis.h"
#include "core/base/fail.h"
#include "core/tables/cosines.h"

/* The two rows nearest to each other: which positions a model is most likely to take for one. Two
 * distances whose squares are within 2^-40 of each other count as equal, and the first is told. */

enum { DISTANCE, NEAREST };

static const double as_near = 1 - 0x1p-40;

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
    {.name = "rounded",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Compare the rows as the dtype holds them, where two may have become the same, "
            "instead of the real numbers."},
};

/* Evenly spaced positions of rows that turn: distances depend on how many steps lie between. */
static bool is_even(const struct pe_view *view)
{
    const struct pe_encoding *encoding = view->scheme->encoding;

    return encoding->turns && encoding->turns(view->scheme) && !view->analysis->rounded &&
           !view->positions.values;
}

static size_t work_of(const struct pe_view *view)
{
    const size_t count = view->positions.count;
    size_t work;

    if (is_even(view))
        return pe_work_multiply(count, pe_work_pairs(view->scheme));
    return __builtin_add_overflow(
               pe_work_multiply(count, pe_work_multiply(count, pe_work_product(view->scheme))) / 2,
               pe_work_multiply(count, pe_work_row(view->scheme)), &work)
               ? SIZE_MAX
               : work;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    static const size_t one = 1, two = 2;

    if (pe_analysis_new(view, err) || pe_analysis_positions(view, values, err))
        return err->status;
    view->analysis->rounded = pe_param_number(values, "rounded") != 0;
    if (view->positions.count < 2)
        return pe_fail(err, PE_OUT_OF_RANGE,
                       view->positions.values ? "parameter:positions" : "parameter:length",
                       "two rows at least can be compared, got %zu", view->positions.count);
    if (!is_even(view) && pe_rows_new(&view->analysis->rows, view->scheme, &view->positions,
                                      view->analysis->rounded ? view->dtype : PE_F64, err))
        return err->status;
    if (pe_view_add(view, "distance", view->dtype, 1, &one, err) ||
        pe_view_add(view, "positions", PE_F64, 1, &two, err))
        return err->status;
    view->outputs[DISTANCE].element_work = work_of(view);
    return PE_OK;
}

static double position_at(const struct pe_view *view, size_t index)
{
    const struct pe_position position = pe_position_of(&view->positions, index);

    return position.part[0];
}

/* Half of so many steps, exactly. */
static struct pe_position half_of(const struct pe_view *view, size_t steps)
{
    return pe_position_at(0, view->positions.step / 2, (double)steps);
}

static void even_find(const struct pe_view *view)
{
    struct pe_analysis *analysis = view->analysis;
    double least = INFINITY;
    size_t nearest = 1;
    struct pe_position half;

    for (size_t steps = 1; steps < view->positions.count; steps++) {
        half = half_of(view, steps);
        const double squared = pe_cosines_distance_squared(view->scheme->frequencies, &half);
        if (squared < least * as_near) {
            least = squared;
            nearest = steps;
        }
    }
    half = half_of(view, nearest);
    pe_cosines_distance(view->scheme->frequencies, &half, view->dtype, analysis->distance);
    analysis->nearest[0] = position_at(view, 0);
    analysis->nearest[1] = position_at(view, nearest);
}

static void rows_find(const struct pe_view *view)
{
    struct pe_analysis *analysis = view->analysis;
    const size_t width = pe_rows_width(view->scheme), count = view->positions.count;
    double least = INFINITY, distance;

    for (size_t i = 0; i < count; i++) {
        const double *a = pe_rows_get(analysis->rows, i);
        for (size_t j = i + 1; j < count; j++) {
            const double squared =
                pe_row_distance_squared(a, pe_rows_get(analysis->rows, j), width);
            if (squared >= least * as_near)
                continue;
            least = squared;
            analysis->nearest[0] = position_at(view, i);
            analysis->nearest[1] = position_at(view, j);
        }
    }
    distance = sqrt(least);
    pe_from_f64(analysis->distance, view->dtype, &distance, 1);
}

static void fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    struct pe_analysis *analysis = view->analysis;

    if (row_begin == row_end)
        return;
    pthread_mutex_lock(&analysis->mutex);
    if (!analysis->found)
        (is_even(view) ? even_find : rows_find)(view);
    analysis->found = true;
    pthread_mutex_unlock(&analysis->mutex);
    if (output == NEAREST)
        memcpy(out, analysis->nearest, sizeof(analysis->nearest));
    else
        memcpy(out, analysis->distance, pe_dtype_info(view->dtype)->size);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

const struct pe_view_type pe_view_uniqueness = {
    .info.name = "uniqueness",
    .info.group = "analysis",
    .info.title = "The two rows nearest to each other",
    .info.doc = "`distance` [1], between the two rows that are nearest to each other, and "
                "`positions` [2], where they stand; of distances whose squares are within 2^-40"
                " of each other the first.",
    .info.example = "length=8",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = open,
    .fill = fill,
};
