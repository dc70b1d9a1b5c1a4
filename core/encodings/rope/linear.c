/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/rope.h"

/* The plain frequencies, or each of them divided by one factor. */

static float default_float32(const struct pe_scheme *scheme, size_t pair)
{
    return pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair);
}

extern const struct pe_rope_type pe_rope_type_default;
const struct pe_rope_type pe_rope_type_default = {
    .name = "default",
    .float32 = default_float32,
};

/* ---- linear: position interpolation, Chen et al. 2023, arXiv:2306.15595 ---------------------- */

static enum pe_status linear_check(struct pe_scheme *scheme, struct pe_error *err)
{
    (void)err;
    pe_rope_factor_warn(scheme, "positions are stretched, not interpolated");
    return PE_OK;
}

static struct pe_wide linear_scaled(const struct pe_wide *power, const struct pe_shared *shared,
                                    const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return pe_wide_div_double(*power, pe_rope_param(context, "factor"));
}

static float linear_float32(const struct pe_scheme *scheme, size_t pair)
{
    return pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair) /
           (float)pe_rope_param(scheme, "factor");
}

extern const struct pe_rope_type pe_rope_type_linear;
const struct pe_rope_type pe_rope_type_linear = {
    .name = "linear",
    .required = "factor",
    .check = linear_check,
    .scaled = linear_scaled,
    .float32 = linear_float32,
    .candidate = "",
};

/* ---- proportional: Gemma's, transformers' _compute_proportional_rope_parameters -------------- */

/* Only the first int(part * head_dim // 2) pairs rotate. The product is rounded to a double as in
 * transformers: 0.7 * 20 is 14, though the double nearest 0.7 is below it. */
static size_t rotating_pairs(const struct pe_scheme *scheme)
{
    const double part = pe_rope_param(scheme, "partial_rotary_factor");
    const size_t head_dim = pe_rotary_of(scheme)->head_dim;

    return isnan(part) ? head_dim / 2 : (size_t)floor(part * (double)head_dim / 2);
}

static struct pe_wide proportional_scaled(const struct pe_wide *power,
                                          const struct pe_shared *shared, const void *context,
                                          size_t pair)
{
    const double factor = pe_rope_param(context, "factor");

    (void)shared;
    if (pair >= rotating_pairs(context))
        return pe_wide_of_uint(pe_wide_precision(power), 0);
    return isnan(factor) ? *power : pe_wide_div_double(*power, factor);
}

static float proportional_float32(const struct pe_scheme *scheme, size_t pair)
{
    const double factor = pe_rope_param(scheme, "factor");

    if (pair >= rotating_pairs(scheme))
        return 0;
    return pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair) /
           (float)(isnan(factor) ? 1 : factor);
}

extern const struct pe_rope_type pe_rope_type_proportional;
const struct pe_rope_type pe_rope_type_proportional = {
    .name = "proportional",
    .optional = "factor",
    .whole_head = true,
    .scaled = proportional_scaled,
    .float32 = proportional_float32,
};
