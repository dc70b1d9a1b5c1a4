/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_ROPE_ROPE_H
#define CORE_ENCODINGS_ROPE_ROPE_H

#include "core/scheme/rotary.h"

/* Encodings with the parameters of rope_params.def: rope and mrope. Their frequencies are scaled by
 * one of the types of rope_types.def. */

/* ---- a type --------------------------------------------------------------------------------- */

/* How the frequencies are scaled: core/encodings/rope/NAME.c, a line in rope_types.def. A type
 * reads the parameters that it names here; any other that is given is refused before `check`, and
 * the other functions run only on schemes that passed it. */
struct pe_rope_type {
    const char *name; /* as in rope_types.def. Required */

    /* Parameters that must be given, and those that may be: "factor,low_freq_factor". NULL: none.
     */
    const char *required, *optional;

    /* Every pair of the head has a frequency, which may be 0. */
    bool whole_head;

    /* Refuses parameters that contradict each other, and warns. NULL: none can. */
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err);

    /* The frequency of a pair, made of powers (context: the scheme): `compute_shared` and `scaled`
     * of struct pe_powers. NULL: pe_rope_compute_shared, base^(-2 pair / rotary_dim); the powers
     * themselves. */
    void (*compute_shared)(struct pe_shared *out, unsigned bits, const void *context);
    struct pe_wide (*scaled)(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair);

    /* Estimated nanoseconds of one frequency. 0: PE_FREQUENCY_COST. */
    double cost;

    /* The frequency of a pair for arithmetic=hf, each operation rounded to float32. NULL:
     * transformers does not have the type, and that arithmetic is refused. */
    float (*float32)(const struct pe_scheme *scheme, size_t pair);

    /* The attention factor A (context: the scheme), unless it is given. NULL: 1. */
    pe_real *factor;

    /* As in struct pe_rotary_kind. NULL: no multiplier; any length. */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme);
    double (*length)(const struct pe_scheme *scheme);

    /* A diagnosis tries the type wherever another one with a factor is expected: the "name=value"
     * pairs to set beside factor and rope_type, "" for none. NULL: it does not. */
    const char *candidate;
};

/* Bounds far outside of any use; within them every frequency is below 2^63 and above 2^-200. */
#define PE_ROPE_SCALE_MIN  1e-9
#define PE_ROPE_SCALE_MAX  1e9
#define PE_ROPE_LENGTH_MAX (0x1p53 - 1)
#define PE_ROPE_BASE_MAX   1e30

/* ---- helpers of types ----------------------------------------------------------------------- */

/* A parameter of rope, NAN where it is absent. */
static inline double pe_rope_param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

/* True for arithmetic=hf. */
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

/* The factor; where it is absent, max_position_embeddings over the original length, as a real
 * number. */
struct pe_wide pe_rope_factor(unsigned bits, const struct pe_scheme *scheme);

/* Checks that a list of numbers, if given, has one for each pair; `hint` ends the sentence. */
enum pe_status pe_rope_list_check(const struct pe_scheme *scheme, const char *name,
                                  const char *hint, struct pe_error *err);

/* Warns of a factor below 1; `says` is what it then does. */
void pe_rope_factor_warn(struct pe_scheme *scheme, const char *says);

/* `compute_shared`: the rate of base^(-2 pair / rotary_dim). */
void pe_rope_compute_shared(struct pe_shared *out, unsigned bits, const void *context);

/* A stretched base, base * stretch^(D / (D - 2)), D being rotary_dim: the rate of its powers, and
 * the base itself in double operations. */
void pe_rope_compute_shared_stretched(struct pe_shared *out, const struct pe_scheme *scheme,
                                      struct pe_wide stretch);
double pe_rope_stretched_base(const struct pe_scheme *scheme, double stretch);
/* Such a base needs two pairs, and must not exceed PE_ROPE_BASE_MAX. `name` is the parameter that
 * stretches it. */
enum pe_status pe_rope_stretch_check(const struct pe_scheme *scheme, double stretch,
                                     const char *name, struct pe_error *err);

/* In float32, in transformers' order of operations: base^(2 pair / rotary_dim), and one over it. */
float pe_rope_float32_power(const struct pe_scheme *scheme, double base, size_t pair);
float pe_rope_float32_plain(const struct pe_scheme *scheme, double base, size_t pair);

/* ---- the list of types ---------------------------------------------------------------------- */

extern const char pe_rope_type_choices[]; /* ",default,linear,..." */
/* In the order of the list; NULL past the last one. */
const struct pe_rope_type *pe_rope_type_at(size_t index);
const struct pe_rope_type *pe_rope_type_of(const struct pe_scheme *scheme);

/* ---- members of the encodings --------------------------------------------------------------- */

/* Their states begin with struct pe_rotary. */
enum pe_status pe_rope_check(struct pe_scheme *scheme, struct pe_error *err);
enum pe_status pe_rope_prepare(struct pe_scheme *scheme, struct pe_work *work,
                               struct pe_error *err);
double pe_rope_cost(const struct pe_scheme *scheme);
pe_real pe_rope_freq_factor;
double pe_rope_softmax_scale_multiplier(const struct pe_scheme *scheme);
double pe_rope_length(const struct pe_scheme *scheme);

#endif
