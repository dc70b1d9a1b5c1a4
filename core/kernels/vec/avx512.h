/* SPDX-License-Identifier: MIT */
/* Operations that AVX-512 does faster than vectors in general; included by vec.h alone. */
#include <immintrin.h>

#define PE_REGISTERS 32

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0;
}

#define PE_HAS_ANY_U16
PE_INLINE int vec_any_u16(vec_u16 v)
{
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
}

#define PE_HAS_NARROW
PE_INLINE vec vec_narrow(vec_f64 first, vec_f64 second)
{
    const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)first));

    return (vec)_mm512_insertf32x8(low, _mm512_cvtpd_ps((__m512d)second), 1);
}

#define PE_HAS_F16
PE_INLINE vec vec_from_f16(vec_u16 from)
{
    return (vec)_mm512_cvtph_ps((__m256i)from);
}

PE_INLINE vec_u16 vec_to_f16(vec v)
{
    return (vec_u16)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Of each lane the upper 16 bits, rounded: those of `odd` where they are, those of `even` below
 * them. A carry comes where the lower 16 bits are above the middle, or are the middle and the last
 * bit is odd. */
#define PE_HAS_BF16_PAIR
PE_INLINE vec_u32 vec_bf16_pair(vec even, vec odd)
{
    const __m512i a = (__m512i)even, b = (__m512i)odd, one = _mm512_set1_epi16(1);
    const __m512i high = _mm512_mask_alignr_epi8(b, 0x3333333333333333, a, a, 2);
    const __m512i low = _mm512_mask_alignr_epi8(a, 0xcccccccccccccccc, b, b, 14);
    const __m512i above = _mm512_ternarylogic_epi32(low, high, one, 0xf8); /* low | (high & 1) */
    const __mmask32 carry = _mm512_cmpgt_epu16_mask(above, _mm512_set1_epi16((short)0x8000));

    return (vec_u32)_mm512_mask_add_epi16(high, carry, high, one);
}

/* a * b + c, rounded once, in doubles and in floats. */
#define PE_HAS_FUSED
PE_INLINE vec_f64 vec_fused_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

PE_INLINE vec vec_fused(vec a, vec b, vec c)
{
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

#define PE_HAS_MOST
PE_INLINE vec vec_most(vec a, vec b)
{
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
}
