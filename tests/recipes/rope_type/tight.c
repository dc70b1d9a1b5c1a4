/* SPDX-License-Identifier: MIT */
#include "core/rope/parts/type.h"

/* Positions are stretched by the factor, where `linear` interpolates them. */
static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    pe_rope_plain_frequency(out, context, pair);
    mpfr_mul_d(out, out, pe_rope_param(context, "factor"), MPFR_RNDN);
}

extern const struct pe_rope_type pe_rope_type_tight;
const struct pe_rope_type pe_rope_type_tight = {
    .name = "tight", .required = "factor", .frequency = frequency};
