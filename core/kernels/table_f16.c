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
    const vec_u16 bits = vec_to_f16(low);

    __builtin_memcpy(out, &bits, sizeof(bits));
    return __builtin_convertvector(bits ^ vec_to_f16(high), vec_u32);
}
#endif

#include "core/kernels/table_body.h"
