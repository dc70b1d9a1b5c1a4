/* SPDX-License-Identifier: MIT */
/* Cosines and sines of float32 angles, correctly rounded or undecided. Error bounds:
 * docs/internals/exactness.md, "Rows of arithmetic=hf". */
#include "core/kernels/real.h"

/* pi/2 as two pieces of 27 bits, so that an integer up to 2^26 times one of them is exact, and a
 * double.
 */
#define QUARTER_HIGH   0x1.921fb54p+0
#define QUARTER_MIDDLE 0x1.10b461p-30
#define QUARTER_LOW    0x1.a62633145c06ep-58

struct waves {
    real cos, sin;
};

/* |x| is at most 0.7854 + 2^-26. */
PE_INLINE struct waves near_waves(real x)
{
    const real z = x * x;
    const real sine =
        -1.0 / 6 +
        z * (1.0 / 120 + z * (-1.0 / 5040 +
                              z * (1.0 / 362880 + z * (-1.0 / 39916800 + z * (1.0 / 6227020800)))));
    const real cosine =
        1.0 / 24 + z * (-1.0 / 720 +
                        z * (1.0 / 40320 + z * (-1.0 / 3628800 +
                                                z * (1.0 / 479001600 + z * (-1.0 / 87178291200)))));

    return (struct waves){1 - z * (0.5 - z * cosine), x + x * (z * sine)};
}

/* Values, and bounds of their errors. */
struct ends {
    struct waves value, error;
};

PE_INLINE struct ends ends_of(real angle)
{
    const real nearest = angle * 0x1.45f306dc9c883p-1 + ROUNDER, k = nearest - ROUNDER;
    const real rest = ((angle - k * QUARTER_HIGH) - k * QUARTER_MIDDLE) - k * QUARTER_LOW;
    const struct waves r = near_waves(rest);
    const word quarters = bits_of(nearest), odd = 0 - (quarters & 1);
    const word c = bits_of(r.cos), s = bits_of(r.sin), swap = (c ^ s) & odd;
    const real cos = real_of((c ^ swap) ^ ((quarters + 1) & 2) << 62);
    const real sin = real_of((s ^ swap) ^ (quarters & 2) << 62);
    const real least = magnitude_of(k) * 0x1p-78 + 0x1p-200;

    return (struct ends){
        {cos, sin}, {magnitude_of(cos) * 0x1p-42 + least, magnitude_of(sin) * 0x1p-42 + least}};
}

/* Stores the rounded lower ends and returns a bit for each lane whose ends round differently. */
#if PE_LANES > 1
PE_INLINE uint64_t round_to(float *out, real first, real first_error, real second,
                            real second_error)
{
    const vec low = vec_narrow(first - first_error, second - second_error);
    const vec high = vec_narrow(first + first_error, second + second_error);
    const vec_u32 differ = (vec_u32)low ^ (vec_u32)high;
    uint32_t lanes[PE_LANES];
    uint64_t bits = 0;

    vec_store(out, low);
    if (!__builtin_expect(vec_any(differ), 0))
        return 0;
    __builtin_memcpy(lanes, &differ, sizeof(lanes));
    for (size_t i = 0; i < PE_LANES; i++)
        bits |= (uint64_t)(lanes[i] != 0) << i;
    return bits;
}
#else
PE_INLINE uint64_t round_to(float *out, real value, real error)
{
    const float low = (float)(value - error), high = (float)(value + error);

    *out = low;
    return f32_bits(low) != f32_bits(high);
}
#endif

void PE_KERNEL(float32_waves)(float *cos, float *sin, uint64_t undecided[2], float position,
                              const float *frequencies, size_t count)
{
    undecided[0] = undecided[1] = 0;
    for (size_t i = 0; i < count; i += PE_LANES) {
#if PE_LANES > 1
        const vec angle = position * vec_load(frequencies + i);
        const struct ends a = ends_of(vec_widen_low(angle)), b = ends_of(vec_widen_high(angle));

        if (cos)
            undecided[0] |= round_to(cos + i, a.value.cos, a.error.cos, b.value.cos, b.error.cos)
                            << i;
        if (sin)
            undecided[1] |= round_to(sin + i, a.value.sin, a.error.sin, b.value.sin, b.error.sin)
                            << i;
#else
        const struct ends a = ends_of((double)(position * frequencies[i]));

        if (cos)
            undecided[0] |= round_to(cos + i, a.value.cos, a.error.cos) << i;
        if (sin)
            undecided[1] |= round_to(sin + i, a.value.sin, a.error.sin) << i;
#endif
    }
}
