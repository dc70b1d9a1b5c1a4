/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/config/config.h"
#include "api/handlers/engines.h"
#include "api/handlers/readings.h"
#include "api/readers/made.h"
#include "api/request/service.h"

static const struct pe_param params_list[] = {
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs that is expected; any if absent."},
    {.name = "axes",
     .type = PE_CHOICE,
     .choices = "bhsd,bshd,thd,shd,hsd,bsd,sd",
     .doc = "The axes of q and q_rotated; without h, d is heads * dim."},
    API_PARAM_CACHE,
};

static const char own[] = "encoding tensors positions tensor " API_CONFIG_OWN;
static const char later[] = "cu_seqlens delta";

struct state {
    struct api_request *request;
    const struct pe_encoding *encoding; /* NULL: nothing is expected */
    struct pe_params encoding_params, params, places_params, answer_params;
    struct api_places places;
    struct pe_scheme *scheme;
    const char *layout;                /* that is expected; NULL: any */
    enum pe_dtype dtype;               /* of what was posted */
    struct api_engine_factors factors; /* of ggml's, that stand for inv_freq */
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

/* Caches as engines keep them become cos and sin, or inv_freq. */
static enum api_status engines_read(struct state *state, struct api_error *err)
{
    if (api_request_tensor(state->request, "freqs_cis"))
        return API_OK; /* which is read as it is */
    return api_engine_split(state->request, &state->params, err) ||
                   api_engine_factors_open(state->request, &state->factors, err)
               ? api_failed(err)
               : API_OK;
}

static enum api_status tensors_check(struct state *state, struct api_error *err)
{
    static const char known[] = "cos sin freqs_cis table inv_freq q q_rotated";
    char where[sizeof(err->where)];

    state->dtype = PE_F32;
    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        if (api_places_hold(&state->places, tensor->name))
            continue;
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        if (!api_names_have(known, " ", tensor->name, strlen(tensor->name)))
            return api_fail(
                err, API_UNKNOWN_PARAMETER, where,
                "a diagnosis knows no tensor '%.60s'; it takes %s; tensor=NAME says which "
                "of them an npy file or raw bytes are",
                tensor->name, known);
        if (!pe_dtype_is_float(tensor->tensor.dtype))
            return api_fail(err, API_UNSUPPORTED, where,
                            "%.60s is %s; f64, f32, f16 and bf16 are diagnosed", tensor->name,
                            pe_dtype_info(tensor->tensor.dtype)->name);
        state->dtype = tensor->tensor.dtype;
    }
    return API_OK;
}

static enum api_status not_told(const struct state *state, struct api_error *err)
{
    return api_fail(
        err, API_UNSUPPORTED, "parameter:encoding",
        "%s is not made of rows of cosines and sines at positions; rotary and sinusoidal "
        "encodings are",
        pe_encoding_info(state->encoding)->name);
}

/* The expected encoding: one that is named, or that of a config; none is fine. */
static enum api_status expected_read(struct state *state, struct api_error *err)
{
    struct api_request *request = state->request;

    if (api_config_open(request, err))
        return api_failed(err);
    if (!api_made_tells(request))
        api_made_forget(request);
    if (!request->config && !api_function_posted(request, "encoding"))
        return API_OK;
    if (api_function_encoding(request, NULL, &state->encoding, &state->encoding_params,
                              &state->params, err))
        return api_failed(err);
    return pe_encoding_has(state->encoding, PE_KIND_ROTARY) ||
                   pe_encoding_has(state->encoding, PE_KIND_ROWS)
               ? API_OK
               : not_told(state, err);
}

static enum api_status params_read(struct state *state, struct api_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->places_params, &state->answer_params,
                                &state->encoding_params};
    struct api_request *request = state->request;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_places_params(&state->places_params);
    api_answer_params(request, &state->answer_params);
    if (api_function_start(request, later, err) || expected_read(state, err) ||
        api_bind(request, sets, state->encoding ? 4 : 3, own, err))
        return api_failed(err);
    if (state->encoding &&
        (api_config_fill(request->config, state->encoding, &state->encoding_params, err) ||
         (pe_encoding_has(state->encoding, PE_KIND_ROTARY) &&
          api_config_layout(request->config, &state->params, err))))
        return api_failed(err);
    state->places.from_zero = true;
    return pe_params_finish(&state->params, &err->core) ||
                   api_answer_apply(request, &state->answer_params, NULL, err) ||
                   api_places_read(request, &state->places_params, &state->places, err) ||
                   engines_read(state, err) || tensors_check(state, err)
               ? api_failed(err)
               : API_OK;
}

static enum api_status expected_open(struct state *state, struct api_error *err)
{
    const size_t dim = api_readings_dim(state->request);

    if (!state->encoding)
        return API_OK;
    if ((dim && api_core(err, pe_params_infer(&state->encoding_params, "dim", (double)(dim),
                                              &err->core))) ||
        api_scheme_open(state->request->config, state->encoding, &state->encoding_params,
                        state->request->work, &state->scheme, err))
        return api_failed(err);
    return API_OK;
}

static enum api_status expected_prepare(const struct state *state, struct api_error *err)
{
    if (!state->scheme)
        return API_OK;
    if (pe_scheme_prepare(state->scheme, state->request->work, &err->core))
        return api_failed(err);
    return pe_diagnosis_takes(state->scheme) ? API_OK : not_told(state, err);
}

/* The expected column order: given for a rotation; for a table, read off position 0 (sin 0, cos 1).
 */
static enum api_status layout_expected(struct state *state, struct api_error *err)
{
    const struct pe_value *value = pe_param_value(&state->params, "layout");
    const struct pe_scheme *scheme = state->scheme;

    if (!scheme || pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_ROTARY)) {
        state->layout =
            value->given ? api_layout_name((enum pe_layout)(size_t)value->number) : NULL;
        return API_OK;
    }
    state->layout = pe_diagnosis_columns(scheme, state->request->work);
    return state->layout ? API_OK : api_fail(err, API_OUT_OF_MEMORY, "", "no memory for a row");
}

static enum api_status shapes_check(const struct state *state, struct api_error *err)
{
    const struct pe_sample *reading = state->readings.list;
    const bool rotates = state->scheme && pe_encoding_has(state->encoding, PE_KIND_ROTARY);

    if (!state->scheme || reading->frequencies ||
        (rotates ? !reading->absolute
                 : reading->absolute && pe_scheme_pairs(state->scheme) == reading->pairs))
        return API_OK;
    return api_fail(err, API_SHAPE_MISMATCH, "parameter:encoding",
                    "%s has %zu pairs, %s; what was posted has %zu, %s",
                    pe_encoding_info(state->encoding)->name, pe_scheme_pairs(state->scheme),
                    rotates ? "to be rotated" : "in rows to be added", reading->pairs,
                    reading->absolute ? "in rows to be added" : "to be rotated");
}

static enum api_status diagnose(struct state *state, struct api_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    struct api_readings *readings = &state->readings;
    char name[16];

    if (expected_prepare(state, err) || layout_expected(state, err) ||
        api_engine_factors_make(state->request, &state->factors, state->scheme, err))
        return api_failed(err);
    if (axes->given)
        pe_choice_name(&params_list[1], (size_t)axes->number, name, sizeof(name));
    *readings = (struct api_readings){.request = state->request,
                                      .expected = state->scheme,
                                      .layout = state->layout,
                                      .places = &state->places,
                                      .axes = axes->given ? name : NULL};
    if (api_readings_make(readings, err) || shapes_check(state, err))
        return api_failed(err);
    return api_core(err,
                    pe_diagnose(&state->diagnosis, state->scheme, readings->list, readings->count,
                                api_pool(state->request->api), state->request->work, &err->core));
}

/* ---- what is told --------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static const char *explanation_of(const struct pe_finding *finding, bool noisy)
{
    const struct pe_bug_info *info = finding->bug;

    if (!finding->fits)
        return "near, but further away than rounding or noise explains";
    if (info)
        return info->explanation;
    return noisy ? "what was posted, but for noise as large as rms"
                 : "every value that was looked at is explained by rounding, that of angles in "
                   "float32 included";
}

/* A mistake's cure is the library's; that a route of the service applies it is known here. */
static json_t *fix_json(const struct pe_finding *finding)
{
    static const char converted[] = "layout-swapped,columns-swapped";
    const struct pe_bug_info *info = finding->bug;

    if (!info || !finding->fits)
        return json_null();
    return json_sprintf("%s%s", info->fix,
                        api_names_have(converted, ",", info->code, strlen(info->code))
                            ? "; POST /v1/layout converts"
                            : "");
}

static json_t *finding_json(const struct pe_finding *finding, bool noisy)
{
    const struct pe_bug_info *info = finding->bug;
    json_t *encoding = api_scheme_json(finding->scheme);

    return json_pack("{so so sb so ss so so so so}", "encoding", encoding, "layout",
                     text_or_null(finding->sample->layout), "fits", finding->fits, "bug",
                     text_or_null(info ? info->code : NULL), "explanation",
                     explanation_of(finding, noisy), "fix", fix_json(finding), "max_abs",
                     api_number_json(finding->max_abs), "max_ulp",
                     api_number_json(finding->max_ulp), "rms", api_number_json(finding->rms));
}

static json_t *warnings_make(const struct state *state)
{
    const struct api_readings *readings = &state->readings;
    const struct pe_bad_rows *bad = pe_diagnosis_bad_rows(state->diagnosis);
    json_t *warnings = json_array();

    api_scheme_warnings(state->scheme, warnings);
    if (readings->rows_count > 0 && !state->places.numbers.given &&
        !pe_param_given(&state->places_params, "start") &&
        !pe_param_given(&state->places_params, "step"))
        json_array_append_new(
            warnings, json_string("no positions are given: rows were taken for 0, 1, 2 ..."));
    if (bad)
        json_array_append_new(
            warnings, json_sprintf("%zu of %zu rows are not what the first candidate makes; "
                                   "first_bad is in the first of them",
                                   bad->count, readings->rows_posted));
    if (pe_diagnosis_is_ambiguous(state->diagnosis))
        json_array_append_new(
            warnings, json_string("what was posted is explained equally well by every candidate "
                                  "that fits; more rows, other positions or both of cos and sin "
                                  "would tell them apart"));
    return warnings;
}

static json_t *first_bad_json(const struct pe_bad_rows *bad)
{
    if (!bad)
        return json_null();
    return json_pack("{sI so sI ss so so}", "row", (json_int_t)bad->row, "position",
                     api_number_json(bad->position), "pair", (json_int_t)bad->pair, "part",
                     bad->is_sin ? "sin" : "cos", "seen", api_number_json(bad->seen), "predicted",
                     api_number_json(bad->predicted));
}

static json_t *identical_json(const struct pe_diagnosis *diagnosis)
{
    json_t *list = json_array();
    const char *name;

    for (size_t i = 0; (name = pe_diagnosis_identical(diagnosis, i)); i++)
        json_array_append_new(list, json_string(name));
    return list;
}

static json_t *report_make(const struct state *state)
{
    static const char *const verdicts[] = {"match", "known-bug", "other-scheme", "unknown"};
    const struct pe_diagnosis *diagnosis = state->diagnosis;
    const struct pe_bad_rows *bad = pe_diagnosis_bad_rows(diagnosis);
    const struct pe_finding *finding;
    json_t *candidates = json_array();

    for (size_t i = 0; (finding = pe_diagnosis_finding(diagnosis, i)); i++)
        json_array_append_new(candidates, finding_json(finding, pe_diagnosis_is_noisy(diagnosis)));
    return json_pack("{ss sb sb so sI sI sI so so so}", "verdict",
                     verdicts[pe_diagnosis_verdict(diagnosis)], "ambiguous",
                     pe_diagnosis_is_ambiguous(diagnosis), "noisy",
                     pe_diagnosis_is_noisy(diagnosis), "identical_to", identical_json(diagnosis),
                     "rows", (json_int_t)state->readings.rows_posted, "rows_compared",
                     (json_int_t)state->readings.rows_posted, "bad_rows",
                     (json_int_t)(bad ? bad->count : 0), "first_bad", first_bad_json(bad),
                     "candidates", candidates, "warnings", warnings_make(state));
}

/* Nanoseconds that the tensors foretell by their shapes. Those of a wrong shape are refused later,
 * before they take any time. */
static double work_of(struct api_request *request)
{
    static const char *const names[] = {"cos", "sin", "table", "freqs_cis", "q"};
    const size_t pairs = api_readings_dim(request) / 2;
    const struct api_tensor *tensor = NULL;
    size_t rows = 1;

    if (pairs == 0 || pairs > PE_SAMPLE_PAIRS_MAX)
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !tensor; i++)
        tensor = api_request_tensor(request, names[i]);
    if (!tensor)
        return pe_diagnosis_work(0, pairs);
    for (unsigned axis = 0; axis + 1 < tensor->tensor.rank; axis++)
        rows *= tensor->tensor.shape[axis];
    if (strcmp(tensor->name, "freqs_cis") == 0)
        rows /= pairs;
    return pe_diagnosis_work(api_readings_rows_of(rows, pairs), pairs) +
           pe_diagnosis_rows_work(rows, pairs, tensor->tensor.dtype);
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum api_status diagnosis_open(struct api_request *request, struct api_result *result,
                                      struct api_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for a diagnosis");
    state->request = request;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (params_read(state, err) || expected_open(state, err) || api_readings_check(request, err))
        return api_failed(err);
    result->operation = "diagnosis";
    result->work = work_of(request) + (state->scheme ? pe_scheme_work(state->scheme) : 0);
    result->subject = "the diagnosis";
    result->advice = "post fewer rows or pairs";
    result->encoding_name = state->encoding ? pe_encoding_info(state->encoding)->name : "none";
    result->dtype = state->dtype;
    return API_OK;
}

static enum api_status diagnosis_prepare(struct api_request *request, struct api_result *result,
                                         struct api_error *err)
{
    struct state *state = result->state;

    (void)request;
    if (diagnose(state, err))
        return api_failed(err);
    result->report = report_make(state);
    return API_OK;
}

const struct api_handler api_handler_diagnosis = {diagnosis_open, diagnosis_prepare};
