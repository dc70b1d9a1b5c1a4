/* SPDX-License-Identifier: MIT */
#ifndef CORE_BULK_FINE_H
#define CORE_BULK_FINE_H

#include "core/bulk/runs.h"

/* Angles up to it, in radians, have a phase that tells f64 apart. */
#define PE_FINE_REACH 0x1p34

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
