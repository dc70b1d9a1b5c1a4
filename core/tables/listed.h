/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_LISTED_H
#define CORE_TABLES_LISTED_H

#include "core/tables/runs.h"

/* The error that is granted to a cosine of a row, as a part of the amplitude. */
#define PE_LISTED_GRANTED 0x1p-41

/* How long a row at whole positions without order takes by digits, in rows that have an anchor
 * each, where `rows` are filled at once; 1: they are nothing for it. */
double pe_listed_share(const double *positions, size_t count, size_t rows, double fastest);

/* Are the rows of a call, for pe_quick_fill so far, made sooner by digits? Then those are chosen.
 */
bool pe_listed_takes(struct pe_table_call *call);

/* pe_table_fill of such rows. */
enum pe_status pe_listed_fill(const struct pe_table_call *call, struct pe_work *work,
                              struct pe_error *err);

#endif
