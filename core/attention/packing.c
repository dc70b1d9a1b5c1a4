/* SPDX-License-Identifier: MIT */
/* Copies of tensors, cut into panels of columns as the kernel of products reads them. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/errors.h"
#include "core/base/sizes.h"
#include "core/base/work.h"

enum { PIECE = 1 << 16 }; /* elements between two checks of the work */

enum pe_status pe_packed_new(struct pe_attention *attention, struct pe_packed *packed, size_t heads,
                             size_t depth, size_t columns, const char *where, struct pe_error *err)
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
    packed->first = packed->data = pe_attention_alloc(attention, size, where, err);
    return err->status;
}

/* Sets packed->nonfinite and packed->large if the head has such elements. */
static enum pe_status extremes_find(const struct pe_attention *attention, struct pe_packed *packed,
                                    const char *rows, struct pe_error *err)
{
    const size_t count = packed->depth * packed->columns;
    struct pe_pace pace = {attention->work, 0};

    for (size_t at = 0; at < count && !pe_pace(&pace, PIECE, err); at += PIECE) {
        bool nonfinite, large;
        attention->kernels.find_nonfinite(&nonfinite, &large, rows + at * attention->size,
                                          pe_min(count - at, PIECE));
        if (nonfinite)
            atomic_store_explicit(&packed->nonfinite, true, memory_order_relaxed);
        if (large)
            atomic_store_explicit(&packed->large, true, memory_order_relaxed);
    }
    return err->status;
}

enum pe_status pe_packed_store_values(const struct pe_attention *attention,
                                      struct pe_packed *packed, size_t head, const char *rows,
                                      struct pe_error *err)
{
    const size_t size = attention->size, width = attention->width;
    struct pe_pace pace = {attention->work, 0};
    char *to = (char *)packed->data + head * packed->head_size;

    for (size_t column = 0; column < packed->columns; column += width) {
        const size_t used = pe_min(packed->columns - column, width);
        for (size_t k = 0; k < packed->depth; k++, to += PE_PANEL_SIZE) {
            memcpy(to, rows + (k * packed->columns + column) * size, used * size);
            memset(to + used * size, 0, (width - used) * size);
            if (pe_pace(&pace, width, err))
                return err->status;
        }
    }
    return extremes_find(attention, packed, rows, err);
}

/* Transposes the last panel, which has fewer columns than its width. */
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

enum pe_status pe_packed_transpose(const struct pe_attention *attention, struct pe_packed *packed,
                                   size_t head, const char *rows, struct pe_error *err)
{
    const size_t width = attention->width, depth = packed->depth;
    struct pe_pace pace = {attention->work, 0};
    char *to = (char *)packed->data + head * packed->head_size;

    for (size_t column = 0; column < packed->columns; column += width) {
        const size_t used = pe_min(packed->columns - column, width);
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

void pe_elements_read(const struct pe_attention *attention, char *to,
                      const struct pe_tensor *tensor, size_t first, size_t count)
{
    const size_t size = pe_dtype_info(tensor->dtype)->size;

    pe_convert(to, attention->type, (const char *)tensor->data + first * size, tensor->dtype,
               count);
}

enum pe_status pe_elements_read_all(const struct pe_attention *attention, char *to,
                                    const struct pe_tensor *tensor, size_t first, size_t count,
                                    struct pe_error *err)
{
    struct pe_pace pace = {attention->work, 0};

    for (size_t at = 0; at < count && !pe_pace(&pace, PIECE, err); at += PIECE)
        pe_elements_read(attention, to + at * attention->size, tensor, first + at,
                         pe_min(count - at, PIECE));
    return err->status;
}

/* ---- heads ---------------------------------------------------------------------------------- */

/* The elements of one head in the type of the arithmetic, transformed if keys are: *rows points
 * into the tensor where that needs no copy, else to *copy, of *size bytes charged to the work. */
static enum pe_status head_read(const struct pe_attention *attention,
                                const struct pe_tensor *tensor, size_t head, bool is_key,
                                const char **rows, char **copy, size_t *size, struct pe_error *err)
{
    const bool transforms = is_key && pe_qk_transform_changes_keys(attention->qk_transform);
    const size_t tokens = tensor->shape[2], columns = tensor->shape[3], count = tokens * columns;

    *copy = NULL;
    *size = 0;
    *rows = "";
    if (count == 0)
        return PE_OK;
    *rows = (const char *)tensor->data + head * count * attention->size;
    if (tensor->dtype == attention->type && !transforms)
        return PE_OK;
    *copy = pe_memory_take(attention->work, count, attention->size, "a copy of a head", err);
    if (!*copy)
        return err->status;
    *size = count * attention->size;
    *rows = *copy;
    if (pe_elements_read_all(attention, *copy, tensor, head * count, count, err))
        return err->status;
    return transforms
               ? pe_qk_transform_apply(attention->qk_transform, true, head / attention->kv_heads,
                                       *copy, 0, tokens, attention->work, err)
               : PE_OK;
}

static enum pe_status key_value_pack(struct pe_attention *attention, size_t head,
                                     struct pe_error *err)
{
    const char *rows;
    size_t size;
    char *copy;

    if (!head_read(attention, &attention->spec.k, head, true, &rows, &copy, &size, err))
        pe_packed_transpose(attention, &attention->k, head, rows, err);
    pe_memory_give(attention->work, copy, 1, size);
    if (err->status || !attention->v.first)
        return err->status;
    if (!attention->v.data)
        return extremes_find(attention, &attention->v, pe_packed_panel(&attention->v, head, 0),
                             err);
    if (!head_read(attention, &attention->spec.v, head, false, &rows, &copy, &size, err))
        pe_packed_store_values(attention, &attention->v, head, rows, err);
    pe_memory_give(attention->work, copy, 1, size);
    return err->status;
}

/* Biases of a head for every distance that occurs; those of later keys are left out if causal. */
static enum pe_status bias_pack(const struct pe_attention *attention, size_t head,
                                struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const int64_t position = attention->position_max;
    size_t count = pe_attention_distances(attention);
    char *to = pe_distance_biases(attention, head, position);

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

/* Blocks are the heads of k and v, then the biases of each head. */
static void pack_run(struct pe_job *job, size_t block)
{
    struct pe_packing *packing = (struct pe_packing *)job;
    struct pe_attention *attention = packing->attention;
    const size_t kv_heads = pe_attention_kv_heads(attention);
    struct pe_error err = {0};

    if (block >= kv_heads)
        bias_pack(attention, block - kv_heads, &err);
    else
        key_value_pack(attention, block, &err);
    if (err.status)
        atomic_store(&packing->status, err.status);
}

enum pe_status pe_packing_run(struct pe_packing *packing, struct pe_pool *pool, const char *where,
                              const char *purpose, struct pe_error *err)
{
    const bool all = pe_pool_run(pool, &packing->job);
    const int status = atomic_load(&packing->status);

    if (pe_work_check(packing->attention->work, err))
        return err->status;
    if (status == PE_OUT_OF_MEMORY)
        return pe_fail(err, PE_OUT_OF_MEMORY, where, "no memory for %s", purpose);
    return all && !status ? PE_OK
                          : pe_fail(err, PE_INTERNAL, "", "attention could not be prepared");
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Can products read v in place? Its rows must be full panels. */
static bool is_packed_in_place(const struct pe_attention *attention, const struct pe_tensor *v)
{
    return v->dtype == attention->type && v->shape[3] % attention->width == 0;
}

static enum pe_status values_new(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_tensor *v = &attention->spec.v;
    struct pe_packed *packed = &attention->v;
    const size_t columns = v->shape[3];

    if (attention->spec.output != PE_ATTENTION_OUTPUT)
        return PE_OK;
    if (!is_packed_in_place(attention, v) || !v->data)
        return pe_packed_new(attention, packed, pe_attention_kv_heads(attention), attention->keys,
                             columns, "tensor:v", err);
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
    return pe_packed_new(attention, &attention->k, pe_attention_kv_heads(attention),
                         attention->head_dim, attention->keys, "tensor:k", err)
               ? err->status
               : values_new(attention, err);
}

static enum pe_status biases_new(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    size_t size = attention->size;

    if (!scheme || !pe_bias_is_known(scheme->encoding) || attention->queries == 0 ||
        attention->keys == 0)
        return PE_OK;
    if (pe_bias_common_new(&attention->common, scheme, -attention->position_max,
                           (int64_t)attention->keys - attention->position_min, attention->type,
                           attention->work, err) ||
        !scheme->encoding->bias->by_distance)
        return err->status;
    attention->bias_stride = pe_attention_distances(attention) + attention->width + 1;
    if (!pe_size_multiply(size, attention->bias_stride, &size) ||
        !pe_size_multiply(size, attention->heads, &size))
        return pe_fail(err, PE_TOO_LARGE, "tensor:k", "%zu distances are too many",
                       attention->bias_stride);
    attention->biases = pe_attention_alloc(attention, size, "", err);
    return err->status;
}

static enum pe_status sinks_read(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_tensor *sinks = &attention->spec.sinks;

    if (sinks->rank == 0)
        return PE_OK;
    attention->sinks = pe_attention_alloc(attention, attention->heads * sizeof(*attention->sinks),
                                          "tensor:sinks", err);
    if (attention->sinks)
        pe_to_f64(attention->sinks, sinks->data, sinks->dtype, attention->heads);
    return err->status;
}

enum pe_status pe_attention_pack(struct pe_attention *attention, struct pe_pool *pool,
                                 struct pe_error *err)
{
    struct pe_packing packing = {.job = {.run = pack_run, .work = attention->work},
                                 .attention = attention};

    if (pe_added_check(attention, err) || sinks_read(attention, err) ||
        pe_relative_pack(attention, pool, err) ||
        pe_qk_transform_new(&attention->qk_transform, attention, pool, err) ||
        buffers_new(attention, err) || biases_new(attention, err))
        return err->status;
    packing.job.blocks =
        pe_attention_kv_heads(attention) + (attention->biases ? attention->heads : 0);
    return pe_packing_run(&packing, pool, "tensor:k", "a copy of a head of k or v", err);
}
