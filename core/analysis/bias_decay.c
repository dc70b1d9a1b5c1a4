/* SPDX-License-Identifier: MIT */
#include "core/analysis/analysis.h"

/* What is added to the logit of a key so far from its query, in every head; for a learned bias
 * without weights, which of them that would be. */

enum { DECAY, OFFSETS };

static const struct pe_param params[] = {PE_PARAMS_OFFSETS};

static bool is_buckets(const struct pe_view *view)
{
    return view->scheme->encoding->buckets && !view->scheme->weights;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    size_t count;

    if (pe_analysis_new(view, err) || pe_analysis_offsets(view, values, &count, err))
        return err->status;
    if (is_buckets(view) ? pe_view_add(view, "buckets", PE_I64, 1, &count, err)
                         : pe_view_add(view, "decay", view->dtype, 2,
                                       (size_t[]){view->scheme->heads, count}, err))
        return err->status;
    view->outputs[DECAY].element_work = pe_work_pairs(view->scheme); /* sandwich; else 0 */
    return pe_view_add(view, "offsets", PE_I64, 1, &count, err);
}

static void buckets_write(const struct pe_view *view, size_t count, int64_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = view->scheme->encoding->bucket(view->scheme, view->analysis->first + (int64_t)i);
}

/* Keys count from 0: the query stands where the first of them has the first offset. */
static void biases_write(const struct pe_view *view, size_t head, size_t count, void *out)
{
    const int64_t first = view->analysis->first;
    const double query = first < 0 ? (double)-first : 0;
    const size_t key = first < 0 ? 0 : (size_t)first;

    view->scheme->encoding->bias_row(view->scheme, head, query, key, count, view->dtype, out);
}

static void fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    const size_t count = view->outputs[output].row_elements;
    const size_t size = count * pe_dtype_info(view->dtype)->size;

    for (size_t row = row_begin; row < row_end; row++)
        if (output == OFFSETS)
            pe_analysis_offsets_write(view, count, out);
        else if (is_buckets(view))
            buckets_write(view, count, out);
        else
            biases_write(view, row, count, (char *)out + (row - row_begin) * size);
}

const struct pe_view_type pe_view_bias_decay = {
    .info.name = "decay",
    .info.group = "analysis",
    .info.title = "How a bias falls with distance",
    .info.doc =
        "`decay` [heads, offsets], what is added to the logit of a key so far from its query, and "
        "`offsets` [offsets], key minus query.",
    .info.example = "max_offset=3",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = open,
    .fill = fill,
};

const struct pe_view_type pe_view_learned_decay = {
    .info.name = "decay",
    .info.group = "analysis",
    .info.title = "How a learned bias falls with distance",
    .info.doc =
        "`decay` [heads, offsets] of given `weights`, without them `buckets` [offsets]; and "
        "`offsets` [offsets], key minus query.",
    .info.example = "max_offset=3",
    .info.tensor = "weights",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = open,
    .fill = fill,
};
