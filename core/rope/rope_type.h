/* SPDX-License-Identifier: MIT */
#ifndef CORE_ROPE_ROPE_TYPE_H
#define CORE_ROPE_ROPE_TYPE_H

#include "core/scheme/encoding.h"

/* A way to scale the frequencies of rope. Its parameters are rope's; those named here are the ones
 * it reads, and any other of them that is given is refused. */
struct pe_rope_type {
    const char *name;
    const char *required; /* "factor,low_freq_factor"; NULL: nothing */
    const char *optional;
    bool whole_head; /* all pairs of the head have a frequency, though some of them are 0 */
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err); /* NULL: no more */
    pe_real *frequency; /* context: the scheme */
    /* arithmetic=hf: rotary_dim / 2 frequencies, each operation rounded to float32 */
    void (*float32)(const struct pe_scheme *scheme, float *frequencies);
    pe_real *factor; /* the attention factor A; NULL: 1 */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme); /* NULL: none */
    double (*length)(const struct pe_scheme *scheme); /* see struct pe_encoding; NULL: any */
};

/* Factors far outside any use; within them every frequency is below 2^63 and above 2^-200. */
#define PE_ROPE_SCALE_MIN  1e-9
#define PE_ROPE_SCALE_MAX  1e9
#define PE_ROPE_LENGTH_MAX (0x1p53 - 1)
#define PE_ROPE_BASE_MAX   1e30

extern const char pe_rope_type_choices[]; /* ",default,linear,..." */
extern const struct pe_rope_type *const pe_rope_types[];
const struct pe_rope_type *pe_rope_type_of(const struct pe_scheme *scheme);

/* What encodings with the parameters of rope_params.def have in common; see struct pe_encoding. */
enum pe_status pe_rope_check(struct pe_scheme *scheme, struct pe_error *err);
enum pe_status pe_rope_prepare(struct pe_scheme *scheme, struct pe_error *err);
pe_real pe_rope_freq_factor;
double pe_rope_softmax_scale_multiplier(const struct pe_scheme *scheme);
double pe_rope_length(const struct pe_scheme *scheme);

/* base^(-2 pair / rotary_dim), to all digits of out. */
pe_real pe_rope_plain_frequency;

/* (base * stretch^(D / (D - 2)))^(-2 pair / D), D being rotary_dim; out holds the stretch. */
void pe_rope_stretched_frequency(mpfr_ptr out, const struct pe_scheme *scheme, size_t pair);
/* The base itself, base * stretch^(D / (D - 2)), in double operations. */
double pe_rope_stretched_base(const struct pe_scheme *scheme, double stretch);
/* What such a base needs: two pairs at least, and to stay below 1e30. `where` is what stretches. */
enum pe_status pe_rope_stretch_check(const struct pe_scheme *scheme, double stretch,
                                     const char *name, struct pe_error *err);

/* In float32: base^(2 pair / D), D being rotary_dim, and one over it, of every pair. */
float pe_rope_float32_power(const struct pe_scheme *scheme, double base, size_t pair);
void pe_rope_float32_plain(const struct pe_scheme *scheme, double base, float *frequencies);
/* What the frequencies are in it, given the scheme asks for arithmetic=hf. */
bool pe_rope_in_float32(const struct pe_scheme *scheme);

/* A sentence for the answer. */
void pe_rope_warn(struct pe_scheme *scheme, const char *format, double a, double b)
    __attribute__((format(printf, 2, 0)));

/* A parameter of rope, NAN where it is absent. */
static inline double pe_rope_param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

/* original_max_position_embeddings, else max_position_embeddings, else NAN. */
static inline double pe_rope_original(const struct pe_scheme *scheme)
{
    const double original = pe_rope_param(scheme, "original_max_position_embeddings");

    return original == original ? original : pe_rope_param(scheme, "max_position_embeddings");
}

#endif
