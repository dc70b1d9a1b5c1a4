/* SPDX-License-Identifier: MIT */
#include "bench/normal.h"

#include <math.h>

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* In (0, 1]: the logarithm is taken of it. */
static double uniform(uint64_t *state)
{
    return (double)((next(state) >> 11) + 1) * 0x1p-53;
}

void normal_fill(float *values, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i += 2) { /* Box and Muller (1958) */
        const double radius = sqrt(-2 * log(uniform(&seed)));
        const double angle = 2 * M_PI * uniform(&seed);

        values[i] = (float)(radius * cos(angle));
        if (i + 1 < count)
            values[i + 1] = (float)(radius * sin(angle));
    }
}
