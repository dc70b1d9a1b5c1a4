/* SPDX-License-Identifier: MIT */
#include "core/rotation/rounded.h"

enum { CHUNK = 256 };

void pe_rounded(float *values, enum pe_dtype dtype, size_t count)
{
    uint16_t narrow[CHUNK];

    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t part = count - i < CHUNK ? count - i : CHUNK;
        pe_from_f32(narrow, dtype, values + i, part);
        pe_to_f32(values + i, narrow, dtype, part);
    }
}

/* A product of two such numbers is exact in float32, and a sum rounded twice is as good as once:
 * float32 has more than twice their digits and two. */
static void pair_rotate(uint16_t *x0, uint16_t *x1, enum pe_dtype dtype, float c, float s)
{
    float x[2], products[4], sums[2];

    pe_to_f32(&x[0], x0, dtype, 1);
    pe_to_f32(&x[1], x1, dtype, 1);
    products[0] = x[0] * c;
    products[1] = x[1] * s;
    products[2] = x[1] * c;
    products[3] = x[0] * s;
    pe_rounded(products, dtype, 4);
    sums[0] = products[0] - products[1];
    sums[1] = products[2] + products[3];
    pe_from_f32(x0, dtype, &sums[0], 1);
    pe_from_f32(x1, dtype, &sums[1], 1);
}

void pe_rotate_rounded(void *data, enum pe_dtype dtype, const float *cos, const float *sin,
                       size_t tokens, size_t heads, size_t head_dim, size_t pairs,
                       enum pe_layout layout)
{
    const size_t step = layout == PE_LAYOUT_HALF ? 1 : 2;
    const size_t apart = layout == PE_LAYOUT_HALF ? pairs : 1;

    for (size_t row = 0; row < tokens * heads; row++) {
        uint16_t *x = (uint16_t *)data + row * head_dim;
        const size_t table = row / heads * pairs;
        for (size_t pair = 0; pair < pairs; pair++)
            pair_rotate(x + pair * step, x + pair * step + apart, dtype, cos[table + pair],
                        sin[table + pair]);
    }
}
