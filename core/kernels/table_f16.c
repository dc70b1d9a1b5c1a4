/* SPDX-License-Identifier: MIT */
#include "core/kernels/table_half.h"

#define table_kernel table_f16
#define ELEMENT      uint16_t

PE_INLINE uint32_t put(uint16_t *out, float low, float high)
{
    *out = f16_from_f32(low);
    return *out ^ f16_from_f32(high);
}

#if PE_LANES > 1
PE_INLINE vec_u32 vec_put(uint16_t *out, vec low, vec high)
{
    uint16_t other[PE_LANES];

    vec_store_f16(out, low);
    vec_store_f16(other, high);
    return vec_load_u16(out) ^ vec_load_u16(other);
}
#endif

#include "core/kernels/table_body.h"
