/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/once.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/scheme/bias.h"
#include "core/views/view.h"

/* The view `bias`: numbers to add to logits, or the bucket of each query and key. A bias has a
 * plane [queries, keys] for each head, buckets have one. */

static const struct pe_param bias_params[] = {
    PE_PARAMS_BIAS,
    {.name = "causal",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether the bias of keys after their query is -Infinity."},
    PE_PARAMS_POOL,
};

static const struct pe_param bucket_params[] = {PE_PARAMS_BIAS, PE_PARAMS_POOL};

enum {
    VECTORS_SIZE_MAX = 4 << 20, /* bytes cached in the view */
    CHECK_KEYS = 1 << 14,       /* copied keys between two checks of the work */
};

/* Estimated nanoseconds of a copied byte and of a slope. */
#define SLICE_COST 0.03
#define SLOPE_COST 1000

/* All numbers of a plane in the order of key - query; each row is a slice of it. */
struct vector {
    struct pe_once once;
    void *values; /* NULL until they are computed */
};

struct state {
    struct pe_queries queries;
    bool causal;
    struct pe_bias_common *common;
    size_t vectors_count; /* planes; 0: each row is computed on its own */
    struct vector *vectors;
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

static const struct pe_queries *queries_of(const struct pe_view *view)
{
    return &state_of(view)->queries;
}

/* ---- vectors -------------------------------------------------------------------------------- */

static bool is_buckets(const struct pe_view *view)
{
    return view->outputs[0].dtype == PE_I64;
}

static size_t element_size(const struct pe_view *view)
{
    return pe_dtype_info(view->outputs[0].dtype)->size;
}

static size_t vector_count(const struct pe_view *view)
{
    return state_of(view)->queries.queries + state_of(view)->queries.keys - 1;
}

static enum pe_status vectors_open(struct pe_view *view, struct pe_error *err)
{
    struct state *state = view->state;
    const size_t planes = is_buckets(view) ? 1 : pe_bias_heads(view->scheme);
    size_t size;

    if (state->queries.queries < 2 || state->queries.keys == 0 ||
        !pe_size_multiply(vector_count(view), element_size(view), &size) ||
        !pe_size_multiply(size, planes, &size) || size > VECTORS_SIZE_MAX)
        return PE_OK;
    state->vectors = calloc(planes + 1, sizeof(*state->vectors)); /* planes may be 0 */
    if (!state->vectors)
        return pe_no_memory(err, "a bias");
    for (; state->vectors_count < planes; state->vectors_count++)
        if (!pe_once_init(&state->vectors[state->vectors_count].once))
            return pe_no_memory(err, "a bias");
    return PE_OK;
}

/* Distances key - query run from key 0 and the last query to the last key and query 0. */
static enum pe_status common_open(struct pe_view *view, struct pe_error *err)
{
    struct state *state = view->state;
    const struct pe_queries *q = &state->queries;
    const int64_t start = (int64_t)q->start;

    if (q->queries == 0 || q->keys == 0 || vector_count(view) < 2)
        return PE_OK;
    return pe_bias_common_new(&state->common, view->scheme, -start - (int64_t)q->queries + 1,
                              (int64_t)q->keys - start, view->dtype, NULL, err);
}

static void close_all(struct pe_view *view)
{
    struct state *state = view->state;

    for (size_t i = 0; i < state->vectors_count; i++) {
        free(state->vectors[i].values);
        pe_once_destroy(&state->vectors[i].once);
    }
    free(state->vectors);
    pe_bias_common_free(state->common);
}

/* Keys 0 .. count - 1 of one query. */
static enum pe_status keys_write(const struct pe_view *view, size_t plane, double query,
                                 size_t count, void *out, struct pe_work *work,
                                 struct pe_error *err)
{
    const struct pe_bias_kind *kind = view->scheme->encoding->bias;
    int64_t *buckets = out;

    if (!is_buckets(view)) {
        const struct pe_bias_part part = {.scheme = view->scheme,
                                          .head = plane,
                                          .query = query,
                                          .key_count = count,
                                          .dtype = view->dtype,
                                          .common = state_of(view)->common};
        return kind->row(&part, out, work, err);
    }
    for (size_t key = 0; key < count; key++) {
        if (key % CHECK_KEYS == 0 && pe_work_check(work, err))
            return err->status;
        buckets[key] = kind->bucket(view->scheme, (int64_t)key - (int64_t)query);
    }
    return PE_OK;
}

static double vector_cost(const struct pe_view *view)
{
    return (double)vector_count(view) * pe_bias_cost(view->scheme, view->dtype);
}

static void costs_set(struct pe_view *view)
{
    const struct state *state = state_of(view);
    const struct pe_bias_kind *kind = view->scheme->encoding->bias;
    struct pe_output *output = &view->outputs[0];

    output->once_work = pe_bias_common_cost(state->common);
    output->element_work = pe_bias_cost(view->scheme, view->dtype);
    if (kind->common_cost && !state->common)
        output->element_work += kind->common_cost(view->scheme, view->dtype);
    if (!state->vectors)
        return;
    output->once_work += (double)state->vectors_count * vector_cost(view);
    output->once_parts = state->common ? 1 : state->vectors_count;
    output->element_work = SLICE_COST * (double)element_size(view);
}

struct vector_of {
    const struct pe_view *view;
    size_t plane;
};

static enum pe_status vector_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct vector_of *of = thing;
    const struct pe_view *view = of->view;
    const struct pe_queries *q = queries_of(view);
    struct vector *vector = &state_of(view)->vectors[of->plane];

    if (pe_spend(work, vector_cost(view), err))
        return err->status;
    if (!vector->values)
        vector->values = malloc(vector_count(view) * element_size(view));
    return vector->values ? keys_write(view, of->plane, q->start + (double)(q->queries - 1),
                                       vector_count(view), vector->values, work, err)
                          : pe_no_memory(err, "a bias");
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The row of the last query is at the start of the vector, each earlier one an element further on.
 */
static enum pe_status row_write(const struct pe_view *view, size_t row, char *out,
                                struct pe_work *work, struct pe_error *err)
{
    const struct pe_queries *q = queries_of(view);
    const size_t plane = row / q->queries, query = row % q->queries, size = element_size(view);
    struct vector *vector = state_of(view)->vectors;

    if (!vector)
        return keys_write(view, plane, q->start + (double)query, q->keys, out, work, err);
    vector += plane;
    if (pe_once(&vector->once, vector_make, &(struct vector_of){view, plane}, work, err))
        return err->status;
    memcpy(out, (const char *)vector->values + (q->queries - 1 - query) * size, q->keys * size);
    return PE_OK;
}

/* Sets the keys after the query to -Infinity. */
static void future_mask(const struct pe_view *view, double query, char *row)
{
    const size_t keys = queries_of(view)->keys, size = pe_dtype_info(view->dtype)->size;
    const double first = query < -1 ? 0 : query + 1;
    const double masked = -INFINITY;
    const size_t begin = first < (double)keys ? (size_t)first : keys;

    if (begin == keys)
        return;
    pe_from_f64(row + begin * size, view->dtype, &masked, 1);
    for (size_t key = begin + 1, count; key < keys; key += count) { /* doubles the masked part */
        count = pe_min(key - begin, keys - key);
        memcpy(row + key * size, row + begin * size, count * size);
    }
}

static enum pe_status rows_write(const struct pe_view *view, size_t row_begin, size_t row_end,
                                 char *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = state_of(view);
    const size_t row_size = state->queries.keys * element_size(view);
    size_t unchecked = 0;

    for (size_t row = row_begin; row < row_end; row++, out += row_size) {
        unchecked += state->queries.keys;
        if (unchecked >= CHECK_KEYS) {
            unchecked = 0;
            if (pe_work_check(work, err))
                return err->status;
        }
        if (row_write(view, row, out, work, err))
            return err->status;
        if (state->causal)
            future_mask(view, state->queries.start + (double)(row % state->queries.queries), out);
    }
    return PE_OK;
}

static enum pe_status slopes_write(const struct pe_view *view, char *out, struct pe_work *work,
                                   struct pe_error *err)
{
    const size_t heads = pe_bias_heads(view->scheme), size = pe_dtype_info(view->dtype)->size;

    for (size_t head = 0; head < heads; head++) {
        if (head % 64 == 0 && pe_work_check(work, err))
            break;
        pe_real_round(view->scheme->encoding->bias->slope, view->scheme, head, view->dtype,
                      out + head * size);
    }
    return err->status;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    return output == 1 ? slopes_write(view, out, work, err)
                       : rows_write(view, row_begin, row_end, out, work, err);
}

static size_t memory_of(const struct pe_view *view)
{
    const struct state *state = state_of(view);
    const size_t vector = state->vectors ? vector_count(view) * element_size(view) : 0;

    return state->vectors_count * vector + pe_bias_common_size(state->common);
}

/* ---- the three types ------------------------------------------------------------------------- */

static enum pe_status bias_open(struct pe_view *view, const struct pe_params *params,
                                struct pe_error *err)
{
    const struct pe_bias_kind *kind = view->scheme->encoding->bias;
    const size_t heads = pe_bias_heads(view->scheme);
    struct state *state = view->state;
    const struct pe_queries *q = &state->queries;

    state->causal = pe_param_number(params, "causal") != 0;
    if (pe_queries_read(&state->queries, params, err) ||
        pe_view_add(view, "bias", view->dtype, 3, (size_t[]){heads, q->queries, q->keys}, err) ||
        common_open(view, err) || (kind->by_distance && vectors_open(view, err)))
        return err->status;
    costs_set(view);
    if (!kind->slope)
        return PE_OK;
    if (pe_view_add(view, "slopes", view->dtype, 1, &heads, err))
        return err->status;
    view->outputs[1].element_work = SLOPE_COST;
    return PE_OK;
}

static enum pe_status buckets_open(struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    struct state *state = view->state;
    const struct pe_queries *q = &state->queries;

    if (pe_queries_read(&state->queries, params, err) ||
        pe_view_add(view, "buckets", PE_I64, 2, (size_t[]){q->queries, q->keys}, err) ||
        vectors_open(view, err))
        return err->status;
    costs_set(view);
    return PE_OK;
}

static enum pe_status learned_open(struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    if (pe_weights_of(view->scheme))
        return bias_open(view, params, err);
    if (pe_param_number(params, "causal") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:causal",
                       "causal masks a bias, and without the tensor weights there are only "
                       "buckets; post weights or leave causal out");
    return buckets_open(view, params, err);
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

#define MEMBERS                                                                                    \
    .info.name = "bias", .info.example = "query_length=3", .of = of,                               \
    .state_size = sizeof(struct state), .fill = fill, .close = close_all, .queries = queries_of,   \
    .memory = memory_of

extern const struct pe_view_type pe_view_bias;
const struct pe_view_type pe_view_bias = {
    MEMBERS,
    .info.title = "Bias of the attention logits",
    .info.doc = "`bias` [heads, query_length, key_length]: the number added to the attention logit "
                "of a query and a key. `slopes` [heads], for alibi: the slope of each head.",
    PE_INFO_PARAMS(bias_params),
    .open = bias_open,
};

static const struct pe_view_type buckets = {
    MEMBERS,
    .info.title = "Buckets of the learned tables",
    .info.doc = "`buckets` [query_length, key_length], i64: the row of the learned tables that "
                "belongs to a query and a key.",
    PE_INFO_PARAMS(bucket_params),
    .open = buckets_open,
};

static const struct pe_view_type learned = {
    MEMBERS,
    .info.title = "Buckets, or with weights the bias of the attention logits",
    .info.doc =
        "`buckets` [query_length, key_length], i64: the row of the learned weights that belongs to "
        "a query and a key. With `weights` [num_buckets, heads] given, `bias` [heads, "
        "query_length, key_length] instead: the number added to the attention logit.",
    .info.tensor = "weights",
    PE_INFO_PARAMS(bias_params),
    .open = learned_open,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    const struct pe_bias_kind *kind = encoding->bias;

    if (!kind)
        return NULL;
    return kind->buckets_count ? &learned : kind->row ? &pe_view_bias : &buckets;
}
