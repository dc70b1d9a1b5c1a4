/* SPDX-License-Identifier: MIT */
#include "core/views/table.h"

#include "core/scheme/rows.h"

static const struct pe_param params[] = {PE_PARAMS_POSITIONS, PE_PARAMS_PICTURE};

enum pe_status pe_view_table_add(struct pe_view *view, size_t rows, size_t width,
                                 struct pe_error *err)
{
    if (pe_view_add(view, "table", view->dtype, 2, (size_t[]){rows, width}, err))
        return err->status;
    view->outputs[0].element_work = pe_rows_cost(view->scheme, &view->positions, view->dtype);
    return PE_OK;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_scheme *scheme = view->scheme;
    const struct pe_rows_kind *kind = scheme->encoding->rows;

    if (pe_view_positions_read(view, values, err) ||
        (kind->positions_check && kind->positions_check(scheme, &view->positions, err)))
        return err->status;
    return pe_view_table_add(view, view->positions.count, kind->width(scheme), err);
}

enum pe_status pe_view_table_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                  size_t row_end, void *out, struct pe_work *work,
                                  struct pe_error *err)
{
    const struct pe_rows_part part = {&view->positions, row_begin, row_end, view->dtype};

    (void)output;
    return view->scheme->encoding->rows->fill(view->scheme, &part, out, work, err);
}

/* Members that the two types of the view share; the learned one takes a tensor besides. */
#define TABLE                                                                                      \
    .info.name = "table", .info.title = "The table",                                               \
    .info.doc = "`table` [positions, width]: one row for each position.",                          \
    .info.example = "length=3", .info.params = params,                                             \
    .info.params_count = sizeof(params) / sizeof(params[0]), .of = pe_view_table_of, .open = open, \
    .fill = pe_view_table_fill

static const struct pe_view_type learned = {TABLE, .info.tensor = "table"};

extern const struct pe_view_type pe_view_table;
const struct pe_view_type pe_view_table = {TABLE};

const struct pe_view_type *pe_view_table_of(const struct pe_encoding *encoding)
{
    if (!encoding->rows)
        return NULL;
    if (encoding->rows->table)
        return encoding->rows->table;
    return encoding->learned ? &learned : &pe_view_table;
}
