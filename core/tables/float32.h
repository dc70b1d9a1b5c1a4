/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_FLOAT32_H
#define CORE_TABLES_FLOAT32_H

#include "core/tables/runs.h"

/* Angles up to it, in radians, are near enough for the kernel. */
#define PE_FLOAT32_REACH 0x1p25

/* pe_table_fill of frequencies in float32, where |t| w <= PE_FLOAT32_REACH. */
enum pe_status pe_float32_fill(const struct pe_table_call *call, struct pe_work *work,
                               struct pe_error *err);

#endif
