/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_POWERS_H
#define CORE_TABLES_POWERS_H

#include <stddef.h>

#include "core/exact/correct_rounding.h"

/* Frequencies as they are defined: w of a pair is made of a power of one number, e^(-rate steps),
 * where steps are whole and most often the pair itself. */

/* Real numbers that all pairs share, each as a pe_real is: the rate first, and what `scaled` needs
 * beside it. */
enum { PE_SHARED = 3 };
struct pe_shared {
    struct pe_wide number[PE_SHARED];
};

/* The context of all three is that of the frequencies: a scheme. |rate * steps| is below 2^10. */
struct pe_powers {
    /* Sets the numbers that there are. NULL: every power is 1. */
    void (*share)(struct pe_shared *out, unsigned bits, const void *context);
    size_t (*steps)(const void *context, size_t pair); /* NULL: the pair */
    /* w of a pair, made of its power; to a relative error of 2^15 times that of the power or of a
     * shared number. NULL: w is the power. */
    struct pe_wide (*scaled)(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair);
};

/* w of a pair. */
struct pe_wide pe_powers_real(const struct pe_powers *powers, const void *context, unsigned bits,
                              size_t pair);

/* w of many pairs, best one behind the other: shared numbers are made once, and where steps go up
 * evenly a power is the one before it times a ratio. A w is as good as that of pe_powers_real. */
struct pe_walk {
    const struct pe_powers *powers;
    const void *context;
    struct pe_shared shared;
    struct pe_wide power, ratio; /* of `steps`; of two that lie `stride` apart */
    size_t steps, stride, links; /* stride 0: there is no ratio yet */
};

void pe_walk_begin(struct pe_walk *walk, const struct pe_powers *powers, const void *context,
                   unsigned bits);
struct pe_wide pe_walk_to(struct pe_walk *walk, size_t pair);

#endif
