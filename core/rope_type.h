/* SPDX-License-Identifier: MIT */
#ifndef CORE_ROPE_TYPE_H
#define CORE_ROPE_TYPE_H

#include "core/encoding.h"

/* A way to scale the frequencies of rope. Its parameters are rope's; those named here are the ones
 * it reads, and any other of them that is given is refused. */
struct pe_rope_type {
    const char *name;
    const char *required; /* "factor,low_freq_factor"; NULL: nothing */
    const char *optional;
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err); /* NULL: no more */
    pe_real *frequency; /* context: the scheme */
    pe_real *factor;    /* the attention factor A; NULL: 1 */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme); /* NULL: none */
};

extern const struct pe_rope_type *const pe_rope_types[];
const struct pe_rope_type *pe_rope_type_of(const struct pe_scheme *scheme);

/* base^(-2 pair / rotary_dim), to all digits of out. */
pe_real pe_rope_plain_frequency;

/* A parameter of rope, NAN where it is absent. */
static inline double pe_rope_param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

#endif
