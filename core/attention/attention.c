/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"
#include "core/base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/least.h"
#include "core/base/spend.h"
#include "core/isa/isa.h"

enum {
    ROWS_MIN = 24, /* two register tiles: fewer and the keys are read for too little work */
    ROWS_MAX = PE_ATTENTION_ROWS_MAX,
    BLOCK_SIZE = 2 << 20, /* of the part of a block that should stay in the L2 cache */
    BLOCK_SIZE_MAX = 64 << 20,
};

/* ---- checks --------------------------------------------------------------------------------- */

static bool is_absent(const struct pe_tensor *tensor)
{
    return tensor->rank == 0;
}

static enum pe_status matrix_check(const struct pe_tensor *tensor, const struct pe_tensor *q,
                                   const char *name, struct pe_error *err)
{
    char where[16] = "tensor:";
    size_t count;

    strcat(where, name);
    if (is_absent(tensor))
        return pe_fail(err, PE_MISSING, where, "attention needs the tensor %s%s", name,
                       strcmp(name, "v") == 0 ? "; its scores and weights do not" : "");
    if (tensor->rank != 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must have 4 dimensions [batch, heads, length, head_dim], it has %u",
                       name, tensor->rank);
    if (!pe_dtype_is_float(tensor->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%s is %s; f64, f32, f16 and bf16 can be used",
                       name, pe_dtype_name(tensor->dtype));
    if (tensor->dtype != q->dtype)
        return pe_fail(err, PE_INVALID, where, "%s is %s, q is %s; all tensors need one dtype",
                       name, pe_dtype_name(tensor->dtype), pe_dtype_name(q->dtype));
    if (!pe_shape_elements(tensor->shape, 4, &count))
        return pe_fail(err, PE_TOO_LARGE, where, "the size of %s does not fit in 63 bits", name);
    return PE_OK;
}

static enum pe_status axis_check(const struct pe_tensor *tensor, const char *name, unsigned axis,
                                 const char *axis_name, size_t expected, const char *like,
                                 struct pe_error *err)
{
    char where[16] = "tensor:";

    strcat(where, name);
    if (tensor->shape[axis] == expected)
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s of %s is %zu, expected %zu as in %s",
                   axis_name, name, tensor->shape[axis], expected, like);
}

static enum pe_status heads_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const size_t heads = spec->q.shape[1], kv_heads = spec->k.shape[1];

    if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:k",
                       "q has %zu heads, which is not a multiple of the %zu heads of k", heads,
                       kv_heads);
    const size_t made = spec->scheme ? pe_bias_heads(spec->scheme) : 0;
    if (made && made != heads)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q", "q has %zu heads, %s was made for %zu",
                       heads, spec->scheme->encoding->info.name, made);
    return PE_OK;
}

static enum pe_status shapes_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_tensor *q = &spec->q, *k = &spec->k, *v = &spec->v;

    if ((unsigned)spec->output > PE_ATTENTION_OUTPUT)
        return pe_fail(err, PE_INVALID, "parameter:output",
                       "the output is scores, weights or output");
    if ((unsigned)spec->layout > PE_LAYOUT_INTERLEAVED)
        return pe_fail(err, PE_INVALID, "parameter:layout", "a layout is half or interleaved");
    if (matrix_check(q, q, "q", err) || matrix_check(k, q, "k", err) ||
        axis_check(k, "k", 0, "the batch", q->shape[0], "q", err) ||
        axis_check(k, "k", 3, "head_dim", q->shape[3], "q", err) || heads_check(spec, err))
        return err->status;
    if (q->shape[3] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q", "head_dim of q must be at least 1");
    if (spec->output != PE_ATTENTION_OUTPUT)
        return PE_OK;
    if (matrix_check(v, q, "v", err) || axis_check(v, "v", 0, "the batch", k->shape[0], "k", err) ||
        axis_check(v, "v", 1, "the number of heads", k->shape[1], "k", err) ||
        axis_check(v, "v", 2, "the length", k->shape[2], "k", err))
        return err->status;
    return PE_OK;
}

/* Does attention take the encoding at all, and is the scheme made for these shapes? */
static enum pe_status scheme_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_scheme *scheme = spec->scheme;

    if (!scheme)
        return PE_OK;
    const struct pe_encoding *encoding = scheme->encoding;
    if (pe_weights_lack(scheme))
        return pe_fail(err, PE_MISSING, "tensor:weights", "%s needs the tensor weights [%zu, %zu]",
                       encoding->info.name, encoding->bias->buckets_count(scheme),
                       spec->q.shape[1]);
    if (encoding->rotary && !pe_attention_takes(encoding))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "%s turns by coordinates, and attention is not told any; rotate q and k "
                       "first and use the encoding none here",
                       encoding->info.name);
    if (!pe_attention_takes(encoding))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding", "%s is a table%s",
                       encoding->info.name,
                       encoding->bias ? " of buckets, and no more is known here"
                                      : ": add it to the embeddings before q and k are made, and "
                                        "use the encoding none here");
    if (encoding->rotary && pe_rotary_of(scheme)->head_dim != spec->q.shape[3])
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "head_dim of q is %zu, %s was made for dim %zu", spec->q.shape[3],
                       encoding->info.name, pe_rotary_of(scheme)->head_dim);
    return PE_OK;
}

/* Judges shapes, the scheme's included: for pe_attention_shape, before any work, and for
 * pe_attention_new once more, because a program need not have asked. */
static enum pe_status shape_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    return shapes_check(spec, err) ? err->status : scheme_check(spec, err);
}

static enum pe_status tensors_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    static const char *const where[] = {"tensor:q", "tensor:k", "tensor:v"};
    const struct pe_tensor *tensors[] = {&spec->q, &spec->k, &spec->v};
    size_t count;

    if (shape_check(spec, err))
        return err->status;
    if (spec->scheme && !spec->scheme->prepared)
        return pe_fail(err, PE_INVALID, "parameter:encoding",
                       "the scheme must be prepared before attention uses it");
    for (size_t i = 0; i < (spec->output == PE_ATTENTION_OUTPUT ? 3 : 2); i++)
        if (!tensors[i]->data && pe_shape_elements(tensors[i]->shape, 4, &count) && count > 0)
            return pe_fail(err, PE_INVALID, where[i], "%s has no data", where[i] + 7);
    return PE_OK;
}

static enum pe_status numbers_resolve(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const double queries = (double)attention->queries, keys = (double)attention->keys;
    const double start = isnan(spec->query_start) ? keys - queries : spec->query_start;
    const double last = 0x1p53 - 1;

    attention->scale = isnan(spec->scale) ? 1 / sqrt((double)attention->head_dim) : spec->scale;
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
    pe_attention_work_tell(spec, result);
    return PE_OK;
}

/* How many queries make a block, and the memory they need. Every product is bounded by tensors that
 * the caller holds or by BLOCK_SIZE_MAX, but for the width of one row, which is checked. */
static enum pe_status blocks_resolve(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const size_t buckets = (size_t)(attention->most - attention->least) + 1;
    size_t row, rows;

    if (attention->keys > (SIZE_MAX >> 8) / attention->size)
        return pe_fail(err, PE_TOO_LARGE, "tensor:k", "%zu keys are too many", attention->keys);
    attention->logits_stride = pe_attention_whole(attention, attention->keys);
    /* The buckets that one block touches start inside a panel and are at most one more than its
     * keys for every further query. */
    if (attention->relative)
        attention->relative_stride =
            (buckets < attention->keys + ROWS_MAX
                 ? pe_attention_whole(attention, buckets)
                 : pe_attention_whole(attention, attention->keys + ROWS_MAX)) +
            attention->width;
    if (spec->output == PE_ATTENTION_OUTPUT)
        attention->output_stride = pe_attention_whole(attention, spec->v.shape[3]);

    row = (attention->logits_stride + attention->relative_stride + attention->output_stride) *
          attention->size;
    rows = row ? BLOCK_SIZE / row : ROWS_MAX;
    rows = rows < ROWS_MIN ? ROWS_MIN : rows < ROWS_MAX ? rows : ROWS_MAX;
    if (row && rows > BLOCK_SIZE_MAX / row)
        rows = BLOCK_SIZE_MAX / row > 0 ? BLOCK_SIZE_MAX / row : 1;
    attention->rows_max = rows < attention->queries ? rows : attention->queries;
    attention->scratch_size =
        PE_PANEL_SIZE + attention->rows_max * row + attention->logits_stride * attention->size;
    return PE_OK;
}

enum pe_status pe_attention_shape(const struct pe_attention_spec *given, struct pe_output *output,
                                  size_t output_size, struct pe_error *err)
{
    struct pe_attention_spec spec;
    struct pe_output result = {0};

    if (pe_struct_read(&spec, sizeof(spec), given, err) || shape_check(&spec, err) ||
        result_resolve(&spec, &result, err))
        return err->status;
    memset(output, 0, output_size);
    memcpy(output, &result, output_size < sizeof(result) ? output_size : sizeof(result));
    return PE_OK;
}

static struct pe_attention_kernels kernels_choose(enum pe_dtype type)
{
    const struct pe_kernels *all = pe_isa()->kernels;

    if (type == PE_F64)
        return (struct pe_attention_kernels){all->gemm_f64, all->logits_f64, all->softmax_f64,
                                             all->sum_f64, all->divide_f64};
    return (struct pe_attention_kernels){all->gemm_f32, all->logits_f32, all->softmax_f32,
                                         all->sum_f32, all->divide_f32};
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
    if (pe_struct_read(spec, sizeof(*spec), given, err) || tensors_check(spec, err) ||
        pe_attention_relatives_check(spec, err))
        return err->status;

    struct pe_attention *attention = calloc(1, sizeof(*attention));
    if (!attention)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for an attention");
    attention->spec = *spec;
    attention->work = work;
    spec_read(attention);
    if (numbers_resolve(attention, err) || pe_attention_reach(attention, err) ||
        result_resolve(&attention->spec, &attention->result, err) ||
        blocks_resolve(attention, err) || pe_spend(work, attention->result.once_work, err) ||
        pe_attention_pack(attention, pool, err) ||
        pe_scratches_new(attention, 1 + (pool ? pe_pool_workers(pool) : 0), err)) {
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
    pe_scratches_free(attention->scratches);
    pe_bias_common_free(attention->common);
    free(attention->biases);
    free(attention->rel_v.data);
    free(attention->rel_k.data);
    free(attention->v.data);
    free(attention->k.data);
    free(attention->q_relative_copy);
    free(attention->q_copy);
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
    scratch = pe_scratch_take(attention, err);
    if (!scratch)
        return err->status;
    for (size_t row = row_begin, count; row < row_end && !pe_work_check(work, err); row += count) {
        const size_t head = row / attention->queries, first = row % attention->queries;
        count = pe_least(pe_least(attention->queries - first, row_end - row), attention->rows_max);
        if (pe_attention_block(attention, scratch, head, first, count,
                               (char *)out + (row - row_begin) * row_size, work, err))
            break;
    }
    pe_scratch_return(attention, scratch);
    return err->status;
}
