/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_LEAST_H
#define CORE_BASE_LEAST_H

#include <stddef.h>
#include <stdint.h>

static inline size_t pe_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A whole number from 0 on as a count. Where size_t has 32 bits it may be too large for one: then
 * it is SIZE_MAX, and refused as soon as bytes are counted. */
static inline size_t pe_count(double number)
{
    return number < (double)SIZE_MAX ? (size_t)number : SIZE_MAX;
}

#endif
