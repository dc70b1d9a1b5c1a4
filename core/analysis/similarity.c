/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/analysis/analysis.h"

/* How alike rows are: their products, or the cosines of the angles between them. The rows are in
 * doubles, each good to 2^-53, and their sums in doubles too: a product is off by less than
 * (width / 8 + 8) 2^-53 |a| |b|, a cosine by twice that, before it is rounded to the dtype. */

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
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

static enum pe_status anchor_open(struct pe_view *view, double anchor, struct pe_error *err)
{
    struct pe_analysis *analysis = view->analysis;
    const struct pe_scheme *scheme = view->scheme;

    analysis->alone = (struct pe_positions){.start = anchor, .count = 1};
    if (pe_analysis_stand(scheme, &analysis->alone, "parameter:anchor", err))
        return err->status;
    return pe_rows_new(&analysis->only, scheme, &analysis->alone, PE_F64, err);
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const double anchor = pe_param_number(values, "anchor");
    const struct pe_positions *positions = &view->positions;
    const bool matrix = isnan(anchor);

    if (pe_analysis_new(view, err) || pe_analysis_positions(view, values, err) ||
        (!matrix && anchor_open(view, anchor, err)) ||
        pe_rows_new(&view->analysis->rows, view->scheme, positions, PE_F64, err))
        return err->status;
    view->analysis->normalize = pe_param_number(values, "normalize") != 0;
    if (pe_view_add(view, "similarity", view->dtype, matrix ? 2 : 1,
                    (size_t[]){positions->count, positions->count}, err))
        return err->status;
    /* A matrix has many elements for each row that is made, an anchor's row one. */
    view->outputs[0].element_work =
        matrix ? pe_work_product(view->scheme) : pe_work_row(view->scheme);
    return PE_OK;
}

static void fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    const struct pe_analysis *analysis = view->analysis;
    const size_t width = pe_rows_width(view->scheme), size = pe_dtype_info(view->dtype)->size;
    const size_t columns = view->outputs[output].row_elements;
    char *at = out;

    for (size_t i = row_begin; i < row_end; i++) {
        const double *a =
            analysis->only ? pe_rows_get(analysis->only, 0) : pe_rows_get(analysis->rows, i);
        for (size_t j = 0; j < columns; j++, at += size) {
            const double *b = pe_rows_get(analysis->rows, j);
            const double value = pe_row_similarity(a, b, width, analysis->normalize);
            pe_from_f64(at, view->dtype, &value, 1);
        }
    }
}

const struct pe_view_type pe_view_similarity = {
    .info.name = "similarity",
    .info.group = "analysis",
    .info.title = "How alike rows are",
    .info.doc = "`similarity` [positions, positions], the product of each row with each, or "
                "[positions] with `anchor`; a rotary row is what a query of pairs (1, 0) "
                "becomes. Off by less than (width / 8 + 8) 2^-53 of the product of the norms, "
                "then rounded.",
    .info.example = "length=3",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = open,
    .fill = fill,
};
