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

/* The greatest common divisor; with 0 the other number. */
static inline uint64_t pe_common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A non-negative integer as a count. Beyond the range of a 32-bit size_t it becomes SIZE_MAX, which
 * is refused as soon as bytes are counted. */
static inline size_t pe_count(double number)
{
    return number < (double)SIZE_MAX ? (size_t)number : SIZE_MAX;
}

#endif
