/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_TABLE_HALF_H
#define CORE_KERNELS_TABLE_HALF_H

/* The ends of an interval are rounded to f32 and then to 16 bits, and rounding twice may differ
 * from rounding once: where f32 moves a value onto a midpoint m of two numbers of the 16-bit type,
 * from at most half an ulp away, 2^-24 |m|. So the interval is made wider, by 2^-23 |x| on both
 * sides. If the real value and x lie on two sides of a midpoint, or one of them is closer to it
 * than f32 can tell, then an end of the wider interval lies so far beyond the midpoint that f32
 * keeps it there, and the two ends give different numbers. (Where |x| < 0.6 |m| the surplus of the
 * error alone is enough, see core/bulk/quick.c.) Ends that give one number therefore give the
 * right one. */

#include "core/kernels/vec.h"

PE_INLINE double one_widened(double error, double x)
{
    return error + __builtin_fabs(x) * 0x1p-23;
}

#if PE_LANES > 1
PE_INLINE vec_f64 vec_widened(vec_f64 error, vec_f64 x)
{
    return error + (vec_f64)((vec_u64)x & ~(UINT64_C(1) << 63)) * 0x1p-23;
}
#define widened(error, x) _Generic((x), double : one_widened, default : vec_widened)(error, x)
#else
#define widened one_widened
#endif

#endif
