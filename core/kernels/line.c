/* SPDX-License-Identifier: MIT */
/* A slope times the distances of keys. The product with the slope's first double is exact, as a sum
 * of two doubles. The product with its second double is below an ulp of it and is rounded, so that
 * only the sign of the remainder is certain; if the remainder is too small even for that, the
 * element is undecided. */
#include "core/kernels/vec_double_double.h"

#define REST_LEAST 0x1p-100 /* of the product; the remainder is good to 2^-104 of it */

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
    word undecided; /* all ones or 0 */
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
        if (__builtin_expect(vec_any((vec_u32)(v.undecided | w.undecided)), 0))
            for (size_t k = 0; k < LANES; k++)
                *undecided |= (v.undecided[k] & 1) << (i + k) | (w.undecided[k] & 1)
                                                                    << (i + LANES + k);
#else
        out[i] = (float)v.x;
        *undecided |= (v.undecided & 1) << i;
#endif
    }
}
