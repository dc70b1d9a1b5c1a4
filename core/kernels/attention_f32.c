/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define REAL  float
#define BITS  unsigned /* unsigned: sums of bits may wrap around */
#define LANES PE_LANES

#define KERNEL_NAME(name) PE_KERNEL(name##_f32)
#define SUM_RUN           PE_SUM_RUN

typedef REAL real_vec __attribute__((vector_size(LANES * sizeof(REAL))));

/* FUSED: a * b + c, rounded once. MOST: a if it is above b, else b. */
#if PE_LANES > 1
#define FUSED(a, b, c) vec_fused(a, b, c)
#define MOST(a, b)     vec_most(a, b)
#else
PE_INLINE real_vec FUSED(real_vec a, real_vec b, real_vec c)
{
    return (real_vec){float_fused(a[0], b[0], c[0])};
}

PE_INLINE real_vec MOST(real_vec a, real_vec b)
{
    return a[0] > b[0] ? a : b;
}
#endif

#define MANTISSA_BITS 23
#define ROUND_MAGIC   0x1.8p23f       /* adding it rounds to an integer, found in the low bits */
#define LN2_HIGH      0x1.62e4p-1f    /* 16 bits: exact times any |n| < 2^8 */
#define LN2_LOW       0x1.7f7d1cp-20f /* ln 2 - LN2_HIGH */
#define EXP_MIN       -87.0f          /* e^-87 = 1.6e-38 > 2^-126 */

/* Near 1/6! .. 1/2!, chosen to minimize the largest error in float arithmetic, 2^-28 of e^r. */
#define EXP_TERMS                                                                                  \
    {                                                                                              \
        0x1.6a53d6p-10f, 0x1.12397ep-7f, 0x1.5558aap-5f, 0x1.555492p-3f, 0x1.fffffcp-2f            \
    }

#include "core/kernels/attention_body.h"
