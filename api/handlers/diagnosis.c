/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"
#include "api/handlers/readings.h"
#include "core/base/text.h"

static const struct pe_param params_list[] = {
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs that is expected; any if absent."},
    {.name = "axes",
     .type = PE_CHOICE,
     .choices = "bhsd,bshd,thd,shd,hsd,bsd,sd",
     .doc = "The axes of q and q_rotated; without h, d is heads * dim."},
};

static const char own[] = "encoding tensors positions tensor " API_CONFIG_OWN;
static const char later[] = "cu_seqlens delta";

/* What the lists of suspects take at most, and the frequencies of all schemes, for each pair. */
enum { WORK_SIZE = 4 << 20, PAIR_SIZE = 8 << 10 };

struct state {
    struct api_request *request;
    const struct pe_encoding *encoding; /* NULL: nothing is expected */
    struct pe_params encoding_params, params, places_params, answer_params;
    struct api_places places;
    struct pe_scheme *scheme;
    const char *layout; /* that is expected; NULL: any */
    struct api_readings readings;
    struct pe_diagnosis *diagnosis;
};

static void state_release(void *what)
{
    struct state *state = what;

    pe_diagnosis_free(state->diagnosis);
    pe_scheme_free(state->scheme);
}

/* ---- what is asked -------------------------------------------------------------------------- */

static enum pe_status tensors_check(const struct state *state, struct pe_error *err)
{
    static const char known[] = "cos sin freqs_cis table inv_freq q q_rotated";
    char where[sizeof(err->where)];

    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        if (api_places_hold(&state->places, tensor->name))
            continue;
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        if (!pe_text_lists(known, " ", tensor->name, strlen(tensor->name)))
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "a diagnosis knows no tensor '%.60s'; it takes %s", tensor->name, known);
        if (!pe_dtype_is_float(tensor->tensor.dtype))
            return pe_fail(err, PE_UNSUPPORTED, where,
                           "%.60s is %s; f64, f32, f16 and bf16 are diagnosed", tensor->name,
                           pe_dtype_info(tensor->tensor.dtype)->name);
    }
    return PE_OK;
}

static enum pe_status not_told(const struct state *state, struct pe_error *err)
{
    return pe_fail(
        err, PE_UNSUPPORTED, "parameter:encoding",
        "%s is not made of rows of cosines and sines at positions; rotary and sinusoidal "
        "encodings are",
        state->encoding->name);
}

/* What is expected: an encoding, or what a config tells; or nothing. */
static enum pe_status expected_read(struct state *state, struct pe_error *err)
{
    struct api_request *request = state->request;

    if (api_config_open(request, err))
        return err->status;
    if (!request->config && !api_function_posted(request, "encoding"))
        return PE_OK;
    if (api_function_encoding(request, NULL, &state->encoding, &state->encoding_params,
                              &state->params, err))
        return err->status;
    return state->encoding->rotates || (state->encoding->row_width && state->encoding->rows &&
                                        state->encoding->column_pair)
               ? PE_OK
               : not_told(state, err);
}

static enum pe_status params_read(struct state *state, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->places_params, &state->answer_params};
    struct api_request *request = state->request;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_places_params(&state->places_params);
    api_answer_params(request, &state->answer_params);
    if (api_function_start(request, later, err) || expected_read(state, err) ||
        api_bind(request, sets, 3, own, err))
        return err->status;
    if (state->encoding &&
        (api_config_fill(request->config, state->encoding, &state->encoding_params, err) ||
         (state->encoding->rotates && api_config_layout(request->config, &state->params, err))))
        return err->status;
    state->places.from_zero = true;
    return pe_params_finish(&state->params, err) ||
                   api_answer_apply(request, &state->answer_params, NULL, err) ||
                   api_places_read(request, &state->places_params, &state->places, err) ||
                   tensors_check(state, err)
               ? err->status
               : PE_OK;
}

/* Is every column of a row a cosine or a sine of frequencies that it has? */
static bool is_told(const struct pe_scheme *scheme)
{
    return scheme->frequencies && !scheme->frequencies_across &&
           (scheme->encoding->rotates ||
            (scheme->encoding->row_width(scheme) + 1) / 2 - scheme->pairs <= 1);
}

static enum pe_status expected_make(struct state *state, struct pe_error *err)
{
    const size_t dim = api_readings_dim(state->request);

    if (!state->encoding)
        return PE_OK;
    if ((dim && api_function_infer(&state->encoding_params, "dim", dim, err)) ||
        api_config_scheme(state->request->config, state->encoding, &state->encoding_params,
                          &state->scheme, err) ||
        pe_scheme_prepare(state->scheme, err))
        return err->status;
    return is_told(state->scheme) ? PE_OK : not_told(state, err);
}

/* The order of the columns that is expected: what rotates is told it, a table shows it in the row
 * of position 0, where sines are 0 and cosines 1. */
static enum pe_status layout_expected(struct state *state, struct pe_error *err)
{
    static const char *const layouts[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    const struct pe_value *value = pe_param_value(&state->params, "layout");
    const struct pe_scheme *scheme = state->scheme;
    const struct pe_positions zero = {.count = 1};
    double *row;

    if (!scheme || scheme->encoding->rotates) {
        state->layout =
            value->given ? api_layout_name((enum pe_layout)(size_t)value->number) : NULL;
        return PE_OK;
    }
    row = api_arena_take(state->request->arena, scheme->encoding->row_width(scheme) * sizeof(*row));
    if (!row)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a row");
    scheme->encoding->rows(scheme, &zero, 0, 1, PE_F64, row);
    state->layout =
        layouts[(row[0] != 0 ? 2 : 0) + (scheme->encoding->column_pair(scheme, 1) != 0 ? 1 : 0)];
    return PE_OK;
}

static enum pe_status shapes_check(const struct state *state, struct pe_error *err)
{
    const struct pe_reading *reading = state->readings.list;
    const bool rotates = state->scheme && state->encoding->rotates;

    if (!state->scheme || reading->frequencies ||
        (rotates ? !reading->absolute
                 : reading->absolute && state->scheme->pairs == reading->pairs))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:encoding",
                   "%s has %zu pairs, %s; what was posted has %zu, %s", state->encoding->name,
                   state->scheme->pairs, rotates ? "to be rotated" : "in rows to be added",
                   reading->pairs, reading->absolute ? "in rows to be added" : "to be rotated");
}

static enum pe_status diagnose(struct state *state, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    struct api_readings *readings = &state->readings;
    char name[16];

    if (expected_make(state, err) || layout_expected(state, err))
        return err->status;
    if (axes->given)
        pe_choice_name(&params_list[1], (size_t)axes->number, name, sizeof(name));
    *readings = (struct api_readings){.request = state->request,
                                      .expected = state->scheme,
                                      .layout = state->layout,
                                      .places = &state->places,
                                      .axes = axes->given ? name : NULL};
    if (api_readings_make(readings, err) || shapes_check(state, err))
        return err->status;
    if (!api_arena_count(state->request->arena,
                         WORK_SIZE + readings->list->pairs * (size_t)PAIR_SIZE))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
    return pe_diagnose(&state->diagnosis, state->scheme, readings->list, readings->count,
                       state->request->settings->pool, err);
}

/* ---- what is told --------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static const char *explanation_of(const struct pe_finding *finding, bool noisy)
{
    const struct pe_bug_info *info = pe_bug_info(finding->bug);

    if (!finding->fits)
        return "near, but further away than rounding or noise explains";
    if (info)
        return info->explanation;
    return noisy ? "what was posted, but for noise as large as rms"
                 : "every value that was looked at is explained by rounding, that of angles in "
                   "float32 included";
}

static json_t *finding_json(const struct pe_finding *finding, bool noisy)
{
    const struct pe_bug_info *info = pe_bug_info(finding->bug);
    json_t *encoding = api_scheme_json(finding->suspect->scheme);

    return json_pack("{so so sb so ss so so so so}", "encoding", encoding, "layout",
                     text_or_null(finding->reading->layout), "fits", finding->fits, "bug",
                     text_or_null(info ? info->code : NULL), "explanation",
                     explanation_of(finding, noisy), "fix",
                     text_or_null(info && finding->fits ? info->fix : NULL), "max_abs",
                     api_number_json(finding->max_abs), "max_ulp",
                     api_number_json(finding->max_ulp), "rms", api_number_json(finding->rms));
}

static json_t *warnings_make(const struct state *state)
{
    const struct api_readings *readings = &state->readings;
    json_t *warnings = json_array();

    for (size_t i = 0; state->scheme && i < state->scheme->warnings_count; i++)
        json_array_append_new(warnings, json_string(state->scheme->warnings[i]));
    if (readings->rows_count > 0 && !state->places.numbers.given &&
        !pe_param_given(&state->places_params, "start") &&
        !pe_param_given(&state->places_params, "step"))
        json_array_append_new(
            warnings, json_string("no positions are given: rows were taken for 0, 1, 2 ..."));
    if (readings->rows_count < readings->rows_posted)
        json_array_append_new(warnings, json_sprintf("%zu of %zu rows were looked at",
                                                     readings->rows_count, readings->rows_posted));
    if (state->diagnosis->ambiguous)
        json_array_append_new(
            warnings, json_string("what was posted is explained equally well by every candidate "
                                  "that fits; more rows, other positions or both of cos and sin "
                                  "would tell them apart"));
    return warnings;
}

static json_t *report_make(const struct state *state)
{
    static const char *const verdicts[] = {"match", "known-bug", "other-scheme", "unknown"};
    const struct pe_diagnosis *diagnosis = state->diagnosis;
    json_t *candidates = json_array();

    for (size_t i = 0; i < diagnosis->findings_count; i++)
        json_array_append_new(candidates, finding_json(&diagnosis->findings[i], diagnosis->noisy));
    return json_pack("{ss sb sb sI sI so so}", "verdict", verdicts[diagnosis->verdict], "ambiguous",
                     diagnosis->ambiguous, "noisy", diagnosis->noisy, "rows",
                     (json_int_t)state->readings.rows_posted, "rows_compared",
                     (json_int_t)state->readings.rows_count, "candidates", candidates, "warnings",
                     warnings_make(state));
}

enum pe_status api_handle_diagnosis(struct api_request *request, struct api_response *response,
                                    struct api_result **result, struct pe_error *err)
{
    struct state *state = api_arena_take(request->arena, sizeof(*state));

    (void)result;
    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
    state->request = request;
    if (params_read(state, err) || diagnose(state, err))
        return err->status;
    response->operation = "diagnosis";
    response->encoding = state->encoding ? state->encoding->name : "none";
    response->dtype = state->readings.list[0].dtype;
    api_response_header(response, "Cache-Control", "no-store");
    return api_respond_json(response, report_make(state), err);
}
