/* SPDX-License-Identifier: MIT */
#define REAL  float
#define BITS  unsigned /* unsigned: sums of bits may wrap around */
#define LANES PE_LANES

#define KERNEL_NAME(name) PE_KERNEL(name##_f32)

#define MANTISSA_BITS 23
#define ROUND_MAGIC   0x1.8p23f       /* adding it rounds to an integer, found in the low bits */
#define LN2_HIGH      0x1.62e4p-1f    /* 16 bits: exact times any |n| < 2^8 */
#define LN2_LOW       0x1.7f7d1cp-20f /* ln 2 - LN2_HIGH */
#define EXP_MIN       -87.0f          /* e^-87 = 1.6e-38 > 2^-126 */

/* 1/7! .. 1/2!: the first term left out is at most 0.3466^8 / 8! = 5.2e-9, under 2^-27. */
#define EXP_TERMS                                                                                  \
    {                                                                                              \
        1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f                             \
    }

#include "core/kernels/attention_body.h"
