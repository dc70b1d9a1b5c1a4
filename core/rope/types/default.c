/* SPDX-License-Identifier: MIT */
#include "core/rope/rope_type.h"

static void float32(const struct pe_scheme *scheme, float *frequencies)
{
    pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), frequencies);
}

extern const struct pe_rope_type pe_rope_type_default;
const struct pe_rope_type pe_rope_type_default = {
    .name = "default",
    .frequency = pe_rope_plain_frequency,
    .float32 = float32,
};
