/* SPDX-License-Identifier: MIT */
/* The rows of a table in one dtype, by powers of a step and for listed positions. Included once a
 * dtype, so it has no include guard, with
 *     table_kernel, list_kernel  the kernels
 *     ELEMENT                    the type of an element
 *     put                        writes one of two ends, and returns the bits in which they differ
 * vector_down and reals_put are defined after it. */

enum { ROTATIONS = PE_TABLE_ROWS / PE_TABLE_ROTATION };

/* ---- one by one: for tables narrower than a vector, and the scalar build --------------------- */

#if PE_LANES > 1
enum { NARROW = PE_LANES - 1 };
#else
enum { NARROW = PE_TABLE_COLUMNS };
#endif

struct factors {
    double cos, sin;
};

/* The factors of a column after another PE_TABLE_ROTATION rows. */
PE_INLINE struct factors rotate_factors(struct factors f, const struct pe_table_rows *in,
                                        size_t column)
{
    const size_t at = PE_TABLE_ROTATION * in->step_stride + column;
    const double p = in->step_cos[at], q = in->step_sin[at];

    return (struct factors){f.cos * p + f.sin * q, f.sin * p - f.cos * q};
}

/* Writes an element; returns whether its rounding is undecided. */
PE_INLINE uint64_t element(ELEMENT *out, const struct pe_table_rows *in, struct factors f,
                           size_t row, size_t column)
{
    const size_t at = row % PE_TABLE_ROTATION * in->step_stride + column;
    const double x = f.cos * in->step_cos[at] + f.sin * in->step_sin[at];

    return put(out, x - in->error[column], x + in->error[column]) != 0;
}

static void narrow_down(ELEMENT *out, const struct pe_table_rows *in,
                        struct pe_table_undecided *undecided)
{
    struct factors f[NARROW];

    for (size_t column = 0; column < in->columns; column++)
        f[column] = (struct factors){in->cos[column], in->sin[column]};
    for (size_t row = 0; row < in->rows; row++, out += in->out_stride)
        for (size_t column = 0; column < in->columns; column++) {
            if (row > 0 && row % PE_TABLE_ROTATION == 0)
                f[column] = rotate_factors(f[column], in, column);
            undecided->rows[row] |= element(out + column, in, f[column], row, column) << column;
        }
}

/* ---- by vectors ----------------------------------------------------------------------------- */

#if PE_LANES > 1
/* PE_LANES doubles. */
struct reals {
    vec_f64 low, high;
};

PE_INLINE struct reals reals_load(const double *from)
{
    return (struct reals){vec_load_f64(from), vec_load_f64(from + PE_LANES_F64)};
}

/* x * p + y * q, and x * p - y * q. */
PE_INLINE struct reals reals_sum(struct reals x, struct reals p, struct reals y, struct reals q)
{
    return (struct reals){vec_multiply_add_f64(x.low, p.low, y.low * q.low),
                          vec_multiply_add_f64(x.high, p.high, y.high * q.high)};
}

PE_INLINE struct reals reals_difference(struct reals x, struct reals p, struct reals y,
                                        struct reals q)
{
    return (struct reals){vec_multiply_add_f64(x.low, p.low, -(y.low * q.low)),
                          vec_multiply_add_f64(x.high, p.high, -(y.high * q.high))};
}

/* The factors of PE_LANES columns, and those after each rotation. */
struct rotated {
    struct reals cos[ROTATIONS], sin[ROTATIONS];
};

PE_INLINE struct rotated rotated_of(const struct pe_table_rows *in, size_t column)
{
    const size_t at = PE_TABLE_ROTATION * in->step_stride + column;
    struct rotated f;

    f.cos[0] = reals_load(in->cos + column);
    f.sin[0] = reals_load(in->sin + column);
    for (size_t i = 1; i < ROTATIONS; i++) {
        f.cos[i] = f.cos[0];
        f.sin[i] = f.sin[0];
    }
    if (in->rows <= PE_TABLE_ROTATION) /* the power may be missing */
        return f;
    const struct reals p = reals_load(in->step_cos + at), q = reals_load(in->step_sin + at);
#pragma GCC unroll 4
    for (size_t i = 1; i < ROTATIONS; i++) {
        f.cos[i] = reals_sum(f.cos[i - 1], p, f.sin[i - 1], q);
        f.sin[i] = reals_difference(f.sin[i - 1], p, f.cos[i - 1], q);
    }
    return f;
}

/* A bit for each lane that is not 0. */
PE_INLINE uint64_t lanes_set(vec_u32 v)
{
    uint32_t lanes[PE_LANES];
    uint64_t set = 0;

    __builtin_memcpy(lanes, &v, sizeof(v));
    for (int i = 0; i < PE_LANES; i++)
        set |= (uint64_t)(lanes[i] != 0) << i;
    return set;
}

/* Writes a vector of doubles rounded. Returns the lanes that are undecided. */
PE_INLINE uint64_t reals_put(ELEMENT *out, struct reals x, struct reals error);

/* PE_LANES columns from `column` on, in all rows. Rows of one power follow each other, so that it
 * is read once: rows 0, 8, 16, 24, then 1, 9, ... */
PE_INLINE void vector_down(ELEMENT *out, const struct pe_table_rows *in, size_t column,
                           struct pe_table_undecided *undecided, const size_t rows);
#endif

void PE_KERNEL(table_kernel)(ELEMENT *out, const struct pe_table_rows *in,
                             struct pe_table_undecided *undecided)
{
    for (size_t row = 0; row < in->rows; row++)
        undecided->rows[row] = 0;
#if PE_LANES > 1
    /* The last vector ends with the row; it overlaps the one before, with the same values. */
    for (size_t column = 0; in->columns > NARROW && column < in->columns; column += PE_LANES) {
        const size_t at = column + PE_LANES < in->columns ? column : in->columns - PE_LANES;
        if (in->rows == PE_TABLE_ROWS)
            vector_down(out, in, at, undecided, PE_TABLE_ROWS);
        else
            vector_down(out, in, at, undecided, in->rows);
    }
    if (in->columns > NARROW)
        return;
#endif
    narrow_down(out, in, undecided);
}

/* ---- listed positions ----------------------------------------------------------------------- */

enum { LIST_ROW = PE_LIST_COLUMNS };

#if PE_LANES > 1
PE_INLINE uint64_t list_vector(ELEMENT *out, const struct pe_table_list *in,
                               struct pe_list_place place, size_t column)
{
    const size_t at = place.anchor + column, first = place.steps[0] + column;
    const size_t second = place.steps[1] + column;
    const struct reals x = reals_load(in->anchors.x + at), y = reals_load(in->anchors.y + at);
    const struct reals p = reals_load(in->steps[0].x + first);
    const struct reals q = reals_load(in->steps[0].y + first);
    const struct reals value =
        reals_difference(reals_difference(x, p, y, q), reals_load(in->steps[1].x + second),
                         reals_sum(y, p, x, q), reals_load(in->steps[1].y + second));

    return reals_put(out, value, reals_load(in->errors + place.error + column));
}

/* A row of all LIST_ROW columns. Returns the undecided columns. */
PE_INLINE uint64_t list_row(ELEMENT *out, const struct pe_table_list *in,
                            struct pe_list_place place)
{
    uint64_t undecided = 0;

    for (size_t column = 0; column < LIST_ROW; column += PE_LANES)
        undecided |= list_vector(out + column, in, place, column) << column;
    return undecided;
}
#else
PE_INLINE uint64_t list_row(ELEMENT *out, const struct pe_table_list *in,
                            struct pe_list_place place)
{
    uint64_t undecided = 0;

    for (size_t i = 0; i < LIST_ROW; i++) {
        const size_t at = place.anchor + i, first = place.steps[0] + i, second = place.steps[1] + i;
        const double x = in->anchors.x[at], y = in->anchors.y[at];
        const double p = in->steps[0].x[first], q = in->steps[0].y[first];
        const double value =
            (x * p - y * q) * in->steps[1].x[second] - (y * p + x * q) * in->steps[1].y[second];
        const double error = in->errors[place.error + i];

        undecided |= (uint64_t)(put(out + i, value - error, value + error) != 0) << i;
    }
    return undecided;
}
#endif

void PE_KERNEL(list_kernel)(ELEMENT *out, const struct pe_table_list *in,
                            struct pe_table_undecided *undecided)
{
    const struct pe_table_list list = *in; /* a copy, which no store can change */
    const uint64_t within = (UINT64_C(1) << list.columns) - 1;
    ELEMENT full_row[LIST_ROW];

    if (list.columns == LIST_ROW) {
        for (size_t row = 0; row < list.rows; row++, out += list.out_stride)
            undecided->rows[row] = list_row(out, &list, list.places[row]);
        return;
    }
    for (size_t row = 0; row < list.rows; row++, out += list.out_stride) {
        undecided->rows[row] = list_row(full_row, &list, list.places[row]) & within;
        for (size_t i = 0; i < list.columns; i++)
            out[i] = full_row[i];
    }
}
