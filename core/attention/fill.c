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

static struct pe_attention_sight sight_of(const struct pe_attention_block *block, size_t row)
{
    return pe_attention_sight(block->attention, block->sequence, block->first + row);
}

/* One behind the last element of rows that kernels work on. */
static size_t whole_end(const struct pe_attention_block *block)
{
    return pe_attention_whole(block->attention, block->keys);
}

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
            const struct pe_panels panels = pe_packed_panels(packed, head, panel, count,
                                                             depth_begin + at, attention->size);
            if (pe_pace(&pace, count * pe_block_product(block, step), err))
                return err->status;
            attention->kernels.gemm(pe_block_output(block, row) + panel * PE_PANEL_SIZE,
                                    attention->output_stride, a + at * attention->size, a_stride,
                                    &panels, rows, step, 1);
        }
    }
    return PE_OK;
}

/* ---- bias ----------------------------------------------------------------------------------- */

/* The numbers added to a row of logits; *bias NULL: none. */
static enum pe_status bias_of(const struct pe_attention_block *block, size_t row, const char **bias,
                              struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t head = block->head % attention->heads;
    const int64_t position = pe_block_position(block, row);
    const struct pe_bias_part part = {.scheme = scheme,
                                      .head = head,
                                      .query = (double)position,
                                      .key_begin = block->from,
                                      .key_count = block->keys - block->from,
                                      .dtype = attention->type,
                                      .common = attention->common};

    *bias = NULL;
    if (!scheme || !pe_bias_is_known(scheme->encoding) || block->from == block->keys)
        return PE_OK;
    *bias = attention->biases ? pe_attention_bias(attention, head, position) : block->scratch->bias;
    if (attention->biases)
        return PE_OK;
    if (scheme->encoding->bias->row(&part, block->scratch->bias + block->from * attention->size,
                                    block->work, err))
        return err->status;
    pe_attention_spread(attention, block->scratch->bias, block->keys, whole_end(block), 0);
    return PE_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t kv_head(const struct pe_attention *attention, size_t head)
{
    const size_t group = attention->heads / attention->kv_heads;

    return head / attention->heads * attention->kv_heads + head % attention->heads / group;
}

static enum pe_status logits_compute(const struct pe_attention_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_packed *packed = &attention->k;
    const size_t end = block->from < block->keys ? whole_end(block) / attention->width : 0;
    struct pe_pace pace = {block->work, 0};

    if (attention->relative && block->from < block->keys && pe_block_relative_logits(block, err))
        return err->status;
    for (size_t panel = block->from / attention->width, count; panel < end; panel += count) {
        count = pe_least(end - panel, PE_PANELS_AT_ONCE);
        const struct pe_panels panels = pe_packed_panels(
            packed, kv_head(attention, block->head), panel, count, 0, attention->size);
        if (pe_pace(&pace, count * pe_block_product(block, packed->depth), err))
            return err->status;
        attention->kernels.gemm(block->scratch->logits + panel * PE_PANEL_SIZE,
                                attention->logits_stride, block->q, attention->head_dim, &panels,
                                block->count, packed->depth, attention->relative);
    }
    return attention->rows_of ? pe_block_disentangled(block, kv_head(attention, block->head), err)
                              : PE_OK;
}

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

/* Keys of a row between two looks at the work: those between two multiples of PIECE, whatever the
 * first one is, because each piece has a sum of its own. */
struct piece {
    size_t begin, end;
};

/* The piece behind another; false: there is none, or the work has ended. */
static bool piece_next(const struct pe_attention_block *block, struct piece *piece,
                       struct pe_error *err)
{
    enum { PIECE = 1 << 20 };
    const size_t end = whole_end(block), begin = piece->end;

    piece->begin = begin;
    piece->end = end - begin < PIECE - begin % PIECE ? end : begin + PIECE - begin % PIECE;
    return begin < end && (begin == block->from || !pe_work_check(block->work, err));
}

/* Scales logits, caps them, adds biases, masks keys that the row may not see. */
static void piece_finish(const struct pe_attention_block *block, size_t row, const char *bias,
                         const struct piece *piece, double *max)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_attention_kernels *kernels = &attention->kernels;
    const struct pe_attention_sight sight = sight_of(block, row);
    const size_t seen = sight.begin > piece->begin ? sight.begin : piece->begin;
    const size_t hidden = sight.end > piece->begin ? sight.end : piece->begin;
    const size_t begin = piece->begin * attention->size, count = piece->end - piece->begin;
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
        pe_block_added(block, row, seen, pe_least(sight.end, piece->end));
        scale = 1;
        bias = NULL;
    }
    pe_attention_spread(attention, logits, piece->begin, pe_least(sight.begin, piece->end),
                        -INFINITY);
    pe_attention_spread(attention, logits, hidden, piece->end, -INFINITY);
    kernels->logits(logits + begin, bias ? bias + begin : NULL, count, scale, max);
}

/* Makes logits of a row; *max is the largest. */
static enum pe_status row_finish(const struct pe_attention_block *block, size_t row, double *max,
                                 struct pe_error *err)
{
    struct piece piece = {.end = block->from};
    const char *bias;
    double largest;

    *max = -INFINITY;
    if (bias_of(block, row, &bias, err))
        return err->status;
    while (piece_next(block, &piece, err)) {
        piece_finish(block, row, bias, &piece, &largest);
        *max = largest > *max ? largest : *max;
    }
    return err->status;
}

/* The weight of the head's sink, beside a row whose largest logit becomes *max. */
static double sink_weigh(const struct pe_attention_block *block, double *max)
{
    const struct pe_attention *attention = block->attention;
    double numbers[PE_ATTENTION_PARTIALS], sum;
    char *row = (char *)numbers;

    if (!attention->sinks)
        return 0;
    const double sink = attention->sinks[block->head % attention->heads];
    *max = sink > *max ? sink : *max;
    pe_attention_spread(attention, row, 0, PE_ATTENTION_PARTIALS, -INFINITY);
    pe_attention_spread(attention, row, 0, 1, sink);
    attention->kernels.softmax(row, PE_ATTENTION_PARTIALS, *max, &sum);
    return sum;
}

/* A row masked whole sums to 0, and 0 / 1 is the zero it should be. */
static enum pe_status row_softmax(const struct pe_attention_block *block, size_t row, double *sum,
                                  struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    struct piece piece = {.end = block->from};
    double max, part;

    if (row_finish(block, row, &max, err))
        return err->status;
    const double sink = sink_weigh(block, &max);
    *sum = 0;
    while (piece_next(block, &piece, err)) {
        attention->kernels.softmax(pe_block_logits(block, row) + piece.begin * attention->size,
                                   piece.end - piece.begin, max, &part);
        *sum += part;
    }
    *sum += sink;
    *sum = *sum == 0 ? 1 : *sum;
    return err->status;
}

/* Weights of keys [from, keys) times their values. */
static enum pe_status values_add(const struct pe_attention_block *block, size_t row, size_t rows,
                                 size_t from, size_t keys, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;

    if (from >= keys)
        return PE_OK;
    if (pe_block_product_add(block, row, rows, pe_block_logits(block, row) + from * attention->size,
                             attention->logits_stride, &attention->v,
                             kv_head(attention, block->head), from, keys - from, err))
        return err->status;
    return attention->rel_v.first ? pe_block_relative_values(block, row, rows, from, keys, err)
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
    const struct pe_attention_sight sight = sight_of(block, row);

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
    const size_t keys = block->keys - block->from;
    struct pe_pace pace = {block->work, 0};
    double sums[PE_ATTENTION_ROWS_MAX];

    for (size_t row = 0; row < block->count; row++) {
        if (pe_pace(&pace, keys, err) || row_softmax(block, row, &sums[row], err))
            return err->status;
        pe_attention_spread(attention, pe_block_output(block, row), 0, attention->output_stride, 0);
    }
    if (!attention->v.odd && !attention->rel_v.odd)
        values_add(block, 0, block->count, block->from, block->keys, err);
    else
        for (size_t row = 0; row < block->count && !err->status; row++)
            seen_values_add(block, row, &pace, err);
    if (err->status)
        return err->status;
    for (size_t row = 0; row < block->count; row++) {
        attention->kernels.divide(pe_block_output(block, row), attention->output_stride, sums[row]);
        row_write(attention, out, row, pe_block_output(block, row));
    }
    return PE_OK;
}

/* Scores or weights of one row; those of keys that no row of the block sees are known. */
static enum pe_status row_output(const struct pe_attention_block *block, size_t row, char *out,
                                 struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool weights = attention->spec.output == PE_ATTENTION_WEIGHTS;
    const double hidden = weights ? 0 : -INFINITY;
    char *logits = pe_block_logits(block, row);
    double number;

    if (weights ? row_softmax(block, row, &number, err) : row_finish(block, row, &number, err))
        return err->status;
    for (struct piece piece = {.end = block->from}; weights && piece_next(block, &piece, err);)
        attention->kernels.divide(logits + piece.begin * attention->size, piece.end - piece.begin,
                                  number);
    if (err->status)
        return err->status;
    pe_attention_spread(attention, logits, 0, block->from, hidden);
    pe_attention_spread(attention, logits, whole_end(block), attention->keys, hidden);
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

    if (pe_block_queries(&block, err) || logits_compute(&block, err))
        return err->status;
    if (attention->spec.output == PE_ATTENTION_OUTPUT)
        return output_compute(&block, out, err);
    for (size_t row = 0; row < count; row++)
        if (pe_work_check(work, err) || row_output(&block, row, out, err))
            return err->status;
    return PE_OK;
}
