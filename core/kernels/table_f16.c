/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define table_kernel table_f16
#define list_kernel  table_list_f16
#define narrow       f16_from_f32

#if PE_LANES > 1
PE_INLINE vec_u16 vec_near(vec x)
{
    return vec_to_f16(x);
}

PE_INLINE int vec_decide(uint16_t *out, vec x, vec low, vec high)
{
    const vec_u16 bits = vec_near(low);

    (void)x;
    __builtin_memcpy(out, &bits, sizeof(bits));
    return vec_any_u16(bits ^ vec_near(high));
}
#endif

#include "core/kernels/table_half.h"
