/* SPDX-License-Identifier: MIT */
#include "core/encodings/rope/type.h"

/* Position interpolation: Chen et al. 2023, arXiv:2306.15595. */

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double factor = pe_rope_param(scheme, "factor");

    (void)err;
    if (factor < 1)
        pe_scheme_warn(scheme, "factor %g is below 1: positions are stretched, not interpolated",
                       factor);
    return PE_OK;
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return pe_wide_div_double(*power, pe_rope_param(context, "factor"));
}

static float float32(const struct pe_scheme *scheme, size_t pair)
{
    return pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair) /
           (float)pe_rope_param(scheme, "factor");
}

extern const struct pe_rope_type pe_rope_type_linear;
const struct pe_rope_type pe_rope_type_linear = {
    .name = "linear",
    .required = "factor",
    .check = check,
    .scaled = scaled,
    .float32 = float32,
    .suspect = "",
};
