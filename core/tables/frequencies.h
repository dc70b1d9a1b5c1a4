/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_FREQUENCIES_H
#define CORE_TABLES_FREQUENCIES_H

#include "core/exact/angle.h"
#include "core/kernels/table.h"
#include "posenc/posenc.h"

/* What cos and sin are multiplied by before the one rounding. */
enum pe_amplitude {
    PE_AMPLITUDE_ONE,
    PE_AMPLITUDE_FACTOR,  /* the attention factor A */
    PE_AMPLITUDE_INVERSE, /* 1 / A */
};

/* A real number that cos and sin are multiplied by. */
struct pe_scale {
    struct pe_exact value; /* hi 0: too far from 1 for doubles */
    double error;          /* of value, relative, beyond 2^-101 */
    pe_real *real;         /* NULL: value is all of it */
    const void *context;
    bool (*rational)(mpfr_ptr out, const void *context); /* is it one that out holds? may be NULL */
};

/* Frequencies of pairs, exact enough for every position |t| <= 2^53 - 1; see ladder.c. */
struct pe_frequencies;

/* Computes them from the real numbers w (of a context and a pair) and A (of the context; factor
 * NULL: 1), which are asked for again wherever more digits are needed: the context must live as
 * long as the frequencies. `factor_given`: A where it is a double as it stands, NAN where it is
 * not. NULL: out of memory. */
struct pe_frequencies *pe_frequencies_new(const void *context, size_t count, pe_real *frequency,
                                          pe_real *factor, double factor_given);
/* Of tables in the arithmetic of float32 (float32_write in ladder.c), whose frequencies are those
 * in the list, which is copied; w stays what they stand for. */
struct pe_frequencies *pe_frequencies_float32(const void *context, size_t count,
                                              const float *frequencies, pe_real *frequency,
                                              pe_real *factor, double factor_given);
bool pe_frequencies_in_float32(const struct pe_frequencies *frequencies);
/* Some pairs of others, in the order of the list, which must live as long as they do. */
struct pe_frequencies *pe_frequencies_pick(const struct pe_frequencies *from, const size_t *pairs,
                                           size_t count);
void pe_frequencies_free(struct pe_frequencies *frequencies);
size_t pe_frequencies_count(const struct pe_frequencies *frequencies); /* pairs */

/* RN(w), RN(2 pi / w) (infinite where w is 0) of one pair; w as the tables have it. */
void pe_frequencies_write(const struct pe_frequencies *frequencies, size_t pair,
                          enum pe_dtype dtype, void *frequency, void *wavelength);
/* RN(w) in double, as it is kept: no digit is asked for again. */
double pe_frequencies_near(const struct pe_frequencies *frequencies, size_t pair);
/* RN of an amplitude in double. */
double pe_frequencies_amplitude(const struct pe_frequencies *frequencies,
                                enum pe_amplitude amplitude);

/* A pair's w, and in turns. */
const struct pe_turn *pe_frequencies_turn(const struct pe_frequencies *frequencies, size_t pair);

/* The real numbers themselves, of `const struct pe_frequencies *`: w of a pair, A. */
pe_real pe_frequencies_real, pe_frequencies_factor_real;

/* The largest w, in double. */
double pe_frequencies_fastest(const struct pe_frequencies *frequencies);

/* w / 2 pi of the pairs from `pair` on, zeros after the last up to a multiple of PE_TABLE_PAD. */
struct pe_phases pe_frequencies_phases(const struct pe_frequencies *frequencies, size_t pair);

/* The position of a row. */
struct pe_position pe_position_of(const struct pe_positions *positions, size_t index);

/* One pair at one position by the ladder of ladder.c: RN(amplitude * cos(t * w)) and
 * RN(amplitude * sin(t * w)) in a floating dtype. Either pointer may be NULL. */
void pe_frequencies_pair(const struct pe_frequencies *frequencies, size_t pair,
                         const struct pe_position *position, enum pe_amplitude amplitude,
                         enum pe_dtype dtype, void *cos, void *sin);

/* The same with a scale that belongs to this position and this pair. */
void pe_frequencies_pair_scaled(const struct pe_frequencies *frequencies, size_t pair,
                                const struct pe_position *position, const struct pe_scale *scale,
                                enum pe_dtype dtype, void *cos, void *sin);

#endif
