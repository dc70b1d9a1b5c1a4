/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_WIDE_CONSTANTS_H
#define CORE_EXACT_WIDE_CONSTANTS_H

#include <stdint.h>

/* Real numbers between 1/2 and 1, cut off; limbs least first, the point before the last. How many
 * limbs are needed is said where they are used; tools/wide_constants.py reads it here. */
enum { PE_WIDE_CONSTANT = 28, PE_WIDE_TURNS = 54 };

extern const uint64_t pe_wide_quarter_pi[PE_WIDE_CONSTANT];
extern const uint64_t pe_wide_over_half_pi[PE_WIDE_TURNS]; /* 2 / pi */
extern const uint64_t pe_wide_ln2[PE_WIDE_CONSTANT];

#endif
