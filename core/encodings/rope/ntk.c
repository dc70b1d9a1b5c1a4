/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/type.h"

/* NTK-aware scaling with a fixed stretch of the base: `factor` as in the first posts about it, or
 * `alpha` as Hunyuan's configuration calls it. */

static double stretch_of(const struct pe_scheme *scheme)
{
    const double alpha = pe_rope_param(scheme, "alpha");

    return isnan(alpha) ? pe_rope_param(scheme, "factor") : alpha;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const bool factor = !isnan(pe_rope_param(scheme, "factor"));
    const bool alpha = !isnan(pe_rope_param(scheme, "alpha"));

    if (factor && alpha)
        return pe_fail(err, PE_CONFLICT, "parameter:alpha",
                       "alpha and factor are two names for how the base is stretched; give one");
    if (!factor && !alpha)
        return pe_fail(err, PE_MISSING, "parameter:factor", "ntk needs factor, or alpha");
    return pe_rope_stretch_check(scheme, stretch_of(scheme), alpha ? "alpha" : "factor", err);
}

static void share(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_rope_stretched_share(out, context, pe_wide_of(bits, stretch_of(context)));
}

/* As transformers' modeling_hunyuan_v1_dense.py does it with alpha. */
static float float32(const struct pe_scheme *scheme, size_t pair)
{
    return pe_rope_float32_plain(scheme, pe_rope_stretched_base(scheme, stretch_of(scheme)), pair);
}

extern const struct pe_rope_type pe_rope_type_ntk;
const struct pe_rope_type pe_rope_type_ntk = {
    .name = "ntk",
    .optional = "factor,alpha",
    .check = check,
    .share = share,
    .float32 = float32,
    .suspect = "",
};
