/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/config/config.h"
#include "api/routes/golden.h"

/* POST /v1/golden: the golden file of a config. */

static const struct pe_param params_list[] = {
    {.name = "context",
     .type = PE_INTEGER,
     .min = 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The context whose last position is in the file; that of the config if absent: "
            "max_position_embeddings, or the original length times factor where that is more."},
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs, " API_LAYOUT_DOC "; that of the config's model if absent."},
};

/* All types of layers are in the file, so that there is no layer_type. */
static const char own[] = "config strict";

struct state {
    struct pe_params params, answer_params;
    struct golden golden;
    struct pe_output *outputs; /* of all kinds */
    const void **data;         /* of each output */
};

static bool golden_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                             size_t row_end, void *out)
{
    const struct state *state = result->state;
    const struct pe_output *of = &state->outputs[output];
    const size_t row = of->row_elements * pe_dtype_info(of->dtype)->size;

    memcpy(out, (const char *)state->data[output] + row_begin * row, (row_end - row_begin) * row);
    return true;
}

static enum pe_status outputs_list(struct api_request *request, struct state *state,
                                   struct api_result *result, struct pe_error *err)
{
    const struct golden *golden = &state->golden;
    size_t count = 0;

    state->outputs =
        api_arena_take(request->arena, golden->count * PE_GOLDEN_ROLES * sizeof(*state->outputs));
    state->data =
        api_arena_take(request->arena, golden->count * PE_GOLDEN_ROLES * sizeof(*state->data));
    if (!state->outputs || !state->data)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
    for (size_t i = 0; i < golden->count; i++)
        for (int role = 0; role < PE_GOLDEN_ROLES; role++)
            if (golden->kinds[i].outputs[role].name)
                state->outputs[count++] = golden->kinds[i].outputs[role];
    result->outputs = state->outputs;
    result->outputs_count = count;
    return PE_OK;
}

static enum pe_status golden_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    struct pe_params *sets[2];

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    sets[0] = &state->params;
    sets[1] = &state->answer_params;
    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(request, &state->answer_params);
    if (api_config_open_full(request, err))
        return err->status;
    if (!request->config) {
        pe_fail(err, PE_MISSING, "parameter:config",
                "config is required: post a config.json, or {\"config\": {...}}");
        if (api_parameter_error_note(request, "config", err))
            return err->status;
    }
    if (api_bind(request, sets, 2, own, err) || pe_params_finish(&state->params, err) ||
        api_answer_apply(request, &state->answer_params, result, err))
        return err->status;
    if (golden_of_config(request,
                         pe_param_given(&state->params, "context")
                             ? pe_param_number(&state->params, "context")
                             : 0,
                         &state->params, &state->golden, err) ||
        outputs_list(request, state, result, err))
        return err->status;
    result->fill = golden_rows_fill;
    result->pure = true;
    result->work = golden_work(&state->golden);
    result->golden = state->golden.description;
    result->warnings = state->golden.warnings;
    result->file_stem = result->operation = "golden";
    result->encoding_name = "rope";
    result->cache_control = "no-store";
    result->dtype = PE_F32;
    return PE_OK;
}

static enum pe_status golden_prepare(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct state *state = result->state;
    size_t count = 0;

    if (golden_compute(request, &state->golden, err))
        return err->status;
    for (size_t i = 0; i < state->golden.count; i++)
        for (int role = 0; role < PE_GOLDEN_ROLES; role++)
            if (state->golden.kinds[i].outputs[role].name)
                state->data[count++] =
                    pe_golden_data(state->golden.kinds[i].tensors, (enum pe_golden_role)role);
    return PE_OK;
}

const struct api_handler api_handler_golden = {golden_open, golden_prepare};
