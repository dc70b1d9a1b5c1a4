/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/fail.h"
#include "core/encodings/parts/grid.h"
#include "core/encodings/parts/sinusoids.h"
#include "core/views/views.h"

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    {.name = "ndim",
     .type = PE_INTEGER,
     .min = 1,
     .max = PE_GRID_AXES_MAX,
     .fallback = "2",
     .doc = "How many axes there are; each has 2 ceil(dim / (2 ndim)) columns, the last one what "
            "is left."},
    PE_PARAM_BASE,
    PE_PARAM_SINES_LAYOUT,
    PE_PARAM_SPACING,
};

static unsigned ndim_of(const struct pe_scheme *scheme)
{
    return (unsigned)pe_param_number(&scheme->params, "ndim");
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = pe_sinusoids_dim(scheme), axes = ndim_of(scheme);

    (void)err;
    scheme->pairs = (dim + 2 * axes - 1) / (2 * axes);
    if (2 * scheme->pairs * (axes - 1) >= dim)
        snprintf(scheme->warnings[scheme->warnings_count++], sizeof(scheme->warnings[0]),
                 "dim=%zu is too little for %zu axes of %zu columns: the last has none", dim, axes,
                 2 * scheme->pairs);
    return PE_OK;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    return pe_sinusoids_frequencies(
        &scheme->frequencies, scheme,
        pe_sinusoids_endpoint(scheme) ? pe_sinusoids_endpoints : pe_sinusoids_paper, err);
}

/* ---- the view: a whole grid, or listed points
 * ----------------------------------------------------
 */

static const struct pe_param view_params[] = {
    {.name = "shape",
     .type = PE_NUMBERS,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "How many coordinates 0, 1, 2 ... each axis has; a row for every point, the last axis "
            "fastest."},
    {.name = "coordinates",
     .aliases = "positions",
     .type = PE_NUMBERS,
     .nested = true,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "Points instead of a shape: ndim numbers each, as rows or one point after the other."},
};

static enum pe_status shape_open(struct pe_view *view, const struct pe_value *shape,
                                 struct pe_error *err)
{
    const unsigned axes = ndim_of(view->scheme);
    size_t rows = 1;

    if (shape->list_count != axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:shape",
                       "shape has %zu elements, ndim is %u", shape->list_count, axes);
    for (unsigned i = 0; i < axes; i++) {
        if (shape->list[i] != floor(shape->list[i]))
            return pe_fail(err, PE_INVALID, "parameter:shape",
                           "shape must be whole numbers, got %.17g", shape->list[i]);
        view->grid[i] = (size_t)shape->list[i];
        if (!pe_size_multiply(rows, view->grid[i], &rows))
            return pe_fail(err, PE_TOO_LARGE, "parameter:shape",
                           "the number of points does not fit in 64 bits");
    }
    view->positions = (struct pe_positions){.step = 1, .count = rows};
    return pe_view_table_add(view, rows, pe_sinusoids_dim(view->scheme), err);
}

/* Kept axis by axis. */
static enum pe_status coordinates_open(struct pe_view *view, const struct pe_value *list,
                                       struct pe_error *err)
{
    const unsigned axes = ndim_of(view->scheme);
    const size_t rows = list->list_count / axes;

    if (list->rows > 0 && list->list_count != list->rows * axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:coordinates",
                       "coordinates has rows of %zu numbers, ndim is %u",
                       list->list_count / list->rows, axes);
    if (list->list_count % axes != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:coordinates",
                       "coordinates has %zu numbers, which is no multiple of ndim=%u",
                       list->list_count, axes);
    double *values = malloc((list->list_count + 1) * sizeof(*values));
    if (!values)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the coordinates");
    for (size_t i = 0; i < list->list_count; i++)
        values[i % axes * rows + i / axes] = list->list[i];
    view->positions = (struct pe_positions){.values = values, .count = rows};
    return pe_view_table_add(view, rows, pe_sinusoids_dim(view->scheme), err);
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_value *shape = pe_param_value(values, "shape");
    const struct pe_value *coordinates = pe_param_value(values, "coordinates");

    if (shape->present && coordinates->present)
        return pe_fail(err, PE_CONFLICT, "parameter:coordinates",
                       "shape and coordinates exclude each other");
    if (coordinates->present)
        return coordinates_open(view, coordinates, err);
    if (shape->present)
        return shape_open(view, shape, err);
    return pe_fail(err, PE_MISSING, "parameter:shape",
                   "shape is required, the sizes of the axes (or coordinates)");
}

static void fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    const struct pe_scheme *scheme = view->scheme;
    const size_t width = 2 * scheme->pairs, dim = pe_sinusoids_dim(scheme);
    struct pe_positions positions = view->positions;
    struct pe_grid grid = {.axes_count = ndim_of(scheme),
                           .layout = pe_param_number(&scheme->params, "layout"),
                           .dim = dim};

    (void)output;
    for (unsigned i = 0; i < grid.axes_count; i++) {
        const size_t column = i * width < dim ? i * width : dim;
        grid.axes[i] =
            (struct pe_grid_axis){view->grid[i], column,
                                  dim - column < width ? dim - column : width, scheme->frequencies};
    }
    if (!positions.values) {
        pe_grid_fill(&grid, row_begin, row_end, view->dtype, out);
        return;
    }
    for (unsigned i = 0; i < grid.axes_count; i++, positions.values += positions.count)
        pe_grid_axis_fill(&grid, i, &positions, row_begin, row_end, view->dtype, out);
}

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "The table of a grid, or of points",
    .info.doc = "`table` [points, dim]: one row for each point, of a grid the last axis fastest.",
    .info.example = "shape=1,2,2",
    .info.params = view_params,
    .info.params_count = sizeof(view_params) / sizeof(view_params[0]),
    .open = open,
    .fill = fill,
};

static const struct pe_view_type *const views[] = {&table, NULL};

extern const struct pe_encoding pe_encoding_sinusoidal_nd;
const struct pe_encoding pe_encoding_sinusoidal_nd = {
    .info.name = "sinusoidal-nd",
    .info.family = "absolute",
    .info.title = "Sines and cosines of up to three coordinates, the columns shared out among them",
    .info.formula =
        "[PE(t_0), PE(t_1), ...] cut to dim, each as sinusoidal of width 2 ceil(dim / (2 "
        "ndim))",
    .info.source =
        "Parmar et al. 2018, Image Transformer, arXiv:1802.05751; the columns of each axis "
        "as in the "
        "package positional-encodings",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .info.example = "dim=12&ndim=3",
    .check = check,
    .prepare = prepare,
};
