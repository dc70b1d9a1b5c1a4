/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/encodings/sinusoidal.h"
#include "core/scheme/rotary.h"
#include "core/views/table.h"

enum { X, Y };

/* How a variant assigns the pairs: half of them to the first axis and half to the second, or
 * alternately. */
static const struct variant {
    bool y_first, alternating;
    bool between;  /* frequencies of the second axis lie between those of the first */
    double offset; /* added to each coordinate */
    double base;   /* the default */
} variants[] = {
    [0] = {.base = 100},                                                /* axial */
    {.offset = 1, .base = 10000},                                       /* llama4 */
    {.y_first = true, .between = true, .base = 10000},                  /* pixtral */
    {.y_first = true, .base = 10000},                                   /* qwen2-vl */
    {.alternating = true, .base = 10000},                               /* kimi-k25 */
    {.y_first = true, .alternating = true, .offset = 1, .base = 10000}, /* efficientloftr */
};

static const struct pe_param params[] = {
    {.name = "dim",
     .aliases = "head_dim",
     .type = PE_INTEGER,
     .min = 4,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "The number of elements in a head, a multiple of 4."},
    {.name = "base",
     .aliases = "rope_theta,theta,max_wavelength",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = 1e30,
     .fallback = "100",
     .doc = "The base of the frequencies; if absent 100 for the variant axial and 10000 for the "
            "others."},
    {.name = "variant",
     .type = PE_CHOICE,
     .choices = "axial=rope-vit,llama4,pixtral,qwen2-vl,kimi-k25,efficientloftr",
     .fallback = "axial",
     .doc =
         "The coordinate that rotates each pair. axial: x for the first half of the pairs, y for "
         "the second half, with the same frequencies (RoPE-ViT, SAM 2). llama4: as axial, by x + 1 "
         "and y + 1; the class token is at -1, -1. qwen2-vl: y for the first half, x for the "
         "second. pixtral: as qwen2-vl, the frequencies of x lying between those of y. kimi-k25: x "
         "and y alternate from pair to pair. efficientloftr: y + 1 and x + 1 alternate."},
};

static const struct variant *variant_of(const struct pe_scheme *scheme)
{
    return &variants[(size_t)pe_param_number(&scheme->params, "variant")];
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = (size_t)pe_param_number(&scheme->params, "dim");
    struct pe_value *base = &scheme->params.values[pe_params_find(&scheme->params, "base")];
    struct pe_rotary *rotary = scheme->state;

    if (dim % 4 != 0)
        return pe_fail(err, PE_INVALID, "parameter:dim",
                       "dim must be a multiple of 4, so that x and y have pairs alike: got %zu",
                       dim);
    if (!base->given)
        base->number = variant_of(scheme)->base;
    rotary->head_dim = rotary->rotary_dim = dim;
    rotary->waves.pairs = dim / 2;
    rotary->axes_count = 2;
    rotary->offsets[0] = rotary->offsets[1] = variant_of(scheme)->offset;
    return PE_OK;
}

static bool is_second(const struct pe_scheme *scheme, size_t pair)
{
    return variant_of(scheme)->alternating ? pair % 2 == 1 : pair >= pe_waves_of(scheme)->pairs / 2;
}

static size_t pair_axis(const struct pe_scheme *scheme, size_t pair)
{
    return is_second(scheme, pair) == variant_of(scheme)->y_first ? X : Y;
}

/* base^(-2 k / pairs), k being the pair's index on its axis; in between: base^(-(2 k + 1) / pairs)
 */
static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_sinusoids_rate(out, bits, context, pe_waves_of(context)->pairs);
}

static size_t steps(const void *context, size_t pair)
{
    const struct variant *variant = variant_of(context);
    const size_t half = pe_waves_of(context)->pairs / 2;
    const size_t k = variant->alternating ? pair / 2 : pair % half;

    return 2 * k + (variant->between && is_second(context, pair));
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers powers = {.compute_shared = compute_shared, .steps = steps};

    return pe_waves_prepare(scheme, &powers, work, err) || pe_rotary_axes_prepare(scheme, work, err)
               ? err->status
               : PE_OK;
}

/* ---- the table: a full grid, or listed points ------------------------------------------------ */

static const struct pe_param view_params[] = {
    {.name = "width",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "With height: the number of columns of the grid. The table has one row for each point "
            "of the grid, x running fastest, both coordinates from 0."},
    {.name = "height",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "With width: the number of rows of the grid."},
    PE_PARAM_COORDINATES("all x;all y"),
    PE_PARAMS_PART,
    PE_PARAMS_POOL,
};

/* Estimated nanoseconds of a point beside its elements, and of a copied point. */
#define POINT_COST 130.0
#define COPY_COST  8.0

struct state {
    struct pe_rotary_view rotary;
    size_t sizes[2]; /* of a grid */
};

static enum pe_status grid_open(struct pe_view *view, const struct pe_params *values,
                                struct pe_error *err)
{
    struct state *state = view->state;

    for (unsigned i = 0; i < 2; i++) {
        const char *name = i == X ? "width" : "height";
        char where[32];
        if (!pe_param_given(values, name)) {
            snprintf(where, sizeof(where), "parameter:%s", name);
            return pe_fail(err, PE_MISSING, where,
                           "width and height are required, or positions: %s is missing", name);
        }
        state->sizes[i] = pe_count(pe_param_number(values, name));
    }
    view->positions.step = 1;
    if (!pe_size_multiply(state->sizes[X], state->sizes[Y], &view->positions.count))
        return pe_fail(err, PE_TOO_LARGE, "parameter:height",
                       "the number of points does not fit in 64 bits");
    return PE_OK;
}

/* How many equal pieces a row has that belong alternately to the two axes; 0: the pairs alternate.
 */
static size_t pieces_count(const struct pe_view *view)
{
    const struct pe_rotary_view *rotary = view->state;

    return variant_of(view->scheme)->alternating                 ? 0
           : rotary->duplicate || rotary->part == PE_PART_JOINED ? 4
                                                                 : 2;
}

/* The fraction of a grid's rows that are computed and not copied: in a block of 256 KiB, as the
 * service requests them, the first line, and the first point of every other line, which costs as
 * much as four. */
static double computed_fraction(const struct pe_view *view, double row_size)
{
    const double width = (double)((const struct state *)view->state)->sizes[X];

    return pieces_count(view) == 0 ? 1 : fmin(1, width * row_size / (1 << 18) + 4 / width);
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(values, "positions");

    if (list->present && (pe_param_given(values, "width") || pe_param_given(values, "height")))
        return pe_fail(err, PE_CONFLICT, "parameter:positions",
                       "positions cannot be given together with width and height");
    if (list->present) {
        if (pe_view_positions_rows(view, list, err) ||
            pe_rotary_positions_check(view->scheme, &view->positions, "parameter:positions", err))
            return err->status;
    } else if (grid_open(view, values, err)) {
        return err->status;
    }
    if (pe_view_rotary_add(view, values, err))
        return err->status;
    for (size_t i = 0; i < view->outputs_count; i++) { /* a grid is computed as listed points */
        struct pe_output *output = &view->outputs[i];
        const double elements = (double)output->row_elements;
        const double size = elements * (double)pe_dtype_info(view->dtype)->size;
        const double computed = list->present ? 1 : computed_fraction(view, size);
        output->element_work = computed * (output->element_work + POINT_COST / elements) +
                               (1 - computed) * (0.1 + COPY_COST / elements);
    }
    return PE_OK;
}

/* Writes points of a grid by listing them. */
static enum pe_status points_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                  size_t row_end, char *out, struct pe_work *work,
                                  struct pe_error *err)
{
    enum { POINTS = 64 };
    const size_t row_size = view->outputs[output].row_elements * pe_dtype_info(view->dtype)->size;
    const struct state *state = view->state;
    double points[2 * POINTS];

    for (size_t row = row_begin, count; row < row_end; row += count) {
        count = row_end - row < POINTS ? row_end - row : POINTS;
        for (size_t i = 0; i < count; i++) {
            points[i] = (double)((row + i) % state->sizes[X]);
            points[count + i] = (double)((row + i) / state->sizes[X]);
        }
        const struct pe_positions positions = {.values = points, .count = count, .axes = 2};
        if (pe_work_check(work, err) ||
            pe_view_rotary_rows(view, &positions, output, 0, count,
                                out + (row - row_begin) * row_size, work, err))
            return err->status;
    }
    return PE_OK;
}

/* Writes the other rows of a line whose first row is written: columns of x are copied from the line
 * above, those of y from the row before. */
static void line_copy(const struct pe_view *view, size_t rows, size_t row_size, char *to)
{
    const struct state *state = view->state;
    const size_t pieces = pieces_count(view), size = row_size / pieces;
    const size_t first_is_y = variant_of(view->scheme)->y_first;
    const size_t above = state->sizes[X] * row_size;

    for (size_t row = 0; row < rows; row++, to += row_size)
        for (size_t i = 0; i < pieces; i++) {
            char *const piece = to + i * size;
            memcpy(piece, piece - (i % 2 == first_is_y ? above : row_size), size);
        }
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t row_size = view->outputs[output].row_elements * pe_dtype_info(view->dtype)->size;
    const size_t width = ((const struct state *)view->state)->sizes[X];

    if (view->positions.values)
        return pe_view_rotary_fill(view, output, row_begin, row_end, out, work, err);
    if (row_end - row_begin <= width || width == 1 || pieces_count(view) == 0)
        return points_fill(view, output, row_begin, row_end, out, work, err);
    if (points_fill(view, output, row_begin, row_begin + width, out, work, err))
        return err->status;
    for (size_t row = row_begin + width, end; row < row_end; row = end) {
        char *const to = (char *)out + (row - row_begin) * row_size;
        const bool is_line_start = row % width == 0;
        end = pe_min(row_end, row + width - row % width);
        if (is_line_start && points_fill(view, output, row, row + 1, to, work, err))
            return err->status;
        line_copy(view, end - row - is_line_start, row_size, to + is_line_start * row_size);
    }
    return PE_OK;
}

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Cosines and sines of a grid or of listed points",
    .info.doc = "`cos` and `sin` [points, dim / 2]: the cosine and sine of the angle of each pair, "
                "one row for each listed point, or for each point of the grid, x running fastest. "
                "With part=complex one tensor `complex` instead.",
    .info.example = "width=2&height=2",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_rotary_table_of,
    .state_size = sizeof(struct state),
    .open = open,
    .fill = fill,
    .scalar = pe_view_rotary_scalar,
};

static const struct pe_rotary_axes_kind axes = {.names = "x, y", .pair_axis = pair_axis};
static const struct pe_rotary_kind rotary = {
    .axes = &axes, .table = &table, .infer = pe_rotary_infer_dim};

extern const struct pe_encoding pe_encoding_rope_2d;
const struct pe_encoding pe_encoding_rope_2d = {
    .info.name = "rope-2d",
    .info.family = "rotary",
    .info.title = "Rotary position embedding of images: half of the pairs rotated by x, half by y",
    .info.formula = "as rope, w_k = base^(-4k/dim), k = 0 .. dim/4 - 1 for x and again for y",
    .info.source = "Heo et al. 2024, Rotary Position Embedding for Vision Transformer, "
                   "arXiv:2403.13298; other variants as in Hugging Face transformers",
    PE_INFO_PARAMS(params),
    .info.example = "dim=8",
    .rotary = &rotary,
    .state_size = sizeof(struct pe_rotary),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_rotary_close,
};
