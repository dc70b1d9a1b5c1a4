/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/sanitizer.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/exact/elementary.h"
#include "core/scheme/rotary.h"
#include "core/views/table.h"

#define BASE_MAX 1e30

static const struct pe_param params[] = {
    {.name = "axes_dim",
     .aliases = "axes_dims,axes_dims_rope,axes_dim_rope,rope_axes_dim,rope_dim_list",
     .type = PE_NUMBERS,
     .min = 0,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "The number of elements that rotate with each coordinate, an even number for each: "
            "16,56,56."},
    {.name = "dim",
     .aliases = "head_dim,attention_head_dim",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .unit = "elements",
     .doc = "The number of elements in a head; the sum of axes_dim if absent. Elements after that "
            "sum do not rotate."},
    {.name = "base",
     .aliases = "rope_theta,theta",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = BASE_MAX,
     .fallback = "10000",
     .doc = "The base of the frequencies."},
    {.name = "axes_base",
     .type = PE_NUMBERS,
     .min = 1,
     .above_min = true,
     .max = BASE_MAX,
     .doc = "The base of each axis, instead of base."},
    {.name = "axes_factor",
     .aliases = "rope_scale",
     .type = PE_NUMBERS,
     .min = 0,
     .above_min = true,
     .max = 1e6,
     .doc = "The NTK factor of each axis: the base b of an axis of d elements becomes b factor^(d "
            "/ (d - 2)) (Cosmos)."},
};

/* The number of an axis in a list that may be absent. */
static double axis_number(const struct pe_scheme *scheme, const char *name, size_t axis,
                          double absent)
{
    const struct pe_value *list = pe_param_value(&scheme->params, name);

    return list->present ? list->list[axis] : absent;
}

static size_t width_of(const struct pe_scheme *scheme, size_t axis)
{
    return (size_t)axis_number(scheme, "axes_dim", axis, 0);
}

static double base_of(const struct pe_scheme *scheme, size_t axis)
{
    return axis_number(scheme, "axes_base", axis, pe_param_number(&scheme->params, "base"));
}

static double factor_of(const struct pe_scheme *scheme, size_t axis)
{
    return axis_number(scheme, "axes_factor", axis, 1);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum pe_status widths_check(const struct pe_scheme *scheme, size_t *sum,
                                   struct pe_error *err)
{
    static const char where[] = "parameter:axes_dim";
    const struct pe_value *widths = pe_param_value(&scheme->params, "axes_dim");

    *sum = 0;
    if (widths->list_count == 0 || widths->list_count > PE_ROTARY_AXES_MAX)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "axes_dim must have 1 to %d numbers, one for each coordinate: got %zu",
                       PE_ROTARY_AXES_MAX, widths->list_count);
    for (size_t i = 0; i < widths->list_count; i++) {
        if (fmod(widths->list[i], 2) != 0)
            return pe_fail(err, PE_INVALID, where, "axes_dim must be even whole numbers, got %.17g",
                           widths->list[i]);
        *sum += width_of(scheme, i);
    }
    if (*sum == 0 || *sum > 1 << 20)
        return pe_fail(err, PE_OUT_OF_RANGE, where,
                       "the numbers of axes_dim must add up to 2 to %d, got %zu", 1 << 20, *sum);
    return PE_OK;
}

static enum pe_status lengths_check(const struct pe_scheme *scheme, size_t axes,
                                    struct pe_error *err)
{
    static const char *const names[] = {"axes_base", "axes_factor"};
    char where[32];

    for (size_t i = 0; i < 2; i++) {
        const struct pe_value *list = pe_param_value(&scheme->params, names[i]);
        snprintf(where, sizeof(where), "parameter:%s", names[i]);
        if (list->present && list->list_count != axes)
            return pe_fail(err, PE_SHAPE_MISMATCH, where,
                           "%s has %zu numbers, axes_dim has %zu: one for each axis is needed",
                           names[i], list->list_count, axes);
    }
    if (pe_param_value(&scheme->params, "axes_base")->present &&
        pe_param_given(&scheme->params, "base"))
        return pe_fail(err, PE_CONFLICT, "parameter:base",
                       "base is that of all axes and axes_base that of each; give one");
    return PE_OK;
}

/* The base of each axis, with its factor, lies in (1, 1e30]. */
static enum pe_status bases_check(const struct pe_scheme *scheme, size_t axes, struct pe_error *err)
{
    static const char where[] = "parameter:axes_factor";

    for (size_t i = 0; i < axes; i++) {
        const double width = (double)width_of(scheme, i), factor = factor_of(scheme, i);
        if (factor == 1 || width == 0)
            continue;
        if (width == 2)
            return pe_fail(err, PE_INVALID, where,
                           "axis %zu has one pair: its base has no factor but 1", i);
        const double log = pe_log(base_of(scheme, i)) + width / (width - 2) * pe_log(factor);
        if (!(log > 0x1p-20 && log <= pe_log(BASE_MAX)))
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "the base of axis %zu, %g, becomes e^%g with factor %g: it must be "
                           "above 1 and at most 1e30",
                           i, base_of(scheme, i), log, factor);
    }
    return PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_value *dim = &scheme->params.values[pe_params_find(&scheme->params, "dim")];
    struct pe_value *base = &scheme->params.values[pe_params_find(&scheme->params, "base")];
    struct pe_rotary *rotary = scheme->state;
    size_t sum;

    if (widths_check(scheme, &sum, err))
        return err->status;
    rotary->axes_count = pe_param_value(&scheme->params, "axes_dim")->list_count;
    if (lengths_check(scheme, rotary->axes_count, err) ||
        bases_check(scheme, rotary->axes_count, err))
        return err->status;
    if (pe_param_value(&scheme->params, "axes_base")->present)
        base->present = false;
    if (!dim->present) {
        dim->present = true;
        dim->number = (double)sum;
    }
    if (dim->number < (double)sum)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:axes_dim",
                       "axes_dim adds up to %zu, dim is %.0f: no more than a head can rotate", sum,
                       dim->number);
    rotary->head_dim = (size_t)dim->number;
    rotary->rotary_dim = sum;
    rotary->waves.pairs = sum / 2;
    return PE_OK;
}

/* ---- frequencies ----------------------------------------------------------------------------- */

/* The axis of a pair; *first is the first pair of it. */
static size_t axis_of(const struct pe_scheme *scheme, size_t pair, size_t *first)
{
    size_t axis = 0;

    for (*first = 0; pair - *first >= width_of(scheme, axis) / 2; axis++)
        *first += width_of(scheme, axis) / 2;
    return axis;
}

static size_t pair_axis(const struct pe_scheme *scheme, size_t pair)
{
    size_t first;

    return axis_of(scheme, pair, &first);
}

static size_t series(const void *context, size_t pair)
{
    return pair_axis(context, pair);
}

static size_t steps(const void *context, size_t pair)
{
    size_t first;

    axis_of(context, pair, &first);
    return pair - first;
}

/* ln(b f^(d / (d - 2))) / (d / 2). A factor below 1 cancels up to 2^26 of ln b: 64 bits more. */
static struct pe_wide rate_of(const struct pe_scheme *scheme, unsigned bits, size_t axis)
{
    const size_t width = width_of(scheme, axis);
    const double factor = factor_of(scheme, axis);
    struct pe_wide log = pe_wide_log(pe_wide_of(bits + 64, base_of(scheme, axis)));

    if (factor != 1)
        log = pe_wide_add(
            log,
            pe_wide_div_uint(pe_wide_mul_uint(pe_wide_log(pe_wide_of(bits + 64, factor)), width),
                             width - 2));
    return pe_wide_cut(pe_wide_div_uint(log, width / 2), bits);
}

static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    for (size_t i = 0; i < pe_rotary_of(context)->axes_count; i++)
        if (width_of(context, i) > 0)
            out->number[i] = rate_of(context, bits, i);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers powers = {
        .compute_shared = compute_shared, .steps = steps, .series = series};

    return pe_waves_prepare(scheme, &powers, work, err) || pe_rotary_axes_prepare(scheme, work, err)
               ? err->status
               : PE_OK;
}

/* ---- the table: a grid, or listed points ----------------------------------------------------- */

static const struct pe_param view_params[] = {
    {.name = "shape",
     .type = PE_NUMBERS,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The number of coordinates on each axis. The table has one row for each point of this "
            "grid, the last axis running fastest."},
    {.name = "origin",
     .type = PE_NUMBERS,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "With shape: the first coordinate of each axis, 0 if absent. -16 for 32 centred rows."},
    {.name = "steps",
     .type = PE_NUMBERS,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "With shape: the distance of two coordinates of each axis, 1 if absent. It may be a "
            "fraction."},
    PE_PARAM_COORDINATES("all t;all y;all x"),
    PE_PARAMS_PART,
    PE_PARAMS_POOL,
};

/* Estimated nanoseconds of a line of the grid beside its elements, and of a copied element. */
#define LINE_COST 1000.0
#define COPY_COST 0.3

struct state {
    struct pe_rotary_view rotary;
    struct pe_positions axes[PE_ROTARY_AXES_MAX]; /* of a grid */
    size_t line;                                  /* points of the last axis */
};

static enum pe_status list_check(const struct pe_view *view, const struct pe_params *values,
                                 const char *name, struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(values, name);
    const size_t axes = pe_rotary_of(view->scheme)->axes_count;
    char where[32];

    snprintf(where, sizeof(where), "parameter:%s", name);
    if (list->present && list->list_count != axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu numbers, axes_dim has %zu: one for each axis is needed", name,
                       list->list_count, axes);
    return PE_OK;
}

/* One axis of a grid. */
static enum pe_status axis_open(struct pe_view *view, const struct pe_params *values, size_t axis,
                                struct pe_error *err)
{
    const double count = pe_value_at(pe_param_value(values, "shape"), axis);
    const struct pe_value *origin = pe_param_value(values, "origin");
    const struct pe_value *steps = pe_param_value(values, "steps");
    struct pe_positions *positions = &((struct state *)view->state)->axes[axis];

    if (count != floor(count))
        return pe_fail(err, PE_INVALID, "parameter:shape", "shape must be whole numbers, got %.17g",
                       count);
    *positions = (struct pe_positions){.start = origin->present ? pe_value_at(origin, axis) : 0,
                                       .step = steps->present ? pe_value_at(steps, axis) : 1,
                                       .count = pe_count(count)};
    if (count > 0 && !(fabs(positions->start + positions->step * (count - 1)) <= 0x1p53 - 1))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:shape",
                       "the coordinates of axis %zu must be within +-(2^53 - 1)", axis);
    if (!pe_size_multiply(view->positions.count, positions->count, &view->positions.count))
        return pe_fail(err, PE_TOO_LARGE, "parameter:shape",
                       "the number of points does not fit in 64 bits");
    return PE_OK;
}

static enum pe_status grid_open(struct pe_view *view, const struct pe_params *values,
                                struct pe_error *err)
{
    const size_t axes = pe_rotary_of(view->scheme)->axes_count;
    struct state *state = view->state;

    if (!pe_param_value(values, "shape")->present)
        return pe_fail(err, PE_MISSING, "parameter:shape",
                       "shape is required, the sizes of the axes (or positions)");
    if (list_check(view, values, "shape", err) || list_check(view, values, "origin", err) ||
        list_check(view, values, "steps", err))
        return err->status;
    view->positions = (struct pe_positions){.step = 1, .count = 1};
    for (size_t i = 0; i < axes; i++)
        if (axis_open(view, values, i, err))
            return err->status;
    state->line = state->axes[axes - 1].count;
    return PE_OK;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    static const char *const grid[] = {"shape", "origin", "steps"};
    const struct pe_value *list = pe_param_value(values, "positions");

    for (size_t i = 0; list->present && i < 3; i++)
        if (pe_param_given(values, grid[i]))
            return pe_fail(err, PE_CONFLICT, "parameter:positions",
                           "positions cannot be given together with %s", grid[i]);
    if (list->present ? pe_view_positions_rows(view, list, err) ||
                            pe_rotary_positions_check(view->scheme, &view->positions,
                                                      "parameter:positions", err)
                      : grid_open(view, values, err) != PE_OK)
        return err->status;
    if (pe_view_rotary_add(view, values, err))
        return err->status;
    for (size_t i = 0; !list->present && i < view->outputs_count; i++) {
        struct pe_output *output = &view->outputs[i];
        const double line = (double)((const struct state *)view->state)->line;
        output->element_work +=
            COPY_COST + LINE_COST / (fmax(line, 1) * (double)output->row_elements);
    }
    return PE_OK;
}

/* Writes rows of one line, whose points differ in the last coordinate: the first row, copies of it,
 * and the columns of the last axis in all. `first` is the index of the first row. */
PE_WRAPS("counts down past 0")
static enum pe_status line_fill(const struct pe_view *view, size_t output, size_t first,
                                size_t count, char *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = view->state;
    const struct pe_table table = pe_view_rotary_columns(view, output, out);
    size_t rest = first / state->line;

    for (size_t axis = pe_rotary_of(view->scheme)->axes_count - 1; axis-- > 0;) {
        const size_t index = rest % state->axes[axis].count;
        rest /= state->axes[axis].count;
        if (pe_rotary_axis_fill(&table, view->scheme, axis, &state->axes[axis], index, index + 1,
                                view->dtype, work, err))
            return err->status;
    }
    for (size_t row = 1; row < count; row++)
        memcpy(out + row * table.row_size, out, table.row_size);
    return pe_rotary_axis_fill(&table, view->scheme, pe_rotary_of(view->scheme)->axes_count - 1,
                               &state->axes[pe_rotary_of(view->scheme)->axes_count - 1],
                               first % state->line, first % state->line + count, view->dtype, work,
                               err);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = view->state;
    const size_t row_size = view->outputs[output].row_elements * pe_dtype_info(view->dtype)->size;

    if (view->positions.values)
        return pe_view_rotary_fill(view, output, row_begin, row_end, out, work, err);
    for (size_t row = row_begin, count; row < row_end; row += count) {
        count = pe_min(row_end - row, state->line - row % state->line);
        if (pe_work_check(work, err) ||
            line_fill(view, output, row, count, (char *)out + (row - row_begin) * row_size, work,
                      err))
            return err->status;
    }
    pe_view_rotary_duplicate(view, output, row_end - row_begin, out);
    return PE_OK;
}

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Cosines and sines of a grid or of listed points",
    .info.doc = "`cos` and `sin` [points, pairs]: the cosine and sine of the angle of each pair, "
                "one row for each listed point, or for each point of the grid, the last axis "
                "running fastest. With part=complex one tensor `complex` instead.",
    .info.example = "shape=1,2,2",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_rotary_table_of,
    .state_size = sizeof(struct state),
    .open = open,
    .fill = fill,
    .scalar = pe_view_rotary_scalar,
};

static const struct pe_rotary_axes_kind axes = {.names = "in the order of axes_dim",
                                                .pair_axis = pair_axis};
static const struct pe_rotary_kind rotary = {
    .axes = &axes, .table = &table, .infer = pe_rotary_infer_dim};

extern const struct pe_encoding pe_encoding_rope_nd;
const struct pe_encoding pe_encoding_rope_nd = {
    .info.name = "rope-nd",
    .info.family = "rotary",
    .info.title = "Axial rotary position embedding: axes side by side, each with its own width",
    .info.formula = "axis after axis, w_k = base^(-2k/d), k = 0 .. d/2 - 1, d being the width of "
                    "the axis and base its own",
    .info.source = "Black Forest Labs 2024, FLUX.1 (axes 16, 56, 56); as in Hugging Face "
                   "diffusers, models/embeddings.py, get_1d_rotary_pos_embed for each axis",
    PE_INFO_PARAMS(params),
    .info.example = "axes_dim=4,6,6",
    .rotary = &rotary,
    .state_size = sizeof(struct pe_rotary),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_rotary_close,
};
