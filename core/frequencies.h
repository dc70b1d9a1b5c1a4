/* SPDX-License-Identifier: MIT */
#ifndef CORE_FREQUENCIES_H
#define CORE_FREQUENCIES_H

#include "core/encoding.h"

/* What cos and sin are multiplied by before the one rounding. */
enum pe_amplitude {
    PE_AMPLITUDE_ONE,
    PE_AMPLITUDE_FACTOR,  /* the attention factor A */
    PE_AMPLITUDE_INVERSE, /* 1 / A */
};

/* Frequencies of a scheme, exact enough for every position |t| <= 2^53 - 1; see frequencies.c. */
struct pe_frequencies;

void pe_frequencies_free(struct pe_frequencies *frequencies);
size_t pe_frequencies_count(const struct pe_frequencies *frequencies); /* pairs */

/* For the positions [begin, end) of count * max(1, batch), pe_frequencies_count values each:
 * RN(amplitude * cos(t * w)) and RN(amplitude * sin(t * w)) in a floating dtype. Either pointer may
 * be NULL. Deterministic to the byte; any thread. */
void pe_frequencies_cos_sin(const struct pe_frequencies *frequencies,
                            const struct pe_positions *positions, size_t begin, size_t end,
                            enum pe_amplitude amplitude, enum pe_dtype dtype, void *cos, void *sin);

#endif
