/* SPDX-License-Identifier: MIT */
/* Products of rows of doubles. */
#include "core/kernels/real.h"

enum { SUMS = 8, VECTORS = SUMS / LANES };

void PE_KERNEL(product_f64)(double *out, const double *a, const double *b, size_t count)
{
    double lanes[SUMS] = {0};
    real sums[VECTORS];
    size_t i = 0;

    __builtin_memcpy(sums, lanes, sizeof(lanes));
    for (; i + SUMS <= count; i += SUMS)
        for (size_t k = 0; k < VECTORS; k++)
            sums[k] += load(a + i + k * LANES) * load(b + i + k * LANES);
    __builtin_memcpy(lanes, sums, sizeof(lanes));
    for (; i < count; i++)
        lanes[i % SUMS] += a[i] * b[i];
    *out = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}
