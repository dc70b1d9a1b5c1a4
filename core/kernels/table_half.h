/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_TABLE_HALF_H
#define CORE_KERNELS_TABLE_HALF_H

/* Rounding to f32 and then to 16 bits is not always rounding once: it may go wrong for a value
 * that f32 moves onto a midpoint m of the 16-bit type, from at most half an ulp away, 2^-24 |m|.
 * With 2^-23 |x| added to its error x +- error reaches past every m that the value may lie beyond
 * by more than that (where |x| < 0.6 |m| the surplus of the error alone does, core/tables/bulk.c),
 * f32 keeps it there, and so ends that give the same number give the right one. */

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
