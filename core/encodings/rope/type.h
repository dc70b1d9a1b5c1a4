/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_ROPE_TYPE_H
#define CORE_ENCODINGS_ROPE_TYPE_H

#include "core/scheme/rotary.h"

/* A way to scale the frequencies of rope: core/encodings/rope/NAME.c, a line in rope_types.def. Its
 * parameters are rope's; those named here are the ones it reads, and any other that is given is
 * refused. Functions of a type may rely on `check`: no other parameters reach them. */
struct pe_rope_type {
    const char *name; /* as in rope_types.def. Required */

    /* The parameters that must be given, and those that may be: "factor,low_freq_factor". NULL:
     * none. */
    const char *required, *optional;

    /* All pairs of the head have a frequency, though some of them are 0. */
    bool whole_head;

    /* Refuses parameters that contradict each other, and warns. NULL: none can. */
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err);

    /* w of a pair, made of powers (context: the scheme): `share` and `scaled` of struct pe_powers.
     * NULL: pe_rope_share, base^(-2 pair / rotary_dim); the powers themselves. */
    void (*share)(struct pe_shared *out, unsigned bits, const void *context);
    struct pe_wide (*scaled)(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair);

    /* Nanoseconds that a pair's w takes, about. 0: PE_FREQUENCY_WORK. */
    double work;

    /* w of a pair for arithmetic=hf, each operation rounded to float32. NULL: transformers does not
     * know the type, and schemes that ask for that arithmetic are refused. */
    float (*float32)(const struct pe_scheme *scheme, size_t pair);

    /* The attention factor A (context: the scheme), unless it is given. NULL: 1. */
    pe_real *factor;

    /* As in struct pe_rotary_kind. NULL: nothing is asked for; the frequencies do not depend on the
     * length of a sequence. */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme);
    double (*length)(const struct pe_scheme *scheme);

    /* A diagnosis tries the type wherever another one with a factor is expected: the "name=value"
     * pairs that it then sets beside factor and rope_type, "" for none. NULL: it does not. */
    const char *suspect;
};

/* Factors far outside any use; within them every frequency is below 2^63 and above 2^-200. */
#define PE_ROPE_SCALE_MIN  1e-9
#define PE_ROPE_SCALE_MAX  1e9
#define PE_ROPE_LENGTH_MAX (0x1p53 - 1)
#define PE_ROPE_BASE_MAX   1e30

/* ---- pieces of types ------------------------------------------------------------------------ */

/* `share`: the rate of base^(-2 pair / rotary_dim) alone. */
void pe_rope_share(struct pe_shared *out, unsigned bits, const void *context);

/* The rate of (base * stretch^(D / (D - 2)))^(-2 pair / D), D being rotary_dim. */
void pe_rope_stretched_share(struct pe_shared *out, const struct pe_scheme *scheme,
                             struct pe_wide stretch);
/* The base itself, base * stretch^(D / (D - 2)), in double operations. */
double pe_rope_stretched_base(const struct pe_scheme *scheme, double stretch);
/* Such a base needs two pairs at least, and must stay below 1e30. `name` is that of the parameter
 * that stretches. */
enum pe_status pe_rope_stretch_check(const struct pe_scheme *scheme, double stretch,
                                     const char *name, struct pe_error *err);

/* In float32: base^(2 pair / D), D being rotary_dim, and one over it. */
float pe_rope_float32_power(const struct pe_scheme *scheme, double base, size_t pair);
float pe_rope_float32_plain(const struct pe_scheme *scheme, double base, size_t pair);
/* A parameter of rope, NAN where it is absent. */
static inline double pe_rope_param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

/* Does the scheme ask for arithmetic=hf? */
static inline bool pe_rope_in_float32(const struct pe_scheme *scheme)
{
    return pe_rope_param(scheme, "arithmetic") != 0;
}

/* original_max_position_embeddings, else max_position_embeddings, else NAN. */
static inline double pe_rope_original(const struct pe_scheme *scheme)
{
    const double original = pe_rope_param(scheme, "original_max_position_embeddings");

    return original == original ? original : pe_rope_param(scheme, "max_position_embeddings");
}

#endif
