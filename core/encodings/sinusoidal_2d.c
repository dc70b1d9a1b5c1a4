/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/params.h"
#include "core/base/sizes.h"
#include "core/encodings/grid.h"
#include "core/encodings/sinusoidal.h"
#include "core/views/table.h"

enum { VARIANT_DETR, VARIANT_MAE };
enum { Y, X };

static const struct pe_param params[] = {
    PE_PARAM_DIM(2, 1 << 20),
    {.name = "height",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 20,
     .required = true,
     .unit = "positions",
     .doc = "The number of rows of the grid."},
    {.name = "width",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 20,
     .required = true,
     .unit = "positions",
     .doc = "The number of columns of the grid."},
    {.name = "variant",
     .type = PE_CHOICE,
     .choices = "detr,mae",
     .fallback = "detr",
     .doc = "The form of a row. detr: coordinates start at 1, the half of y comes first, and each "
            "half is sin, cos, sin, cos. mae: coordinates start at 0, the half of x comes first, "
            "and each half is all sines, then all cosines."},
    PE_PARAM_BASE,
    {.name = "normalize",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "For variant detr: whether each coordinate is divided by the last one + 1e-6 and "
            "multiplied by scale."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = 1e-30,
     .max = 1e9,
     .doc = "The factor of normalized coordinates; 2 pi as a double if absent. It needs "
            "normalize=true."},
    {.name = "class_token",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "For variant mae: whether the table begins with a row of zeros, for the class token."},
};

/* Frequencies of the two axes, which differ where coordinates are normalized. */
struct state {
    struct pe_waves down;
    struct pe_frequencies *across;
};

static void close_all(void *state)
{
    pe_waves_close(state);
    pe_frequencies_free(((struct state *)state)->across);
}

static double param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

static enum pe_status variant_check(struct pe_scheme *scheme, struct pe_error *err)
{
    const bool mae = pe_param_choice(&scheme->params, "variant") == VARIANT_MAE;
    const size_t dim = pe_sinusoids_dim(scheme), multiple = mae ? 4 : 2;

    if (dim % multiple != 0)
        return pe_fail(err, PE_INVALID, "parameter:dim",
                       "dim must be a multiple of %zu with variant=%s, got %zu", multiple,
                       mae ? "mae" : "detr", dim);
    if (mae && param(scheme, "normalize") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:normalize",
                       "variant=mae has no normalized coordinates");
    if (!mae && param(scheme, "class_token") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:class_token",
                       "variant=detr has no row for a class token");
    return PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_value *scale = &scheme->params.values[pe_params_find(&scheme->params, "scale")];
    const bool normalize = param(scheme, "normalize") != 0;

    if (variant_check(scheme, err))
        return err->status;
    if (scale->given && !normalize)
        return pe_fail(err, PE_CONFLICT, "parameter:scale",
                       "scale is for normalized coordinates; it needs normalize=true");
    if (normalize && !scale->given) {
        scale->number = 0x1.921fb54442d18p+2;
        scale->present = true;
    }
    ((struct pe_waves *)scheme->state)->pairs = (pe_sinusoids_dim(scheme) / 2 + 1) / 2;
    return PE_OK;
}

/* base^(-2k / (dim / 2)); for normalized coordinates times scale / (last + 1e-6). */
static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_sinusoids_rate(out, bits, context, pe_sinusoids_dim(context) / 2);
    out->number[0] = pe_wide_scale(out->number[0], 1);
}

static struct pe_wide normalized(const struct pe_wide *power, const struct pe_scheme *scheme,
                                 const char *size)
{
    const uint64_t millionths = 1000000 * (uint64_t)param(scheme, size) + 1;

    if (param(scheme, "normalize") == 0)
        return *power;
    return pe_wide_div_uint(
        pe_wide_mul_uint(pe_wide_mul_double(*power, param(scheme, "scale")), 1000000), millionths);
}

static struct pe_wide scaled_down(const struct pe_wide *power, const struct pe_shared *shared,
                                  const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return normalized(power, context, "height");
}

static struct pe_wide scaled_across(const struct pe_wide *power, const struct pe_shared *shared,
                                    const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return normalized(power, context, "width");
}

static double cost(const struct pe_scheme *scheme)
{
    return (double)pe_waves_of(scheme)->pairs * 2 * PE_FREQUENCY_COST;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    struct state *state = scheme->state;
    static const struct pe_powers down = {.compute_shared = compute_shared, .scaled = scaled_down};
    const struct pe_frequencies_spec across = {
        .count = state->down.pairs,
        .powers = {.compute_shared = compute_shared, .scaled = scaled_across},
        .context = scheme,
    };

    return pe_waves_prepare(scheme, &down, work, err) ||
                   pe_frequencies_new(&state->across, &across, work, err)
               ? err->status
               : PE_OK;
}

static struct pe_grid grid_of(const struct pe_scheme *scheme)
{
    const struct state *state = scheme->state;
    const bool mae = pe_param_choice(&scheme->params, "variant") == VARIANT_MAE;
    const size_t dim = pe_sinusoids_dim(scheme), half = dim / 2;

    return (struct pe_grid){
        .axes_count = 2,
        .axes = {[Y] = {(size_t)param(scheme, "height"), mae ? half : 0, half,
                        state->down.frequencies},
                 [X] = {(size_t)param(scheme, "width"), mae ? 0 : half, half, state->across}},
        .start = mae ? 0 : 1,
        .layout = mae ? PE_SINES_CONCATENATED : PE_SINES_INTERLEAVED,
        .dim = dim,
    };
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t row_size = pe_sinusoids_dim(scheme) * pe_dtype_info(part->dtype)->size;
    const size_t before = param(scheme, "class_token") != 0;
    const struct pe_grid grid = grid_of(scheme);
    size_t begin = part->begin;

    if (begin < before && begin < part->end) {
        memset(out, 0, row_size);
        out = (char *)out + row_size;
        begin++;
    }
    return begin < part->end ? pe_grid_fill(&grid, begin - before, part->end - before, part->dtype,
                                            out, work, err)
                             : PE_OK;
}

/* ---- the table: every point of the grid ------------------------------------------------------ */

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_scheme *scheme = view->scheme;
    const size_t count = pe_count(param(scheme, "height") * param(scheme, "width") +
                                  (param(scheme, "class_token") != 0));

    (void)values;
    view->positions = (struct pe_positions){.step = 1, .count = count};
    return pe_view_table_add(view, count, pe_sinusoids_dim(scheme), err);
}

static const struct pe_param view_params[] = {PE_PARAMS_POOL};

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Table of a grid",
    .info.doc = "`table` [height * width, dim]: one row for each cell of the grid, row by row; "
                "with class_token=true preceded by a row of zeros.",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_table_of,
    .open = open,
    .fill = pe_view_table_fill,
};

static double element_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                           enum pe_dtype dtype)
{
    const struct pe_grid grid = grid_of(scheme);

    (void)positions;
    return pe_grid_cost(&grid, dtype);
}

static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = fill, .cost = element_cost, .table = &table};

extern const struct pe_encoding pe_encoding_sinusoidal_2d;
const struct pe_encoding pe_encoding_sinusoidal_2d = {
    .info.name = "sinusoidal-2d",
    .info.family = "absolute",
    .info.title = "Sines and cosines of two coordinates, half of a row for each",
    .info.formula = "detr: [PE(y + 1), PE(x + 1)], each interleaved; normalize=true: PE(scale (y + "
                    "1) / (height + 1e-6)), and so for x and width; mae: [PE(x), PE(y)], each all "
                    "sines, then all cosines; w_k = base^(-2k/(dim/2))",
    .info.source = "Carion et al. 2020, End-to-End Object Detection with Transformers, "
                   "arXiv:2005.12872; He et al. 2021, Masked Autoencoders, arXiv:2111.06377",
    PE_INFO_PARAMS(params),
    .info.example = "dim=8&height=2&width=2",
    .rows = &rows,
    .state_size = sizeof(struct state),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .cost = cost,
    .close = close_all,
};
