/* SPDX-License-Identifier: MIT */
/* Masks and biases that are posted, broadcast over batch, heads, queries and keys. */

#include <math.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/fail.h"
#include "core/base/least.h"

enum { SCAN_STEP = 1 << 16 }; /* elements between two looks at the work */

/* ---- values ---------------------------------------------------------------------------------- */

/* NaN and inf have no place; -inf hides a key. */
static enum pe_status values_scan(struct pe_attention *attention, const struct pe_tensor *tensor,
                                  const char *name, struct pe_error *err)
{
    enum { STEP = 256 };
    double values[STEP];
    char where[24] = "tensor:";
    size_t count;

    strcat(where, name);
    if (tensor->rank == 0 || tensor->dtype == PE_BOOL ||
        !pe_shape_elements(tensor->shape, tensor->rank, &count))
        return PE_OK;
    for (size_t at = 0; at < count; at += STEP) {
        const size_t step = pe_least(count - at, STEP);
        if (at % SCAN_STEP == 0 && pe_work_check(attention->work, err))
            return err->status;
        pe_to_f64(values, (const char *)tensor->data + at * pe_dtype_info(tensor->dtype)->size,
                  tensor->dtype, step);
        for (size_t i = 0; i < step; i++)
            if (!(values[i] < INFINITY))
                return pe_fail(err, PE_OUT_OF_RANGE, where,
                               "%s has %s at element %zu; -inf hides a key, and all else must be "
                               "finite",
                               name, isnan(values[i]) ? "NaN" : "inf", at + i);
    }
    return PE_OK;
}

enum pe_status pe_attention_added_scan(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;

    return values_scan(attention, &spec->mask, "mask", err) ||
                   values_scan(attention, &spec->bias, "bias", err) ||
                   values_scan(attention, &spec->sinks, "sinks", err)
               ? err->status
               : PE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Where the row of a query begins in a tensor whose axes may be 1, in elements. */
static size_t row_begin(const struct pe_tensor *tensor, size_t batch, size_t head, size_t query)
{
    const size_t at[] = {batch, head, query};
    size_t begin = 0;

    for (unsigned i = 0; i + 1 < tensor->rank; i++) {
        const size_t index = at[4 - tensor->rank + i];
        begin = begin * tensor->shape[i] + (tensor->shape[i] > 1 ? index : 0);
    }
    return tensor->rank > 0 ? begin * tensor->shape[tensor->rank - 1] : 0;
}

/* true is seen. One number for all keys is apart, so that the loop of many runs at full speed. */
static void bool_apply(const struct pe_attention *attention, char *logits, const char *mask,
                       bool is_one, size_t begin, size_t end)
{
    if (is_one && !mask[0])
        pe_attention_spread(attention, logits, begin, end, -INFINITY);
    if (is_one)
        return;
    if (attention->type == PE_F64)
        for (size_t i = begin; i < end; i++)
            ((double *)logits)[i] = mask[i] ? ((double *)logits)[i] : -INFINITY;
    else
        for (size_t i = begin; i < end; i++)
            ((float *)logits)[i] = mask[i] ? ((float *)logits)[i] : -INFINITY;
}

/* A key that is hidden stays so whatever its logit is, NaN too. */
#define ADD(REAL)                                                                                  \
    do {                                                                                           \
        REAL *to = (REAL *)logits + begin;                                                         \
        const REAL *from = (const REAL *)added;                                                    \
        for (size_t i = 0; i < end - begin; i++)                                                   \
            to[i] = from[i] == -(REAL)INFINITY ? from[i] : to[i] + from[i];                        \
    } while (0)

static void tensor_apply(const struct pe_attention_block *block, const struct pe_tensor *tensor,
                         size_t row, size_t begin, size_t end)
{
    const struct pe_attention *attention = block->attention;
    const size_t batch = block->head / attention->heads, head = block->head % attention->heads;
    const size_t at = row_begin(tensor, batch, head, block->first + row);
    const bool is_one = tensor->shape[tensor->rank - 1] == 1;
    const size_t count = end - begin;
    char *logits = pe_block_logits(block, row), *added = block->scratch->bias;

    if (tensor->dtype == PE_BOOL) {
        bool_apply(attention, logits, (const char *)tensor->data + at, is_one, begin, end);
        return;
    }
    pe_attention_read(attention, added, tensor, is_one ? at : at + begin, is_one ? 1 : count);
    if (is_one)
        pe_attention_spread(attention, added, 0, count,
                            attention->type == PE_F64 ? *(double *)added : *(float *)added);
    if (attention->type == PE_F64)
        ADD(double);
    else
        ADD(float);
}

void pe_block_added(const struct pe_attention_block *block, size_t row, size_t begin, size_t end)
{
    const struct pe_attention_spec *spec = &block->attention->spec;

    if (begin < end && spec->bias.rank > 0)
        tensor_apply(block, &spec->bias, row, begin, end);
    if (begin < end && spec->mask.rank > 0)
        tensor_apply(block, &spec->mask, row, begin, end);
}
