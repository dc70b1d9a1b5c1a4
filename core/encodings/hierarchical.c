/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/exact_sum.h"
#include "core/scheme/learned.h"

/* A learned table p of n rows extended to n^2 rows: with u = (p - a p_0) / (1 - a), row i n + j is
 * a u_i + (1 - a) u_j, which is p_j + a / (1 - a) (p_i - p_0), and p_j where i is 0. */

/* The least alpha whose ratio fits double-doubles. */
#define LEAST 0x1p-200

static const struct pe_param params[] = {
    PE_PARAMS_LEARNED,
    {.name = "alpha",
     .type = PE_NUMBER,
     .min = 0,
     .max = 0x1.fffffffffffffp-1,
     .above_min = true,
     .fallback = "0.4",
     .doc = "The weight of u[t div n] in the formula, that of u[t mod n] being 1 - alpha. It must "
            "not be 0.5, with which positions i n + j and j n + i have the same row."},
};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    if (pe_param_number(&scheme->params, "alpha") != 0.5)
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, "parameter:alpha",
                   "alpha 0.5 makes row (i, j) equal to row (j, i); take another one");
}

static double positions_count(const struct pe_scheme *scheme)
{
    const double rows = (double)pe_learned_table(scheme)->shape[0];

    return fmin(rows * rows, 0x1p53);
}

/* a / (1 - a), with a relative error of 2^-98. */
static struct pe_exact ratio_of(double alpha)
{
    const struct pe_exact rest = pe_two_sum(1, -alpha);
    const double first = alpha / rest.hi;
    const struct pe_exact product = pe_exact_multiply(rest, (struct pe_exact){first, 0});
    const struct pe_exact left =
        pe_exact_add((struct pe_exact){alpha, 0}, pe_exact_negate(product));

    return pe_quick_sum(first, left.hi / rest.hi);
}

/* The elements that a sum consists of. */
struct terms {
    double own, block, zero; /* p_j, p_i, p_0 */
};

/* 1 - a has at most 1074 bits, since a may be 2^-1074. */
enum { REST_BITS = 1088, QUOTIENT_BITS = 1536 };

/* ((1 - a) p_j + a (p_i - p_0)) / (1 - a). The sum of the products is exact. Truncating the sum and
 * the quotient to 1536 bits does not move the quotient across a number of at most 54 bits, since
 * the product of such a number and 1 - a has at most 1128 bits. */
static void sum_exactly(const struct terms *terms, double alpha, enum pe_dtype dtype, void *out)
{
    const struct pe_wide rest = pe_wide_sub_double(pe_wide_of_uint(REST_BITS, 1), alpha);
    struct pe_sum sum = {{0}};

    pe_sum_add(&sum, terms->own, 1);
    pe_sum_add(&sum, terms->own, -alpha);
    pe_sum_add(&sum, terms->block, alpha);
    pe_sum_add(&sum, terms->zero, -alpha);
    pe_wide_write(pe_wide_div(pe_sum_wide(&sum, QUOTIENT_BITS), rest), dtype, out);
}

static bool is_moderate(const struct terms *terms)
{
    return (terms->own == 0 || pe_learned_is_moderate(terms->own)) &&
           (terms->block == 0 || pe_learned_is_moderate(terms->block)) &&
           (terms->zero == 0 || pe_learned_is_moderate(terms->zero));
}

static void sum_write(const struct terms *terms, double alpha, struct pe_exact ratio,
                      enum pe_dtype dtype, void *out)
{
    if (terms->block == terms->zero) {
        pe_from_f64(out, dtype, &terms->own, 1);
        return;
    }
    if (alpha > LEAST && is_moderate(terms)) {
        const struct pe_exact part =
            pe_exact_multiply(ratio, pe_two_sum(terms->block, -terms->zero));
        const struct pe_exact sum = pe_exact_add((struct pe_exact){terms->own, 0}, part);
        const double error = fabs(part.hi) * 0x1p-96 + fabs(sum.hi) * 0x1p-100;
        if (pe_exact_round(sum, error, dtype, out))
            return;
    }
    sum_exactly(terms, alpha, dtype, out);
}

static void row(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out)
{
    const double alpha = pe_param_number(&scheme->params, "alpha");
    const size_t rows = pe_learned_table(scheme)->shape[0],
                 at = pe_learned_position(positions, index);
    const struct pe_exact ratio = ratio_of(alpha);

    if (at < rows) {
        pe_learned_copy(scheme, at, dtype, out);
        return;
    }
    for (size_t i = 0; i < pe_learned_width(scheme); i++) {
        struct terms terms;
        pe_learned_read(scheme, at % rows, i, 1, &terms.own);
        pe_learned_read(scheme, at / rows, i, 1, &terms.block);
        pe_learned_read(scheme, 0, i, 1, &terms.zero);
        sum_write(&terms, alpha, ratio, dtype, (char *)out + i * pe_dtype_info(dtype)->size);
    }
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    return pe_rows_each(scheme, part, row, out, work, err);
}

/* The first rows are copied from the table. */
static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double rows = (double)pe_learned_table(scheme)->shape[0];
    const double last = positions->start + positions->step * ((double)positions->count - 1);

    if (!positions->values && fmax(positions->start, last) < rows)
        return pe_learned_copy_cost(scheme, dtype);
    return pe_param_number(&scheme->params, "alpha") > LEAST ? 45 : 1200;
}

static const struct pe_rows_kind rows = {
    .width = pe_learned_width, .fill = fill, .cost = cost, .positions_check = pe_learned_positions};
static const struct pe_learned_kind learned = {.rows = positions_count};

extern const struct pe_encoding pe_encoding_hierarchical;
const struct pe_encoding pe_encoding_hierarchical = {
    .info.name = "hierarchical",
    .info.family = "absolute",
    .info.title = "A learned table of n rows extended to n^2 positions by decomposition",
    .info.formula =
        "u = (p - alpha p_0) / (1 - alpha); PE[t] = alpha u[t div n] + (1 - alpha) u[t mod n]",
    .info.source =
        "Su, Hierarchical decomposition of position encodings (kexue.fm/archives/7947), 2020",
    PE_INFO_PARAMS(params),
    .info.example = "table=sample",
    .rows = &rows,
    .learned = &learned,
    .state_size = sizeof(struct pe_tensor),
    .check = check,
    .prepare = pe_learned_prepare,
};
