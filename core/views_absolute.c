/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/views.h"

static const struct pe_param params[] = {PE_PARAMS_POSITIONS};

static enum pe_status table_open(struct pe_view *view, const struct pe_params *values,
                                 struct pe_error *err)
{
    if (pe_view_positions(view, values, err))
        return err->status;
    return pe_view_add(
        view, "table", view->dtype, 2,
        (size_t[]){view->positions.count, view->scheme->encoding->row_width(view->scheme)}, err);
}

static void table_fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                       void *out)
{
    const size_t size = view->outputs[output].row_elements * pe_dtype_info(view->dtype)->size;

    if (view->scheme->encoding->rows) {
        view->scheme->encoding->rows(view->scheme, &view->positions, row_begin, row_end,
                                     view->dtype, out);
        return;
    }
    for (size_t row = row_begin; row < row_end; row++)
        view->scheme->encoding->row(view->scheme, &view->positions, row, view->dtype,
                                    (char *)out + (row - row_begin) * size);
}

const struct pe_view_type pe_view_absolute_table = {
    .name = "table",
    .params = params,
    .params_count = sizeof(params) / sizeof(params[0]),
    .open = table_open,
    .fill = table_fill,
};
