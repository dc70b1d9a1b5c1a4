/* SPDX-License-Identifier: MIT */
#include "core/scheme/bias.h"
#include "core/views/analysis.h"

/* The number added to the logit of a key so far from its query, in every head; for a learned bias
 * without weights, the bucket that has it. */

enum { DECAY, OFFSETS };

enum { CHECK_OFFSETS = 1 << 14 }; /* between two looks at the work, of buckets */

static const struct pe_param params[] = {PE_PARAMS_OFFSETS};

struct state {
    struct pe_offsets offsets;
    struct pe_bias_common *common;
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_bias_kind *kind = view->scheme->encoding->bias;
    struct state *state = view->state;
    const struct pe_offsets *o = &state->offsets;

    if (pe_offsets_read(&state->offsets, values, err))
        return err->status;
    if (pe_weights_lack(view->scheme)
            ? pe_view_add(view, "buckets", PE_I64, 1, &o->count, err)
            : pe_view_add(view, "decay", view->dtype, 2,
                          (size_t[]){pe_bias_heads(view->scheme), o->count}, err))
        return err->status;
    if (pe_bias_common_new(&state->common, view->scheme, o->first, o->last + 1, view->dtype, NULL,
                           err) ||
        pe_view_add(view, "offsets", PE_I64, 1, &o->count, err))
        return err->status;
    view->outputs[DECAY].once_work = pe_bias_common_cost(state->common);
    view->outputs[DECAY].element_work = pe_bias_cost(view->scheme, view->dtype);
    if (kind->common_cost && !state->common)
        view->outputs[DECAY].element_work += kind->common_cost(view->scheme, view->dtype);
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    pe_bias_common_free(state_of(view)->common);
    pe_offsets_close(&((struct state *)view->state)->offsets);
}

static size_t memory_of(const struct pe_view *view)
{
    return pe_bias_common_size(state_of(view)->common);
}

static enum pe_status buckets_write(const struct pe_view *view, int64_t *out, struct pe_work *work,
                                    struct pe_error *err)
{
    const struct pe_offsets *o = &state_of(view)->offsets;

    for (size_t i = 0; i < o->count; i++) {
        if (i % CHECK_OFFSETS == 0 && pe_work_check(work, err))
            return err->status;
        out[i] = view->scheme->encoding->bias->bucket(view->scheme, pe_offset_at(o, i));
    }
    return PE_OK;
}

/* A run of offsets, one after the other. Keys count from 0: the query stands where the first of
 * them has the first offset. */
static enum pe_status run_write(const struct pe_view *view, size_t head, int64_t first,
                                size_t count, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_bias_part part = {.scheme = view->scheme,
                                      .head = head,
                                      .query = first < 0 ? (double)-first : 0,
                                      .key_begin = first < 0 ? 0 : (size_t)first,
                                      .key_count = count,
                                      .dtype = view->dtype,
                                      .common = state_of(view)->common};

    return view->scheme->encoding->bias->row(&part, out, work, err);
}

static enum pe_status biases_write(const struct pe_view *view, size_t head, char *out,
                                   struct pe_work *work, struct pe_error *err)
{
    const struct pe_offsets *o = &state_of(view)->offsets;
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (!o->samples)
        return run_write(view, head, o->first, o->count, out, work, err);
    for (size_t i = 0; i < o->count; i++)
        if (run_write(view, head, o->samples[i], 1, out + i * size, work, err))
            break;
    return err->status;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_offsets *o = &state_of(view)->offsets;
    const size_t size = o->count * pe_dtype_info(view->dtype)->size;

    if (output == OFFSETS) {
        pe_offsets_write(o, out);
        return PE_OK;
    }
    if (view->outputs[DECAY].dtype == PE_I64)
        return buckets_write(view, out, work, err);
    for (size_t row = row_begin; row < row_end; row++)
        if (biases_write(view, row, (char *)out + (row - row_begin) * size, work, err))
            return err->status;
    return PE_OK;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_bias_decay;
const struct pe_view_type pe_view_bias_decay = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "decay",
    .info.title = "How a bias falls with distance",
    .info.doc =
        "`decay` [heads, offsets], what is added to the logit of a key so far from its query, and "
        "`offsets` [offsets], key minus query.",
    .info.example = "max_offset=3",
    .close = close_all,
    .memory = memory_of,
};

static const struct pe_view_type learned = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "decay",
    .info.title = "How a learned bias falls with distance",
    .info.doc =
        "`decay` [heads, offsets] of given `weights`, without them `buckets` [offsets]; and "
        "`offsets` [offsets], key minus query.",
    .info.example = "max_offset=3",
    .info.tensor = "weights",
    .close = close_all,
    .memory = memory_of,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    if (!pe_bias_is_known(encoding))
        return NULL;
    return encoding->bias->buckets_count ? &learned : &pe_view_bias_decay;
}
