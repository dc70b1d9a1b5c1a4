/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/exact_sum.h"
#include "core/scheme/learned.h"

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
};

static double positions_count(const struct pe_scheme *scheme)
{
    return (double)pe_learned_table(scheme)->shape[0];
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

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    return pe_rows_each(scheme, part, row, out, work, err);
}

static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double scale = pe_param_number(&scheme->params, "scale");
    const bool slow = scale != 0 && !pe_learned_is_moderate(scale);

    (void)positions;
    if (pe_param_number(&scheme->params, "l2norm") != 0)
        return slow ? 3000 : 50;
    return slow ? 130 : scale != 1 ? 20 : pe_learned_copy_cost(scheme, dtype);
}

static const struct pe_rows_kind rows = {
    .width = pe_learned_width, .fill = fill, .cost = cost, .positions_check = pe_learned_positions};
static const struct pe_learned_kind learned = {.rows = positions_count};

extern const struct pe_encoding pe_encoding_learned;
const struct pe_encoding pe_encoding_learned = {
    .info.name = "learned",
    .info.family = "absolute",
    .info.title = "Rows of a learned table, looked up by position",
    .info.formula = "PE[t] = scale E[t], or scale E[t] / |E[t]| with l2norm; t < rows",
    .info.source =
        "Gehring et al., Convolutional Sequence to Sequence Learning, 2017; Devlin et al., "
        "BERT, 2018",
    PE_INFO_PARAMS(params),
    .info.example = "table=sample",
    .rows = &rows,
    .learned = &learned,
    .state_size = sizeof(struct pe_tensor),
    .prepare = pe_learned_prepare,
};
