/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/rope/parts/type.h"

/* Llama 3.1's: long waves are slowed by the factor, short ones kept, those between blended. Where
 * both borders are one, as in Llama 4 Scout, no wave is between: _compute_llama3_parameters of
 * huggingface/transformers, tag v5.23.0, src/transformers/modeling_rope_utils.py. */

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double low = pe_rope_param(scheme, "low_freq_factor");
    const double high = pe_rope_param(scheme, "high_freq_factor");

    if (high >= low)
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, "parameter:high_freq_factor",
                   "high_freq_factor must not be below low_freq_factor, got %g and %g", high, low);
}

/* s = (O / wavelength - low) / (high - low), which is 0 at the longest blended wave and 1 at the
 * shortest; outside, one of the ends. The result is continuous in s, so a wave on the border needs
 * no more digits than any other. */
static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    const double low = pe_rope_param(context, "low_freq_factor");
    const double high = pe_rope_param(context, "high_freq_factor");
    mpfr_t s, scaled, span;

    mpfr_inits2(mpfr_get_prec(out), s, scaled, span, (mpfr_ptr)NULL);
    pe_rope_plain_frequency(out, context, pair);
    mpfr_div_d(scaled, out, pe_rope_param(context, "factor"), MPFR_RNDN);

    mpfr_const_pi(s, MPFR_RNDN);
    mpfr_mul_2ui(s, s, 1, MPFR_RNDN);
    mpfr_div(s, out, s, MPFR_RNDN);
    mpfr_mul_d(s, s, pe_rope_param(context, "original_max_position_embeddings"), MPFR_RNDN);
    mpfr_sub_d(s, s, low, MPFR_RNDN);
    mpfr_set_d(span, high, MPFR_RNDN);
    mpfr_sub_d(span, span, low, MPFR_RNDN);
    mpfr_div(s, s, span, MPFR_RNDN); /* over 0 an infinity, whose sign tells the side */

    if (mpfr_sgn(s) <= 0) {
        mpfr_set(out, scaled, MPFR_RNDN);
    } else if (mpfr_cmp_ui(s, 1) < 0) {
        mpfr_sub(out, out, scaled, MPFR_RNDN); /* scaled + s * (w - scaled) */
        mpfr_mul(out, out, s, MPFR_RNDN);
        mpfr_add(out, out, scaled, MPFR_RNDN);
    }
    mpfr_clears(s, scaled, span, (mpfr_ptr)NULL);
}

/* A number over a tensor is its reciprocal times the number. */
static float float32(const struct pe_scheme *scheme, size_t pair)
{
    const double low = pe_rope_param(scheme, "low_freq_factor");
    const double high = pe_rope_param(scheme, "high_freq_factor");
    const double original = pe_rope_param(scheme, "original_max_position_embeddings");
    const float factor = (float)pe_rope_param(scheme, "factor");
    const float longest = (float)(original / low), shortest = (float)(original / high);
    const float w = pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair);
    const float wave = 1 / w * (float)(2 * M_PI);

    if (wave > longest)
        return w / factor;
    if (wave < shortest || high == low)
        return w;
    const float s = (1 / wave * (float)original - (float)low) / (float)(high - low);
    return (1 - s) * w / factor + s * w;
}

extern const struct pe_rope_type pe_rope_type_llama3;
const struct pe_rope_type pe_rope_type_llama3 = {
    .name = "llama3",
    .required = "factor,low_freq_factor,high_freq_factor,original_max_position_embeddings",
    .check = check,
    .frequency = frequency,
    .float32 = float32,
    .suspect = "low_freq_factor=1 high_freq_factor=4",
};
