/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "posenc/attention.h"

/* A projection is a matrix of attention scores: queries are the rows of x, keys those of the
 * weight, scale is 1. Columns are then sorted by heads. */

enum { ROWS = 64 };

struct projection {
    struct pe_job job; /* first: the job points to the struct */
    const struct pe_attention *products;
    const struct pe_tensor *out;
    size_t rows;
    struct pe_work *work;
    _Atomic int status; /* of a failed block */
};

static void rows_run(struct pe_job *job, size_t block)
{
    struct projection *projection = (struct projection *)job;
    const struct pe_tensor *out = projection->out;
    const size_t heads = out->shape[1], sequence = out->shape[2], width = out->shape[3];
    const size_t bytes = width * pe_dtype_info(out->dtype)->size;
    const size_t begin = block * ROWS;
    const size_t end = projection->rows - begin < ROWS ? projection->rows : begin + ROWS;
    char *scratch = malloc((end - begin) * heads * bytes + 1);

    struct pe_error err = {0};

    if (!scratch)
        pe_no_memory(&err, "a projection");
    else
        pe_attention_fill(projection->products, begin, end, scratch, projection->work, &err);
    if (err.status)
        atomic_store(&projection->status, err.status);
    for (size_t row = begin; scratch && row < end; row++)
        for (size_t head = 0; head < heads; head++)
            memcpy((char *)out->data +
                       ((row / sequence * heads + head) * sequence + row % sequence) * bytes,
                   scratch + ((row - begin) * heads + head) * bytes, bytes);
    free(scratch);
}

/* [b, s, d] times [h w, d] must be [b, h, s, w]. */
static enum pe_status shapes_check(const struct pe_tensor *x, const struct pe_tensor *weight,
                                   const struct pe_tensor *out, struct pe_error *err)
{
    size_t elements, columns;

    if (x->rank != 3 || weight->rank != 2 || out->rank != 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:x",
                       "x must be [b, s, d], the weight [h * w, d] and the projection "
                       "[b, h, s, w]; they have %u, %u and %u dimensions",
                       x->rank, weight->rank, out->rank);
    if (!pe_dtype_is_float(x->dtype) || weight->dtype != x->dtype || out->dtype != x->dtype)
        return pe_fail(err, PE_UNSUPPORTED, "tensor:x",
                       "x, the weight and the projection need one dtype of f64, f32, f16 and "
                       "bf16; they are %s, %s and %s",
                       pe_dtype_name(x->dtype), pe_dtype_name(weight->dtype),
                       pe_dtype_name(out->dtype));
    if (x->shape[2] == 0 || weight->shape[1] != x->shape[2] || out->shape[0] != x->shape[0] ||
        out->shape[2] != x->shape[1] || !pe_size_multiply(out->shape[1], out->shape[3], &columns) ||
        columns != weight->shape[0])
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:x",
                       "x [%zu, %zu, %zu] and a weight [%zu, %zu] do not make [%zu, %zu, %zu, %zu]",
                       x->shape[0], x->shape[1], x->shape[2], weight->shape[0], weight->shape[1],
                       out->shape[0], out->shape[1], out->shape[2], out->shape[3]);
    if (!pe_shape_elements(out->shape, 4, &elements))
        return pe_fail(err, PE_TOO_LARGE, "tensor:x", "the projection does not fit in 63 bits");
    return elements == 0 || out->data
               ? PE_OK
               : pe_fail(err, PE_INVALID, "tensor:x", "the projection has no data");
}

static struct pe_attention_spec products_of(const struct pe_tensor *x,
                                            const struct pe_tensor *weight)
{
    const size_t rows = x->shape[0] * x->shape[1], width = x->shape[2];

    return (struct pe_attention_spec){
        .size = sizeof(struct pe_attention_spec),
        .q = {x->dtype, 4, {1, 1, rows, width}, x->data},
        .k = {x->dtype, 4, {1, 1, weight->shape[0], width}, weight->data},
        .layout = PE_LAYOUT_HALF,
        .scale = 1,
        .query_start = 0,
        .output = PE_ATTENTION_SCORES};
}

double pe_project_work(const struct pe_tensor *x, const struct pe_tensor *weight)
{
    const bool fits = x->rank == 3 && weight->rank == 2 && weight->shape[1] == x->shape[2];
    const struct pe_attention_spec spec = products_of(x, weight);
    struct pe_output output;

    return !fits || pe_attention_shape(&spec, &output, sizeof(output), &(struct pe_error){0})
               ? 0
               : output.once_work + pe_output_work(&output, output.rows);
}

enum pe_status pe_project(const struct pe_tensor *x, const struct pe_tensor *weight,
                          struct pe_pool *pool, const struct pe_tensor *out, struct pe_work *work,
                          struct pe_error *err)
{
    if (shapes_check(x, weight, out, err))
        return err->status;

    const size_t rows = out->shape[0] * out->shape[2];
    const struct pe_attention_spec spec = products_of(x, weight);
    struct projection projection = {
        .job = {.run = rows_run, .blocks = (rows + ROWS - 1) / ROWS, .work = work},
        .out = out,
        .rows = rows,
        .work = work};
    struct pe_attention *products;

    if (pe_attention_new(&products, &spec, pool, work, err))
        return err->status;
    projection.products = products;
    if (!pe_pool_run(pool, &projection.job))
        pe_work_check(work, err);
    pe_attention_free(products);
    if (pe_work_check(work, err))
        return err->status;

    const enum pe_status status = (enum pe_status)atomic_load(&projection.status);
    if (status == PE_OUT_OF_MEMORY)
        return pe_no_memory(err, "a projection");
    return status
               ? pe_fail(err, status, "", "the projection takes more operations than it may take")
               : PE_OK;
}
