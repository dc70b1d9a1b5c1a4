/* SPDX-License-Identifier: MIT */
/* The rows of a table in one dtype. Included with
 *     table_kernel  the kernel
 *     ELEMENT       the type of an element
 *     widened       the error of x, made so wide that both ends may be rounded to f32 first
 *     put           writes one of the two ends and returns the bits in which they differ
 *     vec_put       the same for a vector */

#if PE_LANES > 1
/* Columns are done by groups of vectors, whose factors stay in registers down all rows. */
enum { VECTORS = 4, GROUP = VECTORS * PE_LANES_F64, HALF = GROUP / 2, NARROW = HALF - 1 };
#else
enum { NARROW = PE_TABLE_COLUMNS };
#endif

struct factors {
    double cos, sin;
};

/* The factors of a column after another PE_TABLE_TURN rows. */
PE_INLINE struct factors turned(struct factors f, const struct pe_table_rows *in, size_t column)
{
    const size_t at = PE_TABLE_TURN * in->step_stride + column;
    const double p = in->step_cos[at], q = in->step_sin[at];

    return (struct factors){f.cos * p + f.sin * q, f.sin * p - f.cos * q};
}

/* Writes an element; true: its rounding is in doubt. */
PE_INLINE uint64_t element(ELEMENT *out, const struct pe_table_rows *in, struct factors f,
                           size_t row, size_t column)
{
    const size_t at = row % PE_TABLE_TURN * in->step_stride + column;
    const double x = f.cos * in->step_cos[at] + f.sin * in->step_sin[at];
    const double error = widened(in->error[column], x);

    return put(out, (float)(x - error), (float)(x + error)) != 0;
}

/* Rows of at most NARROW columns, one element after the other. */
static void narrow_down(ELEMENT *out, const struct pe_table_rows *in,
                        struct pe_table_doubts *doubts)
{
    struct factors f[NARROW];

    for (size_t column = 0; column < in->columns; column++)
        f[column] = (struct factors){in->cos[column], in->sin[column]};
    for (size_t row = 0; row < in->rows; row++, out += in->out_stride)
        for (size_t column = 0; column < in->columns; column++) {
            if (row > 0 && row % PE_TABLE_TURN == 0)
                f[column] = turned(f[column], in, column);
            doubts->rows[row] |= element(out + column, in, f[column], row, column) << column;
        }
}

#if PE_LANES > 1
/* The columns [begin, end) of a row again, one at a time, to learn which of them are in doubt. */
__attribute__((noinline, cold)) static uint64_t
doubts_of(ELEMENT *out, const struct pe_table_rows *in, size_t row, size_t begin, size_t end)
{
    uint64_t doubts = 0;

    for (size_t column = begin; column < end; column++) {
        struct factors f = {in->cos[column], in->sin[column]};
        for (size_t turns = row / PE_TABLE_TURN; turns > 0; turns--)
            f = turned(f, in, column);
        doubts |= element(out + column, in, f, row, column) << column;
    }
    return doubts;
}

struct group {
    vec_f64 cos[VECTORS], sin[VECTORS], error[VECTORS];
};

/* `vectors` is a constant wherever these are called: 2 or VECTORS. */
PE_INLINE void group_load(struct group *group, const struct pe_table_rows *in, size_t column,
                          const size_t vectors)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < vectors; i++) {
        group->cos[i] = vec_load_f64(in->cos + column + i * PE_LANES_F64);
        group->sin[i] = vec_load_f64(in->sin + column + i * PE_LANES_F64);
        group->error[i] = vec_load_f64(in->error + column + i * PE_LANES_F64);
    }
}

PE_INLINE void group_turn(struct group *group, const double *cos, const double *sin,
                          const size_t vectors)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < vectors; i++) {
        const vec_f64 x = group->cos[i], y = group->sin[i];
        const vec_f64 p = vec_load_f64(cos + i * PE_LANES_F64);
        const vec_f64 q = vec_load_f64(sin + i * PE_LANES_F64);

        group->cos[i] = x * p + y * q;
        group->sin[i] = y * p - x * q;
    }
}

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

/* Writes two vectors' elements of a row; the bits in which their ends differ. */
PE_INLINE vec_u32 vector(ELEMENT *out, const struct group *group, size_t i, const double *cos,
                         const double *sin)
{
    const struct ends first = ends_at(group, i, cos, sin);
    const struct ends second = ends_at(group, i + 1, cos, sin);

    return vec_put(out + i * PE_LANES_F64, vec_narrow(first.low, second.low),
                   vec_narrow(first.high, second.high));
}

PE_INLINE void group_down(ELEMENT *out, const struct pe_table_rows *in, size_t column,
                          struct pe_table_doubts *doubts, const size_t vectors)
{
    const size_t stride = in->step_stride;
    struct group group;

    group_load(&group, in, column, vectors);
    for (size_t row = 0; row < in->rows;) {
        const double *cos = in->step_cos + column, *sin = in->step_sin + column;
        const size_t end = row + PE_TABLE_TURN < in->rows ? row + PE_TABLE_TURN : in->rows;

        for (; row < end; row++, out += in->out_stride, cos += stride, sin += stride) {
            vec_u32 differ = vector(out + column, &group, 0, cos, sin);
            if (vectors > 2)
                differ |= vector(out + column, &group, 2, cos, sin);
            if (__builtin_expect(vec_any(differ), 0))
                doubts->rows[row] |=
                    doubts_of(out, in, row, column, column + vectors * PE_LANES_F64);
        }
        if (row < in->rows)
            group_turn(&group, cos, sin, vectors);
    }
}

static void groups_down(ELEMENT *out, const struct pe_table_rows *in,
                        struct pe_table_doubts *doubts)
{
    size_t column = 0;

    for (; column + GROUP <= in->columns; column += GROUP)
        group_down(out, in, column, doubts, VECTORS);
    /* The last group ends with the row; the columns that it shares with the one before come out the
     * same. */
    for (; column < in->columns; column += HALF)
        group_down(out, in, column + HALF < in->columns ? column : in->columns - HALF, doubts, 2);
}
#endif

void PE_KERNEL(table_kernel)(ELEMENT *out, const struct pe_table_rows *in,
                             struct pe_table_doubts *doubts)
{
    for (size_t row = 0; row < in->rows; row++)
        doubts->rows[row] = 0;
#if PE_LANES > 1
    if (in->columns > NARROW) {
        groups_down(out, in, doubts);
        return;
    }
#endif
    narrow_down(out, in, doubts);
}
