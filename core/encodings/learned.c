/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "core/base/params.h"
#include "core/base/work.h"
#include "core/encodings/grid_resampling.h"
#include "core/exact/exact_sum.h"

static const struct pe_param params[] = {
    PE_PARAMS_LEARNED,
    {.name = "l2norm",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether each row is divided by its Euclidean norm; a row of zeros stays as it is."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .fallback = "1",
     .doc = "The factor of all rows, applied after l2norm."},
    {.name = "grid",
     .type = PE_NUMBERS,
     .min = 1,
     .max = PE_RESAMPLING_SIDE_MAX,
     .unit = "positions",
     .doc = "The rows and columns of the grid of patches that the table was learned for, row by "
            "row: 16,16. The table is resampled to the grid `to`, as "
            "torch.nn.functional.interpolate does it; it is not if absent."},
    {.name = "to",
     .type = PE_NUMBERS,
     .min = 1,
     .max = PE_RESAMPLING_SIDE_MAX,
     .unit = "positions",
     .doc = "With grid: the rows and columns of the grid that the table is resampled to. Where it "
            "is that of the table, the rows stay as they are."},
    {.name = "mode",
     .type = PE_CHOICE,
     .choices = "bilinear,bicubic",
     .doc = "With grid: the interpolation. bicubic: that with a = -0.75, and with antialias=true "
            "that with a = -0.5."},
    {.name = "align_corners",
     .type = PE_BOOLEAN,
     .doc = "With grid: whether the centres of the corners of both grids coincide, as in "
            "Qwen3-VL, rather than their edges, as in most models."},
    {.name = "antialias",
     .type = PE_BOOLEAN,
     .doc = "With grid: whether the interpolation is widened where the new grid is the coarser "
            "one, and weights beyond the edge are left out rather than given to the edge."},
    {.name = "prefix",
     .type = PE_INTEGER,
     .min = 0,
     .max = 1 << 20,
     .unit = "positions",
     .doc = "With grid: the number of rows of the table before those of the grid, which are kept: "
            "class tokens, registers; 0 if absent."},
    {.name = "interpolate_offset",
     .type = PE_NUMBER,
     .min = 0.001,
     .max = 0.999,
     .doc = "With grid: the number by which the rows and columns of `to` are increased where a "
            "scale is computed, as DINOv2 does by 0.1; they are not if absent."},
};

struct state {
    struct pe_tensor table;
    struct pe_resampling *resampling; /* NULL: rows are those of the table */
};

/* ---- grid ----------------------------------------------------------------------------------- */

static const struct pe_value *value_of(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_value(&scheme->params, name);
}

/* False: the table has no grid. */
static bool grid_of(const struct pe_scheme *scheme, struct pe_resampling_spec *spec)
{
    const struct pe_value *grid = value_of(scheme, "grid"), *to = value_of(scheme, "to");
    const struct pe_value *prefix = value_of(scheme, "prefix");
    const struct pe_value *offset = value_of(scheme, "interpolate_offset");

    if (!grid->present)
        return false;
    *spec = (struct pe_resampling_spec){
        .before = prefix->present ? (size_t)prefix->number : 0,
        .from = {(size_t)pe_value_at(grid, 0), (size_t)pe_value_at(grid, 1)},
        .to = {(size_t)pe_value_at(to, 0), (size_t)pe_value_at(to, 1)},
        .mode = (enum pe_resampling_mode)pe_param_choice(&scheme->params, "mode"),
        .align_corners = pe_param_number(&scheme->params, "align_corners") != 0,
        .antialias = pe_param_number(&scheme->params, "antialias") != 0,
        .offset = offset->present ? offset->number : 0,
    };
    return true;
}

/* False: rows are those of the table. */
static bool is_resampled(const struct pe_scheme *scheme, struct pe_resampling_spec *spec)
{
    return grid_of(scheme, spec) && (spec->from[0] != spec->to[0] || spec->from[1] != spec->to[1]);
}

static enum pe_status side_check(const struct pe_scheme *scheme, const char *name,
                                 struct pe_error *err)
{
    const struct pe_value *sides = value_of(scheme, name);
    char where[32];

    snprintf(where, sizeof(where), "parameter:%s", name);
    if (sides->list_count != 2)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s is two numbers, rows and columns; got %zu", name, sides->list_count);
    for (size_t i = 0; i < 2; i++)
        if (pe_value_at(sides, i) != floor(pe_value_at(sides, i)))
            return pe_fail(err, PE_INVALID, where, "%s must be whole numbers, got %.17g", name,
                           pe_value_at(sides, i));
    return PE_OK;
}

static enum pe_status gridless_check(const struct pe_scheme *scheme, struct pe_error *err)
{
    for (size_t i = (size_t)pe_params_find(&scheme->params, "grid") + 1; i < scheme->params.count;
         i++)
        if (scheme->params.values[i].given)
            return pe_param_fail(err, PE_CONFLICT, &params[i],
                                 "%s is of a table that is resampled; it needs grid%s", "");
    return PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    static const char *const needed[] = {"to", "mode", "align_corners", "antialias"};

    if (!value_of(scheme, "grid")->present)
        return gridless_check(scheme, err);
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        if (!value_of(scheme, needed[i])->present)
            return pe_fail_missing(err, &params[pe_params_find(&scheme->params, needed[i])]);
    if (side_check(scheme, "grid", err) || side_check(scheme, "to", err))
        return err->status;
    if (pe_param_number(&scheme->params, "l2norm") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:l2norm",
                       "rows of a resampled grid are not divided by their norms; leave l2norm out");
    if (pe_param_number(&scheme->params, "scale") != 1)
        return pe_fail(err, PE_CONFLICT, "parameter:scale",
                       "rows of a resampled grid have no factor; leave scale out");
    if (pe_param_given(&scheme->params, "interpolate_offset") &&
        pe_param_number(&scheme->params, "align_corners") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:interpolate_offset",
                       "with align_corners=true the scale is that of the corners, to which "
                       "interpolate_offset adds nothing");
    return PE_OK;
}

static enum pe_status table_check(const struct pe_scheme *scheme, const struct pe_tensor *table,
                                  struct pe_error *err)
{
    struct pe_resampling_spec spec;

    if (!grid_of(scheme, &spec) ||
        table->shape[0] == spec.before + spec.from[0] * (uint64_t)spec.from[1])
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:grid",
                   "a grid of %zu,%zu after a prefix of %zu rows has %.0f rows, and the table has "
                   "%zu",
                   spec.from[0], spec.from[1], spec.before,
                   (double)spec.before + (double)spec.from[0] * (double)spec.from[1],
                   table->shape[0]);
}

static double prepare_cost(const struct pe_scheme *scheme)
{
    struct pe_resampling_spec spec;

    return is_resampled(scheme, &spec) ? pe_resampling_cost(&spec) : 0;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    struct state *state = scheme->state;
    struct pe_resampling_spec spec;

    if (pe_learned_prepare(scheme, work, err) || !is_resampled(scheme, &spec) ||
        pe_spend(work, pe_resampling_cost(&spec), err))
        return err->status;
    return pe_resampling_new(&state->resampling, &spec, work, err);
}

static void close_all(void *state)
{
    pe_resampling_free(((struct state *)state)->resampling);
}

static double positions_count(const struct pe_scheme *scheme)
{
    struct pe_resampling_spec spec;

    if (!grid_of(scheme, &spec))
        return (double)pe_learned_table(scheme)->shape[0];
    return (double)spec.before + (double)spec.to[0] * (double)spec.to[1];
}

/* ---- scale ---------------------------------------------------------------------------------- */

/* RN(value scale); the product of two doubles has 106 bits. */
static void scaled_write(double value, double scale, enum pe_dtype dtype, void *out)
{
    const double zero = value * scale;

    if (value == 0 || scale == 0)
        pe_from_f64(out, dtype, &zero, 1);
    else if (pe_learned_is_moderate(value) && pe_learned_is_moderate(scale))
        pe_exact_round(pe_two_product(value, scale), 0, dtype, out);
    else
        pe_wide_write(pe_wide_mul_double(pe_wide_of(128, value), scale), dtype, out);
}

/* ---- l2norm --------------------------------------------------------------------------------- */

static double element(const struct pe_scheme *scheme, size_t row, size_t column)
{
    double value;

    pe_learned_read(scheme, row, column, 1, &value);
    return value;
}

/* 1 / sqrt(sum of squares), with a relative error of 2^-80: 2^20 sums of 2^-102 each, and a Newton
 * step from 2^-52. False: a square is out of the range of double-doubles, or all are 0. */
static bool norm_inverse(const struct pe_scheme *scheme, size_t row, struct pe_exact *inverse)
{
    struct pe_exact sum = {0, 0};

    for (size_t i = 0; i < pe_learned_width(scheme); i++) {
        const double value = element(scheme, row, i);
        if (value == 0)
            continue;
        if (!pe_learned_is_moderate(value))
            return false;
        sum = pe_exact_add(sum, pe_two_product(value, value));
    }
    if (sum.hi == 0)
        return false;
    const double first = 1 / sqrt(sum.hi);
    const struct pe_exact product = pe_exact_multiply(sum, pe_two_product(first, first));
    const struct pe_exact rest = pe_exact_add((struct pe_exact){1, 0}, pe_exact_negate(product));

    *inverse = pe_quick_sum(first, first * rest.hi / 2); /* rest is about 2^-52 */
    return true;
}

static struct pe_wide square_of(struct pe_wide x)
{
    return pe_wide_mul(pe_wide_cut(x, 2 * pe_wide_precision(&x)), x);
}

static void squares_sum(struct pe_sum *sum, const struct pe_scheme *scheme, size_t row)
{
    *sum = (struct pe_sum){{0}};
    for (size_t i = 0; i < pe_learned_width(scheme); i++) {
        const double value = element(scheme, row, i);
        pe_sum_add(sum, value, value);
    }
}

/* RN(value scale / sqrt(sum)), ties included. `root` becomes the largest number of 128 bits whose
 * square times the sum does not exceed (value scale)^2, which exact squares decide. The estimate of
 * 320 bits is off by less than one unit of the last bit, and one unit is added to start above. */
static void normed_exactly(double value, double scale, const struct pe_sum *sum,
                           enum pe_dtype dtype, void *out)
{
    enum { BITS = 128, ESTIMATE = 320 };
    const struct pe_wide product = pe_wide_mul_double(pe_wide_of(BITS, value), scale);
    const struct pe_wide target = square_of(product);
    const struct pe_wide quotient =
        pe_wide_div(pe_wide_cut(target, ESTIMATE), pe_sum_wide(sum, ESTIMATE));
    struct pe_wide root = pe_wide_cut(pe_wide_sqrt(quotient), BITS);
    int side;

    root.inexact = false;
    const struct pe_wide last =
        pe_wide_scale(pe_wide_of_uint(64, 1), pe_wide_exponent(root) - BITS);
    root = pe_wide_add(root, last);
    while ((side = pe_sum_compare(sum, square_of(root), target)) > 0)
        root = pe_wide_sub(root, last);
    root.inexact = side < 0;
    pe_wide_write(pe_wide_sign(product) < 0 ? pe_wide_negate(root) : root, dtype, out);
}

static void normed_write(const struct pe_scheme *scheme, size_t row, double scale,
                         enum pe_dtype dtype, void *out)
{
    const size_t size = pe_dtype_info(dtype)->size;
    struct pe_exact inverse = {0, 0};
    const bool fast = norm_inverse(scheme, row, &inverse) && pe_learned_is_moderate(scale);
    bool summed = false;
    struct pe_sum sum;

    for (size_t i = 0; i < pe_learned_width(scheme); i++) {
        const double value = element(scheme, row, i);
        void *at = (char *)out + i * size;
        if (value == 0 || scale == 0) {
            scaled_write(value, scale, dtype, at);
            continue;
        }
        if (fast) {
            const struct pe_exact guess = pe_exact_multiply(pe_two_product(value, scale), inverse);
            if (pe_exact_round(guess, fabs(guess.hi) * 0x1p-78, dtype, at))
                continue;
        }
        if (!summed)
            squares_sum(&sum, scheme, row);
        summed = true;
        normed_exactly(value, scale, &sum, dtype, at);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void row(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out)
{
    const double scale = pe_param_number(&scheme->params, "scale");
    const size_t at = pe_learned_position(positions, index);

    if (pe_param_number(&scheme->params, "l2norm") != 0)
        normed_write(scheme, at, scale, dtype, out);
    else if (scale == 1)
        pe_learned_copy(scheme, at, dtype, out);
    else
        for (size_t i = 0; i < pe_learned_width(scheme); i++)
            scaled_write(element(scheme, at, i), scale, dtype,
                         (char *)out + i * pe_dtype_info(dtype)->size);
}

static enum pe_status resampled_fill(const struct pe_scheme *scheme,
                                     const struct pe_resampling_spec *spec,
                                     const struct pe_rows_part *part, void *out,
                                     struct pe_work *work, struct pe_error *err)
{
    const struct state *state = scheme->state;
    const size_t row_size = pe_learned_width(scheme) * pe_dtype_info(part->dtype)->size;

    for (size_t index = part->begin; index < part->end && !pe_work_check(work, err); index++) {
        const size_t at = pe_learned_position(part->positions, index);
        void *to = (char *)out + (index - part->begin) * row_size;
        if (at < spec->before)
            pe_learned_copy(scheme, at, part->dtype, to);
        else if (pe_resampling_row(state->resampling, scheme, at - spec->before, part->dtype, to,
                                   work, err))
            break;
    }
    return err->status;
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    struct pe_resampling_spec spec;

    return is_resampled(scheme, &spec) ? resampled_fill(scheme, &spec, part, out, work, err)
                                       : pe_rows_each(scheme, part, row, out, work, err);
}

static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double scale = pe_param_number(&scheme->params, "scale");
    const bool slow = scale != 0 && !pe_learned_is_moderate(scale);
    struct pe_resampling_spec spec;

    (void)positions;
    if (is_resampled(scheme, &spec))
        return pe_resampling_element_cost(&spec, dtype);
    if (pe_param_number(&scheme->params, "l2norm") != 0)
        return slow ? 3000 : 50;
    return slow ? 130 : scale != 1 ? 20 : pe_learned_copy_cost(scheme, dtype);
}

static const struct pe_rows_kind rows = {
    .width = pe_learned_width, .fill = fill, .cost = cost, .positions_check = pe_learned_positions};
static const struct pe_learned_kind learned = {.rows = positions_count, .table_check = table_check};

extern const struct pe_encoding pe_encoding_learned;
const struct pe_encoding pe_encoding_learned = {
    .info.name = "learned",
    .info.family = "absolute",
    .info.title = "Rows of a learned table, looked up by position",
    .info.formula = "PE[t] = scale E[t], or scale E[t] / |E[t]| with l2norm; t < rows; with grid "
                    "PE[prefix + y w + x] = sum of f_y(i) f_x(j) E[prefix + i grid_w + j], the sum "
                    "of f being 1",
    .info.source =
        "Gehring et al., Convolutional Sequence to Sequence Learning, 2017; Devlin et al., "
        "BERT, 2018; grids as torch.nn.functional.interpolate resamples them",
    PE_INFO_PARAMS(params),
    .info.example = "table=sample",
    .rows = &rows,
    .learned = &learned,
    .state_size = sizeof(struct state),
    .check = check,
    .prepare = prepare,
    .cost = prepare_cost,
    .close = close_all,
};
