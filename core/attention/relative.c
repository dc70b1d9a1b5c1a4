/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/base/spend.h"

/* ---- distances ------------------------------------------------------------------------------ */

enum pe_status pe_attention_reach(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;

    if (attention->queries == 0 || attention->keys == 0 || !scheme)
        return PE_OK;
    if (pe_attention_disentangles(&attention->spec))
        attention->most = (int64_t)scheme->encoding->bias->vectors_count(scheme) - 1;
    if (!scheme->encoding->relative)
        return PE_OK;
    attention->relative = true;
    if (pe_clipped_of(scheme->encoding)) {
        attention->most = (int64_t)pe_clipped_of(scheme->encoding)->clip(scheme);
        attention->least = -attention->most;
    } else { /* every distance that there is */
        attention->least = -attention->position_most;
        attention->most = (int64_t)attention->keys - 1 - attention->position_least;
        if (fmax(fabs((double)attention->least), fabs((double)attention->most)) > 0x1p53 - 1)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:query_start",
                           "distances must lie within +-(2^53 - 1)");
    }
    return PE_OK;
}

/* ---- clipped: one table for all heads ------------------------------------------------------- */

/* Rows in the order of key - query, so that a query meets one slice of them whatever the sign. */
static enum pe_status table_pack(struct pe_attention *attention, const struct pe_tensor *tensor,
                                 struct pe_packed *packed, bool transposed, const char *where,
                                 struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t buckets = tensor->shape[0], columns = tensor->shape[1];
    const bool reversed = pe_clipped_of(scheme->encoding)->sign(scheme) < 0;

    if (pe_attention_packed_new(attention, packed, 1, transposed ? columns : buckets,
                                transposed ? buckets : columns, where, err))
        return err->status;
    char *rows =
        pe_memory_take(attention->work, buckets * columns, attention->size, "vectors", err);
    if (!rows)
        return err->status;
    for (size_t bucket = 0; bucket < buckets; bucket++)
        pe_attention_read(attention, rows + bucket * columns * attention->size, tensor,
                          (reversed ? buckets - 1 - bucket : bucket) * columns, columns);
    if (transposed)
        pe_attention_panels_transpose(attention, packed, 0, rows, err);
    else
        pe_attention_panels_write(attention, packed, 0, rows, err);
    pe_memory_give(attention->work, rows, buckets * columns, attention->size);
    return err->status;
}

/* The vectors of a scheme that makes them, correctly rounded to the type of the arithmetic. */
static enum pe_status made_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const struct pe_positions all = {
        .step = 1, .count = 2 * pe_clipped_of(scheme->encoding)->clip(scheme) + 1};
    const struct pe_rows_part part = {&all, 0, all.count, attention->type};
    const size_t count = all.count * attention->head_dim;
    struct pe_tensor made = {
        .dtype = attention->type, .rank = 2, .shape = {all.count, attention->head_dim}};

    made.data = pe_memory_take(attention->work, count, attention->size, "vectors", err);
    if (!made.data)
        return err->status;
    if (!scheme->encoding->rows->fill(scheme, &part, made.data, attention->work, err) &&
        !table_pack(attention, &made, &attention->rel_k, true, "", err) &&
        attention->spec.output == PE_ATTENTION_OUTPUT)
        table_pack(attention, &made, &attention->rel_v, false, "", err);
    pe_memory_give(attention->work, made.data, count, attention->size);
    return err->status;
}

static enum pe_status clipped_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;

    if (pe_clipped_of(spec->scheme->encoding)->makes_vectors(spec->scheme))
        return made_pack(attention, err);
    if (table_pack(attention, &spec->rel_k, &attention->rel_k, true, "tensor:rel_k", err))
        return err->status;
    if (spec->output != PE_ATTENTION_OUTPUT || spec->rel_v.rank == 0)
        return PE_OK;
    return table_pack(attention, &spec->rel_v, &attention->rel_v, false, "tensor:rel_v", err);
}

/* ---- by distance: W_r R of every head, a panel of distances at a time ------------------------ */

struct projection {
    struct pe_job job;
    struct pe_attention *attention;
    char *weights; /* in the type of the arithmetic; NULL: no projection */
    size_t dim;
    _Atomic int status; /* of a block that failed */
};

/* The rows of the distances that a panel has, from the farthest one behind, as columns. */
static enum pe_status distances_write(const struct projection *projection, size_t panel, char *to,
                                      struct pe_error *err)
{
    const struct pe_attention *attention = projection->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t columns = attention->rel_k.columns, width = attention->width;
    const size_t first = panel * width, count = pe_least(columns - first, width);
    const struct pe_positions all = {
        .start = -(double)attention->least, .step = -1, .count = columns};
    const struct pe_rows_part part = {&all, first, first + count, attention->type};
    struct pe_packed packed = {.data = to, .depth = projection->dim, .columns = count};
    const size_t size = count * projection->dim * attention->size;
    char *rows = pe_memory_take(attention->work, 1, size, "the rows of the distances", err);

    if (!rows)
        return err->status;
    if (!scheme->encoding->rows->fill(scheme, &part, rows, attention->work, err))
        pe_attention_panels_transpose(attention, &packed, 0, rows, err);
    pe_memory_give(attention->work, rows, 1, size);
    return err->status;
}

/* The panel of every head: the rows of its distances times the weights. */
static enum pe_status panel_project(const struct projection *projection, size_t panel,
                                    struct pe_error *err)
{
    enum { DEPTH_STEP = 256 };
    const struct pe_attention *attention = projection->attention;
    const struct pe_packed *packed = &attention->rel_k;
    const size_t dim = projection->dim, offset = panel * packed->depth * PE_PANEL_SIZE;
    char *distances = NULL;

    if (!projection->weights)
        return distances_write(projection, panel, (char *)packed->data + offset, err);
    if (posix_memalign((void **)&distances, PE_PANEL_SIZE, dim * PE_PANEL_SIZE) != 0)
        return pe_no_memory(err, "the rows of the distances");
    if (!distances_write(projection, panel, distances, err))
        for (size_t head = 0; head < attention->heads; head++)
            for (size_t at = 0; at < dim; at += DEPTH_STEP) {
                const struct pe_panels panels = {distances + at * PE_PANEL_SIZE, attention->width,
                                                 0, 1, 0};
                attention->kernels.gemm(
                    (char *)packed->data + head * packed->head_size + offset, attention->width,
                    projection->weights + (head * packed->depth * dim + at) * attention->size, dim,
                    &panels, packed->depth, pe_least(dim - at, DEPTH_STEP), at > 0);
            }
    free(distances);
    return err->status;
}

static void project_run(struct pe_job *job, size_t panel)
{
    struct projection *projection = (struct projection *)job;
    struct pe_error err = {0};

    if (panel_project(projection, panel, &err))
        atomic_store(&projection->status, err.status);
}

static enum pe_status by_distance_pack(struct pe_attention *attention, struct pe_pool *pool,
                                       struct pe_error *err)
{
    const struct pe_tensor *weights = &attention->spec.w_r;
    struct projection projection = {
        .job = {.run = project_run, .work = attention->work},
        .attention = attention,
        .dim = attention->spec.scheme->encoding->rows->width(attention->spec.scheme)};
    const size_t heads = weights->rank > 0 ? attention->heads : 1;
    size_t count = 0;

    if (pe_attention_packed_new(attention, &attention->rel_k, heads, attention->head_dim,
                                (size_t)(attention->most - attention->least) + 1, "tensor:k", err))
        return err->status;
    if (weights->rank > 0) {
        count = weights->shape[0] * weights->shape[1];
        attention->rel_k_stride = attention->rel_k.head_size;
        projection.weights =
            pe_memory_take(attention->work, count, attention->size, "a copy of w_r", err);
        if (!projection.weights)
            return err->status;
        pe_attention_read(attention, projection.weights, weights, 0, count);
    }
    projection.job.blocks = attention->rel_k.panels;
    const bool all = pe_pool_run(pool, &projection.job);
    const int status = atomic_load(&projection.status);
    pe_memory_give(attention->work, projection.weights, count, attention->size);
    if (pe_work_check(attention->work, err))
        return err->status;
    if (status == PE_OUT_OF_MEMORY)
        return pe_no_memory(err, "the rows of the distances");
    return all && !status ? PE_OK
                          : pe_fail(err, PE_INTERNAL, "", "attention could not be prepared");
}

enum pe_status pe_attention_relatives_pack(struct pe_attention *attention, struct pe_pool *pool,
                                           struct pe_error *err)
{
    if (!attention->relative)
        return PE_OK;
    return pe_clipped_of(attention->spec.scheme->encoding) ? clipped_pack(attention, err)
                                                           : by_distance_pack(attention, pool, err);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static size_t bucket(const struct pe_attention_block *block, size_t row, size_t key)
{
    const struct pe_attention *attention = block->attention;
    const int64_t distance = (int64_t)key - pe_block_position(block, row);

    return (size_t)(clamp(distance, attention->least, attention->most) - attention->least);
}

static char *relative_row(const struct pe_attention_block *block, size_t row)
{
    const struct pe_attention *attention = block->attention;

    return block->scratch->relative + row * attention->relative_stride * attention->size;
}

static double element(const struct pe_attention *attention, const char *row, size_t index)
{
    return attention->type == PE_F64 ? ((const double *)row)[index] : ((const float *)row)[index];
}

/* The keys strictly inside the window of a query, each with a bucket of its own: those before all
 * share bucket 0, those behind the last one. */
struct window {
    size_t begin, end;
};

static struct window window_of(const struct pe_attention_block *block, size_t row, size_t from,
                               size_t keys)
{
    const struct pe_attention *attention = block->attention;
    const int64_t at = pe_block_position(block, row), first = (int64_t)from, last = (int64_t)keys;

    return (struct window){(size_t)clamp(at + attention->least + 1, first, last),
                           (size_t)clamp(at + attention->most, first, last)};
}

/* Q aK^T for the buckets that the block meets, once; then every row of logits begins with a slice
 * of it inside the window and constants outside: no gather, and nothing of n * n * d. */
enum pe_status pe_block_relative_logits(const struct pe_attention_block *block,
                                        struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_packed *packed = &attention->rel_k;
    const size_t size = attention->size, width = attention->width;
    const size_t begin = block->from, keys = block->keys;
    const size_t low = bucket(block, block->count - 1, begin) / width;
    const size_t high = bucket(block, 0, keys - 1) / width;
    const size_t base = low * width, last = (size_t)(attention->most - attention->least) - base;
    const size_t head = attention->rel_k_stride > 0 ? block->head % attention->heads : 0;
    struct pe_pace pace = {block->work, 0};

    for (size_t panel = low, count; panel <= high; panel += count) {
        count = pe_least(high - panel + 1, PE_PANELS_AT_ONCE);
        const struct pe_panels panels =
            pe_packed_panels(packed, head, panel, count, 0, attention->size);
        if (pe_pace(&pace, count * pe_block_product(block, packed->depth), err))
            return err->status;
        attention->kernels.gemm(relative_row(block, 0) + (panel - low) * PE_PANEL_SIZE,
                                attention->relative_stride, block->q_relative, attention->head_dim,
                                &panels, block->count, packed->depth, 0);
    }
    for (size_t row = 0; row < block->count; row++) {
        if (pe_pace(&pace, keys - begin, err))
            return err->status;
        const struct window window = window_of(block, row, begin, keys);
        const char *from = relative_row(block, row);
        char *to = pe_block_logits(block, row);
        if (window.begin > begin)
            pe_attention_spread(attention, to, begin, window.begin, element(attention, from, 0));
        if (window.begin < window.end)
            memcpy(to + window.begin * size,
                   from + (bucket(block, row, window.begin) - base) * size,
                   (window.end - window.begin) * size);
        if (window.end < keys)
            pe_attention_spread(attention, to, window.end, keys, element(attention, from, last));
        pe_attention_spread(attention, to, keys, pe_attention_whole(attention, keys), 0);
    }
    return PE_OK;
}

/* The weights of one row summed by bucket, from bucket `low` on. */
static void bucket_weights(const struct pe_attention_block *block, size_t row, size_t begin,
                           size_t keys, size_t low, size_t high)
{
    const struct pe_attention *attention = block->attention;
    const size_t size = attention->size, last = (size_t)(attention->most - attention->least);
    const struct window window = window_of(block, row, begin, keys);
    const char *from = pe_block_logits(block, row);
    char *to = relative_row(block, row);

    pe_attention_spread(attention, to, 0, high - low + 1, 0);
    if (window.begin > begin)
        attention->kernels.sum(to, from + begin * size, window.begin - begin); /* then low is 0 */
    if (window.begin < window.end)
        memcpy(to + (bucket(block, row, window.begin) - low) * size, from + window.begin * size,
               (window.end - window.begin) * size);
    if (window.end < keys)
        attention->kernels.sum(to + (last - low) * size, from + window.end * size,
                               keys - window.end);
}

enum pe_status pe_block_relative_values(const struct pe_attention_block *block, size_t row,
                                        size_t rows, size_t from, size_t keys, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t low = bucket(block, row + rows - 1, from);
    const size_t high = bucket(block, row, keys - 1);
    struct pe_pace pace = {block->work, 0};

    for (size_t i = row; i < row + rows && !pe_pace(&pace, keys - from, err); i++)
        bucket_weights(block, i, from, keys, low, high);
    if (err->status)
        return err->status;
    return pe_block_product_add(block, row, rows, relative_row(block, row),
                                attention->relative_stride, &attention->rel_v, 0, low,
                                high - low + 1, err);
}
