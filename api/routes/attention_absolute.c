/* SPDX-License-Identifier: MIT */
#include "api/routes/attention_absolute.h"
#include "api/request/request.h"

#include <stdio.h>
#include <string.h>

#include "posenc/layouts.h"

const char *const attention_components[ATTENTION_COMPONENTS] = {
    "content_content", "content_position", "position_content", "position_position"};

/* ---- shapes ---------------------------------------------------------------------------------- */

static enum pe_status x_check(const struct attention_absolute *absolute, struct pe_error *err)
{
    const struct pe_tensor *x = &absolute->x, *p = &absolute->p;

    if (x->rank != 3 || x->shape[2] == 0)
        return pe_fail(err, x->rank ? PE_SHAPE_MISMATCH : PE_MISSING, "tensor:x",
                       "absolute needs x [batch, tokens, d], the embeddings without positions");
    if (x->dtype != PE_F32 && x->dtype != PE_F64)
        return pe_fail(err, PE_UNSUPPORTED, "tensor:x",
                       "x is %s; embeddings are projected in f32 or f64",
                       pe_dtype_info(x->dtype)->name);
    if (p->rank < 2 || p->rank > 3 || p->shape[p->rank - 1] != x->shape[2] ||
        p->shape[p->rank - 2] != x->shape[1] || (p->rank == 3 && p->shape[0] != x->shape[0]))
        return pe_fail(
            err, p->rank ? PE_SHAPE_MISMATCH : PE_MISSING, "tensor:p",
            "absolute needs p [tokens, d] or [batch, tokens, d] like x, %zu tokens of %zu",
            x->shape[1], x->shape[2]);
    return PE_OK;
}

static enum pe_status weight_check(const struct attention_absolute *absolute,
                                   const struct pe_tensor *weight, const char *name,
                                   struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", name);
    if (weight->rank == 2 && weight->shape[1] == absolute->x.shape[2] &&
        weight->shape[0] % absolute->heads == 0 && weight->shape[0] > 0)
        return PE_OK;
    return pe_fail(err, weight->rank ? PE_SHAPE_MISMATCH : PE_MISSING, where,
                   "absolute needs %s [heads * head_dim, %zu], heads being %zu", name,
                   absolute->x.shape[2], absolute->heads);
}

static enum pe_status dtypes_check(const struct attention_absolute *absolute, struct pe_error *err)
{
    const struct {
        const char *name;
        const struct pe_tensor *tensor;
    } others[] = {{"p", &absolute->p},
                  {"w_q", &absolute->w_q},
                  {"w_k", &absolute->w_k},
                  {"w_v", &absolute->w_v}};
    char where[sizeof(err->where)];

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].tensor->rank == 0 || others[i].tensor->dtype == absolute->x.dtype)
            continue;
        snprintf(where, sizeof(where), "tensor:%s", others[i].name);
        return pe_fail(err, PE_INVALID, where, "%s is %s, x is %s; all tensors need one dtype",
                       others[i].name, pe_dtype_info(others[i].tensor->dtype)->name,
                       pe_dtype_info(absolute->x.dtype)->name);
    }
    return PE_OK;
}

enum pe_status attention_absolute_check(const struct attention_absolute *absolute,
                                        bool needs_values, double *work, struct pe_error *err)
{
    const struct pe_tensor *x = &absolute->x;

    if (x_check(absolute, err) || weight_check(absolute, &absolute->w_q, "w_q", err) ||
        weight_check(absolute, &absolute->w_k, "w_k", err) ||
        (needs_values && weight_check(absolute, &absolute->w_v, "w_v", err)) ||
        dtypes_check(absolute, err))
        return err->status;
    if (absolute->w_q.shape[0] != absolute->w_k.shape[0])
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:w_k",
                       "w_k makes %zu columns, w_q %zu; queries and keys are as wide",
                       absolute->w_k.shape[0], absolute->w_q.shape[0]);
    /* Queries and keys are made of x and of p. */
    *work = 2 * pe_project_work(x, &absolute->w_q) + 2 * pe_project_work(x, &absolute->w_k) +
            (needs_values ? pe_project_work(x, &absolute->w_v) : 0);
    return PE_OK;
}

/* ---- projections ----------------------------------------------------------------------------- */

static enum pe_status room_take(struct api_request *request, struct pe_tensor *tensor,
                                struct pe_error *err)
{
    size_t elements;

    if (pe_shape_elements(tensor->shape, tensor->rank, &elements))
        tensor->data =
            api_arena_buffer(request->arena, elements * pe_dtype_info(tensor->dtype)->size + 1);
    return tensor->data ? PE_OK
                        : pe_fail(err, PE_OUT_OF_MEMORY, "tensor:x", "no memory for a projection");
}

static enum pe_status rows_project(struct api_request *request,
                                   const struct attention_absolute *absolute,
                                   const struct pe_tensor *rows, const struct pe_tensor *weight,
                                   struct pe_tensor *out, struct pe_error *err)
{
    *out = (struct pe_tensor){
        rows->dtype,
        4,
        {rows->shape[0], absolute->heads, rows->shape[1], weight->shape[0] / absolute->heads},
        NULL};
    return room_take(request, out, err) ||
                   pe_project(rows, weight, api_pool(request->api), out, request->work, err)
               ? err->status
               : PE_OK;
}

/* p once for each sequence. */
static enum pe_status positions_repeat(struct api_request *request,
                                       struct attention_absolute *absolute, struct pe_error *err)
{
    const struct pe_tensor *x = &absolute->x;
    const size_t size = x->shape[1] * x->shape[2] * pe_dtype_info(x->dtype)->size;

    absolute->positions = absolute->p;
    if (absolute->p.rank == 3)
        return PE_OK;
    absolute->positions =
        (struct pe_tensor){x->dtype, 3, {x->shape[0], x->shape[1], x->shape[2]}, NULL};
    if (room_take(request, &absolute->positions, err))
        return err->status;
    for (size_t batch = 0; batch < x->shape[0]; batch++)
        memcpy((char *)absolute->positions.data + batch * size, absolute->p.data, size);
    return PE_OK;
}

enum pe_status attention_absolute_project(struct api_request *request,
                                          struct attention_absolute *absolute,
                                          struct pe_attention_spec *spec, struct pe_error *err)
{
    struct pe_tensor sum = absolute->x;

    sum.data = NULL;
    if (positions_repeat(request, absolute, err) || room_take(request, &sum, err))
        return err->status;
    pe_merge_rows(PE_MERGE_ADD, 1, sum.dtype, sum.shape[0] * sum.shape[1], absolute->x.data,
                  sum.shape[2], absolute->positions.data, sum.shape[2], sum.data, err);
    if (err->status || rows_project(request, absolute, &sum, &absolute->w_q, &spec->q, err) ||
        rows_project(request, absolute, &sum, &absolute->w_k, &spec->k, err) ||
        (spec->output == PE_ATTENTION_OUTPUT &&
         rows_project(request, absolute, &sum, &absolute->w_v, &spec->v, err)))
        return err->status;
    return PE_OK;
}

enum pe_status attention_absolute_split(struct api_request *request,
                                        struct attention_absolute *absolute,
                                        struct pe_attention_spec specs[ATTENTION_COMPONENTS],
                                        struct pe_error *err)
{
    struct pe_tensor queries[2], keys[2];

    if (positions_repeat(request, absolute, err))
        return err->status;
    for (size_t i = 0; i < 2; i++) {
        const struct pe_tensor *rows = i == 0 ? &absolute->x : &absolute->positions;
        if (rows_project(request, absolute, rows, &absolute->w_q, &queries[i], err) ||
            rows_project(request, absolute, rows, &absolute->w_k, &keys[i], err))
            return err->status;
    }
    for (size_t i = 0; i < ATTENTION_COMPONENTS; i++) {
        specs[i].q = queries[i / 2];
        specs[i].k = keys[i % 2];
    }
    return PE_OK;
}
