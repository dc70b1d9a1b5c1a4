/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#include <float.h>
#include <math.h>

/* Lanes run over columns, which are independent, so the bytes are the same on every ISA. */

static inline void mean_one(double *sum, double *count, double *nonfinite, double number)
{
    const int finite = fabs(number) <= DBL_MAX;

    *sum += finite ? number : 0;
    *count += finite;
    *nonfinite = finite ? *nonfinite : number;
}

static inline void extremes_one(double *least, double *most, double number)
{
    *least = number < *least ? number : *least;
    *most = number > *most ? number : *most;
}

#if PE_LANES > 1
PE_INLINE vec_f64 widen(const float *from)
{
    vec_half v;
    __builtin_memcpy(&v, from, sizeof(v));
    return __builtin_convertvector(v, vec_f64);
}

PE_INLINE vec_f64 choose(vec_u64 mask, vec_f64 yes, vec_f64 no)
{
    return (vec_f64)((mask & (vec_u64)yes) | (~mask & (vec_u64)no));
}
#endif

void PE_KERNEL(pool_mean_f32)(double *sum, double *count, double *nonfinite, const float *row,
                              size_t columns)
{
    size_t i = 0;

#if PE_LANES > 1
    const vec_f64 zero = {0}, one = zero + 1;
    for (; i + PE_LANES_F64 <= columns; i += PE_LANES_F64) {
        const vec_f64 number = widen(row + i);
        const vec_f64 size = (vec_f64)((vec_u64)number & UINT64_C(0x7fffffffffffffff));
        const vec_u64 finite = (vec_u64)(size <= zero + DBL_MAX);
        vec_store_f64(sum + i, vec_load_f64(sum + i) + choose(finite, number, zero));
        vec_store_f64(count + i, vec_load_f64(count + i) + choose(finite, one, zero));
        vec_store_f64(nonfinite + i, choose(finite, vec_load_f64(nonfinite + i), number));
    }
#endif
    for (; i < columns; i++)
        mean_one(&sum[i], &count[i], &nonfinite[i], row[i]);
}

void PE_KERNEL(pool_extremes_f32)(double *least, double *most, const float *row, size_t columns)
{
    size_t i = 0;

#if PE_LANES > 1
    for (; i + PE_LANES_F64 <= columns; i += PE_LANES_F64) {
        const vec_f64 number = widen(row + i);
        const vec_f64 low = vec_load_f64(least + i), high = vec_load_f64(most + i);
        vec_store_f64(least + i, choose((vec_u64)(number < low), number, low));
        vec_store_f64(most + i, choose((vec_u64)(number > high), number, high));
    }
#endif
    for (; i < columns; i++)
        extremes_one(&least[i], &most[i], row[i]);
}
