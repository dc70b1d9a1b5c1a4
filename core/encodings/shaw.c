/* SPDX-License-Identifier: MIT */
#include "core/views.h"

static const struct pe_param params[] = {
    {.name = "max_relative_position",
     .aliases = "max_relative_positions,clipping_distance",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 16,
     .required = true,
     .unit = "positions",
     .doc =
         "Distances beyond it share a vector; the tables have 2 * max_relative_position + 1 rows."},
    {.name = "direction",
     .type = PE_CHOICE,
     .fallback = "j-i",
     .choices = "j-i,i-j",
     .doc = "Which way distances count: key minus query (the paper), or query minus key."},
};

static size_t clip(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "max_relative_position");
}

static int sign(const struct pe_scheme *scheme)
{
    return pe_param_number(&scheme->params, "direction") == 0 ? 1 : -1;
}

static int64_t bucket(const struct pe_scheme *scheme, int64_t distance)
{
    const int64_t most = (int64_t)clip(scheme), turned = sign(scheme) * distance;

    return (turned < -most ? -most : turned > most ? most : turned) + most;
}

static const struct pe_view_type *const views[] = {&pe_view_buckets, NULL};

extern const struct pe_encoding pe_encoding_shaw;
const struct pe_encoding pe_encoding_shaw = {
    .name = "shaw",
    .family = "relative",
    .title = "Relative position vectors: one for keys and one for values at every clipped distance",
    .formula = "c = clip(j - i, -max, max) + max; logits q_i (k_j + aK[c]) * scale, "
               "output sum_j a_ij (v_j + aV[c])",
    .source = "Shaw et al. 2018, Self-Attention with Relative Position Representations, "
              "arXiv:1803.02155",
    .params = params,
    .params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .example = "max_relative_position=2",
    .bucket = bucket,
    .clip = clip,
    .sign = sign,
};
