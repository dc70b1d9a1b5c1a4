/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_EXACT_SUM_H
#define CORE_EXACT_EXACT_SUM_H

#include "core/exact/wide.h"

/* Sums of products of doubles without rounding: an integer times 2^-2304 that holds 2^100 products
 * of any doubles. */

enum { PE_SUM_LIMBS = 70, PE_SUM_LEAST = -2304 };

struct pe_sum {
    uint64_t limb[PE_SUM_LIMBS]; /* least first, two's complement; all 0: the sum is 0 */
};

/* Adds a * b. Both are finite. */
void pe_sum_add(struct pe_sum *sum, double a, double b);

/* The sum, cut off towards zero to so many bits. */
struct pe_wide pe_sum_wide(const struct pe_sum *sum, unsigned bits);

/* The sign of sum * factor - other, exactly: sum and factor are positive, factor is of 256 bits at
 * most. */
int pe_sum_compare(const struct pe_sum *sum, struct pe_wide factor, struct pe_wide other);

#endif
