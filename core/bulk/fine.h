/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_FINE_H
#define CORE_TABLES_FINE_H

#include "core/bulk/runs.h"

/* Angles up to it, in radians, have a phase that tells f64 apart. */
#define PE_FINE_REACH 0x1p34

/* Are angles up to `reach` near enough for sums of two doubles, and the amplitude within them? */
bool pe_fine_takes(const struct pe_table_call *call, double reach);

/* pe_table_fill of f64, where pe_fine_takes it. */
enum pe_status pe_fine_fill(const struct pe_table_call *call, struct pe_work *work,
                            struct pe_error *err);

#endif
