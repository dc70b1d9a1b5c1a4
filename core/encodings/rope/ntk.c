/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/rope.h"

/* NTK-aware scaling: the base is stretched, so that high frequencies hardly change. */

/* ---- ntk: a fixed stretch, `factor` or, in Hunyuan's configuration, `alpha` ------------------ */

static double ntk_stretch(const struct pe_scheme *scheme)
{
    const double alpha = pe_rope_param(scheme, "alpha");

    return isnan(alpha) ? pe_rope_param(scheme, "factor") : alpha;
}

static enum pe_status ntk_check(struct pe_scheme *scheme, struct pe_error *err)
{
    const bool factor = !isnan(pe_rope_param(scheme, "factor"));
    const bool alpha = !isnan(pe_rope_param(scheme, "alpha"));

    if (factor && alpha)
        return pe_fail(err, PE_CONFLICT, "parameter:alpha",
                       "alpha and factor are two names for how the base is stretched; give one");
    if (!factor && !alpha)
        return pe_fail(err, PE_MISSING, "parameter:factor", "ntk needs factor, or alpha");
    return pe_rope_stretch_check(scheme, ntk_stretch(scheme), alpha ? "alpha" : "factor", err);
}

static void ntk_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_rope_compute_shared_stretched(out, context, pe_wide_of(bits, ntk_stretch(context)));
}

/* As transformers' modeling_hunyuan_v1_dense.py does it with alpha. */
static float ntk_float32(const struct pe_scheme *scheme, size_t pair)
{
    return pe_rope_float32_plain(scheme, pe_rope_stretched_base(scheme, ntk_stretch(scheme)), pair);
}

extern const struct pe_rope_type pe_rope_type_ntk;
const struct pe_rope_type pe_rope_type_ntk = {
    .name = "ntk",
    .optional = "factor,alpha",
    .check = ntk_check,
    .compute_shared = ntk_compute_shared,
    .float32 = ntk_float32,
    .candidate = "",
};

/* ---- dynamic ------------------------------------------------------------------------------- */

/* The base is stretched by f S / M - (f - 1) for a sequence of length S beyond M; transformers'
 * _compute_dynamic_ntk_parameters. S is a parameter and not the length of the table, so that a row
 * does not depend on the table's length. */

static double dynamic_length(const struct pe_scheme *scheme)
{
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const double given = pe_rope_param(scheme, "seq_len");

    return given > most ? given : most;
}

/* f S / M - (f - 1) = (f (S - M) + M) / M, S at least M: exact up to the division. */
static struct pe_wide dynamic_stretch(unsigned bits, const struct pe_scheme *scheme)
{
    const double factor = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const struct pe_wide beyond = pe_wide_of(bits, dynamic_length(scheme) - most);

    return pe_wide_div_double(pe_wide_add_double(pe_wide_mul_double(beyond, factor), most), most);
}

static enum pe_status dynamic_check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double about = pe_wide_double(dynamic_stretch(PE_PRECISION_FIRST, scheme));

    pe_rope_factor_warn(scheme, "the base grows by less than the sequence");
    return pe_rope_stretch_check(scheme, about, "factor", err);
}

static void dynamic_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_rope_compute_shared_stretched(out, context, dynamic_stretch(bits, context));
}

/* With seq_len as a Python integer, as in transformers' own tests; its models pass a tensor, with
 * which the base itself is rounded to float32. */
static float dynamic_float32(const struct pe_scheme *scheme, size_t pair)
{
    const double factor = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const double stretch = factor * dynamic_length(scheme) / most - (factor - 1);

    return pe_rope_float32_plain(scheme, pe_rope_stretched_base(scheme, stretch), pair);
}

extern const struct pe_rope_type pe_rope_type_dynamic;
const struct pe_rope_type pe_rope_type_dynamic = {
    .name = "dynamic",
    .required = "factor,max_position_embeddings",
    .optional = "seq_len",
    .check = dynamic_check,
    .compute_shared = dynamic_compute_shared,
    .length = dynamic_length,
    .float32 = dynamic_float32,
};

/* ---- ntk_fixed ------------------------------------------------------------------------------ */

/* The rope_type ntk of a config as engines compute it: pair m of D / 2, from 1 on, is slowed by
 * factor^(2 m / D); with mixed_b by factor^((2 m / D)^mixed_b). vllm-project/vllm,
 * vllm/model_executor/layers/rotary_embedding/ntk_scaling_rope.py (03587f5); Su 2023,
 * kexue.fm/archives/9706. */

enum { RATE, SLOWING };

static bool is_mixed(const struct pe_scheme *scheme)
{
    return !isnan(pe_rope_param(scheme, "mixed_b"));
}

static struct pe_wide mixed_power(unsigned bits, const struct pe_scheme *scheme, double pair)
{
    return pe_wide_pow(pe_wide_of(bits, pair), pe_wide_of(bits, pe_rope_param(scheme, "mixed_b")));
}

/* Without mixed_b the powers are those of base * factor, divided by SLOWING = factor^(2 / D). With
 * mixed_b they are divided by e^(SLOWING (pair + 1)^mixed_b), SLOWING = ln(factor) / (D /
 * 2)^mixed_b.
 */
static void fixed_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    const size_t dim = pe_rotary_of(context)->rotary_dim;
    const struct pe_wide more = pe_wide_log(pe_wide_of(bits, pe_rope_param(context, "factor")));
    const struct pe_wide step = pe_wide_scale(pe_wide_div_uint(more, dim), 1);

    pe_rope_compute_shared(out, bits, context);
    if (is_mixed(context)) {
        out->number[SLOWING] = pe_wide_div(more, mixed_power(bits, context, (double)dim / 2));
        return;
    }
    out->number[RATE] = pe_wide_add(out->number[RATE], step);
    out->number[SLOWING] = pe_wide_exp(step);
}

static struct pe_wide fixed_scaled(const struct pe_wide *power, const struct pe_shared *shared,
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
    .compute_shared = fixed_compute_shared,
    .scaled = fixed_scaled,
    .cost = 3000,
};
