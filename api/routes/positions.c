/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/memory/json.h"
#include "api/routes/positions_read.h"

/* Ids of tokens, or, where ids are posted, what is wrong with them. */

enum { IDS, DELTAS, OUTPUTS_MAX, SCALARS = 3 };

struct state {
    struct api_positions_asked asked;
    struct pe_params answer_params;
    int64_t *ids, *deltas;
    struct pe_output outputs[OUTPUTS_MAX];
    struct pe_scalar scalars[SCALARS];
};

/* ---- ids ------------------------------------------------------------------------------------- */

static bool positions_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                                size_t row_end, void *out)
{
    const struct state *state = result->state;
    const size_t columns = state->outputs[output].row_elements;
    const int64_t *values = output == IDS ? state->ids : state->deltas;

    memcpy(out, values + row_begin * columns, (row_end - row_begin) * columns * sizeof(*values));
    return true;
}

/* Deltas are of a prompt that is one sequence a row. */
static void outputs_set(struct state *state, struct api_result *result)
{
    const struct pe_ids_spec *spec = &state->asked.spec;
    const bool flat = spec->model.axes == 1;
    const struct pe_scalar scalars[SCALARS] = {
        {.name = "spatial_merge_size", .value = spec->model.spatial_merge},
        {.name = "temporal_merge_size", .value = spec->model.temporal_merge},
        {.name = "tokens_per_second", .value = spec->model.tokens_per_second}};

    state->outputs[IDS] = (struct pe_output){.name = "position_ids",
                                             .dtype = PE_I64,
                                             .rank = flat ? 2 : 3,
                                             .shape = {3, spec->rows, spec->count},
                                             .rows = spec->model.axes * spec->rows,
                                             .row_elements = spec->count,
                                             .element_work = 0.5};
    if (flat)
        memmove(state->outputs[IDS].shape, state->outputs[IDS].shape + 1, 2 * sizeof(size_t));
    state->outputs[DELTAS] = (struct pe_output){.name = "rope_deltas",
                                                .dtype = PE_I64,
                                                .rank = 2,
                                                .shape = {spec->rows, 1},
                                                .rows = spec->rows,
                                                .row_elements = 1};
    memcpy(state->scalars, scalars, sizeof(scalars));
    result->outputs = state->outputs;
    result->outputs_count = flat || spec->bounds_count > 0 ? 1 : 2;
    result->scalars = state->scalars;
    result->scalars_count = flat ? 0 : SCALARS;
    result->first_leads = true;
    result->fill = positions_rows_fill;
    result->pure = true;
    result->work = pe_ids_work(spec);
}

static enum pe_status ids_make(struct api_request *request, struct state *state,
                               struct pe_error *err)
{
    const struct pe_ids_spec *spec = &state->asked.spec;
    const size_t shape[] = {spec->model.axes, spec->rows, spec->count, sizeof(*state->ids)};
    size_t size;

    if (pe_shape_elements(shape, 4, &size))
        state->ids = api_arena_take(request->arena, size);
    state->deltas = api_arena_take(request->arena, (spec->rows + 1) * sizeof(*state->deltas));
    if (!state->ids || !state->deltas)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the ids");
    return pe_ids_fill(spec, state->ids, state->deltas, request->work, err);
}

/* ---- a diagnosis ----------------------------------------------------------------------------- */

static json_t *first_json(const struct pe_ids_spec *spec, const struct pe_ids_finding *finding)
{
    static const char *const axes[] = {"time", "height", "width"};

    if (finding->unequal == 0)
        return json_null();
    return json_pack("{so sI sI sI sI}", "axis",
                     spec->model.axes == 1 ? json_null() : json_string(axes[finding->axis]), "row",
                     (json_int_t)finding->row, "token", (json_int_t)finding->token, "expected",
                     (json_int_t)finding->expected, "given", (json_int_t)finding->given);
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static enum pe_status ids_diagnose(struct api_request *request, struct state *state,
                                   struct api_result *result, struct pe_error *err)
{
    const struct api_positions_asked *asked = &state->asked;
    const struct pe_ids_slip_info *slip;
    struct pe_ids_finding finding;

    if (pe_ids_diagnose(&finding, &asked->spec, asked->posted, asked->posted_axes, request->work,
                        err))
        return err->status;
    slip = finding.slip;
    result->report = json_pack("{ss so so so sI sI so s[]}", "verdict",
                               finding.unequal == 0 ? "match"
                               : slip               ? "known-bug"
                                                    : "unknown",
                               "bug", text_or_null(slip ? slip->code : NULL), "explanation",
                               text_or_null(slip ? slip->explanation : NULL), "fix",
                               text_or_null(slip ? slip->fix : NULL), "compared",
                               (json_int_t)finding.compared, "unequal", (json_int_t)finding.unequal,
                               "first", first_json(&asked->spec, &finding), "warnings");
    return PE_OK;
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum pe_status positions_open(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for positions");
    api_answer_params(request, &state->answer_params);
    if (api_positions_asked_read(request, &state->asked, &state->answer_params, err) ||
        api_answer_apply(request, &state->answer_params, result, err))
        return err->status;
    result->operation = result->file_stem = "positions";
    result->dtype = PE_I64;
    result->subject = "the positions";
    result->advice = "ask for fewer tokens";
    if (!state->asked.posted) {
        outputs_set(state, result);
        result->warnings = json_array();
        return api_json_keep(request->arena, result->warnings)
                   ? PE_OK
                   : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    }
    result->kind = API_REPORT;
    result->file_stem = NULL;
    result->cache_control = "no-store";
    result->work = pe_ids_diagnosis_work(&state->asked.spec);
    return PE_OK;
}

static enum pe_status positions_prepare(struct api_request *request, struct api_result *result,
                                        struct pe_error *err)
{
    struct state *state = result->state;

    return state->asked.posted ? ids_diagnose(request, state, result, err)
                               : ids_make(request, state, err);
}

const struct api_handler api_handler_positions = {positions_open, positions_prepare};
