/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/type.h"

/* Gemma's: a part of the pairs turns, the first ones, and the rest of the whole head stands still;
 * transformers' _compute_proportional_rope_parameters. */

/* int(part * head_dim // 2), the product rounded to a double as transformers' is: 0.7 of 20 is 14
 * there, though the double nearest 0.7 is below it. */
static size_t turning_pairs(const struct pe_scheme *scheme)
{
    const double part = pe_rope_param(scheme, "partial_rotary_factor");
    const size_t head_dim = pe_rotary_of(scheme)->head_dim;

    return isnan(part) ? head_dim / 2 : (size_t)floor(part * (double)head_dim / 2);
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    const double factor = pe_rope_param(context, "factor");

    (void)shared;
    if (pair >= turning_pairs(context))
        return pe_wide_of_uint(pe_wide_precision(power), 0);
    return isnan(factor) ? *power : pe_wide_div_double(*power, factor);
}

static float float32(const struct pe_scheme *scheme, size_t pair)
{
    const double factor = pe_rope_param(scheme, "factor");

    if (pair >= turning_pairs(scheme))
        return 0;
    return pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair) /
           (float)(isnan(factor) ? 1 : factor);
}

extern const struct pe_rope_type pe_rope_type_proportional;
const struct pe_rope_type pe_rope_type_proportional = {
    .name = "proportional",
    .optional = "factor",
    .whole_head = true,
    .scaled = scaled,
    .float32 = float32,
};
