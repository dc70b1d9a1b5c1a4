/* SPDX-License-Identifier: MIT */
/* Which keys a query sees: its sequence's, not those behind it, in its window, in its chunk. */

#include <math.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/memory.h"

/* Window and chunk beyond it are as good as none, and sums with positions stay within 63 bits. */
#define FARTHEST ((int64_t)1 << 53)

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
    size_t tokens;     /* where the last one ends */
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
    attention->position_least = INT64_MAX;
    attention->position_most = INT64_MIN;
    for (size_t i = 0; i < attention->sequences_count; i++) {
        struct pe_attention_sequence *at = &attention->sequences[i];
        *at = (struct pe_attention_sequence){(size_t)queries[i], (size_t)queries[i + 1],
                                             (size_t)keys[i], (size_t)keys[i + 1],
                                             (int64_t)keys[i + 1] - (int64_t)queries[i + 1]};
        if (at->first == at->end)
            continue;
        attention->position_least =
            smaller(attention->position_least, at->offset + (int64_t)at->first);
        attention->position_most =
            larger(attention->position_most, at->offset + (int64_t)at->end - 1);
    }
    if (attention->position_least > attention->position_most) /* no query at all */
        attention->position_least = attention->position_most = 0;
}

static enum pe_status packed_read(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const bool apart = spec->cu_seqlens_k.rank > 0;
    const size_t count = spec->cu_seqlens.shape[0];
    const struct ends of_queries = {"cu_seqlens", &spec->cu_seqlens, attention->queries,
                                    "tensor:cu_seqlens"};
    const struct ends of_keys = {apart ? "cu_seqlens_k" : "cu_seqlens",
                                 apart ? &spec->cu_seqlens_k : &spec->cu_seqlens, attention->keys,
                                 apart ? "tensor:cu_seqlens_k" : "tensor:cu_seqlens"};
    double *values = pe_memory_take(attention->work, 2 * count, sizeof(*values), "cu_seqlens", err);

    if (!values)
        return err->status;
    attention->sequences_count = count - 1;
    attention->sequences = pe_attention_take(attention, (count - 1) * sizeof(*attention->sequences),
                                             "tensor:cu_seqlens", err);
    if (attention->sequences && !ends_read(&of_queries, values, err) &&
        !ends_read(&of_keys, values + count, err))
        sequences_set(attention, values, values + count);
    pe_memory_give(attention->work, values, 2 * count, sizeof(*values));
    return err->status;
}

enum pe_status pe_attention_sequences_read(struct pe_attention *attention, struct pe_error *err)
{
    if (attention->spec.cu_seqlens.rank > 0)
        return packed_read(attention, err);
    attention->whole = (struct pe_attention_sequence){0, attention->queries, 0, attention->keys,
                                                      attention->query_start};
    attention->sequences = &attention->whole;
    attention->sequences_count = 1;
    attention->position_least = attention->position_most = attention->query_start;
    if (attention->queries > 0)
        attention->position_most += (int64_t)attention->queries - 1;
    return PE_OK;
}

const struct pe_attention_sequence *pe_attention_sequence_of(const struct pe_attention *attention,
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

struct pe_attention_sight pe_attention_sight(const struct pe_attention *attention,
                                             const struct pe_attention_sequence *sequence,
                                             size_t query)
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
    return (struct pe_attention_sight){(size_t)begin, (size_t)end};
}

double pe_attention_keys_seen(const struct pe_attention_spec *spec)
{
    const double keys = (double)spec->k.shape[2];
    double seen = keys;

    if (spec->has_window && spec->window_left >= 0 && (spec->causal || spec->window_right >= 0))
        seen = fmin(seen, (double)spec->window_left + 1 +
                              (spec->causal ? 0 : (double)spec->window_right));
    if (spec->chunk > 0)
        seen = fmin(seen, (double)spec->chunk);
    /* A block of queries sees more than one of them, and whole panels. */
    return fmin(keys, seen + PE_ATTENTION_ROWS_MAX + 2 * PE_PANEL_SIZE / sizeof(float));
}
