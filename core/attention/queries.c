/* SPDX-License-Identifier: MIT */
/* The rows of q that a block of attention reads: those of the caller, or copies that are turned. */

#include "core/attention/attention.h"
#include "core/base/spend.h"

bool pe_attention_changes_queries(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    return (spec->q.dtype != PE_F64 && spec->q.dtype != PE_F32) || (encoding && encoding->rotary) ||
           spec->norm != PE_NORM_NONE || spec->temperature.strength != 0 ||
           spec->pos_bias_u.rank > 0 || spec->pos_bias_v.rank > 0;
}

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

enum pe_status pe_block_queries(struct pe_attention_block *block, struct pe_error *err)
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
