/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/kinds/learned.h"

static const struct pe_param params[] = {
    PE_PARAMS_LEARNED,
    {.name = "l2norm",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Divide each row by its Euclidean norm; a row of zeros stays."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .fallback = "1",
     .doc = "What rows are multiplied by, after l2norm."},
};

static double positions_count(const struct pe_scheme *scheme)
{
    return (double)pe_learned_table(scheme)->shape[0];
}

/* ---- scale ---------------------------------------------------------------------------------- */

/* The product of two doubles has 106 bits. */
static void scaled_write(double value, double scale, enum pe_dtype dtype, void *out)
{
    const double zero = value * scale;
    mpfr_t product;

    if (value == 0 || scale == 0) {
        pe_from_f64(out, dtype, &zero, 1);
        return;
    }
    if (pe_learned_is_moderate(value) && pe_learned_is_moderate(scale)) {
        pe_exact_round(pe_two_product(value, scale), 0, dtype, out);
        return;
    }
    mpfr_init2(product, 106);
    mpfr_set_d(product, value, MPFR_RNDN);
    mpfr_mul_d(product, product, scale, MPFR_RNDN);
    pe_mpfr_write(product, dtype, out);
    mpfr_clear(product);
}

/* ---- l2norm --------------------------------------------------------------------------------- */

static double element(const struct pe_scheme *scheme, size_t row, size_t column)
{
    double value;

    pe_learned_read(scheme, row, column, 1, &value);
    return value;
}

/* 1 / sqrt(sum of squares), to 2^-80 of it: 2^20 sums of 2^-102 each, and a Newton step from
 * 2^-52. False: a square is out of the range of such arithmetic, or all are 0. */
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

/* The sum of squares of doubles, without rounding: they lie between 2^-2148 and 2^2048, and there
 * are 2^20 at most. */
enum { SQUARES_BITS = 4300, PRODUCT_BITS = SQUARES_BITS + 2 * PE_LEARNED_BITS };

static void squares_sum(mpfr_ptr sum, const struct pe_scheme *scheme, size_t row)
{
    mpfr_t square;

    mpfr_init2(square, 106);
    mpfr_set_zero(sum, 1);
    for (size_t i = 0; i < pe_learned_width(scheme); i++) {
        mpfr_set_d(square, element(scheme, row, i), MPFR_RNDN);
        mpfr_sqr(square, square, MPFR_RNDN);
        mpfr_add(sum, sum, square, MPFR_RNDN);
    }
    mpfr_clear(square);
}

/* Compares c^2 sum with (value scale)^2, all of them exact. */
static int root_compare(mpfr_srcptr c, mpfr_srcptr sum, mpfr_srcptr target, mpfr_ptr scratch)
{
    mpfr_sqr(scratch, c, MPFR_RNDN);
    mpfr_mul(scratch, scratch, sum, MPFR_RNDN);
    return mpfr_cmp(scratch, target);
}

/* RN(value scale / sqrt(sum)): the quotient is cut to 128 bits, and squares, which are rational,
 * tell whether that cut anything off. So ties are decided too. */
static void normed_exactly(double value, double scale, mpfr_srcptr sum, enum pe_dtype dtype,
                           void *out)
{
    const bool negative = (value < 0) != (scale < 0);
    mpfr_t target, c, scratch;
    int side;

    mpfr_inits2(PRODUCT_BITS, target, scratch, (mpfr_ptr)NULL);
    mpfr_init2(c, PE_LEARNED_BITS);
    mpfr_set_d(target, value, MPFR_RNDN);
    mpfr_mul_d(target, target, scale, MPFR_RNDN);
    mpfr_sqr(target, target, MPFR_RNDN);
    mpfr_div(scratch, target, sum, MPFR_RNDN);
    mpfr_sqrt(c, scratch, MPFR_RNDZ);
    while ((side = root_compare(c, sum, target, scratch)) > 0) /* by the division's last bit */
        mpfr_nextbelow(c);
    mpfr_set_prec(scratch, PE_LEARNED_BITS + 2);
    mpfr_set(scratch, c, MPFR_RNDN);
    mpfr_setsign(scratch, scratch, negative, MPFR_RNDN);
    pe_learned_finish(scratch, side < 0, dtype, out);
    mpfr_clears(target, c, scratch, (mpfr_ptr)NULL);
}

static void normed_write(const struct pe_scheme *scheme, size_t row, double scale,
                         enum pe_dtype dtype, void *out)
{
    const size_t size = pe_dtype_info(dtype)->size;
    struct pe_exact inverse = {0, 0};
    const bool fast = norm_inverse(scheme, row, &inverse) && pe_learned_is_moderate(scale);
    bool summed = false;
    mpfr_t sum;

    mpfr_init2(sum, SQUARES_BITS);
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
            squares_sum(sum, scheme, row);
        summed = true;
        normed_exactly(value, scale, sum, dtype, at);
    }
    mpfr_clear(sum);
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

static double work(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double scale = pe_param_number(&scheme->params, "scale");
    const bool slow = scale != 0 && !pe_learned_is_moderate(scale);

    (void)positions;
    if (pe_param_number(&scheme->params, "l2norm") != 0)
        return slow ? 3000 : 50;
    return slow ? 130 : scale != 1 ? 20 : pe_learned_copy_work(scheme, dtype);
}

static const struct pe_rows_kind rows = {
    .width = pe_learned_width, .fill = fill, .work = work, .positions_check = pe_learned_positions};
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
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .info.example = "table=sample",
    .rows = &rows,
    .learned = &learned,
    .state_size = sizeof(struct pe_tensor),
    .prepare = pe_learned_prepare,
};
