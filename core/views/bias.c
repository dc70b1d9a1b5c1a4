/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/exact/exact.h"
#include "core/views/views.h"

/* ---- bias: numbers to add to logits --------------------------------------------------------- */

static const struct pe_param bias_params[] = {
    PE_PARAMS_BIAS,
    {.name = "causal",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Put -Infinity where a key stands behind its query."},
};

/* Keys behind the query, from the first one that is. */
static void future_mask(const struct pe_view *view, double query, char *row)
{
    const size_t size = pe_dtype_info(view->dtype)->size;
    const double first = query < -1 ? 0 : query + 1;
    const double masked = -INFINITY;

    for (size_t key = first < (double)view->keys ? (size_t)first : view->keys; key < view->keys;
         key++)
        pe_from_f64(row + key * size, view->dtype, &masked, 1);
}

/* ---- what the distance alone decides: one vector a plane, of which every row is a slice ---------
 */

/* As long as they are few: kept with the view, which nobody counts. */
enum { VECTORS_SIZE_MAX = 4 << 20 };

/* A bias has a plane for each head, buckets have one. */
static bool is_buckets(const struct pe_view *view)
{
    return view->outputs[0].dtype == PE_I64;
}

static size_t planes_count(const struct pe_view *view)
{
    return is_buckets(view) ? 1 : view->scheme->heads;
}

static size_t vector_count(const struct pe_view *view)
{
    return view->queries + view->keys - 1;
}

static void vectors_open(struct pe_view *view)
{
    const size_t planes = planes_count(view);
    size_t size;

    /* Distances are the same numbers for all queries only if they are whole. */
    if (view->queries > 1 && view->keys > 0 && view->query_start == floor(view->query_start) &&
        pe_size_multiply(vector_count(view), pe_dtype_info(view->outputs[0].dtype)->size, &size) &&
        pe_size_multiply(size, planes, &size) && size <= VECTORS_SIZE_MAX)
        view->vectors = calloc(planes, sizeof(*view->vectors)); /* NULL: done without */
}

void pe_view_bias_free(struct pe_view *view)
{
    for (size_t plane = 0; view->vectors && plane < planes_count(view); plane++)
        free(atomic_load(&view->vectors[plane]));
    free(view->vectors);
}

/* `count` keys from the first one on, of one query. */
static void keys_write(const struct pe_view *view, size_t plane, double query, size_t count,
                       void *out)
{
    const struct pe_scheme *scheme = view->scheme;
    int64_t *buckets = out;

    if (!is_buckets(view))
        scheme->encoding->bias_row(scheme, plane, query, 0, count, view->dtype, out);
    else
        for (size_t key = 0; key < count; key++)
            buckets[key] = scheme->encoding->bucket(scheme, (int64_t)key - (int64_t)query);
}

/* Made by whoever needs it first; where two do, the second is thrown away. NULL: no memory. */
static const char *vector_get(const struct pe_view *view, size_t plane)
{
    char *made, *found = atomic_load(&view->vectors[plane]);

    if (found)
        return found;
    made = malloc(vector_count(view) * pe_dtype_info(view->outputs[0].dtype)->size);
    if (!made)
        return NULL;
    keys_write(view, plane, view->query_start + (double)(view->queries - 1), vector_count(view),
               made);
    if (atomic_compare_exchange_strong(&view->vectors[plane], &found, made))
        return made;
    free(made);
    return found;
}

/* The last query's row is the vector's beginning; an earlier one's begins that much further on. */
static void row_write(const struct pe_view *view, size_t row, char *out)
{
    const size_t plane = row / view->queries, query = row % view->queries;
    const char *vector = view->vectors ? vector_get(view, plane) : NULL;
    const size_t size = pe_dtype_info(view->outputs[0].dtype)->size;

    if (vector)
        memcpy(out, vector + (view->queries - 1 - query) * size, view->keys * size);
    else
        keys_write(view, plane, view->query_start + (double)query, view->keys, out);
}

static void bias_fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                      void *out)
{
    const struct pe_scheme *scheme = view->scheme;
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (output == 1) {
        for (size_t head = 0; row_begin < row_end && head < scheme->heads; head++)
            pe_real_round(scheme->encoding->slope, scheme, head, view->dtype,
                          (char *)out + head * size);
        mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
        return;
    }
    for (size_t row = row_begin; row < row_end; row++) {
        char *to = (char *)out + (row - row_begin) * view->keys * size;
        row_write(view, row, to);
        if (view->causal)
            future_mask(view, view->query_start + (double)(row % view->queries), to);
    }
}

static enum pe_status bias_open(struct pe_view *view, const struct pe_params *params,
                                struct pe_error *err)
{
    const size_t heads = view->scheme->heads;

    view->causal = pe_param_number(params, "causal") != 0;
    if (pe_view_queries_read(view, params, err) ||
        pe_view_add(view, "bias", view->dtype, 3, (size_t[]){heads, view->queries, view->keys},
                    err))
        return err->status;
    if (view->scheme->encoding->bias_by_distance)
        vectors_open(view);
    return view->scheme->encoding->slope ? pe_view_add(view, "slopes", view->dtype, 1, &heads, err)
                                         : PE_OK;
}

const struct pe_view_type pe_view_bias = {
    .info.name = "bias",
    .info.title = "What is added to the logits",
    .info.doc =
        "`bias` [heads, query_length, key_length], and `slopes` [heads] where there are some.",
    .info.example = "query_length=3",
    .info.params = bias_params,
    .info.params_count = sizeof(bias_params) / sizeof(bias_params[0]),
    .open = bias_open,
    .fill = bias_fill,
};

/* ---- buckets: which row of a learned table a query and a key share ------------------------------
 */

static const struct pe_param bucket_params[] = {PE_PARAMS_BIAS};

static enum pe_status buckets_open(struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    if (pe_view_queries_read(view, params, err) ||
        pe_view_add(view, "buckets", PE_I64, 2, (size_t[]){view->queries, view->keys}, err))
        return err->status;
    vectors_open(view);
    return PE_OK;
}

static void buckets_fill(const struct pe_view *view, size_t output, size_t row_begin,
                         size_t row_end, void *out)
{
    (void)output;
    for (size_t row = row_begin; row < row_end; row++)
        row_write(view, row, (char *)out + (row - row_begin) * view->keys * sizeof(int64_t));
}

const struct pe_view_type pe_view_buckets = {
    .info.name = "bias",
    .info.title = "Rows of the learned tables",
    .info.doc =
        "`buckets` [query_length, key_length], i64: which row of the learned tables a query and "
        "a key share.",
    .info.example = "query_length=3",
    .info.params = bucket_params,
    .info.params_count = sizeof(bucket_params) / sizeof(bucket_params[0]),
    .open = buckets_open,
    .fill = buckets_fill,
};

/* ---- one or the other ---------------------------------------------------------------------------
 */

static enum pe_status learned_open(struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    if (view->scheme->weights)
        return bias_open(view, params, err);
    if (pe_param_number(params, "causal") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:causal",
                       "causal masks a bias, and without the tensor weights there are only "
                       "buckets; post weights or leave causal out");
    return buckets_open(view, params, err);
}

static void learned_fill(const struct pe_view *view, size_t output, size_t row_begin,
                         size_t row_end, void *out)
{
    (is_buckets(view) ? buckets_fill : bias_fill)(view, output, row_begin, row_end, out);
}

const struct pe_view_type pe_view_learned_bias = {
    .info.name = "bias",
    .info.title = "Buckets, or with weights what is added to the logits",
    .info.doc =
        "`buckets` [query_length, key_length], i64. Where `weights` [buckets, heads] are given, "
        "`bias` [heads, query_length, key_length] instead.",
    .info.example = "query_length=3",
    .info.tensor = "weights",
    .info.params = bias_params,
    .info.params_count = sizeof(bias_params) / sizeof(bias_params[0]),
    .open = learned_open,
    .fill = learned_fill,
};
