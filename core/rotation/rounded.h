/* SPDX-License-Identifier: MIT */
#ifndef CORE_ROTATION_ROUNDED_H
#define CORE_ROTATION_ROUNDED_H

#include "posenc/posenc.h"

/* Rotation of f16 and bf16 as a framework does it whose every operation rounds to the tensor's
 * dtype: RN(RN(x0 c) - RN(x1 s)), c and s of that dtype too. */

/* RN to the dtype, kept as floats. */
void pe_rounded(float *values, enum pe_dtype dtype, size_t count);

/* Rows of head_dim, of which the first 2 * pairs turn by the pairs of cos and sin of their token.
 */
void pe_rotate_rounded(void *data, enum pe_dtype dtype, const float *cos, const float *sin,
                       size_t tokens, size_t heads, size_t head_dim, size_t pairs,
                       enum pe_layout layout);

#endif
