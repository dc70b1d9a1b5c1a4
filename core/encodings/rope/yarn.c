/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/rope.h"
#include "core/exact/correct_rounding.h"

/* YaRN: Peng et al. 2023, arXiv:2309.00071; parameters and defaults as Hugging Face names them. */

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    if (isnan(pe_rope_original(scheme)))
        return pe_fail(err, PE_MISSING, "parameter:original_max_position_embeddings",
                       "yarn needs original_max_position_embeddings (or max_position_embeddings)");
    if (isnan(pe_rope_param(scheme, "factor")) &&
        isnan(pe_rope_param(scheme, "max_position_embeddings")))
        return pe_fail(err, PE_MISSING, "parameter:factor",
                       "yarn needs factor, or max_position_embeddings to derive it from");
    if (pe_rope_param(scheme, "beta_fast") < pe_rope_param(scheme, "beta_slow"))
        pe_scheme_warn(scheme, "beta_fast %g is below beta_slow %g: the ramp is turned around",
                       pe_rope_param(scheme, "beta_fast"), pe_rope_param(scheme, "beta_slow"));
    pe_rope_factor_warn(scheme, "positions are stretched, not interpolated");
    return PE_OK;
}

enum { RATE, LOW, SPAN };

/* The index, as a real number, of the pair that makes `rotations` full turns within the original
 * length: rotary_dim * ln(O / (2 pi rotations)) / (2 ln base). */
static struct pe_wide pair_of(const struct pe_wide *rate, const struct pe_scheme *scheme,
                              double rotations)
{
    const unsigned bits = pe_wide_precision(rate);
    const struct pe_wide around = pe_wide_scale(pe_wide_pi(bits), 1);
    const struct pe_wide length = pe_wide_of(bits, pe_rope_original(scheme));

    return pe_wide_div(pe_wide_log(pe_wide_div(length, pe_wide_mul_double(around, rotations))),
                       *rate);
}

/* The start and the length of the ramp, rounded to whole pairs unless truncate=false. */
static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    const bool truncate = pe_rope_param(context, "truncate") != 0;
    const size_t last = pe_rotary_of(context)->rotary_dim - 1;
    struct pe_wide low, high;

    pe_rope_compute_shared(out, bits, context);
    low = pair_of(&out->number[RATE], context, pe_rope_param(context, "beta_fast"));
    high = pair_of(&out->number[RATE], context, pe_rope_param(context, "beta_slow"));
    if (truncate) {
        low = pe_wide_floor(low);
        high = pe_wide_ceil(high);
    }
    if (pe_wide_sign(low) < 0)
        low = pe_wide_of_uint(bits, 0);
    if (pe_wide_compare_double(high, (double)last) > 0)
        high = pe_wide_of_uint(bits, last);
    if (pe_wide_compare(low, high) == 0) /* as transformers does against division by 0 */
        high = pe_wide_add(high, pe_wide_div_uint(pe_wide_of_uint(bits, 1), 1000));
    out->number[LOW] = low;
    out->number[SPAN] = pe_wide_sub(high, low);
}

/* clamp((pair - low) / (high - low), 0, 1) */
static struct pe_wide ramp_of(const struct pe_shared *shared, size_t pair)
{
    const struct pe_wide beyond = pe_wide_sub(pe_wide_of_uint(64, pair), shared->number[LOW]);
    const struct pe_wide ramp = pe_wide_div(beyond, shared->number[SPAN]);

    if (pe_wide_sign(ramp) < 0)
        return pe_wide_of_uint(64, 0);
    return pe_wide_compare_double(ramp, 1) > 0 ? pe_wide_of_uint(64, 1) : ramp;
}

/* w / f * ramp + w * (1 - ramp) */
static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    const struct pe_wide ramp = ramp_of(shared, pair);
    const struct pe_wide unscaled = pe_wide_sub(pe_wide_of_uint(64, 1), ramp);

    if (pe_wide_sign(ramp) == 0)
        return *power;
    const struct pe_wide slow =
        pe_wide_div(*power, pe_rope_factor(pe_wide_precision(power), context));
    return pe_wide_add(pe_wide_mul(*power, unscaled), pe_wide_mul(slow, ramp));
}

/* g(f, m) = 1 if f <= 1 else m ln(f) / 10 + 1, in real numbers: a tenth, not the double 0.1. */
static struct pe_wide magnitude_of(unsigned bits, const struct pe_scheme *scheme, double scale)
{
    const struct pe_wide factor = pe_rope_factor(bits, scheme);

    if (pe_wide_compare_double(factor, 1) <= 0)
        return pe_wide_of_uint(bits, 1);
    return pe_wide_add_double(pe_wide_div_uint(pe_wide_mul_double(pe_wide_log(factor), scale), 10),
                              1);
}

static bool is_set(double value)
{
    return !isnan(value) && value != 0;
}

static struct pe_wide attention_factor(unsigned bits, const void *context, size_t index)
{
    const double scale = pe_rope_param(context, "mscale");
    const double scale_all = pe_rope_param(context, "mscale_all_dim");

    (void)index;
    if (!is_set(scale) || !is_set(scale_all))
        return magnitude_of(bits, context, 1);
    return pe_wide_div(magnitude_of(bits, context, scale), magnitude_of(bits, context, scale_all));
}

static struct pe_wide multiplier(unsigned bits, const void *context, size_t index)
{
    const double scale = pe_rope_param(context, "mscale_all_dim");
    const struct pe_wide magnitude = magnitude_of(bits, context, scale);

    (void)index;
    return pe_wide_mul(magnitude, magnitude);
}

static double softmax_scale_multiplier(const struct pe_scheme *scheme)
{
    double value;

    if (!is_set(pe_rope_param(scheme, "mscale_all_dim")))
        return NAN;
    pe_real_round(multiplier, scheme, 0, PE_F64, &value);
    return value;
}

/* pair_of in double operations. */
static double float64_pair(const struct pe_scheme *scheme, double rotations)
{
    const double original = pe_rope_original(scheme);

    return (double)pe_rotary_of(scheme)->rotary_dim *
           pe_float64_log(original / (rotations * 2 * M_PI)) /
           (2 * pe_float64_log(pe_rope_param(scheme, "base")));
}

static float float32(const struct pe_scheme *scheme, size_t pair)
{
    const double given = pe_rope_param(scheme, "factor"), base = pe_rope_param(scheme, "base");
    const double factor =
        isnan(given) ? pe_rope_param(scheme, "max_position_embeddings") / pe_rope_original(scheme)
                     : given;
    double low = float64_pair(scheme, pe_rope_param(scheme, "beta_fast"));
    double high = float64_pair(scheme, pe_rope_param(scheme, "beta_slow"));

    if (pe_rope_param(scheme, "truncate") != 0) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)pe_rotary_of(scheme)->rotary_dim - 1);
    if (low == high)
        high += 0.001;
    const float power = pe_rope_float32_power(scheme, base, pair);
    const float ramp = ((float)pair - (float)low) / (float)(high - low);
    const float unscaled = 1 - fminf(fmaxf(ramp, 0), 1);
    const float slow = 1 / ((float)factor * power), fast = 1 / power;
    return slow * (1 - unscaled) + fast * unscaled;
}

extern const struct pe_rope_type pe_rope_type_yarn;
const struct pe_rope_type pe_rope_type_yarn = {
    .name = "yarn",
    .optional = "factor,original_max_position_embeddings,beta_fast,beta_slow,mscale,mscale_all_dim,"
                "truncate,attention_factor",
    .check = check,
    .cost = 1300,
    .compute_shared = compute_shared,
    .scaled = scaled,
    .float32 = float32,
    .factor = attention_factor,
    .softmax_scale_multiplier = softmax_scale_multiplier,
    .candidate = "",
};
