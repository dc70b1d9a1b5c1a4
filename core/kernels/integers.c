/* SPDX-License-Identifier: MIT */
/* Evenly spaced integers, and binary digits of integers; kernels.def has the contracts. `+ 0.0`
 * turns -0 into 0. */
#include "core/kernels/vec.h"

#define ONE_BITS UINT32_C(0x3f800000) /* 1.0f */

void PE_KERNEL(even_f32)(float *out, double first, double step, size_t count)
{
    size_t i = 0;

#if PE_LANES > 1
#define INDEX_LOW(i)  (i)
#define INDEX_HIGH(i) (PE_LANES_F64 + (i))
    vec_f64 low = {PE_LIST(PE_LANES_F64, INDEX_LOW)}, high = {PE_LIST(PE_LANES_F64, INDEX_HIGH)};

    for (; i + PE_LANES <= count; i += PE_LANES, low += PE_LANES, high += PE_LANES)
        vec_store(out + i, vec_narrow(first + step * low + 0.0, first + step * high + 0.0));
#endif
    for (; i < count; i++)
        out[i] = (float)(first + step * (double)(int64_t)i + 0.0);
}

#if PE_LANES > 1
PE_INLINE void bits_vector(float *out, uint64_t number, const uint32_t *low, const uint32_t *high)
{
    vec_u32 of_low, of_high;

    __builtin_memcpy(&of_low, low, sizeof(of_low));
    __builtin_memcpy(&of_high, high, sizeof(of_high));
    const vec_u32 bits = (of_low & (uint32_t)number) | (of_high & (uint32_t)(number >> 32));
    vec_store(out, (vec)((vec_u32)(bits != 0) & ONE_BITS));
}
#endif

void PE_KERNEL(bits_f32)(float *out, const uint64_t *numbers, size_t rows, const uint32_t *low,
                         const uint32_t *high, size_t columns, size_t out_stride)
{
    for (size_t row = 0; row < rows; row++, out += out_stride) {
        const uint64_t number = numbers[row];
#if PE_LANES > 1
        /* The last vector ends with the row; it overlaps the one before, with the same values. */
        for (size_t i = 0; columns >= PE_LANES && i < columns; i += PE_LANES) {
            const size_t at = i + PE_LANES <= columns ? i : columns - PE_LANES;
            bits_vector(out + at, number, low + at, high + at);
        }
        if (columns >= PE_LANES)
            continue;
#endif
        for (size_t i = 0; i < columns; i++) {
            const uint32_t hit = (low[i] & (uint32_t)number) | (high[i] & (uint32_t)(number >> 32));
            const uint32_t value = hit ? ONE_BITS : 0;
            __builtin_memcpy(out + i, &value, sizeof(value));
        }
    }
}
