/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLES_LOG_BUCKETS_H
#define CORE_TABLES_LOG_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

/* The begin of a logarithmic bucket: the least integer n >= low (high / low)^(k / parts), or
 * above it, decided on the real number. 0 < low < high < 2^31, parts > 0; the result must fit. */
enum pe_bound { PE_BOUND_AT_LEAST, PE_BOUND_ABOVE };

int64_t pe_log_bucket_bound(unsigned long low, unsigned long high, unsigned long parts,
                            unsigned long k, enum pe_bound bound);

/* How many of the ascending bounds are at most n. */
size_t pe_bounds_passed(const int64_t *bounds, size_t count, int64_t n);

/* Estimated nanoseconds of `count` bounds. */
double pe_log_buckets_cost(size_t count);

#endif
