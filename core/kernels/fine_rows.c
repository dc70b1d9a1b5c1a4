/* SPDX-License-Identifier: MIT */
/* The rows of a table in f64, each element made as a sum of two doubles. */
#include "core/kernels/fine.h"

/* Factors of LANES columns. */
struct factors {
    struct fine x, y;
    real error;
};

struct fine_step {
    struct fine p, q;
};

/* Row `at` of the powers of the step. */
PE_INLINE struct fine_step step_at(const struct pe_table_rows_f64 *in, size_t at)
{
    return (struct fine_step){fine_load(in->step_cos[0] + at, in->step_cos[1] + at),
                              fine_load(in->step_sin[0] + at, in->step_sin[1] + at)};
}

/* A bit for each lane whose two ends round differently; NaN is in doubt too. */
PE_INLINE uint64_t differing(real low, real high)
{
#if PE_LANES > 1
    const vec_u64 differ = (vec_u64)(low != high);
    uint64_t lanes[LANES], bits = 0;

    if (!__builtin_expect(vec_any((vec_u32)differ), 0))
        return 0;
    __builtin_memcpy(lanes, &differ, sizeof(lanes));
    for (size_t i = 0; i < LANES; i++)
        bits |= (lanes[i] & 1) << i;
    return bits;
#else
    return low != high;
#endif
}

/* Stores the first `count` lanes. */
PE_INLINE void store_lanes(double *to, real x, size_t count)
{
    double lanes[LANES];

    if (count >= LANES) {
        store(to, x);
        return;
    }
    store(lanes, x);
    for (size_t i = 0; i < count; i++)
        to[i] = lanes[i];
}

PE_INLINE void columns_down(double *out, double *rest, const struct pe_table_rows_f64 *in,
                            struct pe_table_undecided *undecided, size_t column, const size_t count)
{
    const uint64_t mask = (UINT64_C(1) << count) - 1;
    struct factors f = {fine_load(in->cos[0] + column, in->cos[1] + column),
                        fine_load(in->sin[0] + column, in->sin[1] + column),
                        load(in->error + column)};

    for (size_t row = 0; row < in->rows; row++) {
        const size_t at = row % PE_TABLE_ROTATION * in->step_stride + column;
        if (row > 0 && row % PE_TABLE_ROTATION == 0) {
            const struct fine_step turn = step_at(in, PE_TABLE_ROTATION * in->step_stride + column);
            const struct fine x = fine_products(f.x, turn.p, f.y, turn.q);
            f.y = fine_products(f.y, turn.p, fine_negate(f.x), turn.q);
            f.x = x;
        }
        const struct fine_step step = step_at(in, at);
        const struct fine value = fine_products(f.x, step.p, f.y, step.q);
        const uint64_t doubt =
            differing(value.hi + (value.lo - f.error), value.hi + (value.lo + f.error)) & mask;
        undecided->rows[row] |= doubt << column;
        store_lanes(out + row * in->out_stride + column, value.hi, count);
        if (rest)
            store_lanes(rest + row * in->out_stride + column, value.lo, count);
    }
}

void PE_KERNEL(table_f64)(double *out, double *rest, const struct pe_table_rows_f64 *in,
                          struct pe_table_undecided *undecided)
{
    size_t column = 0;

    for (size_t row = 0; row < in->rows; row++)
        undecided->rows[row] = 0;
    for (; column + LANES <= in->columns; column += LANES)
        columns_down(out, rest, in, undecided, column, LANES);
    if (column < in->columns)
        columns_down(out, rest, in, undecided, column, in->columns - column);
}
