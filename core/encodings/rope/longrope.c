/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/rope.h"

/* LongRoPE: a divisor for each pair, from one list up to the original length and from another
 * beyond it; Ding et al. 2024, arXiv:2402.13753, and transformers' _compute_longrope_parameters. */

/* The short list is intended up to the original length, the long one for any length beyond. */
static double length(const struct pe_scheme *scheme)
{
    const double original = pe_rope_original(scheme);

    return pe_rope_param(scheme, "seq_len") > original ? INFINITY : original;
}

static const struct pe_value *divisors_of(const struct pe_scheme *scheme)
{
    return pe_param_value(&scheme->params, isinf(length(scheme)) ? "long_factor" : "short_factor");
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double factor = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const double original = pe_rope_original(scheme);

    if (isnan(original))
        return pe_fail(
            err, PE_MISSING, "parameter:original_max_position_embeddings",
            "longrope needs original_max_position_embeddings (or max_position_embeddings)");
    if (isnan(factor) && isnan(most) && isnan(pe_rope_param(scheme, "attention_factor")))
        return pe_fail(err, PE_MISSING, "parameter:factor",
                       "longrope needs factor, or max_position_embeddings to derive it from");
    if (original < 2 && isnan(pe_rope_param(scheme, "attention_factor")))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:original_max_position_embeddings",
                       "an original length of 1 has no logarithm to divide by; give "
                       "attention_factor");
    if (!isnan(factor) && !isnan(most) && factor * original != most)
        pe_scheme_warn(
            scheme,
            "factor %g was used; max over original length is %g, which older versions of "
            "transformers take instead",
            factor, most / original);
    return pe_rope_list_check(scheme, "short_factor", "", err)
               ? err->status
               : pe_rope_list_check(scheme, "long_factor", "", err);
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    (void)shared;
    return pe_wide_div_double(*power, divisors_of(context)->list[pair]);
}

/* 1 if f <= 1 else sqrt(1 + ln f / ln O) */
static struct pe_wide attention_factor(unsigned bits, const void *context, size_t index)
{
    const struct pe_wide factor = pe_rope_factor(bits, context);
    const struct pe_wide original = pe_wide_of(bits, pe_rope_original(context));

    (void)index;
    if (pe_wide_compare_double(factor, 1) <= 0)
        return pe_wide_of_uint(bits, 1);
    return pe_wide_sqrt(
        pe_wide_add_double(pe_wide_div(pe_wide_log(factor), pe_wide_log(original)), 1));
}

static float float32(const struct pe_scheme *scheme, size_t pair)
{
    const double *divisors = divisors_of(scheme)->list;
    const double base = pe_rope_param(scheme, "base");

    return 1 / ((float)divisors[pair] * pe_rope_float32_power(scheme, base, pair));
}

extern const struct pe_rope_type pe_rope_type_longrope;
const struct pe_rope_type pe_rope_type_longrope = {
    .name = "longrope",
    .required = "short_factor,long_factor",
    .optional = "factor,original_max_position_embeddings,seq_len,attention_factor",
    .check = check,
    .scaled = scaled,
    .float32 = float32,
    .factor = attention_factor,
    .length = length,
};
