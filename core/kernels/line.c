/* SPDX-License-Identifier: MIT */
/* A slope times the distances of keys. The exact product of the slope's first double has two parts;
 * the second double's product is below an ulp of it, and rounded, so that no more than the sign of
 * the rest counts. Where the slope has a second double, and the rest is so small that its sign is
 * not certain, the number is in doubt. */
#include "core/kernels/double_double.h"

#define REST_LEAST 0x1p-100 /* of the product; the rest is good to 2^-104 of it */

#if PE_LANES > 1
#define BELOW(a, b) ((word)((a) < (b)))
#else
#define BELOW(a, b) (0 - (word)((a) < (b)))
#endif

struct line {
    const double *slope;
    double least;
    int odd;
};

struct value {
    real x;
    word doubt; /* all ones where there is one */
};

/* At the distances |first|, |first + 1|, ... */
PE_INLINE struct value value_at(const struct line *line, double first)
{
    static const double lanes[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const real distance = magnitude_of(load(lanes) + first), none = distance - distance;
    const struct dd product = dd_two_product(distance, none + line->slope[0]);
    const real rest = product.lo + distance * line->slope[1], x = product.hi + 0.0; /* -0 is 0 */
    const word sum = bits_of(sum_odd(x, rest));

    return (struct value){real_of(line->odd ? BITS_ODD(sum) : sum),
                          BELOW(magnitude_of(rest), line->least * magnitude_of(x))};
}

void PE_KERNEL(line)(float *out, uint64_t *undecided, const double slope[2], double first,
                     size_t count, int odd)
{
    const struct line line = {slope, slope[1] < 0 || slope[1] > 0 ? REST_LEAST : 0, odd};

    *undecided = 0;
    for (size_t i = 0; i < count; i += PE_LANES) {
        const struct value v = value_at(&line, first + (double)i);
#if PE_LANES > 1
        const struct value w = value_at(&line, first + (double)(i + LANES));

        vec_store(out + i, vec_narrow(v.x, w.x));
        if (__builtin_expect(vec_any((vec_u32)(v.doubt | w.doubt)), 0))
            for (size_t k = 0; k < LANES; k++)
                *undecided |= (v.doubt[k] & 1) << (i + k) | (w.doubt[k] & 1) << (i + LANES + k);
#else
        out[i] = (float)v.x;
        *undecided |= (v.doubt & 1) << i;
#endif
    }
}
