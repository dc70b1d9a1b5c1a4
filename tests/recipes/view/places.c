/* SPDX-License-Identifier: MIT */
#include "core/scheme/rows.h"
#include "core/views/view.h"

static const struct pe_param params[] = {PE_PARAMS_POSITIONS};

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    return pe_view_positions_read(view, values, err)
               ? err->status
               : pe_view_add(view, "places", view->dtype, 1, &view->positions.count, err);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    (void)output, (void)work, (void)err;
    for (size_t i = 0; row_begin < row_end && i < view->positions.count; i++) {
        const double place = pe_view_position(view, i);
        pe_from_f64((char *)out + i * pe_dtype_info(view->dtype)->size, view->dtype, &place, 1);
    }
    return PE_OK;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_places;
const struct pe_view_type pe_view_places = {
    .info.name = "places",
    .info.title = "Where the rows stand",
    .info.doc = "`places` [positions].",
    .info.example = "length=3",
    PE_INFO_PARAMS(params),
    .of = of,
    .open = open,
    .fill = fill,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_rows_are_free(encoding) ? &pe_view_places : NULL;
}
