/* SPDX-License-Identifier: MIT */
#include "core/rope_type.h"

extern const struct pe_rope_type pe_rope_type_default;
const struct pe_rope_type pe_rope_type_default = {
    .name = "default",
    .frequency = pe_rope_plain_frequency,
};
