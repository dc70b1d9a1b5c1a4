/* SPDX-License-Identifier: MIT */
#include "core/encodings/rope/type.h"
#include "core/exact/correct_rounding.h"

/* Types of rope in float32, in the order of operations of Hugging Face transformers,
 * modeling_rope_utils.py: numbers of a configuration are doubles until they meet
 * a tensor, whose operations round to float32. */

float pe_rope_float32_power(const struct pe_scheme *scheme, double base, size_t pair)
{
    return pe_float32_power((float)base,
                            (float)(2 * pair) / (float)pe_rotary_of(scheme)->rotary_dim);
}

float pe_rope_float32_plain(const struct pe_scheme *scheme, double base, size_t pair)
{
    return 1 / pe_rope_float32_power(scheme, base, pair);
}

double pe_rope_stretched_base(const struct pe_scheme *scheme, double stretch)
{
    const double dim = (double)pe_rotary_of(scheme)->rotary_dim;

    return pe_rope_param(scheme, "base") * pe_float64_power(stretch, dim / (dim - 2));
}
