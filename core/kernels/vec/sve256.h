/* SPDX-License-Identifier: MIT */
/* Operations that SVE of 256 bits does faster than vectors in general; included by vec.h alone. */
#include <arm_sve.h>

#define PE_REGISTERS 32

typedef svuint32_t sve_u32 __attribute__((arm_sve_vector_bits(256)));
typedef svfloat32_t sve_f32 __attribute__((arm_sve_vector_bits(256)));
typedef svfloat64_t sve_f64 __attribute__((arm_sve_vector_bits(256)));

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    return svptest_any(svptrue_b32(), svcmpne_n_u32(svptrue_b32(), (sve_u32)v, 0));
}

/* Each conversion leaves its floats in the even lanes. */
#define PE_HAS_NARROW
PE_INLINE vec vec_narrow(vec_f64 first, vec_f64 second)
{
    const sve_f32 low = svcvt_f32_f64_x(svptrue_b64(), (sve_f64)first);
    const sve_f32 high = svcvt_f32_f64_x(svptrue_b64(), (sve_f64)second);

    return (vec)(sve_f32)svuzp1_f32(low, high);
}

/* An f16 is converted in the low half of a 32-bit lane. */
#define PE_HAS_F16
PE_INLINE vec vec_from_f16(vec_u16 from)
{
    const sve_u32 lanes = (sve_u32) __builtin_convertvector(from, vec_u32);

    return (vec)(sve_f32)svcvt_f32_f16_x(svptrue_b32(), svreinterpret_f16_u32(lanes));
}

PE_INLINE vec_u16 vec_to_f16(vec v)
{
    const svfloat16_t lanes = svcvt_f16_f32_x(svptrue_b32(), (sve_f32)v);

    return __builtin_convertvector((vec_u32)(sve_u32)svreinterpret_u32_f16(lanes), vec_u16);
}

/* a * b + c, rounded once, in doubles and in floats. */
#define PE_HAS_FUSED
PE_INLINE vec_f64 vec_fused_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)(sve_f64)svmla_f64_x(svptrue_b64(), (sve_f64)c, (sve_f64)a, (sve_f64)b);
}

PE_INLINE vec vec_fused(vec a, vec b, vec c)
{
    return (vec)(sve_f32)svmla_f32_x(svptrue_b32(), (sve_f32)c, (sve_f32)a, (sve_f32)b);
}
