/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "core/rope/parts/type.h"

void pe_rope_plain_frequency(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_scheme *scheme = context;

    mpfr_set_d(out, pe_rope_param(scheme, "base"), MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, 2 * pair, MPFR_RNDN);
    mpfr_div_ui(out, out, pe_rotary_of(scheme)->rotary_dim, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
}

void pe_rope_stretched_frequency(mpfr_ptr out, const struct pe_scheme *scheme, size_t pair)
{
    const size_t dim = pe_rotary_of(scheme)->rotary_dim;
    mpfr_t base;

    mpfr_init2(base, mpfr_get_prec(out));
    mpfr_set_d(base, pe_rope_param(scheme, "base"), MPFR_RNDN);
    mpfr_log(base, base, MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, dim, MPFR_RNDN);
    mpfr_div_ui(out, out, dim - 2, MPFR_RNDN);
    mpfr_add(out, out, base, MPFR_RNDN);
    mpfr_mul_ui(out, out, 2 * pair, MPFR_RNDN);
    mpfr_div_ui(out, out, dim, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
    mpfr_clear(base);
}

enum pe_status pe_rope_stretch_check(const struct pe_scheme *scheme, double stretch,
                                     const char *name, struct pe_error *err)
{
    const double dim = (double)pe_rotary_of(scheme)->rotary_dim;
    const double base = pe_rope_param(scheme, "base");
    char where[64];

    if (dim == 2)
        return pe_fail(err, PE_OUT_OF_RANGE,
                       isnan(pe_rope_param(scheme, "rotary_dim")) ? "parameter:dim"
                                                                  : "parameter:rotary_dim",
                       "a stretched base needs two pairs at least, got one");
    if (log(base) + dim / (dim - 2) * log(stretch) <= log(PE_ROPE_BASE_MAX))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_OUT_OF_RANGE, where,
                   "%s makes the base larger than 1e30: %g stretched by %g", name, base, stretch);
}
