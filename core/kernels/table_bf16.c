/* SPDX-License-Identifier: MIT */
#include "core/kernels/table_half.h"

#define table_kernel table_bf16
#define ELEMENT      uint16_t

PE_INLINE uint32_t put(uint16_t *out, float low, float high)
{
    *out = bf16_from_f32(low);
    return *out ^ bf16_from_f32(high);
}

#if PE_LANES > 1
/* The result in the low half of each lane. No NaN comes here. */
PE_INLINE vec_u32 rounded(vec x)
{
    const vec_u32 bits = (vec_u32)x;

    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

PE_INLINE vec_u32 vec_put(uint16_t *out, vec low, vec high)
{
    const vec_u32 value = rounded(low);

    vec_store_u16(out, value);
    return value ^ rounded(high);
}
#endif

#include "core/kernels/table_body.h"
