/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define table_kernel table_bf16
#define list_kernel  table_list_bf16
#define narrow       bf16_from_f32

#if PE_LANES > 1
PE_INLINE vec_u16 vec_near(vec x)
{
    const vec_u32 bits = (vec_u32)x;

    return __builtin_convertvector((bits + 0x7fff + (bits >> 16 & 1)) >> 16, vec_u16);
}

/* Adding half of the last bit and cutting off is wrong only half-way between two numbers, where the
 * ends differ. */
PE_INLINE int vec_decide(uint16_t *out, vec x, vec low, vec high)
{
    vec_store_u16(out, ((vec_u32)x + 0x8000) >> 16);
    return vec_any((((vec_u32)low + 0x8000) ^ ((vec_u32)high + 0x8000)) & 0xffff0000);
}
#endif

#include "core/kernels/table_half.h"
