/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_LEAST_H
#define CORE_BASE_LEAST_H

#include <stddef.h>

static inline size_t pe_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
