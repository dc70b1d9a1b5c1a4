/* SPDX-License-Identifier: MIT */
#include "core/views/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/scheme/rotary.h"

/* ---- kind rows ------------------------------------------------------------------------------- */

static const struct pe_param rows_params[] = {PE_PARAMS_POSITIONS, PE_PARAMS_POOL};

enum pe_status pe_view_table_add(struct pe_view *view, size_t rows, size_t width,
                                 struct pe_error *err)
{
    if (pe_view_add(view, "table", view->dtype, 2, (size_t[]){rows, width}, err))
        return err->status;
    view->outputs[0].element_work = pe_rows_cost(view->scheme, &view->positions, view->dtype);
    return PE_OK;
}

static enum pe_status rows_open(struct pe_view *view, const struct pe_params *values,
                                struct pe_error *err)
{
    const struct pe_scheme *scheme = view->scheme;
    const struct pe_rows_kind *kind = scheme->encoding->rows;

    if (pe_view_positions_read(view, values, err) ||
        (kind->positions_check && kind->positions_check(scheme, &view->positions, err)))
        return err->status;
    return pe_view_table_add(view, view->positions.count, kind->width(scheme), err);
}

enum pe_status pe_view_table_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                  size_t row_end, void *out, struct pe_work *work,
                                  struct pe_error *err)
{
    const struct pe_rows_part part = {&view->positions, row_begin, row_end, view->dtype};

    (void)output;
    return view->scheme->encoding->rows->fill(view->scheme, &part, out, work, err);
}

/* Members of both types; only the learned one is given a tensor. */
#define ROWS_TABLE                                                                                 \
    .info.name = "table", .info.title = "Table of position vectors",                               \
    .info.doc = "`table` [positions, width]: one row for each position.",                          \
    .info.example = "length=3", PE_INFO_PARAMS(rows_params), .of = pe_view_table_of,               \
    .open = rows_open, .fill = pe_view_table_fill

static const struct pe_view_type learned = {ROWS_TABLE, .info.tensor = "table"};

extern const struct pe_view_type pe_view_table;
const struct pe_view_type pe_view_table = {ROWS_TABLE};

const struct pe_view_type *pe_view_table_of(const struct pe_encoding *encoding)
{
    if (!encoding->rows)
        return NULL;
    if (encoding->rows->table)
        return encoding->rows->table;
    return encoding->learned ? &learned : &pe_view_table;
}

/* ---- points ---------------------------------------------------------------------------------- */

static enum pe_status shape_read(struct pe_view *view, const struct pe_value *shape, size_t axes,
                                 size_t *sizes, struct pe_error *err)
{
    size_t rows = 1;

    if (shape->list_count != axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:shape",
                       "shape has %zu elements, ndim is %zu", shape->list_count, axes);
    for (size_t i = 0; i < axes; i++) {
        if (shape->list[i] != floor(shape->list[i]))
            return pe_fail(err, PE_INVALID, "parameter:shape",
                           "shape must be whole numbers, got %.17g", shape->list[i]);
        sizes[i] = pe_count(shape->list[i]);
        if (!pe_size_multiply(rows, sizes[i], &rows))
            return pe_fail(err, PE_TOO_LARGE, "parameter:shape",
                           "the number of points does not fit in 64 bits");
    }
    view->positions = (struct pe_positions){.step = 1, .count = rows};
    return PE_OK;
}

/* Transposes the points, which are listed one after the other. */
static enum pe_status coordinates_read(struct pe_view *view, const struct pe_value *list,
                                       size_t axes, struct pe_error *err)
{
    const size_t rows = list->list_count / axes;

    if (list->rows > 0 && list->list_count != list->rows * axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:coordinates",
                       "coordinates has rows of %zu numbers, ndim is %zu",
                       list->list_count / list->rows, axes);
    if (list->list_count % axes != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:coordinates",
                       "coordinates has %zu numbers, which is no multiple of ndim=%zu",
                       list->list_count, axes);
    double *values =
        pe_memory_take(view->work, list->list_count, sizeof(*values), "the coordinates", err);
    if (!values)
        return err->status;
    for (size_t i = 0; i < list->list_count; i++)
        values[i % axes * rows + i / axes] = pe_value_at(list, i);
    view->values = values;
    view->positions = (struct pe_positions){.values = values, .count = rows, .axes = axes};
    return PE_OK;
}

static enum pe_status points_read(struct pe_view *view, const struct pe_params *values,
                                  struct pe_error *err)
{
    struct pe_points_view *points = view->state;
    const size_t axes = view->scheme->encoding->rows->grid->axes(view->scheme);
    const struct pe_value *shape = pe_param_value(values, "shape");
    const struct pe_value *coordinates = pe_param_value(values, "coordinates");

    if (shape->present && coordinates->present)
        return pe_fail(err, PE_CONFLICT, "parameter:coordinates",
                       "shape and coordinates exclude each other");
    if (coordinates->present)
        return coordinates_read(view, coordinates, axes, err);
    if (shape->present)
        return shape_read(view, shape, axes, points->sizes, err);
    return pe_fail(err, PE_MISSING, "parameter:shape",
                   "shape is required, the sizes of the axes (or coordinates)");
}

enum pe_status pe_view_points_open(struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    const struct pe_points_view *points = view->state;
    const struct pe_scheme *scheme = view->scheme;
    const struct pe_rows_kind *kind = scheme->encoding->rows;

    if (points_read(view, params, err))
        return err->status;
    const bool is_grid = !view->positions.values;
    if ((is_grid && kind->grid->check && kind->grid->check(scheme, points->sizes, err)) ||
        (!is_grid && kind->positions_check &&
         kind->positions_check(scheme, &view->positions, err)) ||
        pe_view_add(view, "table", view->dtype, 2,
                    (size_t[]){view->positions.count, kind->width(scheme)}, err))
        return err->status;
    view->outputs[0].element_work = is_grid ? kind->grid->cost(scheme, points->sizes, view->dtype)
                                            : pe_rows_cost(scheme, &view->positions, view->dtype);
    return PE_OK;
}

enum pe_status pe_view_points_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                   size_t row_end, void *out, struct pe_work *work,
                                   struct pe_error *err)
{
    const struct pe_points_view *points = view->state;

    if (view->positions.values)
        return pe_view_table_fill(view, output, row_begin, row_end, out, work, err);
    return view->scheme->encoding->rows->grid->fill(view->scheme, points->sizes, row_begin, row_end,
                                                    view->dtype, out, work, err);
}

/* ---- kind rotary ----------------------------------------------------------------------------- */

static const struct pe_param rotary_params[] = {
    PE_PARAMS_LENGTH,
    PE_PARAM_COORDINATES("0,1,2;0,0,1;0,1,0"),
    PE_PARAMS_PART,
    PE_PARAMS_POOL,
};

static const struct pe_rotary_view *state_of(const struct pe_view *view)
{
    return view->state;
}

enum { COS, SIN };

enum {
    FACTOR_COST = 5500, /* estimated nanoseconds of a factor */
    CHECK_PAIRS = 64,   /* factors between two checks of the work */
};

/* COS or SIN: what an output holds. */
static int function_of(const struct pe_view *view, size_t output)
{
    const enum pe_rotary_part part = state_of(view)->part;

    return part == PE_PART_SIN || (part == PE_PART_BOTH && output == 1) ? SIN : COS;
}

/* Half of a duplicated row is copied. */
static void costs_set(struct pe_view *view)
{
    const struct pe_rotary_view *state = state_of(view);
    const double one =
        pe_rotary_cost(view->scheme, &view->positions, view->dtype,
                       state->part == PE_PART_COMPLEX || state->part == PE_PART_JOINED);

    for (size_t i = 0; i < view->outputs_count; i++)
        view->outputs[i].element_work = one / (state->duplicate ? 2 : 1);
}

/* ---- caches of engines ----------------------------------------------------------------------- */

/* A NULL name: the output has its usual one. */
static const struct cache {
    enum pe_rotary_part part;
    bool duplicate;
    const char *names[2];
} caches[] = {
    [PE_CACHE_HF] = {PE_PART_BOTH, true, {NULL}},
    [PE_CACHE_VLLM] = {PE_PART_JOINED, false, {"cos_sin_cache"}},
    [PE_CACHE_META] = {PE_PART_COMPLEX, false, {"freqs_cis"}},
    [PE_CACHE_ONNX] = {PE_PART_BOTH, false, {"cos_cache", "sin_cache"}},
    [PE_CACHE_GGML] = {PE_PART_FACTORS, false, {"rope_freqs.weight"}},
};

/* NULL: no cache is requested. */
static const struct cache *cache_of(const struct pe_params *values)
{
    const struct pe_value *value = pe_param_value(values, "cache");

    return value->present ? &caches[(size_t)value->number] : NULL;
}

/* A cache implies part and duplicate: other values than their defaults contradict it. */
static enum pe_status part_read(struct pe_rotary_view *state, const struct pe_params *values,
                                struct pe_error *err)
{
    const struct cache *cache = cache_of(values);
    const bool duplicate = pe_param_number(values, "duplicate") != 0;
    const enum pe_rotary_part part = (enum pe_rotary_part)pe_param_number(values, "part");

    state->part = cache ? cache->part : part;
    state->duplicate = cache ? cache->duplicate : duplicate;
    if (cache && (part != PE_PART_BOTH || duplicate))
        return pe_fail(err, PE_CONFLICT, duplicate ? "parameter:duplicate" : "parameter:part",
                       "cache says which of cos and sin there are, and how; leave out part and "
                       "duplicate");
    if (part == PE_PART_COMPLEX && duplicate)
        return pe_fail(err, PE_CONFLICT, "parameter:duplicate",
                       "part=complex has one number a pair and cannot be duplicated");
    return PE_OK;
}

static const char *name_of(const struct pe_params *values, size_t index, const char *name)
{
    const struct cache *cache = cache_of(values);

    return cache && cache->names[index] ? cache->names[index] : name;
}

static bool is_factors(const struct pe_params *values)
{
    const struct cache *cache = cache_of(values);

    return cache && cache->part == PE_PART_FACTORS;
}

/* The cache of ggml, which has no positions. */
static enum pe_status factors_open(struct pe_view *view, const struct pe_params *values,
                                   struct pe_error *err)
{
    static const char *const names[] = {"length", "positions"};
    char where[32];

    for (size_t i = 0; i < 2; i++) {
        snprintf(where, sizeof(where), "parameter:%s", names[i]);
        if (pe_param_given(values, names[i]))
            return pe_fail(err, PE_CONFLICT, where,
                           "factors of frequencies have no positions; leave %s out", names[i]);
    }
    if (part_read(view->state, values, err) ||
        pe_view_add(view, name_of(values, 0, ""), view->dtype, 1, &pe_waves_of(view->scheme)->pairs,
                    err))
        return err->status;
    view->outputs[0].element_work = FACTOR_COST;
    return PE_OK;
}

static enum pe_status factors_fill(const struct pe_view *view, void *out, struct pe_work *work,
                                   struct pe_error *err)
{
    const size_t size = pe_dtype_info(view->dtype)->size, pairs = pe_waves_of(view->scheme)->pairs;

    for (size_t pair = 0; pair < pairs; pair++) {
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            break;
        pe_real_round(view->scheme->encoding->rotary->freq_factor, view->scheme, pair, view->dtype,
                      (char *)out + pair * size);
    }
    return err->status;
}

/* ---- cos and sin ----------------------------------------------------------------------------- */

enum pe_status pe_view_rotary_add(struct pe_view *view, const struct pe_params *values,
                                  struct pe_error *err)
{
    const size_t pairs = pe_waves_of(view->scheme)->pairs;
    struct pe_rotary_view *state = view->state;
    size_t shape[2] = {view->positions.count, pairs};

    if (is_factors(values))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:cache",
                       "the frequencies of %s are no plain ones divided by factors",
                       view->scheme->encoding->info.name);
    if (part_read(state, values, err))
        return err->status;
    if (state->duplicate || state->part == PE_PART_JOINED)
        shape[1] = 2 * pairs;
    if (state->part == PE_PART_COMPLEX || state->part == PE_PART_JOINED) {
        if (pe_view_add(view, name_of(values, 0, "complex"), view->dtype, 2, shape, err))
            return err->status;
        if (state->part == PE_PART_COMPLEX) {
            view->outputs[0].is_complex = true;
            view->outputs[0].row_elements *= 2;
        }
    } else if ((state->part != PE_PART_SIN &&
                pe_view_add(view, name_of(values, 0, "cos"), view->dtype, 2, shape, err)) ||
               (state->part != PE_PART_COS &&
                pe_view_add(view, name_of(values, 1, "sin"), view->dtype, 2, shape, err)))
        return err->status;
    costs_set(view);
    return PE_OK;
}

struct pe_table pe_view_rotary_columns(const struct pe_view *view, size_t output, void *out)
{
    const struct pe_rotary_view *state = state_of(view);
    const size_t size = pe_dtype_info(view->dtype)->size, pairs = pe_waves_of(view->scheme)->pairs;
    const bool complex = state->part == PE_PART_COMPLEX, joined = state->part == PE_PART_JOINED;
    const int function = function_of(view, output);

    return (struct pe_table){.cos = complex || joined || function == COS ? out : NULL,
                             .sin = complex           ? (char *)out + size
                                    : joined          ? (char *)out + pairs * size
                                    : function == SIN ? out
                                                      : NULL,
                             .cos_count = pairs,
                             .sin_count = pairs,
                             .pair_step = complex ? 2 : 1,
                             .row_size = view->outputs[output].row_elements * size};
}

void pe_view_rotary_duplicate(const struct pe_view *view, size_t output, size_t rows, void *out)
{
    const size_t row_size = view->outputs[output].row_elements * pe_dtype_info(view->dtype)->size;

    for (size_t row = 0; state_of(view)->duplicate && row < rows; row++)
        memcpy((char *)out + row * row_size + row_size / 2, (char *)out + row * row_size,
               row_size / 2);
}

/* One output of the table. Two outputs, cos and sin, are computed by two calls from the same
 * frequencies, since each can be requested alone and on another thread. */
enum pe_status pe_view_rotary_rows(const struct pe_view *view, const struct pe_positions *positions,
                                   size_t output, size_t begin, size_t end, void *out,
                                   struct pe_work *work, struct pe_error *err)
{
    const struct pe_table table = pe_view_rotary_columns(view, output, out);
    const struct pe_rotary_rows rows = {.scheme = view->scheme,
                                        .positions = positions,
                                        .amplitude = PE_AMPLITUDE_FACTOR,
                                        .dtype = view->dtype,
                                        .inverse_scale = state_of(view)->of_keys};

    if (pe_rotary_fill(&table, &rows, begin, end, work, err))
        return err->status;
    pe_view_rotary_duplicate(view, output, end - begin, out);
    return PE_OK;
}

static enum pe_status rotary_table_open(struct pe_view *view, const struct pe_params *values,
                                        struct pe_error *err)
{
    if (is_factors(values) && view->scheme->encoding->rotary->freq_factor)
        return factors_open(view, values, err);
    if (pe_view_positions_read(view, values, err) ||
        pe_rotary_positions_check(view->scheme, &view->positions, "parameter:positions", err))
        return err->status;
    return pe_view_rotary_add(view, values, err);
}

enum pe_status pe_view_rotary_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                   size_t row_end, void *out, struct pe_work *work,
                                   struct pe_error *err)
{
    const struct pe_rotary_view *state = view->state;

    if (state->part == PE_PART_FACTORS)
        return factors_fill(view, out, work, err);
    return pe_view_rotary_rows(view, &view->positions, output, row_begin, row_end, out, work, err);
}

bool pe_view_rotary_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar)
{
    const struct pe_scheme *scheme = view->scheme;
    const struct pe_rotary_kind *kind = scheme->encoding->rotary;

    if (index == 0) {
        *scalar = (struct pe_scalar){
            "attention_factor",
            pe_frequencies_amplitude(pe_waves_of(scheme)->frequencies, PE_AMPLITUDE_FACTOR)};
        return true;
    }
    if (index > 1 || !kind->softmax_scale_multiplier)
        return false;
    *scalar =
        (struct pe_scalar){"softmax_scale_multiplier", kind->softmax_scale_multiplier(scheme)};
    return !isnan(scalar->value);
}

extern const struct pe_view_type pe_view_rotary_table;
const struct pe_view_type pe_view_rotary_table = {
    .info.name = "table",
    .info.title = "Cosines and sines of a rotation",
    .info.doc = "`cos` and `sin` [positions, rotary_dim / 2]: the cosine and sine of the angle of "
                "each pair, multiplied by the attention factor. With part=complex one tensor "
                "`complex` instead; with `cache` the names and shapes of an engine's cache.",
    .info.example = "length=3",
    PE_INFO_PARAMS(rotary_params),
    .of = pe_view_rotary_table_of,
    .state_size = sizeof(struct pe_rotary_view),
    .open = rotary_table_open,
    .fill = pe_view_rotary_fill,
    .scalar = pe_view_rotary_scalar,
};

/* ---- kind rotary with scales ----------------------------------------------------------------- */

enum { REACH_MAX = 700 }; /* |ln| of the largest scale that f64 holds */

static const struct pe_param scaled_params[] = {PE_PARAMS_POSITIONS, PE_PARAMS_PART, PE_PARAM_SIDE,
                                                PE_PARAMS_POOL};

enum pe_status pe_view_scaled_positions(struct pe_view *view, const struct pe_params *values,
                                        struct pe_error *err)
{
    struct pe_rotary_view *state = view->state;

    state->of_keys = pe_param_number(values, "side") != 0;
    return pe_view_positions_read(view, values, err) ||
                   pe_rotary_reach_check(view->scheme, &view->positions, false, REACH_MAX,
                                         "parameter:positions", err)
               ? err->status
               : PE_OK;
}

static enum pe_status scaled_open(struct pe_view *view, const struct pe_params *values,
                                  struct pe_error *err)
{
    return pe_view_scaled_positions(view, values, err) ? err->status
                                                       : pe_view_rotary_add(view, values, err);
}

static const struct pe_view_type scaled_table = {
    .info.name = "table",
    .info.title = "Scaled cosines and sines of a rotation",
    .info.doc = "`cos` and `sin` [positions, dim / 2]: the cosine and sine of the angle of each "
                "pair, multiplied by the scale of queries or, with side=key, by that of keys. With "
                "part=complex one tensor `complex` instead.",
    .info.example = "length=3",
    PE_INFO_PARAMS(scaled_params),
    .of = pe_view_rotary_table_of,
    .state_size = sizeof(struct pe_rotary_view),
    .open = scaled_open,
    .fill = pe_view_rotary_fill,
};

const struct pe_view_type *pe_view_rotary_table_of(const struct pe_encoding *encoding)
{
    if (!encoding->rotary)
        return NULL;
    if (encoding->rotary->table)
        return encoding->rotary->table;
    return encoding->rotary->scale ? &scaled_table : &pe_view_rotary_table;
}
