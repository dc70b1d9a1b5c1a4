/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define table_kernel      table_f32
#define ELEMENT           float
#define widened(error, x) (error)

PE_INLINE uint32_t put(float *out, float low, float high)
{
    *out = low;
    return f32_bits(low) ^ f32_bits(high);
}

#if PE_LANES > 1
PE_INLINE vec_u32 vec_put(float *out, vec low, vec high)
{
    vec_store(out, low);
    return (vec_u32)low ^ (vec_u32)high;
}
#endif

#include "core/kernels/table_body.h"
