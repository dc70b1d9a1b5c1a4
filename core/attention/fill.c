/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"

#include <math.h>
#include <string.h>

/* Depth of one step of a product: a panel's part of 32 KiB stays in the L1 cache. */
enum { DEPTH_STEP = 256 };

enum { CHECK_KEYS = 1 << 14 }; /* between two looks at the work: up to 1 ms at head_dim 64 */

struct block {
    const struct pe_attention *attention;
    const struct pe_attention_scratch *scratch;
    size_t head, first, count; /* queries first .. first + count of one head */
    size_t keys;               /* that the last of them may see */
    struct pe_work *work;
};

/* ---- small things --------------------------------------------------------------------------- */

static char *logits_row(const struct block *block, size_t row)
{
    const struct pe_attention *attention = block->attention;

    return block->scratch->logits + row * attention->logits_stride * attention->size;
}

static char *relative_row(const struct block *block, size_t row)
{
    const struct pe_attention *attention = block->attention;

    return block->scratch->relative + row * attention->relative_stride * attention->size;
}

static char *output_row(const struct block *block, size_t row)
{
    const struct pe_attention *attention = block->attention;

    return block->scratch->output + row * attention->output_stride * attention->size;
}

/* Elements [begin, end) of a row take a value. */
static void spread(const struct pe_attention *attention, char *row, size_t begin, size_t end,
                   double value)
{
    if (attention->type == PE_F64)
        for (size_t i = begin; i < end; i++)
            ((double *)row)[i] = value;
    else
        for (size_t i = begin; i < end; i++)
            ((float *)row)[i] = (float)value;
}

static double element(const struct pe_attention *attention, const char *row, size_t index)
{
    return attention->type == PE_F64 ? ((const double *)row)[index] : ((const float *)row)[index];
}

static void row_write(const struct pe_attention *attention, char *out, size_t row, const char *from)
{
    const enum pe_dtype dtype = attention->result.dtype;
    const size_t count = attention->result.row_elements;
    char *to = out + row * count * pe_dtype_info(dtype)->size;

    if (dtype == attention->type)
        memcpy(to, from, count * attention->size);
    else
        pe_from_f32(to, dtype, (const float *)from, count);
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static int64_t position(const struct pe_attention *attention, size_t query)
{
    return attention->query_start + (int64_t)query;
}

/* How many keys a query may see. */
static size_t keys_seen(const struct pe_attention *attention, size_t query)
{
    if (!attention->spec.causal)
        return attention->keys;
    return (size_t)clamp(position(attention, query) + 1, 0, (int64_t)attention->keys);
}

/* output (+)= a * the rows [depth_begin, depth_begin + depth) of a packed matrix */
static void product_add(const struct block *block, size_t row, size_t rows, const char *a,
                        size_t a_stride, const struct pe_packed *packed, size_t head,
                        size_t depth_begin, size_t depth)
{
    const struct pe_attention *attention = block->attention;
    const char *matrix = (const char *)packed->data + head * packed->head_size;

    for (size_t at = 0; at < depth; at += DEPTH_STEP) {
        const size_t step = depth - at < DEPTH_STEP ? depth - at : DEPTH_STEP;
        for (size_t panel = 0; panel < packed->panels; panel++)
            attention->kernels.gemm(
                output_row(block, row) + panel * PE_PANEL_SIZE, attention->output_stride,
                a + at * attention->size, a_stride,
                matrix + (panel * packed->depth + depth_begin + at) * PE_PANEL_SIZE, rows, step, 1);
    }
}

/* ---- relative positions --------------------------------------------------------------------- */

static size_t bucket(const struct pe_attention *attention, size_t query, size_t key)
{
    const int64_t distance = (int64_t)key - position(attention, query);

    return (size_t)(clamp(distance, attention->least, attention->most) - attention->least);
}

/* The keys strictly inside the window of a query, each with a bucket of its own: those before all
 * share bucket 0, those behind the last one. */
struct window {
    size_t begin, end;
};

static struct window window_of(const struct pe_attention *attention, size_t query, size_t keys)
{
    const int64_t at = position(attention, query), last = (int64_t)keys;

    return (struct window){(size_t)clamp(at + attention->least + 1, 0, last),
                           (size_t)clamp(at + attention->most, 0, last)};
}

/* Q aK^T for the buckets that the block meets, once; then every row of logits begins with a slice
 * of it inside the window and constants outside: no gather, and nothing of n * n * d. */
static void relative_logits(const struct block *block)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_packed *packed = &attention->rel_k;
    const size_t size = attention->size, width = attention->width, keys = block->keys;
    const size_t low = bucket(attention, block->first + block->count - 1, 0) / width;
    const size_t high = bucket(attention, block->first, keys - 1) / width;
    const size_t base = low * width, last = (size_t)(attention->most - attention->least) - base;
    const char *q = attention->q_relative +
                    (block->head * attention->queries + block->first) * attention->head_dim * size;
    const char *matrix =
        (const char *)packed->data + block->head % attention->heads * attention->rel_k_stride;

    for (size_t panel = low; panel <= high; panel++)
        attention->kernels.gemm(relative_row(block, 0) + (panel - low) * PE_PANEL_SIZE,
                                attention->relative_stride, q, attention->head_dim,
                                matrix + panel * packed->depth * PE_PANEL_SIZE, block->count,
                                packed->depth, 0);
    for (size_t row = 0; row < block->count; row++) {
        const struct window window = window_of(attention, block->first + row, keys);
        const char *from = relative_row(block, row);
        char *to = logits_row(block, row);
        if (window.begin > 0)
            spread(attention, to, 0, window.begin, element(attention, from, 0));
        if (window.begin < window.end)
            memcpy(to + window.begin * size,
                   from + (bucket(attention, block->first + row, window.begin) - base) * size,
                   (window.end - window.begin) * size);
        if (window.end < keys)
            spread(attention, to, window.end, keys, element(attention, from, last));
        spread(attention, to, keys, pe_attention_whole(attention, keys), 0);
    }
}

/* The weights of one row summed by bucket, from bucket `low` on. */
static void bucket_weights(const struct block *block, size_t row, size_t keys, size_t low,
                           size_t high)
{
    const struct pe_attention *attention = block->attention;
    const size_t size = attention->size, last = (size_t)(attention->most - attention->least);
    const struct window window = window_of(attention, block->first + row, keys);
    const char *from = logits_row(block, row);
    char *to = relative_row(block, row);

    spread(attention, to, 0, high - low + 1, 0);
    if (window.begin > 0)
        attention->kernels.sum(to, from, window.begin); /* then low is 0 */
    if (window.begin < window.end)
        memcpy(to + (bucket(attention, block->first + row, window.begin) - low) * size,
               from + window.begin * size, (window.end - window.begin) * size);
    if (window.end < keys)
        attention->kernels.sum(to + (last - low) * size, from + window.end * size,
                               keys - window.end);
}

static void relative_values(const struct block *block, size_t row, size_t rows, size_t keys)
{
    const struct pe_attention *attention = block->attention;
    const size_t low = bucket(attention, block->first + row + rows - 1, 0);
    const size_t high = bucket(attention, block->first + row, keys - 1);

    for (size_t i = row; i < row + rows; i++)
        bucket_weights(block, i, keys, low, high);
    product_add(block, row, rows, relative_row(block, row), attention->relative_stride,
                &attention->rel_v, 0, low, high - low + 1);
}

/* ---- bias ----------------------------------------------------------------------------------- */

/* The numbers added to a row of logits; *bias NULL: none. */
static enum pe_status bias_of(const struct block *block, size_t row, const char **bias,
                              struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t head = block->head % attention->heads, query = block->first + row;
    const struct pe_bias_part part = {.scheme = scheme,
                                      .head = head,
                                      .query = (double)position(attention, query),
                                      .key_count = block->keys,
                                      .dtype = attention->type,
                                      .common = attention->common};

    *bias = NULL;
    if (!scheme || !pe_bias_is_known(scheme->encoding))
        return PE_OK;
    *bias = attention->biases ? pe_attention_bias(attention, head, query) : block->scratch->bias;
    if (attention->biases)
        return PE_OK;
    if (scheme->encoding->bias->row(&part, block->scratch->bias, block->work, err))
        return err->status;
    spread(attention, block->scratch->bias, block->keys, pe_attention_whole(attention, block->keys),
           0);
    return PE_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t kv_head(const struct pe_attention *attention, size_t head)
{
    const size_t group = attention->heads / attention->kv_heads;

    return head / attention->heads * attention->kv_heads + head % attention->heads / group;
}

static enum pe_status logits_compute(const struct block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_packed *packed = &attention->k;
    const char *q = attention->q + (block->head * attention->queries + block->first) *
                                       attention->head_dim * attention->size;
    const char *panel =
        (const char *)packed->data + kv_head(attention, block->head) * packed->head_size;

    if (attention->relative && block->keys > 0)
        relative_logits(block);
    for (size_t key = 0; key < block->keys; key += attention->width) {
        if (key % CHECK_KEYS == 0 && pe_work_check(block->work, err))
            return err->status;
        attention->kernels.gemm(block->scratch->logits + key * attention->size,
                                attention->logits_stride, q, attention->head_dim, panel,
                                block->count, packed->depth, attention->relative);
        panel += packed->depth * PE_PANEL_SIZE;
    }
    return PE_OK;
}

/* Scales a row, adds its bias, masks keys that it may not see; *max is the largest logit. */
static enum pe_status row_finish(const struct block *block, size_t row, double *max,
                                 struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t whole = pe_attention_whole(attention, block->keys);
    char *logits = logits_row(block, row);
    const char *bias;

    if (bias_of(block, row, &bias, err))
        return err->status;
    spread(attention, logits, keys_seen(attention, block->first + row), whole, -INFINITY);
    attention->kernels.logits(logits, bias, whole, attention->scale, max);
    return PE_OK;
}

/* A row masked whole sums to 0, and 0 / 1 is the zero it should be. */
static enum pe_status row_softmax(const struct block *block, size_t row, double *sum,
                                  struct pe_error *err)
{
    double max;

    if (row_finish(block, row, &max, err))
        return err->status;
    block->attention->kernels.softmax(logits_row(block, row),
                                      pe_attention_whole(block->attention, block->keys), max, sum);
    *sum = *sum == 0 ? 1 : *sum;
    return PE_OK;
}

static void values_add(const struct block *block, size_t row, size_t rows, size_t keys)
{
    const struct pe_attention *attention = block->attention;

    if (keys == 0)
        return;
    product_add(block, row, rows, logits_row(block, row), attention->logits_stride, &attention->v,
                kv_head(attention, block->head), 0, keys);
    if (attention->rel_v.data)
        relative_values(block, row, rows, keys);
}

/* Rows go together, and values that a row may not see are multiplied by zero; but zero times an
 * infinity is NaN: then each row goes alone and touches only the values it sees. */
static enum pe_status output_compute(const struct block *block, char *out, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    double sums[PE_ATTENTION_ROWS_MAX];

    for (size_t row = 0; row < block->count; row++) {
        if (row_softmax(block, row, &sums[row], err))
            return err->status;
        spread(attention, output_row(block, row), 0, attention->output_stride, 0);
    }
    if (attention->v.odd || attention->rel_v.odd)
        for (size_t row = 0; row < block->count; row++)
            values_add(block, row, 1, keys_seen(attention, block->first + row));
    else
        values_add(block, 0, block->count, block->keys);
    for (size_t row = 0; row < block->count; row++) {
        attention->kernels.divide(output_row(block, row), attention->output_stride, sums[row]);
        row_write(attention, out, row, output_row(block, row));
    }
    return PE_OK;
}

enum pe_status pe_attention_block(const struct pe_attention *attention,
                                  const struct pe_attention_scratch *scratch, size_t head,
                                  size_t first, size_t count, char *out, struct pe_work *work,
                                  struct pe_error *err)
{
    const struct block block = {
        attention, scratch, head, first, count, keys_seen(attention, first + count - 1), work};
    const size_t whole = pe_attention_whole(attention, block.keys);
    const bool weights = attention->spec.output == PE_ATTENTION_WEIGHTS;

    if (logits_compute(&block, err))
        return err->status;
    if (attention->spec.output == PE_ATTENTION_OUTPUT)
        return output_compute(&block, out, err);
    for (size_t row = 0; row < count; row++) {
        char *logits = logits_row(&block, row);
        double number;
        if (weights ? row_softmax(&block, row, &number, err)
                    : row_finish(&block, row, &number, err))
            return err->status;
        if (weights)
            attention->kernels.divide(logits, whole, number);
        spread(attention, logits, whole, attention->keys, weights ? 0 : -INFINITY);
        row_write(attention, out, row, logits);
    }
    return PE_OK;
}
