/* SPDX-License-Identifier: MIT */
/* What wide vectors do in a way of their own; included by vec.h alone. */
#ifndef WIDE_FLAG_SEEN
#error "the flags of the row are missing"
#endif

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    uint32_t bits = 0;

    for (int lane = 0; lane < PE_LANES; lane++)
        bits |= v[lane];
    return bits != 0;
}
