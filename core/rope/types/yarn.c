/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/float32.h"
#include "core/rope/parts/type.h"

/* YaRN: Peng et al. 2023, arXiv:2309.00071; parameters and defaults as Hugging Face names them. */

/* The factor; absent, max_position_embeddings over the original length, as a real number. */
static void factor_evaluate(mpfr_ptr out, const struct pe_scheme *scheme)
{
    const double factor = pe_rope_param(scheme, "factor");

    if (!isnan(factor)) {
        mpfr_set_d(out, factor, MPFR_RNDN);
        return;
    }
    mpfr_set_d(out, pe_rope_param(scheme, "max_position_embeddings"), MPFR_RNDN);
    mpfr_div_d(out, out, pe_rope_original(scheme), MPFR_RNDN);
}

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
    if (pe_rope_param(scheme, "factor") < 1)
        pe_scheme_warn(scheme, "factor %g is below 1: positions are stretched, not interpolated",
                       pe_rope_param(scheme, "factor"));
    return PE_OK;
}

/* The pair, as a real number, that turns `rotations` times within the original length:
 * rotary_dim * ln(O / (2 pi rotations)) / (2 ln base). */
static void pair_evaluate(mpfr_ptr out, const struct pe_scheme *scheme, double rotations)
{
    mpfr_t divisor;

    mpfr_init2(divisor, mpfr_get_prec(out));
    mpfr_const_pi(divisor, MPFR_RNDN);
    mpfr_mul_d(divisor, divisor, rotations, MPFR_RNDN);
    mpfr_mul_2ui(divisor, divisor, 1, MPFR_RNDN);
    mpfr_d_div(out, pe_rope_original(scheme), divisor, MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, pe_rotary_of(scheme)->rotary_dim, MPFR_RNDN);
    mpfr_set_d(divisor, pe_rope_param(scheme, "base"), MPFR_RNDN);
    mpfr_log(divisor, divisor, MPFR_RNDN);
    mpfr_mul_2ui(divisor, divisor, 1, MPFR_RNDN);
    mpfr_div(out, out, divisor, MPFR_RNDN);
    mpfr_clear(divisor);
}

/* clamp((pair - low) / (high - low), 0, 1) with low and high whole unless truncate=false. */
static void ramp_evaluate(mpfr_ptr out, const struct pe_scheme *scheme, size_t pair)
{
    const bool whole = pe_rope_param(scheme, "truncate") != 0;
    const size_t last = pe_rotary_of(scheme)->rotary_dim - 1;
    mpfr_t low, high;

    mpfr_inits2(mpfr_get_prec(out), low, high, (mpfr_ptr)NULL);
    pair_evaluate(low, scheme, pe_rope_param(scheme, "beta_fast"));
    pair_evaluate(high, scheme, pe_rope_param(scheme, "beta_slow"));
    if (whole) {
        mpfr_floor(low, low);
        mpfr_ceil(high, high);
    }
    if (mpfr_sgn(low) < 0)
        mpfr_set_ui(low, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(high, last) > 0)
        mpfr_set_ui(high, last, MPFR_RNDN);
    if (mpfr_equal_p(low, high)) { /* a thousandth more */
        mpfr_mul_ui(high, high, 1000, MPFR_RNDN);
        mpfr_add_ui(high, high, 1, MPFR_RNDN);
        mpfr_div_ui(high, high, 1000, MPFR_RNDN);
    }

    mpfr_sub(high, high, low, MPFR_RNDN);
    mpfr_ui_sub(out, pair, low, MPFR_RNDN);
    mpfr_div(out, out, high, MPFR_RNDN);
    if (mpfr_sgn(out) < 0)
        mpfr_set_ui(out, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(out, 1) > 0)
        mpfr_set_ui(out, 1, MPFR_RNDN);
    mpfr_clears(low, high, (mpfr_ptr)NULL);
}

/* w / f * ramp + w * (1 - ramp) */
static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    mpfr_t ramp, slow;

    mpfr_inits2(mpfr_get_prec(out), ramp, slow, (mpfr_ptr)NULL);
    ramp_evaluate(ramp, context, pair);
    pe_rope_plain_frequency(out, context, pair);
    factor_evaluate(slow, context);
    mpfr_div(slow, out, slow, MPFR_RNDN);
    mpfr_mul(slow, slow, ramp, MPFR_RNDN);
    mpfr_ui_sub(ramp, 1, ramp, MPFR_RNDN);
    mpfr_mul(out, out, ramp, MPFR_RNDN);
    mpfr_add(out, out, slow, MPFR_RNDN);
    mpfr_clears(ramp, slow, (mpfr_ptr)NULL);
}

/* g(f, m) = 1 if f <= 1 else m ln(f) / 10 + 1; m and the tenth are the real numbers as written. */
static void magnitude_evaluate(mpfr_ptr out, const struct pe_scheme *scheme, double scale)
{
    factor_evaluate(out, scheme);
    if (mpfr_cmp_ui(out, 1) <= 0) {
        mpfr_set_ui(out, 1, MPFR_RNDN);
        return;
    }
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_d(out, out, scale, MPFR_RNDN);
    mpfr_div_ui(out, out, 10, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
}

static bool is_set(double value)
{
    return !isnan(value) && value != 0;
}

static void attention_factor(mpfr_ptr out, const void *context, size_t index)
{
    const double scale = pe_rope_param(context, "mscale");
    const double scale_all = pe_rope_param(context, "mscale_all_dim");
    mpfr_t divisor;

    (void)index;
    if (!is_set(scale) || !is_set(scale_all)) {
        magnitude_evaluate(out, context, 1);
        return;
    }
    mpfr_init2(divisor, mpfr_get_prec(out));
    magnitude_evaluate(out, context, scale);
    magnitude_evaluate(divisor, context, scale_all);
    mpfr_div(out, out, divisor, MPFR_RNDN);
    mpfr_clear(divisor);
}

static void multiplier_evaluate(mpfr_ptr out, const void *context, size_t index)
{
    (void)index;
    magnitude_evaluate(out, context, pe_rope_param(context, "mscale_all_dim"));
    mpfr_sqr(out, out, MPFR_RNDN);
}

static double softmax_scale_multiplier(const struct pe_scheme *scheme)
{
    double multiplier;

    if (!is_set(pe_rope_param(scheme, "mscale_all_dim")))
        return NAN;
    pe_real_round(multiplier_evaluate, scheme, 0, PE_F64, &multiplier);
    return multiplier;
}

/* pair_evaluate in double operations. */
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
    const float kept = 1 - fminf(fmaxf(ramp, 0), 1);
    const float slow = 1 / ((float)factor * power), fast = 1 / power;
    return slow * (1 - kept) + fast * kept;
}

extern const struct pe_rope_type pe_rope_type_yarn;
const struct pe_rope_type pe_rope_type_yarn = {
    .name = "yarn",
    .optional = "factor,original_max_position_embeddings,beta_fast,beta_slow,mscale,mscale_all_dim,"
                "truncate,attention_factor",
    .check = check,
    .work = 30000,
    .frequency = frequency,
    .float32 = float32,
    .factor = attention_factor,
    .softmax_scale_multiplier = softmax_scale_multiplier,
    .suspect = "",
};
