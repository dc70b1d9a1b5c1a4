/* SPDX-License-Identifier: MIT */
/* DeBERTa's attention: queries meet rows of distances beside keys (c2p), and keys meet others
 * beside queries (p2c); the row of a query and a key is that of a bucket of their distance. */

#include <stdlib.h>

#include "core/attention/attention.h"
#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/base/spend.h"

enum { CHECK_DISTANCES = 1 << 12 }; /* between two looks at the work */

/* ---- packing --------------------------------------------------------------------------------- */

static enum pe_status rows_find(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const struct pe_bias_kind *kind = scheme->encoding->bias;
    const size_t count = pe_attention_distances(attention);
    const int64_t half = (attention->most + 1) / 2;

    attention->rows_of =
        pe_attention_take(attention, (count + 1) * sizeof(*attention->rows_of), "tensor:k", err);
    for (size_t i = 0; attention->rows_of && i < count; i++) {
        if (i % CHECK_DISTANCES == 0 && pe_work_check(attention->work, err))
            return err->status;
        attention->rows_of[i] =
            (int32_t)(kind->bucket(scheme, (int64_t)i - attention->position_most) + half);
    }
    return err->status;
}

/* The columns of every head become a matrix of its own. */
static enum pe_status keys_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_tensor *tensor = &attention->spec.pos_key;
    const size_t rows = tensor->shape[0], width = tensor->shape[1], dim = attention->head_dim;
    struct pe_pace pace = {attention->work, 0};
    char *head_rows;

    if (pe_attention_packed_new(attention, &attention->rel_k, attention->heads, dim, rows,
                                "tensor:pos_key", err))
        return err->status;
    attention->rel_k_stride = attention->rel_k.head_size;
    head_rows = pe_memory_take(attention->work, rows * dim, attention->size, "rows of a head", err);
    for (size_t head = 0; head_rows && head < attention->heads && !err->status; head++) {
        for (size_t row = 0; row < rows && !pe_pace(&pace, dim, err); row++)
            pe_attention_read(attention, head_rows + row * dim * attention->size, tensor,
                              row * width + head * dim, dim);
        if (!err->status)
            pe_attention_panels_transpose(attention, &attention->rel_k, head, head_rows, err);
    }
    pe_memory_give(attention->work, head_rows, rows * dim, attention->size);
    return err->status;
}

enum pe_status pe_disentangled_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_tensor *queries = &spec->pos_query;

    if (!pe_attention_disentangles(spec) || attention->queries == 0 || attention->keys == 0)
        return PE_OK;
    if (rows_find(attention, err) || (spec->pos_key.rank > 0 && keys_pack(attention, err)))
        return err->status;
    if (queries->rank == 0)
        return PE_OK;
    const size_t count = queries->shape[0] * queries->shape[1];
    attention->pos_query =
        pe_attention_take(attention, count * attention->size, "tensor:pos_query", err);
    return attention->pos_query
               ? pe_attention_read_all(attention, attention->pos_query, queries, 0, count, err)
               : err->status;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Rows [low, high] of the distances between the block's queries and keys [begin, end): buckets go
 * one way only. */
struct range {
    size_t low, high;
};

/* The row of key 0; that of key j is j elements further on. */
static const int32_t *rows_at(const struct pe_attention_block *block, size_t row)
{
    const struct pe_attention *attention = block->attention;

    return attention->rows_of + (attention->position_most - pe_block_position(block, row));
}

static struct range range_of(const struct pe_attention_block *block, size_t begin, size_t end)
{
    const size_t a = (size_t)rows_at(block, block->count - 1)[begin];
    const size_t b = (size_t)rows_at(block, 0)[end - 1];

    return (struct range){a < b ? a : b, a < b ? b : a};
}

/* Adds from[row of j] to the logits of keys j. */
static void gather_add(const struct pe_attention_block *block, size_t row, const char *from,
                       size_t base)
{
    const int32_t *rows = rows_at(block, row);
    char *to = pe_block_logits(block, row);

    if (block->attention->type == PE_F64)
        for (size_t j = block->from; j < block->keys; j++)
            ((double *)to)[j] += ((const double *)from)[(size_t)rows[j] - base];
    else
        for (size_t j = block->from; j < block->keys; j++)
            ((float *)to)[j] += ((const float *)from)[(size_t)rows[j] - base];
}

static enum pe_status queries_meet(const struct pe_attention_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_packed *packed = &attention->rel_k;
    const struct range range = range_of(block, block->from, block->keys);
    const size_t low = range.low / attention->width, high = range.high / attention->width;
    const size_t head = block->head % attention->heads;
    struct pe_pace pace = {block->work, 0};

    for (size_t panel = low, count; panel <= high; panel += count) {
        count = pe_least(high - panel + 1, PE_PANELS_AT_ONCE);
        const struct pe_panels panels =
            pe_packed_panels(packed, head, panel, count, 0, attention->size);
        if (pe_pace(&pace, count * pe_block_product(block, packed->depth), err))
            return err->status;
        attention->kernels.gemm(block->scratch->relative + (panel - low) * PE_PANEL_SIZE,
                                attention->relative_stride, block->q, attention->head_dim, &panels,
                                block->count, packed->depth, 0);
    }
    for (size_t row = 0;
         row < block->count && !pe_pace(&pace, 2 * (block->keys - block->from), err); row++)
        gather_add(block, row,
                   block->scratch->relative + row * attention->relative_stride * attention->size,
                   low * attention->width);
    return err->status;
}

/* Adds tile[row of j - base][j - begin] to the logits of keys j whose row is in the tile. */
static void tile_add(const struct pe_attention_block *block, size_t begin, size_t end, size_t base,
                     size_t count)
{
    const struct pe_attention *attention = block->attention;
    const char *tile = block->scratch->tile;

    for (size_t row = 0; row < block->count; row++) {
        const int32_t *rows = rows_at(block, row);
        char *to = pe_block_logits(block, row);
        for (size_t j = begin; j < end; j++) {
            const size_t at = (size_t)rows[j] - base; /* huge where it lies before the tile */
            if (at >= count)
                continue;
            if (attention->type == PE_F64)
                ((double *)to)[j] += ((const double *)tile)[at * attention->width + j - begin];
            else
                ((float *)to)[j] += ((const float *)tile)[at * attention->width + j - begin];
        }
    }
}

/* Panel after panel of keys: the rows of distances that it has with the block's queries, times its
 * keys. They are hardly more than the queries, so all costs about a further product of q and k. */
static enum pe_status keys_meet(const struct pe_attention_block *block, size_t kv_head,
                                struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t width = attention->width, stride = attention->heads * attention->head_dim;
    const size_t most = pe_attention_tile_rows(attention);
    const char *vectors = attention->pos_query +
                          block->head % attention->heads * attention->head_dim * attention->size;
    struct pe_pace pace = {block->work, 0};

    for (size_t key = block->from; key < block->keys; key += width) {
        const size_t end = pe_least(key + width, block->keys);
        const struct range range = range_of(block, key, end);
        const struct pe_panels panel =
            pe_packed_panels(&attention->k, kv_head, key / width, 1, 0, attention->size);
        for (size_t base = range.low; base <= range.high; base += most) {
            const size_t count = pe_least(range.high - base + 1, most);
            if (pe_pace(&pace, 4 * (count + width) * (attention->k.depth + block->count), err))
                return err->status;
            attention->kernels.gemm(block->scratch->tile, width,
                                    vectors + base * stride * attention->size, stride, &panel,
                                    count, attention->k.depth, 0);
            tile_add(block, key, end, base, count);
        }
    }
    return PE_OK;
}

enum pe_status pe_block_disentangled(const struct pe_attention_block *block, size_t kv_head,
                                     struct pe_error *err)
{
    if (block->from >= block->keys)
        return PE_OK;
    if (block->attention->rel_k.first && queries_meet(block, err))
        return err->status;
    return block->attention->pos_query ? keys_meet(block, kv_head, err) : PE_OK;
}
