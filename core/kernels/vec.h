/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_VEC_H
#define CORE_KERNELS_VEC_H

/* Vectors of PE_LANES floats, or as many bytes of something else. The scalar build has none. */

#include "core/kernels/half.h"
#include "core/kernels/kernel.h"

#define PE_INLINE __attribute__((always_inline)) static inline

#if PE_LANES > 1

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* PE_LIST(4, X): X(0), X(1), X(2), X(3), for the indices of a shuffle. */
#define PE_LIST_2(X)    X(0), X(1)
#define PE_LIST_4(X)    PE_LIST_2(X), X(2), X(3)
#define PE_LIST_8(X)    PE_LIST_4(X), X(4), X(5), X(6), X(7)
#define PE_LIST_16(X)   PE_LIST_8(X), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15)
#define PE_LIST_(n, X)  PE_LIST_##n(X)
#define PE_LIST(n, X)   PE_LIST_(n, X)
#define PE_SAME(i)      (i)
#define PE_SWAPPED(i)   ((i) ^ 1)
#define PE_TWICE_LOW(i) ((i) / 2)
#define PE_EVEN(i)      (2 * (i))
#define PE_ODD(i)       (2 * (i) + 1)

#if PE_LANES == 4
#define PE_LANES_F64 2
#elif PE_LANES == 8
#define PE_LANES_F64 4
#else
#define PE_LANES_F64 8
#endif

typedef float vec __attribute__((vector_size(PE_LANES * 4)));
typedef double vec_f64 __attribute__((vector_size(PE_LANES * 4)));
typedef float vec_half __attribute__((vector_size(PE_LANES * 2)));
typedef uint64_t vec_u64 __attribute__((vector_size(PE_LANES * 4)));
typedef uint32_t vec_u32 __attribute__((vector_size(PE_LANES * 4)));
typedef int32_t vec_i32 __attribute__((vector_size(PE_LANES * 4)));
typedef uint16_t vec_u16 __attribute__((vector_size(PE_LANES * 2)));

PE_INLINE vec vec_load(const float *from)
{
    vec v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}

PE_INLINE void vec_store(float *to, vec v)
{
    __builtin_memcpy(to, &v, sizeof(v));
}

PE_INLINE vec_f64 vec_load_f64(const double *from)
{
    vec_f64 v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}

PE_INLINE void vec_store_f64(double *to, vec_f64 v)
{
    __builtin_memcpy(to, &v, sizeof(v));
}

PE_INLINE vec_u32 vec_load_u16(const uint16_t *from)
{
    vec_u16 v;
    __builtin_memcpy(&v, from, sizeof(v));
    return __builtin_convertvector(v, vec_u32);
}

PE_INLINE void vec_store_u16(uint16_t *to, vec_u32 v)
{
    const vec_u16 low = __builtin_convertvector(v, vec_u16);
    __builtin_memcpy(to, &low, sizeof(low));
}

/* All ones where a > b, both below 2^31: SSE2 and AVX2 compare signed numbers only. */
PE_INLINE vec_u32 vec_above(vec_u32 a, uint32_t b)
{
    return (vec_u32)((vec_i32)a > (int32_t)b);
}

PE_INLINE vec_u32 vec_choose(vec_u32 mask, vec_u32 yes, vec_u32 no)
{
    return (mask & yes) | (~mask & no);
}

/* Two vectors of doubles, each rounded. */
PE_INLINE vec vec_narrow(vec_f64 first, vec_f64 second)
{
    const vec_half low = __builtin_convertvector(first, vec_half);
    const vec_half high = __builtin_convertvector(second, vec_half);

    return __builtin_shufflevector(low, high, PE_LIST(PE_LANES, PE_SAME));
}

/* Whether any bit is set. */
PE_INLINE int vec_any(vec_u32 v)
{
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#elif defined(__SSE2__)
    return _mm_movemask_epi8(_mm_cmpeq_epi32((__m128i)v, _mm_setzero_si128())) != 0xffff;
#elif defined(__aarch64__)
    return vmaxvq_u32((uint32x4_t)v) != 0;
#endif
}

/* Both as in half.h; what differs is the payload of a NaN. */
#if defined(__F16C__) && PE_LANES == 16
PE_INLINE vec vec_load_f16(const uint16_t *from)
{
    return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

PE_INLINE void vec_store_f16(uint16_t *to, vec v)
{
    const __m256i low = _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256((__m256i *)to, low);
}
#elif defined(__F16C__)
PE_INLINE vec vec_load_f16(const uint16_t *from)
{
    return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

PE_INLINE void vec_store_f16(uint16_t *to, vec v)
{
    const __m128i low = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128((__m128i *)to, low);
}
#elif defined(__aarch64__)
PE_INLINE vec vec_load_f16(const uint16_t *from)
{
    return (vec)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

PE_INLINE void vec_store_f16(uint16_t *to, vec v)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
}
#else
PE_INLINE vec vec_load_f16(const uint16_t *from)
{
    const vec_u32 x = vec_load_u16(from), magnitude = (x & 0x7fff) << 13;
    const vec_u32 finite = (vec_u32)((vec)magnitude * 0x1p112f);
    const vec_u32 special = vec_above(magnitude, (0x7c00u << 13) - 1);

    return (vec)((x & 0x8000) << 16 | vec_choose(special, magnitude | 0x7f800000, finite));
}

PE_INLINE void vec_store_f16(uint16_t *to, vec v)
{
    const vec_u32 bits = (vec_u32)v, magnitude = bits & 0x7fffffff;
    const vec_u32 normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const vec_u32 subnormal = (vec_u32)((vec)magnitude + 0.5f) - 0x3f000000;
    const vec_u32 nan = vec_above(magnitude, 0x7f800000);
    vec_u32 x;

    x = vec_choose(vec_above(magnitude, 0x387fffff), normal, subnormal);
    x = vec_choose(vec_above(magnitude, 0x477fffff), 0x7c00 | (nan & 0x200), x);
    vec_store_u16(to, x | (bits >> 16 & 0x8000));
}
#endif

#endif
#endif
