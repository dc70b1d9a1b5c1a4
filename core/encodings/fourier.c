/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/sanitizer.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/encodings/fourier_sum.h"
#include "core/scheme/rows.h"
#include "core/views/table.h"

#define WIDTH_MAX (1 << 20)
/* Frequencies times scale are 0 or lie between these bounds, so that sums of their products with
 * coordinates are exact in PE_WIDE_BITS. */
#define FREQUENCY_MAX 0x1p62
/* Of powers of two, the last of which is then 2^61. */
#define POWERS_MAX    62
#define FREQUENCY_MIN 1e-30

enum { COORDINATES_INDEX, COORDINATES_CENTRES, COORDINATES_ENDS, COORDINATES_LOGARITHM };
enum { ORDER_BLOCKS, ORDER_ALTERNATING };
enum { LAYOUT_CONCATENATED, LAYOUT_INTERLEAVED, LAYOUT_GROUPED };
enum { INPUT_NONE, INPUT_FIRST, INPUT_LAST };

static const struct pe_param params[] = {
    {.name = "ndim",
     .type = PE_INTEGER,
     .min = 1,
     .max = PE_FOURIER_AXES_MAX,
     .doc = "The number of coordinates of a point. If absent: the rows of matrix, or the length of "
            "max_resolution or axes_size, or 1."},
    {.name = "bands",
     .aliases = "num_bands,num_frequencies,multires",
     .type = PE_INTEGER,
     .min = 1,
     .max = WIDTH_MAX / 2,
     .doc =
         "The number n of frequencies of each coordinate: 2^k for k = 0 .. n - 1 (NeRF), of which "
         "there are at most 62, or those of max_resolution. Of all coordinates there are at most "
         "524288."},
    {.name = "max_resolution",
     .aliases = "max_res",
     .type = PE_NUMBERS,
     .min = 1,
     .max = 1 << 30,
     .doc = "With bands: a whole number r for each coordinate, whose frequencies are 1 + k (r/2 - "
            "1) / (n - 1), evenly spaced from 1 to r/2 (Perceiver)."},
    {.name = "frequencies",
     .aliases = "freq_bands",
     .type = PE_NUMBERS,
     .min = -FREQUENCY_MAX,
     .max = FREQUENCY_MAX,
     .doc = "The frequencies of each coordinate, instead of bands."},
    {.name = "matrix",
     .aliases = "B,weight,positional_encoding_gaussian_matrix",
     .type = PE_NUMBERS,
     .nested = true,
     .min = -FREQUENCY_MAX,
     .max = FREQUENCY_MAX,
     .doc = "The matrix B of random Fourier features, instead of bands: one list of m numbers for "
            "each coordinate, as in SAM's [2, m]. A pair j has the angle of the sum of B[a][j] x_a "
            "over the coordinates a."},
    {.name = "unit",
     .type = PE_CHOICE,
     .choices = "radian,half-turn,turn",
     .doc = "The factor of angles, exact: radian 1, half-turn pi, turn 2 pi. If absent: turn with "
            "matrix, else half-turn."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = 1e-9,
     .max = 1e9,
     .fallback = "1",
     .doc = "The factor of all frequencies."},
    {.name = "axes_coordinates",
     .type = PE_CHOICE,
     .choices = "index,centres=centers,ends=linspace,logarithm=log",
     .fallback = "index",
     .doc = "The coordinate x that a given number u on an axis of axes_size n stands for, exact. "
            "index: u itself. centres: (2u + 1) / n - 1, the centres of n pixels between -1 and 1 "
            "(SAM, u being a pixel). ends: 2u / (n - 1) - 1, n points from -1 to 1 (Perceiver). "
            "logarithm: ln u (noise levels of diffusers' GaussianFourierProjection)."},
    {.name = "axes_size",
     .type = PE_NUMBERS,
     .min = 1,
     .max = 1 << 30,
     .doc = "The size n of each axis, a whole number, for axes_coordinates centres and ends."},
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = "concatenated,interleaved,grouped",
     .fallback = "concatenated",
     .doc = "The order of the columns. concatenated: all sines, then all cosines. interleaved: the "
            "sine and the cosine of each pair. grouped: the sines, then the cosines, of each "
            "coordinate; with order=alternating of each frequency (the code of NeRF)."},
    {.name = "order",
     .type = PE_CHOICE,
     .choices = "blocks,alternating",
     .fallback = "blocks",
     .doc = "The order of the pairs. blocks: all frequencies of a coordinate, then the next one. "
            "alternating: the first frequency of each coordinate, the second of each, and so on."},
    {.name = "flip_sin_to_cos",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether cosines come before sines."},
    {.name = "include_input",
     .type = PE_CHOICE,
     .choices = "none,first,last",
     .fallback = "none",
     .doc = "Whether a row has the coordinates x themselves, before its sines and cosines (NeRF, "
            "Perceiver's concat_pos) or after them (nerfstudio, PyTorch3D)."},
};

struct fourier {
    struct pe_fourier_sum sum;
    size_t group; /* pairs whose sines are side by side */
    bool flip;
    int input;
};

static const struct fourier *fourier_of(const struct pe_scheme *scheme)
{
    return scheme->state;
}

static const struct pe_value *value_of(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_value(&scheme->params, name);
}

static int choice(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_choice(&scheme->params, name);
}

static void number_resolve(struct pe_scheme *scheme, const char *name, double number)
{
    struct pe_value *value = &scheme->params.values[pe_params_find(&scheme->params, name)];

    if (!value->present)
        value->number = number;
    value->present = true;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* One of bands, frequencies and matrix. */
static enum pe_status source_check(const struct pe_scheme *scheme, struct pe_error *err)
{
    static const char *const names[] = {"bands", "frequencies", "matrix"};
    const char *first = NULL;

    for (size_t i = 0; i < 3; i++) {
        if (!value_of(scheme, names[i])->present)
            continue;
        if (first)
            return pe_fail(err, PE_CONFLICT, i == 1 ? "parameter:frequencies" : "parameter:matrix",
                           "%s and %s exclude each other", first, names[i]);
        first = names[i];
    }
    if (!first)
        return pe_fail(err, PE_MISSING, "parameter:bands",
                       "bands is required, the number of frequencies (or frequencies, or matrix)");
    if (value_of(scheme, "max_resolution")->present && !value_of(scheme, "bands")->present)
        return pe_fail(err, PE_CONFLICT, "parameter:max_resolution",
                       "max_resolution belongs to bands, not to %s", first);
    return PE_OK;
}

static enum pe_status matrix_check(const struct pe_scheme *scheme, struct pe_error *err)
{
    static const char where[] = "parameter:matrix";
    const struct pe_value *matrix = value_of(scheme, "matrix");
    const size_t axes = (size_t)pe_param_number(&scheme->params, "ndim");
    const size_t rows = matrix->rows > 0 ? matrix->rows : 1;

    if (!matrix->present)
        return PE_OK;
    if (rows != axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "matrix has %zu rows of %zu numbers, ndim is %zu: it has one row for each "
                       "coordinate%s",
                       rows, matrix->list_count / rows, axes,
                       matrix->list_count / rows == axes ? "; transpose it" : "");
    if (choice(scheme, "order") != ORDER_BLOCKS)
        return pe_fail(err, PE_CONFLICT, "parameter:order",
                       "order is that of frequencies of each coordinate; a matrix has pairs of all "
                       "coordinates together");
    if (choice(scheme, "layout") == LAYOUT_GROUPED)
        return pe_fail(err, PE_CONFLICT, "parameter:layout",
                       "layout=grouped is for frequencies of each coordinate; a matrix has pairs "
                       "of all coordinates together");
    return PE_OK;
}

/* Sets ndim where it is absent, and compares it with the lists. */
static enum pe_status axes_check(struct pe_scheme *scheme, struct pe_error *err)
{
    const struct pe_value *matrix = value_of(scheme, "matrix");
    const struct pe_value *resolution = value_of(scheme, "max_resolution");
    const struct pe_value *sizes = value_of(scheme, "axes_size");
    const size_t listed = matrix->present       ? matrix->rows > 0 ? matrix->rows : 1
                          : resolution->present ? resolution->list_count
                          : sizes->present      ? sizes->list_count
                                                : 1;
    const struct pe_value *lists[] = {resolution, sizes};
    static const char *const names[] = {"max_resolution", "axes_size"};
    static const char *const where[] = {"parameter:max_resolution", "parameter:axes_size"};

    if (listed == 0 || listed > PE_FOURIER_AXES_MAX)
        return pe_fail(err, PE_SHAPE_MISMATCH,
                       matrix->present       ? "parameter:matrix"
                       : resolution->present ? where[0]
                                             : where[1],
                       "there are lists for %zu coordinates; a point has 1 to %d%s", listed,
                       PE_FOURIER_AXES_MAX,
                       matrix->present ? ", each with a row of matrix: transpose it where its rows "
                                         "are pairs"
                                       : "");
    number_resolve(scheme, "ndim", (double)listed);
    const double axes = pe_param_number(&scheme->params, "ndim");
    for (size_t i = 0; i < 2; i++) {
        if (lists[i]->present && (double)lists[i]->list_count != axes)
            return pe_fail(err, PE_SHAPE_MISMATCH, where[i],
                           "%s has %zu numbers, ndim is %.0f: one for each coordinate is needed",
                           names[i], lists[i]->list_count, axes);
        for (size_t k = 0; lists[i]->present && k < lists[i]->list_count; k++)
            if (lists[i]->list[k] != floor(lists[i]->list[k]))
                return pe_fail(err, PE_INVALID, where[i], "%s must be whole numbers, got %.17g",
                               names[i], lists[i]->list[k]);
    }
    return matrix_check(scheme, err);
}

static enum pe_status sizes_check(const struct pe_scheme *scheme, struct pe_error *err)
{
    static const char where[] = "parameter:axes_size";
    const int kind = choice(scheme, "axes_coordinates");
    const bool is_sized = kind == COORDINATES_CENTRES || kind == COORDINATES_ENDS;
    const struct pe_value *sizes = value_of(scheme, "axes_size");

    if (sizes->present != is_sized)
        return pe_fail(err, is_sized ? PE_MISSING : PE_CONFLICT, where,
                       is_sized ? "axes_size is required: the size of each axis, which "
                                  "axes_coordinates are relative to"
                                : "axes_size is for axes_coordinates centres and ends");
    for (size_t i = 0; kind == COORDINATES_ENDS && i < sizes->list_count; i++)
        if (sizes->list[i] < 2)
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "axes_size must be at least 2 with axes_coordinates=ends");
    return PE_OK;
}

/* ---- the state ------------------------------------------------------------------------------- */

/* Sets the coordinates; PE_OUT_OF_RANGE where they have no common denominator of 53 bits. */
static enum pe_status coordinates_set(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_fourier_sum *sum = &((struct fourier *)scheme->state)->sum;
    const int kind = choice(scheme, "axes_coordinates");
    const struct pe_value *sizes = value_of(scheme, "axes_size");

    sum->is_log = kind == COORDINATES_LOGARITHM;
    sum->common = 1;
    for (size_t i = 0; i < sum->axes; i++) {
        const double size = sizes->present ? sizes->list[i] : 1;
        sum->coordinates[i] = (struct pe_fourier_coordinate){.multiplier = 1, .divisor = 1};
        if (!sizes->present)
            continue;
        sum->coordinates[i] =
            (struct pe_fourier_coordinate){.offset = (1 - size) / 2,
                                           .multiplier = 2,
                                           .divisor = kind == COORDINATES_ENDS ? size - 1 : size};
        const double divisor = sum->coordinates[i].divisor;
        const double factor =
            divisor / (double)pe_common_divisor((uint64_t)sum->common, (uint64_t)divisor);
        if (sum->common * factor > 0x1p53)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:axes_size",
                           "the denominators of the coordinates must have a common multiple of at "
                           "most 2^53");
        sum->common *= factor;
    }
    return PE_OK;
}

static void frequencies_set(struct pe_scheme *scheme)
{
    struct pe_fourier_sum *sum = &((struct fourier *)scheme->state)->sum;
    const struct pe_value *matrix = value_of(scheme, "matrix");
    const struct pe_value *listed = value_of(scheme, "frequencies");
    const struct pe_value *resolution = value_of(scheme, "max_resolution");

    sum->is_matrix = matrix->present;
    sum->list = matrix->present ? matrix->list : listed->present ? listed->list : NULL;
    sum->bands = matrix->present   ? matrix->list_count / sum->axes
                 : listed->present ? listed->list_count
                                   : (size_t)pe_param_number(&scheme->params, "bands");
    sum->pairs = sum->is_matrix ? sum->bands : sum->bands * sum->axes;
    sum->alternating = choice(scheme, "order") == ORDER_ALTERNATING;
    sum->divisor = 1;
    if (resolution->present && sum->bands > 1)
        sum->divisor = (double)(sum->bands - 1);
    sum->is_linear = resolution->present;
    for (size_t i = 0; resolution->present && i < sum->axes; i++)
        sum->rise[i] = resolution->list[i] / 2 - 1;
}

static enum pe_status width_check(const struct pe_fourier_sum *sum, struct pe_error *err)
{
    if (sum->bands == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH,
                       sum->is_matrix ? "parameter:matrix" : "parameter:frequencies",
                       "there must be one frequency at least");
    if (sum->pairs > WIDTH_MAX / 2)
        return pe_fail(err, PE_TOO_LARGE,
                       sum->is_matrix ? "parameter:matrix"
                       : sum->list    ? "parameter:frequencies"
                                      : "parameter:bands",
                       "%zu pairs of sine and cosine are more than %d", sum->pairs, WIDTH_MAX / 2);
    if (!sum->list && !sum->is_linear && sum->bands > POWERS_MAX)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:bands",
                       "without max_resolution bands are powers of two, at most %d of them, up to "
                       "2^61: got %zu bands",
                       POWERS_MAX, sum->bands);
    return PE_OK;
}

/* Sets the bounds of the frequencies times scale. */
static enum pe_status bounds_set(struct pe_fourier_sum *sum, struct pe_error *err)
{
    const char *where = sum->is_matrix ? "parameter:matrix"
                        : sum->list    ? "parameter:frequencies"
                                       : "parameter:scale";

    sum->least = INFINITY;
    sum->most = 0;
    for (size_t axis = 0; axis < (sum->list && !sum->is_matrix ? 1 : sum->axes); axis++)
        for (size_t band = 0; band < sum->bands; band++) {
            const double size =
                fabs(pe_fourier_number(sum, axis, band)) * sum->scale / sum->divisor;
            if (size == 0)
                continue;
            if (!(size >= FREQUENCY_MIN && size <= FREQUENCY_MAX))
                return pe_fail(err, PE_OUT_OF_RANGE, where,
                               "frequencies times scale must be 0 or have absolute values from "
                               "%g to 2^62: got %g",
                               FREQUENCY_MIN, size);
            sum->least = fmin(sum->least, size);
            sum->most = fmax(sum->most, size);
        }
    return PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    struct fourier *fourier = scheme->state;
    struct pe_fourier_sum *sum = &fourier->sum;

    if (source_check(scheme, err) || axes_check(scheme, err) || sizes_check(scheme, err))
        return err->status;
    number_resolve(scheme, "unit",
                   value_of(scheme, "matrix")->present ? PE_FOURIER_TURN : PE_FOURIER_HALF_TURN);
    sum->axes = (size_t)pe_param_number(&scheme->params, "ndim");
    sum->unit = choice(scheme, "unit");
    sum->scale = pe_param_number(&scheme->params, "scale");
    frequencies_set(scheme);
    if (coordinates_set(scheme, err) || width_check(sum, err) || bounds_set(sum, err))
        return err->status;
    const int layout = choice(scheme, "layout");
    fourier->group = layout == LAYOUT_INTERLEAVED    ? 1
                     : layout == LAYOUT_CONCATENATED ? sum->pairs
                     : sum->alternating              ? sum->axes
                                                     : sum->bands;
    fourier->flip = pe_param_number(&scheme->params, "flip_sin_to_cos") != 0;
    fourier->input = choice(scheme, "include_input");
    return PE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t width(const struct pe_scheme *scheme)
{
    const struct fourier *fourier = fourier_of(scheme);

    return 2 * fourier->sum.pairs + (fourier->input != INPUT_NONE ? fourier->sum.axes : 0);
}

/* Writes the row of the coordinates `u`. */
static enum pe_status row_write(const struct pe_scheme *scheme, const double *u,
                                enum pe_dtype dtype, char *out, struct pe_work *work,
                                struct pe_error *err)
{
    enum { CHECK_PAIRS = 64 }; /* of up to 50 microseconds each */
    const struct fourier *fourier = fourier_of(scheme);
    const size_t size = pe_dtype_info(dtype)->size, group = fourier->group;
    const struct pe_fourier_point point = pe_fourier_point_of(&fourier->sum, u);
    char *sines = out + (fourier->input == INPUT_FIRST ? fourier->sum.axes * size : 0);
    char *input = fourier->input == INPUT_FIRST ? out : sines + 2 * fourier->sum.pairs * size;

    for (size_t pair = 0; pair < fourier->sum.pairs; pair++) {
        const size_t column = pair / group * 2 * group + pair % group;
        char *first = sines + column * size, *second = first + group * size;
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            return err->status;
        pe_fourier_pair(&point, pair, dtype, fourier->flip ? first : second,
                        fourier->flip ? second : first);
    }
    for (size_t axis = 0; fourier->input != INPUT_NONE && axis < fourier->sum.axes; axis++)
        pe_fourier_coordinate_write(&point, axis, dtype, input + axis * size);
    return PE_OK;
}

/* Listed points, which are stored axis by axis. */
static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t row_size = width(scheme) * pe_dtype_info(part->dtype)->size;
    double u[PE_FOURIER_AXES_MAX];

    for (size_t row = part->begin; row < part->end; row++) {
        for (size_t axis = 0; axis < fourier_of(scheme)->sum.axes; axis++)
            u[axis] = part->positions->values[axis * part->positions->count + row];
        if (row_write(scheme, u, part->dtype, (char *)out + (row - part->begin) * row_size, work,
                      err))
            return err->status;
    }
    return PE_OK;
}

/* The bounds of numbers of listed points; those that are 0 do not count. */
static struct pe_fourier_reach points_reach(const struct pe_scheme *scheme,
                                            const struct pe_positions *positions)
{
    struct pe_fourier_reach reach = {.least = INFINITY};

    for (size_t i = 0; i < fourier_of(scheme)->sum.axes * positions->count; i++) {
        const double size = fabs(positions->values[i]);
        reach.most = fmax(reach.most, size);
        reach.least = size > 0 ? fmin(reach.least, size) : reach.least;
    }
    return reach;
}

static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const struct pe_fourier_reach reach = points_reach(scheme, positions);

    return pe_fourier_cost(&fourier_of(scheme)->sum, &reach, dtype);
}

static enum pe_status points_check(const struct pe_scheme *scheme,
                                   const struct pe_positions *positions, struct pe_error *err)
{
    const struct pe_fourier_sum *sum = &fourier_of(scheme)->sum;

    for (size_t i = 0; sum->is_log && i < sum->axes * positions->count; i++)
        if (positions->values[i] <= 0)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:coordinates",
                           "axes_coordinates=logarithm is for numbers above 0, got %.17g",
                           positions->values[i]);
    return PE_OK;
}

/* ---- rows of a grid -------------------------------------------------------------------------- */

static size_t axes(const struct pe_scheme *scheme)
{
    return fourier_of(scheme)->sum.axes;
}

static enum pe_status grid_check(const struct pe_scheme *scheme, const size_t *sizes,
                                 struct pe_error *err)
{
    bool has_points = true;

    for (size_t axis = 0; axis < axes(scheme); axis++)
        has_points = has_points && sizes[axis] > 0;
    return fourier_of(scheme)->sum.is_log && has_points
               ? pe_fail(err, PE_OUT_OF_RANGE, "parameter:shape",
                         "a grid begins at 0, which has no logarithm: list the coordinates")
               : PE_OK;
}

static double grid_cost(const struct pe_scheme *scheme, const size_t *sizes, enum pe_dtype dtype)
{
    struct pe_fourier_reach reach = {.least = 1};

    for (size_t axis = 0; axis < axes(scheme); axis++)
        reach.most = fmax(reach.most, (double)sizes[axis] - 1);
    return pe_fourier_cost(&fourier_of(scheme)->sum, &reach, dtype);
}

PE_WRAPS("counts down past 0")
static enum pe_status grid_fill(const struct pe_scheme *scheme, const size_t *sizes, size_t begin,
                                size_t end, enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    const size_t row_size = width(scheme) * pe_dtype_info(dtype)->size;
    double u[PE_FOURIER_AXES_MAX];

    for (size_t row = begin; row < end; row++) {
        size_t rest = row;
        for (size_t axis = axes(scheme); axis-- > 0;) {
            u[axis] = (double)(rest % sizes[axis]);
            rest /= sizes[axis];
        }
        if (row_write(scheme, u, dtype, (char *)out + (row - begin) * row_size, work, err))
            return err->status;
    }
    return PE_OK;
}

static const struct pe_grid_rows grid_rows = {
    .axes = axes, .check = grid_check, .cost = grid_cost, .fill = grid_fill};

/* ---- the encoding ---------------------------------------------------------------------------- */

static const struct pe_param view_params[] = {PE_PARAMS_POINTS, PE_PARAMS_POOL};
static const struct pe_view_type table = {PE_VIEW_POINTS_TABLE(view_params),
                                          .info.example = "coordinates=0.25,0.5"};

static const struct pe_rows_kind rows = {.width = width,
                                         .fill = fill,
                                         .cost = cost,
                                         .positions_check = points_check,
                                         .grid = &grid_rows,
                                         .table = &table};

_Static_assert((int)PE_FOURIER_AXES_MAX <= (int)PE_GRID_ROWS_AXES_MAX, "axes of a grid");

extern const struct pe_encoding pe_encoding_fourier;
const struct pe_encoding pe_encoding_fourier = {
    .info.name = "fourier",
    .info.family = "absolute",
    .info.title = "Fourier features of coordinates, by bands of frequencies or a given matrix",
    .info.formula =
        "[sin(a_j), cos(a_j)], a_j = unit scale f_k x for each coordinate x and its frequencies "
        "f_k = 2^k, or 1 + k (max_resolution/2 - 1) / (bands - 1), or frequencies[k]; with matrix "
        "a_j = unit scale sum of matrix[a][j] x_a",
    .info.source =
        "Mildenhall et al. 2020, NeRF, arXiv:2003.08934; Tancik et al. 2020, Fourier Features Let "
        "Networks Learn High Frequency Functions, arXiv:2006.10739; Jaegle et al. 2021, Perceiver, "
        "arXiv:2103.03206; as in transformers' PerceiverFourierPositionEncoding and "
        "SamPositionalEmbedding and in diffusers' GaussianFourierProjection",
    PE_INFO_PARAMS(params),
    .info.example = "bands=3",
    .rows = &rows,
    .state_size = sizeof(struct fourier),
    .check = check,
};
