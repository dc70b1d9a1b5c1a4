/* SPDX-License-Identifier: MIT */
/* Vectors of distances between queries and keys: Shaw's clipped ones, Transformer-XL's rows of
 * every distance, and DeBERTa's disentangled attention. */

#include "core/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/base/work.h"

enum { CHECK_DISTANCES = 1 << 12 }; /* between two checks of the work */

enum pe_status pe_relative_range_set(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;

    if (attention->queries == 0 || attention->keys == 0 || !scheme)
        return PE_OK;
    if (pe_is_disentangled(&attention->spec))
        attention->most = (int64_t)scheme->encoding->bias->vectors_count(scheme) - 1;
    if (!scheme->encoding->relative)
        return PE_OK;
    attention->relative = true;
    if (pe_clipped_of(scheme->encoding)) {
        attention->most = (int64_t)pe_clipped_of(scheme->encoding)->clip(scheme);
        attention->least = -attention->most;
    } else { /* every distance that occurs */
        attention->least = -attention->position_max;
        attention->most = (int64_t)attention->keys - 1 - attention->position_min;
        if (fmax(fabs((double)attention->least), fabs((double)attention->most)) > 0x1p53 - 1)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:query_start",
                           "distances must lie within +-(2^53 - 1)");
    }
    return PE_OK;
}

/* ---- clipped: one table for all heads ------------------------------------------------------- */

/* Stores rows in the order of key - query, so that those of a query are contiguous. */
static enum pe_status table_pack(struct pe_attention *attention, const struct pe_tensor *tensor,
                                 struct pe_packed *packed, bool transposed, const char *where,
                                 struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t buckets = tensor->shape[0], columns = tensor->shape[1];
    const bool reversed = pe_clipped_of(scheme->encoding)->sign(scheme) < 0;

    if (pe_packed_new(attention, packed, 1, transposed ? columns : buckets,
                      transposed ? buckets : columns, where, err))
        return err->status;
    char *rows =
        pe_memory_take(attention->work, buckets * columns, attention->size, "vectors", err);
    if (!rows)
        return err->status;
    for (size_t bucket = 0; bucket < buckets; bucket++)
        pe_elements_read(attention, rows + bucket * columns * attention->size, tensor,
                         (reversed ? buckets - 1 - bucket : bucket) * columns, columns);
    if (transposed)
        pe_packed_transpose(attention, packed, 0, rows, err);
    else
        pe_packed_store_values(attention, packed, 0, rows, err);
    pe_memory_give(attention->work, rows, buckets * columns, attention->size);
    return err->status;
}

/* For a scheme that computes its vectors: correctly rounded to the type of the arithmetic. */
static enum pe_status computed_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const struct pe_positions all = {
        .step = 1, .count = 2 * pe_clipped_of(scheme->encoding)->clip(scheme) + 1};
    const struct pe_rows_part part = {&all, 0, all.count, attention->type};
    const size_t count = all.count * attention->head_dim;
    struct pe_tensor vectors = {
        .dtype = attention->type, .rank = 2, .shape = {all.count, attention->head_dim}};

    vectors.data = pe_memory_take(attention->work, count, attention->size, "vectors", err);
    if (!vectors.data)
        return err->status;
    if (!scheme->encoding->rows->fill(scheme, &part, vectors.data, attention->work, err) &&
        !table_pack(attention, &vectors, &attention->rel_k, true, "", err) &&
        attention->spec.output == PE_ATTENTION_OUTPUT)
        table_pack(attention, &vectors, &attention->rel_v, false, "", err);
    pe_memory_give(attention->work, vectors.data, count, attention->size);
    return err->status;
}

static enum pe_status clipped_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;

    if (pe_clipped_of(spec->scheme->encoding)->makes_vectors(spec->scheme))
        return computed_pack(attention, err);
    if (table_pack(attention, &spec->rel_k, &attention->rel_k, true, "tensor:rel_k", err))
        return err->status;
    if (spec->output != PE_ATTENTION_OUTPUT || spec->rel_v.rank == 0)
        return PE_OK;
    return table_pack(attention, &spec->rel_v, &attention->rel_v, false, "tensor:rel_v", err);
}

/* ---- every distance: W_r R of each head, a panel of distances at a time ---------------------- */

struct distance_packing {
    struct pe_packing packing; /* first: pe_packing_run and the job point to it */
    char *weights;             /* W_r in the type of the arithmetic; NULL: rows as they are */
    size_t dim;
};

/* The rows of a panel of distances as columns, from the farthest key before the query on. */
static enum pe_status distances_write(const struct distance_packing *distances, size_t panel,
                                      char *to, struct pe_error *err)
{
    const struct pe_attention *attention = distances->packing.attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t columns = attention->rel_k.columns, width = attention->width;
    const size_t first = panel * width, count = pe_min(columns - first, width);
    const struct pe_positions all = {
        .start = -(double)attention->least, .step = -1, .count = columns};
    const struct pe_rows_part part = {&all, first, first + count, attention->type};
    struct pe_packed packed = {.data = to, .depth = distances->dim, .columns = count};
    const size_t size = count * distances->dim * attention->size;
    char *rows = pe_memory_take(attention->work, 1, size, "the rows of the distances", err);

    if (!rows)
        return err->status;
    if (!scheme->encoding->rows->fill(scheme, &part, rows, attention->work, err))
        pe_packed_transpose(attention, &packed, 0, rows, err);
    pe_memory_give(attention->work, rows, 1, size);
    return err->status;
}

/* The panel of each head: the rows of its distances times its part of W_r. */
static enum pe_status panel_project(const struct distance_packing *distances, size_t panel,
                                    struct pe_error *err)
{
    enum { DEPTH_STEP = 256 };
    const struct pe_attention *attention = distances->packing.attention;
    const struct pe_packed *packed = &attention->rel_k;
    const size_t dim = distances->dim, offset = panel * packed->depth * PE_PANEL_SIZE;
    char *rows = NULL;

    if (!distances->weights)
        return distances_write(distances, panel, (char *)packed->data + offset, err);
    if (posix_memalign((void **)&rows, PE_PANEL_SIZE, dim * PE_PANEL_SIZE) != 0)
        return pe_no_memory(err, "the rows of the distances");
    if (!distances_write(distances, panel, rows, err))
        for (size_t head = 0; head < attention->heads; head++)
            for (size_t at = 0; at < dim; at += DEPTH_STEP) {
                const struct pe_panels panels = {rows + at * PE_PANEL_SIZE, attention->width, 0, 1,
                                                 0};
                attention->kernels.gemm(
                    (char *)packed->data + head * packed->head_size + offset, attention->width,
                    distances->weights + (head * packed->depth * dim + at) * attention->size, dim,
                    &panels, packed->depth, pe_min(dim - at, DEPTH_STEP), at > 0);
            }
    free(rows);
    return err->status;
}

static void project_run(struct pe_job *job, size_t panel)
{
    struct distance_packing *distances = (struct distance_packing *)job;
    struct pe_error err = {0};

    if (panel_project(distances, panel, &err))
        atomic_store(&distances->packing.status, err.status);
}

static enum pe_status by_distance_pack(struct pe_attention *attention, struct pe_pool *pool,
                                       struct pe_error *err)
{
    const struct pe_tensor *weights = &attention->spec.w_r;
    struct distance_packing distances = {
        .packing = {.job = {.run = project_run, .work = attention->work}, .attention = attention},
        .dim = attention->spec.scheme->encoding->rows->width(attention->spec.scheme)};
    const size_t heads = weights->rank > 0 ? attention->heads : 1;
    size_t count = 0;

    if (pe_packed_new(attention, &attention->rel_k, heads, attention->head_dim,
                      (size_t)(attention->most - attention->least) + 1, "tensor:k", err))
        return err->status;
    if (weights->rank > 0) {
        count = weights->shape[0] * weights->shape[1];
        attention->rel_k_stride = attention->rel_k.head_size;
        distances.weights =
            pe_memory_take(attention->work, count, attention->size, "a copy of w_r", err);
        if (!distances.weights)
            return err->status;
        pe_elements_read(attention, distances.weights, weights, 0, count);
    }
    distances.packing.job.blocks = attention->rel_k.panels;
    pe_packing_run(&distances.packing, pool, "", "the rows of the distances", err);
    pe_memory_give(attention->work, distances.weights, count, attention->size);
    return err->status;
}

/* ---- disentangled: rows of buckets of distances ---------------------------------------------- */

static enum pe_status distance_rows_set(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const struct pe_bias_kind *kind = scheme->encoding->bias;
    const size_t count = pe_attention_distances(attention);
    const int64_t half = (attention->most + 1) / 2;

    attention->distance_rows = pe_attention_alloc(
        attention, (count + 1) * sizeof(*attention->distance_rows), "tensor:k", err);
    for (size_t i = 0; attention->distance_rows && i < count; i++) {
        if (i % CHECK_DISTANCES == 0 && pe_work_check(attention->work, err))
            return err->status;
        attention->distance_rows[i] =
            (int32_t)(kind->bucket(scheme, (int64_t)i - attention->position_max) + half);
    }
    return err->status;
}

/* The columns of each head become a matrix. */
static enum pe_status pos_key_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_tensor *tensor = &attention->spec.pos_key;
    const size_t rows = tensor->shape[0], width = tensor->shape[1], dim = attention->head_dim;
    struct pe_pace pace = {attention->work, 0};
    char *head_rows;

    if (pe_packed_new(attention, &attention->rel_k, attention->heads, dim, rows, "tensor:pos_key",
                      err))
        return err->status;
    attention->rel_k_stride = attention->rel_k.head_size;
    head_rows = pe_memory_take(attention->work, rows * dim, attention->size, "rows of a head", err);
    for (size_t head = 0; head_rows && head < attention->heads && !err->status; head++) {
        for (size_t row = 0; row < rows && !pe_pace(&pace, dim, err); row++)
            pe_elements_read(attention, head_rows + row * dim * attention->size, tensor,
                             row * width + head * dim, dim);
        if (!err->status)
            pe_packed_transpose(attention, &attention->rel_k, head, head_rows, err);
    }
    pe_memory_give(attention->work, head_rows, rows * dim, attention->size);
    return err->status;
}

static enum pe_status disentangled_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_tensor *queries = &spec->pos_query;

    if (attention->queries == 0 || attention->keys == 0)
        return PE_OK;
    if (distance_rows_set(attention, err) ||
        (spec->pos_key.rank > 0 && pos_key_pack(attention, err)))
        return err->status;
    if (queries->rank == 0)
        return PE_OK;
    const size_t count = queries->shape[0] * queries->shape[1];
    attention->pos_query =
        pe_attention_alloc(attention, count * attention->size, "tensor:pos_query", err);
    return attention->pos_query
               ? pe_elements_read_all(attention, attention->pos_query, queries, 0, count, err)
               : err->status;
}

enum pe_status pe_relative_pack(struct pe_attention *attention, struct pe_pool *pool,
                                struct pe_error *err)
{
    if (pe_is_disentangled(&attention->spec))
        return disentangled_pack(attention, err);
    if (!attention->relative)
        return PE_OK;
    return pe_clipped_of(attention->spec.scheme->encoding) ? clipped_pack(attention, err)
                                                           : by_distance_pack(attention, pool, err);
}

/* ---- blocks: vectors by distance ------------------------------------------------------------- */

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static size_t bucket(const struct pe_query_block *block, size_t row, size_t key)
{
    const struct pe_attention *attention = block->attention;
    const int64_t distance = (int64_t)key - pe_block_position(block, row);

    return (size_t)(clamp(distance, attention->least, attention->most) - attention->least);
}

static double element(const struct pe_attention *attention, const char *row, size_t index)
{
    return attention->type == PE_F64 ? ((const double *)row)[index] : ((const float *)row)[index];
}

/* Keys whose distance is within the clip, each with a bucket of its own; those before share the
 * first bucket, those after the last. */
static struct pe_key_range inner_keys(const struct pe_query_block *block, size_t row, size_t from,
                                      size_t keys)
{
    const struct pe_attention *attention = block->attention;
    const int64_t at = pe_block_position(block, row), first = (int64_t)from, last = (int64_t)keys;

    return (struct pe_key_range){(size_t)clamp(at + attention->least + 1, first, last),
                                 (size_t)clamp(at + attention->most, first, last)};
}

/* Q aK^T of the buckets that occur; a row of logits is a slice of it for the inner keys, and two
 * constants outside: no gather, and no product over all pairs of query and key. */
enum pe_status pe_block_relative_logits(const struct pe_query_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t size = attention->size, width = attention->width;
    const size_t begin = block->key_begin, keys = block->key_end;
    const size_t low = bucket(block, block->count - 1, begin) / width;
    const size_t high = bucket(block, 0, keys - 1) / width;
    const size_t base = low * width, last = (size_t)(attention->most - attention->least) - base;
    const size_t head = attention->rel_k_stride > 0 ? block->head % attention->heads : 0;
    struct pe_pace pace = {block->work, 0};

    if (pe_block_multiply(block, block->q_relative, &attention->rel_k, head, low, high + 1,
                          pe_block_relative(block, 0), attention->relative_stride, false, err))
        return err->status;
    for (size_t row = 0; row < block->count; row++) {
        if (pe_pace(&pace, keys - begin, err))
            return err->status;
        const struct pe_key_range inner = inner_keys(block, row, begin, keys);
        const char *from = pe_block_relative(block, row);
        char *to = pe_block_logits(block, row);
        if (inner.begin > begin)
            pe_row_fill(attention, to, begin, inner.begin, element(attention, from, 0));
        if (inner.begin < inner.end)
            memcpy(to + inner.begin * size, from + (bucket(block, row, inner.begin) - base) * size,
                   (inner.end - inner.begin) * size);
        if (inner.end < keys)
            pe_row_fill(attention, to, inner.end, keys, element(attention, from, last));
        pe_row_fill(attention, to, keys, pe_panel_align(attention, keys), 0);
    }
    return PE_OK;
}

/* Sums the weights of a row by bucket, from bucket `low` on. */
static void bucket_weights(const struct pe_query_block *block, size_t row, size_t begin,
                           size_t keys, size_t low, size_t high)
{
    const struct pe_attention *attention = block->attention;
    const size_t size = attention->size, last = (size_t)(attention->most - attention->least);
    const struct pe_key_range inner = inner_keys(block, row, begin, keys);
    const char *from = pe_block_logits(block, row);
    char *to = pe_block_relative(block, row);

    pe_row_fill(attention, to, 0, high - low + 1, 0);
    if (inner.begin > begin)
        attention->kernels.sum(to, from + begin * size, inner.begin - begin); /* low is 0 */
    if (inner.begin < inner.end)
        memcpy(to + (bucket(block, row, inner.begin) - low) * size, from + inner.begin * size,
               (inner.end - inner.begin) * size);
    if (inner.end < keys)
        attention->kernels.sum(to + (last - low) * size, from + inner.end * size, keys - inner.end);
}

enum pe_status pe_block_relative_values(const struct pe_query_block *block, size_t row, size_t rows,
                                        size_t from, size_t keys, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t low = bucket(block, row + rows - 1, from);
    const size_t high = bucket(block, row, keys - 1);
    struct pe_pace pace = {block->work, 0};

    for (size_t i = row; i < row + rows && !pe_pace(&pace, keys - from, err); i++)
        bucket_weights(block, i, from, keys, low, high);
    if (err->status)
        return err->status;
    return pe_block_output_add(block, row, rows, pe_block_relative(block, row),
                               attention->relative_stride, &attention->rel_v, 0, low,
                               high - low + 1, err);
}

/* ---- blocks: disentangled -------------------------------------------------------------------- */

/* Rows [low, high]. */
struct row_range {
    size_t low, high;
};

/* The row for the distance to each key, key 0 first. */
static const int32_t *key_rows(const struct pe_query_block *block, size_t row)
{
    const struct pe_attention *attention = block->attention;

    return attention->distance_rows + (attention->position_max - pe_block_position(block, row));
}

/* The rows for the block's queries and keys [begin, end). Buckets are monotonic in the distance. */
static struct row_range range_of(const struct pe_query_block *block, size_t begin, size_t end)
{
    const size_t a = (size_t)key_rows(block, block->count - 1)[begin];
    const size_t b = (size_t)key_rows(block, 0)[end - 1];

    return (struct row_range){a < b ? a : b, a < b ? b : a};
}

/* Adds from[row of key j - base] to the logit of each key j. */
static void gather_add(const struct pe_query_block *block, size_t row, const char *from,
                       size_t base)
{
    const int32_t *rows = key_rows(block, row);
    char *to = pe_block_logits(block, row);

    if (block->attention->type == PE_F64)
        for (size_t j = block->key_begin; j < block->key_end; j++)
            ((double *)to)[j] += ((const double *)from)[(size_t)rows[j] - base];
    else
        for (size_t j = block->key_begin; j < block->key_end; j++)
            ((float *)to)[j] += ((const float *)from)[(size_t)rows[j] - base];
}

/* Content to position: queries times the rows of pos_key. */
static enum pe_status c2p_add(const struct pe_query_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct row_range range = range_of(block, block->key_begin, block->key_end);
    const size_t low = range.low / attention->width, high = range.high / attention->width;
    const size_t head = block->head % attention->heads;
    struct pe_pace pace = {block->work, 0};

    if (pe_block_multiply(block, block->q, &attention->rel_k, head, low, high + 1,
                          block->scratch->relative, attention->relative_stride, false, err))
        return err->status;
    for (size_t row = 0;
         row < block->count && !pe_pace(&pace, 2 * (block->key_end - block->key_begin), err); row++)
        gather_add(block, row, pe_block_relative(block, row), low * attention->width);
    return err->status;
}

/* Adds p2c[row of key j - base][j - begin] to the logit of each key j whose row is in the tile. */
static void p2c_tile_add(const struct pe_query_block *block, size_t begin, size_t end, size_t base,
                         size_t count)
{
    const struct pe_attention *attention = block->attention;
    const char *tile = block->scratch->p2c;

    for (size_t row = 0; row < block->count; row++) {
        const int32_t *rows = key_rows(block, row);
        char *to = pe_block_logits(block, row);
        for (size_t j = begin; j < end; j++) {
            const size_t at = (size_t)rows[j] - base; /* wraps to a large number below base */
            if (at >= count)
                continue;
            if (attention->type == PE_F64)
                ((double *)to)[j] += ((const double *)tile)[at * attention->width + j - begin];
            else
                ((float *)to)[j] += ((const float *)tile)[at * attention->width + j - begin];
        }
    }
}

/* Position to content: the rows of pos_query times the keys, by panels of keys. A panel has few
 * more rows than the block has queries, so the cost is about that of q k^T. */
static enum pe_status p2c_add(const struct pe_query_block *block, size_t kv_head,
                              struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t width = attention->width, stride = attention->heads * attention->head_dim;
    const size_t most = pe_p2c_rows(attention);
    const char *vectors = attention->pos_query +
                          block->head % attention->heads * attention->head_dim * attention->size;
    struct pe_pace pace = {block->work, 0};

    for (size_t key = block->key_begin; key < block->key_end; key += width) {
        const size_t end = pe_min(key + width, block->key_end);
        const struct row_range range = range_of(block, key, end);
        const struct pe_panels panel =
            pe_packed_panels(&attention->k, kv_head, key / width, 1, 0, attention->size);
        for (size_t base = range.low; base <= range.high; base += most) {
            const size_t count = pe_min(range.high - base + 1, most);
            if (pe_pace(&pace, 4 * (count + width) * (attention->k.depth + block->count), err))
                return err->status;
            attention->kernels.gemm(block->scratch->p2c, width,
                                    vectors + base * stride * attention->size, stride, &panel,
                                    count, attention->k.depth, 0);
            p2c_tile_add(block, key, end, base, count);
        }
    }
    return PE_OK;
}

enum pe_status pe_block_disentangled_add(const struct pe_query_block *block, size_t kv_head,
                                         struct pe_error *err)
{
    if (block->key_begin >= block->key_end)
        return PE_OK;
    if (block->attention->rel_k.first && c2p_add(block, err))
        return err->status;
    return block->attention->pos_query ? p2c_add(block, kv_head, err) : PE_OK;
}
