/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_QUICK_H
#define CORE_TABLES_QUICK_H

#include <math.h>

#include "core/tables/runs.h"

/* At least the angle that the rows of an anchor are apart, or 1 if that is less, for a pair with so
 * many turns a position: 6.3 > 2 pi. */
static inline double pe_table_reach(double step, double turns)
{
    const double reach = 6.3 * (double)PE_TABLE_ROWS * fabs(step) * turns;

    return reach < 1 ? reach : 1;
}

/* pe_table_fill of f32, f16 and bf16, of scaled rows and of sums in doubles, where |t| w <= 2^53.
 */
enum pe_status pe_quick_fill(const struct pe_table_call *call, struct pe_work *work,
                             struct pe_error *err);

#endif
