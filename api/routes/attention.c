/* SPDX-License-Identifier: MIT */
#include "api/routes/attention.h"

#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/memory/json.h"

/* Rows computed together, and bytes that they have at most. */
enum { ROWS_TOGETHER = 64, GROUP_SIZE = 1 << 20 };

static const char *const component_names[ATTENTION_COMPONENTS] = {
    "content_content", "content_position", "position_content", "position_position"};

struct state {
    struct attention_args args;
    struct pe_scheme *scheme;
    struct pe_attention *attentions[ATTENTION_COMPONENTS]; /* one, or one a component */
    struct pe_output outputs[ATTENTION_COMPONENTS];
    size_t made;
};

static void state_release(void *context)
{
    struct state *state = context;

    for (size_t i = 0; i < state->made; i++)
        pe_attention_free(state->attentions[i]);
    pe_scheme_free(state->scheme);
}

static bool attention_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                                size_t row_end, void *out)
{
    const struct state *state = result->state;

    return pe_attention_fill(state->attentions[output], row_begin, row_end, out,
                             state->args.request->work, &(struct pe_error){0}) == PE_OK;
}

/* ---- absolute: shapes ------------------------------------------------------------------------ */

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

static enum pe_status absolute_check(const struct attention_absolute *absolute, bool needs_values,
                                     double *work, struct pe_error *err)
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

/* ---- absolute: projections ------------------------------------------------------------------- */

static enum pe_status tensor_alloc(struct api_request *request, struct pe_tensor *tensor,
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
    return tensor_alloc(request, out, err) ||
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
    if (tensor_alloc(request, &absolute->positions, err))
        return err->status;
    for (size_t batch = 0; batch < x->shape[0]; batch++)
        memcpy((char *)absolute->positions.data + batch * size, absolute->p.data, size);
    return PE_OK;
}

static enum pe_status absolute_project(struct api_request *request,
                                       struct attention_absolute *absolute,
                                       struct pe_attention_spec *spec, struct pe_error *err)
{
    struct pe_tensor sum = absolute->x;

    sum.data = NULL;
    if (positions_repeat(request, absolute, err) || tensor_alloc(request, &sum, err))
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

static enum pe_status absolute_split(struct api_request *request,
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

/* ---- opening --------------------------------------------------------------------------------- */

static size_t rows_together(const struct pe_output *output)
{
    const size_t size = output->row_elements * pe_dtype_info(output->dtype)->size;
    const size_t rows = size > 0 ? GROUP_SIZE / size : ROWS_TOGETHER;

    return rows < 1 ? 1 : rows < ROWS_TOGETHER ? rows : ROWS_TOGETHER;
}

/* Shapes of the projections of x, which are computed in attention_prepare. */
static enum pe_status absolute_shape(struct state *state, double *work, struct pe_error *err)
{
    const struct attention_absolute *absolute = &state->args.absolute;
    struct pe_attention_spec *spec = &state->args.spec;
    const bool needs_values = spec->output == PE_ATTENTION_OUTPUT;

    *work = 0;
    if (!state->args.is_absolute)
        return PE_OK;
    if (absolute_check(absolute, needs_values, work, err))
        return err->status;
    spec->q = (struct pe_tensor){absolute->x.dtype,
                                 4,
                                 {absolute->x.shape[0], absolute->heads, absolute->x.shape[1],
                                  absolute->w_q.shape[0] / absolute->heads},
                                 NULL};
    spec->k = spec->q;
    spec->v = needs_values ? spec->q : spec->v;
    spec->v.shape[3] = needs_values ? absolute->w_v.shape[0] / absolute->heads : 0;
    return PE_OK;
}

static enum pe_status scheme_open(struct state *state, struct pe_error *err)
{
    if (!state->args.encoding && state->args.weights.rank)
        return pe_fail(err, PE_CONFLICT, "tensor:weights",
                       "weights belong to an encoding of buckets such as t5, not to none");
    if (!state->args.encoding)
        return PE_OK;
    if (pe_attention_infer(state->args.encoding, &state->args.encoding_params, &state->args.spec,
                           err) ||
        api_scheme_open(state->args.request->config, state->args.encoding,
                        &state->args.encoding_params, state->args.request->work, &state->scheme,
                        err) ||
        (state->args.weights.rank && pe_scheme_give(state->scheme, "weights", &state->args.weights,
                                                    state->args.request->work, err)))
        return err->status;
    state->args.spec.scheme = state->scheme;
    return PE_OK;
}

static enum pe_status outputs_open(struct state *state, struct api_result *result,
                                   struct pe_error *err)
{
    if (pe_attention_shape(&state->args.spec, state->outputs, sizeof(*state->outputs), err))
        return err->status;
    result->outputs = state->outputs;
    result->outputs_count = state->args.splits ? ATTENTION_COMPONENTS : 1;
    for (size_t i = 0; state->args.splits && i < ATTENTION_COMPONENTS; i++) {
        state->outputs[i] = state->outputs[0];
        state->outputs[i].name = component_names[i];
    }
    result->rows_together = rows_together(state->outputs);
    return PE_OK;
}

/* Does a mask of numbers hold 0 and 1 only, among its first million elements? */
static bool is_of_flags(const struct pe_tensor *mask)
{
    enum { STEP = 256, CHECKED = 1 << 20 };
    double values[STEP];
    size_t count;
    bool any = false;

    if (mask->rank == 0 || mask->dtype == PE_BOOL || !mask->data ||
        !pe_shape_elements(mask->shape, mask->rank, &count))
        return false;
    count = count < CHECKED ? count : CHECKED;
    for (size_t at = 0; at < count; at += STEP) {
        const size_t step = count - at < STEP ? count - at : STEP;
        pe_to_f64(values, (const char *)mask->data + at * pe_dtype_info(mask->dtype)->size,
                  mask->dtype, step);
        for (size_t i = 0; i < step; i++) {
            if (values[i] != 0 && values[i] != 1)
                return false;
            any |= values[i] == 1;
        }
    }
    return any;
}

static enum pe_status result_describe(const struct state *state, struct api_result *result,
                                      struct pe_error *err)
{
    if (api_function_describe(state->args.request, result, state->scheme,
                              state->args.rotates ? api_layout_name(state->args.spec.layout) : NULL,
                              err))
        return err->status;
    if (state->args.is_absolute &&
        json_object_set_new(result->encoding, "name", json_string(state->args.other)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    result->attention = attention_options_json(&state->args);
    if (!api_json_keep(state->args.request->arena, (json_t *)result->attention))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    if (is_of_flags(&state->args.spec.mask))
        json_array_append_new(
            result->warnings,
            json_string("mask has no numbers but 0 and 1, which are added to the scores and hide "
                        "nothing; post it with dtype bool if 0 means hidden"));
    if (state->scheme)
        api_result_warn_beyond(
            result, state->scheme,
            &(struct pe_positions){.step = 1, .count = state->args.spec.k.shape[2]});
    return PE_OK;
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum pe_status attention_open(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    double projections;

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for an attention");
    state->args.request = request;
    if (attention_params_read(&state->args, err) ||
        api_answer_apply(request, &state->args.answer_params, result, err) ||
        attention_tensors_read(&state->args, err) || absolute_shape(state, &projections, err) ||
        scheme_open(state, err) || attention_config_apply(&state->args, err) ||
        attention_positions_read(&state->args, state->scheme ? pe_scheme_axes(state->scheme) : 0,
                                 err) ||
        outputs_open(state, result, err))
        return err->status;
    result->fill = attention_rows_fill;
    result->work = projections + (state->scheme ? pe_scheme_work(state->scheme) : 0);
    result->advice = "send fewer queries or keys at once";
    result->subject = "the attention";
    result->file_stem = result->operation = "attention";
    result->encoding_name =
        state->args.encoding ? pe_encoding_info(state->args.encoding)->name : state->args.other;
    result->dtype = state->outputs->dtype;
    return result_describe(state, result, err);
}

static enum pe_status attention_prepare(struct api_request *request, struct api_result *result,
                                        struct pe_error *err)
{
    struct pe_attention_spec specs[ATTENTION_COMPONENTS];
    struct state *state = result->state;

    if (state->scheme && pe_scheme_prepare(state->scheme, request->work, err))
        return err->status;
    if (state->args.is_absolute && !state->args.splits &&
        absolute_project(request, &state->args.absolute, &state->args.spec, err))
        return err->status;
    for (size_t i = 0; i < result->outputs_count; i++)
        specs[i] = state->args.spec;
    if (state->args.splits && absolute_split(request, &state->args.absolute, specs, err))
        return err->status;
    for (; state->made < result->outputs_count; state->made++)
        if (pe_attention_new(&state->attentions[state->made], &specs[state->made],
                             api_pool(request->api), request->work, err))
            return err->status;
    return PE_OK;
}

const struct api_handler api_handler_attention = {attention_open, attention_prepare};
