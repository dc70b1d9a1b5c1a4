/* SPDX-License-Identifier: MIT */
#include "core/encodings/rope/rope.h"

/* Positions are stretched by the factor, where `linear` interpolates them. */
static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return pe_wide_mul_double(*power, pe_rope_param(context, "factor"));
}

extern const struct pe_rope_type pe_rope_type_tight;
const struct pe_rope_type pe_rope_type_tight = {
    .name = "tight", .required = "factor", .scaled = scaled};
