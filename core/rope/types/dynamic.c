/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/rope/parts/type.h"

/* Dynamic NTK: the base grows with the sequence, by f S / M - (f - 1); transformers'
 * _compute_dynamic_ntk_parameters. seq_len belongs to the scheme, not to the table's length, so
 * that a row does not depend on how a table is cut. */

static double length(const struct pe_scheme *scheme)
{
    const double most = pe_rope_param(scheme, "max_position_embeddings");
    const double given = pe_rope_param(scheme, "seq_len");

    return given > most ? given : most;
}

/* f S / M - (f - 1), S at least M. */
static void stretch_evaluate(mpfr_ptr out, const struct pe_scheme *scheme)
{
    const double factor = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");

    mpfr_set_d(out, length(scheme), MPFR_RNDN);
    mpfr_div_d(out, out, most, MPFR_RNDN);
    mpfr_sub_ui(out, out, 1, MPFR_RNDN);
    mpfr_mul_d(out, out, factor, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    mpfr_t stretch;
    double about;

    if (pe_rope_param(scheme, "factor") < 1)
        pe_scheme_warn(scheme, "factor %g is below 1: the base grows by less than the sequence",
                       pe_rope_param(scheme, "factor"));
    mpfr_init2(stretch, 64);
    stretch_evaluate(stretch, scheme);
    about = mpfr_get_d(stretch, MPFR_RNDN);
    mpfr_clear(stretch);
    return pe_rope_stretch_check(scheme, about, "factor", err);
}

static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    stretch_evaluate(out, context);
    pe_rope_stretched_frequency(out, context, pair);
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
    .work = 14000,
    .frequency = frequency,
    .length = length,
    .float32 = float32,
};
