/* SPDX-License-Identifier: MIT */
/* The rows of a table in one dtype. Included with
 *     table_kernel  the kernel
 *     ELEMENT       what is written
 *     widened       the error of x, made so wide that both ends may be rounded to f32 first
 *     put           writes one of the two ends and returns the bits in which they differ
 *     vec_put       the same for a vector */

PE_INLINE double product_sum(const struct pe_table_rows *in, size_t row, size_t column)
{
    const size_t at = row * in->step_stride + column;

    return in->cos[column] * in->step_cos[at] + in->sin[column] * in->step_sin[at];
}

/* The columns [begin, end) of a row one at a time, those in doubt listed. */
static void one_by_one(ELEMENT *out, const struct pe_table_rows *in, size_t row, size_t begin,
                       size_t end, struct pe_table_doubts *doubts)
{
    for (size_t column = begin; column < end; column++) {
        const double x = product_sum(in, row, column);
        const double error = widened(in->error[column], x);

        if (put(out + column, (float)(x - error), (float)(x + error)))
            doubts->list[doubts->count++] = (uint32_t)(row * in->columns + column);
    }
}

#if PE_LANES > 1
/* Two vectors of columns down all rows: their factors stay in registers. */
enum { VECTORS = 4, GROUP = VECTORS * PE_LANES_F64 };

struct group {
    vec_f64 cos[VECTORS], sin[VECTORS], error[VECTORS];
};

struct ends {
    vec_f64 low, high;
};

PE_INLINE struct ends ends_at(const struct group *group, size_t i, const double *cos,
                              const double *sin)
{
    const vec_f64 x = group->cos[i] * vec_load_f64(cos + i * PE_LANES_F64) +
                      group->sin[i] * vec_load_f64(sin + i * PE_LANES_F64);
    const vec_f64 error = widened(group->error[i], x);

    return (struct ends){x - error, x + error};
}

PE_INLINE vec_u32 vector(ELEMENT *out, const struct group *group, size_t i, const double *cos,
                         const double *sin)
{
    const struct ends first = ends_at(group, i, cos, sin);
    const struct ends second = ends_at(group, i + 1, cos, sin);

    return vec_put(out + i * PE_LANES_F64, vec_narrow(first.low, second.low),
                   vec_narrow(first.high, second.high));
}

static void group_down(ELEMENT *out, const struct pe_table_rows *in, size_t column,
                       struct pe_table_doubts *doubts)
{
    const double *cos = in->step_cos + column, *sin = in->step_sin + column;
    struct group group;

    for (size_t i = 0; i < VECTORS; i++) {
        group.cos[i] = vec_load_f64(in->cos + column + i * PE_LANES_F64);
        group.sin[i] = vec_load_f64(in->sin + column + i * PE_LANES_F64);
        group.error[i] = vec_load_f64(in->error + column + i * PE_LANES_F64);
    }
    out += column;
    for (size_t row = 0; row < in->rows; row++) {
        const vec_u32 first = vector(out, &group, 0, cos, sin);
        const vec_u32 second = vector(out, &group, 2, cos, sin);

        if (__builtin_expect(vec_any(first | second), 0))
            one_by_one(out - column, in, row, column, column + GROUP, doubts);
        out += in->out_stride;
        cos += in->step_stride;
        sin += in->step_stride;
    }
}
#endif

void PE_KERNEL(table_kernel)(ELEMENT *out, const struct pe_table_rows *in,
                             struct pe_table_doubts *doubts)
{
    size_t column = 0;

    doubts->count = 0;
#if PE_LANES > 1
    for (; column + GROUP <= in->columns; column += GROUP)
        group_down(out, in, column, doubts);
#endif
    for (size_t row = 0; row < in->rows && column < in->columns; row++)
        one_by_one(out + row * in->out_stride, in, row, column, in->columns, doubts);
}
