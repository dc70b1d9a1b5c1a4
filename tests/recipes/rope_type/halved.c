/* SPDX-License-Identifier: MIT */
#include "core/rope/parts/type.h"

/* Every pair turns half as fast, whatever the parameters say. */

static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    pe_rope_plain_frequency(out, context, pair);
    mpfr_div_2ui(out, out, 1, MPFR_RNDN);
}

extern const struct pe_rope_type pe_rope_type_halved;
const struct pe_rope_type pe_rope_type_halved = {.name = "halved", .frequency = frequency};
