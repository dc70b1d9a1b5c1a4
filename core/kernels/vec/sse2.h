/* SPDX-License-Identifier: MIT */
/* Operations that SSE2 does faster than vectors in general; included by vec.h alone. */
#include <emmintrin.h>

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi32((__m128i)v, _mm_setzero_si128())) != 0xffff;
}

#define PE_HAS_MOST
PE_INLINE vec vec_most(vec a, vec b)
{
    return (vec)_mm_max_ps((__m128)a, (__m128)b);
}
