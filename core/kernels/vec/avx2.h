/* SPDX-License-Identifier: MIT */
/* Operations that AVX2 and F16C do faster than vectors in general; included by vec.h alone. */
#include <immintrin.h>

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
}

#define PE_HAS_ANY_U16
PE_INLINE int vec_any_u16(vec_u16 v)
{
    return !_mm_testz_si128((__m128i)v, (__m128i)v);
}

#define PE_HAS_F16
PE_INLINE vec vec_from_f16(vec_u16 from)
{
    return (vec)_mm256_cvtph_ps((__m128i)from);
}

PE_INLINE vec_u16 vec_to_f16(vec v)
{
    return (vec_u16)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* a * b + c, rounded once, in doubles and in floats. */
#define PE_HAS_FUSED
PE_INLINE vec_f64 vec_fused_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

PE_INLINE vec vec_fused(vec a, vec b, vec c)
{
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

#define PE_HAS_MOST
PE_INLINE vec vec_most(vec a, vec b)
{
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
}
