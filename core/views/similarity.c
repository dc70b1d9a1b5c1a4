/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/once.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/scheme/scheme.h"
#include "core/tables/cosine_sums.h"
#include "core/views/analysis.h"

/* The analysis `similarity`: products of rows, or cosines of the angles between them. Rows and sums
 * are doubles: before the rounding to the dtype the error of a product is below
 * (width / 8 + 8) 2^-53 |a| |b|, that of a cosine below twice that. If all columns are complete
 * pairs and positions are evenly spaced, a product depends on the distance only. In dtypes shorter
 * than f64, where these errors do not matter, one sum of cosines is computed for each distance. */

enum { CHECK_NUMBERS = 1 << 18 }; /* between two checks of the work: less than 1 ms */

#define COPY_COST 0.3 /* estimated nanoseconds of an element */

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
    PE_PARAMS_POOL,
    {.name = "anchor",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The position whose row is compared with all others; each row is compared with each if "
            "absent."},
    {.name = "normalize",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether products are divided by the norms of both rows, which gives the cosine of the "
            "angle between them; 0 if a row is zero."},
};

struct state {
    bool normalize;
    struct pe_positions anchor_position;
    struct pe_row_cache *rows, *anchor; /* anchor NULL: each row with each */

    /* One product for each distance, instead of rows. */
    bool by_distance;
    struct pe_positions distances;
    struct pe_once once;
    bool once_there;
    char *products; /* of -(n - 1) ... n - 1 steps; with an anchor n of them */
    size_t products_count;
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

static enum pe_status anchor_open(struct pe_view *view, double anchor, struct pe_error *err)
{
    struct state *state = view->state;
    const struct pe_scheme *scheme = view->scheme;

    state->anchor_position = (struct pe_positions){.start = anchor, .count = 1};
    if (pe_analysis_positions_check(scheme, &state->anchor_position, "parameter:anchor", err))
        return err->status;
    return pe_row_cache_new(&state->anchor, scheme, &state->anchor_position, PE_F64, err);
}

/* Evenly spaced positions, also if they are listed; false: they are not evenly spaced. */
static bool even_of(const struct pe_positions *positions, struct pe_positions *even)
{
    const double *t = positions->values;

    *even = *positions;
    if (!t)
        return true;
    *even = (struct pe_positions){.count = positions->count, .step = 1};
    if (even->count > 0)
        even->start = t[0];
    if (even->count > 1)
        even->step = t[1] - t[0];
    for (size_t i = 0; i < even->count; i++) {
        const struct pe_position at = pe_position_at(even->start, even->step, (double)i);
        if (at.part[0] != t[i] || at.part[1] != 0)
            return false;
    }
    return true;
}

/* The distances of rows, if products depend on them alone. The distance of the first row from the
 * anchor must be a double. Not for f64, which shows the last bits of products of rows. */
static bool distances_suffice(const struct pe_view *view, double anchor,
                              struct pe_positions *distances)
{
    const bool matrix = isnan(anchor);
    const struct pe_positions *positions = &view->positions;

    if (view->dtype == PE_F64 || !pe_analysis_complete_pairs(view->scheme) ||
        !even_of(positions, distances))
        return false;
    const struct pe_exact first = pe_two_sum(distances->start, -anchor);
    distances->start = matrix ? 0 : first.hi;
    return matrix || first.lo == 0;
}

static enum pe_status distances_open(struct pe_view *view, bool matrix, struct pe_error *err)
{
    struct state *state = view->state;
    const size_t count = state->distances.count;

    state->by_distance = true;
    state->products_count = matrix && count > 0 ? 2 * count - 1 : count;
    state->once_there = pe_once_init(&state->once);
    return state->once_there ? PE_OK : pe_no_memory(err, "the products of rows");
}

static double distances_cost(const struct pe_view *view)
{
    return (double)state_of(view)->distances.count * pe_cosines_cost(view->scheme, view->dtype);
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const double anchor = pe_param_number(values, "anchor");
    const struct pe_positions *positions = &view->positions;
    const bool matrix = isnan(anchor);
    struct state *state = view->state;

    if (pe_analysis_positions(view, values, err) || (!matrix && anchor_open(view, anchor, err)))
        return err->status;
    if (pe_row_cache_new(&state->rows, view->scheme, positions, PE_F64, err) ||
        (distances_suffice(view, anchor, &state->distances) && distances_open(view, matrix, err)))
        return err->status;
    state->normalize = pe_param_number(values, "normalize") != 0;
    if (pe_view_add(view, "similarity", view->dtype, matrix ? 2 : 1,
                    (size_t[]){positions->count, positions->count}, err))
        return err->status;
    view->outputs[0].once_work =
        state->by_distance
            ? distances_cost(view)
            : (double)positions->count * pe_row_cost(view->scheme, positions, PE_F64);
    view->outputs[0].element_work =
        state->by_distance ? COPY_COST : pe_product_cost(view->scheme) * (state->normalize ? 3 : 1);
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    struct state *state = view->state;

    pe_row_cache_free(state->rows);
    pe_row_cache_free(state->anchor);
    if (state->once_there)
        pe_once_destroy(&state->once);
    free(state->products);
}

/* ---- by distance ---------------------------------------------------------------------------- */

/* Products of ascending distances from 0; for a matrix preceded by their mirror image. */
static enum pe_status products_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct pe_view *view = thing;
    struct state *state = view->state;
    const size_t size = pe_dtype_info(view->dtype)->size, count = state->distances.count;
    const size_t before = state->products_count - count;
    const struct pe_cosines cosines =
        pe_cosines_of(pe_waves_of(view->scheme)->frequencies, state->normalize);

    if (pe_spend(work, distances_cost(view), err))
        return err->status;
    if (!state->products)
        state->products = malloc(state->products_count * size + 1);
    if (!state->products)
        return pe_no_memory(err, "the products of rows");
    if (pe_cosines_fill(&cosines, &state->distances, 0, count, view->dtype,
                        state->products + before * size, work, err))
        return err->status;
    for (size_t i = 0; i < before; i++)
        memcpy(state->products + i * size, state->products + (2 * before - i) * size, size);
    return PE_OK;
}

static enum pe_status products_fill(const struct pe_view *view, size_t row_begin, size_t row_end,
                                    char *out, struct pe_work *work, struct pe_error *err)
{
    struct state *state = view->state;
    const size_t size = pe_dtype_info(view->dtype)->size, count = state->distances.count;
    const size_t row_size = count * size, before = state->products_count - count;

    if (pe_once(&state->once, products_make, (void *)(uintptr_t)view, work, err))
        return err->status;
    for (size_t i = row_begin; i < row_end; i++) {
        if (pe_work_check(work, err))
            return err->status;
        memcpy(out + (i - row_begin) * row_size,
               state->products + (before > 0 ? before - i : 0) * size, row_size);
    }
    return PE_OK;
}

/* ---- by rows -------------------------------------------------------------------------------- */

static enum pe_status row_write(const struct pe_view *view, const double *a, size_t columns,
                                char *out, struct pe_work *work, struct pe_error *err)
{
    const size_t width = pe_row_width(view->scheme), size = pe_dtype_info(view->dtype)->size;
    const struct state *state = state_of(view);
    size_t unchecked = 0;

    for (size_t j = 0; a && j < columns; j++) {
        const double *b = pe_row_cache_get(state->rows, j, work, err);
        unchecked += width;
        if (!b || (unchecked >= CHECK_NUMBERS && pe_work_check(work, err)))
            return err->status;
        unchecked = unchecked >= CHECK_NUMBERS ? 0 : unchecked;
        const double value = pe_row_similarity(a, b, width, state->normalize);
        pe_from_f64(out + j * size, view->dtype, &value, 1);
    }
    return err->status;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = state_of(view);
    const size_t columns = view->outputs[output].row_elements;
    const size_t row_size = columns * pe_dtype_info(view->dtype)->size;

    if (state->by_distance)
        return products_fill(view, row_begin, row_end, out, work, err);
    for (size_t i = row_begin; i < row_end; i++) {
        const double *a = state->anchor ? pe_row_cache_get(state->anchor, 0, work, err)
                                        : pe_row_cache_get(state->rows, i, work, err);
        if (pe_work_check(work, err) ||
            row_write(view, a, columns, (char *)out + (i - row_begin) * row_size, work, err))
            return err->status;
    }
    return PE_OK;
}

static size_t memory_of(const struct pe_view *view)
{
    const struct state *state = state_of(view);

    return state->by_distance ? state->products_count * pe_dtype_info(view->dtype)->size
                              : pe_row_cache_size(state->rows);
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_similarity;
const struct pe_view_type pe_view_similarity = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "similarity",
    .info.title = "Similarity of rows",
    .info.doc =
        "`similarity` [positions, positions]: the dot product of each row with each. With `anchor` "
        "[positions]: the dot product of each row with that of the anchor. A row of rope is the "
        "query whose pairs are all (1, 0), rotated. The error before the final rounding is less "
        "than (width / 8 + 8) 2^-53 times the product of both norms.",
    .info.example = "length=3",
    .close = close_all,
    .memory = memory_of,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_rows(encoding) ? &pe_view_similarity : NULL;
}
