/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_CLOCK_H
#define API_BASE_CLOCK_H

#include <time.h>

/* Milliseconds of a clock that never steps back. */
static inline double api_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

#endif
