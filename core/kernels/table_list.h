/* SPDX-License-Identifier: MIT */
/* Rows of listed positions in one dtype, and their kernel. Included behind table_body.h with
 *     list_kernel  the kernel
 *     reals_put    writes a vector, and returns the lanes in doubt */

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

/* A whole row. Returns the columns in doubt. */
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
    const struct pe_table_list list = *in; /* which no store changes */
    const uint64_t within = (UINT64_C(1) << list.columns) - 1;
    ELEMENT whole[LIST_ROW];

    if (list.columns == LIST_ROW) {
        for (size_t row = 0; row < list.rows; row++, out += list.out_stride)
            undecided->rows[row] = list_row(out, &list, list.places[row]);
        return;
    }
    for (size_t row = 0; row < list.rows; row++, out += list.out_stride) {
        undecided->rows[row] = list_row(whole, &list, list.places[row]) & within;
        for (size_t i = 0; i < list.columns; i++)
            out[i] = whole[i];
    }
}
