/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/type.h"

/* NTK-aware scaling with fixed frequencies, as engines read the rope_type ntk of a config; with
 * mixed_b, mixed over the pairs. vllm-project/vllm, vllm/model_executor/layers/rotary_embedding/
 * ntk_scaling_rope.py (03587f5); Su 2023, kexue.fm/archives/9706. */

enum { RATE, SLOWING };

static bool is_mixed(const struct pe_scheme *scheme)
{
    return !isnan(pe_rope_param(scheme, "mixed_b"));
}

static struct pe_wide mixed_power(unsigned bits, const struct pe_scheme *scheme, double pair)
{
    return pe_wide_pow(pe_wide_of(bits, pair), pe_wide_of(bits, pe_rope_param(scheme, "mixed_b")));
}

/* base^(-2 pair / D) and what slows it: factor^(2 / D) beside a base times the factor, or
 * ln(factor) / (D / 2)^mixed_b, which a power of the pair's number multiplies. */
static void share(struct pe_shared *out, unsigned bits, const void *context)
{
    const size_t dim = pe_rotary_of(context)->rotary_dim;
    const struct pe_wide more = pe_wide_log(pe_wide_of(bits, pe_rope_param(context, "factor")));
    const struct pe_wide step = pe_wide_scale(pe_wide_div_uint(more, dim), 1);

    pe_rope_share(out, bits, context);
    if (is_mixed(context)) {
        out->number[SLOWING] = pe_wide_div(more, mixed_power(bits, context, (double)dim / 2));
        return;
    }
    out->number[RATE] = pe_wide_add(out->number[RATE], step);
    out->number[SLOWING] = pe_wide_exp(step);
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    struct pe_wide slowing = shared->number[SLOWING];

    if (is_mixed(context))
        slowing = pe_wide_exp(
            pe_wide_mul(slowing, mixed_power(pe_wide_precision(power), context, (double)pair + 1)));
    return pe_wide_div(*power, slowing);
}

extern const struct pe_rope_type pe_rope_type_ntk_fixed;
const struct pe_rope_type pe_rope_type_ntk_fixed = {
    .name = "ntk_fixed",
    .required = "factor",
    .optional = "mixed_b",
    .share = share,
    .scaled = scaled,
    .work = 3000,
};
