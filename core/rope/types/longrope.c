/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "core/rope/parts/type.h"

/* LongRoPE: each pair has a divisor of its own, one list up to the original length and one beyond;
 * Ding et al. 2024, arXiv:2402.13753, and transformers' _compute_longrope_parameters. */

/* Up to the original length by one list; a longer sequence by the other, however long. */
static double length(const struct pe_scheme *scheme)
{
    const double original = pe_rope_original(scheme);

    return pe_rope_param(scheme, "seq_len") > original ? INFINITY : original;
}

static const struct pe_value *divisors_of(const struct pe_scheme *scheme)
{
    return pe_param_value(&scheme->params, isinf(length(scheme)) ? "long_factor" : "short_factor");
}

/* f = factor if given, else M / O. */
static void factor_evaluate(mpfr_ptr out, const struct pe_scheme *scheme)
{
    const double given = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");

    mpfr_set_d(out, isnan(given) ? most : given, MPFR_RNDN);
    if (isnan(given))
        mpfr_div_d(out, out, pe_rope_original(scheme), MPFR_RNDN);
}

static enum pe_status list_check(const struct pe_scheme *scheme, const char *name,
                                 struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(&scheme->params, name);
    char where[64];

    if (list->list_count == pe_waves_of(scheme)->pairs)
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_SHAPE_MISMATCH, where,
                   "%s has %zu numbers, one for each of the %zu pairs is needed", name,
                   list->list_count, pe_waves_of(scheme)->pairs);
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
    return list_check(scheme, "short_factor", err) ? err->status
                                                   : list_check(scheme, "long_factor", err);
}

static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    pe_rope_plain_frequency(out, context, pair);
    mpfr_div_d(out, out, divisors_of(context)->list[pair], MPFR_RNDN);
}

/* 1 if f <= 1 else sqrt(1 + ln f / ln O) */
static void attention_factor(mpfr_ptr out, const void *context, size_t index)
{
    mpfr_t original;

    (void)index;
    factor_evaluate(out, context);
    if (mpfr_cmp_ui(out, 1) <= 0) {
        mpfr_set_ui(out, 1, MPFR_RNDN);
        return;
    }
    mpfr_init2(original, mpfr_get_prec(out));
    mpfr_set_d(original, pe_rope_original(context), MPFR_RNDN);
    mpfr_log(original, original, MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_div(out, out, original, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
    mpfr_sqrt(out, out, MPFR_RNDN);
    mpfr_clear(original);
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
    .frequency = frequency,
    .float32 = float32,
    .factor = attention_factor,
    .length = length,
};
