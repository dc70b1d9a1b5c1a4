/* SPDX-License-Identifier: MIT */
/* Matrices cut into panels, as products read them. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/fail.h"
#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/base/spend.h"

enum { PIECE = 1 << 16 }; /* elements that are read in one go */

enum pe_status pe_attention_packed_new(struct pe_attention *attention, struct pe_packed *packed,
                                       size_t heads, size_t depth, size_t columns,
                                       const char *where, struct pe_error *err)
{
    size_t size = PE_PANEL_SIZE;

    packed->depth = depth;
    packed->columns = columns;
    packed->panels = columns / attention->width + (columns % attention->width != 0);
    if (!pe_size_multiply(size, packed->panels, &size) || !pe_size_multiply(size, depth, &size))
        return pe_fail(err, PE_TOO_LARGE, where, "%zu x %zu elements are too many", depth, columns);
    packed->head_size = size;
    if (!pe_size_multiply(size, heads, &size) || size > PTRDIFF_MAX)
        return pe_fail(err, PE_TOO_LARGE, where, "%zu heads of %zu x %zu elements are too many",
                       heads, depth, columns);
    packed->row_stride = attention->width;
    packed->panel_size = depth * PE_PANEL_SIZE;
    packed->first = packed->data = pe_attention_take(attention, size, where, err);
    return err->status;
}

enum pe_status pe_attention_odd_find(const struct pe_attention *attention, struct pe_packed *packed,
                                     const char *rows, struct pe_error *err)
{
    const size_t count = packed->depth * packed->columns;
    struct pe_pace pace = {attention->work, 0};

    for (size_t at = 0; at < count && !pe_pace(&pace, PIECE, err); at += PIECE) {
        bool odd, large;
        attention->kernels.odd(&odd, &large, rows + at * attention->size,
                               pe_least(count - at, PIECE));
        if (odd)
            atomic_store_explicit(&packed->odd, true, memory_order_relaxed);
        if (large)
            atomic_store_explicit(&packed->large, true, memory_order_relaxed);
    }
    return err->status;
}

enum pe_status pe_attention_panels_write(const struct pe_attention *attention,
                                         struct pe_packed *packed, size_t head, const char *rows,
                                         struct pe_error *err)
{
    const size_t size = attention->size, width = attention->width;
    struct pe_pace pace = {attention->work, 0};
    char *to = (char *)packed->data + head * packed->head_size;

    for (size_t column = 0; column < packed->columns; column += width) {
        const size_t used = pe_least(packed->columns - column, width);
        for (size_t k = 0; k < packed->depth; k++, to += PE_PANEL_SIZE) {
            memcpy(to, rows + (k * packed->columns + column) * size, used * size);
            memset(to + used * size, 0, (width - used) * size);
            if (pe_pace(&pace, width, err))
                return err->status;
        }
    }
    return pe_attention_odd_find(attention, packed, rows, err);
}

/* The last panel, which has fewer columns than there is room for. */
#define COLUMNS_TRANSPOSE(REAL)                                                                    \
    for (size_t k = 0; k < depth; k++)                                                             \
        for (size_t i = 0; i < columns; i++)                                                       \
    ((REAL *)to)[k * attention->width + i] = ((const REAL *)from)[i * depth + k]

static void columns_transpose(const struct pe_attention *attention, char *to, const char *from,
                              size_t columns, size_t depth)
{
    memset(to, 0, depth * PE_PANEL_SIZE);
    if (attention->type == PE_F64)
        COLUMNS_TRANSPOSE(double);
    else
        COLUMNS_TRANSPOSE(float);
}

/* rows[columns][depth] */
enum pe_status pe_attention_panels_transpose(const struct pe_attention *attention,
                                             struct pe_packed *packed, size_t head,
                                             const char *rows, struct pe_error *err)
{
    const size_t width = attention->width, depth = packed->depth;
    struct pe_pace pace = {attention->work, 0};
    char *to = (char *)packed->data + head * packed->head_size;

    for (size_t column = 0; column < packed->columns; column += width) {
        const size_t used = pe_least(packed->columns - column, width);
        const char *from = rows + column * depth * attention->size;
        if (pe_pace(&pace, width * depth, err))
            return err->status;
        if (used == width)
            attention->kernels.transpose(to, from, depth, depth);
        else
            columns_transpose(attention, to, from, used, depth);
        to += depth * PE_PANEL_SIZE;
    }
    return PE_OK;
}

/* One job prepares everything. */
struct pack {
    struct pe_job job;
    struct pe_attention *attention;
    _Atomic int status; /* of a block that failed */
};

void pe_attention_read(const struct pe_attention *attention, char *to,
                       const struct pe_tensor *tensor, size_t first, size_t count)
{
    const char *from = (const char *)tensor->data + first * pe_dtype_info(tensor->dtype)->size;

    if (attention->type == PE_F64)
        pe_to_f64((double *)to, from, tensor->dtype, count);
    else
        pe_to_f32((float *)to, from, tensor->dtype, count);
}

enum pe_status pe_attention_read_all(const struct pe_attention *attention, char *to,
                                     const struct pe_tensor *tensor, size_t first, size_t count,
                                     struct pe_error *err)
{
    struct pe_pace pace = {attention->work, 0};

    for (size_t at = 0; at < count && !pe_pace(&pace, PIECE, err); at += PIECE)
        pe_attention_read(attention, to + at * attention->size, tensor, first + at,
                          pe_least(count - at, PIECE));
    return err->status;
}

void *pe_attention_take(struct pe_attention *attention, size_t size, const char *where,
                        struct pe_error *err)
{
    void *memory = NULL;

    if (pe_work_reserve(attention->work, size)) {
        if (posix_memalign(&memory, PE_PANEL_SIZE, size > 0 ? size : PE_PANEL_SIZE) == 0) {
            attention->charged += size;
            return memory;
        }
        pe_work_release(attention->work, size);
    }
    pe_fail(err, PE_OUT_OF_MEMORY, where, "no memory for a copy of %zu bytes", size);
    return NULL;
}

/* ---- heads ---------------------------------------------------------------------------------- */

/* The elements of one head in the type of the arithmetic: *rows is the caller's own memory where it
 * has that type and nothing turns it, else *copy, which takes *size bytes of the work. */
static enum pe_status head_read(const struct pack *pack, const struct pe_tensor *tensor,
                                size_t head, bool is_key, const char **rows, char **copy,
                                size_t *size, struct pe_error *err)
{
    const struct pe_attention *attention = pack->attention;
    const bool turns = is_key && pe_turns_change_keys(attention->turns);
    const size_t tokens = tensor->shape[2], columns = tensor->shape[3], count = tokens * columns;

    *copy = NULL;
    *size = 0;
    *rows = "";
    if (count == 0)
        return PE_OK;
    *rows = (const char *)tensor->data + head * count * attention->size;
    if (tensor->dtype == attention->type && !turns)
        return PE_OK;
    *copy = pe_memory_take(attention->work, count, attention->size, "a copy of a head", err);
    if (!*copy)
        return err->status;
    *size = count * attention->size;
    *rows = *copy;
    if (pe_attention_read_all(attention, *copy, tensor, head * count, count, err))
        return err->status;
    return turns ? pe_turns_apply(attention->turns, true, head / attention->kv_heads, *copy, 0,
                                  tokens, attention->work, err)
                 : PE_OK;
}

static enum pe_status key_value_pack(const struct pack *pack, size_t head, struct pe_error *err)
{
    struct pe_attention *attention = pack->attention;
    const char *rows;
    size_t size;
    char *copy;

    if (!head_read(pack, &attention->spec.k, head, true, &rows, &copy, &size, err))
        pe_attention_panels_transpose(attention, &attention->k, head, rows, err);
    pe_memory_give(attention->work, copy, 1, size);
    if (err->status || !attention->v.first)
        return err->status;
    if (!attention->v.data)
        return pe_attention_odd_find(attention, &attention->v,
                                     pe_packed_panel(&attention->v, head, 0), err);
    if (!head_read(pack, &attention->spec.v, head, false, &rows, &copy, &size, err))
        pe_attention_panels_write(attention, &attention->v, head, rows, err);
    pe_memory_give(attention->work, copy, 1, size);
    return err->status;
}

/* Every distance that a query of this head meets, and no more: none behind it where that is masked.
 */
static enum pe_status bias_pack(const struct pack *pack, size_t head, struct pe_error *err)
{
    const struct pe_attention *attention = pack->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const int64_t position = attention->position_most;
    size_t count = pe_attention_distances(attention);
    char *to = pe_attention_bias(attention, head, position);

    if (attention->spec.causal && position + 1 < (int64_t)count)
        count = position < 0 ? 0 : (size_t)position + 1;
    const struct pe_bias_part part = {.scheme = scheme,
                                      .head = head,
                                      .query = (double)position,
                                      .key_count = count,
                                      .dtype = attention->type,
                                      .common = attention->common};
    if (scheme->encoding->bias->row(&part, to, attention->work, err))
        return err->status;
    memset(to + count * attention->size, 0, (attention->bias_stride - count) * attention->size);
    return PE_OK;
}

/* Blocks are the heads of k and v, then the vectors of a bias. */
static void pack_run(struct pe_job *job, size_t block)
{
    struct pack *pack = (struct pack *)job;
    const struct pe_attention *attention = pack->attention;
    const size_t kv_heads = pe_attention_kv_heads(attention);
    struct pe_error err = {0};

    if (block >= kv_heads)
        bias_pack(pack, block - kv_heads, &err);
    else
        key_value_pack(pack, block, &err);
    if (err.status)
        atomic_store(&pack->status, err.status);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Do rows of v serve as rows of panels, as they lie in memory? */
static bool lies_packed(const struct pe_attention *attention, const struct pe_tensor *v)
{
    return v->dtype == attention->type && v->shape[3] % attention->width == 0;
}

/* The values, copied into panels or where the caller has them. */
static enum pe_status values_new(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_tensor *v = &attention->spec.v;
    struct pe_packed *packed = &attention->v;
    const size_t columns = v->shape[3];

    if (attention->spec.output != PE_ATTENTION_OUTPUT)
        return PE_OK;
    if (!lies_packed(attention, v) || !v->data)
        return pe_attention_packed_new(attention, packed, pe_attention_kv_heads(attention),
                                       attention->keys, columns, "tensor:v", err);
    *packed = (struct pe_packed){.first = v->data,
                                 .depth = attention->keys,
                                 .columns = columns,
                                 .panels = columns / attention->width,
                                 .row_stride = columns,
                                 .panel_size = PE_PANEL_SIZE,
                                 .head_size = attention->keys * columns * attention->size};
    return PE_OK;
}

static enum pe_status buffers_new(struct pe_attention *attention, struct pe_error *err)
{
    return pe_attention_packed_new(attention, &attention->k, pe_attention_kv_heads(attention),
                                   attention->head_dim, attention->keys, "tensor:k", err)
               ? err->status
               : values_new(attention, err);
}

/* As many elements as q and k have rows, and so fewer than they have elements, but for grouped
 * heads; twice as many where sequences are packed. */
static enum pe_status biases_new(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    size_t size = attention->size;

    if (!scheme || !pe_bias_is_known(scheme->encoding) || attention->queries == 0 ||
        attention->keys == 0)
        return PE_OK;
    if (pe_bias_common_new(&attention->common, scheme, -attention->position_most,
                           (int64_t)attention->keys - attention->position_least, attention->type,
                           attention->work, err) ||
        !scheme->encoding->bias->by_distance)
        return err->status;
    attention->bias_stride = pe_attention_distances(attention) + attention->width + 1;
    if (!pe_size_multiply(size, attention->bias_stride, &size) ||
        !pe_size_multiply(size, attention->heads, &size))
        return pe_fail(err, PE_TOO_LARGE, "tensor:k", "%zu distances are too many",
                       attention->bias_stride);
    attention->biases = pe_attention_take(attention, size, "", err);
    return err->status;
}

/* A pool that ended early has a reason, which is the work's or that of a block. */
static enum pe_status blocks_run(struct pack *pack, struct pe_pool *pool, struct pe_error *err)
{
    const bool all = pe_pool_run(pool, &pack->job);
    const int status = atomic_load(&pack->status);

    if (pe_work_check(pack->attention->work, err))
        return err->status;
    if (status == PE_OUT_OF_MEMORY)
        return pe_fail(err, PE_OUT_OF_MEMORY, "tensor:k",
                       "no memory for a copy of a head of k or v");
    return all && !status ? PE_OK
                          : pe_fail(err, PE_INTERNAL, "", "attention could not be prepared");
}

static enum pe_status sinks_read(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_tensor *sinks = &attention->spec.sinks;

    if (sinks->rank == 0)
        return PE_OK;
    attention->sinks = pe_attention_take(attention, attention->heads * sizeof(*attention->sinks),
                                         "tensor:sinks", err);
    if (attention->sinks)
        pe_to_f64(attention->sinks, sinks->data, sinks->dtype, attention->heads);
    return err->status;
}

enum pe_status pe_attention_pack(struct pe_attention *attention, struct pe_pool *pool,
                                 struct pe_error *err)
{
    struct pack pack = {.job = {.run = pack_run, .work = attention->work}, .attention = attention};

    if (!pe_attention_added_scan(attention, err) && !sinks_read(attention, err) &&
        !pe_attention_relatives_pack(attention, pool, err) &&
        !pe_disentangled_pack(attention, err) &&
        !pe_turns_new(&attention->turns, attention, pool, err) && !buffers_new(attention, err) &&
        !biases_new(attention, err)) {
        pack.job.blocks =
            pe_attention_kv_heads(attention) + (attention->biases ? attention->heads : 0);
        blocks_run(&pack, pool, err);
    }
    return err->status;
}
