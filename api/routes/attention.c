/* SPDX-License-Identifier: MIT */
#include "api/arguments/described.h"
#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/routes/attention_asked.h"

/* Rows of one block of the computation, where they are not so long that fewer fill a block. */
enum { ROWS_TOGETHER = 64, GROUP_SIZE = 1 << 20 };

struct state {
    struct attention_asked asked;
    struct pe_scheme *scheme;
    struct pe_attention *attentions[ATTENTION_COMPONENTS]; /* one, or one a component */
    struct pe_output outputs[ATTENTION_COMPONENTS];
    size_t made;
};

static void state_release(void *what)
{
    struct state *state = what;

    for (size_t i = 0; i < state->made; i++)
        pe_attention_free(state->attentions[i]);
    pe_scheme_free(state->scheme);
}

static bool attention_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                                size_t row_end, void *out)
{
    const struct state *state = result->state;

    return pe_attention_fill(state->attentions[output], row_begin, row_end, out,
                             state->asked.request->work, &(struct pe_error){0}) == PE_OK;
}

/* ---- before the work ------------------------------------------------------------------------ */

static size_t rows_together(const struct pe_output *output)
{
    const size_t size = output->row_elements * pe_dtype_info(output->dtype)->size;
    const size_t rows = size > 0 ? GROUP_SIZE / size : ROWS_TOGETHER;

    return rows < 1 ? 1 : rows < ROWS_TOGETHER ? rows : ROWS_TOGETHER;
}

/* The shapes that x will be projected to; the tensors themselves are made when all is checked. */
static enum pe_status absolute_shape(struct state *state, double *work, struct pe_error *err)
{
    const struct attention_absolute *absolute = &state->asked.absolute;
    struct pe_attention_spec *spec = &state->asked.spec;
    const bool needs_values = spec->output == PE_ATTENTION_OUTPUT;

    *work = 0;
    if (!state->asked.is_absolute)
        return PE_OK;
    if (attention_absolute_check(absolute, needs_values, work, err))
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
    if (!state->asked.encoding && state->asked.weights.rank)
        return pe_fail(err, PE_CONFLICT, "tensor:weights",
                       "weights belong to an encoding of buckets such as t5, not to none");
    if (!state->asked.encoding)
        return PE_OK;
    if (pe_attention_infer(state->asked.encoding, &state->asked.encoding_params, &state->asked.spec,
                           err) ||
        api_scheme_open(state->asked.request->config, state->asked.encoding,
                        &state->asked.encoding_params, state->asked.request->work, &state->scheme,
                        err) ||
        (state->asked.weights.rank &&
         pe_scheme_give(state->scheme, "weights", &state->asked.weights, state->asked.request->work,
                        err)))
        return err->status;
    state->asked.spec.scheme = state->scheme;
    return PE_OK;
}

static enum pe_status outputs_open(struct state *state, struct api_result *result,
                                   struct pe_error *err)
{
    if (pe_attention_shape(&state->asked.spec, state->outputs, sizeof(*state->outputs), err))
        return err->status;
    result->outputs = state->outputs;
    result->outputs_count = state->asked.splits ? ATTENTION_COMPONENTS : 1;
    for (size_t i = 0; state->asked.splits && i < ATTENTION_COMPONENTS; i++) {
        state->outputs[i] = state->outputs[0];
        state->outputs[i].name = attention_components[i];
    }
    result->rows_together = rows_together(state->outputs);
    return PE_OK;
}

/* Is a mask of numbers made of 0 and 1, some of them 1? A million elements are looked at. */
static bool is_of_flags(const struct pe_tensor *mask)
{
    enum { STEP = 256, LOOKED_AT = 1 << 20 };
    double values[STEP];
    size_t count;
    bool any = false;

    if (mask->rank == 0 || mask->dtype == PE_BOOL || !mask->data ||
        !pe_shape_elements(mask->shape, mask->rank, &count))
        return false;
    count = count < LOOKED_AT ? count : LOOKED_AT;
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
    if (api_function_describe(
            state->asked.request, result, state->scheme,
            state->asked.rotates ? api_layout_name(state->asked.spec.layout) : NULL, err))
        return err->status;
    if (state->asked.is_absolute &&
        json_object_set_new(result->encoding, "name", json_string(state->asked.other)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    result->attention = attention_asked_json(&state->asked);
    if (!api_json_keep(state->asked.request->arena, (json_t *)result->attention))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    if (is_of_flags(&state->asked.spec.mask))
        json_array_append_new(
            result->warnings,
            json_string("mask has no numbers but 0 and 1, which are added to the scores and hide "
                        "nothing; post it with dtype bool if 0 means hidden"));
    if (state->scheme)
        api_result_warn_beyond(
            result, state->scheme,
            &(struct pe_positions){.step = 1, .count = state->asked.spec.k.shape[2]});
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
    state->asked.request = request;
    if (attention_asked_read(&state->asked, err) ||
        api_answer_apply(request, &state->asked.answer_params, result, err) ||
        attention_tensors_read(&state->asked, err) || absolute_shape(state, &projections, err) ||
        scheme_open(state, err) || attention_config_apply(&state->asked, err) ||
        attention_positions_read(&state->asked, state->scheme ? pe_scheme_axes(state->scheme) : 0,
                                 err) ||
        outputs_open(state, result, err))
        return err->status;
    result->fill = attention_rows_fill;
    result->work = projections + (state->scheme ? pe_scheme_work(state->scheme) : 0);
    result->advice = "send fewer queries or keys at once";
    result->subject = "the attention";
    result->file_stem = result->operation = "attention";
    result->encoding_name =
        state->asked.encoding ? pe_encoding_info(state->asked.encoding)->name : state->asked.other;
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
    if (state->asked.is_absolute && !state->asked.splits &&
        attention_absolute_project(request, &state->asked.absolute, &state->asked.spec, err))
        return err->status;
    for (size_t i = 0; i < result->outputs_count; i++)
        specs[i] = state->asked.spec;
    if (state->asked.splits &&
        attention_absolute_split(request, &state->asked.absolute, specs, err))
        return err->status;
    for (; state->made < result->outputs_count; state->made++)
        if (pe_attention_new(&state->attentions[state->made], &specs[state->made],
                             api_pool(request->api), request->work, err))
            return err->status;
    return PE_OK;
}

const struct api_handler api_handler_attention = {attention_open, attention_prepare};
