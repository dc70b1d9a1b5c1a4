/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/parts/kerple.h"
#include "core/exact/elementary.h"

static const struct pe_param params[] = {
    PE_PARAM_HEADS,
    PE_PARAM_KERPLE(
        "p", 1e30,
        "What the logarithm is multiplied by, learned: one for all heads or one for each."),
    PE_PARAM_KERPLE(
        "a", 1e30,
        "What the distance is multiplied by, learned: one for all heads or one for each."),
};

/* No distance but 0 gives a number that a floating type holds, nor halfway between two: the
 * logarithm of a rational other than 1 is transcendental. */
static struct pe_wide real(unsigned bits, const void *context, size_t index)
{
    const struct pe_kerple *element = context;
    const struct pe_wide distance = pe_wide_of_uint(bits, (uint64_t)element->distance);

    (void)index;
    return pe_wide_mul_double(pe_wide_log1p(pe_wide_mul_double(distance, element->a)), -element->p);
}

/* By steps, each left where its bound does not decide: doubles, double-doubles, wide numbers. */
static void element_write(const struct pe_kerple *element, enum pe_dtype dtype, void *out)
{
    const double a = element->a, p = element->p;

    if (p > PE_KERPLE_LEAST && a > PE_KERPLE_LEAST) {
        const struct pe_exact x =
            pe_exact_multiply(pe_kerple_distance(element), (struct pe_exact){a, 0});
        const struct pe_exact near = {-p * pe_log1p(x.hi), 0};
        if (dtype != PE_F64 && pe_exact_round(near, fabs(near.hi) * (2 * PE_LOG_ERROR), dtype, out))
            return;
        const struct pe_exact value =
            pe_exact_multiply(pe_exact_log1p(x), (struct pe_exact){-p, 0});
        if (pe_exact_round(value, fabs(value.hi) * (2 * PE_LOG_ERROR_EXACT), dtype, out))
            return;
    }
    pe_real_round(real, element, 0, dtype, out);
}

static enum pe_status row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                          struct pe_error *err)
{
    return pe_kerple_row(part, out, element_write, work, err);
}

static double work(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    return pe_kerple_is_slow(scheme) ? 1000 : dtype == PE_F64 ? 420 : 80;
}

static const struct pe_bias_kind bias = {.heads = pe_heads_count,
                                         .row = row,
                                         .by_distance = true,
                                         .work = work,
                                         .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_kerple_log;
const struct pe_encoding pe_encoding_kerple_log = {
    .info.name = "kerple-log",
    .info.family = "bias",
    .info.title = "KERPLE, the logarithmic kernel: bias falls with the logarithm of the distance",
    .info.formula = "bias[h, i, j] = -p_h ln(1 + a_h |i - j|)",
    .info.source = "Chi et al. 2022, KERPLE: Kernelized Relative Positional Embedding for Length "
                   "Extrapolation, arXiv:2205.09921",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .info.example = "heads=2&p=1,0.5&a=0.25",
    .bias = &bias,
    .check = pe_kerple_check,
};
