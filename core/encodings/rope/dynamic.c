/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/type.h"

/* Dynamic NTK: the base grows with the sequence, by f S / M - (f - 1); transformers'
 * _compute_dynamic_ntk_parameters. seq_len belongs to the scheme, not to the table's length, so
 * that a row does not depend on how a table is cut. */

static double length(const struct pe_scheme *scheme)
{
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const double given = pe_rope_param(scheme, "seq_len");

    return given > most ? given : most;
}

/* f S / M - (f - 1) = (f (S - M) + M) / M, S at least M: exact up to the division. */
static struct pe_wide stretch_of(unsigned bits, const struct pe_scheme *scheme)
{
    const double factor = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const struct pe_wide beyond = pe_wide_of(bits, length(scheme) - most);

    return pe_wide_div_double(pe_wide_add_double(pe_wide_mul_double(beyond, factor), most), most);
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double about = pe_wide_double(stretch_of(PE_PRECISION_FIRST, scheme));

    if (pe_rope_param(scheme, "factor") < 1)
        pe_scheme_warn(scheme, "factor %g is below 1: the base grows by less than the sequence",
                       pe_rope_param(scheme, "factor"));
    return pe_rope_stretch_check(scheme, about, "factor", err);
}

static void share(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_rope_stretched_share(out, context, stretch_of(bits, context));
}

/* transformers knows seq_len as a Python integer here, as its own tests give it; its models pass a
 * tensor, with which the base itself is rounded to float32. */
static float float32(const struct pe_scheme *scheme, size_t pair)
{
    const double factor = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const double stretch = factor * length(scheme) / most - (factor - 1);

    return pe_rope_float32_plain(scheme, pe_rope_stretched_base(scheme, stretch), pair);
}

extern const struct pe_rope_type pe_rope_type_dynamic;
const struct pe_rope_type pe_rope_type_dynamic = {
    .name = "dynamic",
    .required = "factor,max_position_embeddings",
    .optional = "seq_len",
    .check = check,
    .share = share,
    .length = length,
    .float32 = float32,
};
