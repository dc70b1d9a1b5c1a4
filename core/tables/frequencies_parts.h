/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_FREQUENCIES_PARTS_H
#define CORE_TABLES_FREQUENCIES_PARTS_H

/* The inside of pe_frequencies, which frequencies.c makes and ladder.c reads. */

#include "core/tables/frequencies.h"

struct pe_frequencies {
    struct pe_frequencies_spec spec;
    size_t count;
    const size_t *picked;          /* which pairs of the spec they are; NULL: all in order */
    struct pe_scale amplitudes[3]; /* by enum pe_amplitude */
    double *phases;                /* three parts of each, `padded` apart; behind turns */
    size_t padded;
    float *float32; /* behind phases; NULL: tables have the real numbers */
    double fastest;
    struct pe_turn turns[]; /* of each pair; with float32 one more, of w = 1 */
};

#endif
