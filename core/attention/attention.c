/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"
#include "core/base/errors.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/isa.h"
#include "core/base/sizes.h"
#include "core/base/work.h"

enum {
    ROWS_MIN = PE_ATTENTION_ROWS_MIN,
    ROWS_MAX = PE_ATTENTION_ROWS_MAX,
    BLOCK_SIZE = 16 << 20, /* bytes of a block's rows, which share a pass over keys and values */
    BLOCK_SIZE_MAX = 64 << 20, /* where fewer than ROWS_MIN rows fit */
    L2_SIZE = 1 << 20,         /* bytes of a core's cache, about */
    PAGE = 4096,
};

/* ---- parameters ------------------------------------------------------------------------------ */

enum pe_status pe_attention_infer(const struct pe_encoding *encoding, struct pe_params *params,
                                  const struct pe_attention_spec *given, struct pe_error *err)
{
    struct pe_attention_spec spec;

    if (pe_struct_read(&spec, sizeof(spec), given, err))
        return err->status;
    if (spec.q.rank != 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "q must have 4 dimensions [batch, heads, length, head_dim], it has %u",
                       spec.q.rank);
    if (encoding->rotary)
        return encoding->rotary->infer(params, &spec, err);
    if (pe_bias_is_known(encoding))
        return encoding->bias->infer(params, &spec, err);
    return encoding->relative ? encoding->relative->infer(params, &spec, err) : PE_OK;
}

/* Which norm is not applied; 0: it is, or there is none. */
static unsigned norm_apply(const struct pe_qk_norm *norm, struct pe_attention_spec *spec)
{
    if (norm->kind == PE_QK_NORM_NONE)
        return 0;
    if (norm->kind != PE_QK_NORM_RMS || norm->whole)
        return PE_TRAITS_NORM;
    if (norm->weight != PE_QK_WEIGHT_NONE && spec->q_norm.rank == 0 && spec->k_norm.rank == 0)
        return PE_TRAITS_NORM_WEIGHTS;
    spec->norm = norm->after ? PE_NORM_AFTER : PE_NORM_BEFORE;
    spec->norm_epsilon = norm->eps;
    spec->norm_offset = norm->weight == PE_QK_WEIGHT_FROM_1 ? 1 : 0;
    return 0;
}

enum pe_status pe_attention_traits_apply(const struct pe_attention_traits *given,
                                         struct pe_attention_spec *out, unsigned *skipped,
                                         struct pe_error *err)
{
    struct pe_attention_traits traits;
    struct pe_attention_spec spec;
    const size_t size = out->size;

    *skipped = 0;
    if (pe_struct_read(&traits, sizeof(traits), given, err) ||
        pe_struct_read(&spec, sizeof(spec), out, err))
        return err->status;
    if (!isnan(traits.scale) || traits.scale_multiplier != 1)
        spec.scale = (isnan(traits.scale) ? 1 / sqrt((double)spec.q.shape[3]) : traits.scale) *
                     traits.scale_multiplier;
    if (traits.window > 0) { /* of a causal model it ends at the query, else it has both sides */
        spec.has_window = true;
        spec.window_left = traits.causal ? traits.window - 1 : traits.window;
        spec.window_right = traits.causal ? -1 : traits.window;
    }
    if (traits.chunk > 0)
        spec.chunk = (uint64_t)traits.chunk;
    if (traits.temperature.strength != 0)
        spec.temperature = traits.temperature;
    if (traits.softcap > 0)
        spec.softcap = traits.softcap;
    if (traits.scales_bias)
        spec.bias_before_scale = spec.scheme && pe_bias_is_known(spec.scheme->encoding);
    *skipped = norm_apply(&traits.qk_norm, &spec) |
               (traits.scale_over_layer ? PE_TRAITS_LAYER_SCALE : 0) |
               (traits.sinks && spec.sinks.rank == 0 ? PE_TRAITS_SINKS : 0);
    spec.size = size;
    memcpy(out, &spec, size < sizeof(spec) ? size : sizeof(spec));
    return PE_OK;
}

static enum pe_status numbers_resolve(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const double queries = (double)attention->queries, keys = (double)attention->keys;
    const double start = isnan(spec->query_start) ? keys - queries : spec->query_start;
    const double last = 0x1p53 - 1;
    const double terms = 1 + (spec->pos_key.rank > 0) + (spec->pos_query.rank > 0);

    attention->scale =
        isnan(spec->scale) ? 1 / sqrt((double)attention->head_dim * terms) : spec->scale;
    if (!(attention->scale >= 1e-30 && attention->scale <= 1e30))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:scale",
                       "scale must be between 1e-30 and 1e30, got %g", spec->scale);
    if (start != floor(start))
        return pe_fail(err, PE_INVALID, "parameter:query_start",
                       "query_start must be a whole number, got %g", start);
    if (!(fabs(start) <= last && start + queries <= last && keys <= last))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:query_start",
                       "positions must lie within +-(2^53 - 1), queries stand at %.17g and the %zu "
                       "after it",
                       start, attention->queries);
    attention->query_start = (int64_t)start;
    return PE_OK;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static enum pe_status result_resolve(const struct pe_attention_spec *spec, struct pe_output *result,
                                     struct pe_error *err)
{
    static const char *const names[] = {"scores", "weights", "output"};
    size_t count;

    *result = (struct pe_output){0};

    result->name = names[spec->output];
    result->dtype = spec->q.dtype;
    result->rank = 4;
    memcpy(result->shape, spec->q.shape, 3 * sizeof(result->shape[0]));
    result->shape[3] = spec->output == PE_ATTENTION_OUTPUT ? spec->v.shape[3] : spec->k.shape[2];
    result->row_elements = result->shape[3];
    if (!pe_shape_elements(result->shape, 4, &count))
        return pe_fail(err, PE_TOO_LARGE, "tensor:k",
                       "%s of shape [%zu, %zu, %zu, %zu] does not fit in 63 bits", result->name,
                       result->shape[0], result->shape[1], result->shape[2], result->shape[3]);
    /* fits: q has as many elements or more */
    result->rows = result->shape[0] * result->shape[1] * result->shape[2];
    pe_attention_cost_set(spec, result);
    return PE_OK;
}

/* Sets the queries of a block and the bytes they need. No product overflows: each is bounded by
 * tensors in memory or by BLOCK_SIZE_MAX, except the width of a row, which is checked. */
static enum pe_status blocks_resolve(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const size_t buckets = (size_t)(attention->most - attention->least) + 1;
    size_t row, rows;

    if (attention->keys > (SIZE_MAX >> 8) / attention->size)
        return pe_fail(err, PE_TOO_LARGE, "tensor:k", "%zu keys are too many", attention->keys);
    attention->logits_stride = pe_panel_align(attention, attention->keys);
    /* Rows whole pages apart would compete for the same sets of the L1 cache. */
    if (attention->logits_stride * attention->size % PAGE == 0)
        attention->logits_stride += attention->width;
    /* A block touches at most keys + queries buckets, beginning inside a panel. */
    if (attention->relative || pe_is_disentangled(spec))
        attention->relative_stride = (buckets < attention->keys + ROWS_MAX
                                          ? pe_panel_align(attention, buckets)
                                          : pe_panel_align(attention, attention->keys + ROWS_MAX)) +
                                     attention->width;
    if (spec->output == PE_ATTENTION_OUTPUT)
        attention->output_stride = pe_panel_align(attention, spec->v.shape[3]);

    attention->copies_queries = pe_attention_copies_queries(spec);
    attention->streams =
        attention->keys >
        L2_SIZE / ((attention->head_dim + attention->output_stride + 1) * attention->size);
    row = (attention->logits_stride + attention->relative_stride + attention->output_stride +
           (attention->copies_queries ? 2 * attention->head_dim : 0)) *
          attention->size;
    for (rows = ROWS_MAX; rows > ROWS_MIN && row > BLOCK_SIZE / rows;)
        rows /= 2;
    if (row && rows > BLOCK_SIZE_MAX / row)
        rows = BLOCK_SIZE_MAX / row > 0 ? BLOCK_SIZE_MAX / row : 1;
    attention->rows_max = rows < attention->queries ? rows : attention->queries;
    const size_t tile_row = spec->pos_query.rank > 0 ? PE_PANEL_SIZE : 0;
    attention->scratch_row_size = row + sizeof(struct pe_softmax_row) + tile_row;
    attention->scratch_size =
        PE_PANEL_SIZE + attention->logits_stride * attention->size + attention->width * tile_row;
    return PE_OK;
}

enum pe_status pe_attention_shape(const struct pe_attention_spec *given, struct pe_output *output,
                                  size_t output_size, struct pe_error *err)
{
    struct pe_attention_spec spec;
    struct pe_output result = {0};

    if (pe_struct_read(&spec, sizeof(spec), given, err) || pe_attention_shapes_check(&spec, err) ||
        result_resolve(&spec, &result, err))
        return err->status;
    memset(output, 0, output_size);
    memcpy(output, &result, output_size < sizeof(result) ? output_size : sizeof(result));
    return PE_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Aligned for kernels, charged to the work; NULL: neither has room. */
static void *aligned_take(struct pe_work *work, size_t size)
{
    void *memory;

    if (!pe_work_reserve(work, size))
        return NULL;
    if (posix_memalign(&memory, PE_PANEL_SIZE, size > 0 ? size : PE_PANEL_SIZE) == 0)
        return memory;
    pe_work_release(work, size);
    return NULL;
}

void *pe_attention_alloc(struct pe_attention *attention, size_t size, const char *where,
                         struct pe_error *err)
{
    void *memory = aligned_take(attention->work, size);

    if (memory)
        attention->charged += size;
    else
        pe_fail(err, PE_OUT_OF_MEMORY, where, "no memory for a copy of %zu bytes", size);
    return memory;
}

struct pe_scratch_list {
    pthread_mutex_t lock;
    struct pe_attention_scratch *first; /* free ones */
    struct pe_work *work;               /* charged for them */
    size_t size;                        /* bytes of one */
};

static struct pe_attention_scratch *scratch_new(const struct pe_attention *attention,
                                                struct pe_error *err)
{
    const struct pe_scratch_list *scratches = attention->scratches;
    const size_t rows = attention->rows_max * attention->size;
    struct pe_attention_scratch *scratch = aligned_take(scratches->work, scratches->size);

    _Static_assert(sizeof(*scratch) <= PE_PANEL_SIZE, "the struct is in front of its buffers");
    if (!scratch) {
        pe_no_memory(err, "a block of attention");
        return NULL;
    }
    scratch->next = NULL;
    scratch->logits = (char *)scratch + PE_PANEL_SIZE;
    scratch->relative = scratch->logits + rows * attention->logits_stride;
    scratch->output = scratch->relative + rows * attention->relative_stride;
    scratch->q = scratch->output + rows * attention->output_stride;
    scratch->rows =
        (void *)(scratch->q + (attention->copies_queries ? 2 * rows * attention->head_dim : 0));
    scratch->p2c = (char *)(scratch->rows + attention->rows_max);
    scratch->bias = scratch->p2c + pe_p2c_rows(attention) * PE_PANEL_SIZE;
    return scratch;
}

static void scratch_list_clear(struct pe_scratch_list *scratches)
{
    for (struct pe_attention_scratch *next; scratches->first; scratches->first = next) {
        next = scratches->first->next;
        free(scratches->first);
        pe_work_release(scratches->work, scratches->size);
    }
}

static void scratch_return(const struct pe_attention *attention,
                           struct pe_attention_scratch *scratch)
{
    struct pe_scratch_list *scratches = attention->scratches;

    pthread_mutex_lock(&scratches->lock);
    scratch->next = scratches->first;
    scratches->first = scratch;
    pthread_mutex_unlock(&scratches->lock);
}

/* Allocates a scratch for each thread, or none. */
static enum pe_status scratch_list_fill(struct pe_attention *attention, size_t threads,
                                        struct pe_error *err)
{
    const size_t blocks_head =
        attention->rows_max ? (attention->queries - 1) / attention->rows_max + 1 : 0;
    const size_t blocks = blocks_head * pe_attention_batch_heads(attention);

    attention->scratches->size =
        attention->scratch_size + attention->rows_max * attention->scratch_row_size;
    for (size_t i = 0; i < threads && i < blocks; i++) {
        struct pe_attention_scratch *scratch = scratch_new(attention, err);
        if (!scratch) {
            scratch_list_clear(attention->scratches);
            return err->status;
        }
        scratch_return(attention, scratch);
    }
    return PE_OK;
}

/* Scratches are allocated here, so that filling does not run out of memory; they have fewer rows if
 * memory is scarce. */
static enum pe_status scratch_list_new(struct pe_attention *attention, size_t threads,
                                       struct pe_error *err)
{
    struct pe_scratch_list *scratches = attention->scratches = calloc(1, sizeof(*scratches));

    if (!scratches)
        return pe_no_memory(err, "an attention");
    scratches->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    scratches->work = attention->work;
    while (scratch_list_fill(attention, threads, err) &&
           attention->rows_max / 2 >= PE_ATTENTION_ROWS_MIN) {
        attention->rows_max /= 2;
        *err = (struct pe_error){0};
    }
    return err->status;
}

static void scratch_list_free(struct pe_scratch_list *scratches)
{
    if (!scratches)
        return;
    scratch_list_clear(scratches);
    pthread_mutex_destroy(&scratches->lock);
    free(scratches);
}

static struct pe_attention_scratch *scratch_take(const struct pe_attention *attention,
                                                 struct pe_error *err)
{
    struct pe_scratch_list *scratches = attention->scratches;

    pthread_mutex_lock(&scratches->lock);
    struct pe_attention_scratch *scratch = scratches->first;
    if (scratch)
        scratches->first = scratch->next;
    pthread_mutex_unlock(&scratches->lock);
    return scratch ? scratch : scratch_new(attention, err);
}

/* ---- new and free ---------------------------------------------------------------------------- */

static struct pe_attention_kernels kernels_choose(enum pe_dtype type)
{
    const struct pe_kernels *all = pe_isa()->kernels;

    if (type == PE_F64)
        return (struct pe_attention_kernels){
            all->gemm_f64,   all->transpose_f64, all->find_nonfinite_f64,
            all->logits_f64, all->softmax_f64,   all->softcap_f64,
            all->sum_f64,    all->divide_f64};
    return (struct pe_attention_kernels){
        all->gemm_f32,   all->transpose_f32, all->find_nonfinite_f32,
        all->logits_f32, all->softmax_f32,   all->softcap_f32,
        all->sum_f32,    all->divide_f32};
}

static void spec_read(struct pe_attention *attention)
{
    const struct pe_attention_spec *spec = &attention->spec;

    attention->type = spec->q.dtype == PE_F64 ? PE_F64 : PE_F32;
    attention->size = pe_dtype_info(attention->type)->size;
    attention->width = PE_PANEL_SIZE / attention->size;
    attention->kernels = kernels_choose(attention->type);
    attention->heads = spec->q.shape[1];
    attention->kv_heads = spec->k.shape[1];
    attention->queries = spec->q.shape[2];
    attention->keys = spec->k.shape[2];
    attention->head_dim = spec->q.shape[3];
}

enum pe_status pe_attention_new(struct pe_attention **out, const struct pe_attention_spec *given,
                                struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    struct pe_attention_spec ours, *spec = &ours;

    *out = NULL;
    if (pe_struct_read(spec, sizeof(*spec), given, err) || pe_attention_check(spec, err))
        return err->status;

    struct pe_attention *attention = calloc(1, sizeof(*attention));
    if (!attention)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for an attention");
    attention->spec = *spec;
    attention->work = work;
    spec_read(attention);
    if (numbers_resolve(attention, err) || pe_sequences_read(attention, err) ||
        pe_relative_range_set(attention, err) ||
        result_resolve(&attention->spec, &attention->result, err) ||
        blocks_resolve(attention, err) || pe_spend(work, attention->result.once_work, err) ||
        pe_attention_pack(attention, pool, err) ||
        scratch_list_new(attention, 1 + (pool ? pe_pool_workers(pool) : 0), err)) {
        pe_attention_free(attention);
        return err->status;
    }
    *out = attention;
    return PE_OK;
}

void pe_attention_free(struct pe_attention *attention)
{
    if (!attention)
        return;
    scratch_list_free(attention->scratches);
    pe_bias_common_free(attention->common);
    if (attention->sequences != &attention->single)
        free(attention->sequences);
    free(attention->sinks);
    free(attention->distance_rows);
    free(attention->pos_query);
    free(attention->biases);
    free(attention->rel_v.data);
    free(attention->rel_k.data);
    free(attention->v.data);
    free(attention->k.data);
    pe_qk_transform_free(attention->qk_transform);
    pe_work_release(attention->work, attention->charged);
    free(attention);
}

const struct pe_output *pe_attention_output(const struct pe_attention *attention)
{
    return &attention->result;
}

/* ---- filling -------------------------------------------------------------------------------- */

enum pe_status pe_attention_fill(const struct pe_attention *attention, size_t row_begin,
                                 size_t row_end, void *out, struct pe_work *work,
                                 struct pe_error *err)
{
    const size_t row_size =
        attention->result.row_elements * pe_dtype_info(attention->result.dtype)->size;
    struct pe_attention_scratch *scratch;

    if (row_begin > row_end || row_end > attention->result.rows)
        return pe_fail(err, PE_OUT_OF_RANGE, "", "attention has no rows %zu to %zu", row_begin,
                       row_end);
    if (row_begin == row_end || row_size == 0)
        return PE_OK;
    if (pe_spend(work, pe_output_work(&attention->result, row_end - row_begin), err))
        return err->status;
    scratch = scratch_take(attention, err);
    if (!scratch)
        return err->status;
    for (size_t row = row_begin, count; row < row_end && !pe_work_check(work, err); row += count) {
        const size_t head = row / attention->queries, first = row % attention->queries;
        const struct pe_attention_sequence *sequence = pe_sequence_of_query(attention, first);
        count = pe_min(pe_min(sequence->end - first, row_end - row), attention->rows_max);
        if (pe_query_block_fill(attention, scratch, head, first, count,
                                (char *)out + (row - row_begin) * row_size, work, err))
            break;
    }
    scratch_return(attention, scratch);
    return err->status;
}
