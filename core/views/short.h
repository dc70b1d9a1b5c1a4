/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_SHORT_H
#define CORE_VIEWS_SHORT_H

#include "core/tables/frequencies.h"

/* Cosines and sines as frameworks make them, whose angles are numbers of a short type. */
struct pe_short {
    const struct pe_frequencies *frequencies;
    const struct pe_frequencies *one; /* of w = 1, so that a position is an angle */
    enum pe_dtype type;               /* of angles */
    enum pe_dtype dtype;              /* of the table */
};

/* A pair's frequency, rounded to the type. */
double pe_short_frequency(const struct pe_frequencies *frequencies, size_t pair,
                          enum pe_dtype type);

/* cos and sin at a position of the pair with such a frequency; NaN where its angle overflowed. */
void pe_short_waves(const struct pe_short *from, double w, const struct pe_position *position,
                    double values[2]);

#endif
