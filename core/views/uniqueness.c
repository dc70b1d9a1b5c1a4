/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/once.h"
#include "core/base/work.h"
#include "core/scheme/scheme.h"
#include "core/tables/cosine_sums.h"
#include "core/views/analysis.h"

/* The analysis `uniqueness`: the two rows nearest to each other, which a model is most likely to
 * confuse. Of distances whose squares are within 2^-40 of each other the first counts. */

enum { DISTANCE, NEAREST };

enum { CHECK_NUMBERS = 1 << 18 }; /* between two checks of the work: less than 1 ms */

/* Estimated nanoseconds of a pair: in an approximate distance, and in a correctly rounded one. */
enum { SINE_COST = 42, WIDE_SINE_COST = 460 };

static const double as_near = 1 - 0x1p-40;

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
    {.name = "rounded",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether rows are rounded to the dtype before they are compared, so that two may have "
            "become equal; otherwise the real numbers are compared."},
};

/* The result of the search. */
struct found {
    struct pe_once once;
    double nearest[2];                      /* their positions */
    unsigned char distance[sizeof(double)]; /* of the dtype */
};

struct state {
    bool rounded;              /* rows are rounded to the dtype before they are compared */
    struct pe_row_cache *rows; /* NULL: distances are computed from the frequencies */
    struct found *found;
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

/* True where a distance depends only on the number of steps between two rows. */
static bool is_even(const struct pe_view *view)
{
    return pe_analysis_complete_pairs(view->scheme) && !state_of(view)->rounded &&
           !view->positions.values;
}

/* Without computing the rows. */
static double search_cost(const struct pe_view *view)
{
    const struct pe_scheme *scheme = view->scheme;
    const double count = (double)view->positions.count;

    if (is_even(view))
        return (count * SINE_COST + WIDE_SINE_COST) * (double)pe_waves_of(scheme)->pairs;
    return count * count / 2 * pe_product_cost(scheme);
}

static double rows_cost(const struct pe_view *view)
{
    const enum pe_dtype dtype = state_of(view)->rounded ? view->dtype : PE_F64;

    return (double)view->positions.count * pe_row_cost(view->scheme, &view->positions, dtype);
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    static const size_t one = 1, two = 2;
    struct state *state = view->state;

    if (pe_analysis_positions(view, values, err))
        return err->status;
    state->rounded = pe_param_number(values, "rounded") != 0;
    if (view->positions.count < 2)
        return pe_fail(err, PE_OUT_OF_RANGE,
                       view->positions.values ? "parameter:positions" : "parameter:length",
                       "two rows at least can be compared, got %zu", view->positions.count);
    if (!is_even(view) && pe_row_cache_new(&state->rows, view->scheme, &view->positions,
                                           state->rounded ? view->dtype : PE_F64, err))
        return err->status;
    state->found = calloc(1, sizeof(*state->found));
    if (!state->found || !pe_once_init(&state->found->once)) {
        free(state->found);
        state->found = NULL;
        return pe_no_memory(err, "an analysis");
    }
    if (pe_view_add(view, "distance", view->dtype, 1, &one, err) ||
        pe_view_add(view, "positions", PE_F64, 1, &two, err))
        return err->status;
    view->outputs[DISTANCE].once_work = search_cost(view) + (is_even(view) ? 0 : rows_cost(view));
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    const struct state *state = state_of(view);

    pe_row_cache_free(state->rows);
    if (state->found)
        pe_once_destroy(&state->found->once);
    free(state->found);
}

static double position_at(const struct pe_view *view, size_t index)
{
    return pe_position_of(&view->positions, index).part[0];
}

/* Half the distance of so many steps, exactly. */
static struct pe_position half_of(const struct pe_view *view, size_t steps)
{
    return pe_position_at(0, view->positions.step / 2, (double)steps);
}

static enum pe_status even_find(const struct pe_view *view, struct found *found,
                                struct pe_work *work, struct pe_error *err)
{
    const struct pe_frequencies *frequencies = pe_waves_of(view->scheme)->frequencies;
    double least = INFINITY, squared;
    size_t nearest = 1;
    struct pe_position half;

    for (size_t steps = 1; steps < view->positions.count; steps++) {
        half = half_of(view, steps);
        if (pe_cosines_distance_squared(frequencies, &half, &squared, work, err))
            return err->status;
        if (squared < least * as_near) {
            least = squared;
            nearest = steps;
        }
    }
    half = half_of(view, nearest);
    found->nearest[0] = position_at(view, 0);
    found->nearest[1] = position_at(view, nearest);
    return pe_cosines_distance(frequencies, &half, view->dtype, found->distance, work, err);
}

/* Compares the row `first` with all later ones; *least is the smallest squared distance so far. */
static enum pe_status row_find(const struct pe_view *view, struct found *found, size_t first,
                               double *least, struct pe_work *work, struct pe_error *err)
{
    struct pe_row_cache *rows = state_of(view)->rows;
    const size_t width = pe_row_width(view->scheme), count = view->positions.count;
    const double *a = pe_row_cache_get(rows, first, work, err);
    size_t unchecked = CHECK_NUMBERS;

    for (size_t j = first + 1; a && j < count; j++) {
        const double *b = pe_row_cache_get(rows, j, work, err);
        unchecked += width;
        if (!b || (unchecked >= CHECK_NUMBERS && pe_work_check(work, err)))
            break;
        unchecked = unchecked >= CHECK_NUMBERS ? 0 : unchecked;
        const double squared = pe_row_distance_squared(a, b, width);
        if (squared >= *least * as_near)
            continue;
        *least = squared;
        found->nearest[0] = position_at(view, first);
        found->nearest[1] = position_at(view, j);
    }
    return err->status;
}

static enum pe_status rows_find(const struct pe_view *view, struct found *found,
                                struct pe_work *work, struct pe_error *err)
{
    double least = INFINITY, distance;

    for (size_t i = 0; i < view->positions.count; i++)
        if (row_find(view, found, i, &least, work, err))
            return err->status;
    distance = sqrt(least);
    pe_from_f64(found->distance, view->dtype, &distance, 1);
    return PE_OK;
}

struct search {
    const struct pe_view *view;
    struct found *found;
};

static enum pe_status find(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct search *search = thing;

    if (pe_spend(work, search_cost(search->view), err))
        return err->status;
    (is_even(search->view) ? even_find : rows_find)(search->view, search->found, work, err);
    return err->status;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    struct search search = {view, state_of(view)->found};

    (void)row_begin, (void)row_end; /* a tensor of rank 1 is one row */
    if (pe_once(&search.found->once, find, &search, work, err))
        return err->status;
    if (output == NEAREST)
        memcpy(out, search.found->nearest, sizeof(search.found->nearest));
    else
        memcpy(out, search.found->distance, pe_dtype_info(view->dtype)->size);
    return PE_OK;
}

static size_t memory_of(const struct pe_view *view)
{
    return pe_row_cache_size(state_of(view)->rows);
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_uniqueness;
const struct pe_view_type pe_view_uniqueness = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "uniqueness",
    .info.title = "The two nearest rows",
    .info.doc = "`distance` [1]: the Euclidean distance between the two rows that are nearest to "
                "each other. `positions` [2]: their positions. Of distances whose squares differ "
                "by less than 2^-40 of themselves, the first counts.",
    .info.example = "length=8",
    .close = close_all,
    .memory = memory_of,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_rows(encoding) ? &pe_view_uniqueness : NULL;
}
