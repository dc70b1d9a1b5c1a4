/* SPDX-License-Identifier: MIT */
#ifndef CORE_FREQUENCIES_H
#define CORE_FREQUENCIES_H

#include "core/encoding.h"
#include "core/exact.h"

/* What cos and sin are multiplied by before the one rounding. */
enum pe_amplitude {
    PE_AMPLITUDE_ONE,
    PE_AMPLITUDE_FACTOR,  /* the attention factor A */
    PE_AMPLITUDE_INVERSE, /* 1 / A */
};

/* Frequencies of a scheme, exact enough for every position |t| <= 2^53 - 1; see frequencies.c. */
struct pe_frequencies;

/* Computes them from the real numbers w (of a scheme and a pair) and A (of a scheme; NULL: 1),
 * which are asked for again wherever more digits are needed. `factor_given`: A where it is a double
 * as it stands, NAN where it is not. NULL: out of memory. */
struct pe_frequencies *pe_frequencies_new(const struct pe_scheme *scheme, size_t count,
                                          pe_real *frequency, pe_real *factor, double factor_given);
void pe_frequencies_free(struct pe_frequencies *frequencies);
size_t pe_frequencies_count(const struct pe_frequencies *frequencies); /* pairs */

/* RN(w), RN(2 pi / w) (infinite where w is 0) of one pair. */
void pe_frequencies_write(const struct pe_frequencies *frequencies, size_t pair,
                          enum pe_dtype dtype, void *frequency, void *wavelength);
/* RN(A) in double. */
double pe_frequencies_factor(const struct pe_frequencies *frequencies);

/* What rows.c needs: a pair's frequency, RN of an amplitude, and the place for the steps that it
 * keeps here. */
struct pe_steps;
struct pe_turn;
const struct pe_turn *pe_frequencies_turn(const struct pe_frequencies *frequencies, size_t pair);
double pe_frequencies_amplitude(const struct pe_frequencies *frequencies,
                                enum pe_amplitude amplitude);
struct pe_steps *_Atomic *pe_frequencies_steps(const struct pe_frequencies *frequencies);

/* The pairs [begin, end) at one position; see pe_frequencies_cos_sin. */
void pe_frequencies_pairs(const struct pe_frequencies *frequencies,
                          const struct pe_positions *positions, size_t index, size_t begin,
                          size_t end, enum pe_amplitude amplitude, enum pe_dtype dtype, void *cos,
                          void *sin);

/* For the positions [begin, end) of count * max(1, batch), pe_frequencies_count values each:
 * RN(amplitude * cos(t * w)) and RN(amplitude * sin(t * w)) in a floating dtype. A row begins
 * `stride` elements behind the one before. Either pointer may be NULL. Deterministic to the byte;
 * any thread. */
void pe_frequencies_cos_sin(const struct pe_frequencies *frequencies,
                            const struct pe_positions *positions, size_t begin, size_t end,
                            enum pe_amplitude amplitude, enum pe_dtype dtype, size_t stride,
                            void *cos, void *sin);

#endif
