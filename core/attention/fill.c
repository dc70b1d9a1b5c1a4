/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"

#include <math.h>
#include <string.h>

#include "core/base/least.h"
#include "core/base/spend.h"

/* Depth of one step of a product: two panels' part of 32 KiB stays in the L1 cache. */
enum { DEPTH_STEP = 128 };

/* Sums of f32 are made of runs, whose length is about the root of how many terms there are up to
 * them: the errors of both, the runs and their sum, are least then. They begin at the same terms
 * whatever the first one is, so that a block of rows may leave out those that none of them sees. */
static size_t step_of(size_t at, size_t end)
{
    const size_t run = at < 32 ? 8 : at < 128 ? 16 : at % PE_SUM_RUN > 0 ? PE_SUM_RUN : DEPTH_STEP;
    const size_t step = run - at % run;

    return step < end - at ? step : end - at;
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

/* ---- rows of q: those of the caller, or copies that are turned ------------------------------- */

/* Adds the row of the head, where there is a bias, to every row. */
static enum pe_status bias_add(const struct pe_attention_block *block, const struct pe_tensor *bias,
                               char *rows, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t dim = attention->head_dim, first = block->head % attention->heads * dim;
    const size_t size = pe_dtype_info(bias->dtype)->size;
    struct pe_pace pace = {block->work, 0};

    for (size_t c = 0; bias->rank > 0 && c < dim; c++) {
        const char *from = (const char *)bias->data + (first + c) * size;
        double value;
        pe_to_f64(&value, from, bias->dtype, 1);
        if (pe_pace(&pace, block->count, err))
            return err->status;
        if (attention->type == PE_F64)
            for (size_t i = 0; i < block->count; i++)
                ((double *)rows)[i * dim + c] += value;
        else
            for (size_t i = 0; i < block->count; i++)
                ((float *)rows)[i * dim + c] += (float)value;
    }
    return PE_OK;
}

static enum pe_status copy_make(const struct pe_attention_block *block,
                                const struct pe_tensor *bias, char *to, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t dim = attention->head_dim;
    struct pe_pace pace = {block->work, 0};

    for (size_t row = 0; row < block->count; row++) {
        if (pe_pace(&pace, dim, err))
            return err->status;
        pe_attention_read(attention, to + row * dim * attention->size, &attention->spec.q,
                          (block->head * attention->queries + block->first + row) * dim, dim);
    }
    return pe_turns_apply(attention->turns, false, block->head / attention->heads, to, block->first,
                          block->count, block->work, err) ||
                   bias_add(block, bias, to, err)
               ? err->status
               : PE_OK;
}

static enum pe_status queries_take(struct pe_attention_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const bool two = spec->pos_bias_u.rank > 0 || spec->pos_bias_v.rank > 0;
    const size_t row_size = attention->head_dim * attention->size;
    char *q = block->scratch->q, *q_relative = q + attention->rows_max * row_size;

    if (!attention->q_changes) {
        block->q = block->q_relative = (const char *)spec->q.data +
                                       (block->head * attention->queries + block->first) * row_size;
        return PE_OK;
    }
    block->q = q;
    block->q_relative = two ? q_relative : q;
    if (copy_make(block, &spec->pos_bias_u, q, err))
        return err->status;
    return two ? copy_make(block, &spec->pos_bias_v, q_relative, err) : PE_OK;
}

/* ---- products ------------------------------------------------------------------------------- */

enum pe_status pe_block_product_add(const struct pe_attention_block *block, size_t row, size_t rows,
                                    const char *a, size_t a_stride, const struct pe_packed *packed,
                                    size_t head, size_t depth_begin, size_t depth,
                                    struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    struct pe_pace pace = {block->work, 0};

    for (size_t at = 0, step; at < depth; at += step) {
        step = step_of(depth_begin + at, depth_begin + depth);
        for (size_t panel = 0, count; panel < packed->panels; panel += count) {
            count = pe_least(packed->panels - panel, PE_PANELS_AT_ONCE);
            struct pe_panels panels =
                pe_packed_panels(packed, head, panel, count, depth_begin + at, attention->size);
            if (attention->streams)
                panels.next = panel + count < packed->panels ? count * panels.step
                                                             : step * packed->row_stride;
            if (pe_pace(&pace, count * pe_block_product(block, step), err))
                return err->status;
            attention->kernels.gemm(pe_block_output(block, row) + panel * PE_PANEL_SIZE,
                                    attention->output_stride, a + at * attention->size, a_stride,
                                    &panels, rows, step, 1);
        }
    }
    return PE_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t kv_head(const struct pe_attention *attention, size_t head)
{
    const size_t group = attention->heads / attention->kv_heads;

    return head / attention->heads * attention->kv_heads + head % attention->heads / group;
}

/* Products of the block's queries and the keys of a chunk. */
static enum pe_status keys_meet(const struct pe_attention_block *block,
                                const struct pe_chunk *chunk, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_packed *packed = &attention->k;
    const size_t head = kv_head(attention, block->head), end = chunk->end / attention->width;
    struct pe_pace pace = {block->work, 0};

    for (size_t panel = chunk->begin / attention->width, count; panel < end; panel += count) {
        count = pe_least(end - panel, PE_PANELS_AT_ONCE);
        struct pe_panels panels = pe_packed_panels(packed, head, panel, count, 0, attention->size);
        panels.next = attention->streams ? count * panels.step : 0;
        if (pe_pace(&pace, count * pe_block_product(block, packed->depth), err))
            return err->status;
        attention->kernels.gemm(block->scratch->logits + panel * PE_PANEL_SIZE,
                                attention->logits_stride, block->q, attention->head_dim, &panels,
                                block->count, packed->depth, attention->relative);
    }
    return PE_OK;
}

/* Logits of all rows, and the largest of each. What is disentangled is added to products before
 * they are scaled, and needs all of them. */
static enum pe_status logits_compute(const struct pe_attention_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool at_once = !attention->rows_of;

    pe_block_rows_begin(block);
    if (attention->relative && block->from < block->keys && pe_block_relative_logits(block, err))
        return err->status;
    for (struct pe_chunk chunk = {0, 0}; pe_chunk_next(block, &chunk);)
        if (pe_work_check(block->work, err) || keys_meet(block, &chunk, err) ||
            (at_once && pe_block_logits_finish(block, &chunk, err)))
            return err->status;
    if (at_once || pe_block_disentangled(block, kv_head(attention, block->head), err))
        return err->status;
    for (struct pe_chunk chunk = {0, 0}; pe_chunk_next(block, &chunk);)
        if (pe_work_check(block->work, err) || pe_block_logits_finish(block, &chunk, err))
            return err->status;
    return PE_OK;
}

/* Weights of keys [from, keys) times their values. */
static enum pe_status values_meet(const struct pe_attention_block *block, size_t row, size_t rows,
                                  size_t from, size_t keys, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;

    return from >= keys
               ? PE_OK
               : pe_block_product_add(block, row, rows,
                                      pe_block_logits(block, row) + from * attention->size,
                                      attention->logits_stride, &attention->v,
                                      kv_head(attention, block->head), from, keys - from, err);
}

static enum pe_status values_add(const struct pe_attention_block *block, size_t row, size_t rows,
                                 size_t from, size_t keys, struct pe_error *err)
{
    if (from >= keys || values_meet(block, row, rows, from, keys, err))
        return err->status;
    return block->attention->rel_v.first
               ? pe_block_relative_values(block, row, rows, from, keys, err)
               : PE_OK;
}

static bool has_weight(const struct pe_attention_block *block, size_t row, size_t key)
{
    const char *weights = pe_block_logits(block, row);

    return block->attention->type == PE_F64 ? ((const double *)weights)[key] != 0
                                            : ((const float *)weights)[key] != 0;
}

/* The values that one row sees and no others: a mask may leave out any of those in sight. */
static enum pe_status seen_values_add(const struct pe_attention_block *block, size_t row,
                                      struct pe_pace *pace, struct pe_error *err)
{
    enum { RUN = 32 }; /* a run of values costs as much as so many elements */
    const struct pe_attention_spec *spec = &block->attention->spec;
    const struct pe_attention_sight sight = pe_block_sight(block, row);

    if (spec->mask.rank == 0 && spec->bias.rank == 0)
        return values_add(block, row, 1, sight.begin, sight.end, err);
    for (size_t begin = sight.begin, end; begin < sight.end && !err->status; begin = end + 1) {
        for (end = begin; end < sight.end && has_weight(block, row, end);)
            end++;
        if (!pe_pace(pace, RUN + end - begin, err))
            values_add(block, row, 1, begin, end, err);
    }
    return err->status;
}

/* Rows go together, and values that a row may not see are multiplied by zero; but zero times an
 * infinity is NaN: then each row goes alone and touches only the values it sees. */
static enum pe_status output_compute(const struct pe_attention_block *block, char *out,
                                     struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool together = !attention->v.odd && !attention->rel_v.odd;
    struct pe_pace pace = {block->work, 0};

    for (size_t row = 0; row < block->count; row++)
        pe_attention_spread(attention, pe_block_output(block, row), 0, attention->output_stride, 0);
    for (struct pe_chunk chunk = {0, 0}; pe_chunk_next(block, &chunk);)
        if (pe_work_check(block->work, err) || pe_block_weigh(block, &chunk, err) ||
            (together && values_meet(block, 0, block->count, chunk.begin,
                                     pe_least(chunk.end, block->keys), err)))
            return err->status;
    if (together && attention->rel_v.first && block->from < block->keys)
        pe_block_relative_values(block, 0, block->count, block->from, block->keys, err);
    for (size_t row = 0; !together && row < block->count && !err->status; row++)
        seen_values_add(block, row, &pace, err);
    if (err->status)
        return err->status;
    for (size_t row = 0; row < block->count; row++) {
        attention->kernels.divide(pe_block_output(block, row), attention->output_stride,
                                  pe_block_divisor(block, row));
        row_write(attention, out, row, pe_block_output(block, row));
    }
    return PE_OK;
}

/* Logits become weights, but for their divisors. */
static enum pe_status weights_compute(const struct pe_attention_block *block, struct pe_error *err)
{
    for (struct pe_chunk chunk = {0, 0}; pe_chunk_next(block, &chunk);)
        if (pe_work_check(block->work, err) || pe_block_weigh(block, &chunk, err))
            return err->status;
    return PE_OK;
}

/* Scores or weights of one row; those of keys that the row does not see are known, also where its
 * sum is NaN, so that they do not depend on the rows that share its block. */
static enum pe_status row_output(const struct pe_attention_block *block, size_t row, char *out,
                                 struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool weights = attention->spec.output == PE_ATTENTION_WEIGHTS;
    const double hidden = weights ? 0 : -INFINITY, divisor = pe_block_divisor(block, row);
    const struct pe_attention_sight sight = pe_block_sight(block, row);
    char *logits = pe_block_logits(block, row);
    struct pe_pace pace = {block->work, 0};

    for (struct pe_chunk chunk = {0, 0}; weights && pe_chunk_next(block, &chunk);) {
        const size_t count = chunk.end - chunk.begin;
        if (pe_pace(&pace, count, err))
            return err->status;
        attention->kernels.divide(logits + chunk.begin * attention->size, count, divisor);
    }
    pe_attention_spread(attention, logits, 0, pe_least(sight.begin, attention->keys), hidden);
    pe_attention_spread(attention, logits, sight.end, attention->keys, hidden);
    row_write(attention, out, row, logits);
    return PE_OK;
}

enum pe_status pe_attention_block(const struct pe_attention *attention,
                                  const struct pe_attention_scratch *scratch, size_t head,
                                  size_t first, size_t count, char *out, struct pe_work *work,
                                  struct pe_error *err)
{
    const struct pe_attention_sequence *sequence = pe_attention_sequence_of(attention, first);
    const size_t begin = pe_attention_sight(attention, sequence, first).begin;
    const size_t end = pe_attention_sight(attention, sequence, first + count - 1).end;
    const size_t from = (begin < end ? begin : end) / attention->width * attention->width;
    struct pe_attention_block block = {attention, scratch, sequence, head,
                                       first,     count,   from,     end > from ? end : from,
                                       work,      NULL,    NULL};

    if (queries_take(&block, err) || logits_compute(&block, err))
        return err->status;
    if (attention->spec.output == PE_ATTENTION_OUTPUT)
        return output_compute(&block, out, err);
    if (attention->spec.output == PE_ATTENTION_WEIGHTS && weights_compute(&block, err))
        return err->status;
    for (size_t row = 0; row < count; row++)
        if (pe_work_check(work, err) || row_output(&block, row, out, err))
            return err->status;
    return PE_OK;
}
