/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_VEC_H
#define CORE_KERNELS_VEC_H

/* Vectors of PE_LANES floats, or as many bytes of another type, by the compiler's own vector types,
 * so that one source serves every ISA. The scalar build has none. vec/ISA.h, where there is one,
 * has faster versions of some operations and defines PE_HAS_x for each. */

#include "core/kernels/half.h"
#include "core/kernels/kernel.h"

#define PE_INLINE __attribute__((always_inline)) static inline

/* ---- a * b + c, rounded once ----------------------------------------------------------------- */

/* A fused multiply-add without the instruction: doubles hold the exact product of two floats.
 * Rounding the sum to a double and then to a float is wrong only if the double is half-way between
 * two floats without being the exact sum, or so small that floats near it have fewer bits. So the
 * sum is rounded to
 * odd first: an inexact sum becomes the neighbouring double whose last bit is 1, which is never
 * half-way. */
#ifdef __FP_FAST_FMAF
PE_INLINE float float_fused(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
#else
PE_INLINE float float_fused(float a, float b, float c)
{
    const double product = (double)a * b, sum = product + c, part = sum - product;
    const double rest = (product - (sum - part)) + (c - part); /* the error of the sum (Knuth) */
    uint64_t bits, rest_bits;
    double odd;

    __builtin_memcpy(&bits, &sum, sizeof(bits));
    __builtin_memcpy(&rest_bits, &rest, sizeof(rest_bits));
    const uint64_t inexact = rest < 0 || rest > 0, beyond = (bits ^ rest_bits) >> 63;
    bits = (bits - (beyond & inexact)) | inexact;
    __builtin_memcpy(&odd, &bits, sizeof(odd));
    return (float)odd;
}
#endif

#if PE_LANES > 1

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

/* Doubles in a vector, as a numeral that PE_LIST takes. */
#if PE_LANES == 4
#define PE_LANES_F64 2
#elif PE_LANES == 8
#define PE_LANES_F64 4
#elif PE_LANES == 16
#define PE_LANES_F64 8
#else
#error "PE_LIST and PE_LANES_F64 are for vectors of 1, 4, 8 and 16 lanes"
#endif

typedef float vec __attribute__((vector_size(PE_LANES * 4)));
typedef double vec_f64 __attribute__((vector_size(PE_LANES * 4)));
typedef float vec_half __attribute__((vector_size(PE_LANES * 2)));
typedef uint64_t vec_u64 __attribute__((vector_size(PE_LANES * 4)));
typedef uint32_t vec_u32 __attribute__((vector_size(PE_LANES * 4)));
typedef int32_t vec_i32 __attribute__((vector_size(PE_LANES * 4)));
typedef uint16_t vec_u16 __attribute__((vector_size(PE_LANES * 2)));

/* vec/ISA.h, set by the Makefile where there is one. */
#ifdef PE_VEC_ISA
#include PE_VEC_ISA
#endif

/* ---- memory ---------------------------------------------------------------------------------- */

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

/* Loops over much memory prefetch lines of the cache so many bytes ahead; beyond the end of the
 * memory that is harmless. */
enum { LINE = 64, PREFETCH = 8192 };

/* ---- lanes ----------------------------------------------------------------------------------- */

/* All ones where a > b, both below 2^31: SSE2 and AVX2 compare signed numbers only. */
PE_INLINE vec_u32 vec_above(vec_u32 a, uint32_t b)
{
    return (vec_u32)((vec_i32)a > (int32_t)b);
}

PE_INLINE vec_u32 vec_choose(vec_u32 mask, vec_u32 yes, vec_u32 no)
{
    return (mask & yes) | (~mask & no);
}

#ifndef PE_HAS_NARROW
/* Two vectors of doubles, rounded. */
PE_INLINE vec vec_narrow(vec_f64 first, vec_f64 second)
{
    const vec_half low = __builtin_convertvector(first, vec_half);
    const vec_half high = __builtin_convertvector(second, vec_half);

    return __builtin_shufflevector(low, high, PE_LIST(PE_LANES, PE_SAME));
}
#endif

/* One half of a vector, as doubles. */
PE_INLINE vec_f64 vec_widen_low(vec v)
{
    vec_half half;

    __builtin_memcpy(&half, &v, sizeof(half));
    return __builtin_convertvector(half, vec_f64);
}

PE_INLINE vec_f64 vec_widen_high(vec v)
{
    vec_half half;

    __builtin_memcpy(&half, (const char *)&v + sizeof(half), sizeof(half));
    return __builtin_convertvector(half, vec_f64);
}

#ifndef PE_HAS_ANY
/* Is any bit set? */
PE_INLINE int vec_any(vec_u32 v)
{
    uint64_t words[PE_LANES / 2], all = 0;

    __builtin_memcpy(words, &v, sizeof(words));
    for (int i = 0; i < PE_LANES / 2; i++)
        all |= words[i];
    return all != 0;
}
#endif

#ifndef PE_HAS_ANY_U16
PE_INLINE int vec_any_u16(vec_u16 v)
{
    uint64_t words[PE_LANES / 4], all = 0;

    __builtin_memcpy(words, &v, sizeof(v));
    for (int i = 0; i < PE_LANES / 4; i++)
        all |= words[i];
    return all != 0;
}
#endif

#ifndef PE_HAS_FUSED
PE_INLINE vec_f64 vec_sum_odd(vec_f64 product, vec_f64 c)
{
    const vec_f64 sum = product + c, part = sum - product;
    const vec_f64 rest = (product - (sum - part)) + (c - part);
    const vec_u64 inexact = (vec_u64)(rest < 0) | (vec_u64)(rest > 0);
    const vec_u64 beyond =
        ((vec_u64)sum ^ (vec_u64)rest) >> 63; /* the sum was rounded away from 0 */

    return (vec_f64)(((vec_u64)sum - (beyond & inexact)) | (inexact & 1));
}

PE_INLINE vec vec_fused(vec a, vec b, vec c)
{
    const vec_f64 p0 = vec_widen_low(a) * vec_widen_low(b), c0 = vec_widen_low(c);
    const vec_f64 p1 = vec_widen_high(a) * vec_widen_high(b), c1 = vec_widen_high(c);
    const vec_f64 sum0 = p0 + c0, sum1 = p1 + c1;
    const vec near = vec_narrow(sum0, sum1);
    /* A half-way double has one bit after the 24 of a float, the highest of 29. */
    const vec_u32 middle =
        (vec_u32)(((vec_u32)sum0 << 3) == 1u << 31) | (vec_u32)(((vec_u32)sum1 << 3) == 1u << 31);
    const vec_u32 small = (vec_u32)(((vec_u32)near & 0x7f800000) == 0);

    if (__builtin_expect(vec_any(middle | small), 0))
        return vec_narrow(vec_sum_odd(p0, c0), vec_sum_odd(p1, c1));
    return near;
}
#endif

/* a * b + c where the bits may depend on the ISA within the error bound: fused if there is an
 * instruction. */
#ifdef PE_HAS_FUSED
#define vec_multiply_add     vec_fused
#define vec_multiply_add_f64 vec_fused_f64
#else
PE_INLINE vec vec_multiply_add(vec a, vec b, vec c)
{
    return a * b + c;
}

PE_INLINE vec_f64 vec_multiply_add_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return a * b + c;
}
#endif

#ifndef PE_HAS_MOST
/* a if it is above b, else b; b is not NaN. */
PE_INLINE vec vec_most(vec a, vec b)
{
    return (vec)vec_choose((vec_u32)(a > b), (vec_u32)a, (vec_u32)b);
}
#endif

/* ---- f16 ------------------------------------------------------------------------------------- */

/* Conversions as in half.h. Those of an ISA may differ in the payload of a NaN. */
#ifndef PE_HAS_F16
PE_INLINE vec vec_from_f16(vec_u16 from)
{
    const vec_u32 x = __builtin_convertvector(from, vec_u32), magnitude = (x & 0x7fff) << 13;
    const vec_u32 finite = (vec_u32)((vec)magnitude * 0x1p112f);
    const vec_u32 special = vec_above(magnitude, (0x7c00u << 13) - 1);

    return (vec)((x & 0x8000) << 16 | vec_choose(special, magnitude | 0x7f800000, finite));
}

PE_INLINE vec_u16 vec_to_f16(vec v)
{
    const vec_u32 bits = (vec_u32)v, magnitude = bits & 0x7fffffff;
    const vec_u32 normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const vec_u32 subnormal = (vec_u32)((vec)magnitude + 0.5f) - 0x3f000000;
    const vec_u32 nan = vec_above(magnitude, 0x7f800000);
    vec_u32 x;

    x = vec_choose(vec_above(magnitude, 0x387fffff), normal, subnormal);
    x = vec_choose(vec_above(magnitude, 0x477fffff), 0x7c00 | (nan & 0x200), x);
    return __builtin_convertvector(x | (bits >> 16 & 0x8000), vec_u16);
}
#endif

PE_INLINE vec vec_load_f16(const uint16_t *from)
{
    vec_u16 v;
    __builtin_memcpy(&v, from, sizeof(v));
    return vec_from_f16(v);
}

PE_INLINE void vec_store_f16(uint16_t *to, vec v)
{
    const vec_u16 bits = vec_to_f16(v);
    __builtin_memcpy(to, &bits, sizeof(bits));
}

#endif

/* Nanoseconds, see struct pe_kernels. */
#if defined(__FP_FAST_FMAF) || defined(PE_HAS_FUSED)
#define PE_FUSED_EXTRA 0
#else
#define PE_FUSED_EXTRA (PE_LANES > 1 ? 1.1 : 3.0) /* measured with SSE2 and without */
#endif

/* Measured with AVX2, SSE2 and without, relative to AVX-512. */
#define PE_SLOWNESS (PE_LANES > 8 ? 1 : PE_LANES > 4 ? 1.5 : PE_LANES > 1 ? 3.5 : 8)

/* Vector registers, which limit the size of register tiles. */
#ifndef PE_REGISTERS
#define PE_REGISTERS 16
#endif

#endif
