/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/config/config.h"
#include "api/formats/formats.h"
#include "api/request/request.h"
#include "api/routes/diagnosis_report.h"

static const struct pe_param params_list[] = {
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs that is expected; any if absent."},
    {.name = "axes",
     .type = PE_TEXT,
     .doc = "The axes of q and q_rotated: bhsd, bshd, thd, shd, hsd, bsd, sd; without h, d is "
            "heads * dim. By head: a letter an axis, l layer, k key or value, b, h, s and d last; "
            "lkbhsd, lbhsd or bhsd by their rank if absent."},
    {.name = "per_head",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Tell each layer and head by itself, as is done for axes with l or k and from rank 5 "
            "on."},
    API_PARAM_CACHE,
};

#define OWN "encoding tensors positions tensor " API_CONFIG_OWN
static const char own[] = OWN;
/* The JSON answer of a table, posted as it is, has members that describe the answer. */
static const char own_of_answer[] = OWN " warnings attention_factor";
static const char later[] = "cu_seqlens delta";

static void state_release(void *what)
{
    struct diagnosis_state *state = what;

    pe_diagnosis_free(state->diagnosis);
    diagnosis_heads_release(&state->heads);
    pe_params_free(&state->params);
    pe_scheme_free(state->scheme);
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* The only tensor of a body that names none, as npy and raw bytes do not: frequencies where it is
 * one row of numbers, else a table. */
static void unnamed_name(struct api_request *request)
{
    struct api_tensor *only = request->tensors_count == 1 ? &request->tensors[0] : NULL;

    if (only && strcmp(only->name, "x") == 0)
        only->name = only->tensor.rank == 1 ? "inv_freq" : "table";
}

/* Caches as engines keep them become cos and sin, or inv_freq. */
static enum pe_status engines_read(struct diagnosis_state *state, struct pe_error *err)
{
    const bool is_rotary = !state->encoding || pe_encoding_has(state->encoding, PE_KIND_ROTARY);

    unnamed_name(state->request);
    if (is_rotary && api_stacked_table_split(state->request, err))
        return err->status;
    if (api_request_tensor(state->request, "freqs_cis"))
        return PE_OK; /* which is read as it is */
    return api_engine_cache_replace(state->request, &state->params, err) ||
                   api_factors_open(state->request, &state->factors, err)
               ? err->status
               : PE_OK;
}

static enum pe_status tensors_check(struct diagnosis_state *state, struct pe_error *err)
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
            return pe_fail(
                err, PE_UNKNOWN_PARAMETER, where,
                "a diagnosis knows no tensor '%.60s'; it takes %s; tensor=NAME says which "
                "of them an npy file or raw bytes are",
                tensor->name, known);
        if (!pe_dtype_is_float(tensor->tensor.dtype))
            return pe_fail(err, PE_UNSUPPORTED, where,
                           "%.60s is %s; f64, f32, f16 and bf16 are diagnosed", tensor->name,
                           pe_dtype_info(tensor->tensor.dtype)->name);
        state->dtype = tensor->tensor.dtype;
    }
    return PE_OK;
}

static enum pe_status not_told(const struct diagnosis_state *state, struct pe_error *err)
{
    return pe_fail(
        err, PE_UNSUPPORTED, "parameter:encoding",
        "%s is not made of rows of cosines and sines at positions; rotary and sinusoidal "
        "encodings are",
        pe_encoding_info(state->encoding)->name);
}

/* The expected encoding: one that is named, or that of a config; none is fine. */
static enum pe_status expected_read(struct diagnosis_state *state, struct pe_error *err)
{
    struct api_request *request = state->request;

    if (api_config_open(request, err))
        return err->status;
    if (!api_metadata_names_encoding(request))
        api_metadata_drop_encoding(request);
    if (!request->config && !api_function_posted(request, "encoding"))
        return PE_OK;
    if (api_function_encoding(request, NULL, &state->encoding, &state->encoding_params,
                              &state->params, err))
        return err->status;
    return pe_encoding_has(state->encoding, PE_KIND_ROTARY) ||
                   pe_encoding_has(state->encoding, PE_KIND_ROWS)
               ? PE_OK
               : not_told(state, err);
}

/* Is the body an answer of the service, whose warnings are a list? */
static bool is_answer(const struct api_request *request)
{
    return json_is_array(json_object_get(request->json, "warnings"));
}

static enum pe_status params_read(struct diagnosis_state *state, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->places_params, &state->answer_params,
                                &state->encoding_params};
    struct api_request *request = state->request;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_places_params(&state->places_params);
    api_answer_params(request, &state->answer_params);
    if (api_function_start(request, later, err) || expected_read(state, err) ||
        api_bind(request, sets, state->encoding ? 4 : 3, is_answer(request) ? own_of_answer : own,
                 err))
        return err->status;
    if (state->encoding &&
        (api_config_fill(request->config, state->encoding, &state->encoding_params, err) ||
         (pe_encoding_has(state->encoding, PE_KIND_ROTARY) &&
          api_config_layout(request->config, &state->params, err))))
        return err->status;
    state->places.from_zero = true;
    return pe_params_finish(&state->params, err) ||
                   api_answer_apply(request, &state->answer_params, NULL, err) ||
                   api_places_read(request, &state->places_params, &state->places, err) ||
                   engines_read(state, err) || tensors_check(state, err)
               ? err->status
               : PE_OK;
}

static enum pe_status expected_open(struct diagnosis_state *state, struct pe_error *err)
{
    const size_t dim = api_readings_dim(state->request);

    if (!state->encoding)
        return PE_OK;
    if ((dim && pe_params_infer(&state->encoding_params, "dim", (double)(dim), err)) ||
        api_scheme_open(state->request->config, state->encoding, &state->encoding_params,
                        state->request->work, &state->scheme, err))
        return err->status;
    state->places.axes_count = pe_scheme_axes(state->scheme);
    return PE_OK;
}

static enum pe_status expected_prepare(const struct diagnosis_state *state, struct pe_error *err)
{
    if (!state->scheme)
        return PE_OK;
    if (pe_scheme_prepare(state->scheme, state->request->work, err))
        return err->status;
    return pe_diagnosis_takes(state->scheme) ? PE_OK : not_told(state, err);
}

/* The expected column order: given for a rotation; for a table, read off position 0 (sin 0, cos 1).
 */
static enum pe_status layout_expected(struct diagnosis_state *state, struct pe_error *err)
{
    const struct pe_value *value = pe_param_value(&state->params, "layout");
    const struct pe_scheme *scheme = state->scheme;

    if (!scheme || pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_ROTARY)) {
        state->layout =
            value->given ? api_layout_name((enum pe_layout)(size_t)value->number) : NULL;
        return PE_OK;
    }
    state->layout = pe_diagnosis_columns(scheme, state->request->work);
    return state->layout ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a row");
}

static enum pe_status shapes_check(const struct diagnosis_state *state,
                                   const struct pe_sample *reading, struct pe_error *err)
{
    const bool rotates = state->scheme && pe_encoding_has(state->encoding, PE_KIND_ROTARY);

    if (!state->scheme || reading->frequencies ||
        (rotates ? !reading->absolute
                 : reading->absolute && pe_scheme_pairs(state->scheme) == reading->pairs))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:encoding",
                   "%s has %zu pairs, %s; what was posted has %zu, %s",
                   pe_encoding_info(state->encoding)->name, pe_scheme_pairs(state->scheme),
                   rotates ? "to be rotated" : "in rows to be added", reading->pairs,
                   reading->absolute ? "in rows to be added" : "to be rotated");
}

static enum pe_status diagnose(struct diagnosis_state *state, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    const struct pe_sample turned = {.pairs = api_readings_dim(state->request) / 2};
    struct api_readings *readings = &state->readings;

    if (expected_prepare(state, err) || layout_expected(state, err) ||
        api_factors_apply(state->request, &state->factors, state->scheme, err))
        return err->status;
    *readings = (struct api_readings){.request = state->request,
                                      .expected = state->scheme,
                                      .layout = state->layout,
                                      .places = &state->places,
                                      .axes = axes->given ? axes->text : NULL};
    if (state->heads.axes.rank > 0)
        return shapes_check(state, &turned, err) || diagnosis_heads_make(state, err) ? err->status
                                                                                     : PE_OK;
    if (api_readings_make(readings, err) || shapes_check(state, readings->list, err))
        return err->status;
    return pe_diagnose(&state->diagnosis, state->scheme, readings->list, readings->count,
                       api_pool(state->request->api), state->request->work, err);
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

/* Numbers told of each head. */
enum { LISTS = 4 };

static enum pe_status diagnosis_open(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct diagnosis_state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
    state->request = request;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (params_read(state, err) || expected_open(state, err) || api_readings_check(request, err) ||
        diagnosis_heads_open(state, err))
        return err->status;
    result->operation = "diagnosis";
    result->work = (state->heads.axes.rank > 0 ? diagnosis_heads_work(state) : work_of(request)) +
                   (state->scheme ? pe_scheme_work(state->scheme) : 0);
    result->elements = LISTS * (uint64_t)(state->heads.axes.rank > 0 ? state->heads.count : 0);
    result->subject = "the diagnosis";
    result->advice = "post fewer rows or pairs";
    result->encoding_name = state->encoding ? pe_encoding_info(state->encoding)->name : "none";
    result->dtype = state->dtype;
    return PE_OK;
}

static enum pe_status diagnosis_prepare(struct api_request *request, struct api_result *result,
                                        struct pe_error *err)
{
    struct diagnosis_state *state = result->state;

    (void)request;
    if (diagnose(state, err))
        return err->status;
    result->report = diagnosis_report(state);
    return PE_OK;
}

const struct api_handler api_handler_diagnosis = {diagnosis_open, diagnosis_prepare};
