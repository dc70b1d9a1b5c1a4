/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/rope.h"

/* Llama 3.1's: low frequencies are divided by the factor, high ones unchanged, those between
 * blended. Where both bounds are equal, as in Llama 4 Scout, none is between:
 * _compute_llama3_parameters of huggingface/transformers, tag v5.23.0,
 * src/transformers/modeling_rope_utils.py. */

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double low = pe_rope_param(scheme, "low_freq_factor");
    const double high = pe_rope_param(scheme, "high_freq_factor");

    if (high >= low)
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, "parameter:high_freq_factor",
                   "high_freq_factor must not be below low_freq_factor, got %g and %g", high, low);
}

enum { LENGTH = 1 }; /* the original one over 2 pi */

static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    const double length = pe_rope_param(context, "original_max_position_embeddings");

    pe_rope_compute_shared(out, bits, context);
    out->number[LENGTH] =
        pe_wide_scale(pe_wide_div(pe_wide_of(bits, length), pe_wide_pi(bits)), -1);
}

/* s = (O / wavelength - low) / (high - low), clamped to [0, 1]. The result is continuous in s, so
 * that a frequency on a bound needs no more digits than any other. */
static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    const double low = pe_rope_param(context, "low_freq_factor");
    const double high = pe_rope_param(context, "high_freq_factor");
    const struct pe_wide slow = pe_wide_div_double(*power, pe_rope_param(context, "factor"));
    const struct pe_wide rotations = pe_wide_mul(*power, shared->number[LENGTH]);
    const struct pe_wide span = pe_wide_sub_double(pe_wide_of(192, high), low);
    /* A span of 0 gives an infinity with the right sign. */
    const struct pe_wide s = pe_wide_div(pe_wide_sub_double(rotations, low), span);

    (void)pair;
    if (pe_wide_sign(s) <= 0)
        return slow;
    if (pe_wide_compare_double(s, 1) >= 0)
        return *power;
    return pe_wide_add(slow, pe_wide_mul(s, pe_wide_sub(*power, slow)));
}

/* torch divides a number by a tensor as the reciprocal times the number. */
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
    .compute_shared = compute_shared,
    .scaled = scaled,
    .cost = 1300,
    .float32 = float32,
    .candidate = "low_freq_factor=1 high_freq_factor=4",
};
