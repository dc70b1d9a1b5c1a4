/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/parts/kerple.h"
#include "core/exact/elementary.h"

static const struct pe_param params[] = {
    PE_PARAM_HEADS,
    PE_PARAM_KERPLE("a", 1e30,
                    "What the power is multiplied by, learned: one for all heads or one for each."),
    PE_PARAM_KERPLE(
        "p", 2, "The exponent, learned: one for all heads or one for each; at 1 this is alibi."),
};

/* Exact where the value is rational, which may be a tie: whole powers, roots of squares,
 * distance 1. They have 179 bits at most. */
static struct pe_wide real(unsigned bits, const void *context, size_t index)
{
    const struct pe_kerple *element = context;
    const struct pe_wide distance = pe_wide_of_uint(bits, (uint64_t)element->distance);

    (void)index;
    return pe_wide_mul_double(pe_wide_pow(distance, pe_wide_of(64, element->p)), -element->a);
}

/* n^p where it is a whole number of at most 53 bits without further ado; else 0. */
static double power_whole(double n, double p)
{
    const double power = n == 1 || p == 1 ? n : p == 2 ? n * n : 0;

    return power < 0x1p53 ? power : 0;
}

/* By steps, each left where its bound does not decide: the exact product, doubles, double-doubles,
 * wide numbers. p ln n is below 76: so many times the error of the logarithm is that of the power.
 */
static void element_write(const struct pe_kerple *element, enum pe_dtype dtype, void *out)
{
    const double a = element->a, p = element->p;

    if (a > PE_KERPLE_LEAST && p > PE_KERPLE_LEAST) {
        const struct pe_exact n = pe_kerple_distance(element);
        const struct pe_exact before = pe_exact_add(n, (struct pe_exact){-1, 0});
        const double whole = power_whole(n.hi, p);
        if (whole > 0) {
            pe_exact_round(pe_two_product(whole, -a), 0, dtype, out);
            return;
        }
        const struct pe_exact near = {-a * pe_exp(p * pe_log1p(before.hi)), 0};
        if (dtype != PE_F64 &&
            pe_exact_round(near, fabs(near.hi) * (128 * PE_LOG_ERROR), dtype, out))
            return;
        const struct pe_exact logarithm =
            pe_exact_multiply(pe_exact_log1p(before), (struct pe_exact){p, 0});
        const struct pe_exact value =
            pe_exact_multiply(pe_exact_exp(logarithm), (struct pe_exact){-a, 0});
        if (pe_exact_round(value, fabs(value.hi) * (4 * PE_EXP_ERROR_EXACT), dtype, out))
            return;
    }
    pe_real_round(real, element, 0, dtype, out);
}

static enum pe_status row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                          struct pe_error *err)
{
    return pe_kerple_row(part, out, element_write, work, err);
}

/* Alike for all heads: p = 1 and p = 2 are products, anything else takes a logarithm. */
static double work(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    bool whole = true;

    if (pe_kerple_is_slow(scheme))
        return 3500;
    for (size_t head = 0; head < pe_heads_count(scheme) && whole; head++)
        whole = fmod(pe_head_number(scheme, "p", head), 1) == 0;
    return whole ? 20 : dtype == PE_F64 ? 950 : 170;
}

static const struct pe_bias_kind bias = {.heads = pe_heads_count,
                                         .row = row,
                                         .by_distance = true,
                                         .work = work,
                                         .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_kerple_power;
const struct pe_encoding pe_encoding_kerple_power = {
    .info.name = "kerple-power",
    .info.family = "bias",
    .info.title = "KERPLE, the power kernel: bias falls with a power of the distance",
    .info.formula = "bias[h, i, j] = -a_h |i - j|^p_h",
    .info.source = "Chi et al. 2022, KERPLE: Kernelized Relative Positional Embedding for Length "
                   "Extrapolation, arXiv:2205.09921",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .info.example = "heads=2&a=1,0.5&p=1.5",
    .bias = &bias,
    .check = pe_kerple_check,
};
