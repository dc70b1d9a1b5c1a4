/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_FINE_H
#define CORE_TABLES_FINE_H

#include <math.h>

#include "core/tables/runs.h"

/* Angles up to it, in radians, have a phase that tells f64 apart. */
#define PE_FINE_REACH 0x1p34

/* The unit of the error that is granted to rows of an anchor, and to an anchor alone. */
#define PE_FINE_UNIT       0x1p-79
#define PE_FINE_UNIT_ALONE 0x1p-85

/* The position that bounds the error of an anchor at t and of the rows that follow it by steps. */
static inline double pe_fine_span(double t, double step)
{
    return fabs(t) + 2 * (double)PE_TABLE_ROWS * fabs(step);
}

/* Are angles up to `reach` near enough for sums of two doubles, and the amplitude within them? */
bool pe_fine_takes(const struct pe_table_call *call, double reach);

/* pe_table_fill of f64, where pe_fine_takes it. */
enum pe_status pe_fine_fill(const struct pe_table_call *call, struct pe_work *work,
                            struct pe_error *err);

/* A row of them before they are rounded: the cosines and sines of as many pairs from `pair` on as
 * there are, at most PE_FINE_COLUMNS, and bounds of their errors. False: the position is too far,
 * or the amplitude is. */
bool pe_fine_near(struct pe_fine_anchors *out, const struct pe_frequencies *frequencies,
                  size_t pair, const struct pe_position *position, enum pe_amplitude amplitude);

#endif
