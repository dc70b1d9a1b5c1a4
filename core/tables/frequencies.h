/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_FREQUENCIES_H
#define CORE_TABLES_FREQUENCIES_H

#include "core/exact/angle.h"
#include "core/exact/correct_rounding.h"
#include "core/kernels/table.h"
#include "posenc/schemes.h"
#include "posenc/work.h"

/* ---- powers --------------------------------------------------------------------------------- */

/* The frequency w of a pair is made of a power of one number, e^(-rate steps), where steps are
 * whole and usually the index of the pair. */

/* Real numbers that all pairs share, each as precise as a pe_real: the rates first, one unless
 * `series` is set, then those that `scaled` needs. */
enum { PE_SHARED = 9 };
struct pe_shared {
    struct pe_wide number[PE_SHARED];
};

/* The context of the functions is that of the frequencies. |rate * steps| is below 2^10. */
struct pe_powers {
    /* Sets the shared numbers. NULL: every power is 1. */
    void (*compute_shared)(struct pe_shared *out, unsigned bits, const void *context);
    size_t (*steps)(const void *context, size_t pair); /* NULL: the pair */
    /* The index of the shared number that is the rate of a pair. NULL: 0. */
    size_t (*series)(const void *context, size_t pair);
    /* w of a pair from its power; its relative error is at most 2^15 times that of the power or of
     * a shared number. NULL: w is the power. */
    struct pe_wide (*scaled)(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair);
    /* The quantum of a pair (core/exact/angle.h). NULL: none has one. */
    double (*quantum)(const void *context, size_t pair);
};

/* w of a pair. */
struct pe_wide pe_powers_real(const struct pe_powers *powers, const void *context, unsigned bits,
                              size_t pair);

/* w of many pairs in order: shared numbers are computed once, and where steps of a
 * series increase evenly a power is the one before it times a ratio. The error bound is that of
 * pe_powers_real. */
struct pe_power_iterator {
    const struct pe_powers *powers;
    const void *context;
    struct pe_shared shared;
    struct pe_wide power, ratio; /* of `steps`, and of two pairs that are `stride` steps apart */
    size_t steps, stride, links; /* stride 0: the ratio is not set */
    size_t series;               /* of the power */
};

void pe_powers_begin(struct pe_power_iterator *iterator, const struct pe_powers *powers,
                     const void *context, unsigned bits);
struct pe_wide pe_powers_next(struct pe_power_iterator *iterator, size_t pair);

/* ---- frequencies ---------------------------------------------------------------------------- */

/* The factor before cos and sin; their product is rounded once. */
enum pe_amplitude {
    PE_AMPLITUDE_ONE,
    PE_AMPLITUDE_FACTOR,  /* the attention factor A */
    PE_AMPLITUDE_INVERSE, /* 1 / A */
};

/* A real number that cos and sin are multiplied by. */
struct pe_scale {
    struct pe_exact value; /* hi 0: the number is out of the range of double-doubles */
    double error;          /* relative, of value, beyond 2^-101 */
    pe_real *real;         /* the number to any precision; NULL: value is exact */
    const void *context;   /* of that function */
};

/* Frequencies of pairs, precise enough for every position |t| <= 2^53 - 1. */
struct pe_frequencies;

/* The real numbers that frequencies are computed from, evaluated again where more digits are
 * needed.
 */
struct pe_frequencies_spec {
    size_t count;            /* pairs */
    struct pe_powers powers; /* w of a pair */
    pe_real *factor;         /* A; NULL: 1 */
    double given;            /* A where it is a double, else NAN */
    /* arithmetic=hf: the float32 w that tables use (float32_write in exact_pair.c). NULL: exact. */
    float (*float32)(const void *context, size_t pair);
    const void *context; /* of all functions; must live as long as the frequencies */
    double cost;         /* estimated nanoseconds of a pair; 0: PE_FREQUENCY_COST */
};

enum { PE_FREQUENCY_COST = 700 };

/* Computes frequencies. PE_CANCELLED, PE_OUT_OF_MEMORY, PE_TOO_LARGE. */
enum pe_status pe_frequencies_new(struct pe_frequencies **frequencies,
                                  const struct pe_frequencies_spec *spec, struct pe_work *work,
                                  struct pe_error *err);
bool pe_frequencies_in_float32(const struct pe_frequencies *frequencies);
/* Some pairs of `from`, in the order of a list that must live as long as the result. */
enum pe_status pe_frequencies_pick(struct pe_frequencies **frequencies,
                                   const struct pe_frequencies *from, const size_t *pairs,
                                   size_t count, struct pe_work *work, struct pe_error *err);
void pe_frequencies_free(struct pe_frequencies *frequencies);
size_t pe_frequencies_count(const struct pe_frequencies *frequencies); /* pairs */

/* RN(w) and RN(2 pi / w) (infinite where w is 0) of one pair, for the w that tables use. Either
 * pointer may be NULL. */
void pe_frequencies_write(const struct pe_frequencies *frequencies, size_t pair,
                          enum pe_dtype dtype, void *frequency, void *wavelength);
/* RN(w) in double, stored. */
double pe_frequencies_near(const struct pe_frequencies *frequencies, size_t pair);
/* RN of an amplitude in double. */
double pe_frequencies_amplitude(const struct pe_frequencies *frequencies,
                                enum pe_amplitude amplitude);

/* The amplitude itself. */
const struct pe_scale *pe_frequencies_scale(const struct pe_frequencies *frequencies,
                                            enum pe_amplitude amplitude);

/* w of a pair, in radians and in turns. */
const struct pe_frequency *pe_frequencies_at(const struct pe_frequencies *frequencies, size_t pair);

/* The real numbers w (of a pair) and A; the context is a const struct pe_frequencies. */
pe_real pe_frequencies_real, pe_frequencies_factor_real;
/* w of all pairs in order. */
void pe_frequencies_begin(struct pe_power_iterator *iterator,
                          const struct pe_frequencies *frequencies, unsigned bits);
struct pe_wide pe_frequencies_next(struct pe_power_iterator *iterator,
                                   const struct pe_frequencies *frequencies, size_t pair);

/* The largest w, in double. */
double pe_frequencies_fastest(const struct pe_frequencies *frequencies);

/* w / 2 pi of the pairs from `pair` on, with zeros up to a multiple of PE_TABLE_PAD. */
struct pe_phases pe_frequencies_phases(const struct pe_frequencies *frequencies, size_t pair);

/* The float32 w of arithmetic=hf. */
const float *pe_frequencies_float32(const struct pe_frequencies *frequencies);

/* The position of a row; a position rounded to float32. */
struct pe_position pe_position_of(const struct pe_positions *positions, size_t index);
float pe_position_float32(const struct pe_position *position);

/* One pair at one position (exact_pair.c): RN(amplitude * cos(t * w)) and RN(amplitude * sin(t *
 * w)) in a floating dtype. Either pointer may be NULL. */
void pe_frequencies_pair(const struct pe_frequencies *frequencies, size_t pair,
                         const struct pe_position *position, enum pe_amplitude amplitude,
                         enum pe_dtype dtype, void *cos, void *sin);

/* pe_frequencies_pair with a scale of this position and pair instead of an amplitude. */
void pe_frequencies_pair_scaled(const struct pe_frequencies *frequencies, size_t pair,
                                const struct pe_position *position, const struct pe_scale *scale,
                                enum pe_dtype dtype, void *cos, void *sin);

#endif
