/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define table_kernel table_f32
#define list_kernel  table_list_f32
#define ELEMENT      float

PE_INLINE uint32_t put(float *out, double low, double high)
{
    *out = (float)low;
    return f32_bits(*out) ^ f32_bits((float)high);
}

#include "core/kernels/table_body.h"

#if PE_LANES > 1
/* Writes one end of each interval, and returns the bits in which it differs from the other. */
PE_INLINE vec_u32 ends_put(float *out, struct reals x, struct reals error)
{
    const vec low = vec_narrow(x.low - error.low, x.high - error.high);
    const vec high = vec_narrow(x.low + error.low, x.high + error.high);

    vec_store(out, low);
    return (vec_u32)low ^ (vec_u32)high;
}

PE_INLINE uint64_t reals_put(float *out, struct reals x, struct reals error)
{
    const vec_u32 differ = ends_put(out, x, error);

    return __builtin_expect(vec_any(differ), 0) ? lanes_set(differ) : 0;
}

PE_INLINE void vector_down(float *out, const struct pe_table_rows *in, size_t column,
                           struct pe_table_undecided *undecided, const size_t rows)
{
    const struct pe_table_rows all = *in; /* a copy, which no store can change */
    const struct reals error = reals_load(all.error + column);
    const struct rotated f = rotated_of(in, column);

    for (size_t power = 0; power < PE_TABLE_ROTATION && power < rows; power++) {
        const size_t at = power * all.step_stride + column;
        const struct reals p = reals_load(all.step_cos + at), q = reals_load(all.step_sin + at);

#pragma GCC unroll 4
        for (size_t i = 0; i < ROTATIONS; i++) {
            const size_t row = i * PE_TABLE_ROTATION + power;
            if (row >= rows)
                break;
            const vec_u32 differ = ends_put(out + row * all.out_stride + column,
                                            reals_sum(f.cos[i], p, f.sin[i], q), error);
            if (__builtin_expect(vec_any(differ), 0))
                undecided->rows[row] |= lanes_set(differ) << column;
        }
    }
}
#endif
