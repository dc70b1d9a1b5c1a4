/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_ELEMENTARY_H
#define CORE_EXACT_ELEMENTARY_H

#include "core/exact/double_double.h"

/* ln(1 + x) for 2^-400 <= x <= 2^400 and e^x for |x| <= 100, each in doubles and in double-doubles.
 * Plain operations in a fixed order, the same bytes on every machine. Relative errors: */

#define PE_LOG_ERROR       0x1p-48
#define PE_EXP_ERROR       0x1p-46
#define PE_LOG_ERROR_EXACT 0x1p-94
#define PE_EXP_ERROR_EXACT 0x1p-88

double pe_log1p(double x);
double pe_exp(double x);
struct pe_exact pe_exact_log1p(struct pe_exact x);
struct pe_exact pe_exact_exp(struct pe_exact x);

/* ln x and log2 x of any finite x > 0, the latter exact for powers of two; x^y for such an x and
 * |y ln x| < 700, with a relative error below (2 + |y ln x|) PE_LOG_ERROR; 0 for x = 0. */
double pe_log(double x);
double pe_log2(double x);
double pe_power(double x, double y);

#endif
