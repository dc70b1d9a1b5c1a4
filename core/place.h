/* SPDX-License-Identifier: MIT */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include "core/frequencies.h"

/* Where cos and sin of pair p stand in a row of `row` elements: at cos + p * apart and sin + p *
 * apart; what would stand behind the row is left out. */
struct pe_places {
    size_t cos, sin, apart, row;
};

/* As pe_frequencies_cos_sin, both into the same rows. */
void pe_frequencies_place(const struct pe_frequencies *frequencies,
                          const struct pe_positions *positions, size_t begin, size_t end,
                          enum pe_amplitude amplitude, enum pe_dtype dtype,
                          const struct pe_places *places, void *out);

#endif
