/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/analysis/analysis.h"

/* How alike rows are: their products, or the cosines of the angles between them. The rows are in
 * doubles, each good to 2^-53, and their sums in doubles too: a product is off by less than
 * (width / 8 + 8) 2^-53 |a| |b|, a cosine by twice that, before it is rounded to the dtype. */

enum { CHECK_NUMBERS = 1 << 18 }; /* between two looks at the work: less than a millisecond */

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
    PE_PARAMS_PICTURE,
    {.name = "anchor",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "Compare with the row of this position alone, instead of each row with each."},
    {.name = "normalize",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Divide by both norms: the cosine of the angle between the rows, 0 where one is 0."},
};

struct state {
    bool normalize;
    struct pe_positions alone;   /* where the anchor stands */
    struct pe_rows *rows, *only; /* those compared; that of the anchor, NULL: each with each */
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

static enum pe_status anchor_open(struct pe_view *view, double anchor, struct pe_error *err)
{
    struct state *state = view->state;
    const struct pe_scheme *scheme = view->scheme;

    state->alone = (struct pe_positions){.start = anchor, .count = 1};
    if (pe_analysis_stand(scheme, &state->alone, "parameter:anchor", err))
        return err->status;
    return pe_rows_new(&state->only, scheme, &state->alone, PE_F64, err);
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const double anchor = pe_param_number(values, "anchor");
    const struct pe_positions *positions = &view->positions;
    const bool matrix = isnan(anchor);
    struct state *state = view->state;

    if (pe_analysis_positions(view, values, err) || (!matrix && anchor_open(view, anchor, err)) ||
        pe_rows_new(&state->rows, view->scheme, positions, PE_F64, err))
        return err->status;
    state->normalize = pe_param_number(values, "normalize") != 0;
    if (pe_view_add(view, "similarity", view->dtype, matrix ? 2 : 1,
                    (size_t[]){positions->count, positions->count}, err))
        return err->status;
    view->outputs[0].once_work =
        (double)positions->count * pe_row_work(view->scheme, positions, PE_F64);
    view->outputs[0].element_work = pe_product_work(view->scheme) * (state->normalize ? 3 : 1);
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    pe_rows_free(state_of(view)->rows);
    pe_rows_free(state_of(view)->only);
}

static enum pe_status row_write(const struct pe_view *view, const double *a, size_t columns,
                                char *out, struct pe_work *work, struct pe_error *err)
{
    const size_t width = pe_rows_width(view->scheme), size = pe_dtype_info(view->dtype)->size;
    const struct state *state = state_of(view);
    size_t unchecked = 0;

    for (size_t j = 0; a && j < columns; j++) {
        const double *b = pe_rows_get(state->rows, j, work, err);
        unchecked += width;
        if (!b || (unchecked >= CHECK_NUMBERS && pe_work_check(work, err)))
            return err->status;
        unchecked = unchecked >= CHECK_NUMBERS ? 0 : unchecked;
        const double value = pe_row_similarity(a, b, width, state->normalize);
        pe_from_f64(out + j * size, view->dtype, &value, 1);
    }
    return err->status;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = state_of(view);
    const size_t columns = view->outputs[output].row_elements;
    const size_t row_size = columns * pe_dtype_info(view->dtype)->size;

    for (size_t i = row_begin; i < row_end; i++) {
        const double *a = state->only ? pe_rows_get(state->only, 0, work, err)
                                      : pe_rows_get(state->rows, i, work, err);
        if (pe_work_check(work, err) ||
            row_write(view, a, columns, (char *)out + (i - row_begin) * row_size, work, err))
            return err->status;
    }
    return PE_OK;
}

static size_t memory_of(const struct pe_view *view)
{
    return pe_rows_size(state_of(view)->rows);
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_similarity;
const struct pe_view_type pe_view_similarity = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "similarity",
    .info.title = "How alike rows are",
    .info.doc = "`similarity` [positions, positions], the product of each row with each, or "
                "[positions] with `anchor`; a rotary row is what a query of pairs (1, 0) "
                "becomes. Off by less than (width / 8 + 8) 2^-53 of the product of the norms, "
                "then rounded.",
    .info.example = "length=3",
    .close = close_all,
    .memory = memory_of,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_rows(encoding) ? &pe_view_similarity : NULL;
}
