/* SPDX-License-Identifier: MIT */
#include "core/rope/rope_type.h"
#include "core/views/views.h"

static const struct pe_param params[] = {
#include "core/rope/rope_params.def"
};

static bool turns(const struct pe_scheme *scheme)
{
    return scheme->pairs > 0;
}

static const struct pe_view_type *const views[] = {&pe_view_rotary_table,
                                                   &pe_view_rotary_frequencies,
                                                   &pe_view_similarity,
                                                   &pe_view_decay,
                                                   &pe_view_uniqueness,
                                                   &pe_view_wavelengths,
                                                   &pe_view_error,
                                                   &pe_view_shift,
                                                   NULL};

extern const struct pe_encoding pe_encoding_rope;
const struct pe_encoding pe_encoding_rope = {
    .info.name = "rope",
    .info.family = "rotary",
    .info.title = "Rotary position embedding: pairs of a query or key turn with its position",
    .info.formula =
        "(x0, x1) -> A (x0 cos tw - x1 sin tw, x0 sin tw + x1 cos tw), w_i = base^(-2i/dim)",
    .info.source = "Su et al. 2021, RoFormer, arXiv:2104.09864; scaled types as in Hugging Face "
                   "transformers, modeling_rope_utils.py",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .info.example = "dim=4",
    .check = pe_rope_check,
    .prepare = pe_rope_prepare,
    .turns = turns,
    .rotates = true,
    .freq_factor = pe_rope_freq_factor,
    .softmax_scale_multiplier = pe_rope_softmax_scale_multiplier,
    .length = pe_rope_length,
};
