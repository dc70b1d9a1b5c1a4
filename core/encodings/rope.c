/* SPDX-License-Identifier: MIT */
#include "core/encodings/rope/rope.h"

static const struct pe_param params[] = {
#include "core/encodings/rope/rope_params.def"
};

static const struct pe_rotary_kind rotary = {
    .freq_factor = pe_rope_freq_factor,
    .softmax_scale_multiplier = pe_rope_softmax_scale_multiplier,
    .length = pe_rope_length,
    .infer = pe_rotary_infer_dim,
};

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
    .info.example = "dim=4",
    .rotary = &rotary,
    .state_size = sizeof(struct pe_rotary),
    .has_waves = true,
    .check = pe_rope_check,
    .prepare = pe_rope_prepare,
    .work = pe_rope_work,
    .close = pe_rotary_close,
};
