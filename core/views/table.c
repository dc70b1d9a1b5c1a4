/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/views/views.h"

static const struct pe_param params[] = {PE_PARAMS_POSITIONS};

enum pe_status pe_view_table_add(struct pe_view *view, size_t rows, size_t width,
                                 struct pe_error *err)
{
    return pe_view_add(view, "table", view->dtype, 2, (size_t[]){rows, width}, err);
}

static enum pe_status table_open(struct pe_view *view, const struct pe_params *values,
                                 struct pe_error *err)
{
    const struct pe_scheme *scheme = view->scheme;

    if (pe_view_positions_read(view, values, err) ||
        (scheme->encoding->positions_check &&
         scheme->encoding->positions_check(scheme, &view->positions, err)))
        return err->status;
    return pe_view_table_add(view, view->positions.count, scheme->encoding->row_width(scheme), err);
}

void pe_view_table_fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
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
    .info.name = "table",
    .info.title = "The table",
    .info.doc = "`table` [positions, width]: one row for each position.",
    .info.example = "length=3",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = table_open,
    .fill = pe_view_table_fill,
};

const struct pe_view_type pe_view_learned_table = {
    .info.name = "table",
    .info.title = "The table",
    .info.doc = "`table` [positions, width]: one row for each position.",
    .info.example = "length=3",
    .info.tensor = "table",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = table_open,
    .fill = pe_view_table_fill,
};
