/* SPDX-License-Identifier: MIT */
#include "core/encodings/rope/type.h"

static float float32(const struct pe_scheme *scheme, size_t pair)
{
    return pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair);
}

extern const struct pe_rope_type pe_rope_type_default;
const struct pe_rope_type pe_rope_type_default = {
    .name = "default",
    .float32 = float32,
};
