/* SPDX-License-Identifier: MIT */
#include "core/analysis/analysis.h"

/* The sum of each row. */

static const struct pe_param params[] = {PE_PARAMS_POSITIONS};

struct state {
    struct pe_rows *rows;
};

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    struct state *state = view->state;

    return pe_analysis_positions(view, values, err) ||
                   pe_rows_new(&state->rows, view->scheme, &view->positions, PE_F64, err)
               ? err->status
               : pe_view_add(view, "sums", PE_F64, 1, &view->positions.count, err);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = view->state;
    double *sums = out;

    (void)output, (void)row_begin, (void)row_end; /* a tensor of rank 1 is one row */
    for (size_t i = 0; i < view->positions.count; i++) {
        const double *row = pe_rows_get(state->rows, i, work, err);
        if (!row || pe_work_check(work, err))
            return err->status;
        sums[i] = 0;
        for (size_t k = 0; k < pe_rows_width(view->scheme); k++)
            sums[i] += row[k];
    }
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    pe_rows_free(((const struct state *)view->state)->rows);
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_sums;
const struct pe_view_type pe_view_sums = {
    .info.name = "sums",
    .info.group = "analysis",
    .info.title = "Sums of rows",
    .info.doc = "`sums` [positions], of the elements of each row.",
    .info.example = "length=3",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .of = of,
    .state_size = sizeof(struct state),
    .open = open,
    .fill = fill,
    .close = close_all,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_rows(encoding) ? &pe_view_sums : NULL;
}
