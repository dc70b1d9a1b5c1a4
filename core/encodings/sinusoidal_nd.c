/* SPDX-License-Identifier: MIT */
#include "core/base/params.h"
#include "core/encodings/grid.h"
#include "core/encodings/sinusoidal.h"
#include "core/views/table.h"

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    {.name = "ndim",
     .type = PE_INTEGER,
     .min = 1,
     .max = PE_GRID_AXES_MAX,
     .fallback = "2",
     .doc = "The number of axes. Each axis has n = 2 ceil(dim / (2 ndim)) columns, the last axis "
            "those that remain."},
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
    struct pe_waves *waves = scheme->state;

    (void)err;
    waves->pairs = (dim + 2 * axes - 1) / (2 * axes);
    if (2 * waves->pairs * (axes - 1) >= dim)
        pe_scheme_warn(scheme,
                       "dim=%zu is too little for %zu axes of %zu columns: the last has none", dim,
                       axes, 2 * waves->pairs);
    return PE_OK;
}

/* Without the sizes of the axes. */
static struct pe_grid grid_of(const struct pe_scheme *scheme)
{
    const struct pe_waves *waves = pe_waves_of(scheme);
    const size_t width = 2 * waves->pairs, dim = pe_sinusoids_dim(scheme);
    struct pe_grid grid = {.axes_count = ndim_of(scheme),
                           .layout = pe_param_choice(&scheme->params, "layout"),
                           .dim = dim};

    for (unsigned i = 0; i < grid.axes_count; i++) {
        const size_t column = i * width < dim ? i * width : dim;
        grid.axes[i].column = column;
        grid.axes[i].columns = dim - column < width ? dim - column : width;
        grid.axes[i].frequencies = waves->frequencies;
    }
    return grid;
}

/* Positions are stored axis by axis. */
static enum pe_status points_fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                                  void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_grid grid = grid_of(scheme);
    struct pe_positions one = {.count = part->positions->count};

    for (unsigned i = 0; i < grid.axes_count; i++) {
        one.values = part->positions->values + i * one.count;
        if (pe_grid_axis_fill(&grid, i, &one, part->begin, part->end, part->dtype, out, work, err))
            return err->status;
    }
    return PE_OK;
}

/* ---- the table: a full grid, or listed points ------------------------------------------------ */

static size_t axes(const struct pe_scheme *scheme)
{
    return ndim_of(scheme);
}

static struct pe_grid sized_grid(const struct pe_scheme *scheme, const size_t *sizes)
{
    struct pe_grid grid = grid_of(scheme);

    for (unsigned i = 0; i < grid.axes_count; i++)
        grid.axes[i].size = sizes[i];
    return grid;
}

static double grid_cost(const struct pe_scheme *scheme, const size_t *sizes, enum pe_dtype dtype)
{
    const struct pe_grid grid = sized_grid(scheme, sizes);

    return pe_grid_cost(&grid, dtype);
}

static enum pe_status grid_fill(const struct pe_scheme *scheme, const size_t *sizes, size_t begin,
                                size_t end, enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    const struct pe_grid grid = sized_grid(scheme, sizes);

    return pe_grid_fill(&grid, begin, end, dtype, out, work, err);
}

static const struct pe_param view_params[] = {PE_PARAMS_POINTS, PE_PARAMS_POOL};
static const struct pe_view_type table = {PE_VIEW_POINTS_TABLE(view_params),
                                          .info.example = "shape=1,2,2"};
static const struct pe_grid_rows grid_rows = {.axes = axes, .cost = grid_cost, .fill = grid_fill};

static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = points_fill, .grid = &grid_rows, .table = &table};

extern const struct pe_encoding pe_encoding_sinusoidal_nd;
const struct pe_encoding pe_encoding_sinusoidal_nd = {
    .info.name = "sinusoidal-nd",
    .info.family = "absolute",
    .info.title =
        "Sines and cosines of up to three coordinates, each with its share of the columns",
    .info.formula =
        "[PE(t_0), PE(t_1), ...] cut to dim, each as sinusoidal of width 2 ceil(dim / (2 "
        "ndim))",
    .info.source =
        "Parmar et al. 2018, Image Transformer, arXiv:1802.05751; the columns of each axis "
        "as in the "
        "package positional-encodings",
    PE_INFO_PARAMS(params),
    .info.example = "dim=12&ndim=3",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = pe_sinusoids_prepare,
    .close = pe_waves_close,
};
