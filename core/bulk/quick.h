/* SPDX-License-Identifier: MIT */
#ifndef CORE_BULK_QUICK_H
#define CORE_BULK_QUICK_H

#include "core/bulk/runs.h"

/* pe_table_fill of f32, f16 and bf16, of scaled rows and of sums in doubles, where |t| w <= 2^53.
 */
enum pe_status pe_quick_fill(const struct pe_table_call *call, struct pe_work *work,
                             struct pe_error *err);

#endif
