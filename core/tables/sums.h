/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_SUMS_H
#define CORE_TABLES_SUMS_H

#include "core/tables/bulk.h"
#include "core/tables/cosines.h"

/* pe_cosines_write for the offsets [begin, end) of a list or of even ones, to elements one behind
 * the other. PE_CANCELLED, within some milliseconds. Any thread. */
enum pe_status pe_cosines_fill(const struct pe_cosines *cosines, const struct pe_positions *offsets,
                               size_t begin, size_t end, enum pe_dtype dtype, void *out,
                               struct pe_work *work, struct pe_error *err);

#endif
