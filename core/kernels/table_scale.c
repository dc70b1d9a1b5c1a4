/* SPDX-License-Identifier: MIT */
/* A factor of each pair, e^x, before the cosines and sines of an anchor. The bounds of all errors
 * are proved in core/tables/rows_doubles.c. */
#include "core/kernels/fine.h"

/* ln 2 in 42 bits, so that a whole number below 2^11 times it is a double, and the rest. */
#define LN2_HIGH 0x1.62e42fefa38p-1
#define LN2_LOW  0x1.ef35793c7673p-45

/* 1 / n!, n = 0, 1, ..., 13. */
static const double terms[] = {1,
                               1,
                               1.0 / 2,
                               1.0 / 6,
                               1.0 / 24,
                               1.0 / 120,
                               1.0 / 720,
                               1.0 / 5040,
                               1.0 / 40320,
                               1.0 / 362880,
                               1.0 / 3628800,
                               1.0 / 39916800,
                               1.0 / 479001600,
                               1.0 / 6227020800};

/* e^x, |x| < 128. */
PE_INLINE real exponential(struct fine x)
{
    const real nearest = x.hi * 0x1.71547652b82fep+0 + WHOLE, k = nearest - WHOLE;
    const real rest = ((x.hi - k * LN2_HIGH) - k * LN2_LOW) + x.lo;
    real sum = rest * terms[13] + terms[12];

    for (int n = 11; n >= 0; n--)
        sum = sum * rest + terms[n];
    return real_of(bits_of(sum) + (bits_of(nearest) << 52));
}

void PE_KERNEL(table_scale)(struct pe_anchors *anchors, const double *high, const double *low,
                            const double distance[2], size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        const struct fine log = fine_load(high + i, low + i);
        const real none = log.hi - log.hi;
        const struct fine from = {none + distance[0], none + distance[1]};
        const real scale = exponential(fine_multiply(log, from));

        store(anchors->cos + i, load(anchors->cos + i) * scale);
        store(anchors->sin + i, load(anchors->sin + i) * scale);
        store(anchors->minus_sin + i, load(anchors->minus_sin + i) * scale);
        store(anchors->cos_error + i, load(anchors->cos_error + i) * (3 * scale));
        store(anchors->sin_error + i, load(anchors->sin_error + i) * (3 * scale));
    }
}
