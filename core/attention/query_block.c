/* SPDX-License-Identifier: MIT */
/* A block of queries of one head: logits, softmax and outputs, a tile of keys at a time. */

#include "core/attention/attention.h"

#include <math.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/base/work.h"

enum {
    TILE = 1 << 10,      /* keys whose logits of all rows of a block stay in the L2 cache */
    SUM_PIECE = 1 << 20, /* keys whose weights are summed in the type of the arithmetic */
    DEPTH_STEP = 128,    /* rows of one product: those of two panels are 32 KiB, for the L1 cache */
};
_Static_assert(SUM_PIECE % TILE == 0, "a tile lies in one piece");

/* Keys that go through a step together: full panels between two multiples of TILE, so that they do
 * not depend on the first key of the block. */
struct key_tile {
    size_t begin, end;
};

/* Copies of 64 bytes, which compilers turn into vectors; a loop of single elements they do not. */
#define ROW_FILL(REAL)                                                                             \
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

void pe_row_fill(const struct pe_attention *attention, char *row, size_t begin, size_t end,
                 double value)
{
    if (begin >= end)
        return;
    if (attention->type == PE_F64)
        ROW_FILL(double);
    else
        ROW_FILL(float);
}

/* The end of the block's keys, in full panels. */
static size_t padded_end(const struct pe_query_block *block)
{
    return pe_panel_align(block->attention, block->key_end);
}

/* Moves on from {0, 0} to the first tile, or to the next one; false: there is none. */
static bool tile_next(const struct pe_query_block *block, struct key_tile *tile)
{
    const size_t end = padded_end(block), begin = tile->end > 0 ? tile->end : block->key_begin;

    tile->begin = begin;
    tile->end = end - begin < TILE - begin % TILE ? end : begin + TILE - begin % TILE;
    return begin < end;
}

static char *output_row(const struct pe_query_block *block, size_t row)
{
    return block->scratch->output + row * block->attention->output_stride * block->attention->size;
}

static size_t kv_head(const struct pe_attention *attention, size_t head)
{
    const size_t group = attention->heads / attention->kv_heads;

    return head / attention->heads * attention->kv_heads + head % attention->heads / group;
}

static struct pe_key_range visible_keys(const struct pe_query_block *block, size_t row)
{
    return pe_visible_keys(block->attention, block->sequence, block->first + row);
}

/* ---- products -------------------------------------------------------------------------------- */

/* The cost of the product of the block's queries with a panel, as elements of a pace. */
static size_t product_pace(const struct pe_query_block *block, size_t depth)
{
    return (block->count * depth * block->attention->width + 15) / 16;
}

enum pe_status pe_block_multiply(const struct pe_query_block *block, const char *rows,
                                 const struct pe_packed *packed, size_t head, size_t panel,
                                 size_t panel_end, char *out, size_t out_stride, bool adds,
                                 struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool prefetches = attention->streams && packed == &attention->k;
    struct pe_pace pace = {block->work, 0};

    for (size_t count; panel < panel_end; panel += count, out += count * PE_PANEL_SIZE) {
        count = pe_min(panel_end - panel, PE_PANELS_AT_ONCE);
        struct pe_panels panels = pe_packed_panels(packed, head, panel, count, 0, attention->size);
        panels.next = prefetches ? count * panels.step : 0;
        if (pe_pace(&pace, count * product_pace(block, packed->depth), err))
            return err->status;
        attention->kernels.gemm(out, out_stride, rows, attention->head_dim, &panels, block->count,
                                packed->depth, adds);
    }
    return PE_OK;
}

/* f32 products sum in runs of about the root of the terms before them, so that the rounding errors
 * of a run and of the sum of runs are about equal. Runs begin at fixed terms, so that a block that
 * skips leading keys gets the same bits. */
static size_t depth_step(size_t at, size_t end)
{
    const size_t run = at < 32 ? 8 : at < 128 ? 16 : at % PE_SUM_RUN > 0 ? PE_SUM_RUN : DEPTH_STEP;
    const size_t step = run - at % run;

    return step < end - at ? step : end - at;
}

enum pe_status pe_block_output_add(const struct pe_query_block *block, size_t row, size_t rows,
                                   const char *a, size_t a_stride, const struct pe_packed *packed,
                                   size_t head, size_t depth_begin, size_t depth,
                                   struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    struct pe_pace pace = {block->work, 0};

    for (size_t at = 0, step; at < depth; at += step) {
        step = depth_step(depth_begin + at, depth_begin + depth);
        for (size_t panel = 0, count; panel < packed->panels; panel += count) {
            count = pe_min(packed->panels - panel, PE_PANELS_AT_ONCE);
            struct pe_panels panels =
                pe_packed_panels(packed, head, panel, count, depth_begin + at, attention->size);
            if (attention->streams)
                panels.next = panel + count < packed->panels ? count * panels.step
                                                             : step * packed->row_stride;
            if (pe_pace(&pace, count * product_pace(block, step), err))
                return err->status;
            attention->kernels.gemm(output_row(block, row) + panel * PE_PANEL_SIZE,
                                    attention->output_stride, a + at * attention->size, a_stride,
                                    &panels, rows, step, 1);
        }
    }
    return PE_OK;
}

/* ---- rows of q ------------------------------------------------------------------------------- */

/* Adds the head's row of pos_bias_u or pos_bias_v, if posted, to every row. */
static enum pe_status bias_add(const struct pe_query_block *block, const struct pe_tensor *bias,
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

static enum pe_status queries_copy(const struct pe_query_block *block, const struct pe_tensor *bias,
                                   char *to, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t dim = attention->head_dim;
    struct pe_pace pace = {block->work, 0};

    for (size_t row = 0; row < block->count; row++) {
        if (pe_pace(&pace, dim, err))
            return err->status;
        pe_elements_read(attention, to + row * dim * attention->size, &attention->spec.q,
                         (block->head * attention->queries + block->first + row) * dim, dim);
    }
    return pe_qk_transform_apply(attention->qk_transform, false, block->head / attention->heads, to,
                                 block->first, block->count, block->work, err) ||
                   bias_add(block, bias, to, err)
               ? err->status
               : PE_OK;
}

static enum pe_status queries_read(struct pe_query_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const bool two = spec->pos_bias_u.rank > 0 || spec->pos_bias_v.rank > 0;
    const size_t row_size = attention->head_dim * attention->size;
    char *q = block->scratch->q, *q_relative = q + attention->rows_max * row_size;

    if (!attention->copies_queries) {
        block->q = block->q_relative = (const char *)spec->q.data +
                                       (block->head * attention->queries + block->first) * row_size;
        return PE_OK;
    }
    block->q = q;
    block->q_relative = two ? q_relative : q;
    if (queries_copy(block, &spec->pos_bias_u, q, err))
        return err->status;
    return two ? queries_copy(block, &spec->pos_bias_v, q_relative, err) : PE_OK;
}

/* ---- logits ---------------------------------------------------------------------------------- */

/* The biases of a row at the keys of the tile; *bias NULL: none. */
static enum pe_status bias_of(const struct pe_query_block *block, size_t row,
                              const struct key_tile *tile, const char **bias, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t head = block->head % attention->heads;
    const int64_t position = pe_block_position(block, row);
    const size_t end = pe_min(tile->end, block->key_end);
    const struct pe_bias_part part = {.scheme = scheme,
                                      .head = head,
                                      .query = (double)position,
                                      .key_begin = tile->begin,
                                      .key_count = end - tile->begin,
                                      .dtype = attention->type,
                                      .common = attention->common};

    *bias = NULL;
    if (!scheme || !pe_bias_is_known(scheme->encoding) || block->key_begin == block->key_end)
        return PE_OK;
    *bias =
        attention->biases ? pe_distance_biases(attention, head, position) : block->scratch->bias;
    if (attention->biases)
        return PE_OK;
    if (scheme->encoding->bias->row(&part, block->scratch->bias + tile->begin * attention->size,
                                    block->work, err))
        return err->status;
    pe_row_fill(attention, block->scratch->bias, end, tile->end, 0);
    return PE_OK;
}

/* Scales and caps: one factor does both where it is a normal float. */
static void cap(const struct pe_query_block *block, char *logits, size_t count)
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

/* Scales and caps logits, adds biases and masks, hides keys that are not visible. */
static void tile_finish(const struct pe_query_block *block, size_t row, const char *bias,
                        const struct key_tile *tile, double *max)
{
    const struct pe_attention *attention = block->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_attention_kernels *kernels = &attention->kernels;
    const struct pe_key_range visible = visible_keys(block, row);
    const size_t visible_begin = visible.begin > tile->begin ? visible.begin : tile->begin;
    const size_t visible_end = visible.end > tile->begin ? visible.end : tile->begin;
    const size_t begin = tile->begin * attention->size, count = tile->end - tile->begin;
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
        pe_block_mask_add(block, row, visible_begin, pe_min(visible.end, tile->end));
        scale = 1;
        bias = NULL;
    }
    pe_row_fill(attention, logits, tile->begin, pe_min(visible.begin, tile->end), -INFINITY);
    pe_row_fill(attention, logits, visible_end, tile->end, -INFINITY);
    kernels->logits(logits + begin, bias ? bias + begin : NULL, count, scale, max);
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* f32 weights and their sum carry a factor of 2^32, divided out at the end: without it products
 * with the smallest are subnormal, which some processors compute a hundred times slower. With large
 * values the factor is 1, since products could overflow. */
static double weight_factor(const struct pe_attention *attention)
{
    return attention->type == PE_F64 || attention->v.large || attention->rel_v.large ? 1 : 0x1p32;
}

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

/* The weight of the head's sink; raises *max to its logit. */
static double sink_weight(const struct pe_query_block *block, double *max)
{
    const struct pe_attention *attention = block->attention;
    double numbers[PE_ATTENTION_PARTIALS], sums[PE_ATTENTION_PARTIALS] = {0};
    char *row = (char *)numbers;

    if (!attention->sinks)
        return 0;
    const double sink = attention->sinks[block->head % attention->heads];
    *max = sink > *max ? sink : *max;
    pe_row_fill(attention, row, 0, PE_ATTENTION_PARTIALS, -INFINITY);
    pe_row_fill(attention, row, 0, 1, sink);
    attention->kernels.softmax(row, PE_ATTENTION_PARTIALS, *max, weight_factor(attention), sums, 0);
    return partials_sum(attention, sums);
}

static void softmax_begin(const struct pe_query_block *block)
{
    for (size_t row = 0; row < block->count; row++)
        block->scratch->rows[row] = (struct pe_softmax_row){.max = -INFINITY};
}

/* Does the tile hold all keys of the block? Then softmax follows at once, from the L1 cache. */
static bool is_only_tile(const struct pe_query_block *block, const struct key_tile *tile)
{
    return block->attention->spec.output != PE_ATTENTION_SCORES &&
           tile->begin == block->key_begin && tile->end == padded_end(block);
}

static void row_softmax(const struct pe_query_block *block, size_t at, const struct key_tile *tile)
{
    const struct pe_attention *attention = block->attention;
    struct pe_softmax_row *row = &block->scratch->rows[at];

    if (tile->begin == block->key_begin)
        row->sink = sink_weight(block, &row->max);
    attention->kernels.softmax(pe_block_logits(block, at) + tile->begin * attention->size,
                               tile->end - tile->begin, row->max, weight_factor(attention),
                               row->partials, attention->logits_stride);
    if (tile->end < padded_end(block) && tile->end % SUM_PIECE > 0)
        return;
    row->sum += partials_sum(attention, row->partials);
    memset(row->partials, 0, sizeof(row->partials));
}

/* Turns products of q and k into logits, and finds the largest of each row. */
static enum pe_status logits_finish(const struct pe_query_block *block, const struct key_tile *tile,
                                    struct pe_error *err)
{
    struct pe_pace pace = {block->work, 0};
    const char *bias;
    double largest;

    for (size_t row = 0; row < block->count; row++) {
        double *max = &block->scratch->rows[row].max;
        if (pe_pace(&pace, tile->end - tile->begin, err) || bias_of(block, row, tile, &bias, err))
            return err->status;
        tile_finish(block, row, bias, tile, &largest);
        *max = largest > *max ? largest : *max;
        if (is_only_tile(block, tile))
            row_softmax(block, row, tile);
    }
    return PE_OK;
}

/* Turns logits into weights, which are still to be divided by softmax_divisor. */
static enum pe_status tile_softmax(const struct pe_query_block *block, const struct key_tile *tile,
                                   struct pe_error *err)
{
    struct pe_pace pace = {block->work, 0};

    for (size_t row = 0; row < block->count && !is_only_tile(block, tile); row++) {
        if (pe_pace(&pace, tile->end - tile->begin, err))
            return err->status;
        row_softmax(block, row, tile);
    }
    return PE_OK;
}

/* A row without visible keys has the sum 0, and its weights stay 0. */
static double softmax_divisor(const struct pe_query_block *block, size_t row)
{
    const double sum = block->scratch->rows[row].sum + block->scratch->rows[row].sink;

    return sum == 0 ? 1 : sum;
}

/* ---- the block ------------------------------------------------------------------------------- */

static void row_write(const struct pe_attention *attention, char *out, size_t row, const char *from)
{
    const enum pe_dtype dtype = attention->result.dtype;
    const size_t count = attention->result.row_elements;
    char *to = out + row * count * pe_dtype_info(dtype)->size;

    pe_convert(to, dtype, from, attention->type, count);
}

static enum pe_status keys_multiply(const struct pe_query_block *block, const struct key_tile *tile,
                                    struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const size_t panel = tile->begin / attention->width;

    return pe_block_multiply(block, block->q, &attention->k, kv_head(attention, block->head), panel,
                             tile->end / attention->width,
                             block->scratch->logits + panel * PE_PANEL_SIZE,
                             attention->logits_stride, attention->relative, err);
}

/* Logits of all rows, and the largest of each. Disentangled terms are added to all products before
 * any is scaled. */
static enum pe_status logits_compute(const struct pe_query_block *block, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool at_once = !attention->distance_rows;

    softmax_begin(block);
    if (attention->relative && block->key_begin < block->key_end &&
        pe_block_relative_logits(block, err))
        return err->status;
    for (struct key_tile tile = {0, 0}; tile_next(block, &tile);)
        if (pe_work_check(block->work, err) || keys_multiply(block, &tile, err) ||
            (at_once && logits_finish(block, &tile, err)))
            return err->status;
    if (at_once || pe_block_disentangled_add(block, kv_head(attention, block->head), err))
        return err->status;
    for (struct key_tile tile = {0, 0}; tile_next(block, &tile);)
        if (pe_work_check(block->work, err) || logits_finish(block, &tile, err))
            return err->status;
    return PE_OK;
}

/* output += weights of keys [begin, end) times their values. */
static enum pe_status values_multiply(const struct pe_query_block *block, size_t row, size_t rows,
                                      size_t begin, size_t end, struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;

    return begin >= end
               ? PE_OK
               : pe_block_output_add(block, row, rows,
                                     pe_block_logits(block, row) + begin * attention->size,
                                     attention->logits_stride, &attention->v,
                                     kv_head(attention, block->head), begin, end - begin, err);
}

static enum pe_status values_add(const struct pe_query_block *block, size_t row, size_t rows,
                                 size_t begin, size_t end, struct pe_error *err)
{
    if (begin >= end || values_multiply(block, row, rows, begin, end, err))
        return err->status;
    return block->attention->rel_v.first
               ? pe_block_relative_values(block, row, rows, begin, end, err)
               : PE_OK;
}

static bool has_weight(const struct pe_query_block *block, size_t row, size_t key)
{
    const char *weights = pe_block_logits(block, row);

    return block->attention->type == PE_F64 ? ((const double *)weights)[key] != 0
                                            : ((const float *)weights)[key] != 0;
}

/* The values of keys with a weight, in runs: a mask may hide any of the visible keys. */
static enum pe_status row_values_add(const struct pe_query_block *block, size_t row,
                                     struct pe_pace *pace, struct pe_error *err)
{
    enum { RUN = 32 }; /* the cost of a run, in elements */
    const struct pe_attention_spec *spec = &block->attention->spec;
    const struct pe_key_range visible = visible_keys(block, row);

    if (spec->mask.rank == 0 && spec->bias.rank == 0)
        return values_add(block, row, 1, visible.begin, visible.end, err);
    for (size_t begin = visible.begin, end; begin < visible.end && !err->status; begin = end + 1) {
        for (end = begin; end < visible.end && has_weight(block, row, end);)
            end++;
        if (!pe_pace(pace, RUN + end - begin, err))
            values_add(block, row, 1, begin, end, err);
    }
    return err->status;
}

/* All rows are multiplied together, hidden values with a weight of 0. That is wrong for values of
 * NaN or infinity: then each row is multiplied alone, with its visible values only. */
static enum pe_status output_compute(const struct pe_query_block *block, char *out,
                                     struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool together = !attention->v.nonfinite && !attention->rel_v.nonfinite;
    struct pe_pace pace = {block->work, 0};

    for (size_t row = 0; row < block->count; row++)
        pe_row_fill(attention, output_row(block, row), 0, attention->output_stride, 0);
    for (struct key_tile tile = {0, 0}; tile_next(block, &tile);)
        if (pe_work_check(block->work, err) || tile_softmax(block, &tile, err) ||
            (together && values_multiply(block, 0, block->count, tile.begin,
                                         pe_min(tile.end, block->key_end), err)))
            return err->status;
    if (together && attention->rel_v.first && block->key_begin < block->key_end)
        pe_block_relative_values(block, 0, block->count, block->key_begin, block->key_end, err);
    for (size_t row = 0; !together && row < block->count && !err->status; row++)
        row_values_add(block, row, &pace, err);
    if (err->status)
        return err->status;
    for (size_t row = 0; row < block->count; row++) {
        attention->kernels.divide(output_row(block, row), attention->output_stride,
                                  softmax_divisor(block, row));
        row_write(attention, out, row, output_row(block, row));
    }
    return PE_OK;
}

static enum pe_status weights_compute(const struct pe_query_block *block, struct pe_error *err)
{
    for (struct key_tile tile = {0, 0}; tile_next(block, &tile);)
        if (pe_work_check(block->work, err) || tile_softmax(block, &tile, err))
            return err->status;
    return PE_OK;
}

/* Scores or weights of one row. Hidden keys get their fixed values even if the sum is NaN, so that
 * a row does not depend on the others of its block. */
static enum pe_status row_output(const struct pe_query_block *block, size_t row, char *out,
                                 struct pe_error *err)
{
    const struct pe_attention *attention = block->attention;
    const bool weights = attention->spec.output == PE_ATTENTION_WEIGHTS;
    const double hidden = weights ? 0 : -INFINITY, divisor = softmax_divisor(block, row);
    const struct pe_key_range visible = visible_keys(block, row);
    char *logits = pe_block_logits(block, row);
    struct pe_pace pace = {block->work, 0};

    for (struct key_tile tile = {0, 0}; weights && tile_next(block, &tile);) {
        const size_t count = tile.end - tile.begin;
        if (pe_pace(&pace, count, err))
            return err->status;
        attention->kernels.divide(logits + tile.begin * attention->size, count, divisor);
    }
    pe_row_fill(attention, logits, 0, pe_min(visible.begin, attention->keys), hidden);
    pe_row_fill(attention, logits, visible.end, attention->keys, hidden);
    row_write(attention, out, row, logits);
    return PE_OK;
}

enum pe_status pe_query_block_fill(const struct pe_attention *attention,
                                   const struct pe_attention_scratch *scratch, size_t head,
                                   size_t first, size_t count, char *out, struct pe_work *work,
                                   struct pe_error *err)
{
    const struct pe_attention_sequence *sequence = pe_sequence_of_query(attention, first);
    const size_t begin = pe_visible_keys(attention, sequence, first).begin;
    const size_t end = pe_visible_keys(attention, sequence, first + count - 1).end;
    const size_t key_begin = (begin < end ? begin : end) / attention->width * attention->width;
    struct pe_query_block block = {.attention = attention,
                                   .scratch = scratch,
                                   .sequence = sequence,
                                   .head = head,
                                   .first = first,
                                   .count = count,
                                   .key_begin = key_begin,
                                   .key_end = end > key_begin ? end : key_begin,
                                   .work = work};

    if (queries_read(&block, err) || logits_compute(&block, err))
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
