/* SPDX-License-Identifier: MIT */
/* Rows of 16-bit elements. Included by table_f16.c and table_bf16.c with
 *     narrow        a float, rounded
 *     vec_near      a vector, rounded
 *     vec_decide    writes a rounded vector, and returns the lanes whose ends differ
 *
 * Rows are made in float32 first, and in doubles where float32 leaves elements undecided. Error
 * bounds: docs/internals/exactness.md, "16-bit elements". */

#include "core/kernels/real.h"

#define ELEMENT uint16_t

/* x as a float, rounded to odd. */
PE_INLINE float odd(double x)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    bits = BITS_ODD(bits);
    __builtin_memcpy(&x, &bits, sizeof(bits));
    return (float)x;
}

PE_INLINE uint32_t put(uint16_t *out, double low, double high)
{
    *out = narrow(odd(low - 0x1p-147));
    return *out ^ narrow(odd(high + 0x1p-147));
}

#include "core/kernels/table_body.h"

#if PE_LANES > 1
#define FACTOR_MAX   0x1p16f
#define FACTOR_ERROR 0x1.42p-22f /* 5.03 * 2^-24 */

PE_INLINE vec vec_odd(vec_f64 low, vec_f64 high)
{
    return vec_narrow((vec_f64)BITS_ODD((vec_u64)low), (vec_f64)BITS_ODD((vec_u64)high));
}

PE_INLINE vec magnitude(vec x)
{
    return (vec)((vec_u32)x & 0x7fffffff);
}

PE_INLINE vec reals_narrow(struct reals x)
{
    return vec_narrow(x.low, x.high);
}

PE_INLINE uint64_t reals_put(uint16_t *out, struct reals x, struct reals error)
{
    const vec low = vec_odd(x.low - error.low - 0x1p-147, x.high - error.high - 0x1p-147);
    const vec high = vec_odd(x.low + error.low + 0x1p-147, x.high + error.high + 0x1p-147);
    const vec_u16 bits = vec_near(low), differ = bits ^ vec_near(high);

    __builtin_memcpy(out, &bits, sizeof(bits));
    return vec_any_u16(differ) ? lanes_set(__builtin_convertvector(differ, vec_u32)) : 0;
}

/* A vector of a row in doubles. Returns the lanes that are still undecided. */
__attribute__((noinline)) static uint64_t doubles_vector(uint16_t *out, const struct rotated *f,
                                                         const struct pe_table_rows *in, size_t row,
                                                         size_t column)
{
    const size_t at = row % PE_TABLE_ROTATION * in->step_stride + column;
    const struct reals error = reals_load(in->error + column);
    const struct reals x =
        reals_sum(f->cos[row / PE_TABLE_ROTATION], reals_load(in->step_cos + at),
                  f->sin[row / PE_TABLE_ROTATION], reals_load(in->step_sin + at));

    return reals_put(out + column, x, error);
}

/* Factors in float32, and an error bound for each. */
struct thin {
    vec cos[ROTATIONS], sin[ROTATIONS], of_cos[ROTATIONS], of_sin[ROTATIONS];
};

PE_INLINE struct thin thin_of(const struct rotated *f, const struct pe_table_rows *in,
                              size_t column)
{
    const vec error = reals_narrow(reals_load(in->error + column)) + 0x1p-120f;
    struct thin thin;

#pragma GCC unroll 4
    for (size_t i = 0; i < ROTATIONS; i++) {
        const vec cos = reals_narrow(f->cos[i]), sin = reals_narrow(f->sin[i]);
        const vec most = vec_most(magnitude(cos), magnitude(sin));
        const vec_u32 far = (vec_u32)(most > FACTOR_MAX);

        thin.cos[i] = (vec)(~far & (vec_u32)cos);
        thin.sin[i] = (vec)(~far & (vec_u32)sin);
        thin.of_cos[i] =
            (vec)((far & 0x7f800000) | (~far & (vec_u32)(magnitude(cos) * FACTOR_ERROR + error)));
        thin.of_sin[i] = magnitude(thin.sin[i]) * FACTOR_ERROR;
    }
    return thin;
}

PE_INLINE void vector_down(uint16_t *out, const struct pe_table_rows *in, size_t column,
                           struct pe_table_undecided *undecided, const size_t rows)
{
    const struct pe_table_rows all = *in; /* a copy, which no store can change */
    const struct rotated exact = rotated_of(in, column);
    const struct thin f = thin_of(&exact, in, column);

    for (size_t power = 0; power < PE_TABLE_ROTATION && power < rows; power++) {
        const size_t at = power * all.step_stride + column;
        const vec p = reals_narrow(reals_load(all.step_cos + at));
        const vec q = reals_narrow(reals_load(all.step_sin + at));

#pragma GCC unroll 4
        for (size_t i = 0; i < ROTATIONS; i++) {
            const size_t row = i * PE_TABLE_ROTATION + power;
            if (row >= rows)
                break;
            uint16_t *const to = out + row * all.out_stride;
            const vec x = vec_multiply_add(f.cos[i], p, f.sin[i] * q);
            const vec error = vec_multiply_add(f.of_sin[i], magnitude(q), f.of_cos[i]);

            if (__builtin_expect(vec_decide(to + column, x, x - error, x + error), 0))
                undecided->rows[row] |= doubles_vector(to, &exact, in, row, column) << column;
        }
    }
}
#endif
