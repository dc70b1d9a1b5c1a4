/* SPDX-License-Identifier: MIT */
#include "core/rope_type.h"
#include "core/views.h"

static const struct pe_param params[] = {
#include "core/rope_params.def"
};

static const struct pe_view_type *const views[] = {&pe_view_rotary_table,
                                                   &pe_view_rotary_frequencies, NULL};

extern const struct pe_encoding pe_encoding_rope;
const struct pe_encoding pe_encoding_rope = {
    .name = "rope",
    .family = "rotary",
    .title = "Rotary position embedding: pairs of a query or key turn with its position",
    .formula = "(x0, x1) -> A (x0 cos tw - x1 sin tw, x0 sin tw + x1 cos tw), w_i = base^(-2i/dim)",
    .source = "Su et al. 2021, RoFormer, arXiv:2104.09864; scaled types as in Hugging Face "
              "transformers, modeling_rope_utils.py",
    .params = params,
    .params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .example = "dim=4",
    .check = pe_rope_check,
    .prepare = pe_rope_prepare,
    .rotates = true,
    .freq_factor = pe_rope_freq_factor,
    .softmax_scale_multiplier = pe_rope_softmax_scale_multiplier,
};
