/* SPDX-License-Identifier: MIT */
#include "core/encodings/rope/rope.h"

/* Given frequencies: one number a pair, as in a stored inv_freq; or the divisors of the plain
 * frequencies, as in ggml's rope_freqs.weight. */

/* A slower pair rotates by less than the last bit of any angle; it must be given as 0. */
#define LEAST 1e-60

static const struct pe_value *list_of(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_value(&scheme->params, name);
}

static const struct pe_value *inv_freq_of(const struct pe_scheme *scheme)
{
    return list_of(scheme, "inv_freq");
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    static const char hint[] = "; rotary_dim says how many elements of a head rotate";
    const struct pe_value *list = inv_freq_of(scheme);

    if (list->present == list_of(scheme, "freq_factors")->present)
        return pe_fail(err, list->present ? PE_CONFLICT : PE_MISSING, "parameter:inv_freq",
                       "rope_type custom needs inv_freq, or freq_factors that divide the plain "
                       "frequencies%s",
                       list->present ? ", and not both" : "");
    if (pe_rope_list_check(scheme, "inv_freq", hint, err) ||
        pe_rope_list_check(scheme, "freq_factors", hint, err))
        return err->status;
    for (size_t pair = 0; list->present && pair < list->list_count; pair++)
        if (list->list[pair] != 0 && list->list[pair] < LEAST)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:inv_freq",
                           "inv_freq must be 0 or at least %g, got %.17g at index %zu", LEAST,
                           list->list[pair], pair);
    return PE_OK;
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    const struct pe_value *list = inv_freq_of(context);

    (void)shared;
    return list->present ? pe_wide_of(pe_wide_precision(power), list->list[pair])
                         : pe_wide_div_double(*power, list_of(context, "freq_factors")->list[pair]);
}

/* With factors, the float32 quotient. ggml divides angles instead, which rounds differently. */
static float float32(const struct pe_scheme *scheme, size_t pair)
{
    const struct pe_value *list = inv_freq_of(scheme);

    return list->present ? (float)list->list[pair]
                         : pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair) /
                               (float)list_of(scheme, "freq_factors")->list[pair];
}

extern const struct pe_rope_type pe_rope_type_custom;
const struct pe_rope_type pe_rope_type_custom = {
    .name = "custom",
    .optional = "inv_freq,freq_factors,attention_factor",
    .check = check,
    .scaled = scaled,
    .float32 = float32,
};
