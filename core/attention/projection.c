/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fail.h"
#include "posenc/attention.h"

/* A projection is the matrix of scores of its rows with those of the weight, which attention has a
 * kernel for: scale 1, nothing between. What is left is to put the heads apart. */

enum { ROWS = 64 };

struct projection {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    const struct pe_attention *products;
    const struct pe_tensor *out;
    size_t rows;
    struct pe_work *work;
    _Atomic int status; /* of the blocks that failed, one of them */
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

enum pe_status pe_project(const struct pe_tensor *x, const struct pe_tensor *weight,
                          struct pe_pool *pool, const struct pe_tensor *out, struct pe_work *work,
                          struct pe_error *err)
{
    const size_t rows = out->shape[0] * out->shape[2], width = x->shape[x->rank - 1];
    struct pe_attention_spec spec = {
        .size = sizeof(spec),
        .q = {x->dtype, 4, {1, 1, rows, width}, x->data},
        .k = {x->dtype, 4, {1, 1, weight->shape[0], width}, weight->data},
        .layout = PE_LAYOUT_HALF,
        .scale = 1,
        .query_start = 0,
        .output = PE_ATTENTION_SCORES};
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
    if (atomic_load(&projection.status) == PE_OUT_OF_MEMORY)
        return pe_no_memory(err, "a projection");
    return pe_work_check(work, err);
}
