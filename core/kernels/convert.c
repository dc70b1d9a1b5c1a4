/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

void PE_KERNEL(convert_f32_f16)(uint16_t *out, const float *in, size_t count)
{
    size_t i = 0;

#if PE_LANES > 1
    for (; i + PE_LANES <= count; i += PE_LANES)
        vec_store_f16(out + i, vec_load(in + i));
#endif
    for (; i < count; i++)
        out[i] = f16_from_f32(in[i]);
}

void PE_KERNEL(convert_f32_bf16)(uint16_t *out, const float *in, size_t count)
{
    size_t i = 0;

#if PE_LANES > 1
    for (; i + PE_LANES <= count; i += PE_LANES) {
        const vec_u32 bits = (vec_u32)vec_load(in + i);
        const vec_u32 nan = vec_above(bits & 0x7fffffff, 0x7f800000);
        const vec_u32 nearest = bits + 0x7fff + (bits >> 16 & 1);

        vec_store_u16(out + i, vec_choose(nan, bits | 0x400000, nearest) >> 16);
    }
#endif
    for (; i < count; i++)
        out[i] = bf16_from_f32(in[i]);
}

void PE_KERNEL(convert_f16_f32)(float *out, const uint16_t *in, size_t count)
{
    size_t i = 0;

#if PE_LANES > 1
    for (; i + PE_LANES <= count; i += PE_LANES)
        vec_store(out + i, vec_load_f16(in + i));
#endif
    for (; i < count; i++)
        out[i] = f32_from_f16(in[i]);
}

void PE_KERNEL(convert_bf16_f32)(float *out, const uint16_t *in, size_t count)
{
    size_t i = 0;

#if PE_LANES > 1
    for (; i + PE_LANES <= count; i += PE_LANES)
        vec_store(out + i, (vec)(vec_load_u16(in + i) << 16));
#endif
    for (; i < count; i++)
        out[i] = f32_from_bf16(in[i]);
}
