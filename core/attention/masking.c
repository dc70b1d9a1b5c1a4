/* SPDX-License-Identifier: MIT */
/* Visible keys of a query: those of its sequence, by causality, window and chunk; and masks and
 * biases that are posted. */

#include <math.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/errors.h"
#include "core/base/sizes.h"
#include "core/base/work.h"

/* Larger windows and chunks hold every key; sums of it and a position fit into int64_t. */
#define FARTHEST ((int64_t)1 << 53)

enum { CHECK_ELEMENTS = 1 << 16 }; /* between two checks of the work */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- sequences ------------------------------------------------------------------------------- */

struct ends {
    const char *name; /* "cu_seqlens" */
    const struct pe_tensor *tensor;
    size_t tokens;     /* the last end */
    const char *where; /* "tensor:cu_seqlens" */
};

static enum pe_status ends_read(const struct ends *ends, double *values, struct pe_error *err)
{
    const size_t count = ends->tensor->shape[0];

    pe_to_f64(values, ends->tensor->data, ends->tensor->dtype, count);
    for (size_t i = 0; i < count; i++)
        if (values[i] != floor(values[i]) || (i > 0 ? values[i] < values[i - 1] : values[0] != 0))
            return pe_fail(err, PE_INVALID, ends->where,
                           "%s must be whole numbers that begin at 0 and never fall, got %.17g at "
                           "index %zu",
                           ends->name, values[i], i);
    if (values[count - 1] != (double)ends->tokens)
        return pe_fail(err, PE_SHAPE_MISMATCH, ends->where, "%s ends at %.0f, there are %zu tokens",
                       ends->name, values[count - 1], ends->tokens);
    return PE_OK;
}

static void sequences_set(struct pe_attention *attention, const double *queries, const double *keys)
{
    attention->position_min = INT64_MAX;
    attention->position_max = INT64_MIN;
    for (size_t i = 0; i < attention->sequences_count; i++) {
        struct pe_attention_sequence *at = &attention->sequences[i];
        *at = (struct pe_attention_sequence){(size_t)queries[i], (size_t)queries[i + 1],
                                             (size_t)keys[i], (size_t)keys[i + 1],
                                             (int64_t)keys[i + 1] - (int64_t)queries[i + 1]};
        if (at->first == at->end)
            continue;
        attention->position_min = smaller(attention->position_min, at->offset + (int64_t)at->first);
        attention->position_max =
            larger(attention->position_max, at->offset + (int64_t)at->end - 1);
    }
    if (attention->position_min > attention->position_max) /* no query at all */
        attention->position_min = attention->position_max = 0;
}

static enum pe_status packed_read(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const bool has_key_ends = spec->cu_seqlens_k.rank > 0;
    const size_t count = spec->cu_seqlens.shape[0];
    const struct ends of_queries = {"cu_seqlens", &spec->cu_seqlens, attention->queries,
                                    "tensor:cu_seqlens"};
    const struct ends of_keys = {has_key_ends ? "cu_seqlens_k" : "cu_seqlens",
                                 has_key_ends ? &spec->cu_seqlens_k : &spec->cu_seqlens,
                                 attention->keys,
                                 has_key_ends ? "tensor:cu_seqlens_k" : "tensor:cu_seqlens"};
    double *values = pe_memory_take(attention->work, 2 * count, sizeof(*values), "cu_seqlens", err);

    if (!values)
        return err->status;
    attention->sequences_count = count - 1;
    attention->sequences = pe_attention_alloc(
        attention, (count - 1) * sizeof(*attention->sequences), "tensor:cu_seqlens", err);
    if (attention->sequences && !ends_read(&of_queries, values, err) &&
        !ends_read(&of_keys, values + count, err))
        sequences_set(attention, values, values + count);
    pe_memory_give(attention->work, values, 2 * count, sizeof(*values));
    return err->status;
}

enum pe_status pe_sequences_read(struct pe_attention *attention, struct pe_error *err)
{
    if (attention->spec.cu_seqlens.rank > 0)
        return packed_read(attention, err);
    attention->single = (struct pe_attention_sequence){0, attention->queries, 0, attention->keys,
                                                       attention->query_start};
    attention->sequences = &attention->single;
    attention->sequences_count = 1;
    attention->position_min = attention->position_max = attention->query_start;
    if (attention->queries > 0)
        attention->position_max += (int64_t)attention->queries - 1;
    return PE_OK;
}

const struct pe_attention_sequence *pe_sequence_of_query(const struct pe_attention *attention,
                                                         size_t query)
{
    size_t low = 0, high = attention->sequences_count;

    while (high - low > 1) { /* sequences[low].first <= query < sequences[high].first */
        const size_t middle = low + (high - low) / 2;
        if (attention->sequences[middle].first <= query)
            low = middle;
        else
            high = middle;
    }
    return &attention->sequences[low];
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct pe_key_range pe_visible_keys(const struct pe_attention *attention,
                                    const struct pe_attention_sequence *sequence, size_t query)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const int64_t first = (int64_t)sequence->key_first, last = (int64_t)sequence->key_end;
    const int64_t at = sequence->offset + (int64_t)query;
    int64_t begin = first, end = last;

    if (spec->causal)
        end = smaller(end, at + 1);
    if (spec->has_window && spec->window_left >= 0)
        begin = larger(begin, at - smaller(spec->window_left, FARTHEST));
    if (spec->has_window && spec->window_right >= 0)
        end = smaller(end, at + 1 + smaller(spec->window_right, FARTHEST));
    if (spec->chunk > 0 && spec->chunk < (uint64_t)FARTHEST) {
        const int64_t chunk = (int64_t)spec->chunk;
        const int64_t base = first + floor_divide(at - first, chunk) * chunk;
        begin = larger(begin, base);
        end = smaller(end, base + chunk);
    }
    begin = smaller(begin, last);
    end = larger(smaller(end, last), begin);
    return (struct pe_key_range){(size_t)begin, (size_t)end};
}

double pe_visible_keys_estimate(const struct pe_attention_spec *spec)
{
    const double keys = (double)spec->k.shape[2];
    double visible = keys;

    if (spec->has_window && spec->window_left >= 0 && (spec->causal || spec->window_right >= 0))
        visible = fmin(visible, (double)spec->window_left + 1 +
                                    (spec->causal ? 0 : (double)spec->window_right));
    if (spec->chunk > 0)
        visible = fmin(visible, (double)spec->chunk);
    /* A block multiplies the union of its queries' keys, in full panels. */
    return fmin(keys, visible + PE_ATTENTION_ROWS_MAX + 2 * PE_PANEL_SIZE / sizeof(float));
}

/* ---- posted masks and biases ----------------------------------------------------------------- */

/* -inf hides a key; NaN and inf are refused. */
static enum pe_status values_check(struct pe_attention *attention, const struct pe_tensor *tensor,
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
        const size_t step = pe_min(count - at, STEP);
        if (at % CHECK_ELEMENTS == 0 && pe_work_check(attention->work, err))
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

enum pe_status pe_added_check(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;

    return values_check(attention, &spec->mask, "mask", err) ||
                   values_check(attention, &spec->bias, "bias", err) ||
                   values_check(attention, &spec->sinks, "sinks", err)
               ? err->status
               : PE_OK;
}

/* The element at which the row of a query begins, in a tensor that broadcasts. */
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

/* true: visible. A mask of one element for all keys is handled first, so that the loops vectorise.
 */
static void bool_apply(const struct pe_attention *attention, char *logits, const char *mask,
                       bool is_one, size_t begin, size_t end)
{
    if (is_one && !mask[0])
        pe_row_fill(attention, logits, begin, end, -INFINITY);
    if (is_one)
        return;
    if (attention->type == PE_F64)
        for (size_t i = begin; i < end; i++)
            ((double *)logits)[i] = mask[i] ? ((double *)logits)[i] : -INFINITY;
    else
        for (size_t i = begin; i < end; i++)
            ((float *)logits)[i] = mask[i] ? ((float *)logits)[i] : -INFINITY;
}

/* A hidden key stays hidden even if its logit is NaN. */
#define ADD(REAL)                                                                                  \
    do {                                                                                           \
        REAL *to = (REAL *)logits + begin;                                                         \
        const REAL *from = (const REAL *)added;                                                    \
        for (size_t i = 0; i < end - begin; i++)                                                   \
            to[i] = from[i] == -(REAL)INFINITY ? from[i] : to[i] + from[i];                        \
    } while (0)

static void tensor_apply(const struct pe_query_block *block, const struct pe_tensor *tensor,
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
    pe_elements_read(attention, added, tensor, is_one ? at : at + begin, is_one ? 1 : count);
    if (is_one)
        pe_row_fill(attention, added, 0, count,
                    attention->type == PE_F64 ? *(double *)added : *(float *)added);
    if (attention->type == PE_F64)
        ADD(double);
    else
        ADD(float);
}

void pe_block_mask_add(const struct pe_query_block *block, size_t row, size_t begin, size_t end)
{
    const struct pe_attention_spec *spec = &block->attention->spec;

    if (begin < end && spec->bias.rank > 0)
        tensor_apply(block, &spec->bias, row, begin, end);
    if (begin < end && spec->mask.rank > 0)
        tensor_apply(block, &spec->mask, row, begin, end);
}
