/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "core/encodings/rope/type.h"
#include "core/exact/elementary.h"

/* From ln B the rate of B^(-2 pair / rotary_dim). */
static struct pe_wide rate_of(struct pe_wide logarithm, const struct pe_scheme *scheme)
{
    return pe_wide_scale(pe_wide_div_uint(logarithm, pe_rotary_of(scheme)->rotary_dim), 1);
}

static struct pe_wide base_log(unsigned bits, const struct pe_scheme *scheme)
{
    return pe_wide_log(pe_wide_of(bits, pe_rope_param(scheme, "base")));
}

void pe_rope_share(struct pe_shared *out, unsigned bits, const void *context)
{
    out->number[0] = rate_of(base_log(bits, context), context);
}

void pe_rope_stretched_share(struct pe_shared *out, const struct pe_scheme *scheme,
                             struct pe_wide stretch)
{
    const size_t dim = pe_rotary_of(scheme)->rotary_dim;
    const struct pe_wide more =
        pe_wide_div_uint(pe_wide_mul_uint(pe_wide_log(stretch), dim), dim - 2);

    out->number[0] =
        rate_of(pe_wide_add(base_log(pe_wide_precision(&stretch), scheme), more), scheme);
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
    if (pe_log(base) + dim / (dim - 2) * pe_log(stretch) <= pe_log(PE_ROPE_BASE_MAX))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_OUT_OF_RANGE, where,
                   "%s makes the base larger than 1e30: %g stretched by %g", name, base, stretch);
}
