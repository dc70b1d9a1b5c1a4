/* SPDX-License-Identifier: MIT */
/* Rows of a block of attention, from products of q and k to weights, a chunk of keys at a time. */

#include "core/attention/attention.h"

#include <math.h>
#include <string.h>

#include "core/base/least.h"
#include "core/base/spend.h"

/* Keys whose logits of all rows of a block stay in the L2 cache from one step to the next. */
enum { CHUNK = 1 << 10 };

/* Keys whose weights are summed in one go, those between two multiples of it. */
enum { PIECE = 1 << 20 };
_Static_assert(PIECE % CHUNK == 0, "a chunk is of one piece");

/* ---- small things --------------------------------------------------------------------------- */

/* Copies of 64 bytes at a time, which compilers make of vectors: the loop of single elements they
 * leave as it is. */
#define SPREAD(REAL)                                                                               \
    do {                                                                                           \
        REAL *to = (REAL *)row, run[64 / sizeof(REAL)];                                            \
        const size_t count = sizeof(run) / sizeof(run[0]);                                         \
        for (size_t i = 0; i < count; i++)                                                         \
            run[i] = (REAL)value;                                                                  \
        for (; end - begin >= count; begin += count)                                               \
            memcpy(to + begin, run, sizeof(run));                                                  \
        for (; begin < end; begin++)                                                               \
            to[begin] = (REAL)value;                                                               \
    } while (0)

void pe_attention_spread(const struct pe_attention *attention, char *row, size_t begin, size_t end,
                         double value)
{
    if (begin >= end)
        return;
    if (attention->type == PE_F64)
        SPREAD(double);
    else
        SPREAD(float);
}

bool pe_chunk_next(const struct pe_attention_block *block, struct pe_chunk *chunk)
{
    const size_t end = pe_block_end(block), begin = chunk->end > 0 ? chunk->end : block->from;

    chunk->begin = begin;
    chunk->end = end - begin < CHUNK - begin % CHUNK ? end : begin + CHUNK - begin % CHUNK;
    return begin < end;
}

/* ---- bias ----------------------------------------------------------------------------------- */

/* The numbers added to a row of logits, those of the chunk; *bias NULL: none. */
static enum pe_status bias_of(const struct pe_attention_block *block, size_t row,
                              const struct pe_chunk *chunk, const char **bias, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t head = block->head % attention->heads;
    const int64_t position = pe_block_position(block, row);
    const size_t end = pe_least(chunk->end, block->keys);
    const struct pe_bias_part part = {.scheme = scheme,
                                      .head = head,
                                      .query = (double)position,
                                      .key_begin = chunk->begin,
                                      .key_count = end - chunk->begin,
                                      .dtype = attention->type,
                                      .common = attention->common};

    *bias = NULL;
    if (!scheme || !pe_bias_is_known(scheme->encoding) || block->from == block->keys)
        return PE_OK;
    *bias = attention->biases ? pe_attention_bias(attention, head, position) : block->scratch->bias;
    if (attention->biases)
        return PE_OK;
    if (scheme->encoding->bias->row(&part, block->scratch->bias + chunk->begin * attention->size,
                                    block->work, err))
        return err->status;
    pe_attention_spread(attention, block->scratch->bias, end, chunk->end, 0);
    return PE_OK;
}

/* ---- logits ---------------------------------------------------------------------------------- */

/* One product scales a row and divides it by the cap, where floats have a number for that. */
static void cap(const struct pe_attention_block *block, char *logits, size_t count)
{
    const struct pe_attention_kernels *kernels = &block->attention->kernels;
    const double most = block->attention->spec.softcap, factor = block->attention->scale / most;
    double max;

    if (factor >= 1e-30 && factor <= 1e30) {
        kernels->softcap(logits, count, factor, most);
        return;
    }
    kernels->logits(logits, NULL, count, block->attention->scale, &max);
    kernels->softcap(logits, count, 1 / most, most);
}

/* Scales logits, caps them, adds biases, masks keys that the row may not see. */
static void chunk_finish(const struct pe_attention_block *block, size_t row, const char *bias,
                         const struct pe_chunk *chunk, double *max)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_attention_kernels *kernels = &attention->kernels;
    const struct pe_attention_sight sight = pe_block_sight(block, row);
    const size_t seen = sight.begin > chunk->begin ? sight.begin : chunk->begin;
    const size_t hidden = sight.end > chunk->begin ? sight.end : chunk->begin;
    const size_t begin = chunk->begin * attention->size, count = chunk->end - chunk->begin;
    char *logits = pe_block_logits(block, row);
    double scale = attention->scale;

    if (bias && spec->bias_before_scale) {
        kernels->logits(logits + begin, bias + begin, count, 1, max);
        bias = NULL;
    }
    if (spec->softcap > 0) {
        cap(block, logits + begin, count);
        scale = 1;
    }
    if (spec->mask.rank > 0 || spec->bias.rank > 0) {
        kernels->logits(logits + begin, bias ? bias + begin : NULL, count, scale, max);
        pe_block_added(block, row, seen, pe_least(sight.end, chunk->end));
        scale = 1;
        bias = NULL;
    }
    pe_attention_spread(attention, logits, chunk->begin, pe_least(sight.begin, chunk->end),
                        -INFINITY);
    pe_attention_spread(attention, logits, hidden, chunk->end, -INFINITY);
    kernels->logits(logits + begin, bias ? bias + begin : NULL, count, scale, max);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Weights of f32 are larger than they are by a power of two, and their sum is as well: products of
 * the smallest with values would be subnormal, which costs some processors a hundred times as long.
 * No sum of large values may become infinite by that. */
static double unit_of(const struct pe_attention *attention)
{
    return attention->type == PE_F64 || attention->v.large || attention->rel_v.large ? 1 : 0x1p32;
}

/* Of numbers that are partial sums of a row. */
static double partials_sum(const struct pe_attention *attention, const void *partials)
{
    double sum;
    float narrow;

    if (attention->type == PE_F64) {
        attention->kernels.sum(&sum, partials, PE_ATTENTION_PARTIALS);
        return sum;
    }
    attention->kernels.sum(&narrow, partials, PE_ATTENTION_PARTIALS);
    return (double)narrow;
}

/* The weight of the head's sink, beside a row whose largest logit becomes *max. */
static double sink_weigh(const struct pe_attention_block *block, double *max)
{
    const struct pe_attention *attention = block->attention;
    double numbers[PE_ATTENTION_PARTIALS], sums[PE_ATTENTION_PARTIALS] = {0};
    char *row = (char *)numbers;

    if (!attention->sinks)
        return 0;
    const double sink = attention->sinks[block->head % attention->heads];
    *max = sink > *max ? sink : *max;
    pe_attention_spread(attention, row, 0, PE_ATTENTION_PARTIALS, -INFINITY);
    pe_attention_spread(attention, row, 0, 1, sink);
    attention->kernels.softmax(row, PE_ATTENTION_PARTIALS, *max, unit_of(attention), sums, 0);
    return partials_sum(attention, sums);
}

void pe_block_rows_begin(const struct pe_attention_block *block)
{
    for (size_t row = 0; row < block->count; row++)
        block->scratch->rows[row] = (struct pe_attention_row){.max = -INFINITY};
}

/* Are all keys of the block in the chunk? Then a row is made weights while it is in the L1 cache.
 */
static bool is_all(const struct pe_attention_block *block, const struct pe_chunk *chunk)
{
    return block->attention->spec.output != PE_ATTENTION_SCORES && chunk->begin == block->from &&
           chunk->end == pe_block_end(block);
}

static void row_weigh(const struct pe_attention_block *block, size_t at,
                      const struct pe_chunk *chunk)
{
    const struct pe_attention *attention = block->attention;
    struct pe_attention_row *row = &block->scratch->rows[at];

    if (chunk->begin == block->from)
        row->sink = sink_weigh(block, &row->max);
    attention->kernels.softmax(pe_block_logits(block, at) + chunk->begin * attention->size,
                               chunk->end - chunk->begin, row->max, unit_of(attention),
                               row->partials, attention->logits_stride);
    if (chunk->end < pe_block_end(block) && chunk->end % PIECE > 0)
        return;
    row->sum += partials_sum(attention, row->partials);
    memset(row->partials, 0, sizeof(row->partials));
}

enum pe_status pe_block_logits_finish(const struct pe_attention_block *block,
                                      const struct pe_chunk *chunk, struct pe_error *err)
{
    struct pe_pace pace = {block->work, 0};
    const char *bias;
    double largest;

    for (size_t row = 0; row < block->count; row++) {
        double *max = &block->scratch->rows[row].max;
        if (pe_pace(&pace, chunk->end - chunk->begin, err) ||
            bias_of(block, row, chunk, &bias, err))
            return err->status;
        chunk_finish(block, row, bias, chunk, &largest);
        *max = largest > *max ? largest : *max;
        if (is_all(block, chunk))
            row_weigh(block, row, chunk);
    }
    return PE_OK;
}

enum pe_status pe_block_weigh(const struct pe_attention_block *block, const struct pe_chunk *chunk,
                              struct pe_error *err)
{
    struct pe_pace pace = {block->work, 0};

    for (size_t row = 0; row < block->count && !is_all(block, chunk); row++) {
        if (pe_pace(&pace, chunk->end - chunk->begin, err))
            return err->status;
        row_weigh(block, row, chunk);
    }
    return PE_OK;
}

/* A row masked whole sums to 0, and 0 / 1 is the zero it should be. */
double pe_block_divisor(const struct pe_attention_block *block, size_t row)
{
    const double sum = block->scratch->rows[row].sum + block->scratch->rows[row].sink;

    return sum == 0 ? 1 : sum;
}
