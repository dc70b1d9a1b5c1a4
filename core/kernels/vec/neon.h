/* SPDX-License-Identifier: MIT */
/* Operations that NEON does faster than vectors in general; included by vec.h alone. */
#include <arm_neon.h>

#define PE_REGISTERS 32

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    return vmaxvq_u32((uint32x4_t)v) != 0;
}

#define PE_HAS_F16
PE_INLINE vec vec_from_f16(vec_u16 from)
{
    return (vec)vcvt_f32_f16((float16x4_t)from);
}

PE_INLINE vec_u16 vec_to_f16(vec v)
{
    return (vec_u16)vcvt_f16_f32((float32x4_t)v);
}

/* a * b + c, rounded once, in doubles and in floats. */
#define PE_HAS_FUSED
PE_INLINE vec_f64 vec_fused_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}

PE_INLINE vec vec_fused(vec a, vec b, vec c)
{
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
