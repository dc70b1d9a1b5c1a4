/* SPDX-License-Identifier: MIT */
#include <math.h>
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
    {.name = "base_size",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 20,
     .unit = "positions",
     .doc = "For variant mae: the side of the grid that a model was made for. Coordinates of an "
            "axis are multiplied by base_size and divided by its size, so that any grid spans as "
            "much as that one (DiT, PixArt, Stable Diffusion 3); they are not if absent."},
    {.name = "interpolation_scale",
     .type = PE_NUMBER,
     .min = 1e-3,
     .max = 1e9,
     .doc = "For variant mae: the number by which coordinates are divided; 1 if absent."},
    {.name = "max_size",
     .aliases = "pos_embed_max_size",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 20,
     .unit = "positions",
     .doc = "For variant mae: the table is the centre of a grid of max_size x max_size, whose "
            "size also divides base_size (Stable Diffusion 3): the first row is "
            "floor((max_size - height) / 2), and so for columns; height and width are at most "
            "max_size. Nothing is cropped if absent."},
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

/* What diffusers adds to variant mae. */
static enum pe_status scaling_check(struct pe_scheme *scheme, bool mae, struct pe_error *err)
{
    static const char *const names[] = {"base_size", "interpolation_scale", "max_size"};
    static const char *const sides[] = {"height", "width"};
    const struct pe_value *most = pe_param_value(&scheme->params, "max_size");

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !mae; i++)
        if (pe_param_value(&scheme->params, names[i])->given)
            return pe_param_fail(err, PE_CONFLICT,
                                 &params[pe_params_find(&scheme->params, names[i])],
                                 "%s needs variant=mae%s", "");
    for (size_t i = 0; i < 2 && most->present; i++)
        if (param(scheme, sides[i]) > most->number)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:max_size",
                           "max_size must be at least %s=%.0f, got %.0f", sides[i],
                           param(scheme, sides[i]), most->number);
    return PE_OK;
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
    return scaling_check(scheme, mae, err);
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

/* base^(-2k / (dim / 2)); for normalized coordinates times scale / (last + 1e-6), for scaled ones
 * times base_size / (size * interpolation_scale). */
static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_sinusoids_rate(out, bits, context, pe_sinusoids_dim(context) / 2);
    out->number[0] = pe_wide_scale(out->number[0], 1);
}

static struct pe_wide normalized(const struct pe_wide *power, const struct pe_scheme *scheme,
                                 const char *size)
{
    const uint64_t millionths = 1000000 * (uint64_t)param(scheme, size) + 1;

    return pe_wide_div_uint(
        pe_wide_mul_uint(pe_wide_mul_double(*power, param(scheme, "scale")), 1000000), millionths);
}

/* The integers are multiplied and divided without error; one rounded division remains. */
static struct pe_wide interpolated(struct pe_wide power, const struct pe_scheme *scheme,
                                   const char *size)
{
    const struct pe_value *base_size = pe_param_value(&scheme->params, "base_size");
    const struct pe_value *most = pe_param_value(&scheme->params, "max_size");
    const struct pe_value *scale = pe_param_value(&scheme->params, "interpolation_scale");
    const double whole = most->present ? most->number : param(scheme, size);

    if (base_size->present && base_size->number != whole)
        power =
            pe_wide_div_uint(pe_wide_mul_uint(power, (uint64_t)base_size->number), (uint64_t)whole);
    return scale->present ? pe_wide_div(power, pe_wide_of(pe_wide_precision(&power), scale->number))
                          : power;
}

static struct pe_wide on_axis(const struct pe_wide *power, const struct pe_scheme *scheme,
                              const char *size)
{
    if (pe_param_choice(&scheme->params, "variant") == VARIANT_MAE)
        return interpolated(*power, scheme, size);
    return param(scheme, "normalize") == 0 ? *power : normalized(power, scheme, size);
}

static struct pe_wide scaled_down(const struct pe_wide *power, const struct pe_shared *shared,
                                  const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return on_axis(power, context, "height");
}

static struct pe_wide scaled_across(const struct pe_wide *power, const struct pe_shared *shared,
                                    const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return on_axis(power, context, "width");
}

static double cost(const struct pe_scheme *scheme)
{
    return (double)pe_waves_of(scheme)->pairs * 2 * PE_FREQUENCY_COST;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    struct state *state = scheme->state;
    const struct pe_frequencies_spec down = {
        .count = state->down.pairs,
        .powers = {.compute_shared = compute_shared, .scaled = scaled_down},
        .context = scheme,
    };
    const struct pe_frequencies_spec across = {
        .count = state->down.pairs,
        .powers = {.compute_shared = compute_shared, .scaled = scaled_across},
        .context = scheme,
    };

    return pe_frequencies_new(&state->down.frequencies, &down, work, err) ||
                   pe_frequencies_new(&state->across, &across, work, err)
               ? err->status
               : PE_OK;
}

/* The first coordinate of an axis. */
static double start_of(const struct pe_scheme *scheme, const char *size)
{
    const struct pe_value *most = pe_param_value(&scheme->params, "max_size");

    if (pe_param_choice(&scheme->params, "variant") != VARIANT_MAE)
        return 1;
    return most->present ? floor((most->number - param(scheme, size)) / 2) : 0;
}

static struct pe_grid grid_of(const struct pe_scheme *scheme)
{
    const struct state *state = scheme->state;
    const bool mae = pe_param_choice(&scheme->params, "variant") == VARIANT_MAE;
    const size_t dim = pe_sinusoids_dim(scheme), half = dim / 2;

    return (struct pe_grid){
        .axes_count = 2,
        .axes = {[Y] = {(size_t)param(scheme, "height"), start_of(scheme, "height"), mae ? half : 0,
                        half, state->down.frequencies},
                 [X] = {(size_t)param(scheme, "width"), start_of(scheme, "width"), mae ? 0 : half,
                        half, state->across}},
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
                    "sines, then all cosines, with base_size PE(y base_size / (height "
                    "interpolation_scale)), and so for x and width, with max_size PE((y + "
                    "floor((max_size - height) / 2)) base_size / (max_size "
                    "interpolation_scale)); w_k = base^(-2k/(dim/2))",
    .info.source =
        "Carion et al. 2020, End-to-End Object Detection with Transformers, "
        "arXiv:2005.12872; He et al. 2021, Masked Autoencoders, arXiv:2111.06377; Esser et "
        "al. 2024, Stable Diffusion 3, arXiv:2403.03206; base_size, "
        "interpolation_scale and max_size as in diffusers' PatchEmbed",
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
