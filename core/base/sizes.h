/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_SIZES_H
#define CORE_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* Arithmetic on counts and sizes. */

static inline size_t pe_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A non-negative integer as a count. Beyond the range of a 32-bit size_t it becomes SIZE_MAX, which
 * is refused as soon as bytes are counted. */
static inline size_t pe_count(double number)
{
    return number < (double)SIZE_MAX ? (size_t)number : SIZE_MAX;
}

#endif
