/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define REAL double
#define BITS unsigned long long /* unsigned: sums of bits may wrap around */
#if PE_LANES > 1
#define LANES PE_LANES_F64
#else
#define LANES 1
#endif

#define KERNEL_NAME(name) PE_KERNEL(name##_f64)
#define SUM_RUN           SIZE_MAX

typedef REAL real_vec __attribute__((vector_size(LANES * sizeof(REAL))));

/* Two roundings: only hardware fuses doubles, and not every machine does. */
#define FUSED(a, b, c) ((a) * (b) + (c))
#define MOST(a, b)     choose((bits_vec)((a) > (b)), a, b)

#define MANTISSA_BITS 52
#define ROUND_MAGIC   0x1.8p52
#define LN2_HIGH      0x1.62e42feep-1       /* 32 bits: exact times any |n| < 2^11 */
#define LN2_LOW       0x1.a39ef35793c76p-33 /* ln 2 - LN2_HIGH */
#define EXP_MIN       -708.0                /* e^-708 = 3.3e-308 > 2^-1022 */

/* 1/13! .. 1/2!: the first term left out is at most 0.3466^14 / 14! = 4.2e-18, under 2^-57. */
#define EXP_TERMS                                                                                  \
    {                                                                                              \
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,            \
            1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5                  \
    }

#include "core/kernels/attention_body.h"
