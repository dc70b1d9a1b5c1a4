/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_HALF_H
#define CORE_KERNELS_HALF_H

/* Conversion of single f16 and bf16: to f32 exactly, from f32 to the nearest, ties to even. */

#include <stdint.h>

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float f32_from_bits(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline float f32_from_bf16(uint16_t x)
{
    return f32_from_bits((uint32_t)x << 16);
}

static inline uint16_t bf16_from_f32(float x)
{
    const uint32_t bits = f32_bits(x);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 |
                          0x40); /* quiet, so that a payload in the low half cannot become Inf */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float f32_from_f16(uint16_t x)
{
    const uint32_t sign = (x & 0x8000u) << 16, magnitude = (x & 0x7fffu) << 13;

    if (magnitude >= 0x7c00u << 13) /* Inf and NaN */
        return f32_from_bits(sign | 0x7f800000 | magnitude);
    /* The bits read as an f32 have an exponent that is 112 too low. The product is exact, for
     * subnormals too. */
    return f32_from_bits(sign | f32_bits(f32_from_bits(magnitude) * 0x1p112f));
}

static inline uint16_t f16_from_f32(float x)
{
    const uint32_t bits = f32_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x47800000) /* 2^16 */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) /* 2^-14: below it f16 has the spacing that f32 has in [0.5, 1) */
        return (uint16_t)(sign | (f32_bits(f32_from_bits(magnitude) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

#endif
